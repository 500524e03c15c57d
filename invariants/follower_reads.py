"""Properties of KIP-392 for consumers that fetch from followers: K392-S1 to K392-S7, K392-Q2, G-S9 and G-S9b."""

from fencepost.model.consumers import log
from fencepost.model.consumers.answers import Reply, case_of, reply_to
from fencepost.model.consumers.constants import C, keeps_received
from fencepost.model.consumers.fetching import believed_leader, consumer_reads, is_served, reply, target
from fencepost.model.consumers.offsets import (
    client_asks_for_latest,
    consumer_finds_position_valid,
    consumer_finds_truncation,
)
from fencepost.model.consumers.state import Case, Doing, Replica, State, believes_to_lead, has_leader, newest_leader
from fencepost.model.language import NONE, always, bits, sometimes, step
from fencepost.model.language.actions import properties_in


def is_on(s: State, r: Replica) -> bool:
    """Return whether the consumer's position is in a replica's log, as far as the remaining records show.

    The record before the position must have the same epoch as when the consumer got the position. If retention has
    deleted that record, the first remaining record must not have an earlier epoch, because epochs never decrease.
    """
    position, epoch = s.consumer.position, s.consumer.ghost_before
    if position > r.end:
        return False
    if position - 1 < r.start:
        return r.start == r.end or r.log[r.start] >= epoch
    return epoch in (0, r.log[position - 1])


def is_kept(s: State, offset: int) -> bool:
    """Return whether the record at the offset is committed, and the newest leader still has it."""
    l = newest_leader(s)
    return l.start <= offset < l.end and bits.contains(s.ghost_committed[offset], l.log[offset])


def jumps_over_records(before: State, after: State) -> bool:
    """Return whether the consumer skips committed records that the newest leader still has."""
    return any(is_kept(before, offset) for offset in range(before.consumer.position, after.consumer.position))


def gives_up_position(before: State, after: State) -> bool:
    """Return whether the consumer resets, raises an error, or moves back because a validation found a truncation."""
    doing = before.consumer.doing
    if doing not in (Doing.FETCHING, Doing.VALIDATING, Doing.CHECKING):
        return False
    is_put_back = doing != Doing.FETCHING and after.consumer.position < before.consumer.position
    return is_put_back or after.consumer.doing in (Doing.RESETTING, Doing.RAISED)


def lacks_position(s: State, r: Replica) -> bool:
    """Return whether a replica lacks the consumer's position, for example because its log starts later."""
    return r.start > s.consumer.position or not is_on(s, r)


@step(on=consumer_reads)
def deliveries_are_committed(before: State, after: State, c: C) -> bool:
    """K392-S1, G-S9: a record that a replica sends to the consumer is committed."""
    position = before.consumer.position
    return bits.contains(before.ghost_committed[position], after.consumer.ghost_read[position])


@step(on=consumer_reads)
def reads_are_repeatable(before: State, after: State, c: C) -> bool:
    """G-S9b: the consumer always reads the same record at an offset."""
    position = before.consumer.position
    return before.consumer.ghost_read[position] in (0, after.consumer.ghost_read[position])


@step()
def nothing_is_skipped(before: State, after: State, c: C) -> bool:
    """K392-S2: a consumer does not skip a committed record that the newest leader still has."""
    return before.consumer.doing == Doing.FETCHING or not jumps_over_records(before, after)


@step()
def spurious_errors_are_recognized(before: State, after: State, c: C) -> bool:
    """K392-S3: a spurious error never resets, moves back or stops a consumer that knows the epoch of its position.

    An error is spurious if the newest leader has the offset, and the offset is not beyond the committed end. The
    consumer's position must not change, either immediately or after the check with the leader.
    """
    consumer, l = before.consumer, newest_leader(before)
    is_error = consumer.doing == Doing.CHECKING or consumer.position > before.replica[target(before)].end
    is_spurious = l.start <= consumer.position <= before.ghost_committed_end and is_on(before, l)
    meets = consumer.doing in (Doing.FETCHING, Doing.CHECKING) and is_error and is_spurious
    return not meets or consumer.position_epoch == 0 or not gives_up_position(before, after)


def cases_that_fit(c: C, r: Replica, offset: int) -> int:
    """Return how many of KIP-392's six cases apply to an offset (Out of range handling)."""
    received = max(r.end, r.received) if keeps_received(c) else r.end
    first_uncommitted = r.high_watermark if c.tail_is_uncommitted else r.high_watermark + 1
    return (
        (1 if r.start <= offset < r.high_watermark else 0)
        + (1 if r.start <= offset == r.high_watermark else 0)
        + (1 if r.start <= offset and first_uncommitted <= offset <= r.end else 0)
        + (1 if r.end < offset <= received else 0)
        + (1 if offset < r.start else 0)
        + (1 if received < offset else 0)
    )


@always
def cases_are_exclusive(s: State, c: C) -> bool:
    """K392-S4: a replica's log start, high watermark and log end assign every fetch offset to exactly one case."""
    return all(cases_that_fit(c, r, offset) == 1 for r in s.replica for offset in range(c.records + 1))


@always
def unavailable_offsets_exist(s: State, c: C) -> bool:
    """K392-S4: OFFSET_NOT_AVAILABLE means that records exist up to the offset, but some cannot be read yet."""
    return all(
        reply_to(c, s.replica[replica], believes_to_lead(s, replica), offset) != Reply.OFFSET_NOT_AVAILABLE
        or (
            offset != s.replica[replica].high_watermark and offset <= max(s.replica[replica].end, s.ghost_committed_end)
        )
        for replica in range(c.replicas)
        for offset in range(c.records + 1)
    )


@step(on=consumer_finds_truncation)
def no_false_truncation(before: State, after: State, c: C) -> bool:
    """K392-S5: a consumer detects a truncation only if its position is no longer in the leader's log."""
    return not is_on(before, before.replica[believed_leader(before)])


@step(on=consumer_finds_position_valid)
def no_missed_truncation(before: State, after: State, c: C) -> bool:
    """K392-S5: a position that a consumer considers valid is in the leader's log."""
    return is_on(before, before.replica[believed_leader(before)])


@step()
def positions_only_advance(before: State, after: State, c: C) -> bool:
    """K392-S6: the consumer moves back only because of its reset policy, or if the leader's log lacks the position."""
    return (
        after.consumer.position >= before.consumer.position
        or before.consumer.doing == Doing.RESETTING
        or not is_on(before, before.replica[believed_leader(before)])
    )


@step(on=client_asks_for_latest)
def latest_offsets_only_grow(before: State, after: State, c: C) -> bool:
    """K392-S7: the latest offset that leaders report to a client never decreases (KIP-207)."""
    return after.ghost_latest >= before.ghost_latest


@step()
def resets_have_a_cause(before: State, after: State, c: C) -> bool:
    """K392-Q2: a consumer gives up its position only if the newest leader has deleted it or does not have it."""
    return not gives_up_position(before, after) or lacks_position(before, newest_leader(before))


@step()
def leaders_cause_resets(before: State, after: State, c: C) -> bool:
    """K392-Q2: a consumer gives up its position only if the leader that it knows has deleted it or does not have it.

    The leader known to the consumer may have been replaced by a leader that still has the position.
    """
    return not gives_up_position(before, after) or lacks_position(before, before.replica[believed_leader(before)])


@always
def empty_answers_expose_nothing(s: State, c: C) -> bool:
    """Q43: an empty response without an error is sent only if all records below the fetched offset are committed."""
    consumer = s.consumer
    return (
        consumer.doing != Doing.FETCHING
        or not is_served(s, c)
        or reply(s, c) != Reply.EMPTY
        or consumer.position <= s.ghost_committed_end
    )


@always
def leaders_know_first(s: State, c: C) -> bool:
    """Q47: no replica knows a higher high watermark than the newest leader, once that leader knows that it leads."""
    return not has_leader(s) or all(r.high_watermark <= newest_leader(s).high_watermark for r in s.replica)


@sometimes
def follower_is_read(before: State, after: State, c: C) -> bool:
    """The consumer reads a record from a follower."""
    return after.consumer.position == before.consumer.position + 1 and before.consumer.preferred != NONE


@sometimes
def everything_is_read(s: State, c: C) -> bool:
    """The consumer has read all records."""
    return all(epoch > 0 for epoch in s.consumer.ghost_read)


@sometimes
def follower_lags_behind_the_consumer(s: State, c: C) -> bool:
    """The consumer fetches from a follower whose log ends before the consumer's position."""
    consumer = s.consumer
    return consumer.preferred != NONE and s.replica[target(s)].end < consumer.position


@sometimes
def position_is_validated(before: State, after: State, c: C) -> bool:
    """A consumer compares its position with a new leader's log, and the position is valid."""
    return before.consumer.doing == Doing.VALIDATING and after.consumer.doing == Doing.FETCHING


@sometimes
def consumer_is_reset(before: State, after: State, c: C) -> bool:
    """A consumer has applied its reset policy."""
    return before.consumer.doing == Doing.RESETTING and after.consumer.doing == Doing.FETCHING


@sometimes
def high_watermark_is_behind(s: State, c: C) -> bool:
    """A new leader's high watermark is below the committed end."""
    return has_leader(s) and newest_leader(s).high_watermark < s.ghost_committed_end


@sometimes
def follower_is_ahead(s: State, c: C) -> bool:
    """A follower's log contains records that are not in the newest leader's log."""
    l = newest_leader(s)
    return has_leader(s) and any(r.end > l.end or log.departs(l, r.end, log.last_epoch(r)) for r in s.replica)


@sometimes
def truncation_is_found(before: State, after: State, c: C) -> bool:
    """A consumer detects that records it had read were truncated."""
    return (
        before.consumer.doing in (Doing.VALIDATING, Doing.CHECKING)
        and after.consumer.position < before.consumer.position
    )


@sometimes
def unavailable_case_is_met(s: State, c: C) -> bool:
    """Q42: the consumer fetches a committed offset from a replica that lacks it (case 2)."""
    consumer = s.consumer
    return (
        consumer.doing == Doing.FETCHING
        and is_served(s, c)
        and case_of(c, s.replica[target(s)], consumer.position) == Case.UNAVAILABLE
    )


PROPERTIES = tuple(item for item in properties_in(globals()) if item is not leaders_know_first)
