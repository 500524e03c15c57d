"""Parcels on a belt, whose messages hold arrays as long as a constant says, one inside the other too."""

from typing import Annotated

from fencepost.model.language import Array, Bag, Constants, InFlight, Machine, Range, Record, Size, action, capacity


class C(Constants):
    items = capacity(2, low=1, high=4, meaning="items in a parcel")


class Box(Record):
    weights: Annotated[Array[Annotated[int, Range(0, 3)]], Size(C.items)]


class Parcel(Record):
    boxes: Annotated[Array[Box], Size(C.items)]
    depths: Annotated[Array[Annotated[int, Range(-2, 0)]], Size(C.items)]
    to: Annotated[int, Range(0, 1)]


class State(Record):
    """The parcels on the belt, and one more than where the last one went: 0 where nothing was sent."""

    belt: Annotated[Bag[Parcel], Size(2)]
    last: Annotated[int, Range(0, 2)]


@action()
def initial(s: State, c: C) -> None:
    """A parcel to each place is on the belt, and comes around again and again."""
    s.belt.add(to=0)
    s.belt.add(to=1)


@action(parcel=InFlight("belt"))
def send(s: State, c: C, parcel: Parcel) -> None:
    s.last = parcel.to + 1


@action()
def rest(s: State, c: C) -> None:
    s.last = 0


def forgotten(s: State, c: C) -> bool:
    return s.last == 0


def sent(s: State, c: C) -> bool:
    return s.last == 2


def stopped(s: State, c: C) -> bool:
    return len(s.belt) == 0


MACHINE = Machine("parcels", "parcels on a belt", State, C, initial, (send, rest))
