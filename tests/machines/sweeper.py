"""A row of cells that is swept, searched and levelled in loops over all of it."""

from typing import Annotated

from fencepost.model.language import *


class C(Constants):
    cells = capacity(2, low=1, high=4, room=1, meaning="cells in the row")
    most = bound(2, low=1, high=9, meaning="the largest number in a cell")


Number = Annotated[int, Range(0, C.most)]
Place = Annotated[int, Range(0, C.cells)]


class State(Record):
    """The row, from where on it was swept last, where the first number was found, the least number that was seen, and
    a seal."""

    row: Annotated[Array[Number], Size(C.cells)]
    swept_from: Place
    found: Place
    level: Number
    seal: Number


@action()
def initial(s: State, c: C) -> None:
    s.found = c.cells


def sweep(s: State, start: int) -> None:
    for place in range(start, len(s.row)):
        s.row[place] = 0


@action(place=Place, number=Number)
def put(s: State, c: C, place: int, number: int) -> None:
    require(place < c.cells)
    s.row[place] = number
    s.swept_from = max(s.swept_from, place + 1)


@action(start=Place)
def clear(s: State, c: C, start: int) -> None:
    require(start < c.cells)
    sweep(s, start)
    s.swept_from = min(s.swept_from, start)


@action()
def find(s: State, c: C) -> None:
    first = c.cells
    for place in range(c.cells):
        if first == c.cells and s.row[place] > 0:
            first = place
    s.found = first


@action(number=Number)
def flatten(s: State, c: C, number: int) -> None:
    """What is above a number anywhere comes down to the number, one cell and all after it at a time, but in the
    first."""
    for place in range(1, c.cells):
        for later in range(place, c.cells):
            if s.row[later] <= number:
                continue
            s.row[later] = number
            s.level = min(number, c.most)


@always
def seal_is_whole(s: State, c: C) -> bool:
    return s.seal == 0


@always
def swept_cells_are_empty(s: State, c: C) -> bool:
    return all(s.row[place] == 0 for place in range(s.swept_from, c.cells))


@always
def first_is_found(s: State, c: C) -> bool:
    return s.found <= c.cells


MACHINE = Machine("sweeper", "a row of cells is swept", State, C, initial, (put, clear, find, flatten))
PROPERTIES = (seal_is_whole, swept_cells_are_empty, first_is_found)
