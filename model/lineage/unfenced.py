"""The leader and its followers before KIP-320: neither checks the other's leader epoch.

The first three models share this module; they differ only in where a new follower truncates. The leader checks only a
replica's log end, and which leader the replica follows. Modelled on hachikuji/kafka-specification, KafkaReplication.
"""

from fencepost.model.language import action, bits, require
from fencepost.model.lineage import base
from fencepost.model.lineage.base import C, Replica, ReplicaState, State


def is_caught_up(l: ReplicaState, leader: int, f: ReplicaState, end: int) -> bool:
    """Return whether the follower follows `leader` and both logs reach `end`. The logs' contents are not compared."""
    return base.is_following(f, leader) and (end == 0 or (base.has_offset(l, end - 1) and base.has_offset(f, end - 1)))


@action(leader=Replica, follower=Replica)
def leader_expand_isr(s: State, c: C, leader: int, follower: int) -> None:
    """The leader adds a follower whose log has reached the high watermark."""
    l, f = s.replica[leader], s.replica[follower]
    require(base.is_true_leader(s, leader))
    require(not bits.contains(l.isr, follower))
    require(is_caught_up(l, leader, f, l.high_watermark))
    base.update_isr(s, leader, bits.with_member(l.isr, follower))


@action(leader=Replica, follower=Replica)
def leader_shrink_isr(s: State, c: C, leader: int, follower: int) -> None:
    """The leader removes a follower that follows another leader or whose log is shorter than the leader's."""
    l, f = s.replica[leader], s.replica[follower]
    require(base.is_true_leader(s, leader))
    require(follower != leader)
    require(bits.contains(l.isr, follower))
    require(not is_caught_up(l, leader, f, l.end))
    base.update_isr(s, leader, bits.without(l.isr, follower))


@action(leader=Replica)
def leader_increase_high_watermark(s: State, c: C, leader: int) -> None:
    """The high watermark passes an offset that is in every ISR member's log, regardless of the record. As published,
    the leader's own log is checked only if the leader is in the ISR.
    """
    l = s.replica[leader]
    require(base.presumes_leadership(l, leader))
    require(l.high_watermark < c.log_size)
    require(
        all(
            base.is_following(s.replica[member], leader) and base.has_offset(s.replica[member], l.high_watermark)
            for member in range(c.replicas)
            if bits.contains(l.isr, member)
        )
    )
    l.high_watermark += 1


@action(leader=Replica, follower=Replica)
def follower_fetch(s: State, c: C, leader: int, follower: int) -> None:
    """The follower copies the next record and the leader's high watermark, if both agree on their roles."""
    l, f = s.replica[leader], s.replica[follower]
    require(base.presumes_leadership(l, leader))
    require(base.is_following(f, leader))
    require(f.end < l.end)
    base.replicate(s, follower, leader)
