"""The names that refused models import: a state with one field of every kind, and the language."""

from enum import IntEnum
from typing import Annotated

from fencepost.model.language import (
    NONE,
    Array,
    Bag,
    Channel,
    Constants,
    Index,
    InFlight,
    Machine,
    Per,
    Range,
    Record,
    Size,
    action,
    bound,
    shape,
)  # fmt: skip

LIMIT = 3


class C(Constants):
    """Sizes."""

    replicas = shape(2, low=1, high=3, meaning="replicas")
    limit = bound(3, low=0, high=5, meaning="last count")


Small = Annotated[int, Range(0, LIMIT)]
Broker = Annotated[int, Index(C.replicas)]


class Phase(IntEnum):
    """Idle or busy."""

    IDLE = 0
    BUSY = 1


class Entry(Record):
    """A record in a log."""

    id: Small
    epoch: Small


class Replica(Record):
    """A log and its end."""

    log: Annotated[Array[Entry], Size(LIMIT)]
    end: Small
    ghost_acked: Small


class Message(Record):
    """A message with a number, and an array that `add` cannot fill."""

    number: Small
    seen: Annotated[Array[Small], Size(2)]


class State(Record):
    """One field of every kind."""

    count: Small
    maybe: Annotated[int, Range(NONE, LIMIT)]
    flag: bool
    phase: Phase
    values: Annotated[Array[Small], Size(LIMIT)]
    replica: Annotated[Array[Replica], Per(Broker)]
    latest: Message
    letters: Annotated[Array[Message], Size(2)]
    box: Annotated[Bag[Message], Size(LIMIT)]
    outbox: Annotated[Bag[Message], Size(LIMIT)]
    pipe: Annotated[Channel[Message], Size(LIMIT)]
    ghost_count: Small


@action()
def initial(s: State, c: C) -> None:
    """Everything is zero."""


PARAMETERS = {"i": Small, "broker": Broker, "m": InFlight("box")}
"""The domains of parameters, by name."""


def length_of(r: Replica) -> int:
    """Return the length of a log."""
    return r.end


def first(s: State) -> Message:
    """Return a message of the box, or the latest one."""
    for m in s.box:
        return m
    return s.latest


def drop(s: State) -> int:
    """Empty the box."""
    for m in s.box:
        s.box.remove(m)
    return 1


def machine(**actions: object) -> Machine:
    """Return a machine with these actions."""
    return Machine("refused", "what the language refuses", State, C, initial, tuple(actions.values()))
