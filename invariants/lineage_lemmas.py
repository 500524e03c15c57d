"""Lemmas on the published models: what makes their promises inductive, one fact of the protocol each."""

from fencepost.model.language import NONE, always, bits
from fencepost.model.lineage.base import C, ReplicaState, State


@always
def high_watermark_is_in_the_log(s: State, c: C) -> bool:
    """No high watermark is beyond the end of its log."""
    return all(r.high_watermark <= r.end for r in s.replica)


@always
def quorum_is_the_last_decision(s: State, c: C) -> bool:
    """The controller's leader and epoch are those of its last decision; before the first one nobody leads."""
    return (
        s.quorum_epoch == s.next_leader_epoch - 1
        and (s.quorum_epoch >= 0 or s.quorum.leader == NONE)
        and (s.quorum_epoch < 0 or s.request[s.quorum_epoch].leader == s.quorum.leader)
    )


def has_heard(s: State, r: ReplicaState) -> bool:
    """Say whether the replica believes in the leader of a decision that the controller has made, or in none yet."""
    return r.leader_epoch < s.next_leader_epoch and (
        r.leader == NONE if r.leader_epoch < 0 else r.leader == s.request[r.leader_epoch].leader
    )


@always
def beliefs_are_decisions(s: State, c: C) -> bool:
    """A replica believes in the leader that the controller chose for the replica's leader epoch."""
    return all(has_heard(s, r) for r in s.replica)


@always
def one_leader_per_epoch(s: State, c: C) -> bool:
    """No two replicas presume to lead in the same leader epoch."""
    return not any(
        s.replica[one].leader == one
        and s.replica[two].leader == two
        and s.replica[one].leader_epoch == s.replica[two].leader_epoch
        for one in range(c.replicas)
        for two in range(one)
    )


@always
def leader_knows_the_isr(s: State, c: C) -> bool:
    """The true leader knows the quorum's ISR; until it has learned that it leads, the ISR is the decision's."""
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


LEMMAS = (
    high_watermark_is_in_the_log,
    quorum_is_the_last_decision,
    beliefs_are_decisions,
    one_leader_per_epoch,
    leader_knows_the_isr,
    nobody_follows_before_the_leader_leads,
)
__all__ = ["LEMMAS", "bits"]
