"""A replica's log, which begins at its log start, and its leader epoch cache, which follows from the log."""

from fencepost.model.consumers.state import Replica


def clamp(r: Replica, high_watermark: int) -> int:
    """Return a high watermark, clamped to the log's range of offsets (UnifiedLog.updateHighWatermark)."""
    return max(r.start, min(high_watermark, r.end))


def truncate(r: Replica, offset: int) -> None:
    """Remove the records from `offset` onward. If the log start was higher, it becomes `offset` (truncateTo)."""
    for dropped in range(offset, r.end):
        r.log[dropped] = 0
    r.end = min(r.end, offset)
    r.start = min(r.start, offset)
    r.high_watermark = min(r.high_watermark, r.end)


def restart(r: Replica, offset: int) -> None:
    """Remove all records, so that the log begins at `offset` (UnifiedLog.truncateFullyAndStartAt)."""
    for dropped in range(r.start, r.end):
        r.log[dropped] = 0
    r.start = offset
    r.end = offset
    r.high_watermark = offset


def drop_below(r: Replica, offset: int) -> None:
    """Raise the log start to `offset`, if it is lower."""
    for dropped in range(r.start, offset):
        r.log[dropped] = 0
    r.start = max(r.start, offset)


def epoch_before(r: Replica, offset: int) -> int:
    """Return the epoch of the record before `offset`, or 0 if the log begins at `offset`."""
    return r.log[offset - 1] if r.start < offset <= r.end else 0


def last_epoch(r: Replica) -> int:
    """Return the epoch of the last record, or 0 for an empty log."""
    return r.log[r.end - 1] if r.end > r.start else 0


def end_of_epoch(r: Replica, epoch: int) -> int:
    """Return the end of the records up to `epoch`, or the log start if all records have later epochs."""
    end = r.end
    for offset in range(r.start, r.end):
        if end == r.end and r.log[offset] > epoch:
            end = offset
    return end


def floor_epoch(r: Replica, epoch: int) -> int:
    """Return the epoch whose end a leader reports for a query about `epoch` (LeaderEpochFileCache.endOffsetFor).

    The epoch is `epoch` itself if it is the newest or all records have later epochs, otherwise the closest older epoch.
    """
    end = end_of_epoch(r, epoch)
    return epoch if epoch >= r.epoch or end == r.start else r.log[end - 1]


def departs(r: Replica, end: int, epoch: int) -> bool:
    """Return whether a log that ends at `end` with a record of `epoch` diverges from the leader's."""
    return epoch != 0 and (floor_epoch(r, epoch) < epoch or end_of_epoch(r, epoch) < end)


def truncation_offset(r: Replica, epoch: int, end: int) -> int:
    """Return where a follower truncates if the leader's log has `epoch` up to `end` (getOffsetTruncationState)."""
    own = end_of_epoch(r, epoch)
    return min(own, end) if own == r.start or r.log[own - 1] == epoch else own


def starts_epoch_at(r: Replica) -> int:
    """Return where a leader's own epoch starts."""
    return end_of_epoch(r, r.epoch - 1)
