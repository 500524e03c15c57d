"""The error behind a failed check of compiled code: the plain semantics says it, in its own words."""

from collections.abc import Callable, Iterable
from typing import Any, NoReturn, Protocol

from fencepost.explorers.native.layout import Layout
from fencepost.explorers.native.llvm import checks
from fencepost.model.language.actions import Kind, Property
from fencepost.model.language.constants import Constants
from fencepost.model.language.errors import DomainError, MismatchError
from fencepost.model.language.interpreter import Interpreter, Path
from fencepost.model.language.machine import Machine
from fencepost.model.language.records import Key


class Explored(Protocol):
    """An exploration of a machine in compiled code: all that it takes to ask the plain semantics about a state."""

    machine: Machine
    constants: Constants
    properties: tuple[Property, ...]
    layout: Layout
    plain: Interpreter
    module: Any


def explain(
    search: Explored, rows: Iterable[Any], decided: Iterable[str], way: Callable[[int], Path] | None = None
) -> None:
    """A check failed natively in one of these rows, which were taken in turn: let the plain
    semantics say what is wrong.

    Properties that were `decided` before, by name, are not asked, nor those that a row decides in the rows after it.
    `way` returns the way to the row of this number; where it is not known the error shows the state alone.
    """
    known = set(decided)
    for number, row in enumerate(rows):
        key = search.layout.decode(row)
        try:
            _go_through(search, key, known)
        except DomainError as error:
            path = way(number) if way is not None else None
            error.states, error.steps = (path.states, path.steps) if path is not None else ((key,), ())
            raise


def _go_through(search: Explored, key: Key, decided: set[str]) -> None:
    """Judge a state and take every step out of it, as the plain search does, for the error that this raises."""
    for prop in search.properties:
        asked = not prop.over_steps and prop.name not in decided
        if asked and search.plain.holds(prop, key) is (prop.kind is Kind.SOMETIMES):
            decided.add(prop.name)
    for transition in search.plain.transitions(key):
        for prop in search.properties:
            asked = prop.over_steps and prop.name not in decided
            if asked and search.plain.holds_step(prop, key, transition) is (prop.kind is Kind.SOMETIMES):
                decided.add(prop.name)


def blame(search: Explored, code: int) -> NoReturn:
    """Raise the error that a check noted and the plain semantics does not see: its numbers have no end, ours have."""
    if code == checks.NUMBER:
        raise DomainError(
            f"protocol {search.machine.name!r}: a shift or a product does not fit 64 bits, which is all "
            "that a compiled number has. Keep numbers small: shift by less, or multiply less."
        )
    if code == checks.SUM:
        raise DomainError(
            f"protocol {search.machine.name!r}: a sum or a difference does not fit 64 bits, which is all that a "
            "compiled number has. Keep numbers small: add less."
        )
    raise MismatchError(
        f"the native engine found a value out of its domain in protocol {search.machine.name!r}, the plain semantics "
        "did not. This is a defect of Fencepost: please report it with the model."
    )
