"""What is wrong where a check of compiled code failed: the plain semantics says it, in its own words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from fencepost.explorers.native.llvm import checks
from fencepost.model.language.errors import DomainError, MismatchError

if TYPE_CHECKING:
    from collections.abc import Callable

    from fencepost.explorers.native.layout import Layout
    from fencepost.model.language.actions import Property
    from fencepost.model.language.constants import Constants
    from fencepost.model.language.interpreter import Interpreter, Path
    from fencepost.model.language.machine import Machine
    from fencepost.model.language.records import Key


class Explored(Protocol):
    """What explores a machine in compiled code: all that it takes to ask the plain semantics about a state."""

    machine: Machine
    constants: Constants
    properties: tuple[Property, ...]
    layout: Layout
    plain: Interpreter
    module: Any


def explain(search: Explored, row: Any, way: Callable[[], Path] | None = None) -> None:
    """A check failed natively: let the plain semantics say what is wrong, and tell the `way` to the state if it is known."""
    key = search.layout.decode(row)
    try:
        _go_through(search, key)
    except DomainError as error:
        path = way() if way is not None else None
        error.states, error.steps = (path.states, path.steps) if path is not None else ((key,), ())
        raise


def _go_through(search: Explored, key: Key) -> None:
    """Take every step out of a state and ask every property about them and it, for the error that one of these raises."""
    for transition in search.plain.transitions(key):
        for prop in search.properties:
            if prop.over_steps:
                search.plain.holds_step(prop, key, transition)
    for prop in search.properties:
        if not prop.over_steps:
            search.plain.holds(prop, key)


def blame(search: Explored, code: int) -> None:
    """Raise the error that a check noted and the plain semantics does not see: its numbers have no end, ours have."""
    if code == checks.NUMBER:
        raise DomainError(
            f"protocol {search.machine.name!r}: a shift or a product does not fit 64 bits, which is all "
            "that a compiled number has. Keep numbers small: shift by less, or multiply less."
        )
    if code == checks.SUM:
        raise DomainError(
            f"protocol {search.machine.name!r}: a sum or a difference does not fit 64 bits, which is all that a compiled number has. "
            "Keep numbers small: add less."
        )
    raise MismatchError(
        f"the native engine found a value out of its domain in protocol {search.machine.name!r}, the plain semantics did not. "
        "This is a defect of Fencepost: please report it with the model."
    )
