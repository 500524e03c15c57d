"""A replica's log, and the leader epoch cache, which follows from the log (LeaderEpochFileCache)."""

from fencepost.model.cluster.state import Replica
from fencepost.model.language import NONE


def append(r: Replica, record: int, epoch: int) -> None:
    """Append one record at the end of the log."""
    r.log[r.end].record = record
    r.log[r.end].epoch = epoch
    r.end += 1


def truncate(r: Replica, offset: int) -> None:
    """Remove the records from `offset` onward; lower the high watermark and log start to the new end (truncateTo)."""
    for dropped in range(offset, r.end):
        r.log[dropped].record = 0
        r.log[dropped].epoch = 0
    r.end = min(r.end, offset)
    r.start = min(r.start, r.end)
    r.high_watermark = min(r.high_watermark, r.end)


def restart_at(r: Replica, offset: int) -> None:
    """Remove all records and leader epochs; the log then starts at `offset` (UnifiedLog.truncateFullyAndStartAt)."""
    truncate(r, 0)
    r.end = offset
    r.start = offset
    r.high_watermark = offset


def lose(r: Replica) -> None:
    """Remove the log and its files, including its log start checkpoint."""
    truncate(r, 0)
    r.checkpoint = 0


def first_in_files(r: Replica) -> int:
    """Return the base offset of the first segment file. The file may still contain deleted records."""
    first = r.end
    for offset in range(r.end):
        if first == r.end and r.log[offset].record != 0:
            first = offset
    return first


def recover(r: Replica, checkpoint: int) -> None:
    """Load the log from its files and its log start checkpoint (LogLoader.load).

    If the log ends below the checkpoint, an empty log is created at the checkpoint (LogLoader.checkAndRecoverLogEnd).
    """
    start = max(checkpoint, first_in_files(r))
    if start > r.end:
        restart_at(r, start)
    r.start = start
    r.high_watermark = max(r.high_watermark, start)


def latest_epoch(r: Replica) -> int:
    """Return the epoch of the last record, or NONE for an empty log.

    If all records are deleted, the leader epoch cache keeps the last epoch, unless the log was recreated.
    """
    return r.log[r.end - 1].epoch if r.end > 0 and r.log[r.end - 1].record != 0 else NONE


def start_above(r: Replica, epoch: int) -> int:
    """Return the offset of the first record with a later epoch than `epoch`, or the log end if there is none."""
    start = r.end
    for offset in range(r.start, r.end):
        if start == r.end and r.log[offset].epoch > epoch:
            start = offset
    return start


def floor_epoch(r: Replica, epoch: int) -> int:
    """Return the latest epoch in the log that is at most `epoch`, or `epoch` itself if all epochs are later.

    The leader epoch cache does not contain epochs before the log start (LeaderEpochFileCache.truncateFromStart).
    """
    start = start_above(r, epoch)
    return r.log[start - 1].epoch if start > r.start else epoch


def end_offset_epoch(r: Replica, leader_epoch: int, epoch: int) -> int:
    """Return the epoch that a leader in `leader_epoch` names if it is asked where `epoch` ends.
    LeaderEpochFileCache.endOffsetFor: the requested epoch, or the closest older epoch in the leader's log. The end of
    the returned epoch is `start_above(r, epoch)`.
    """
    return epoch if epoch >= leader_epoch else floor_epoch(r, epoch)


def departs(r: Replica, leader_epoch: int, offset: int, last_epoch: int) -> bool:
    """Return whether a log that ends at `offset` with a record of `last_epoch` diverges from the leader's log.

    Partition.readRecords: the leader's log lacks `last_epoch`, or `last_epoch` ends below `offset` in the leader's log.
    """
    if last_epoch == NONE:
        return False
    return end_offset_epoch(r, leader_epoch, last_epoch) < last_epoch or start_above(r, last_epoch) < offset


def truncation_offset(r: Replica, epoch: int, end: int) -> int:
    """Return where a follower truncates its log if the leader answers that `epoch` ends at `end`.

    AbstractFetcherThread.getOffsetTruncationState: the smaller of the two logs' ends of `epoch`. If the follower's log
    lacks `epoch`, the result is the end of the closest older epoch, and the follower's next fetch may diverge again.
    """
    own = start_above(r, epoch)
    return own if floor_epoch(r, epoch) != epoch else min(own, end)
