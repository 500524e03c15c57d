"""A counter that two people turn in the same way: two actions of one function, each with guards of its own."""

from typing import Annotated

from fencepost.model.language import Array, Constants, Machine, Range, Record, Size, action, always, require


class C(Constants):
    """None."""


class Counter(Record):
    turns: Annotated[int, Range(0, 3)]
    at: Annotated[int, Range(0, 4)]
    seen: Annotated[Array[Annotated[int, Range(0, 1)]], Size(3)]


@action()
def initial(s: Counter, c: C) -> None:
    """It stands at 0."""


@action()
def left_hand(s: Counter, c: C) -> None:
    require(s.turns < 3)
    require(s.at < 2 and s.seen[s.at] == 0)
    s.turns += 1
    s.at += 1


@always
def stays_below(s: Counter, c: C) -> bool:
    return s.at < 3


MACHINE = Machine("doubles", __doc__, Counter, C, initial, (left_hand, left_hand.named("right_hand")))
PROPERTIES = (stays_below,)
