"""A place that moves along numbers: without its guard, what puts it back has no number there, and neither has the
property of the step."""

from typing import Annotated

from fencepost.model.language import Array, Constants, Machine, Range, Record, Size, action, require, step


class C(Constants):
    """None."""


class Walk(Record):
    numbers: Annotated[Array[Annotated[int, Range(0, 3)]], Size(3)]
    at: Annotated[int, Range(0, 9)]


@action()
def initial(s: Walk, c: C) -> None:
    """The first number."""


@action()
def move(s: Walk, c: C) -> None:
    """The next number, as long as there is one."""
    require(s.at < 2)
    require(s.numbers[0] == 0)
    s.at += 1


def put_back(s: Walk, c: C) -> None:
    """Behind the last number the place is what is there."""
    if s.at == 3:
        s.at = s.numbers[s.at]


@step()
def numbers_are_none(before: Walk, after: Walk, c: C) -> bool:
    """The number at the place is 0."""
    return after.numbers[after.at] == 0


MACHINE = Machine("slips", __doc__, Walk, C, initial, (move,), normalize=put_back)
PROPERTIES = (numbers_are_none,)
