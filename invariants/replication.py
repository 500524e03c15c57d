"""Properties of Kafka's replication, and their witnesses. The properties have the catalogue ids G-S1 to G-S16 and, for
broker epochs, KIP903-S1 to KIP903-S4.
"""

from fencepost.model.cluster.constants import C
from fencepost.model.cluster.controller import (
    controller_applies_alter_partition,
    is_eligible,
    is_from_current_leader,
    passes_epoch_checks,
)
from fencepost.model.cluster.leader import maximal_isr
from fencepost.model.cluster.lifecycle import broker_crashes
from fencepost.model.cluster.partition_change import active
from fencepost.model.cluster.state import (
    AlterPartition,
    Replica,
    State,
    effective_min_isr,
    has_current_leader,
    has_elr,
    heeds_elr,
    is_running,
    is_sent,
    leads,
    local,
    min_isr_of,
    newest,
    replicas,
)
from fencepost.model.language import NONE, always, bits, sometimes, step
from fencepost.model.language.actions import properties_in


def holds_committed(s: State, r: Replica, offset: int) -> bool:
    """Return whether the log has the record that was first committed at this offset."""
    return r.start <= offset < r.end and r.log[offset].record == s.ghost_committed[offset]


def is_deleted(s: State, record: int) -> bool:
    """Return whether a client, or a replica's retention, has deleted the record."""
    return bits.contains(s.ghost_deleted, record)


def has_committed(s: State, r: Replica) -> bool:
    """Return whether the log has every record that was ever below a leader's high watermark, except deleted ones."""
    return all(
        holds_committed(s, r, offset) or is_deleted(s, s.ghost_committed[offset])
        for offset in range(s.ghost_committed_end)
    )


def shows_committed(s: State, r: Replica) -> bool:
    """Return whether every record below the replica's high watermark was committed at the record's offset."""
    return r.high_watermark <= s.ghost_committed_end and all(
        holds_committed(s, r, offset) for offset in range(r.start, r.high_watermark)
    )


def has_record(r: Replica, record: int) -> bool:
    """Return whether the record is in the log."""
    return any(r.log[offset].record == record for offset in range(r.start, r.end))


def agree_up_to(one: Replica, other: Replica, end: int) -> bool:
    """Return whether two logs have the same records below `end`, ignoring offsets that either log has deleted."""
    return all(
        one.log[offset].record == other.log[offset].record and one.log[offset].epoch == other.log[offset].epoch
        for offset in range(max(one.start, other.start), end)
    )


@always
def leader_has_committed(s: State, c: C) -> bool:
    """G-S1: the controller's leader, once it knows that it leads, has every record that was ever committed.

    This does not apply between an election and the moment the new leader learns of it.
    """
    return not has_current_leader(s) or has_committed(s, s.replica[newest(s).leader])


@always
def candidates_have_committed(s: State, c: C) -> bool:
    """G-S1b: every running member of the ISR and of the ELR has every record that was ever committed.

    Therefore, a clean election of a member loses no record. This does not apply to members whose process is down.
    """
    return all(
        has_committed(s, s.replica[broker])
        for broker in range(c.brokers)
        if is_running(s, broker)
        and bits.contains((newest(s).isr | (s.elr if heeds_elr(s, c) else 0)) & replicas(c, newest(s)), broker)
    )


@always
def leader_has_acknowledged(s: State, c: C) -> bool:
    """G-S2: the controller's leader, once it knows that it leads, has every acknowledged record."""
    return not has_current_leader(s) or all(
        has_record(s.replica[newest(s).leader], record)
        for record in range(1, c.max_records + 1)
        if bits.contains(s.ghost_acknowledged, record) and not is_deleted(s, record)
    )


@always
def acknowledged_survives(s: State, c: C) -> bool:
    """G-S2b: a record that was acknowledged is in the log of some broker, running or down."""
    return all(
        any(has_record(r, record) for r in s.replica)
        for record in range(1, c.max_records + 1)
        if bits.contains(s.ghost_acknowledged, record) and not is_deleted(s, record)
    )


@always
def logs_match_below_high_watermark(s: State, c: C) -> bool:
    """G-S3: two replicas have the same records up to the lower of their high watermarks."""
    return all(
        agree_up_to(one, other, min(one.high_watermark, other.high_watermark))
        for one in s.replica
        for other in s.replica
    )


@always
def logs_match(s: State, c: C) -> bool:
    """G-S3b: if two replicas have a record of the same epoch at an offset, their logs are equal up to that record."""
    return all(
        agree_up_to(one, other, offset + 1)
        for one in s.replica
        for other in s.replica
        for offset in range(max(one.start, other.start), min(one.end, other.end))
        if one.log[offset].epoch == other.log[offset].epoch
    )


@step()
def leader_high_watermark_never_falls(before: State, after: State, c: C) -> bool:
    """Part of G-S4: a leader's high watermark does not decrease within a leader epoch, unless the leader restarts.

    A follower's high watermark may decrease, and a new or restarted leader's may be lower than the previous one.
    """
    return all(
        after.replica[broker].high_watermark >= before.replica[broker].high_watermark
        for broker in range(c.brokers)
        if leads(before, broker)
        and leads(after, broker)
        and local(before, broker).leader_epoch == local(after, broker).leader_epoch
    )


@always
def one_leader_per_epoch(s: State, c: C) -> bool:
    """Part of G-S5: no two brokers lead in the same leader epoch.

    Two brokers may lead in different epochs until the older leader has applied the latest metadata.
    """
    return all(
        not leads(s, one) or not leads(s, other) or local(s, one).leader_epoch != local(s, other).leader_epoch
        for one in range(c.brokers)
        for other in range(one)
    )


@always
def leaders_have_their_epoch(s: State, c: C) -> bool:
    """Part of G-S5: a leader has every record of its epoch that is in any log, so no other broker wrote in that epoch.

    A leader never truncates, so no offset gets two records of the same epoch.
    """
    return all(
        not leads(s, leader)
        or other.log[offset].epoch != local(s, leader).leader_epoch
        or (offset < s.replica[leader].end and s.replica[leader].log[offset].record == other.log[offset].record)
        for leader in range(c.brokers)
        for other in s.replica
        for offset in range(max(other.start, s.replica[leader].start), other.end)
    )


@always
def isr_is_sane(s: State, c: C) -> bool:
    """G-S6: the leader, ISR and ELR are consistent, and no ISR member is fenced, shutting down or without a replica.

    Without ELR, the last ISR member stays in the ISR when it is fenced.
    """
    image = newest(s)
    is_on = has_elr(s, c)
    is_last = not is_on and bits.size(image.isr) == 1
    return (
        (image.leader == NONE or bits.contains(image.isr & active(c, image), image.leader))
        and (is_on or c.elr_disables > 0 or image.isr != 0)
        and bits.is_subset(image.isr, replicas(c, image))
        and (is_last or image.isr & ~active(c, image) == 0)
        and s.elr & image.isr == 0
        and (
            s.elr & replicas(c, image) == 0
            or not is_on
            or bits.size(image.isr) < effective_min_isr(c, image, image.raised)
        )
    )


@always
def eligible_leaders_have_replicas(s: State, c: C) -> bool:
    """G-S6b: every member of the ELR has a replica, so no broker deletes a log that a clean election relies on."""
    return s.elr & newest(s).missing == 0


@always
def isr_members_are_current(s: State, c: C) -> bool:
    """G-S7: no ISR member joined through a request with an earlier broker epoch, or stayed in the ISR when it
    registered again. KIP903-S2 covers records that an incarnation fetched with its own broker epoch. Without ELR, this
    does not apply to the last ISR member, which stays in the ISR when it is fenced and registers again.
    """
    return s.ghost_stale & newest(s).isr == 0


@always
def maximal_isr_covers_isr(s: State, c: C) -> bool:
    """G-S8: the current leader's maximal ISR contains every member of the controller's ISR.

    With ELR, it also contains the ELR, if the leader's ISR has at least min ISR members. This does not apply between an
    election and the moment the new leader learns of it.
    """
    if not has_current_leader(s):
        return True
    r = s.replica[newest(s).leader]
    min_isr = min_isr_of(s, c, newest(s).leader)
    may_commit = not c.high_watermark_needs_min_isr or bits.size(r.isr) >= min_isr
    return bits.is_subset((newest(s).isr | s.elr) & replicas(c, newest(s)), maximal_isr(c, r)) or not may_commit


@always
def maximal_isr_covers_requests(s: State, c: C) -> bool:
    """KIP903-S3: the current leader's maximal ISR contains the members of each of its requests that may still be
    applied. Therefore, a leader reverts to the committed ISR only if its request was not and will not be applied.
    """
    return not has_current_leader(s) or all(
        not is_sent(m)
        or not passes_epoch_checks(c, newest(s), m)
        or bits.is_subset(m.isr, maximal_isr(c, s.replica[m.leader]))
        for m in s.alter_partitions
    )


@always
def leaders_show_committed(s: State, c: C) -> bool:
    """G-S9: below its high watermark, a leader serves only the records that were first committed at their offsets.

    Therefore, no consumer reads two versions of a record.
    """
    return all(shows_committed(s, s.replica[broker]) for broker in range(c.brokers) if leads(s, broker))


@always
def replicas_show_committed(s: State, c: C) -> bool:
    """G-S9 for KIP-392: below its high watermark, any running replica serves only committed records."""
    return all(shows_committed(s, s.replica[broker]) for broker in range(c.brokers) if is_running(s, broker))


@always
def log_starts_are_committed(s: State, c: C) -> bool:
    """G-S14: no log starts above its high watermark or below 0, so only committed records are deleted (KIP-107)."""
    return all(r.start <= r.high_watermark <= r.end for r in s.replica)


@always
def deleted_records_stay_deleted(s: State, c: C) -> bool:
    """G-S15: the controller's leader, once it knows that it leads, serves no record that is known to be deleted.

    A client knows that a record is deleted once its DeleteRecords request succeeds (KIP-107): by then, all live
    replicas have deleted the record.
    """
    if not has_current_leader(s):
        return True
    r = s.replica[newest(s).leader]
    return not any(
        is_deleted(s, r.log[offset].record) for offset in range(r.start, min(s.ghost_low_watermark, r.high_watermark))
    )


@step(on=broker_crashes)
def crash_hides_no_records(before: State, after: State, c: C, broker: int, kept: int) -> bool:
    """G-S16: a crash does not advance a log's start, so the records that remain in the log can be read."""
    return after.replica[broker].start <= before.replica[broker].start


@step(on=controller_applies_alter_partition)
def applied_requests_are_current(before: State, after: State, c: C, m: AlterPartition) -> bool:
    """G-S13: a request with an earlier broker, leader or partition epoch changes nothing."""
    return is_from_current_leader(newest(before), m)


@step(on=controller_applies_alter_partition)
def joining_epoch_is_registered(before: State, after: State, c: C, m: AlterPartition) -> bool:
    """KIP903-S1: a broker that joins the ISR is registered with the broker epoch in the request.

    This does not apply to members for which the request contains no epoch, as was usual before Fetch version 15.
    """
    joined = m.isr & ~newest(before).isr
    return all(
        m.member_epoch[broker] in (NONE, newest(before).broker_epoch[broker])
        for broker in range(c.brokers)
        if bits.contains(joined, broker)
    )


@step(on=controller_applies_alter_partition)
def joining_replica_has_committed(before: State, after: State, c: C, m: AlterPartition) -> bool:
    """KIP903-S2: a running broker that joins the ISR has every committed record in its log."""
    joined = m.isr & ~newest(before).isr
    return all(
        has_committed(before, before.replica[broker])
        for broker in range(c.brokers)
        if bits.contains(joined, broker) and is_running(before, broker)
    )


@step(on=controller_applies_alter_partition)
def joining_replica_covers_epoch_start(before: State, after: State, c: C, m: AlterPartition) -> bool:
    """Part of KIP903-S2: a running broker that joins the ISR has a log that reaches the start of its leader's epoch.

    This does not apply once the leader that requested the change has entered another leader epoch.
    """
    joined = m.isr & ~newest(before).isr
    leader = before.replica[m.leader]
    is_asking = leads(before, m.leader) and local(before, m.leader).leader_epoch == m.leader_epoch
    return not is_asking or all(
        before.replica[broker].end >= leader.epoch_start
        for broker in range(c.brokers)
        if bits.contains(joined, broker) and is_running(before, broker)
    )


@step(on=controller_applies_alter_partition)
def members_without_epoch_are_current(before: State, after: State, c: C, m: AlterPartition) -> bool:
    """KIP903-S4: an ISR member whose epoch is missing from an applied request has not restarted since it joined."""
    stayed = m.isr & newest(before).isr & before.ghost_stale
    return all(m.member_epoch[broker] != NONE or not bits.contains(stayed, broker) for broker in range(c.brokers))


@sometimes
def record_is_committed_on_two(s: State, c: C) -> bool:
    """A record is committed while the ISR has at least two members."""
    return s.ghost_committed_end > 0 and bits.size(newest(s).isr) > 1


@sometimes
def isr_grows(before: State, after: State, c: C) -> bool:
    """A replica joins the ISR."""
    return newest(after).isr & ~newest(before).isr != 0


@sometimes
def restarted_broker_is_in_sync(s: State, c: C) -> bool:
    """A broker that has restarted is running and in the ISR."""
    return any(
        newest(s).broker_epoch[broker] > 0 and is_running(s, broker) and bits.contains(newest(s).isr, broker)
        for broker in range(c.brokers)
    )


@sometimes
def request_names_ineligible_replica(s: State, c: C) -> bool:
    """A request with current epochs reaches the controller while a member that it names is ineligible."""
    return any(
        is_sent(m) and passes_epoch_checks(c, newest(s), m) and not is_eligible(s, c, m) for m in s.alter_partitions
    )


@sometimes
def leader_moves(before: State, after: State, c: C) -> bool:
    """The controller moves the leadership to another broker, or elects a leader for a partition without one."""
    return newest(after).leader not in (NONE, newest(before).leader)


@sometimes
def two_brokers_lead(s: State, c: C) -> bool:
    """A deposed leader does not know that it was deposed, while its successor leads."""
    return any(leads(s, one) and leads(s, other) for one in range(c.brokers) for other in range(one))


@sometimes
def follower_cuts_its_log(before: State, after: State, c: C) -> bool:
    """A running broker drops a record because a leader's log diverges from its own."""
    return any(
        after.replica[broker].end < before.replica[broker].end and is_running(after, broker)
        for broker in range(c.brokers)
    )


@sometimes
def leader_is_reelected_unaware(before: State, after: State, c: C) -> bool:
    """A leader that does not know that it was deposed applies metadata in which it leads in a later epoch."""
    return any(
        leads(before, broker)
        and leads(after, broker)
        and local(before, broker).leader_epoch < local(after, broker).leader_epoch
        for broker in range(c.brokers)
    )


PROPERTIES = properties_in(globals())
