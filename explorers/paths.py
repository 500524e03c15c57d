"""Traces rebuilt on the plain semantics: what another engine found is shown only after the definition agrees.

A search finds one of many shortest histories, which differ in the order of steps that do not depend on each other. Which one it
finds says nothing; a reader looks for the fault next to what it breaks. So faults come as late as they can: first the ordinary
story, then what strikes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING

from fencepost.explorers.walk.measures import budgets
from fencepost.model.language.actions import Kind
from fencepost.model.language.errors import DisabledError, DomainError, MismatchError
from fencepost.model.language.interpreter import Path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fencepost.model.language.actions import Property
    from fencepost.model.language.interpreter import Interpreter, Step, Transition
    from fencepost.model.language.records import Key, Record


ORDINARY = -1
"""The rank of a step that is not a fault."""
LONGEST = 100
"""Longer histories are left as they were found: the work grows with the square of the steps."""


@dataclass(frozen=True)
class Found:
    """What a path is said to show: a property decided at its end (None: only the path itself)."""

    prop: Property | None


def confirm(plain: Interpreter, trail: Iterable[Callable[[Key], bool]], found: Found) -> Path:
    """Rebuild a path from tests that recognise its states, and check at its end what it is said to show.

    Raises MismatchError where the plain semantics does not take the same way or judges the end otherwise.
    """
    tests = iter(trail)
    first = next(tests)
    start = next((key for key in plain.initial_states() if first(key)), None)
    if start is None:
        raise MismatchError("a path was found whose first state is not an initial state of the plain semantics.")
    states: list[Key] = [start]
    steps: list[Step] = []
    for recognises in tests:
        taken = next((item for item in plain.transitions(states[-1]) if recognises(item.after)), None)
        if taken is None:
            raise MismatchError(
                f"a path was found whose step {len(states)} the plain semantics cannot take. Engines disagree: please report this."
            )
        steps.append(taken.step)
        states.append(taken.after)
    prop = found.prop
    if prop is None:
        return Path(start, tuple(steps), tuple(states))
    if prop.over_steps:
        last = _deciding_step(plain, prop, states[-1])
        return Path(start, (*steps, last.step), (*states, last.after))
    if plain.holds(prop, states[-1]) is not (prop.kind is Kind.SOMETIMES):
        raise MismatchError(f"property {prop.name!r}: the engine and the plain semantics judge the last state differently.")
    return Path(start, tuple(steps), tuple(states))


def _deciding_step(plain: Interpreter, prop: Property, state: Key) -> Transition:
    wanted = prop.kind is Kind.SOMETIMES
    for transition in plain.transitions(state):
        applies = prop.on is None or prop.on.name == transition.step.action.name
        if applies and plain.holds_step(prop, state, transition) is wanted:
            return transition
    raise MismatchError(f"property {prop.name!r}: the engine and the plain semantics judge the last step differently.")


def with_late_faults(plain: Interpreter, path: Path, prop: Property) -> Path:
    """Return a history of the same length and end in which faults, the steps that spend of a budget, come as late as they can.

    Faults that may change places come in the order of the machine's actions. The step that a property of steps judges stays the last.
    That `path` is a shortest one is taken for granted: then no state before the end decides the property in any order.
    """
    end = len(path.steps) - (1 if prop.over_steps else 0)
    if end > LONGEST or not _budgets(plain.machine.state):
        return path
    order = _Order(plain, path)
    while order.improves(end):
        pass
    return Path(path.start, tuple(order.steps), tuple(order.states))


@cache
def _budgets(state: type[Record]) -> tuple[str, ...]:
    """Return the fields that hold what is left of a budget; without any, no step is a fault."""
    return tuple(".".join(name) for name in budgets(state))


class _Order:
    """Steps in some order, the states between them, and each step's rank: a step comes before those of a higher one, if it can."""

    def __init__(self, plain: Interpreter, path: Path) -> None:
        self.plain, self.steps, self.states = plain, list(path.steps), list(path.states)
        left = [attrgetter(name) for name in _budgets(plain.machine.state)]
        records = [plain.schema.restore(key) for key in path.states]
        places = {item.name: place for place, item in enumerate(plain.machine.actions)}
        self.ranks = [
            places[step.action.name] if any(of(after) < of(before) for of in left) else ORDINARY
            for step, (before, after) in zip(path.steps, pairwise(records), strict=True)
        ]

    def improves(self, end: int) -> bool:
        """Move each step that may come before a fault there; say whether any was moved."""
        place = 0
        changed = False
        while place < end:
            for later in range(place + 1, end):
                if self.ranks[later] < self.ranks[place] and self.moves(later, place):
                    place += 1
                    changed = True
            place += 1
        return changed

    def moves(self, later: int, place: int) -> bool:
        """Move the step at `later` to `place`, past the steps between; leave everything as it is if it depends on one of them."""
        step, states = self.steps[later], self.states.copy()
        for at in reversed(range(place, later)):
            between = self._between(states[at], step, self.steps[at], states[at + 2])
            if between is None:
                return False
            states[at + 1] = between
        self.states = states
        self.steps.insert(place, self.steps.pop(later))
        self.ranks.insert(place, self.ranks.pop(later))
        return True

    def _between(self, before: Key, first: Step, second: Step, after: Key) -> Key | None:
        """Return the state between two steps that lead from `before` to `after`, None if they do not."""
        try:
            between = self.plain.apply(before, first).after
            return between if self.plain.apply(between, second).after == after else None
        except (DisabledError, DomainError):
            return None
