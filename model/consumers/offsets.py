"""A consumer's requests for offsets: ends of epochs (OffsetsForLeaderEpoch), first and latest offsets (ListOffsets)."""

from fencepost.model.consumers import log
from fencepost.model.consumers.constants import C, Earliest, EpochEnd, Latest, Policy, earliest_from, epoch_end
from fencepost.model.consumers.fetching import ask_for_metadata, believed_leader, target
from fencepost.model.consumers.state import Doing, Replica, State, has_leader, newest_leader
from fencepost.model.language import action, require


def knows_high_watermark(l: Replica) -> bool:
    """Return whether the leader's high watermark is reliable: it has reached the start of its epoch (KIP-207)."""
    return l.high_watermark >= log.starts_epoch_at(l)


def told_end(c: C, l: Replica, epoch: int) -> int:
    """Return where the leader tells a consumer that an epoch ends."""
    end = log.end_of_epoch(l, epoch)
    return end if epoch_end(c) == EpochEnd.LOG_END else min(end, l.high_watermark)


def may_tell_end(c: C, l: Replica) -> bool:
    """Return whether the leader reports where epochs end, instead of returning OFFSET_NOT_AVAILABLE."""
    return epoch_end(c) != EpochEnd.GUARDED or knows_high_watermark(l)


def is_leader_ready(s: State) -> bool:
    """Return whether the broker that the consumer considers the leader is up and in the consumer's leader epoch."""
    l = s.replica[believed_leader(s)]
    return l.is_up and l.epoch == s.consumer.epoch


def is_truncated(s: State, c: C) -> bool:
    """Return whether the consumer treats the leader's response as a truncation."""
    l, consumer = s.replica[believed_leader(s)], s.consumer
    end = told_end(c, l, consumer.position_epoch)
    return (
        end < consumer.position
        or (not c.valid_at_end and end == consumer.position)
        or (c.compares_epochs and log.floor_epoch(l, consumer.position_epoch) < consumer.position_epoch)
    )


def asks_epoch_end(s: State) -> bool:
    """Return whether the consumer asks where the epoch of its position ends."""
    return s.consumer.doing in (Doing.VALIDATING, Doing.CHECKING)


@action()
def consumer_finds_position_valid(s: State, c: C) -> None:
    """The leader's log contains the position, so the consumer continues (after an error, only with new metadata)."""
    consumer = s.consumer
    require(asks_epoch_end(s))
    require(is_leader_ready(s))
    require(may_tell_end(c, s.replica[believed_leader(s)]))
    require(not is_truncated(s, c))
    waits = consumer.doing == Doing.CHECKING and c.refreshes_after_check
    if waits:
        ask_for_metadata(s, c)
    consumer.doing = Doing.UPDATING if waits else Doing.FETCHING


@action()
def consumer_finds_truncation(s: State, c: C) -> None:
    """The leader's log ends before the position, so the consumer moves back to the log end, or fails (KIP-320)."""
    consumer = s.consumer
    require(asks_epoch_end(s))
    require(is_leader_ready(s))
    l = s.replica[believed_leader(s)]
    require(may_tell_end(c, l))
    require(is_truncated(s, c))
    if c.policy == Policy.NONE:
        consumer.doing = Doing.RAISED
    else:
        offset = min(told_end(c, l, consumer.position_epoch), consumer.position)
        go_to(s, c, offset, log.floor_epoch(l, consumer.position_epoch), log.epoch_before(l, offset))


def go_to(s: State, c: C, offset: int, epoch: int, before: int) -> None:
    """Move the consumer to an offset that came with `epoch`. `before` is the epoch of the record before the offset."""
    consumer = s.consumer
    told = before if c.tells_epoch_before else epoch
    consumer.position = offset
    consumer.position_epoch = told if c.position_epochs else 0
    consumer.ghost_before = before
    consumer.ghost_met = False
    consumer.raised_by = 0
    consumer.doing = Doing.FETCHING


def may_list_latest(c: C, l: Replica) -> bool:
    """Return whether the leader reports the latest offset (KIP-207)."""
    return not c.list_offsets_guard or c.latest_is == Latest.LOG_END or knows_high_watermark(l)


def latest_offset(c: C, l: Replica) -> int:
    """Return the latest offset that the leader reports."""
    return l.end if c.latest_is == Latest.LOG_END else l.high_watermark


def asked_for_earliest(s: State, c: C) -> int:
    """Return the replica that gets the request for the earliest offset."""
    if earliest_from(c) == Earliest.RAISED and s.replica[s.consumer.raised_by].is_up:
        return s.consumer.raised_by
    return believed_leader(s) if earliest_from(c) == Earliest.LEADER else target(s)


@action()
def consumer_resets_to_latest(s: State, c: C) -> None:
    """The consumer moves to the latest offset, once the leader may report it.

    Partition.fetchOffsetForTimestamp: the offset comes with the leader's epoch, which may not have any record yet.
    """
    require(c.policy == Policy.LATEST)
    require(s.consumer.doing == Doing.RESETTING)
    require(is_leader_ready(s))
    require(may_list_latest(c, s.replica[believed_leader(s)]))
    l = s.replica[believed_leader(s)]
    offset = latest_offset(c, l)
    go_to(s, c, offset, l.epoch, log.epoch_before(l, offset))


@action()
def consumer_resets_to_earliest(s: State, c: C) -> None:
    """The consumer moves to the log start of the leader, the next replica, or the replica that returned the error.

    UnifiedLog.fetchOffsetByTimestamp: the offset comes with the epoch of the record at that offset.
    """
    require(c.policy == Policy.EARLIEST)
    require(s.consumer.doing == Doing.RESETTING)
    r = s.replica[asked_for_earliest(s, c)]
    require(r.is_up)
    require(r.epoch == s.consumer.epoch)
    go_to(s, c, r.start, r.log[r.start] if r.start < r.end else r.epoch, 0)


def asked(s: State, c: C) -> int:
    """Return the broker to which the consumer sends its next request about offsets."""
    resets_to_earliest = s.consumer.doing == Doing.RESETTING and c.policy == Policy.EARLIEST
    return asked_for_earliest(s, c) if resets_to_earliest else believed_leader(s)


@action()
def consumer_cannot_ask(s: State, c: C) -> None:
    """The consumer queries a broker that is down or in a later leader epoch; the consumer then requests metadata."""
    r = s.replica[asked(s, c)]
    require(c.asks_for_metadata)
    require(asks_epoch_end(s) or s.consumer.doing == Doing.RESETTING)
    require(not r.is_up or r.epoch > s.consumer.epoch)
    require(not s.consumer.wants_metadata)
    ask_for_metadata(s, c)


@action()
def client_asks_for_latest(s: State, c: C) -> None:
    """A client requests the latest offset from the newest leader (ListOffsets)."""
    require(c.asks_end_offsets)
    require(has_leader(s))
    require(may_list_latest(c, newest_leader(s)))
    s.ghost_latest = latest_offset(c, newest_leader(s))
