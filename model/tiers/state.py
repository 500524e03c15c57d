"""Constants and state of a partition with tiered storage (KIP-405). A leader epoch and an offset identify a record:
only one leader writes in an epoch, once at each offset.
"""

from typing import Annotated

from fencepost.model.language import (
    NONE,
    Array,
    BitSet,
    Constants,
    Index,
    Per,
    Range,
    Record,
    Size,
    bits,
    bound,
    capacity,
    shape,
    switch,
)


class C(Constants):
    """Constants of a run."""

    brokers = shape(2, low=2, high=3, meaning="brokers, each with a replica of the partition")
    log_size = capacity(3, low=1, high=6, room=1, meaning="highest offset of a log")
    leader_epochs = shape(2, low=1, high=4, meaning="leader epochs")
    segment = bound(1, low=1, high=3, meaning="maximum number of records of a segment")
    retention = bound(6, low=1, high=6, meaning="retention.bytes of the topic, in records")

    unclean = bound(0, low=0, high=2, meaning="unclean leader elections")
    restarts = bound(0, low=0, high=2, meaning="restarts of brokers")
    failures = bound(0, low=0, high=2, meaning="failed copies to the tier")
    late_copies = bound(0, low=0, high=2, meaning="copies that finish after another broker has become leader")
    moves = bound(
        0, low=0, high=2, meaning="moves of the leader's replica to another directory of its broker (KIP-113)"
    )
    deletions = bound(0, low=0, high=2, meaning="DeleteRecords requests of clients (KIP-107)")

    copied_within_epoch = switch(
        default=True, meaning="an epoch ends in the tier where it ends in the log (KAFKA-15241)"
    )
    leader_adopts_log_start = switch(
        default=True, meaning="a new leader's log starts where the tier starts (KAFKA-15351)"
    )
    restart_keeps_log_start = switch(
        default=True, meaning="after a restart, a log still starts in the tier (KAFKA-15351)"
    )
    restart_moves_local_start = switch(
        default=True, meaning="a log that restarts at an offset has its local log start there (KAFKA-15695)"
    )
    local_start_moves_first = switch(default=True, meaning="the local log start moves before deletions (KAFKA-16073)")
    move_is_noticed = switch(default=True, meaning="the copied offset is looked up again after a move (KAFKA-16711)")
    log_start_is_monotonic = switch(
        default=True, meaning="retention moves the log start to the end of the last deleted segment (KAFKA-16890)"
    )
    finished_copies_count = switch(default=True, meaning="only finished copies count for retention (KAFKA-17062)")

    expiry_seeds = switch(
        default=True, meaning="retention looks up which segments are in the tier if it does not know this (KAFKA-20732)"
    )
    expiry_waits = switch(
        default=False,
        meaning="remote retention waits until the leader has looked up which segments were copied (in releases up to "
        "3.8, one task copies and deletes segments)",
    )
    truncation_lowers_tiered = switch(default=False, meaning="truncating a log updates its `tiered` offset")
    size_from_log_start = switch(default=False, meaning="segments below the log start do not count for retention")


Broker = Annotated[int, Index(C.brokers)]
MaybeBroker = Annotated[int, Index(C.brokers, none=True)]
Brokers = Annotated[int, BitSet(C.brokers)]
Epoch = Annotated[int, Index(C.leader_epochs)]
Offset = Annotated[int, Range(0, C.log_size)]
MaybeOffset = Annotated[int, Range(NONE, C.log_size)]
Offsets = Annotated[int, BitSet(C.log_size)]


class Entry(Record):
    """A record, or the epoch cache's entry for a record that is only in the tier."""

    epoch: Epoch


class Replica(Record):
    """A broker's log, from `start` to `end`. The part from `first` to `end` is on disk.

    `local` is the local log start; from there, a leader reads its disk. `tiered` is highestOffsetInRemoteStorage + 1,
    or 0 if nothing is known to be in the tier. `copied` is the offset that a leader copies next, or NONE if the leader
    has to look up that offset. The segment being copied reaches from `copying` to `copying_end`, in epoch
    `copying_epoch`. `moved` means that the log has moved to another directory since the copy began.
    """

    log: Annotated[Array[Entry], Size(C.log_size)]
    start: Offset
    local: Offset
    first: Offset
    end: Offset
    high_watermark: Offset
    tiered: Offset
    copied: MaybeOffset
    copying: MaybeOffset
    copying_end: Offset
    copying_epoch: Epoch
    moved: bool


class Segment(Record):
    """The segments that begin at an offset in an epoch: the ends of a finished and an abandoned copy, or 0 if none."""

    finished: Offset
    begun: Offset


class Tier(Record):
    """The segments of a leader epoch, by their first offset; `highest` is the highest end of any finished copy.
    `ghost_deleted` contains the records that were deleted on purpose, by retention or by a client.
    """

    segment: Annotated[Array[Segment], Size(C.log_size)]
    highest: Offset
    ghost_deleted: Offsets


class Budget(Record):
    """The remaining budget of events."""

    unclean: Annotated[int, Range(0, C.unclean)]
    restarts: Annotated[int, Range(0, C.restarts)]
    failures: Annotated[int, Range(0, C.failures)]
    late_copies: Annotated[int, Range(0, C.late_copies)]
    moves: Annotated[int, Range(0, C.moves)]
    deletions: Annotated[int, Range(0, C.deletions)]


class State(Record):
    """The partition and its tier.

    `ghost_early` means that retention kept less than retention.bytes. `ghost_low` means that a leader has read the
    tier's metadata, or deleted from the tier, but its log still starts below the first remaining record.
    """

    leader: MaybeBroker
    leader_epoch: Epoch
    isr: Brokers
    replica: Annotated[Array[Replica], Per(Broker)]
    tier: Annotated[Array[Tier], Per(Epoch)]
    budget: Budget
    ghost_early: bool
    ghost_low: bool


def initial(s: State, c: C) -> None:
    """Broker 0 leads, all brokers are in the ISR, and the logs and the tier are empty."""
    s.isr = bits.everyone(c.brokers)
    for broker in range(c.brokers):
        s.replica[broker].copied = NONE
        s.replica[broker].copying = NONE
    s.budget.unclean = c.unclean
    s.budget.restarts = c.restarts
    s.budget.failures = c.failures
    s.budget.late_copies = c.late_copies
    s.budget.moves = c.moves
    s.budget.deletions = c.deletions


def leads(s: State, broker: int) -> bool:
    """Return whether a broker leads the partition."""
    return s.leader == broker


def has_epoch(r: Replica, epoch: int) -> bool:
    """Return whether a log contains records of an epoch, according to its epoch cache."""
    return end_of_epoch(r, epoch) > 0


def end_of_epoch(r: Replica, epoch: int) -> int:
    """Return the end of an epoch's records in a log, or 0 if the log has no such records."""
    end = 0
    for offset in range(r.start, r.end):
        if r.log[offset].epoch == epoch:
            end = offset + 1
    return end


def restart_at(r: Replica, c: C, start: int, end: int) -> None:
    """Remove all records. The log then starts at `start`, and the local log at `end` (truncateFullyAndStartAt)."""
    for offset in range(r.end):
        if offset < start or offset >= end:
            r.log[offset].epoch = 0
    r.start = start
    r.local = end if c.restart_moves_local_start else max(r.local, start)
    r.first = end
    r.end = end
    r.high_watermark = end


def move_start(r: Replica, start: int) -> None:
    """Raise the log start, and the local log start if it is lower (maybeIncrementLogStartOffset)."""
    for offset in range(r.start, start):
        r.log[offset].epoch = 0
    r.start = max(r.start, start)
    r.local = max(r.local, start)


def stop_copy(r: Replica) -> None:
    """Clear a finished copy."""
    r.copying = NONE
    r.copying_end = 0
    r.copying_epoch = 0


def leave_copy(s: State, r: Replica) -> None:
    """Abandon the current copy, if any; the copied part stays in the tier."""
    if r.copying != NONE:
        s.tier[r.copying_epoch].segment[r.copying].begun = r.copying_end
        stop_copy(r)


def unfinished_end(s: State, c: C, epoch: int, offset: int) -> int:
    """Return the end of an unfinished copy that begins at an offset, whether abandoned or not, or 0 if none does."""
    end = s.tier[epoch].segment[offset].begun
    for broker in range(c.brokers):
        if s.replica[broker].copying == offset and s.replica[broker].copying_epoch == epoch:
            end = s.replica[broker].copying_end
    return end


def in_tier(s: State, epoch: int, offset: int) -> bool:
    """Return whether a copied segment contains the record of an epoch at an offset."""
    found = False
    for start in range(offset + 1):
        found = found or s.tier[epoch].segment[start].finished > offset
    return found
