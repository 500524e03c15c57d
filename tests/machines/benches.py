"""Two benches beside each other: whose seats they are is only in their lengths, which two variants may share out in
other ways."""

from typing import Annotated

from fencepost.model.language import *


class C(Constants):
    left = shape(2, low=2, high=3, meaning="seats on the left")
    right = shape(2, low=2, high=3, meaning="seats on the right")
    used = bound(2, low=1, high=2, meaning="lamps in use")
    most = bound(2, low=1, high=2, meaning="people at most")
    top = capacity(2, low=1, high=300, meaning="the last hour")
    room = capacity(2, low=1, high=300, meaning="notes on the wall")


class Note(Record):
    by: Annotated[int, Range(0, 1)]


class State(Record):
    left: Annotated[Array[Annotated[int, Range(0, 1)]], Size(C.left)]
    right: Annotated[Array[Annotated[int, Range(0, 1)]], Size(C.right)]
    lamps: Annotated[Array[Annotated[int, Range(0, 1)]], Size(C.used)]
    people: Annotated[int, Range(0, C.most)]
    hour: Annotated[int, Range(0, C.top)]
    notes: Annotated[Bag[Note], Size(C.room)]


@action()
def initial(s: State, c: C) -> None:
    """Nobody sits."""


@action()
def sit(s: State, c: C) -> None:
    """Somebody takes the first seat on the right, or the last one on the left."""
    require(s.people == 0)
    s.people = 1
    if c.left == 2:
        s.right[0] = 1
    else:
        s.left[c.left - 1] = 1


@always
def few(s: State, c: C) -> bool:
    """Nobody sits on the first seat."""
    return s.left[0] == 0


PROPERTIES = (few,)
MACHINE = Machine("benches", "Two benches.", State, C, initial, (sit,))
