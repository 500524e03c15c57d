"""Lamps in a room, with what other machines lack: several initial states, sets and flags as parameters, a log of
numbers."""

from typing import Annotated

from fencepost.model.language import *


class C(Constants):
    lamps = shape(3, low=1, high=4, meaning="lamps in the room")
    stuck = switch(default=False, meaning="what is lit stays lit")


Lamp = Annotated[int, Index(C.lamps)]
Lamps = Annotated[int, BitSet(C.lamps)]


class Room(Record):
    """What is lit, and how it came to be: `history` ends at `history_end`."""

    lit: Lamps
    favourite: Lamp
    noise: bool
    history: Annotated[Array[Lamps], Size(4)]
    history_end: Annotated[int, Range(0, 4)]
    count: Annotated[Array[Annotated[int, Range(0, 9)]], Per(Lamp)]


@action(favourite=Lamp, noise=bool)
def initial(s: Room, c: C, favourite: int, noise: int) -> None:
    """All lamps are dark; it is quiet around the last lamp."""
    require(favourite < 2 or noise == 0)
    s.favourite = favourite
    s.noise = noise == 1


@action(lamps=Lamps, noise=bool)
def switch_to(s: Room, c: C, lamps: int, noise: int) -> None:
    """Somebody lights these lamps and no others."""
    require(s.history_end < 4)
    require(not c.stuck or s.lit & ~lamps == 0)
    s.lit = lamps
    s.noise = noise == 1
    s.history[s.history_end] = lamps
    s.history_end += 1
    s.count[0] += lamps & 1


@always
def some_lamp_is_dark(s: Room, c: C) -> bool:
    """Never are all lamps lit."""
    return s.lit != (1 << c.lamps) - 1


@step()
def lit_lamps_stay(before: Room, after: Room, c: C) -> bool:
    """What is lit stays lit."""
    return before.lit & ~after.lit == 0


@sometimes
def favourite_is_lit(s: Room, c: C) -> bool:
    """The favourite lamp is lit, the last one, and it is noisy."""
    return s.lit >> s.favourite & 1 == 1 and s.favourite == c.lamps - 1 and s.noise


MACHINE = Machine("lamps", "lamps in a room", Room, C, initial, (switch_to,),
    versions=(Version("sticky", "what is lit stays lit", {"stuck": 1}),))  # fmt: skip

PROPERTIES = (some_lamp_is_dark, lit_lamps_stay, favourite_is_lit)
