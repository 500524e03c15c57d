"""References: the places that a name of a model may stand for, each under its condition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fencepost.explorers.symbolic.terms import Flag, both, choose, either, negate


@dataclass(frozen=True)
class Refs:
    """A reference to a record, an array or a bag: the places that it may stand for, each under its condition."""

    options: tuple[tuple[Flag, Any], ...]

    @property
    def first(self) -> Any:
        """One of the places."""
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
