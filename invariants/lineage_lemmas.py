"""Lemmas that make the properties of the published models inductive; each states one fact about the protocol."""

from fencepost.model.language import NONE, always, bits
from fencepost.model.language.actions import properties_in
from fencepost.model.lineage.base import C, ReplicaState, State, same_entry
from fencepost.model.lineage.kip320 import in_same_epoch


@always
def high_watermark_is_in_the_log(s: State, c: C) -> bool:
    """No high watermark is beyond the end of its log."""
    return all(r.high_watermark <= r.end for r in s.replica)


@always
def quorum_is_the_last_decision(s: State, c: C) -> bool:
    """The controller's leader and epoch come from its last decision. Before the first decision, there is no leader."""
    return (
        s.quorum_epoch == s.next_leader_epoch - 1
        and (s.quorum_epoch >= 0 or s.quorum.leader == NONE)
        and (s.quorum_epoch < 0 or s.request[s.quorum_epoch].leader == s.quorum.leader)
    )


def has_heard(s: State, r: ReplicaState) -> bool:
    """Return whether the replica's leader and epoch are the initial ones or come from a controller decision."""
    return r.leader_epoch < s.next_leader_epoch and (
        r.leader == NONE if r.leader_epoch < 0 else r.leader == s.request[r.leader_epoch].leader
    )


@always
def beliefs_are_decisions(s: State, c: C) -> bool:
    """A replica's leader is the one that the controller chose for the replica's leader epoch."""
    return all(has_heard(s, r) for r in s.replica)


@always
def one_leader_per_epoch(s: State, c: C) -> bool:
    """No two replicas believe that they lead in the same leader epoch."""
    return not any(
        s.replica[one].leader == one
        and s.replica[two].leader == two
        and s.replica[one].leader_epoch == s.replica[two].leader_epoch
        for one in range(c.replicas)
        for two in range(one)
    )


@always
def leader_knows_the_isr(s: State, c: C) -> bool:
    """If the controller's leader has learned that it leads, it knows the quorum's ISR.

    Before it has learned this, the quorum's ISR is the ISR of the decision that elected it.
    """
    return s.quorum_epoch < 0 or all(
        s.replica[leader].isr == s.quorum.isr
        if s.replica[leader].leader_epoch == s.quorum_epoch
        else s.request[s.quorum_epoch].isr == s.quorum.isr
        for leader in range(c.replicas)
        if leader == s.quorum.leader
    )


@always
def nobody_follows_before_the_leader_leads(s: State, c: C) -> bool:
    """A follower is never in a later epoch than the leader that it follows."""
    return all(
        s.replica[leader].leader_epoch >= f.leader_epoch
        for f in s.replica
        for leader in range(c.replicas)
        if f.leader == leader
    )


@always
def decisions_name_a_member(s: State, c: C) -> bool:
    """The leader of every decision is in the ISR of that decision."""
    return all(
        s.request[epoch].leader == NONE or bits.contains(s.request[epoch].isr, s.request[epoch].leader)
        for epoch in range(s.next_leader_epoch)
    )


@always
def believers_know_an_isr_with_the_leader(s: State, c: C) -> bool:
    """A replica that has learned of a decision knows a leader, and that leader is in the replica's local ISR."""
    return all(
        r.end == 0 if r.leader_epoch < 0 else r.leader != NONE and bits.contains(r.isr, r.leader) for r in s.replica
    )


@always
def log_epochs_grow(s: State, c: C) -> bool:
    """Leader epochs never decrease along a log, and never exceed the replica's epoch."""
    return all(
        r.log[offset].epoch <= r.leader_epoch and (offset == 0 or r.log[offset - 1].epoch <= r.log[offset].epoch)
        for r in s.replica
        for offset in range(r.end)
    )


def same_up_to(a: ReplicaState, b: ReplicaState, end: int) -> bool:
    """Return whether both logs contain the same records below `end`."""
    return all(same_entry(a, b, offset) for offset in range(end))


@always
def logs_match(s: State, c: C) -> bool:
    """If two logs have a record of the same leader epoch at the same offset, the logs are equal up to that record."""
    return all(
        same_up_to(a, b, offset + 1)
        for a in s.replica
        for b in s.replica
        for offset in range(min(a.end, b.end))
        if a.log[offset].epoch == b.log[offset].epoch
    )


@always
def records_come_from_the_leader(s: State, c: C) -> bool:
    """If any log has a record of a leader's current epoch, the leader's log has that record at the same offset."""
    return all(
        same_entry(r, s.replica[leader], offset)
        for leader in range(c.replicas)
        if s.replica[leader].leader == leader
        for r in s.replica
        for offset in range(r.end)
        if r.log[offset].epoch == s.replica[leader].leader_epoch
    )


@always
def nobody_writes_before_the_leader_leads(s: State, c: C) -> bool:
    """No log contains a record of an epoch whose leader has not learned that it leads."""
    return all(
        s.replica[leader].leader_epoch >= r.log[offset].epoch
        for r in s.replica
        for offset in range(r.end)
        for leader in range(c.replicas)
        if s.request[r.log[offset].epoch].leader == leader
    )


@always
def followers_hold_a_prefix(s: State, c: C) -> bool:
    """If a follower is in its leader's epoch, its log is a prefix of the leader's log."""
    return all(
        f.end <= s.replica[leader].end and same_up_to(f, s.replica[leader], f.end)
        for leader in range(c.replicas)
        for f in s.replica
        if in_same_epoch(s.replica[leader], leader, f)
    )


@always
def leader_has_committed_its_own(s: State, c: C) -> bool:
    """A record of the leader's epoch that a follower knows to be committed is below the leader's high watermark."""
    return all(
        offset < s.replica[leader].high_watermark
        for leader in range(c.replicas)
        for f in s.replica
        if in_same_epoch(s.replica[leader], leader, f)
        for offset in range(f.high_watermark)
        if f.log[offset].epoch == s.replica[leader].leader_epoch
    )


def is_frozen(s: State, isr: int, epoch: int) -> bool:
    """Return whether an ISR member is in a later epoch, so that no more records can be committed in this epoch."""
    return any(
        bits.contains(isr, member) and s.replica[member].leader_epoch > epoch for member in range(len(s.replica))
    )


def covers_later(s: State, isr: int, epoch: int) -> bool:
    """Return whether this ISR contains the quorum's ISR and the ISR of every decision after `epoch`."""
    return bits.is_subset(s.quorum.isr, isr) and all(
        bits.is_subset(s.request[later].isr, isr) for later in range(epoch + 1, s.next_leader_epoch)
    )


@always
def leaders_wait_for_later_members(s: State, c: C) -> bool:
    """A leader's ISR contains every ISR decided later, or has a member that is in a later epoch."""
    return all(
        covers_later(s, s.replica[leader].isr, s.replica[leader].leader_epoch)
        or is_frozen(s, s.replica[leader].isr, s.replica[leader].leader_epoch)
        for leader in range(c.replicas)
        if s.replica[leader].leader == leader
    )


def is_pending(s: State, epoch: int) -> bool:
    """Return whether the leader that was chosen for an epoch may still learn that it leads."""
    leader = s.request[epoch].leader
    return any(leader == replica and s.replica[replica].leader_epoch < epoch for replica in range(len(s.replica)))


@always
def pending_decisions_wait_for_later_members(s: State, c: C) -> bool:
    """A pending decision's ISR contains every ISR decided later, or has a member that is in a later epoch."""
    return all(
        not is_pending(s, epoch)
        or covers_later(s, s.request[epoch].isr, epoch)
        or is_frozen(s, s.request[epoch].isr, epoch)
        for epoch in range(s.next_leader_epoch)
    )


def has_committed(s: State, replica: int) -> bool:
    """Return whether the log contains every record that is below any high watermark."""
    return all(same_entry(r, s.replica[replica], offset) for r in s.replica for offset in range(r.high_watermark))


@always
def isr_has_committed(s: State, c: C) -> bool:
    """Every member of the quorum's ISR has every record that is below any high watermark."""
    return all(has_committed(s, member) for member in range(c.replicas) if bits.contains(s.quorum.isr, member))


def is_ahead_of_a_member(s: State, epoch: int) -> bool:
    """Return whether a member of the quorum's ISR is in an earlier epoch, so that it may still follow this leader."""
    return any(
        bits.contains(s.quorum.isr, member) and s.replica[member].leader_epoch < epoch
        for member in range(len(s.replica))
    )


@always
def leaders_of_members_have_committed(s: State, c: C) -> bool:
    """If a member of the quorum's ISR may follow a leader, the leader has each record below any high watermark."""
    return all(
        has_committed(s, leader)
        for leader in range(c.replicas)
        if s.replica[leader].leader == leader and is_ahead_of_a_member(s, s.replica[leader].leader_epoch)
    )


@always
def leaders_to_be_have_committed(s: State, c: C) -> bool:
    """A replica that may still learn that it leads has every record that is below any high watermark.

    The lemma is about epochs whose leader an ISR member may still follow.
    """
    return all(
        has_committed(s, replica)
        for epoch in range(s.next_leader_epoch)
        if is_ahead_of_a_member(s, epoch)
        for replica in range(c.replicas)
        if s.request[epoch].leader == replica and s.replica[replica].leader_epoch < epoch
    )


@always
def leaders_of_leaders_to_be_have_committed(s: State, c: C) -> bool:
    """A leader has every record below any high watermark if a future leader may still follow it before leading.

    The lemma is about epochs whose leader an ISR member may still follow.
    """
    return all(
        has_committed(s, leader)
        for epoch in range(s.next_leader_epoch)
        if is_ahead_of_a_member(s, epoch)
        for replica in range(c.replicas)
        if s.request[epoch].leader == replica
        for leader in range(c.replicas)
        if s.replica[leader].leader == leader
        and s.replica[replica].leader_epoch < s.replica[leader].leader_epoch
        and s.replica[leader].leader_epoch < epoch
    )


LEMMAS = properties_in(globals())
