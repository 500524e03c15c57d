"""Smaller constants for a trace: those that size something. What chooses between behaviours stays as it is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fencepost.counterexamples.shortening import Attempts
from fencepost.counterexamples.trace import starting_points
from fencepost.model.language.constants import SHAPE
from fencepost.model.language.domains import BitSet, Domain, Index, Range, linear
from fencepost.model.language.errors import ModelError, UsageError
from fencepost.model.language.records import ArrayOf, BagOf, Nested, Record, Scalar, fields

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fencepost.counterexamples.trace import Trace
    from fencepost.model.language.domains import Linear
    from fencepost.model.language.machine import Machine


def sizes(machine: Machine) -> list[str]:
    """Return the constants that bound a field or a parameter, in the order of their declaration.

    Others, such as the version of a request, choose what the protocol does: a smaller one asks another question.
    """
    used: set[str] = set()
    for total in _bounds_of(machine.state):
        used |= total.names
    for item in (machine.initial, *machine.actions):
        for _, domain in item.params:
            if isinstance(domain, Domain):
                for total in _bounds(domain):
                    used |= total.names
    return [name for name, item in machine.constants.declared().items() if name in used and not item.spellings()]


def shapes(machine: Machine) -> list[str]:
    """Return the sizes that arrays have exactly, such as the number of brokers."""
    declared = machine.constants.declared()
    return [name for name in sizes(machine) if declared[name].sort == SHAPE]


def named(trace: Trace, name: str) -> int:
    """Return how many different things of a shape the steps of a trace name as parameters."""
    found = {
        value
        for step in trace.steps
        for (_, domain), value in zip(step.action.params, step.args, strict=True)
        if isinstance(domain, Index) and name in domain.count.names
    }
    return len(found)


def with_constant(trace: Trace, name: str, value: int) -> Trace | None:
    """Return the trace's question under another constant, its steps as they are; None where that makes no machine."""
    try:
        found = replace(trace, constants=trace.protocol.machine.set_constants({**trace.constants.values, name: value}))
        found.interpreter()
    except (UsageError, ModelError):
        return None
    return found


def from_first_start(trace: Trace, deadline: float) -> Trace:
    """Return the trace from the first initial state from which its steps, or fewer of them, show the same."""
    if trace.initial is None:
        return trace
    for step, _ in starting_points(trace.interpreter()):
        candidate = replace(trace, initial=step.args)
        taken = Attempts(candidate, deadline).take(trace.steps)
        if taken is not None and len(taken) <= len(trace.steps):
            return replace(candidate, steps=taken)
    return trace


def lower(trace: Trace, deadline: float) -> Trace:
    """Return the trace under the smallest sizes at which its steps still show what it says.

    Shapes stay: in a smaller one the things that the steps name do not exist.
    """
    trace = from_first_start(trace, deadline)
    machine = trace.protocol.machine
    declared = machine.constants.declared()
    for name in sizes(machine):
        if declared[name].sort == SHAPE:
            continue
        for value in range(int(declared[name].low), int(trace.constants.values[name])):
            candidate = with_constant(trace, name, value)
            if candidate is None:
                continue
            attempts = Attempts(candidate, deadline)
            if attempts.late:
                return trace
            taken = attempts.take(trace.steps)
            if taken is not None and len(taken) <= len(trace.steps):
                trace = replace(candidate, steps=taken)
                break
    return trace


def _bounds_of(record: type[Record]) -> Iterator[Linear]:
    for _, field in fields(record):
        if isinstance(field, Scalar):
            yield from _bounds(field.domain)
        elif isinstance(field, Nested):
            yield from _bounds_of(field.record)
        elif isinstance(field, BagOf):
            yield field.room
            yield from _bounds_of(field.record)
        elif isinstance(field, ArrayOf):
            yield field.length
            yield from (
                _bounds(field.element.domain) if isinstance(field.element, Scalar) else _bounds_of(field.element.record)
            )


def _bounds(domain: Domain) -> Iterator[Linear]:
    if isinstance(domain, Range):
        yield linear(domain.low)
        yield linear(domain.high)
    elif isinstance(domain, BitSet):
        yield linear(domain.count)
