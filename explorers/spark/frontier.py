"""The frontier of a grid: which settings are safe as far as searched, and the smallest that are not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class Point:
    """A setting of the grid: for each axis the place of its value, and whether a walk violated a property there."""

    places: tuple[int, ...]
    unsafe: bool


def below(one: Sequence[int], other: Sequence[int]) -> bool:
    """Say whether a setting is at most another on every axis, and is another one."""
    return tuple(one) != tuple(other) and all(a <= b for a, b in zip(one, other, strict=True))


def smallest_unsafe(points: Mapping[str, Point]) -> tuple[str, ...]:
    """Return the unsafe settings with no unsafe one below them, in the order given. Values are in the order of their axis."""
    unsafe = {name: point for name, point in points.items() if point.unsafe}
    return tuple(
        name
        for name, point in unsafe.items()
        if not any(below(other.places, point.places) for other in unsafe.values())
    )
