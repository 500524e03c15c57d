"""A node's log and its epochs. Modelled on ReplicatedLog and LeaderEpochFileCache."""

from fencepost.model.language import NONE
from fencepost.model.quorum.state import NO_EPOCH, Node


def append(n: Node, record: int, epoch: int) -> None:
    """Append one record at the end of the log."""
    n.log[n.end].record = record
    n.log[n.end].epoch = epoch
    n.end += 1


def truncate(n: Node, offset: int) -> None:
    """Remove the records from `offset` onward. The high watermark does not change: no record below it is removed."""
    for dropped in range(offset, n.end):
        n.log[dropped].record = 0
        n.log[dropped].epoch = 0
    n.end = min(n.end, offset)


def last_epoch(n: Node) -> int:
    """Return the epoch of the last record, or NO_EPOCH for an empty log."""
    return n.log[n.end - 1].epoch if n.end > 0 else NO_EPOCH


def start_above(n: Node, epoch: int) -> int:
    """Return the offset of the first record with a later epoch than `epoch`, or the log end if there is none."""
    start = n.end
    for offset in range(n.end):
        if start == n.end and n.log[offset].epoch > epoch:
            start = offset
    return start


def floor_epoch(n: Node, epoch: int) -> int:
    """Return the latest epoch in the log that is at most `epoch`, or NO_EPOCH if there is no such epoch."""
    start = start_above(n, epoch)
    return n.log[start - 1].epoch if start > 0 else NO_EPOCH


def snapshot_epoch(n: Node) -> int:
    """Return the epoch of the last record in the node's snapshot, or NO_EPOCH without a snapshot."""
    return n.log[n.start - 1].epoch if n.start > 0 else NO_EPOCH


def known_epoch(n: Node, epoch: int) -> int:
    """Return the latest epoch up to `epoch` in the log. An epoch that ended before the log start counts as known."""
    return epoch if start_above(n, epoch) < n.start else floor_epoch(n, epoch)


def end_of_epoch(n: Node, epoch: int) -> int:
    """Return where an epoch ends, or the log start if that is later (LeaderEpochFileCache.endOffsetFor)."""
    return max(start_above(n, epoch), n.start)


def departs(n: Node, offset: int, epoch: int) -> bool:
    """Return whether a log that ends at `offset` with a record of `epoch` diverges from a node's log."""
    return offset > 0 and (known_epoch(n, epoch) != epoch or end_of_epoch(n, epoch) < offset)


def truncation_offset(n: Node, epoch: int, end: int) -> int:
    """Return where a follower truncates when the leader reports that `epoch` ends at `end` (truncateToEndOffset)."""
    own = end_of_epoch(n, epoch)
    return own if known_epoch(n, epoch) != epoch else min(own, end)


def offset_of(n: Node, record: int) -> int:
    """Return the first offset of this record in the log, or NONE if the log lacks it."""
    found = NONE
    for offset in range(n.end):
        if found == NONE and n.log[offset].record == record:
            found = offset
    return found


def is_up_to_date(candidate: Node, voter: Node) -> bool:
    """Return whether the candidate's log is at least as up to date as the voter's: last epoch first, then length."""
    mine, theirs = last_epoch(candidate), last_epoch(voter)
    return mine > theirs or (mine == theirs and candidate.end >= voter.end)
