"""A dial that is turned to either side of 0."""

from typing import Annotated

from fencepost.model.language import Constants, Machine, Range, Record, action, step


class C(Constants):
    """Nothing depends on constants."""


class Dial(Record):
    at: Annotated[int, Range(-3, 3)]
    last: Annotated[int, Range(-1, 3)]


@action()
def initial(s: Dial, c: C) -> None:
    """It stands at 0."""


@action(to=Annotated[int, Range(-3, 3)])
def turn(s: Dial, c: C, to: int) -> None:
    s.at = to


@action(to=Annotated[int, Range(-1, 3)])
def turn_up(s: Dial, c: C, to: int) -> None:
    s.at = to
    s.last = to


@step()
def stays_near(before: Dial, after: Dial, c: C) -> bool:
    """It is not turned to -2 or beyond."""
    return after.at > -2


@step()
def remembers_numbers(before: Dial, after: Dial, c: C) -> bool:
    return after.last >= 0


MACHINE = Machine("dial", "a dial that is turned", Dial, C, initial, (turn, turn_up))
PROPERTIES = (stays_near, remembers_numbers)
