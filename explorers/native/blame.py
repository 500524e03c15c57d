"""Error reports for failed checks in compiled code, with the errors that the plain semantics raises."""

from collections.abc import Callable, Iterable
from typing import Any, NoReturn, Protocol

from fencepost.explorers.native.layout import Layout
from fencepost.explorers.native.llvm import checks
from fencepost.explorers.paths import with_way
from fencepost.model.language.actions import Kind, Property
from fencepost.model.language.constants import Constants
from fencepost.model.language.errors import DomainError, MismatchError
from fencepost.model.language.interpreter import Interpreter, Path
from fencepost.model.language.machine import Machine
from fencepost.model.language.records import Key


class Explored(Protocol):
    machine: Machine
    constants: Constants
    properties: tuple[Property, ...]
    layout: Layout
    plain: Interpreter
    module: Any


def explain(
    search: Explored, rows: Iterable[Any], decided: Iterable[str], way: Callable[[int], Path] | None = None
) -> None:
    """Raise the plain semantics' error for a check that failed in compiled code; the rows are examined in order.

    Properties in `decided` (by name) are not evaluated. Once a row decides a property, the property is not evaluated on
    later rows. `way` returns the path to the row with a given number; without `way`, the error shows only the state.
    """
    known = set(decided)
    for number, row in enumerate(rows):
        key = search.layout.decode(row)
        try:
            _go_through(search, key, known)
        except DomainError as error:
            if way is not None:
                left = [item for item in search.properties if item.name not in known]
                found = with_way(search.plain, left, way(number), error)
                raise found from found.__cause__  # the cause contains the line of the model
            error.states, error.steps = (key,), ()
            raise


def _go_through(search: Explored, key: Key, decided: set[str]) -> None:
    """Check a state and take every step from it, to raise any error that the plain search would raise."""
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
    """Raise the error for a check that fails only in compiled code: a 64-bit overflow or a bug in Fencepost."""
    if code == checks.NUMBER:
        raise DomainError(
            f"protocol {search.machine.name!r}: the result of a shift or a product does not fit in the 64 bits of a "
            "compiled number. Keep numbers small: use smaller shift counts or smaller factors."
        )
    if code == checks.SUM:
        raise DomainError(
            f"protocol {search.machine.name!r}: a sum or a difference does not fit in the 64 bits of a compiled "
            "number. Keep numbers small: add smaller numbers."
        )
    raise MismatchError(
        f"the native engine found a value out of its domain in protocol {search.machine.name!r}, but the plain "
        "semantics did not. This is a bug in Fencepost: please report it with the model."
    )
