"""Timeouts: a field counts the ticks until a deadline, and each tick lowers the field.

No request waits beyond its deadline.
"""

from typing import Annotated

from fencepost.model.language import Constants, Machine, Range, Record, action, always, bound, require, sometimes


class C(Constants):
    patience = bound(2, low=1, high=4, meaning="ticks after which a request is abandoned")


class State(Record):
    waiting: bool
    left: Annotated[int, Range(0, C.patience)]
    given_up: bool


@action()
def initial(s: State, c: C) -> None:
    """A request is sent."""
    s.waiting = True
    s.left = c.patience


@action()
def answer(s: State, c: C) -> None:
    """The answer arrives in time."""
    require(s.waiting)
    s.waiting = False


@action()
def tick(s: State, c: C) -> None:
    """Time passes, but not beyond the deadline of a waiting request."""
    require(not s.waiting or s.left > 0)
    s.left = max(0, s.left - 1)


@action()
def time_out(s: State, c: C) -> None:
    """The request times out at its deadline."""
    require(s.waiting and s.left == 0)
    s.waiting = False
    s.given_up = True


@always
def nobody_gives_up_early(s: State, c: C) -> bool:
    """A request is abandoned only at its deadline."""
    return not s.given_up or s.left == 0


@sometimes
def somebody_gives_up(s: State, c: C) -> bool:
    """A request times out."""
    return s.given_up


MACHINE = Machine("timeouts", "A request with a deadline", State, C, initial, (answer, tick, time_out))
PROPERTIES = (nobody_gives_up_early, somebody_gives_up)
