"""Properties and witnesses of the published models (WeakIsr, StrongIsr, LeaderInIsr: hachikuji/kafka-specification)."""

from fencepost.model.language import NONE, always, bits, sometimes
from fencepost.model.language.actions import properties_in
from fencepost.model.lineage import base
from fencepost.model.lineage.base import C, State


def share_committed(s: State, leader: int, members: int) -> bool:
    """Return whether every member has the leader's record at every offset below the leader's high watermark."""
    l = s.replica[leader]
    return all(
        base.same_entry(l, s.replica[member], offset)
        for member in range(len(s.replica))
        if bits.contains(members, member)
        for offset in range(l.high_watermark)
    )


@always
def weak_isr(s: State, c: C) -> bool:
    """A replica that believes it leads shares all records below its high watermark with the members of its local ISR.

    This does not apply to other replicas, nor while the local ISR is empty. The local ISR may be out of date, and
    leaders are elected from the quorum's ISR. Therefore, committed records can be lost even if the property holds.
    """
    return all(
        share_committed(s, leader, s.replica[leader].isr)
        for leader in range(c.replicas)
        if base.presumes_leadership(s.replica[leader], leader)
    )


@always
def strong_isr(s: State, c: C) -> bool:
    """A replica that believes it leads shares all records below its high watermark with the quorum's ISR.

    Therefore, every record that consumers can read is on every replica that can be elected. The property does not apply
    to other replicas, nor while the quorum's ISR is empty.
    """
    return all(
        share_committed(s, leader, s.quorum.isr)
        for leader in range(c.replicas)
        if base.presumes_leadership(s.replica[leader], leader)
    )


@always
def leader_in_isr_or_none(s: State, c: C) -> bool:
    """The controller's leader is in the ISR.

    This does not apply if there is no leader: as published, the property fails in the initial state.
    """
    return s.quorum.leader == NONE or bits.contains(s.quorum.isr, s.quorum.leader)


@sometimes
def committed_on_all_replicas(s: State, c: C) -> bool:
    """A record below the high watermark of a replica that believes it leads is in the log of every replica."""
    return any(
        all(base.same_entry(s.replica[leader], r, offset) for r in s.replica)
        for leader in range(c.replicas)
        if base.presumes_leadership(s.replica[leader], leader)
        for offset in range(s.replica[leader].high_watermark)
    )


@sometimes
def follower_truncates(before: State, after: State, c: C) -> bool:
    """A follower drops records."""
    return any(after.replica[r].end < before.replica[r].end for r in range(c.replicas))


@sometimes
def leader_changes(before: State, after: State, c: C) -> bool:
    """The controller moves leadership from one replica to another.

    The witness cannot be reached with a single replica or a single leader epoch.
    """
    return before.quorum.leader != NONE and after.quorum.leader not in (NONE, before.quorum.leader)


@sometimes
def isr_grows_back(before: State, after: State, c: C) -> bool:
    """A replica rejoins the quorum's ISR. Initially, all replicas are in the ISR, so it was removed earlier."""
    return bits.size(after.quorum.isr) > bits.size(before.quorum.isr)


PROPERTIES = properties_in(globals())
