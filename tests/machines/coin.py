"""A coin that a constant lays down on one of its sides, and one that may also be dropped."""

from typing import Annotated

from fencepost.model.language import Constants, Machine, Range, Record, action, bound, require


class C(Constants):
    side = bound(1, low=0, high=1, meaning="the side that is up at first")
    drops = bound(1, low=0, high=3, meaning="drops")


class Coin(Record):
    up: Annotated[int, Range(0, 1)]


class Dropped(Record):
    up: Annotated[int, Range(0, 1)]
    drops_left: Annotated[int, Range(0, 3)]


@action(side=Annotated[int, Range(0, C.side)])
def lay_down(s: Coin, c: C, side: int) -> None:
    """The coin lies on one of its sides."""
    s.up = side


@action()
def flip(s: Coin, c: C) -> None:
    """The coin is turned over."""
    s.up = 1 - s.up


@action()
def begin(s: Dropped, c: C) -> None:
    """Nothing is dropped yet."""
    s.drops_left = c.drops


@action()
def drop(s: Dropped, c: C) -> None:
    """The coin falls, on its other side."""
    require(s.drops_left > 0)
    s.drops_left -= 1
    s.up = 1 - s.up


@action()
def turn(s: Dropped, c: C) -> None:
    """The coin is turned over."""
    s.up = 1 - s.up


MACHINE = Machine("coin", "a coin", Coin, C, lay_down, (flip,))
DROPPED = Machine("dropped-coin", "a coin that may be dropped", Dropped, C, begin, (drop, turn))
