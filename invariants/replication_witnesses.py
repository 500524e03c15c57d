"""Witnesses for replication, checked only if named. They show that the following can occur: changes of min
ISR and ELR, reassignments, processes that follow leaders before they register, late responses, failed directories, and
changes of the log start offset.
"""

from fencepost.model.cluster.constants import C
from fencepost.model.cluster.state import Answer, State, effective_min_isr, is_running, leads, local, min_isr_of, newest
from fencepost.model.language import NONE, bits, sometimes
from fencepost.model.language.actions import properties_in

# -- min ISR and ELR


def is_under_min_isr(s: State, c: C) -> bool:
    """Return whether the ISR is smaller than the controller's min ISR."""
    return bits.size(newest(s).isr) < effective_min_isr(c, newest(s), newest(s).raised)


@sometimes
def raise_leaves_too_few(before: State, after: State, c: C) -> bool:
    """An operator raises min ISR above the size of the ISR."""
    return (
        newest(after).raised > newest(before).raised and not is_under_min_isr(before, c) and is_under_min_isr(after, c)
    )


@sometimes
def lower_is_enough(before: State, after: State, c: C) -> bool:
    """An operator lowers min ISR to the size of the ISR or below."""
    return (
        newest(after).raised < newest(before).raised and is_under_min_isr(before, c) and not is_under_min_isr(after, c)
    )


@sometimes
def change_clears_the_elr(before: State, after: State, c: C) -> bool:
    """A new min ISR clears the ELR."""
    return newest(after).raised != newest(before).raised and before.elr != 0 and after.elr == 0


@sometimes
def configs_are_published_apart(s: State, c: C) -> bool:
    """A broker uses a min ISR and a partition state from different images."""
    return any(
        is_running(s, broker) and s.replica[broker].raised != local(s, broker).raised for broker in range(c.brokers)
    )


@sometimes
def leader_goes_by_a_smaller_min_isr(s: State, c: C) -> bool:
    """A leader with the newest ISR uses a smaller min ISR than the controller."""
    return any(
        leads(s, broker)
        and s.replica[broker].isr == newest(s).isr
        and min_isr_of(s, c, broker) < effective_min_isr(c, newest(s), newest(s).raised)
        for broker in range(c.brokers)
    )


@sometimes
def stale_elr_elects(before: State, after: State, c: C) -> bool:
    """A broker is elected from an ELR that was not cleared when an operator turned ELR off."""
    return (
        before.elr_disabled == 1 and newest(before).leader == NONE and bits.contains(before.elr, newest(after).leader)
    )


# -- reassignments


def loses_its_replica(before: State, after: State, broker: int) -> bool:
    """Return whether a running broker learns in this step that it no longer has a replica."""
    return (
        is_running(before, broker)
        and is_running(after, broker)
        and not bits.contains(local(before, broker).missing, broker)
        and bits.contains(local(after, broker).missing, broker)
    )


def gets_a_replica(before: State, after: State, broker: int) -> bool:
    """Return whether a running broker learns in this step that it now has a replica."""
    return (
        is_running(before, broker)
        and is_running(after, broker)
        and bits.contains(local(before, broker).missing, broker)
        and not bits.contains(local(after, broker).missing, broker)
    )


@sometimes
def reassignment_ends(before: State, after: State, c: C) -> bool:
    """A reassignment in progress completes and removes a broker's replica."""
    return newest(after).missing & ~newest(before).missing & before.removing != 0 and after.adding | after.removing == 0


@sometimes
def reassignment_is_replaced(before: State, after: State, c: C) -> bool:
    """An operator changes the targets of a reassignment that is in progress."""
    return after.budget.reassignments < before.budget.reassignments and before.adding | before.removing != 0


@sometimes
def added_member_is_taken_back(before: State, after: State, c: C) -> bool:
    """An operator cancels a reassignment after an added replica has joined the ISR."""
    return after.budget.cancels < before.budget.cancels and newest(before).isr & before.adding != 0


@sometimes
def removed_replica_deletes_records(before: State, after: State, c: C) -> bool:
    """A broker learns that it no longer has a replica, and deletes a log with records."""
    return any(
        loses_its_replica(before, after, broker) and before.replica[broker].end > 0 for broker in range(c.brokers)
    )


@sometimes
def added_replica_starts_empty(before: State, after: State, c: C) -> bool:
    """A broker without a replica learns that a replica was added, and starts with an empty log."""
    return any(gets_a_replica(before, after, broker) for broker in range(c.brokers))


# -- processes that follow before they are registered, and whose fetches count


@sometimes
def fetch_without_epoch_counts(s: State, c: C) -> bool:
    """A leader knows the log end of a process that is not registered."""
    return any(
        leads(s, leader)
        and s.replica[follower].early != 0
        and s.replica[leader].follower[follower].end != NONE
        and s.replica[leader].follower[follower].broker_epoch == NONE
        for leader in range(c.brokers)
        for follower in range(c.brokers)
    )


@sometimes
def unregistered_process_joins(before: State, after: State, c: C) -> bool:
    """A replica whose process is unregistered joins the ISR, because the broker's previous process is registered."""
    joined = newest(after).isr & ~newest(before).isr
    return any(bits.contains(joined, broker) and before.replica[broker].early != 0 for broker in range(c.brokers))


# -- answers that outlive a leader epoch, and records that are read when they are sent


def takes_late_answer(before: State, after: State, broker: int) -> bool:
    """Return whether a broker handles a response from an earlier leader epoch in this step."""
    return (
        is_running(before, broker)
        and is_running(after, broker)
        and any(m.follower == broker for m in before.late_answers)
        and not any(m.follower == broker for m in after.late_answers)
    )


@sometimes
def late_answer_cuts_a_log(before: State, after: State, c: C) -> bool:
    """A follower truncates its log because of a response from an earlier leader epoch."""
    return any(
        takes_late_answer(before, after, broker) and after.replica[broker].end < before.replica[broker].end
        for broker in range(c.brokers)
    )


@sometimes
def late_answer_brings_a_record(before: State, after: State, c: C) -> bool:
    """A follower appends the record in a response from an earlier leader epoch."""
    return any(
        takes_late_answer(before, after, broker) and after.replica[broker].end > before.replica[broker].end
        for broker in range(c.brokers)
    )


@sometimes
def late_answer_is_ignored(before: State, after: State, c: C) -> bool:
    """A follower follows a leader again, and ignores that leader's late response from an earlier leader epoch."""
    return any(
        takes_late_answer(before, after, m.follower)
        and local(before, m.follower).leader == m.leader
        and after.replica[m.follower].end == before.replica[m.follower].end
        for m in before.late_answers
    )


@sometimes
def record_is_skipped(before: State, after: State, c: C) -> bool:
    """A follower skips a record that entered its leader's log only after the leader had sent the response."""
    return any(
        before.replica[broker].answer.record != 0
        and before.replica[broker].answer.epoch > local(before, broker).leader_epoch
        and after.replica[broker].answer.kind == Answer.NONE
        and after.replica[broker].end == before.replica[broker].end
        and after.replica[broker].applied == before.replica[broker].applied
        for broker in range(c.brokers)
    )


# -- log directories


@sometimes
def offline_replica_leaves_the_isr(before: State, after: State, c: C) -> bool:
    """The controller removes a replica from the ISR because its log directory has failed."""
    return newest(before).isr & ~newest(after).isr & after.offline & ~before.offline != 0


@sometimes
def new_directory_is_assigned(before: State, after: State, c: C) -> bool:
    """A broker that registered without its replica's directory reports the directory of the new log."""
    assigned = before.offline & ~after.offline
    return any(is_running(before, broker) and bits.contains(assigned, broker) for broker in range(c.brokers))


# -- log starts


@sometimes
def follower_begins_at_the_log_start(before: State, after: State, c: C) -> bool:
    """A follower empties a log that ends below its leader's log start, and continues at the leader's log start."""
    return any(
        after.replica[broker].start > before.replica[broker].end and is_running(before, broker)
        for broker in range(c.brokers)
    )


@sometimes
def follower_takes_the_log_start(before: State, after: State, c: C) -> bool:
    """A follower deletes records because its leader has deleted them."""
    return any(
        before.replica[broker].answer.start > before.replica[broker].start
        and after.replica[broker].start == before.replica[broker].answer.start
        for broker in range(c.brokers)
    )


@sometimes
def crash_loses_the_log_start(before: State, after: State, c: C) -> bool:
    """A broker crashes before it has checkpointed its log start, and its log keeps all records."""
    return any(
        after.replica[broker].start < before.replica[broker].start
        and after.replica[broker].end == before.replica[broker].end
        for broker in range(c.brokers)
    )


PROPERTIES = properties_in(globals())
