"""A leader's actions: serving fetches, maintaining the ISR, and advancing the high watermark.

Modelled on the broker's Partition and Replica.
"""

from fencepost.model.cluster import log
from fencepost.model.cluster.constants import C, Epochless, EpochSource, FencedAnswers, Field, Rollback, Truncation
from fencepost.model.cluster.state import (
    AlterPartition,
    Answer,
    Broker,
    Brokers,
    Image,
    Replica,
    State,
    Status,
    awaits_late_answer,
    follows,
    is_copy,
    leads,
    local,
    min_isr_of,
    newest,
)
from fencepost.model.language import NONE, InFlight, action, bits, require


def forget_followers(r: Replica) -> None:
    """Clear what the leader knows about its followers."""
    for f in r.follower:
        f.end = NONE
        f.start = 0
        f.broker_epoch = NONE


def start_epoch(r: Replica, c: C, leader: int) -> None:
    """Record where the leader epoch starts, and mark the members of the ISR as caught up (Partition.makeLeader).

    Replicas outside the ISR are not marked (Replica.resetReplicaState). If a leader restarts in the same leader epoch,
    the epoch starts again at the leader's log end.
    """
    r.epoch_start = r.end
    r.recent = bits.without(r.isr, leader) if c.waits_for_joining else 0


def forget_leadership(r: Replica) -> None:
    """Clear the state that only leaders have, except pending writes."""
    forget_followers(r)
    r.isr = 0
    r.partition_epoch = 0
    r.proposed_isr = 0
    r.epoch_start = 0
    r.checked = 0
    r.recent = 0


def fail_writes(r: Replica) -> None:
    """Fail pending writes with an error, because it is unknown whether they will be committed."""
    for offset in range(len(r.waiting)):
        r.waiting[offset] = 0


def maximal_isr(c: C, r: Replica) -> int:
    """Return the ISR together with the members that a pending request may add (KIP-497).

    A pending shrink does not change the maximal ISR, because the outcome is unknown.
    """
    return r.isr | r.proposed_isr if c.maximal_isr else r.isr


def waits_for(s: State, c: C, leader: int, follower: int) -> bool:
    """Return whether the high watermark waits for this follower outside the ISR (shouldWaitForReplicaToJoinIsr).

    It waits for a follower that was caught up within the lag time and may join the ISR.
    """
    r = s.replica[leader]
    known = r.follower[follower]
    return bits.contains(r.recent, follower) and (
        not c.wait_needs_eligibility
        or (known.end != NONE and is_eligible_in_cache(c, local(s, leader), follower, known.broker_epoch))
    )


def advance_high_watermark(s: State, c: C, leader: int) -> None:
    """Advance the high watermark to the smallest log end in the maximal ISR (Partition.maybeIncrementLeaderHW).

    Since 3.7, the high watermark does not advance while the committed ISR is smaller than min ISR.
    """
    r = s.replica[leader]
    min_isr = min_isr_of(s, c, leader)
    if c.high_watermark_needs_min_isr and bits.size(r.isr) < min_isr:
        return
    reached = r.end
    for member in range(c.brokers):
        if member != leader and (bits.contains(maximal_isr(c, r), member) or waits_for(s, c, leader, member)):
            reached = min(reached, r.follower[member].end)
    if reached > r.high_watermark or (reached != NONE and not c.high_watermark_only_rises):
        r.high_watermark = reached
        observe_commit(s, r)
        acknowledge(s, c, r, min_isr)


def observe_commit(s: State, r: Replica) -> None:
    """Record which records consumers can now read. A process accepts no connections before it is registered."""
    if r.early != 0:
        return
    for offset in range(s.ghost_committed_end, r.high_watermark):
        s.ghost_committed[offset] = r.log[offset].record
    s.ghost_committed_end = max(s.ghost_committed_end, r.high_watermark)


def acknowledge(s: State, c: C, r: Replica, min_isr: int) -> None:
    """Acknowledge writes below the high watermark, or fail them if the maximal ISR is too small.

    Kafka calls Partition.checkEnoughReplicasReachOffset whenever the high watermark advances.
    """
    for offset in range(r.high_watermark):
        if r.waiting[offset] != 0 and bits.size(maximal_isr(c, r)) >= min_isr:
            s.ghost_acknowledged = bits.with_member(s.ghost_acknowledged, r.waiting[offset])
        r.waiting[offset] = 0


def observe_low_watermark(s: State, c: C, leader: int) -> None:
    """Record the offset below which, as far as the leader knows, all replicas have deleted their records.

    Brokers that are fenced in the leader's cache do not count. DeleteRecords requests up to this offset are complete
    (Partition.lowWatermarkIfLeader).
    """
    image = local(s, leader)
    low = s.replica[leader].start
    for follower in range(c.brokers):
        if follower != leader and not bits.contains(image.fenced | image.missing, follower):
            low = min(low, s.replica[leader].follower[follower].start)
    s.ghost_low_watermark = max(s.ghost_low_watermark, low)


def is_stale_fetch(s: State, c: C, leader: int, follower: int, broker_epoch: int) -> bool:
    """Return whether the leader's cache has a later broker epoch for the follower (Replica.updateFetchStateOrThrow).

    Kafka does not compare the epochs of fenced followers (KRaftMetadataCache.getAliveBrokerEpoch). A fetch without a
    broker epoch is never stale (HYP-15).
    """
    image = local(s, leader)
    if broker_epoch == NONE:
        return c.epochless_fetches == Epochless.REFUSED
    return (
        c.fetch_broker_epoch_check
        and (c.fenced_epoch_check or not bits.contains(image.fenced, follower))
        and image.broker_epoch[follower] > broker_epoch
    )


def is_eligible_in_cache(c: C, image: Image, follower: int, broker_epoch: int) -> bool:
    """Return whether the leader's cache allows a follower into the ISR (Partition.isReplicaIsrEligible).

    The follower must be neither fenced nor shutting down (KIP-841), and must be registered with the broker epoch of its
    fetch, if the fetch contains an epoch (KIP-903).
    """
    return not (c.leader_eligibility_check and bits.contains(image.fenced | image.stopping, follower)) and (
        not c.leader_broker_epoch_check
        or broker_epoch == image.broker_epoch[follower]
        or (broker_epoch == NONE and c.epochless_fetches == Epochless.ACCEPTED)
    )


def is_caught_up(s: State, c: C, leader: int, end: int) -> bool:
    """Return whether a log end has reached the high watermark and the epoch's start (required to join the ISR)."""
    r = s.replica[leader]
    return end >= r.high_watermark and (not c.epoch_start_check or end >= r.epoch_start)


def may_request(s: State, c: C, leader: int) -> bool:
    """Return whether the leader has no AlterPartition request that is pending or unanswered (AlterPartitionManager)."""
    r = s.replica[leader]
    return (
        r.proposed_isr == 0
        and r.checked == 0
        and not (
            c.one_request_in_flight
            and any(
                m.leader == leader and m.broker_epoch == newest(s).broker_epoch[leader] and m.status != Status.STRAY
                for m in s.alter_partitions
            )
        )
    )


def may_expand(s: State, c: C, leader: int, follower: int, end: int, broker_epoch: int, start: int) -> bool:
    """Return whether the leader may propose the follower for the ISR after this fetch (Partition.needsExpandIsr)."""
    r = s.replica[leader]
    return (
        may_request(s, c, leader)
        and not bits.contains(r.isr, follower)
        and is_caught_up(s, c, leader, end)
        and (start >= r.start or not c.log_start_check)
        and is_eligible_in_cache(c, local(s, leader), follower, broker_epoch)
    )


def request(s: State, c: C, leader: int, isr: int) -> None:
    """Send an AlterPartition request; the high watermark waits for new members too (Partition.submitAlterPartition).

    The request contains the leader's broker epoch, and the broker epoch of each other member's last fetch (or NONE).
    """
    r = s.replica[leader]
    image = local(s, leader)
    r.proposed_isr = isr
    own = newest(s).broker_epoch[leader]
    m = s.alter_partitions.add(
        status=Status.SENT,
        leader=leader,
        broker_epoch=own,
        leader_epoch=image.leader_epoch,
        partition_epoch=r.partition_epoch,
        isr=isr,
        raised=r.raised,
    )
    for member in range(c.brokers):
        if bits.contains(isr, member) and member != leader:
            from_cache = c.broker_epoch_from == EpochSource.CACHE
            m.member_epoch[member] = image.broker_epoch[member] if from_cache else r.follower[member].broker_epoch
    m.member_epoch[leader] = own


def record_fetch(s: State, c: C, leader: int, follower: int, end: int, broker_epoch: int, start: int) -> None:
    """Record a fetch's state, propose the follower for the ISR if it may join, and try to advance the high watermark.

    Partition.updateFollowerFetchState and maybeExpandIsr. The high watermark can only advance if the follower's log end
    has changed. Before KAFKA-15221, fetches were recorded without a lock, so a fetch could be recorded between the
    leader's reads of the follower's log end and of the broker epoch.
    """
    r = s.replica[leader]
    expands = may_expand(s, c, leader, follower, end, broker_epoch, start)
    moves = r.follower[follower].end != end
    r.follower[follower].end = end
    r.follower[follower].broker_epoch = broker_epoch
    r.follower[follower].start = start
    observe_low_watermark(s, c, leader)
    if c.waits_for_joining and end >= r.end:
        r.recent = bits.with_member(r.recent, follower)
    if r.checked == 0:
        if expands and c.atomic_expansion:
            request(s, c, leader, bits.with_member(r.isr, follower))
        elif expands:
            r.checked = bits.only(follower)
        if moves:
            advance_high_watermark(s, c, leader)


def fetch_epoch(s: State, c: C, follower: int) -> int:
    """Return the broker epoch in a fetch, which is NONE before Fetch version 15 and before the sender is registered."""
    return newest(s).broker_epoch[follower] if c.fetch_carries_broker_epoch and s.replica[follower].early == 0 else NONE


def fetched_epoch(c: C, f: Replica) -> int:
    """Return the last fetched epoch in a follower's request, or NONE if the request has no such field."""
    return NONE if c.truncation != Truncation.FETCH or f.last_epoch_lost else log.latest_epoch(f)


def is_unknown_epoch(c: C, r: Replica, epoch: int) -> bool:
    """Return whether the leader's log lacks an epoch whose start the leader does not know (KAFKA-7415)."""
    return not c.epoch_start_recorded and epoch > log.latest_epoch(r)


def departs(s: State, c: C, leader: int, follower: int) -> bool:
    """Return whether a fetch shows that the follower's log diverges from the leader's log or ends beyond it."""
    r, f = s.replica[leader], s.replica[follower]
    last_epoch = fetched_epoch(c, f)
    return f.end > r.end or (
        not is_unknown_epoch(c, r, last_epoch) and log.departs(r, local(s, leader).leader_epoch, f.end, last_epoch)
    )


def is_out_of_range(s: State, leader: int, follower: int) -> bool:
    """Return whether the leader's log lacks the fetch offset (Partition.readRecords, UnifiedLog.read).

    The fetch offset is below the leader's log start or, if the request contains no epoch, above the log end.
    """
    r, f = s.replica[leader], s.replica[follower]
    return f.end < r.start or (f.start > 0 and f.end > r.end and log.latest_epoch(f) == NONE)


def lacks_high_watermark(s: State, c: C, leader: int, follower: int, high_watermark: int) -> bool:
    """Return whether a follower may lack the leader's high watermark, and therefore gets a response without records.
    Brokers ignore the HighWatermark field (KIP-1166), so a follower gets every change of the high watermark with its
    next fetch. If brokers use the field, as the quorum does, a response is sent only for a higher high watermark, and
    never if the field is absent.
    """
    f = s.replica[follower]
    if not c.reported_high_watermark_counts:
        return f.high_watermark != max(min(high_watermark, f.end), f.start)
    return c.fetches_report == Field.UNKNOWN or (c.fetches_report == Field.OWN and high_watermark > f.high_watermark)


def brings_news(s: State, c: C, leader: int, follower: int) -> bool:
    """Return whether the follower's fetch changes the leader's state or gets a response, and so is not parked."""
    r, f = s.replica[leader], s.replica[follower]
    known = r.follower[follower]
    broker_epoch = fetch_epoch(s, c, follower)
    return (
        f.end != r.end
        or lacks_high_watermark(s, c, leader, follower, r.high_watermark)
        or known.end != f.end
        or known.broker_epoch != broker_epoch
        or known.start != f.start
        or f.start < r.start
        or departs(s, c, leader, follower)
        or (c.waits_for_joining and not bits.contains(r.recent, follower))
        or (may_expand(s, c, leader, follower, f.end, broker_epoch, f.start) and r.checked == 0)
    )


def serves(s: State, c: C, leader: int, follower: int) -> bool:
    """Return whether the leader serves the follower: it must be a replica in the leader's own leader epoch (KIP-320).
    Error responses matter only if the follower acts on them (KAFKA-7786).
    """
    return (
        follows(s, follower, leader)
        and leads(s, leader)
        and not awaits_late_answer(s, follower, leader)
        and not bits.contains(local(s, leader).missing, follower)
        and (
            not c.fetch_leader_epoch_check
            or local(s, follower).leader_epoch == local(s, leader).leader_epoch
            or (c.fenced_answers != FencedAnswers.IGNORED and asks_in_old_epoch(s, leader, follower))
        )
    )


def asks_in_old_epoch(s: State, leader: int, follower: int) -> bool:
    """Return whether the follower requests its truncation offset in an earlier leader epoch than the leader's."""
    return s.replica[follower].truncating and local(s, follower).leader_epoch < local(s, leader).leader_epoch


@action(leader=Broker, follower=Broker)
def leader_handles_fetch(s: State, c: C, leader: int, follower: int) -> None:
    """A leader handles a fetch: it records the follower's log end, and sends the next record or the high watermark.

    ReplicaManager.fetchMessages, Partition.fetchRecords. The leader rejects fetches that have a different leader epoch
    (KIP-320), an older broker epoch (KAFKA-15221), or a last fetched epoch whose end the leader does not know. The
    response contains the leader's log start, and the high watermark from before the fetch.
    """
    r, f = s.replica[leader], s.replica[follower]
    broker_epoch = fetch_epoch(s, c, follower)
    require(serves(s, c, leader, follower))
    require(f.answer.kind == Answer.NONE)
    require(not f.truncating)
    require(not is_stale_fetch(s, c, leader, follower, broker_epoch))
    require(not is_unknown_epoch(c, r, fetched_epoch(c, f)))
    require(not departs(s, c, leader, follower))
    require(not is_out_of_range(s, leader, follower))
    require(brings_news(s, c, leader, follower))
    high_watermark = r.high_watermark
    record_fetch(s, c, leader, follower, f.end, broker_epoch, f.start)
    if f.end < r.end or lacks_high_watermark(s, c, leader, follower, high_watermark) or f.start < r.start:
        f.answer.kind = Answer.RECORDS
        f.answer.high_watermark = high_watermark
        f.answer.start = r.start
        if f.end < r.end:
            f.answer.record = r.log[f.end].record
            f.answer.epoch = r.log[f.end].epoch


@action(leader=Broker, follower=Broker)
def leader_reports_divergence(s: State, c: C, leader: int, follower: int) -> None:
    """A leader detects that a follower's log diverges from the leader's, and answers with the point of divergence.

    Partition.readRecords. A diverging fetch does not update the leader's view of the follower's log end (KAFKA-13141).
    """
    r, f = s.replica[leader], s.replica[follower]
    require(serves(s, c, leader, follower))
    require(f.answer.kind == Answer.NONE)
    require(not f.truncating)
    require(departs(s, c, leader, follower))
    require(not is_out_of_range(s, leader, follower))
    last_epoch = fetched_epoch(c, f)
    epoch = local(s, leader).leader_epoch
    if c.diverging_fetch_counts:
        record_fetch(s, c, leader, follower, min(f.end, r.end), fetch_epoch(s, c, follower), f.start)
    f.answer.kind = Answer.DIVERGING
    f.answer.epoch = log.latest_epoch(f) if last_epoch == NONE else log.end_offset_epoch(r, epoch, last_epoch)
    f.answer.end = r.end if last_epoch == NONE else log.start_above(r, last_epoch)
    f.answer.high_watermark = r.high_watermark if c.high_watermark_before_truncation else 0


@action(leader=Broker, follower=Broker)
def leader_tells_epoch_end(s: State, c: C, leader: int, follower: int) -> None:
    """A leader reports where the epoch of a follower's last record ends (OffsetForLeaderEpoch, before KIP-595).

    Since KIP-279, the response names the epoch that ends at this offset. This epoch may be older than the requested
    one. A query from an older leader epoch is fenced (KIP-320).
    """
    r, f = s.replica[leader], s.replica[follower]
    require(serves(s, c, leader, follower))
    require(f.answer.kind == Answer.NONE)
    require(f.truncating)
    asked = log.latest_epoch(f)
    meant = (
        asked if c.truncation == Truncation.KIP_101 else log.end_offset_epoch(r, local(s, leader).leader_epoch, asked)
    )
    if c.fetch_leader_epoch_check and asks_in_old_epoch(s, leader, follower):
        f.answer.kind = Answer.FENCED
    else:
        f.answer.kind = Answer.DIVERGING
        f.answer.epoch = NONE if is_unknown_epoch(c, r, asked) else meant
        f.answer.end = log.start_above(r, asked)


@action(leader=Broker)
def leader_requests_expansion(s: State, c: C, leader: int) -> None:
    """A leader that has checked a follower's log end reads the follower's broker epoch, and proposes the follower for
    the ISR. Before KAFKA-15221, another fetch could change the follower's state after the check and before the epoch
    was read. If the broker epoch does not match, the leader sends no request.
    """
    r = s.replica[leader]
    require(leads(s, leader))
    require(r.checked != 0)
    member = 0
    for broker in range(c.brokers):
        if bits.contains(r.checked, broker):
            member = broker
    r.checked = 0
    if is_eligible_in_cache(c, local(s, leader), member, r.follower[member].broker_epoch):
        request(s, c, leader, bits.with_member(r.isr, member))
    advance_high_watermark(s, c, leader)


@action(leader=Broker, follower=Broker)
def follower_lags_too_long(s: State, c: C, leader: int, follower: int) -> None:
    """The lag time has passed since a follower was last caught up with the leader (replica.lag.time.max.ms).

    The leader does not try to advance the high watermark at this time.
    """
    r = s.replica[leader]
    require(s.budget.lags > 0, bound=C.lags)
    require(leads(s, leader))
    require(bits.contains(r.recent, follower))
    r.recent = bits.without(r.recent, follower)
    s.budget.lags -= 1


@action(leader=Broker, members=Brokers)
def leader_requests_shrink(s: State, c: C, leader: int, members: int) -> None:
    """A leader requests the removal of members that have lagged for too long.

    Partition.maybeShrinkIsr. Until the response arrives, the members stay in the maximal ISR. A member whose log end
    equals the leader's is never out of sync.
    """
    r = s.replica[leader]
    require(s.budget.shrinks > 0, bound=C.shrinks)
    require(members != 0)
    require(leads(s, leader))
    require(bits.is_subset(members, bits.without(r.isr, leader)))
    require(may_request(s, c, leader))
    require(all(r.follower[member].end < r.end for member in range(c.brokers) if bits.contains(members, member)))
    r.recent &= ~members
    request(s, c, leader, r.isr & ~members)
    s.budget.shrinks -= 1


def is_awaited(s: State, m: AlterPartition) -> bool:
    """Return whether the leader still waits for the response to this request."""
    r = s.replica[m.leader]
    return (
        m.status != Status.STRAY
        and leads(s, m.leader)
        and m.broker_epoch == newest(s).broker_epoch[m.leader]
        and m.leader_epoch == local(s, m.leader).leader_epoch
        and m.partition_epoch == r.partition_epoch
        and m.isr == r.proposed_isr
    )


def forget_copies(s: State, c: C, m: AlterPartition) -> None:
    """Stop waiting for responses to other copies of a request, because one copy was answered."""
    for other in s.alter_partitions:
        if c.resends > 0 and other.status == Status.SENT and is_copy(other, m):
            other.status = Status.STRAY


@action(m=InFlight("alter_partitions"))
def leader_learns_change_applied(s: State, c: C, m: AlterPartition) -> None:
    """A leader adopts the ISR that it requested and the controller committed (Partition.handleAlterPartitionUpdate)."""
    require(m.status == Status.APPLIED)
    require(is_awaited(s, m))
    require(s.replica[m.leader].checked == 0)
    r = s.replica[m.leader]
    forget_copies(s, c, m)
    s.alter_partitions.remove(m)
    r.isr = m.isr
    if c.answers_carry_min_isr:
        r.raised = m.raised
    r.partition_epoch = m.partition_epoch + 1
    r.proposed_isr = 0
    advance_high_watermark(s, c, m.leader)


@action(m=InFlight("alter_partitions"))
def leader_learns_change_refused(s: State, c: C, m: AlterPartition) -> None:
    """A leader learns that its request was rejected. It reverts to the committed ISR only if nothing was applied.

    Partition.handleAlterPartitionError. After INELIGIBLE_REPLICA, the leader reverts (KIP-903). After other errors, an
    earlier copy may have been applied, so proposed members stay in the maximal ISR until metadata arrives. The leader
    does not try to advance the high watermark until something else changes.
    """
    require(m.status in (Status.INELIGIBLE, Status.REFUSED))
    require(is_awaited(s, m))
    require(s.replica[m.leader].checked == 0)
    r = s.replica[m.leader]
    forget_copies(s, c, m)
    s.alter_partitions.remove(m)
    if (m.status == Status.INELIGIBLE and c.rollback_on != Rollback.NEVER) or c.rollback_on == Rollback.ANY_ERROR:
        r.proposed_isr = 0


@action(leader=Broker)
def leader_gives_up_waiting(s: State, c: C, leader: int) -> None:
    """A leader treats a timeout as a rejection and reverts to the committed ISR.

    Reverting is unsafe, because the request may still be applied; KIP-497 therefore introduces the maximal ISR.
    """
    r = s.replica[leader]
    require(c.rollback_on == Rollback.TIMEOUT)
    require(leads(s, leader))
    require(r.proposed_isr != 0)
    r.proposed_isr = 0
