"""Ghost history: a field that records the past for properties. No guard reads it; its name begins with `ghost_`."""

from typing import Annotated

from fencepost.model.language import (
    Array,
    Constants,
    Machine,
    Range,
    Record,
    Size,
    action,
    always,
    bound,
    require,
    sometimes,
)


class C(Constants):
    reads = bound(3, low=1, high=4, meaning="reads in all")
    most = bound(2, low=1, high=3, meaning="the last value")


Value = Annotated[int, Range(0, C.most)]


class State(Record):
    primary: Value
    replica: Value
    reads: Annotated[int, Range(0, C.reads)]
    ghost_seen: Annotated[Array[Value], Size(2)]


@action()
def initial(s: State, c: C) -> None:
    """The primary and the replica have the first value."""


@action()
def write(s: State, c: C) -> None:
    """The primary writes a new value."""
    require(s.primary < c.most)
    s.primary += 1


@action()
def replicate(s: State, c: C) -> None:
    """The replica copies the primary's value."""
    require(s.replica < s.primary)
    s.replica = s.primary


@action()
def read(s: State, c: C) -> None:
    """A client reads from the replica; its previous value becomes history."""
    require(s.reads < c.reads)
    s.reads += 1
    s.ghost_seen[0] = s.ghost_seen[1]
    s.ghost_seen[1] = s.replica


@always
def reads_are_monotonic(s: State, c: C) -> bool:
    """No read returns an older value than the previous read."""
    return s.ghost_seen[0] <= s.ghost_seen[1]


@sometimes
def a_read_is_stale(s: State, c: C) -> bool:
    """A read returns an old value."""
    return s.reads > 0 and s.ghost_seen[1] < s.primary


MACHINE = Machine("ghost-history", "Reads from a replica", State, C, initial, (write, replicate, read))
PROPERTIES = (reads_are_monotonic, a_read_is_stale)
