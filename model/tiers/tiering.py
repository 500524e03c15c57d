"""How a leader and its followers use the tier: they copy segments, and delete them locally and in the tier. Modelled on
RemoteLogManager (RLMCopyTask, RLMExpirationTask, RLMFollowerTask), RemoteLogMetadataCache and UnifiedLog.
"""

from fencepost.model.language import NONE, action, bits, require
from fencepost.model.tiers.state import (
    Broker,
    C,
    Offset,
    Replica,
    State,
    end_of_epoch,
    in_tier,
    leads,
    leave_copy,
    move_start,
    stop_copy,
    unfinished_end,
)


def find_tiered(s: State, c: C, r: Replica) -> int:
    """Return the offset up to which the tier contains a log, in the log's latest tiered epoch.

    findHighestRemoteOffset. Before KAFKA-15241, the result was the epoch's end in the tier, although the epoch may end
    earlier in this log.
    """
    found = 0
    for epoch in range(c.leader_epochs):
        end = end_of_epoch(r, epoch)
        highest = s.tier[epoch].highest
        if end > 0 and highest > 0:
            found = min(end, highest) if c.copied_within_epoch else highest
    return found


def find_log_start(s: State, c: C, r: Replica) -> int:
    """Return where the earliest epoch's first segment starts, finished or not (findLogStartOffset)."""
    found = NONE
    for epoch in range(c.leader_epochs):
        for offset in range(c.log_size):
            copied = s.tier[epoch].segment[offset].finished > 0 or unfinished_end(s, c, epoch, offset) > 0
            if found == NONE and end_of_epoch(r, epoch) > 0 and copied:
                found = offset
    return r.local if found == NONE else found


def first_in_tier(s: State, r: Replica) -> int:
    """Return the first offset of a log whose record is in the tier, or NONE if there is no such record."""
    found = NONE
    for offset in range(r.start, r.end):
        if found == NONE and in_tier(s, r.log[offset].epoch, offset):
            found = offset
    return found


@action(leader=Broker)
def leader_looks_up_tier(s: State, c: C, leader: int) -> None:
    """Before a new leader copies segments, it looks up what was copied and, since KAFKA-15351, where the log starts. It
    looks these up again after a move to another directory; since KAFKA-16711, even if a copy has ended since then.
    """
    r = s.replica[leader]
    start = find_log_start(s, c, r) if c.leader_adopts_log_start else r.start
    left = first_in_tier(s, r)
    require(leads(s, leader))
    require(r.copied == NONE or (r.moved and c.move_is_noticed))
    require(r.copying == NONE)
    require(start <= r.high_watermark)
    s.ghost_low = s.ghost_low or (left != NONE and max(start, r.start) < min(left, r.first))
    move_start(r, start)  # first, because it forgets epochs
    r.copied = find_tiered(s, c, r)
    r.tiered = max(r.tiered, r.copied)
    r.moved = False


@action(follower=Broker)
def follower_looks_up_tier(s: State, c: C, follower: int) -> None:
    """A follower looks up which part of its log is copied, because it may delete that part from its disk."""
    r = s.replica[follower]
    require(s.leader != NONE)
    require(not leads(s, follower))
    require(find_tiered(s, c, r) > r.tiered)
    r.tiered = find_tiered(s, c, r)


@action(leader=Broker, end=Offset)
def leader_starts_copy(s: State, c: C, leader: int, end: int) -> None:
    """A leader starts to copy its next segment, which must be committed and not active (COPY_SEGMENT_STARTED).

    The leader begins with the first segment on its disk that is not copied. Segment boundaries differ between brokers.
    """
    r = s.replica[leader]
    start = max(r.copied, r.start, r.first)
    require(leads(s, leader))
    require(r.copied != NONE)
    require(r.copying == NONE)
    require(not r.moved or not c.move_is_noticed)
    require(start < end)
    require(end <= start + c.segment)
    require(end <= r.high_watermark)
    require(end < r.end)
    require(r.log[start].epoch == r.log[end - 1].epoch)
    r.copying = start
    r.copying_end = end
    r.copying_epoch = r.log[start].epoch


@action(broker=Broker)
def broker_ends_copy(s: State, c: C, broker: int) -> None:
    """A copy is complete (COPY_SEGMENT_FINISHED), possibly after the copying broker was deposed.

    If the log has moved to another directory in the meantime, only the log in the old directory records the copy.
    """
    r = s.replica[broker]
    tier = s.tier[r.copying_epoch]
    require(r.copying != NONE)
    require(leads(s, broker) or s.budget.late_copies > 0, bound=C.late_copies)
    tier.segment[max(r.copying, 0)].finished = r.copying_end
    tier.highest = max(tier.highest, r.copying_end)
    if leads(s, broker):
        r.copied = r.copying_end
    else:
        s.budget.late_copies -= 1
    if not r.moved:
        r.tiered = max(r.tiered, r.copying_end)
    r.moved = r.moved and c.move_is_noticed
    stop_copy(r)


@action(broker=Broker)
def broker_fails_copy(s: State, c: C, broker: int) -> None:
    """A copy fails. Since KAFKA-17062, the incomplete segment is deleted immediately, unless the deletion fails too."""
    r = s.replica[broker]
    require(s.budget.failures > 0, bound=C.failures)
    require(r.copying != NONE)
    s.budget.failures -= 1
    leave_copy(s, r)


@action(broker=Broker)
def broker_deletes_segment(s: State, c: C, broker: int) -> None:
    """Local retention deletes the oldest record on a broker's disk, if the broker knows that the tier contains it.

    UnifiedLog.deleteSegments: the local log start moves first; before KAFKA-16073, the segment is deleted first.
    """
    r = s.replica[broker]
    require(r.first == r.local or r.first < r.start)
    require(r.first + 1 < r.end)
    require(r.first < r.high_watermark)
    require(r.first < max(r.tiered, r.start))
    r.first += 1
    if c.local_start_moves_first:
        r.local = max(r.local, r.first)


@action(broker=Broker)
def broker_moves_local_start(s: State, c: C, broker: int) -> None:
    """Before KAFKA-16073, the local log start moved only after the segment was deleted."""
    r = s.replica[broker]
    require(not c.local_start_moves_first)
    require(r.local < r.first)
    r.local = r.first


def is_valid(r: Replica, epoch: int, start: int, end: int) -> bool:
    """Return whether a log contains those records of a segment that are not below the log start."""
    valid = end <= r.end and end_of_epoch(r, epoch) >= end
    for offset in range(max(start, r.start), end):
        valid = valid and r.log[offset].epoch == epoch
    return valid


def known_tiered(s: State, c: C, r: Replica) -> int:
    """Return the offset up to which retention assumes that a log is in the tier. KAFKA-20732 added the lookup."""
    return find_tiered(s, c, r) if c.expiry_seeds and r.tiered == 0 else r.tiered


def size_of(s: State, c: C, r: Replica) -> int:
    """Return the size of a log: the part that is only on disk, plus the part in the tier (buildRetentionSizeData)."""
    size = max(r.end - max(r.first, r.start, known_tiered(s, c, r)), 0)
    for epoch in range(c.leader_epochs):
        for start in range(c.log_size):
            segment = s.tier[epoch].segment[start]
            if segment.finished > 0 and is_valid(r, epoch, start, segment.finished):
                if segment.finished > r.start or not c.size_from_log_start:
                    size += segment.finished - start
            begun = unfinished_end(s, c, epoch, start)
            if not c.finished_copies_count and begun > 0 and is_valid(r, epoch, start, begun):
                size += begun - start
    return size


def is_below(r: Replica, epoch: int, end: int) -> bool:
    """Return whether a segment ends below the log start (isSegmentBreachByLogStartOffset)."""
    return end <= r.start and epoch <= r.log[r.start].epoch


def number(c: C, epoch: int, offset: int, begun: int) -> int:
    """Return a segment's number in the order of epochs and offsets. At one offset, a finished copy comes first."""
    return (epoch * c.log_size + offset) * 2 + begun


def expired_segments(s: State, c: C, r: Replica) -> int:
    """Return the set of the segments that retention deletes, by their numbers.

    Retention deletes the segments below the log start, and then further segments while the remaining log is too large.
    """
    excess = size_of(s, c, r) - c.retention
    found = 0
    going = True
    for epoch in range(c.leader_epochs):
        for offset in range(c.log_size):
            for begun in range(2):
                end = unfinished_end(s, c, epoch, offset) if begun == 1 else s.tier[epoch].segment[offset].finished
                if going and end > 0 and end_of_epoch(r, epoch) > 0:
                    below = is_below(r, epoch, end)
                    valid = not below and is_valid(r, epoch, offset, end)
                    expires = valid and excess >= end - offset
                    if expires:
                        excess -= end - offset
                    if below or expires:
                        found = bits.with_member(found, number(c, epoch, offset, begun))
                    going = below or expires or not valid
    return found


def start_after(s: State, c: C, r: Replica, expired: int, monotonic: bool) -> int:  # noqa: FBT001
    """Return the log start after the expired segments: their highest end, or the end of the last segment in order."""
    start = r.start
    for epoch in range(c.leader_epochs):
        for offset in range(c.log_size):
            for begun in range(2):
                end = unfinished_end(s, c, epoch, offset) if begun == 1 else s.tier[epoch].segment[offset].finished
                if bits.contains(expired, number(c, epoch, offset, begun)) and not is_below(r, epoch, end):
                    start = max(start, end) if monotonic else end
    return max(start, r.start)


def has_segments(s: State, c: C, before: int) -> bool:
    """Return whether the tier contains segments, finished or not, of epochs before `epoch`."""
    found = False
    for epoch in range(c.leader_epochs):
        for offset in range(c.log_size):
            copied = s.tier[epoch].segment[offset].finished > 0 or unfinished_end(s, c, epoch, offset) > 0
            found = found or (epoch < before and copied)
    return found


def delete_unfinished(s: State, c: C, epoch: int, offset: int) -> None:
    """Delete the unfinished copies that begin at an offset. A copy that is in progress then fails."""
    s.tier[epoch].segment[offset].begun = 0
    for broker in range(c.brokers):
        if s.replica[broker].copying == offset and s.replica[broker].copying_epoch == epoch:
            stop_copy(s.replica[broker])


@action(leader=Broker)
def leader_expires_segments(s: State, c: C, leader: int) -> None:
    """A leader deletes segments in the tier, and moves its log start to the end of the deleted segments.

    RLMExpirationTask.cleanupExpiredRemoteLogSegments: retention first deletes segments below the log start, then
    further segments while the log is too large, and then segments of epochs before the log's earliest epoch.
    """
    r = s.replica[leader]
    require(leads(s, leader))
    require(r.copied != NONE or not c.expiry_waits)
    require(r.copying == NONE)
    require(r.end > r.start)
    expired = expired_segments(s, c, r)
    start = start_after(s, c, r, expired, c.log_start_is_monotonic)
    left = start_after(s, c, r, expired, True)
    earliest = r.log[start].epoch if start < r.end else s.leader_epoch
    tiered = known_tiered(s, c, r)
    is_found = tiered != r.tiered and has_segments(s, c, c.leader_epochs)
    require(expired != 0 or is_found or has_segments(s, c, earliest))
    require(start <= r.high_watermark)
    for epoch in range(c.leader_epochs):
        tier = s.tier[epoch]
        for offset in range(c.log_size):
            for begun in range(2):
                end = unfinished_end(s, c, epoch, offset) if begun == 1 else tier.segment[offset].finished
                is_expired = bits.contains(expired, number(c, epoch, offset, begun))
                for deleted in range(offset, end if is_expired else offset):
                    tier.ghost_deleted = bits.with_member(tier.ghost_deleted, deleted)
                if begun == 1 and (is_expired or epoch < earliest):
                    delete_unfinished(s, c, epoch, offset)
                elif is_expired or epoch < earliest:
                    tier.segment[offset].finished = 0
    s.ghost_low = s.ghost_low or start < left
    s.ghost_early = s.ghost_early or (start > r.start and r.end - start < c.retention)
    r.tiered = tiered
    move_start(r, start)


@action(leader=Broker, offset=Offset)
def leader_deletes_records(s: State, c: C, leader: int, offset: int) -> None:
    """A client deletes the records below an offset (DeleteRecords, KIP-107). Records in the tier are deleted later."""
    r = s.replica[leader]
    require(s.budget.deletions > 0, bound=C.deletions)
    require(leads(s, leader))
    require(r.start < offset)
    require(offset <= r.high_watermark)
    s.budget.deletions -= 1
    for deleted in range(r.start, offset):
        tier = s.tier[r.log[deleted].epoch]
        tier.ghost_deleted = bits.with_member(tier.ghost_deleted, deleted)
    move_start(r, offset)


@action(leader=Broker)
def leader_moves_directory(s: State, c: C, leader: int) -> None:
    """A leader's future replica replaces its log (KIP-113). The new log has no information about the tier."""
    r = s.replica[leader]
    require(s.budget.moves > 0, bound=C.moves)
    require(leads(s, leader))
    s.budget.moves -= 1
    r.tiered = 0
    r.copied = NONE
    r.moved = r.copying != NONE
