"""A coin that a constant lays down on one of its sides."""

from typing import Annotated

from fencepost.model.language import Constants, Machine, Range, Record, action, bound


class C(Constants):
    """How the coin may lie at first."""

    side = bound(1, low=0, high=1, meaning="the side that is up at first")


class Coin(Record):
    """The side that is up."""

    up: Annotated[int, Range(0, 1)]


@action(side=Annotated[int, Range(0, C.side)])
def lay_down(s: Coin, c: C, side: int) -> None:
    """The coin lies on one of its sides."""
    s.up = side


@action()
def flip(s: Coin, c: C) -> None:
    """The coin is turned over."""
    s.up = 1 - s.up


MACHINE = Machine("coin", "a coin", Coin, C, lay_down, (flip,))
