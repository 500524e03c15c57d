"""The answers of two semantics or engines about one random machine, compared."""

import importlib.util
import itertools
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fencepost.explorers.program.subset.program import check
from fencepost.model.language import Machine, Property
from fencepost.model.language.errors import DomainError, ModelError, UsageError

from tests.helpers.compared import Comparison

Question = Callable[[Machine, tuple[Property, ...]], str]  # returns the difference in a machine, or an empty string

STATES = 10  # number of states of a machine that are compared one by one
FEW = 4  # number of states checked with z3
_NUMBERS = itertools.count()


def module(text: str, folder: Path) -> Any:
    name = f"random_machine_{next(_NUMBERS)}"
    path = folder / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    made = importlib.util.module_from_spec(spec)
    sys.modules[name] = made
    spec.loader.exec_module(made)
    check(made.MACHINE, made.PROPERTIES)
    return made


def load(text: str, folder: Path) -> tuple[Machine, tuple[Property, ...]]:
    made = module(text, folder)
    return made.MACHINE, made.PROPERTIES


def compare_typed(machine: Machine, properties: tuple[Property, ...]) -> str:
    """Compare the typed program with the text, state by state; return the difference, or an empty string."""
    for values in ({}, {name: item.high for name, item in machine.constants.declared().items()}):
        made = Comparison(machine, machine.set_constants(values), properties)
        try:
            made.run(STATES)
        except AssertionError as error:
            return str(error) or "they differ"
    return ""


def compare_symbolic(machine: Machine, properties: tuple[Property, ...]) -> str:
    """Compare the symbolic engine with the plain semantics, state by state, some states also with z3."""
    from tests.helpers.symbols import Symbols

    try:
        symbols = Symbols(machine, {}, tuple(item for item in properties if item.eventual is None))
        states = dict.fromkeys(symbols.plain.initial_states()[:STATES])
    except (ModelError, UsageError, DomainError):
        return ""  # a term that z3 lacks, or no initial state
    waiting = list(states)
    for number, key in enumerate(waiting):
        for solve in (False, True) if number < FEW else (False,):
            try:
                reached = symbols.compare(key, solve=solve)
            except AssertionError as error:
                return str(error) or "they differ"
            except ModelError:
                return ""  # a number without a z3 term
            for after in reached:
                if after not in states and len(states) < STATES:
                    states[after] = None
                    waiting.append(after)
    return ""


def with_folder(question: Question) -> Callable[[str], str | None]:
    """Return a function from a text to its difference, or None if the language refuses the text."""

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
