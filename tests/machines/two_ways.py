"""Two counters, each with an end: without one of its actions a walk ends where that one could still happen."""

from typing import Annotated

from fencepost.model.language import Constants, Machine, Range, Record, action, always, require


class C(Constants):
    pass


class State(Record):
    drawn: Annotated[int, Range(0, 2)]
    kept: Annotated[int, Range(0, 2)]


@action()
def initial(s: State, c: C) -> None:
    """Nothing has happened."""


@action()
def draw(s: State, c: C) -> None:
    """One is drawn."""
    require(s.drawn < 2)
    s.drawn += 1


@action()
def keep(s: State, c: C) -> None:
    """One is kept."""
    require(s.kept < 2)
    s.kept += 1


@always
def few(s: State, c: C) -> bool:
    """Few are drawn."""
    return s.drawn <= 2


PROPERTIES = (few,)
MACHINE = Machine("two-ways", "Two ways.", State, C, initial, (draw, keep))
