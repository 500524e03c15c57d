"""The metadata log, the state that its records produce, and the partition's log."""

from fencepost.model.controllers.state import Change, Image, Member, Node


def replay(image: Image, change: Change) -> None:
    """Apply a record (PartitionRegistration.merge). Changes bump the partition epoch; elections bump both epochs."""
    if change.changes_partition:
        image.partition_epoch += 1
        if change.isr != 0:
            image.isr = change.isr
        if change.elects:
            image.leader = change.leader
            image.leader_epoch += 1
    if change.fences:
        image.fenced |= change.subject
    else:
        image.fenced &= ~change.subject


def truncate(n: Node, offset: int) -> None:
    """Remove the records of the metadata log at `offset` and above."""
    for dropped in range(offset, n.end):
        n.log[dropped].epoch = 0
        n.log[dropped].changes_partition = False
        n.log[dropped].isr = 0
        n.log[dropped].elects = False
        n.log[dropped].leader = 0
        n.log[dropped].subject = 0
        n.log[dropped].fences = False
        n.log[dropped].ghost_is_late = False
    n.end = min(n.end, offset)


def last_epoch(n: Node) -> int:
    """Return the epoch of the last record. The first record is never removed."""
    return n.log[max(n.end - 1, 0)].epoch


def is_up_to_date(candidate: Node, voter: Node) -> bool:
    """Return whether the candidate's log is at least as up to date as the voter's: last epoch first, then length."""
    mine, theirs = last_epoch(candidate), last_epoch(voter)
    return mine > theirs or (mine == theirs and candidate.end >= voter.end)


def agreed_end(l: Node, f: Node) -> int:
    """Return the offset up to which two logs agree. Offset and epoch identify a record and all records before it."""
    end = 0
    for offset in range(min(l.end, f.end)):
        if end == offset and l.log[offset].epoch == f.log[offset].epoch:
            end = offset + 1
    return end


def epoch_start(n: Node) -> int:
    """Return the offset at which a leader's own epoch starts, which is that of its LeaderChange record."""
    start = n.end
    for offset in range(n.end):
        if start == n.end and n.log[offset].epoch == n.epoch:
            start = offset
    return start


def truncate_data(b: Member, offset: int) -> None:
    """Remove the records of the partition at `offset` and above."""
    for dropped in range(offset, b.end):
        b.log[dropped].record = 0
        b.log[dropped].epoch = 0
    b.end = min(b.end, offset)
    b.high_watermark = min(b.high_watermark, b.end)


def agreed_data_end(l: Member, f: Member) -> int:
    """Return the offset up to which the records in two logs of the partition have the same epochs."""
    end = 0
    for offset in range(min(l.end, f.end)):
        if end == offset and l.log[offset].epoch == f.log[offset].epoch:
            end = offset + 1
    return end


def data_epoch_start(b: Member) -> int:
    """Return the offset of the first record of a leader's own leader epoch, or the log end if none exists."""
    start = 0
    for offset in range(b.end):
        if b.log[offset].epoch < b.metadata.leader_epoch:
            start = offset + 1
    return start
