"""Properties: a consumer's outcome in each of KIP-392's four cases, and claims that KIP-392 makes in one sentence."""

from fencepost.invariants.follower_reads import jumps_over_records, leaders_know_first
from fencepost.model.consumers.answers import Reply, case_of
from fencepost.model.consumers.constants import C
from fencepost.model.consumers.fetching import believed_leader, is_served, reply, target
from fencepost.model.consumers.offsets import asks_epoch_end, is_leader_ready, may_tell_end, told_end
from fencepost.model.consumers.state import Doing, State, has_leader, newest_leader
from fencepost.model.language import NONE, always, bits, sometimes


@always
def members_have_what_is_committed(s: State, c: C) -> bool:
    """SEED-392-20: the log of every ISR member contains all committed records."""
    return all(
        s.replica[member].end >= s.ghost_committed_end for member in range(c.replicas) if bits.contains(s.isr, member)
    )


@always
def received_offsets_exist(s: State, c: C) -> bool:
    """SEED-392-31: the newest leader has records up to the high watermark that a replica has received."""
    return all(r.received <= newest_leader(s).end for r in s.replica)


@sometimes
def log_starts_differ(s: State, c: C) -> bool:
    """SEED-392-10, SEED-392-39: a member of the ISR does not have the record at the leader's log start."""
    l = newest_leader(s)
    return has_leader(s) and any(
        bits.contains(s.isr, member) and s.replica[member].start > l.start for member in range(c.replicas)
    )


@sometimes
def valid_offset_is_refused(s: State, c: C) -> bool:
    """SEED-392-12, SEED-392-46: a preferred replica reports an offset as out of range, but the leader serves it."""
    consumer, l = s.consumer, newest_leader(s)
    return (
        consumer.doing == Doing.FETCHING
        and consumer.preferred != NONE
        and is_served(s, c)
        and reply(s, c) == Reply.OUT_OF_RANGE
        and l.start <= consumer.position <= l.high_watermark
    )


@sometimes
def out_of_sync_replica_is_read(before: State, after: State, c: C) -> bool:
    """SEED-392-32: the consumer reads from a replica that is no longer in the ISR."""
    preferred = before.consumer.preferred
    reads = after.consumer.position == before.consumer.position + 1 and before.consumer.doing == Doing.FETCHING
    return reads and preferred != NONE and not bits.contains(before.isr, preferred)


@sometimes
def records_come_later(s: State, c: C) -> bool:
    """SEED-392-5: a follower cannot yet return a record, although its log has it and the leader would return it."""
    consumer, l = s.consumer, newest_leader(s)
    return (
        consumer.doing == Doing.FETCHING
        and consumer.preferred != NONE
        and is_served(s, c)
        and reply(s, c) == Reply.EMPTY
        and consumer.position < s.replica[target(s)].end
        and consumer.position < l.high_watermark
    )


@sometimes
def log_end_is_told(s: State, c: C) -> bool:
    """SEED-392-61: a consumer's OffsetsForLeaderEpoch returns an end offset above the leader's high watermark."""
    l = s.replica[believed_leader(s)]
    return (
        asks_epoch_end(s)
        and is_leader_ready(s)
        and may_tell_end(c, l)
        and told_end(c, l, s.consumer.position_epoch) > l.high_watermark
    )


def is_in_watched_case(s: State, c: C) -> bool:
    """Return whether the consumer's next fetch is in the KIP-392 case that `watched_case` selects."""
    return case_of(c, s.replica[target(s)], s.consumer.position) == c.watched_case


def moves(before: State, after: State) -> bool:
    """Return whether the reset policy or a truncation sets the position after an error in the watched case."""
    return (
        before.consumer.ghost_met
        and before.consumer.doing in (Doing.RESETTING, Doing.CHECKING, Doing.VALIDATING)
        and after.consumer.doing == Doing.FETCHING
        and not after.consumer.ghost_met
    )


@sometimes
def case_waits(s: State, c: C) -> bool:
    """In the watched case, the response is OFFSET_NOT_AVAILABLE, or has neither records nor an error."""
    return (
        s.consumer.doing == Doing.FETCHING
        and is_served(s, c)
        and is_in_watched_case(s, c)
        and reply(s, c) in (Reply.EMPTY, Reply.OFFSET_NOT_AVAILABLE)
    )


@sometimes
def case_continues(before: State, after: State, c: C) -> bool:
    """After an error in the watched case, the consumer continues at its position."""
    return (
        before.consumer.ghost_met
        and before.consumer.doing == Doing.FETCHING
        and after.consumer.position == before.consumer.position + 1
    )


@sometimes
def case_resets(before: State, after: State, c: C) -> bool:
    """After an error in the watched case, the consumer resets but skips no committed record that the leader has."""
    return (
        moves(before, after)
        and after.consumer.position >= before.consumer.position
        and not jumps_over_records(before, after)
    )


@sometimes
def case_skips(before: State, after: State, c: C) -> bool:
    """After an error in the watched case, the consumer skips committed records that the leader has."""
    return moves(before, after) and jumps_over_records(before, after)


@sometimes
def case_replays(before: State, after: State, c: C) -> bool:
    """After an error in the watched case, the consumer moves back and reads records again."""
    return moves(before, after) and after.consumer.position < before.consumer.position


@sometimes
def case_raises(before: State, after: State, c: C) -> bool:
    """After an error in the watched case, the consumer passes the error to its user."""
    return after.consumer.ghost_met and before.consumer.doing != Doing.RAISED and after.consumer.doing == Doing.RAISED


CASES = (case_skips, case_replays, case_raises, case_resets, case_continues, case_waits)
"""Outcomes for a consumer in one of KIP-392's four cases, worst first."""
SENTENCES = (
    members_have_what_is_committed,
    received_offsets_exist,
    log_starts_differ,
    valid_offset_is_refused,
    out_of_sync_replica_is_read,
    records_come_later,
    log_end_is_told,
)
"""Properties for claims that KIP-392 makes in one sentence."""
ON_REQUEST = (leaders_know_first, *SENTENCES, *CASES)
