"""Lamport's teaching example: processes in a circle write 1, then read what the previous process wrote. One reads 1.

This is `Simple` from the TLA+ examples, described in "Teaching Concurrency".
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
    processes = shape(5, low=1, high=8, meaning="processes in the circle")


Process = Annotated[int, Index(C.processes)]


class At(IntEnum):
    WRITING = 0
    READING = 1
    DONE = 2


class State(Record):
    at: Annotated[Array[At], Per(Process)]
    written: Annotated[Array[bool], Per(Process)]
    seen: Annotated[Array[bool], Per(Process)]


@action()
def initial(s: State, c: C) -> None:
    """No process has written."""


@action(process=Process)
def write(s: State, c: C, process: int) -> None:
    """A process writes 1."""
    require(s.at[process] == At.WRITING)
    s.at[process] = At.READING
    s.written[process] = True


@action(process=Process)
def read(s: State, c: C, process: int) -> None:
    """A process reads what the previous process has written."""
    require(s.at[process] == At.READING)
    s.at[process] = At.DONE
    s.seen[process] = s.written[process - 1 if process > 0 else c.processes - 1]


@action()
def stay(s: State, c: C) -> None:
    """All processes are done, and nothing changes any more."""
    require(all(at == At.DONE for at in s.at))


@always
def somebody_reads_1(s: State, c: C) -> bool:
    """Once all processes are done, at least one of them has read 1: the last one to read."""
    return any(at != At.DONE for at in s.at) or any(s.seen)


@always
def whoever_reads_has_written(s: State, c: C) -> bool:
    """A process writes 1 before it reads. With this lemma, the other property is inductive."""
    return all(s.at[process] == At.WRITING or s.written[process] for process in range(c.processes))


@sometimes
def only_one_reads_1(s: State, c: C) -> bool:
    """All processes are done, and only one of them has read 1."""
    return all(at == At.DONE for at in s.at) and sum(s.seen) == 1


MACHINE = Machine(
    "neighbours", "Processes that read what their neighbours write", State, C, initial, (write, read, stay)
)
PROPERTIES = (somebody_reads_1, whoever_reads_has_written, only_one_reads_1)
