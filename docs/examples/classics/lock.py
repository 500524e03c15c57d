"""A lock: from outside, every mutual exclusion algorithm, such as Peterson's, must look like this.

This is `Lock` from the TLA+ examples.
"""

from enum import IntEnum
from typing import Annotated

from fencepost.model.language import (
    Array,
    Constants,
    Index,
    Machine,
    Per,
    Record,
    action,
    always,
    require,
    shape,
    sometimes,
)


class C(Constants):
    processes = shape(2, low=1, high=6, meaning="processes")


Process = Annotated[int, Index(C.processes)]


class At(IntEnum):
    RESTING = 0
    WAITING = 1
    CRITICAL = 2
    LEAVING = 3


class State(Record):
    at: Annotated[Array[At], Per(Process)]
    locked: bool


@action()
def initial(s: State, c: C) -> None:
    """All processes rest, and the lock is free."""


@action(process=Process)
def want(s: State, c: C, process: int) -> None:
    """A process stops resting."""
    require(s.at[process] == At.RESTING)
    s.at[process] = At.WAITING


@action(process=Process)
def lock(s: State, c: C, process: int) -> None:
    """A process takes the lock, if it is free."""
    require(s.at[process] == At.WAITING)
    require(not s.locked)
    s.at[process] = At.CRITICAL
    s.locked = True


@action(process=Process)
def finish(s: State, c: C, process: int) -> None:
    """A process finishes its critical section."""
    require(s.at[process] == At.CRITICAL)
    s.at[process] = At.LEAVING


@action(process=Process)
def unlock(s: State, c: C, process: int) -> None:
    """A process releases the lock."""
    require(s.at[process] == At.LEAVING)
    s.at[process] = At.RESTING
    s.locked = False


@always
def at_most_one_has_the_lock(s: State, c: C) -> bool:
    """If the lock is taken, one process has it; otherwise no process has it."""
    return sum(at in (At.CRITICAL, At.LEAVING) for at in s.at) == s.locked


@sometimes
def one_waits_for_another(s: State, c: C) -> bool:
    """A process waits while another process has the lock."""
    return s.locked and any(at == At.WAITING for at in s.at)


MACHINE = Machine("lock", "Processes that share a lock", State, C, initial, (want, lock, finish, unlock))
PROPERTIES = (at_most_one_has_the_lock, one_waits_for_another)
