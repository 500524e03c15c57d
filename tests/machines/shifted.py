"""A counter with a guard that shifts: where another guard refuses, compiled numbers are too short for what it
computes."""

from typing import Annotated

from fencepost.model.language import Constants, Machine, Range, Record, action, always, bound, require


class C(Constants):
    n = bound(3, low=0, high=3, meaning="turns")


class Counter(Record):
    turns: Annotated[int, Range(0, 9)]


@action()
def initial(s: Counter, c: C) -> None:
    """It stands at 0."""


@action()
def turn(s: Counter, c: C) -> None:
    """Turn it, as far as it is seen; after the third turn it is too far."""
    require(s.turns < c.n, bound=C.n)
    require((1 << (s.turns * 30)) < (1 << 61))
    s.turns += 1


@always
def turns_are_few(s: Counter, c: C) -> bool:
    return s.turns <= c.n


MACHINE = Machine("shifted", __doc__, Counter, C, initial, (turn,))
PROPERTIES = (turns_are_few,)
