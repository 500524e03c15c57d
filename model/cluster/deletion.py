"""Deletion of records, which makes logs start above 0.

Records are deleted by clients (DeleteRecords, KIP-107), by each replica's retention, and by followers that adopt the
leader's log start. Modelled on Partition.deleteRecordsOnLeader, UnifiedLog.maybeIncrementLogStartOffset,
LogManager.checkpointLogStartOffsets and AbstractFetcherThread.fetchOffsetAndTruncate. Tiers are modelled in
`model/tiers`; compaction is not modelled.
"""

from fencepost.model.cluster import log
from fencepost.model.cluster.constants import C
from fencepost.model.cluster.leader import is_out_of_range, observe_low_watermark, serves
from fencepost.model.cluster.state import Answer, Broker, Offset, Replica, State, has_process, leads
from fencepost.model.language import action, bits, require


def delete(s: State, c: C, r: Replica, offset: int) -> None:
    """Move the log start to `offset`, because the records below `offset` were deleted on purpose."""
    for deleted in range(max(c.deletions, c.expirations)):
        if r.start <= deleted < offset:
            s.ghost_deleted = bits.with_member(s.ghost_deleted, r.log[deleted].record)
    r.start = offset


def may_delete(c: C, r: Replica, offset: int) -> bool:
    """Return whether a log may start at `offset`, which must not be above the high watermark."""
    return r.start < offset <= (r.high_watermark if c.deletion_needs_high_watermark else r.end)


@action(leader=Broker, offset=Offset)
def leader_deletes_records(s: State, c: C, leader: int, offset: int) -> None:
    """A client deletes the records below an offset at a leader, which may have been deposed already.

    Partition.deleteRecordsOnLeader deletes only records below the high watermark. The files keep the records until a
    whole segment is deleted. The client gets its response once all live replicas have deleted the records.
    """
    r = s.replica[leader]
    require(offset <= c.deletions, bound=C.deletions)
    require(leads(s, leader))
    require(may_delete(c, r, offset))
    delete(s, c, r, offset)
    observe_low_watermark(s, c, leader)


@action(broker=Broker, offset=Offset)
def broker_expires_records(s: State, c: C, broker: int, offset: int) -> None:
    """A broker deletes old segments, as leader or follower, according to its own clock and high watermark.

    UnifiedLog.deleteOldSegments. In the model, the last segment is never deleted, and the log starts at the first file.
    """
    r = s.replica[broker]
    require(offset <= c.expirations, bound=C.expirations)
    require(has_process(s, broker))
    require(r.offline == 0)
    require(may_delete(c, r, offset))
    require(offset < r.end)
    delete(s, c, r, offset)
    for deleted in range(offset):
        r.log[deleted].record = 0
        r.log[deleted].epoch = 0


def write_log_start(r: Replica) -> None:
    """Write the log start to the checkpoint, or 0 if the log starts where its first file starts."""
    r.checkpoint = r.start if r.start > log.first_in_files(r) else 0


@action(broker=Broker)
def broker_writes_log_start(s: State, c: C, broker: int) -> None:
    """A broker checkpoints its log start; Kafka does so once a minute (LogManager.checkpointLogStartOffsets)."""
    r = s.replica[broker]
    require(not c.log_start_flushed)
    require(has_process(s, broker))
    require(r.offline == 0)
    require(r.checkpoint != (r.start if r.start > log.first_in_files(r) else 0))
    write_log_start(r)


@action(leader=Broker, follower=Broker)
def follower_is_out_of_range(s: State, c: C, leader: int, follower: int) -> None:
    """A follower whose fetch offset is outside its leader's log asks for the leader's log start and log end.

    AbstractFetcherThread.fetchOffsetAndTruncate: if the follower's log ends above the leader's, the follower truncates
    to the leader's end. If the follower's log ends below the leader's log start, the follower drops all records and
    continues at the leader's log start. The fetch does not update the leader's view of the follower's log end.
    """
    r, f = s.replica[leader], s.replica[follower]
    require(serves(s, c, leader, follower))
    require(f.answer.kind == Answer.NONE)
    require(not f.truncating)
    require(is_out_of_range(s, leader, follower))
    if f.end > r.end:
        log.truncate(f, r.end)
    else:
        log.restart_at(f, r.start)
    if c.truncation_moves_checkpoint:
        f.checkpoint = min(f.checkpoint, f.start)
    f.last_epoch_lost = False
