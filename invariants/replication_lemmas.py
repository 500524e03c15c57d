"""Lemmas that make the properties of replication inductive; each states one fact about the protocol."""

from fencepost.model.cluster.constants import C
from fencepost.model.cluster.state import Answer, State, has_process, leads
from fencepost.model.language import always, bits, step


@always
def applied_images_exist(s: State, c: C) -> bool:
    """The metadata that a running broker has applied is in the controller's log; stopped brokers have no metadata."""
    return all(s.replica[b].applied <= (s.newest if has_process(s, b) else 0) for b in range(c.brokers))


@always
def leader_epochs_have_one_leader(s: State, c: C) -> bool:
    """Along the controller's log, leader epochs never decrease, and each change of leader starts a new epoch.

    The loss of the leader counts as a change.
    """
    return all(
        s.image[earlier].leader_epoch <= s.image[later].leader_epoch
        and (
            s.image[earlier].leader_epoch < s.image[later].leader_epoch
            or s.image[earlier].leader == s.image[later].leader
        )
        for later in range(c.metadata_lag + 1)
        if later <= s.newest
        for earlier in range(later)
    )


@always
def partition_epochs_tell_changes(s: State, c: C) -> bool:
    """Along the controller's log, partition epochs never decrease, and a change of leader or ISR starts a new one."""
    return all(
        s.image[earlier].partition_epoch <= s.image[later].partition_epoch
        and (
            s.image[earlier].partition_epoch < s.image[later].partition_epoch
            or (s.image[earlier].leader == s.image[later].leader and s.image[earlier].isr == s.image[later].isr)
        )
        for later in range(c.metadata_lag + 1)
        if later <= s.newest
        for earlier in range(later)
    )


@always
def leaders_wait_for_no_answer(s: State, c: C) -> bool:
    """No fetch response is in flight to a broker that leads."""
    return all(s.replica[broker].answer.kind == Answer.NONE for broker in range(c.brokers) if leads(s, broker))


@step()
def high_watermark_is_held_when_it_rises(before: State, after: State, c: C) -> bool:
    """G-S4: a leader's high watermark never rises above the smallest fetch offset in its maximal ISR. The leader's own
    log end is also a limit. The maximal ISR consists of the ISR and the members that a pending request may add.
    """
    return all(
        after.replica[leader].high_watermark <= after.replica[leader].end
        and all(
            after.replica[leader].high_watermark <= after.replica[leader].follower[member].end
            for member in range(c.brokers)
            if member != leader
            and bits.contains(after.replica[leader].isr | after.replica[leader].proposed_isr, member)
        )
        for leader in range(c.brokers)
        if leads(after, leader) and after.replica[leader].high_watermark > before.replica[leader].high_watermark
    )


@always
def high_watermark_is_in_the_log(s: State, c: C) -> bool:
    """No high watermark is beyond the end of its log."""
    return all(r.high_watermark <= r.end for r in s.replica)


LEMMAS = (
    applied_images_exist,
    leader_epochs_have_one_leader,
    partition_epochs_tell_changes,
    leaders_wait_for_no_answer,
    high_watermark_is_in_the_log,
    high_watermark_is_held_when_it_rises,
)
