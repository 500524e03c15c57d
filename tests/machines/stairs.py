"""Somebody climbs stairs, one at a time or two: without its guard a step goes higher than any step with it."""

from typing import Annotated

from fencepost.model.language import Constants, Machine, Range, Record, action, always, bound, require, sometimes


class C(Constants):
    landing = bound(3, low=1, high=4, meaning="the stair on which one stops")


class Stairs(Record):
    stair: Annotated[int, Range(0, 5)]


@action()
def begin(s: Stairs, c: C) -> None:
    """One stands below the first stair."""


@action()
def climb(s: Stairs, c: C) -> None:
    """One climbs a stair."""
    require(s.stair < c.landing)
    s.stair += 1


@action()
def leap(s: Stairs, c: C) -> None:
    """One takes two stairs at once."""
    require(s.stair <= 1)
    s.stair += 2


@always
def is_low(s: Stairs, c: C) -> bool:
    """Nobody is above the landing."""
    return s.stair <= 3


@sometimes
def is_high(s: Stairs, c: C) -> bool:
    """Somebody is above the landing."""
    return s.stair > 3


PROPERTIES = (is_low, is_high)
MACHINE = Machine("stairs", "stairs", Stairs, C, begin, (climb, leap))
