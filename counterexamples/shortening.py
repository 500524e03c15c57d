"""Attempts to make a trace shorter and smaller, by omitting steps and reducing sizes. Each attempt is a replay that
skips disabled steps. Constants that choose between behaviours do not change.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any

from fencepost.counterexamples.trace import Trace, starting_points
from fencepost.explorers.paths import holds_at_end, values_of
from fencepost.model.language.actions import Kind
from fencepost.model.language.constants import SHAPE
from fencepost.model.language.domains import BitSet, Domain, Index, InFlight, Linear, Range, linear
from fencepost.model.language.errors import DisabledError, FencepostError, ModelError, UsageError
from fencepost.model.language.interpreter import Step, Transition
from fencepost.model.language.machine import Machine
from fencepost.model.language.records import ArrayOf, BagOf, Key, Nested, Record, Scalar, fields, key_of

Steps = tuple[Step, ...]
PAIRS = 40
"""If a trace has at most this many steps, pairs such as a fault and its recovery are removed too."""


class Attempts:
    def __init__(self, trace: Trace, deadline: float) -> None:
        self.trace, self.deadline = trace, deadline
        self.plain = trace.interpreter()
        self.start = self._start()
        self.witness = trace.prop is not None and trace.prop.kind is Kind.SOMETIMES

    @property
    def late(self) -> bool:
        return time.perf_counter() > self.deadline

    def take(self, steps: Steps) -> Steps | None:
        """Take the enabled steps until they lead to the trace's finding; return the steps, or None if they never do. A
        step whose message is not in flight takes the most similar message. A step that a guard refuses is skipped.
        """
        if self.start is None:
            return None
        try:
            return self._take(self.start, steps)
        except FencepostError:
            return None  # under these constants the model, or the property, raises an error

    def _take(self, state: Key, steps: Steps) -> Steps | None:
        taken: list[Step] = []
        if self._shows((state,)):
            return ()
        for step in steps:
            try:
                happened = self.plain.apply(state, self._fitted(state, step))
            except DisabledError:
                continue
            taken.append(happened.step)
            if self._shows((state, happened.after), happened):
                return tuple(taken)
            state = happened.after
        if self.trace.prop is None and next(self.plain.transitions(state), None) is None:
            return tuple(taken)
        return None

    def _start(self) -> Key | None:
        try:
            starts = list(starting_points(self.plain))
        except FencepostError:
            return None
        wanted = self.trace.initial
        return next((state for step, state in starts if wanted is None or step.args == wanted), None)

    def _shows(self, states: Sequence[Key], happened: Transition | None = None) -> bool:
        prop = self.trace.prop
        return prop is not None and holds_at_end(self.plain, prop, states, happened) is self.witness

    def _fitted(self, state: Key, step: Step) -> Step:
        arguments: list[Any] = []
        for (_, domain), value in zip(step.action.params, step.args, strict=True):
            if isinstance(domain, InFlight):
                messages = [key_of(item) for item in getattr(self.plain.schema.restore(state), domain.bag)]
                if not messages:
                    raise DisabledError
                arguments.append(value if value in messages else max(messages, key=partial(_alike, value)))
                continue
            if value not in values_of(self.plain.schema, domain):
                raise DisabledError
            arguments.append(value)
        return Step(step.action, tuple(arguments))


def _alike(one: Any, other: Any) -> int:
    if isinstance(one, tuple) and isinstance(other, tuple):
        return sum(map(_alike, one, other))
    return int(one == other)


def without(attempts: Attempts, steps: Steps) -> Steps:
    """Return the steps that are needed. Large chunks are removed first, then single steps and pairs."""
    shortest = attempts.take(steps)
    if shortest is None:
        return steps
    size = max(1, len(shortest) // 2)
    while not attempts.late:
        shorter = _first(attempts, shortest, _pieces(shortest, size))
        if shorter is not None:
            shortest = shorter
            size = min(size, max(1, len(shortest) // 2))
        elif size > 1:
            size //= 2
        else:
            pair = _first(attempts, shortest, _pairs(shortest))
            if pair is None:
                break
            shortest = pair
    return shortest


def simpler(attempts: Attempts, steps: Steps) -> Steps:
    found = list(steps)
    for place, step in enumerate(steps):
        for number, (_, domain) in enumerate(step.action.params):
            value = found[place].args[number]
            if isinstance(domain, InFlight) or attempts.late:
                continue
            for smaller in _nearer_to_0(values_of(attempts.plain.schema, domain), value):
                changed = Step(step.action, (*found[place].args[:number], smaller, *found[place].args[number + 1 :]))
                taken = attempts.take((*found[:place], changed, *found[place + 1 :]))
                if taken is not None and len(taken) <= len(found):
                    found = list(taken)
                    break
            if len(found) < len(steps):
                return simpler(attempts, tuple(found))
    return tuple(found)


def _nearer_to_0(values: range, value: int) -> range:
    return range(min(values.stop - 1, 0), value, -1) if value < 0 else range(max(values.start, 0), value)


def _first(attempts: Attempts, steps: Steps, candidates: Iterator[Steps]) -> Steps | None:
    for candidate in candidates:
        if attempts.late:
            return None
        taken = attempts.take(candidate)
        if taken is not None and len(taken) < len(steps):
            return taken
    return None


def _pieces(steps: Steps, size: int) -> Iterator[Steps]:
    """Yield the steps without one chunk of this size; start with the last chunk, because the first is often needed."""
    for end in range(len(steps), 0, -size):
        yield steps[: max(0, end - size)] + steps[end:]


def _pairs(steps: Steps) -> Iterator[Steps]:
    if len(steps) <= PAIRS:
        for one, other in combinations(range(len(steps)), 2):
            yield steps[:one] + steps[one + 1 : other] + steps[other + 1 :]


def sizes(machine: Machine) -> list[str]:
    """Return the constants that bound a field or a parameter, in declared order. Other constants, such as a request's
    version, select a behaviour, so another value would change the question.
    """
    used: set[str] = set()
    for total in bounds_of(machine.state):
        used |= total.names
    for item in (machine.initial, *machine.actions):
        for _, domain in item.params:
            if isinstance(domain, Domain):
                for total in _bounds(domain):
                    used |= total.names
    return [name for name, item in machine.constants.declared().items() if name in used and not item.spellings()]


def shapes(machine: Machine) -> list[str]:
    declared = machine.constants.declared()
    return [name for name in sizes(machine) if declared[name].sort == SHAPE]


def named(trace: Trace, name: str) -> int:
    found = {
        value
        for step in trace.steps
        for (_, domain), value in zip(step.action.params, step.args, strict=True)
        if isinstance(domain, Index) and name in domain.count.names
    }
    return len(found)


def with_constant(trace: Trace, name: str, value: int) -> Trace | None:
    try:
        found = replace(trace, constants=trace.protocol.machine.set_constants({**trace.constants.values, name: value}))
        found.interpreter()
    except (UsageError, ModelError):
        return None
    return found


def from_first_start(trace: Trace, deadline: float) -> Trace:
    if trace.initial is None:
        return trace
    for step, _ in starting_points(trace.interpreter()):
        candidate = replace(trace, initial=step.args)
        taken = Attempts(candidate, deadline).take(trace.steps)
        if taken is not None and len(taken) <= len(trace.steps):
            return replace(candidate, steps=taken)
    return trace


def lower(trace: Trace, deadline: float) -> Trace:
    """Return the trace with the smallest sizes for which its steps still lead to its finding. Constants that determine
    the shape of states do not change, because a smaller shape may lack values that the steps name.
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


def bounds_of(record: type[Record]) -> Iterator[Linear]:
    for _, field in fields(record):
        if isinstance(field, Scalar):
            yield from _bounds(field.domain)
        elif isinstance(field, Nested):
            yield from bounds_of(field.record)
        elif isinstance(field, BagOf):
            yield field.room
            yield from bounds_of(field.record)
        elif isinstance(field, ArrayOf):
            yield field.length
            yield from (
                _bounds(field.element.domain) if isinstance(field.element, Scalar) else bounds_of(field.element.record)
            )


def _bounds(domain: Domain) -> Iterator[Linear]:
    if isinstance(domain, Range):
        yield linear(domain.low)
        yield linear(domain.high)
    elif isinstance(domain, BitSet):
        yield linear(domain.count)
