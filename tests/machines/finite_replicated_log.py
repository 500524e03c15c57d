"""Logs that are appended to, truncated and copied at will: every combination of logs is reached.

With v values, logs of up to n records and r replicas these are (v^0 + ... + v^n)^r states. After
hachikuji/kafka-specification, FiniteReplicatedLog. A slot beyond the end holds NONE, so that scalar arrays,
and fields that may be NONE, are exercised.
"""

from typing import Annotated

from fencepost.model.language import *


class C(Constants):
    replicas = shape(2, low=1, high=4, meaning="replicas")
    log_size = capacity(2, low=1, high=6, meaning="records that a log can hold")
    records = bound(2, low=1, high=10, meaning="different records")


Replica = Annotated[int, Index(C.replicas)]
Value = Annotated[int, Range(0, C.records - 1)]
Slot = Annotated[int, Range(NONE, C.records - 1)]


class Log(Record):
    end: Annotated[int, Range(0, C.log_size)]
    slot: Annotated[Array[Slot], Size(C.log_size)]


class State(Record):
    log: Annotated[Array[Log], Per(Replica)]


def append_value(log: Log, value: int) -> None:
    log.slot[log.end] = value
    log.end += 1


@action()
def initial(s: State, c: C) -> None:
    for log in s.log:
        for offset in range(c.log_size):
            log.slot[offset] = NONE


@action(replica=Replica, value=Value)
def append(s: State, c: C, replica: int, value: int) -> None:
    """Any record is written at the end of a log that is not full."""
    log = s.log[replica]
    require(log.end < c.log_size)
    append_value(log, value)


@action(replica=Replica, offset=Range(0, C.log_size - 1))
def truncate(s: State, c: C, replica: int, offset: int) -> None:
    """A log drops the records from an offset on; at its end it drops none, and the step leads nowhere."""
    log = s.log[replica]
    require(offset <= log.end)
    for dropped in range(offset, log.end):
        log.slot[dropped] = NONE
    log.end = offset


@action(source=Replica, target=Replica)
def replicate(s: State, c: C, source: int, target: int) -> None:
    a, b = s.log[source], s.log[target]
    require(source != target)
    require(b.end < a.end)
    append_value(b, a.slot[b.end])


@always
def logs_have_no_holes(s: State, c: C) -> bool:
    return all((log.slot[offset] != NONE) == (offset < log.end) for log in s.log for offset in range(c.log_size))


@step(on=truncate)
def truncation_keeps_what_is_below(before: State, after: State, c: C, replica: int, offset: int) -> bool:
    return all(
        after.log[r].slot[o] == before.log[r].slot[o]
        for r in range(c.replicas)
        for o in range(c.log_size)
        if r != replica or o < offset
    )


@sometimes
def full_logs_differ(s: State, c: C) -> bool:
    last = c.log_size - 1
    return any(
        a.end == c.log_size and b.end == c.log_size and a.slot[last] != b.slot[last] for a in s.log for b in s.log
    )


MACHINE = Machine("finite-replicated-log", "logs are appended to, truncated and copied at will", State, C, initial,
    (append, truncate, replicate), source="hachikuji/kafka-specification, FiniteReplicatedLog")  # fmt: skip

PROPERTIES = (logs_have_no_holes, truncation_keeps_what_is_below, full_logs_differ)
