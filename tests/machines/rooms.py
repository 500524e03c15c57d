"""Rooms with lamps: for traces of leads-to, whose loops may be empty, and for parties that have one value each."""

from typing import Annotated

from fencepost.model.language import *


class C(Constants):
    size = shape(2, low=1, high=3, meaning="rooms")


Room = Annotated[int, Index(C.size)]


class State(Record):
    lit: Annotated[Array[bool], Per(Room)]


@action()
def initial(s: State, c: C) -> None:
    """All rooms are dark."""


@action(room=Room)
def light(s: State, c: C, room: int) -> None:
    require(not s.lit[room])
    s.lit[room] = True


@action(room=Room)
def darken(s: State, c: C, room: int) -> None:
    """Somebody puts a lamp out."""
    require(s.lit[room])
    s.lit[room] = False


def is_dark(s: State, c: C, room: int) -> bool:
    return not s.lit[room]


def is_lit(s: State, c: C, room: int) -> bool:
    return s.lit[room]


gets_light = leads_to("gets_light", "A dark room is lit in the end.", when=is_dark, then=is_lit, room=Room)
goes_dark = leads_to(
    "goes_dark", "A lit room is dark in the end.", when=is_lit, then=is_dark, fair=(weak(darken),), room=Room
)

MACHINE = Machine("rooms", "rooms with lamps", State, C, initial, (light, darken))
PROPERTIES = (gets_light, goes_dark)
