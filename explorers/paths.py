"""Paths for display, in which each fault happens as late as possible, just before its effect."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from operator import attrgetter

from fencepost.model.language.actions import Property
from fencepost.model.language.domains import Domain, First
from fencepost.model.language.errors import DisabledError, DomainError
from fencepost.model.language.interpreter import Interpreter, Path, Step, Transition
from fencepost.model.language.records import Key, Nested, Record, Scalar, Schema, fields


def holds_at_end(plain: Interpreter, prop: Property, states: Sequence[Key], last: Transition | None) -> bool | None:
    if not prop.over_steps:
        return plain.holds(prop, states[-1])
    return None if last is None else plain.holds_step(prop, states[-2], last)


def values_of(schema: Schema, domain: Domain) -> range:
    _, high = schema.bounds(domain)
    return range(First(domain).value(schema.constants.values), high + 1)


def with_way(plain: Interpreter, properties: Iterable[Property], path: Path, error: DomainError) -> DomainError:
    """Return an error with its path. With symmetry, return the error that the machine raises without symmetry."""
    found, end = error, path.states[-1]
    try:
        for prop in properties if plain.symmetry is not None else ():
            if not prop.over_steps:
                plain.exact.holds(prop, end)
        for step in plain.exact.transitions(end) if plain.symmetry is not None else ():
            for prop in properties:
                if prop.over_steps:
                    plain.exact.holds_step(prop, end, step)
    except DomainError as own:
        found = own
    found.states, found.steps = path.states, path.steps
    return found


LEFT = "_left"
ORDINARY = -1
"""Rank of a step that is not a fault."""
LONGEST = 100
"""Longer paths are not reordered, because the work grows with the square of the number of steps."""


def with_late_faults(plain: Interpreter, path: Path, prop: Property) -> Path:
    """Return a path with the same length and end, and with faults (steps that spend a budget) as late as possible.

    Faults that can happen in either order follow the machine's order of actions. If the property is about steps, the
    step that decides it stays last. `path` must be a shortest path, so no reordering can decide the property earlier.
    """
    end = len(path.steps) - (1 if prop.over_steps else 0)
    if end > LONGEST or not budgets(plain.machine.state):
        return path
    order = _Order(plain, path)
    while order.improves(end):
        pass
    return Path(path.start, tuple(order.steps), tuple(order.states))


@lru_cache(64)
def budgets(state: type[Record]) -> tuple[str, ...]:
    """Return the fields that contain a remaining budget: numbers in the record `budget`, or named `..._left`."""
    found: list[str] = []
    for name, field in fields(state):
        if name == "budget" and isinstance(field, Nested):
            found += [f"{name}.{inner}" for inner, item in fields(field.record) if isinstance(item, Scalar)]
        elif isinstance(field, Scalar) and (name == "budget" or name.endswith(LEFT)):
            found.append(name)
    return tuple(found)


class _Order:
    def __init__(self, plain: Interpreter, path: Path) -> None:
        self.plain, self.steps, self.states = plain, list(path.steps), list(path.states)
        left = [attrgetter(name) for name in budgets(plain.machine.state)]
        records = [plain.schema.restore(key) for key in path.states]
        places = {item.name: place for place, item in enumerate(plain.machine.actions)}
        self.ranks = [
            places[step.action.name] if any(of(after) < of(before) for of in left) else ORDINARY
            for step, (before, after) in zip(path.steps, pairwise(records), strict=True)
        ]

    def improves(self, end: int) -> bool:
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
        try:
            between = self.plain.apply(before, first).after
            return between if self.plain.apply(between, second).after == after else None
        except (DisabledError, DomainError):
            return None
