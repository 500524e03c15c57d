# ruff: noqa: PLC2401
"""A post office whose parcels hold whatever a model may hold: made to be written into traces and read again.

Names in several alphabets, members below 0 and members that are called like other words, sets of all sizes, numbers of
many digits, records in records, arrays in arrays, arrays, bags and channels without room.
"""

from enum import IntEnum
from typing import Annotated

from fencepost.model.language import *

MANY = (1 << 62) - 1


class Mood(IntEnum):
    """Members below 0, and those whose names mean something elsewhere."""

    FAR_BELOW = -2
    NONE = -1
    YES = 0
    GRÖSSER = 1
    İYİ = 2
    हिन्दी = 3
    loop = 4


class Weg(IntEnum):
    NONE = 0
    ÜBER_ALLES = 1


class C(Constants):
    plätze = shape(2, low=1, high=3, meaning="places")
    none = bound(0, low=0, high=2, meaning="the length of what is empty")
    lowest = bound(-4, low=-9, high=-2, meaning="the lowest number")
    weg = choice(Weg.ÜBER_ALLES, meaning="a way")
    schalter = switch(default=False, meaning="a switch")


Small = Annotated[int, Range(C.lowest, 2)]
Row = Annotated[Array[Small], Size(2)]
Nothing = Annotated[Array[Small], Size(C.none)]


class Inner(Record):
    größe: Small
    mood: Mood
    ja: bool


class Parcel(Record):
    inner: Inner
    inners: Annotated[Array[Inner], Size(C.plätze)]
    rows: Annotated[Array[Row], Size(2)]
    no_rows: Annotated[Array[Row], Size(C.none)]
    rows_of_nothing: Annotated[Array[Nothing], Size(2)]
    nothing: Nothing
    no_inners: Annotated[Array[Inner], Size(C.none)]
    names: Annotated[int, BitSet(62)]
    no_names: Annotated[int, BitSet(C.none)]
    where: Annotated[int, Index(C.plätze, none=True)]
    many: Annotated[int, Range(-MANY, MANY)]


class Office(Record):
    post: Annotated[Bag[Parcel], Size(3)]
    no_post: Annotated[Bag[Parcel], Size(C.none)]
    line: Annotated[Channel[Parcel], Size(2)]
    no_line: Annotated[Channel[Parcel], Size(C.none)]
    shelf: Parcel
    shelves: Annotated[Array[Parcel], Size(C.plätze)]
    no_shelves: Annotated[Array[Parcel], Size(C.none)]
    deep: Annotated[Array[Annotated[Array[Row], Size(C.none)]], Size(2)]
    budget_übrig: Annotated[int, Range(-1, 9)]
    ghost: Mood


@action(größe=Small, names=BitSet(2), where=Index(C.plätze))
def open_it(s: Office, c: C, größe: int, names: int, where: int) -> None:
    require(größe != 1)
    s.shelf.inner.größe = größe
    s.shelf.names = names
    s.shelf.where = where
    s.budget_übrig = 9


@action(mood=Mood, größe=Small, names=BitSet(2), ja=bool)
def send(s: Office, c: C, mood: Mood, größe: int, names: int, ja: bool) -> None:
    require(len(s.post) < 3)
    require(s.budget_übrig > 0)
    s.budget_übrig -= 1
    parcel = s.post.add(where=NONE, many=MANY if ja else 1 - MANY, names=(MANY if ja else 1 << 61) & ~names)
    parcel.inner = Inner(größe=größe, mood=mood, ja=ja)
    parcel.inners[c.plätze - 1].mood = Mood.FAR_BELOW
    parcel.rows[1][1] = größe


@action(parcel=InFlight("post"))
def lay_aside(s: Office, c: C, parcel: Parcel) -> None:
    require(s.shelf != parcel)
    s.post.remove(parcel)
    s.shelves[c.plätze - 1] = s.shelf
    s.shelf = parcel
    s.ghost = parcel.inner.mood


@action(parcel=InFlight("post"))
def übergeben(s: Office, c: C, parcel: Parcel) -> None:
    """A parcel is put into the line."""
    require(len(s.line) < 2)
    s.post.remove(parcel)
    added = s.line.add(many=parcel.many)
    added.inner = parcel.inner
    added.where = c.plätze - 1


@action()
def serve(s: Office, c: C) -> None:
    require(len(s.line) > 0)
    s.line.popleft()


@action()
def loop(s: Office, c: C) -> None:
    """Somebody walks up and down."""
    s.budget_übrig = 0 if s.budget_übrig == NONE else NONE if s.budget_übrig == 0 else s.budget_übrig


@always
def nobody_is_low(s: Office, c: C) -> bool:
    return s.shelf.inner.mood >= 0


@step(on=lay_aside)
def bleibt(before: Office, after: Office, c: C, parcel: Parcel) -> bool:
    """What is put aside is not large."""
    return parcel.many < 0


@sometimes
def wird_gross(s: Office, c: C) -> bool:
    """Something on the shelf is large."""
    return s.shelf.inner.mood == Mood.GRÖSSER


def is_here(s: Office, c: C, mood: Mood, größe: int) -> bool:
    """Return whether it is not what the shelf holds."""
    return s.shelf.inner.mood != mood and s.shelf.inner.größe != größe


def is_there(s: Office, c: C, mood: Mood, größe: int) -> bool:
    """Return whether the shelf holds it."""
    return s.shelf.inner.mood == mood


kommt_an = leads_to("kommt_an", "It arrives.", when=is_here, then=is_there, mood=Mood, größe=Small)

PROPERTIES = (nobody_is_low, bleibt, wird_gross, kommt_an)
MACHINE = Machine("oddments", "an office, “für alles”", Office, C, open_it, (send, lay_aside, übergeben, serve, loop),
    versions=(Version("früher-1.0", "as it was", {"lowest": -3, "schalter": 1, "weg": Weg.NONE}),))  # fmt: skip
