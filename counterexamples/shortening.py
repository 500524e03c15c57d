"""Shorter traces by leaving steps out: each attempt is a replay that passes over what can no longer happen."""

from __future__ import annotations

import time
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

from fencepost.counterexamples.trace import starting_points
from fencepost.explorers.parameters import values_of
from fencepost.model.language.actions import Kind
from fencepost.model.language.domains import InFlight
from fencepost.model.language.errors import DisabledError, FencepostError
from fencepost.model.language.interpreter import Step
from fencepost.model.language.records import key_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fencepost.counterexamples.trace import Trace
    from fencepost.model.language.interpreter import Transition
    from fencepost.model.language.records import Key

Steps = tuple[Step, ...]
PAIRS = 40
"""Steps of a trace up to which any two of them are left out together: a fault and its repair go only at once."""


class Attempts:
    """Replays of other steps under the constants of a trace."""

    def __init__(self, trace: Trace, deadline: float) -> None:
        self.trace, self.deadline = trace, deadline
        self.plain = trace.interpreter()
        self.start = self._start()
        self.witness = trace.prop is not None and trace.prop.kind is Kind.SOMETIMES
        self.replays = 0

    @property
    def late(self) -> bool:
        """Whether the time for attempts is over."""
        return time.perf_counter() > self.deadline

    def take(self, steps: Steps) -> Steps | None:
        """Return those of the steps that can happen, up to where they show what the trace says; None if they do not.

        A step whose message is no longer in flight takes the message most like it; one that a guard refuses is passed
        over.
        """
        if self.start is None:
            return None
        self.replays += 1
        try:
            return self._take(self.start, steps)
        except FencepostError:
            return None  # under these constants the model, or the property, is not defined there

    def _take(self, state: Key, steps: Steps) -> Steps | None:
        taken: list[Step] = []
        if self._shows(state):
            return ()
        for step in steps:
            try:
                happened = self.plain.apply(state, self._fitted(state, step))
            except DisabledError:
                continue
            taken.append(happened.step)
            if self._shows(happened.after, state, happened):
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

    def _shows(self, state: Key, before: Key | None = None, happened: Transition | None = None) -> bool:
        prop = self.trace.prop
        if prop is None:
            return False
        if not prop.over_steps:
            return self.plain.holds(prop, state) is self.witness
        if before is None or happened is None:
            return False
        applies = prop.on is None or prop.on.name == happened.step.action.name
        return applies and self.plain.holds_step(prop, before, happened) is self.witness

    def _fitted(self, state: Key, step: Step) -> Step:
        """Return the step with messages that are in flight; raise DisabledError where a parameter has no such value."""
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
    """Return in how many values two messages agree."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        return sum(map(_alike, one, other))
    return int(one == other)


def without(attempts: Attempts, steps: Steps) -> Steps:
    """Return the trace's steps without those that it does not need: large pieces first, then single steps and pairs."""
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
    """Return the steps with parameters nearer to 0 where they show the same in as many steps."""
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
    """Return the values between 0 and this one, those nearest to 0 first."""
    return range(min(values.stop - 1, 0), value, -1) if value < 0 else range(max(values.start, 0), value)


def _first(attempts: Attempts, steps: Steps, candidates: Iterator[Steps]) -> Steps | None:
    """Return the result of the first shorter candidate that still shows the violation."""
    for candidate in candidates:
        if attempts.late:
            return None
        taken = attempts.take(candidate)
        if taken is not None and len(taken) < len(steps):
            return taken
    return None


def _pieces(steps: Steps, size: int) -> Iterator[Steps]:
    """Yield the steps without each piece of this size, the last one first: what comes early is needed most."""
    for end in range(len(steps), 0, -size):
        yield steps[: max(0, end - size)] + steps[end:]


def _pairs(steps: Steps) -> Iterator[Steps]:
    if len(steps) <= PAIRS:
        for one, other in combinations(range(len(steps)), 2):
            yield steps[:one] + steps[one + 1 : other] + steps[other + 1 :]
