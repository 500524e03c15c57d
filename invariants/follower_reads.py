"""What KIP-392 promises consumers that fetch from followers, and witnesses that the model can do what the promises are about.

The ids are those of the catalogue: K392-S1 to K392-S7, K392-Q2, G-S9, G-S9b.
"""

from fencepost.model.consumers import log
from fencepost.model.consumers.answers import Reply, case_of, reply_to
from fencepost.model.consumers.constants import C, keeps_received
from fencepost.model.consumers.fetching import (
    believed_leader,
    consumer_finds_offset_out_of_range,
    consumer_reads,
    is_served,
    reply,
    target,
)
from fencepost.model.consumers.offsets import (
    client_asks_for_latest,
    consumer_finds_position_valid,
    consumer_finds_truncation,
)
from fencepost.model.consumers.state import (
    Case,
    Doing,
    Replica,
    State,
    believes_to_lead,
    has_leader,
    newest_leader,
)
from fencepost.model.language import NONE, always, bits, sometimes, step


def is_on(s: State, r: Replica) -> bool:
    """Say whether the consumer's position is on a replica's log, as far as the log still tells.

    A record that was read has to be there with its epoch; at a position that came from a reset, no later epoch may come before it.
    """
    consumer = s.consumer
    position, epoch = consumer.position, consumer.position_epoch
    if position > r.end:
        return False
    if position - 1 < r.start:
        return True
    if consumer.ghost_is_read:
        return r.log[position - 1] == consumer.ghost_read[position - 1]
    return epoch == 0 or log.end_of_epoch(r, epoch) >= position


def is_still_there(s: State, offset: int) -> bool:
    """Say whether the offset is committed, on the newest leader's log, and below no replica's log start."""
    l = newest_leader(s)
    return (
        l.start <= offset < l.end
        and bits.contains(s.ghost_committed[offset], l.log[offset])
        and all(r.start <= offset for r in s.replica)
    )


def gives_up_position(before: State, after: State) -> bool:
    """Say whether the consumer begins to follow its reset policy, or raises an error."""
    return before.consumer.doing == Doing.FETCHING and after.consumer.doing in (Doing.RESETTING, Doing.RAISED)


@step(on=consumer_reads)
def deliveries_are_committed(before: State, after: State, c: C) -> bool:
    """K392-S1, G-S9: a record that a replica gives to the consumer is committed."""
    position = before.consumer.position
    return bits.contains(before.ghost_committed[position], after.consumer.ghost_read[position])


@step(on=consumer_reads)
def reads_are_repeatable(before: State, after: State, c: C) -> bool:
    """G-S9b: what the consumer reads at an offset is what it has read there before."""
    position = before.consumer.position
    return before.consumer.ghost_read[position] in (0, after.consumer.ghost_read[position])


@step()
def nothing_is_skipped(before: State, after: State, c: C) -> bool:
    """K392-S2: a consumer does not jump forward while the record at its position is committed and every replica's retention has left it."""
    return (
        before.consumer.doing == Doing.FETCHING
        or after.consumer.position <= before.consumer.position
        or not is_still_there(before, before.consumer.position)
    )


@step(on=consumer_finds_offset_out_of_range)
def spurious_errors_are_recognized(before: State, after: State, c: C) -> bool:
    """K392-S3: an error for an offset beyond a replica's log, and not beyond what is committed, leads to no reset if the epoch is known."""
    position = before.consumer.position
    return (
        before.consumer.position_epoch == 0
        or position <= before.replica[target(before)].end
        or position > before.ghost_committed_end
        or not is_on(before, newest_leader(before))
        or not gives_up_position(before, after)
    )


def cases_that_fit(c: C, r: Replica, offset: int) -> int:
    """Return how many of the six cases an offset fits, each by its own definition (KIP-392, Out of range handling)."""
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
    """K392-S4: log start, high watermark and log end of a replica put every fetch offset into exactly one case."""
    return all(cases_that_fit(c, r, offset) == 1 for r in s.replica for offset in range(c.records + 1))


@always
def unavailable_offsets_exist(s: State, c: C) -> bool:
    """K392-S4: OFFSET_NOT_AVAILABLE is given only at offsets up to which records exist, and never where all of them can be read."""
    return all(
        reply_to(c, s.replica[replica], believes_to_lead(s, replica), offset) != Reply.OFFSET_NOT_AVAILABLE
        or (offset != s.replica[replica].high_watermark and offset <= max(s.replica[replica].end, s.ghost_committed_end))
        for replica in range(c.replicas)
        for offset in range(c.records + 1)
    )


@step(on=consumer_finds_truncation)
def no_false_truncation(before: State, after: State, c: C) -> bool:
    """K392-S5: what a consumer takes for a truncation is one: its position is not on the leader's log any more."""
    return not is_on(before, before.replica[believed_leader(before)])


@step(on=consumer_finds_position_valid)
def no_missed_truncation(before: State, after: State, c: C) -> bool:
    """K392-S5: a position that a consumer takes for valid is on the leader's log."""
    return is_on(before, before.replica[believed_leader(before)])


@step()
def positions_only_advance(before: State, after: State, c: C) -> bool:
    """K392-S6: a position goes back only by the reset policy, or because the leader's log does not have it any more."""
    return (
        after.consumer.position >= before.consumer.position
        or before.consumer.doing == Doing.RESETTING
        or not is_on(before, before.replica[believed_leader(before)])
    )


@step(on=client_asks_for_latest)
def latest_offsets_only_grow(before: State, after: State, c: C) -> bool:
    """K392-S7: the latest offset that a leader tells is never smaller than one that was told before (KIP-207)."""
    return after.ghost_latest >= before.ghost_latest


@step(on=consumer_finds_offset_out_of_range)
def resets_have_a_cause(before: State, after: State, c: C) -> bool:
    """K392-Q2: a position is given up only if some replica's retention has passed it, or it is not on the newest leader's log."""
    return (
        not gives_up_position(before, after)
        or any(r.start > before.consumer.position for r in before.replica)
        or not is_on(before, newest_leader(before))
    )


@always
def empty_answers_expose_nothing(s: State, c: C) -> bool:
    """Q43: an answer without records and without error is given to the consumer only at an offset up to which all is committed."""
    consumer = s.consumer
    return (
        consumer.doing != Doing.FETCHING
        or not is_served(s, c)
        or reply(s, c) != Reply.EMPTY
        or consumer.position <= s.ghost_committed_end
    )


@always
def leaders_know_first(s: State, c: C) -> bool:
    """Q47: no replica knows a higher high watermark than the newest leader, once that knows that it leads."""
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
    """The consumer comes to a follower whose log ends before its position."""
    consumer = s.consumer
    return consumer.preferred != NONE and s.replica[target(s)].end < consumer.position


@sometimes
def position_is_validated(before: State, after: State, c: C) -> bool:
    """A position is compared with a new leader's log, and is valid."""
    return before.consumer.doing == Doing.VALIDATING and after.consumer.doing == Doing.FETCHING


@sometimes
def consumer_is_reset(before: State, after: State, c: C) -> bool:
    """A consumer has followed its reset policy."""
    return before.consumer.doing == Doing.RESETTING and after.consumer.doing == Doing.FETCHING


@sometimes
def high_watermark_is_behind(s: State, c: C) -> bool:
    """A new leader's high watermark is below what is committed."""
    return has_leader(s) and newest_leader(s).high_watermark < s.ghost_committed_end


@sometimes
def follower_is_ahead(s: State, c: C) -> bool:
    """A follower's log holds records that are not on the newest leader's log."""
    l = newest_leader(s)
    return has_leader(s) and any(r.end > l.end or log.departs(l, r.end, log.last_epoch(r)) for r in s.replica)


@sometimes
def truncation_is_found(before: State, after: State, c: C) -> bool:
    """A consumer finds that records it has read are gone."""
    return before.consumer.doing in (Doing.VALIDATING, Doing.CHECKING) and after.consumer.position < before.consumer.position


@sometimes
def unavailable_case_is_met(s: State, c: C) -> bool:
    """Q42: the consumer comes to a replica that has not its offset, and knows that it is committed (case 2)."""
    consumer = s.consumer
    return (
        consumer.doing == Doing.FETCHING
        and is_served(s, c)
        and case_of(c, s.replica[target(s)], consumer.position) == Case.UNAVAILABLE
    )


def is_in_watched_case(s: State, c: C) -> bool:
    """Say whether the consumer's next fetch falls into the case that is watched."""
    return case_of(c, s.replica[target(s)], s.consumer.position) == c.watched_case


def moves(before: State, after: State) -> bool:
    """Say whether the consumer, after an error in the watched case, is put somewhere by its policy or a truncation."""
    return (
        before.consumer.ghost_met
        and before.consumer.doing in (Doing.RESETTING, Doing.CHECKING)
        and after.consumer.doing == Doing.FETCHING
        and not after.consumer.ghost_met
    )


def jumps_over_records(before: State, after: State) -> bool:
    """Say whether the consumer is put beyond committed records that the newest leader still has."""
    l = newest_leader(before)
    return any(
        l.start <= offset < l.end and bits.contains(before.ghost_committed[offset], l.log[offset])
        for offset in range(before.consumer.position, after.consumer.position)
    )


@sometimes
def case_waits(s: State, c: C) -> bool:
    """In the watched case the consumer waits: it gets no records and no error, or OFFSET_NOT_AVAILABLE."""
    return (
        s.consumer.doing == Doing.FETCHING
        and is_served(s, c)
        and is_in_watched_case(s, c)
        and reply(s, c) in (Reply.EMPTY, Reply.OFFSET_NOT_AVAILABLE)
    )


@sometimes
def case_continues(before: State, after: State, c: C) -> bool:
    """After an error in the watched case the consumer reads on at its position."""
    return (
        before.consumer.ghost_met and after.consumer.position == before.consumer.position + 1 and after.consumer.ghost_is_read
    )


@sometimes
def case_resets(before: State, after: State, c: C) -> bool:
    """After an error in the watched case the consumer is reset, to where it was or beyond records that the leader does not have."""
    return (
        moves(before, after) and after.consumer.position >= before.consumer.position and not jumps_over_records(before, after)
    )


@sometimes
def case_skips(before: State, after: State, c: C) -> bool:
    """After an error in the watched case the consumer is put beyond committed records that the leader has."""
    return moves(before, after) and jumps_over_records(before, after)


@sometimes
def case_replays(before: State, after: State, c: C) -> bool:
    """After an error in the watched case the consumer is put back, and reads records again."""
    return moves(before, after) and after.consumer.position < before.consumer.position


@sometimes
def case_raises(before: State, after: State, c: C) -> bool:
    """After an error in the watched case the consumer raises it to its user."""
    return after.consumer.ghost_met and before.consumer.doing != Doing.RAISED and after.consumer.doing == Doing.RAISED


PROPERTIES = (
    deliveries_are_committed,
    reads_are_repeatable,
    nothing_is_skipped,
    spurious_errors_are_recognized,
    cases_are_exclusive,
    unavailable_offsets_exist,
    no_false_truncation,
    no_missed_truncation,
    positions_only_advance,
    latest_offsets_only_grow,
    resets_have_a_cause,
    empty_answers_expose_nothing,
    follower_is_read,
    everything_is_read,
    follower_lags_behind_the_consumer,
    position_is_validated,
    consumer_is_reset,
    high_watermark_is_behind,
    follower_is_ahead,
    truncation_is_found,
    unavailable_case_is_met,
)
CASES = (case_skips, case_replays, case_raises, case_resets, case_continues, case_waits)
"""What may become of a consumer in one of the four cases, the worst first."""
ON_REQUEST = (leaders_know_first, *CASES)
