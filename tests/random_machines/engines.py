"""What two meanings or two engines say of one random machine, compared."""

from __future__ import annotations

import importlib.util
import itertools
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fencepost.explorers.plain import search as plain_search
from fencepost.explorers.verdict import Options
from fencepost.model.language.errors import DomainError, ModelError, UsageError
from fencepost.model.language.removal import guards
from fencepost.model.language.subset import check

from tests.compared import Comparison

if TYPE_CHECKING:
    from collections.abc import Callable

    from fencepost.explorers.verdict import Result
    from fencepost.model.language import Machine, Property

    Question = Callable[[Machine, tuple[Property, ...]], str]
    """Returns what differs in a machine, or an empty string."""

STATES = 10
"""States of a machine that are compared one by one."""
FEW = 4
"""States in which the machine is compared without a guard."""
GUARDS = 3
"""One of so many guards, or parts of one, is left out."""
LIMIT = 4_000
"""States of a machine that a whole search may have; a larger one is left out."""
_NUMBERS = itertools.count()


def load(text: str, folder: Path) -> tuple[Machine, tuple[Property, ...]]:
    """Write a model to a file and return its machine and properties; raise ModelError if the language refuses it."""
    name = f"random_machine_{next(_NUMBERS)}"
    path = folder / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    check(module.MACHINE, module.PROPERTIES)
    return module.MACHINE, module.PROPERTIES


def compare_typed(machine: Machine, properties: tuple[Property, ...]) -> str:
    """Compare the typed program with the text, state by state; return what differs, or an empty string."""
    for values in ({}, {name: item.high for name, item in machine.constants.declared().items()}):
        made = Comparison(machine, machine.set_constants(values), properties)
        try:
            made.run(STATES)
            made.without_guards(guards(machine)[::GUARDS], made.states[:FEW])
        except AssertionError as error:
            return str(error) or "they differ"
    return ""


def answer(search: Callable[..., Result], machine: Machine, properties: tuple[Property, ...]) -> dict[str, Any]:
    """Return what a whole search says, the order of its findings left out; or its error."""
    options = Options(workers=1, deadlock=True, max_states=LIMIT)
    try:
        found = search(machine, machine.set_constants({}), properties, options)
    except (DomainError, ModelError) as error:
        return {"error": str(error)}
    return {
        "complete": found.complete,
        "distinct": found.distinct,
        "generated": found.generated,
        "depth": found.depth,
        "levels": found.levels,
        "fired": found.fired,
        "guards": [(item.action, item.condition, item.refused) for item in found.guards],
        "bounds": found.bounds,
        "deadlocks": found.deadlocks,
        "properties": [(item.name, item.verdict, item.path.length if item.path else None) for item in found.properties],
    }


def compare_searches(machine: Machine, properties: tuple[Property, ...], other: Callable[..., Result]) -> str:
    """Compare whole searches of the plain engine and of another one; return what differs, or an empty string."""
    expected = answer(plain_search, machine, properties)
    if not expected.get("complete", True):
        return ""
    try:
        found = answer(other, machine, properties)
    except Exception as error:  # noqa: BLE001 (an engine that breaks is what is looked for)
        return f"{type(error).__name__}: {error}"
    if "error" in found and "fit" in found["error"]:
        return ""  # a number leaves what compiled code can hold
    if "error" in expected and "error" in found:
        return ""  # of several errors, engines may come to different ones first
    differing = [name for name in expected if expected[name] != found.get(name)]
    return "; ".join(f"{name}: plain {expected[name]}, other {found.get(name)}" for name in differing)


def compare_symbolic(machine: Machine, properties: tuple[Property, ...]) -> str:
    """Compare the symbolic engine with the plain semantics, state by state; of some states z3 is asked too."""
    from tests.symbols import Symbols

    try:
        symbols = Symbols(machine, {}, tuple(item for item in properties if item.eventual is None))
        states = dict.fromkeys(symbols.plain.initial_states()[:STATES])
    except (ModelError, UsageError, DomainError):
        return ""  # a term that z3 has not, or no initial state
    waiting = list(states)
    for number, key in enumerate(waiting):
        for solve in (False, True) if number < FEW else (False,):
            try:
                reached = symbols.compare(key, solve=solve)
            except AssertionError as error:
                return str(error) or "they differ"
            for after in reached:
                if after not in states and len(states) < STATES:
                    states[after] = None
                    waiting.append(after)
    return ""


def with_folder(question: Question) -> Callable[[str], str | None]:
    """Return a function that asks a question of a text: what differs, or None where the language refuses the text."""

    def ask(text: str) -> str | None:
        with tempfile.TemporaryDirectory() as folder:
            try:
                machine, properties = load(text, Path(folder))
            except ModelError:
                return None
            try:
                return question(machine, properties)
            finally:
                del sys.modules[machine.state.__module__]

    return ask
