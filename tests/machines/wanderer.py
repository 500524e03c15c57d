"""Somebody who walks home, and could turn back: a guard that only keeps them from walking to and fro for ever."""

from typing import Annotated

from fencepost.model.language import *


class C(Constants):
    far = bound(2, low=1, high=5, meaning="steps from the start to home")
    wavering = switch(default=False, meaning="they may turn back before they are home")


class Walk(Record):
    place: Annotated[int, Range(0, C.far)]


@action()
def initial(s: Walk, c: C) -> None:
    """At the start."""


@action()
def walk(s: Walk, c: C) -> None:
    """One step nearer home."""
    require(s.place < c.far)
    s.place += 1


@action()
def turn_back(s: Walk, c: C) -> None:
    """One step back, which nobody takes unless they waver."""
    require(c.wavering)
    require(s.place > 0)
    require(s.place < c.far)
    s.place -= 1


def is_home(s: Walk, c: C) -> bool:
    """Home."""
    return s.place == c.far


@always
def place_exists(s: Walk, c: C) -> bool:
    """They are somewhere on the way."""
    return 0 <= s.place <= c.far


comes_home = leads_to("comes_home", "They come home in the end.", when=None, then=is_home, fair=(weak(walk),))

MACHINE = Machine("wanderer", "a walk home", Walk, C, initial, (walk, turn_back))
PROPERTIES = (place_exists, comes_home)
