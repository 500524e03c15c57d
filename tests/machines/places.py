"""A place that goes right and up, as far as guards let it."""

from typing import Annotated

from fencepost.model.language import Array, Constants, Machine, Range, Record, Size, action, always, require


class Grid(Record):
    a: Annotated[int, Range(0, 9)]
    b: Annotated[int, Range(0, 9)]
    items: Annotated[Array[Annotated[int, Range(0, 3)]], Size(5)]


@action()
def start(s: Grid, c: Constants) -> None:
    """At the first place."""


@action()
def right(s: Grid, c: Constants) -> None:
    """Go right."""
    require(s.a < 9)
    s.a += 1


@action()
def up(s: Grid, c: Constants) -> None:
    """Go up, as far as there are numbers."""
    require(s.b < 5)
    require(s.items[s.b] == 0)
    s.b += 1


@always
def below(s: Grid, c: Constants) -> bool:
    """It is not too high."""
    return s.b < 9


MACHINE = Machine("places", __doc__, Grid, Constants, start, (right, up))
PROPERTIES = (below,)
