"""A draw with ten million tickets, two of which win: what a step may choose from is much more than what it leads to."""

from typing import Annotated

from fencepost.model.language import Constants, Machine, Range, Record, action, always, capacity, require


class C(Constants):
    last = capacity(9, low=0, high=99_999_999_999, meaning="the last ticket", room=1)


class State(Record):
    won: Annotated[int, Range(0, 3)]


@action()
def initial(s: State, c: C) -> None:
    """Nobody has won."""


@action(ticket=Range(0, C.last))
def draw(s: State, c: C, ticket: int) -> None:
    """A ticket wins."""
    require(s.won < 2)
    require(ticket < 2)
    s.won += 1


@always
def few_win(s: State, c: C) -> bool:
    """One wins."""
    return s.won < 2


PROPERTIES = (few_win,)
MACHINE = Machine("lottery", "A lottery.", State, C, initial, (draw,))
