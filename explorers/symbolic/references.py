"""References: the places that a name of a model may stand for, each under its condition; and what loops run over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from fencepost.explorers.symbolic.terms import Flag, Value, both, bounds, choose, either, negate, number

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Refs:
    """A reference to a record, an array or a bag: the places that it may stand for, each under its condition."""

    options: tuple[tuple[Flag, Any], ...]

    @property
    def first(self) -> Any:
        return self.options[0][1]


def merge(condition: Flag, one: Any, other: Any) -> Any:
    """Return `one` where the condition holds, else `other`: numbers or references."""
    if not isinstance(one, Refs):
        return choose(condition, one, other)
    if condition is True:
        return one
    if condition is False:
        return other
    found: dict[int, tuple[Flag, Any]] = {}
    for side, refs in ((condition, one), (negate(condition), other)):
        for on, item in refs.options:
            before = found.get(id(item), (False, item))[0]
            found[id(item)] = (either(before, both(side, on)), item)
    return Refs(tuple(found.values()))


def read(refs: Refs) -> Value:
    """Return the value of the cell that is referred to."""
    return asked(refs, lambda cell: cell.get())


def asked(refs: Refs, of: Callable[[Any], Value]) -> Value:
    """Return the value of `of` at the place that is referred to."""
    *others, (_, last) = refs.options
    found = of(last)
    for on, place in reversed(others):
        found = choose(on, of(place), found)
    return found


class Numbers(NamedTuple):
    """A `range` whose ends are evaluated."""

    start: Value
    stop: Value

    @property
    def low(self) -> int | None:
        """The least number that it may hold, None where there is no bound."""
        return bounds(number(self.start))[0]

    @property
    def high(self) -> int | None:
        """A bound above all its numbers, None if nothing bounds them."""
        return bounds(number(self.stop))[1]

    @property
    def is_endless(self) -> bool:
        """Whether it has no bound."""
        return self.low is None or self.high is None
