"""A shelf that never fills: some of its bounds are read by other parts of the model too, and larger values of those
change what happens."""

from typing import Annotated

from fencepost.model.language import *


class C(Constants):
    books = bound(3, low=1, high=6, meaning="books on the shelf")
    layers = bound(3, low=1, high=6, meaning="layers of dust")
    labels = bound(3, low=1, high=6, meaning="labels to choose from")
    places = capacity(3, low=1, high=6, meaning="places that somebody counts")
    notes = bound(3, low=1, high=6, meaning="notes at hand")
    slips = bound(3, low=1, high=6, meaning="slips at hand, of which some wait while there are as many as that")
    cracks = bound(3, low=1, high=6, meaning="cracks, by the helper that also counts dust")
    visitors = bound(3, low=1, high=6, meaning="visitors, of whom a property asks")


class Slip(Record):
    number: Annotated[int, Range(0, 1)]


class State(Record):
    books: Annotated[int, Range(0, C.books)]
    dust: Annotated[int, Range(0, 9)]
    label: Annotated[int, Range(0, 9)]
    counted: Annotated[int, Range(0, 9)]
    shelf: Annotated[Array[Annotated[int, Range(0, 1)]], Size(C.places)]
    slips: Annotated[Bag[Slip], Size(C.slips + C.notes)]


def is_sound(s: State, c: C) -> bool:
    return s.books < c.cracks


@action()
def initial(s: State, c: C) -> None:
    """It is empty."""


@action()
def put(s: State, c: C) -> None:
    require(s.books < 2)
    require(s.books < c.books, bound=C.books)
    require(s.books < c.layers, bound=C.layers)
    require(s.books < c.labels, bound=C.labels)
    require(s.books < c.places, bound=C.places)
    require(s.books < c.visitors, bound=C.visitors)
    require(is_sound(s, c), bound=C.cracks)
    s.books += 1
    if fits(c.notes > len(s.slips), bound=C.notes):
        s.slips.add(number=1)
    if fits(len(s.slips) != c.slips, bound=C.slips):
        s.books += 0


@action()
def dust_falls(s: State, c: C) -> None:
    require(s.books == 0)
    require(s.dust < c.layers)
    s.dust += 1


@action()
def relabel(s: State, c: C) -> None:
    require(s.books == 0)
    label = choose(Range(0, C.labels))
    s.label = label


@action()
def count(s: State, c: C) -> None:
    require(s.books == 0)
    require(s.counted < sum(1 for _ in s.shelf))
    s.counted += 1


@always
def visitors_see_books(s: State, c: C) -> bool:
    return s.books <= c.visitors


MACHINE = Machine("shelf", "A shelf.", State, C, initial, (put, dust_falls, relabel, count))
PROPERTIES = (visitors_see_books,)
