"""Symmetric clients: their identities do not matter, so `normalize` sorts them, and far fewer states remain."""

from typing import Annotated

from fencepost.model.language import (
    Array,
    Constants,
    Index,
    Machine,
    Per,
    Range,
    Record,
    action,
    always,
    require,
    shape,
    sometimes,
)


class C(Constants):
    clients = shape(4, low=1, high=5, meaning="clients")


Client = Annotated[int, Index(C.clients)]


class State(Record):
    waiting: Annotated[Array[Annotated[int, Range(0, 2)]], Per(Client)]


@action()
def initial(s: State, c: C) -> None:
    """No client waits."""


@action(client=Client)
def step_forward(s: State, c: C, client: int) -> None:
    """A client steps forward; only one may be at the door."""
    require(s.waiting[client] < 2)
    require(s.waiting[client] == 0 or 2 not in s.waiting)
    s.waiting[client] += 1


@action(client=Client)
def leave(s: State, c: C, client: int) -> None:
    """The client at the door leaves."""
    require(s.waiting[client] == 2)
    s.waiting[client] = 0


def normalize(s: State, c: C) -> None:
    """Sort the clients, which are interchangeable."""
    for _ in range(c.clients):
        for place in range(c.clients - 1):
            if s.waiting[place] > s.waiting[place + 1]:
                first, second = s.waiting[place], s.waiting[place + 1]
                s.waiting[place] = second
                s.waiting[place + 1] = first


@always
def one_is_at_the_door(s: State, c: C) -> bool:
    """At most one client is at the door."""
    return sum(1 for place in s.waiting if place == 2) <= 1


@sometimes
def all_wait(s: State, c: C) -> bool:
    """All clients wait at the same time."""
    return min(s.waiting) > 0


MACHINE = Machine(
    "symmetric-clients", "Clients at a door", State, C, initial, (step_forward, leave), normalize=normalize
)
PROPERTIES = (one_is_at_the_door, all_wait)
