"""A counter whose distance, as long as it may be, is compared with a limit: without its guard compiled numbers are too
short for it."""

from typing import Annotated

from fencepost.model.language import Constants, Machine, Range, Record, action, always, require


class C(Constants):
    """None."""


class Counter(Record):
    """How often it was turned, and how far it is seen to be."""

    turns: Annotated[int, Range(0, 3)]
    distance: Annotated[int, Range(0, 9)]


@action()
def initial(s: Counter, c: C) -> None:
    """It stands at 0."""


@action()
def turn(s: Counter, c: C) -> None:
    """Turn it."""
    require(s.turns < 1)
    s.turns += 1
    s.distance = min(9, 1 << 40 * s.turns)


@always
def turns_are_few(s: Counter, c: C) -> bool:
    """It is not turned three times."""
    return s.turns < 3


MACHINE = Machine("long-numbers", __doc__, Counter, C, initial, (turn,))
PROPERTIES = (turns_are_few,)
