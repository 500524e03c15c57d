"""Crash and restart: memory is a separate record, which a crash resets; the disk keeps its contents."""

from typing import Annotated

from fencepost.model.language import Constants, Machine, Range, Record, action, always, bound, require, sometimes


class C(Constants):
    writes = bound(2, low=1, high=3, meaning="writes in all")
    crashes = bound(1, low=0, high=2, meaning="crashes in all")


Count = Annotated[int, Range(0, C.writes)]


class Memory(Record):
    """The part of the state that a crash resets."""

    applied: Count


class State(Record):
    memory: Memory
    disk: Count
    acknowledged: Count
    crashes_left: Annotated[int, Range(0, C.crashes)]


@action()
def initial(s: State, c: C) -> None:
    """Nothing has been written."""
    s.crashes_left = c.crashes


@action()
def write(s: State, c: C) -> None:
    """A write goes to memory first."""
    require(s.memory.applied < c.writes)
    s.memory.applied += 1


@action()
def flush(s: State, c: C) -> None:
    """The write in memory is flushed to disk, and only then acknowledged."""
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
    """All writes can be in memory after the last crash."""
    return s.crashes_left == 0 and s.memory.applied == c.writes


MACHINE = Machine("crash-and-restart", "A write-ahead log of one number", State, C, initial, (write, flush, crash))
PROPERTIES = (what_is_acknowledged_stays, a_write_is_lost)
