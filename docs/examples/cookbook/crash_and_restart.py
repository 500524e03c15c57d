"""Crash and restart: what is in memory is a record of its own, which a crash resets; what is on disk stays."""

from typing import Annotated

from fencepost.model.language import Constants, Machine, Range, Record, action, always, bound, require, sometimes


class C(Constants):
    writes = bound(2, low=1, high=3, meaning="writes in all")
    crashes = bound(1, low=0, high=2, meaning="crashes in all")


Count = Annotated[int, Range(0, C.writes)]


class Memory(Record):
    """What a crash forgets."""

    applied: Count


class State(Record):
    memory: Memory
    disk: Count
    acknowledged: Count
    crashes_left: Annotated[int, Range(0, C.crashes)]


@action()
def initial(s: State, c: C) -> None:
    """Nothing was written."""
    s.crashes_left = c.crashes


@action()
def write(s: State, c: C) -> None:
    """A write is in memory first."""
    require(s.memory.applied < c.writes)
    s.memory.applied += 1


@action()
def flush(s: State, c: C) -> None:
    """What is in memory is written to disk, and only then acknowledged."""
    require(s.disk < s.memory.applied)
    s.disk = s.memory.applied
    s.acknowledged = s.disk


@action()
def crash(s: State, c: C) -> None:
    """The process restarts from its disk."""
    require(s.crashes_left > 0, bound=C.crashes)
    s.crashes_left -= 1
    s.memory = Memory(applied=s.disk)


@always
def what_is_acknowledged_stays(s: State, c: C) -> bool:
    """No acknowledged write is lost."""
    return s.memory.applied >= s.acknowledged


@sometimes
def a_write_is_lost(s: State, c: C) -> bool:
    """A crash loses nothing that was acknowledged, and can happen: the last budget is spent."""
    return s.crashes_left == 0 and s.memory.applied == c.writes


MACHINE = Machine("crash-and-restart", "A write-ahead log in one number", State, C, initial, (write, flush, crash))
PROPERTIES = (what_is_acknowledged_stays, a_write_is_lost)
