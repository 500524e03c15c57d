"""Machines with one guard removed; exploring such a machine shows the guard's purpose. Explore these machines with
`Interpreter(..., bounded=True)`, which refuses every step that would leave a domain.
"""

import ast
import linecache
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from fencepost.explorers.program.subset.kinds import Function
from fencepost.explorers.program.subset.program import check, guard_calls, is_require
from fencepost.model.language.acting import Action, summary_of
from fencepost.model.language.errors import ModelError, UsageError, nearest
from fencepost.model.language.machine import Machine
from fencepost.model.language.trees import definition_of, source_lines

LETTERS = "abcdefghijklmnopqrstuvwxyz"
HELPER = "Return whether "
"""The first words of a predicate's description."""


@dataclass(frozen=True)
class Guard:
    """A `require` of an action or, if `part` is above 0, one of its conjuncts. Both are counted from 1."""

    action: str
    number: int
    part: int
    condition: str
    sentence: str = ""

    @property
    def name(self) -> str:
        """Return a name unique in the machine, such as `follower-fetch 1` or, for a conjunct, `follower-fetch 1a`."""
        return f"{self.action} {self.number}{_letters(self.part)}"


def _letters(number: int) -> str:
    """Return a positive number as letters (`a` to `z`, then `aa`), and 0 as an empty string."""
    return _letters((number - 1) // len(LETTERS)) + LETTERS[(number - 1) % len(LETTERS)] if number else ""


_FOUND: dict[tuple[Action, ...], tuple[Guard, ...]] = {}
_MOST_FOUND = 32


def guards(machine: Machine) -> tuple[Guard, ...]:
    """Return every guard of a machine, ordered by action and position in the source. Conjuncts follow their guard."""
    if machine.actions not in _FOUND:
        if len(_FOUND) >= _MOST_FOUND:
            _FOUND.clear()
        _FOUND[machine.actions] = _guards(machine)
    return _FOUND[machine.actions]


def _guards(machine: Machine) -> tuple[Guard, ...]:
    program = check(machine)
    found = []
    for item in machine.actions:
        made = program.actions[item.name]
        for number, call in enumerate(guard_calls(made), 1):
            for part, piece in enumerate([call.args[0], *parts(call.args[0])]):
                words = next(_comments(made, call), "") or "; ".join(dict.fromkeys(_predicates(made, piece)))
                found.append(Guard(item.label, number, part, ast.unparse(piece), words))
    return tuple(found)


def parts(condition: ast.expr) -> list[ast.expr]:
    if isinstance(condition, ast.Call) and ast.unparse(condition.func) == "all" and condition.args:
        inner = condition.args[0]
        condition = inner.elt if isinstance(inner, ast.GeneratorExp) else condition
    return condition.values if isinstance(condition, ast.BoolOp) and isinstance(condition.op, ast.And) else []


def find_guard(machine: Machine, name: str) -> Guard:
    known = {item.name: item for item in guards(machine)}
    wanted = " ".join(name.replace("_", "-").split())
    if wanted not in known:
        raise UsageError(
            f"protocol {machine.name!r} has no guard {name!r}.{nearest(wanted, list(known))} "
            f"Guards are named by their action and counted from 1, such as `{next(iter(known), 'action 1')}`."
        )
    return known[wanted]


def without(machine: Machine, guard: Guard) -> Machine:
    old = machine.action(guard.action)
    new = replace(old, function=_without(old, guard))
    return replace(machine, actions=tuple(new if item is old else item for item in machine.actions))


def without_all(machine: Machine, guards: tuple[Guard, ...]) -> Machine:
    """Return a machine without these guards. The last guard is removed first, so that the others keep their numbers."""
    for guard in sorted(guards, key=lambda item: (-item.number, -item.part)):
        machine = without(machine, guard)
    return machine


def _without(item: Action, guard: Guard) -> Callable[..., None]:
    python = item.function
    if python.__closure__:
        raise ModelError(
            f"action {item.name} uses names of the enclosing function. "
            "Instead, write the action at the top of its file."
        )
    node = definition_of(python)
    node.decorator_list = []
    places = [place for place, statement in enumerate(node.body) if is_require(python, statement)]
    place = places[guard.number - 1]
    if guard.part:
        del parts(node.body[place].value.args[0])[guard.part - 1]  # type: ignore[attr-defined]
    else:
        node.body[place] = ast.Pass()
    text = ast.unparse(node) + "\n"
    name = f"<{python.__module__}.{python.__name__} without guard {guard.name}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    scope: dict[str, Any] = {}
    exec(compile(text, name, "exec"), python.__globals__, scope)  # noqa: S102 (the model's own text)
    made: Callable[..., None] = scope[python.__name__]
    made.__module__ = python.__module__
    return made


def _comments(made: Function, guard: ast.Call) -> Iterator[str]:
    lines, first = source_lines(made.python)
    for line in lines[guard.lineno - first : (guard.end_lineno or guard.lineno) - first + 1]:
        words = line.partition("  # ")[2].strip()
        if words and not words.startswith("noqa"):
            yield words


def _predicates(made: Function, piece: ast.expr) -> Iterator[str]:
    for node in ast.walk(piece):
        called = made.calls.get(node)
        sentence = summary_of(called.python) if called else ""
        ours = called is not None and called.python.__module__.startswith("fencepost.model.language")
        if called and sentence.startswith(HELPER) and not ours:
            yield f"{called.name.replace('_', ' ')}: {sentence.removeprefix(HELPER).rstrip('.')}"
