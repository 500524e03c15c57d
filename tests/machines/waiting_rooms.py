"""Rooms that are done in some steps: in the last one everything is done from the start, so there is no way there."""

from typing import Annotated

from fencepost.model.language import *


class C(Constants):
    n = shape(2, low=1, high=3, meaning="rooms")


Room = Annotated[int, Index(C.n)]


class State(Record):
    x: Annotated[Array[Annotated[int, Range(0, 3)]], Per(Room)]


@action()
def initial(s: State, c: C) -> None:
    """Begin: the last room is done."""
    s.x[c.n - 1] = 3


@action(r=Room)
def go(s: State, c: C, r: int) -> None:
    """Do something in a room."""
    require(s.x[r] < 3)
    s.x[r] += 1


def exists(s: State, c: C, r: int) -> bool:
    """Every room does."""
    return s.x[r] >= 0


def is_done(s: State, c: C, r: int) -> bool:
    """Say whether a room is done."""
    return s.x[r] == 3


done = at_most(
    "done", "Every room is done in a few steps.", costs={go: 1}, when=exists, then=is_done, without=(), r=Room
)
MACHINE = Machine("waiting_rooms", "rooms that are done one after the other", State, C, initial, (go,))
PROPERTIES = (done,)
