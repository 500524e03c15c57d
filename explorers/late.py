"""Shortest histories with faults as late as they can be: first the ordinary story, then what strikes.

A search finds one of many shortest histories, which differ in the order of steps that do not depend on each other. Which one it
finds says nothing; a reader looks for the fault next to what it breaks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fencepost.explorers.verdict import Path
from fencepost.explorers.walk.measures import budgets
from fencepost.model.language.errors import DisabledError, DomainError

if TYPE_CHECKING:
    from fencepost.model.language.actions import Property
    from fencepost.model.language.interpreter import Interpreter, Step
    from fencepost.model.language.records import Key

LONGEST = 100
"""Longer histories are left as they were found: the work grows with the square of the steps."""


def with_late_faults(plain: Interpreter, path: Path, prop: Property) -> Path:
    """Return a history of the same length and end in which faults, the steps that spend of a budget, come as late as they can.

    Faults that may change places come in the order of the machine's actions. The step that a property of steps judges stays the last.
    That `path` is a shortest one is taken for granted: then no state before the end decides the property in any order.
    """
    end = len(path.steps) - (1 if prop.over_steps else 0)
    if end > LONGEST:
        return path
    order = _Order(plain, path)
    while order.improves(end):
        pass
    return Path(path.start, tuple(order.steps), tuple(order.states))


class _Order:
    """Steps in some order, and the states between them."""

    def __init__(self, plain: Interpreter, path: Path) -> None:
        self.plain, self.steps, self.states = plain, list(path.steps), list(path.states)
        self.budgets = tuple(budgets(plain.machine.state))
        self.ranks = {item.name: number for number, item in enumerate(plain.machine.actions)}

    def improves(self, end: int) -> bool:
        """Move each step that may come before a fault there; say whether any was moved."""
        place = 0
        changed = False
        while place < end:
            for later in range(place + 1, end):
                if self.is_fault(place) and self.comes_before(later, place) and self.moves(later, place):
                    place += 1
                    changed = True
            place += 1
        return changed

    def is_fault(self, place: int) -> bool:
        """Say whether less is left of a budget after the step at `place` than before it."""
        before, after = (self.plain.schema.restore(key) for key in self.states[place : place + 2])
        return any(_value(after, name) < _value(before, name) for name in self.budgets)

    def comes_before(self, later: int, fault: int) -> bool:
        """Say whether a later step belongs before a fault: it is none, or one that the machine names first."""
        return not self.is_fault(later) or self._rank(later) < self._rank(fault)

    def moves(self, later: int, place: int) -> bool:
        """Move the step at `later` to `place`, past the steps between; leave everything as it is if it depends on one of them."""
        steps, states = self.steps.copy(), self.states.copy()
        for at in reversed(range(place, later)):
            one, other = steps[at : at + 2]
            between = self._between(states[at], other, one, states[at + 2])
            if between is None:
                return False
            steps[at], steps[at + 1], states[at + 1] = other, one, between
        self.steps, self.states = steps, states
        return True

    def _rank(self, place: int) -> int:
        return self.ranks[self.steps[place].action.name]

    def _between(self, before: Key, first: Step, second: Step, after: Key) -> Key | None:
        """Return the state between two steps that lead from `before` to `after`, None if they do not."""
        try:
            between = self.plain.apply(before, first).after
            return between if self.plain.apply(between, second).after == after else None
        except (DisabledError, DomainError):
            return None


def _value(state: Any, path: tuple[str, ...]) -> int:
    for name in path:
        state = getattr(state, name)
    return int(state)
