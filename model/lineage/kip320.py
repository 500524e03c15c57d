"""KIP-320: a follower sends its leader epoch, and the leader serves only followers in its own epoch.

KIP-320 fixes a bug in its first try: comparing the epoch of the last record is not enough, because either side may be
in another leader epoch. For example, replica 2 leads in epoch 0 with replica 1 in its ISR. Replica 1 leads in epoch 1
and adds replica 0 to the ISR. Replica 2 is elected for epoch 2 but still acts in epoch 0, and replica 1 already follows
it. Replica 0 lacks the records that replicas 1 and 2 then commit, although it is in the ISR (13 states with three
replicas and three epochs). Likewise, a leader could rely on a replica that is in an older epoch and will truncate.

With the fix, fetches, ISR changes, the high watermark and truncation (again once per epoch) require equal leader
epochs. Modelled on hachikuji/kafka-specification, Kip320.
"""

from fencepost.model.language import Machine, action, bits, require
from fencepost.model.lineage import base
from fencepost.model.lineage.base import C, Epoch, Replica, ReplicaState, State


def in_same_epoch(l: ReplicaState, leader: int, f: ReplicaState) -> bool:
    """Return whether `leader` believes that it leads, and the follower follows it in the same leader epoch."""
    return l.leader == leader and f.leader == leader and f.leader_epoch == l.leader_epoch


@action(leader=Replica, follower=Replica)
def leader_expand_isr(s: State, c: C, leader: int, follower: int) -> None:
    """The leader adds a follower that has reached the high watermark, once all older epochs are below it (KIP-320)."""
    l, f = s.replica[leader], s.replica[follower]
    require(base.is_true_leader(s, leader))
    require(not bits.contains(l.isr, follower))
    require(in_same_epoch(l, leader, f))
    require(l.high_watermark == 0 or base.has_offset(f, l.high_watermark - 1))
    require(base.high_watermark_reached_epoch(l))
    base.update_isr(s, leader, bits.with_member(l.isr, follower))


@action(leader=Replica, follower=Replica)
def leader_shrink_isr(s: State, c: C, leader: int, follower: int) -> None:
    """The leader removes a follower that is in another epoch, or whose log is shorter than the leader's."""
    l, f = s.replica[leader], s.replica[follower]
    require(base.is_true_leader(s, leader))
    require(follower != leader)
    require(bits.contains(l.isr, follower))
    require(not in_same_epoch(l, leader, f) or f.end < l.end)
    base.update_isr(s, leader, bits.without(l.isr, follower))


@action(leader=Replica)
def leader_increase_high_watermark(s: State, c: C, leader: int) -> None:
    """The high watermark passes a record that every ISR member has in the leader's epoch.

    As published, an empty ISR imposes no condition, so the replica need not believe that it leads.
    """
    l = s.replica[leader]
    require(base.has_offset(l, l.high_watermark))
    require(
        all(
            in_same_epoch(l, leader, s.replica[member]) and base.has_offset(s.replica[member], l.high_watermark)
            for member in range(c.replicas)
            if bits.contains(l.isr, member)
        )
    )
    l.high_watermark += 1


@action(leader=Replica, follower=Replica, epoch=Epoch)
def become_follower_and_truncate(s: State, c: C, leader: int, follower: int, epoch: int) -> None:
    """A replica learns of its leader and truncates to where their logs diverge, once the leader is in the new epoch."""
    l, f = s.replica[leader], s.replica[follower]
    require(base.presumes_leadership(l, leader))
    require(base.is_news_of_leader(s, follower, leader, epoch))
    require(l.leader_epoch == epoch)
    base.truncate(f, base.last_matching_end(l, f))
    base.follow(s, follower, epoch)


@action(leader=Replica, follower=Replica)
def follower_fetch(s: State, c: C, leader: int, follower: int) -> None:
    """The follower copies the next record and the leader's high watermark, only within one leader epoch."""
    l, f = s.replica[leader], s.replica[follower]
    require(in_same_epoch(l, leader, f))
    require(f.end < l.end)
    base.replicate(s, follower, leader)


MACHINE = Machine(
    name="kip320",
    sentence="KIP-320: fetches, truncation and the high watermark are fenced by the leader epoch",
    state=State,
    constants=C,
    initial=base.initial,
    actions=(
        base.controller_elect_leader,
        base.controller_shrink_isr,
        base.become_leader,
        leader_expand_isr,
        leader_shrink_isr,
        base.leader_write,
        leader_increase_high_watermark,
        become_follower_and_truncate,
        follower_fetch,
    ),
    source="hachikuji/kafka-specification, Kip320; KIP-320",
    cast=base.CAST,
    interchangeable=Replica,
)
