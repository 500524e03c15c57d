"""Sums of numbers that pass 64 bits, where `fault` says so: in a store, on the way to a small value, in a guard, in a
property."""

from enum import IntEnum, auto
from typing import Annotated

from fencepost.model.language import Array, Constants, Machine, Range, Record, Size, action, always, choice, require

LARGE = 1 << 61
GREATEST = (1 << 62) - 1
LEAST = -GREATEST


class Fault(IntEnum):
    NOTHING = 0
    WRAPS_TO_ZERO = auto()
    NEGATED = auto()
    MAGNITUDE = auto()
    DIFFERENCE = auto()
    ON_THE_WAY = auto()
    FOLDED = auto()
    IN_GUARD = auto()
    IN_PROPERTY = auto()


class C(Constants):
    fault = choice(Fault.NOTHING, meaning="what goes wrong")


class State(Record):
    done: Annotated[int, Range(0, 1)]
    small: Annotated[int, Range(-9, 9)]
    wide: Annotated[int, Range(LEAST, GREATEST)]
    parts: Annotated[Array[Annotated[int, Range(LEAST, GREATEST)]], Size(4)]


@action()
def initial(s: State, c: C) -> None:
    """The widest numbers there are."""
    s.wide = -LARGE - LARGE + 1
    for i in range(4):
        s.parts[i] = LARGE


@action()
def go(s: State, c: C) -> None:
    """One step, with a sum in it."""
    require(s.done == 0)
    require(c.fault != Fault.IN_GUARD or s.wide - s.parts[0] - s.parts[1] - s.parts[2] < 0)
    s.done = 1
    t = s.parts[0]
    if c.fault == Fault.WRAPS_TO_ZERO:
        s.small = t + t + t + t + t + t + t + t
    if c.fault == Fault.NEGATED:
        s.wide = -(s.wide + s.wide + s.wide)
    if c.fault == Fault.MAGNITUDE:
        s.wide = abs(s.wide + s.wide + s.wide)
    if c.fault == Fault.DIFFERENCE:
        s.wide = s.wide - 1
    if c.fault == Fault.ON_THE_WAY:
        s.small = (t + t + t + t + t) >> 61
    if c.fault == Fault.FOLDED:
        s.small = sum(part for part in s.parts) >> 61


@always
def is_small(s: State, c: C) -> bool:
    return s.done == 0 or c.fault != Fault.IN_PROPERTY or s.wide + s.wide + s.wide < 0


MACHINE = Machine("wide", "Sums that pass 64 bits.", State, C, initial, (go,))
PROPERTIES = (is_small,)
