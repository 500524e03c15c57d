"""Two bags, whose messages no promise can be about together."""

from typing import Annotated

from fencepost.model.language import *


class C(Constants):
    """None."""


class Flat(Record):
    at: Annotated[int, Range(0, 1)]


class Deep(Record):
    """The same number, and its key nests in another way."""

    flat: Flat


class State(Record):
    flat: Annotated[Bag[Flat], Size(1)]
    deep: Annotated[Bag[Deep], Size(1)]
    got: bool
    turn: bool


@action()
def initial(s: State, c: C) -> None:
    """A message in each."""
    s.flat.add()
    s.deep.add()


@action(m=InFlight("flat"))
def spin(s: State, c: C, m: Flat) -> None:
    """Turn."""
    require(not s.got)
    s.turn = not s.turn


@action(m=InFlight("deep"))
def take(s: State, c: C, m: Deep) -> None:
    """Take the other."""
    require(not s.got)
    s.got = True


def has(s: State, c: C) -> bool:
    """Say whether it was taken."""
    return s.got


MACHINE = Machine("two-bags", "Two bags.", State, C, initial, (spin, take))
TOGETHER = eventually("ends", "It is taken.", then=has, fair=(weak(spin, take, each="m"),))
"""Refused: its promises would be told apart by messages that are never the same."""
