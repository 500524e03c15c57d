"""KIP-320, first try: fetches are fenced by the last record's epoch, and a follower truncates if a fetch diverges.

The first try fixes a bug in KIP-279: a new leader's high watermark is lower than its predecessor's. For example,
replicas 0 and 1 form the ISR and commit a record. Replica 1 is elected while its high watermark is still below the
record. Replica 2, whose log is empty, has reached that high watermark and joins the ISR without the record (12 states
with three replicas).

With the fix, no replica joins the ISR before the high watermark has reached the leader's own epoch. In addition,
fetches, the ISR and the high watermark compare the epoch of the follower's last record, and a follower truncates only
when it fetches. Modelled on hachikuji/kafka-specification, Kip320FirstTry.
"""

from fencepost.model.language import Machine, action, bits, require
from fencepost.model.lineage import base
from fencepost.model.lineage.base import C, Epoch, Replica, ReplicaState, State


def is_caught_up_to_epoch(l: ReplicaState, leader: int, f: ReplicaState, end: int) -> bool:
    """Return whether leader and follower agree on their roles and both have a record of the same epoch before `end`."""
    return (
        base.presumes_leadership(l, leader)
        and base.is_following(f, leader)
        and (
            end == 0
            or (
                base.has_offset(l, end - 1)
                and base.has_offset(f, end - 1)
                and l.log[end - 1].epoch == f.log[end - 1].epoch
            )
        )
    )


def needs_truncation(l: ReplicaState, f: ReplicaState) -> bool:
    """Return whether the follower's log is longer, or ends with a record that differs in epoch from the leader's."""
    return f.end > l.end or (f.end > 0 and l.log[f.end - 1].epoch != base.latest_epoch(f))


@action(leader=Replica, follower=Replica)
def leader_expand_isr(s: State, c: C, leader: int, follower: int) -> None:
    """The leader adds a follower whose log agrees just below the high watermark, once older epochs are below it."""
    l, f = s.replica[leader], s.replica[follower]
    require(base.is_true_leader(s, leader))
    require(not bits.contains(l.isr, follower))
    require(is_caught_up_to_epoch(l, leader, f, l.high_watermark))
    require(base.high_watermark_reached_epoch(l))
    base.update_isr(s, leader, bits.with_member(l.isr, follower))


@action(leader=Replica, follower=Replica)
def leader_shrink_isr(s: State, c: C, leader: int, follower: int) -> None:
    """The leader removes a follower whose log is shorter than the leader's or ends in another epoch."""
    l, f = s.replica[leader], s.replica[follower]
    require(base.is_true_leader(s, leader))
    require(follower != leader)
    require(bits.contains(l.isr, follower))
    require(not is_caught_up_to_epoch(l, leader, f, l.end))
    base.update_isr(s, leader, bits.without(l.isr, follower))


@action(leader=Replica)
def leader_increase_high_watermark(s: State, c: C, leader: int) -> None:
    """The high watermark passes a record if every ISR member has a record of the same epoch at that offset."""
    l = s.replica[leader]
    require(base.presumes_leadership(l, leader))
    require(base.has_offset(l, l.high_watermark))
    require(
        all(
            is_caught_up_to_epoch(l, leader, s.replica[member], l.high_watermark + 1)
            for member in range(c.replicas)
            if bits.contains(l.isr, member)
        )
    )
    l.high_watermark += 1


@action(leader=Replica, follower=Replica, epoch=Epoch)
def become_follower(s: State, c: C, leader: int, follower: int, epoch: int) -> None:
    """A replica learns of its leader and keeps its log: it truncates only when a fetch shows a divergence."""
    require(base.is_news_of_leader(s, follower, leader, epoch))
    base.follow(s, follower, epoch)


@action(leader=Replica, follower=Replica)
def follower_fetch(s: State, c: C, leader: int, follower: int) -> None:
    """The follower copies the next record and the high watermark if both logs agree on the epoch before it."""
    l, f = s.replica[leader], s.replica[follower]
    require(is_caught_up_to_epoch(l, leader, f, f.end))
    require(f.end < l.end)
    base.replicate(s, follower, leader)


@action(leader=Replica, follower=Replica)
def follower_truncate(s: State, c: C, leader: int, follower: int) -> None:
    """At any time, a follower whose fetch shows a divergence truncates to where the logs diverge."""
    l, f = s.replica[leader], s.replica[follower]
    require(base.presumes_leadership(l, leader))
    require(base.is_following(f, leader))
    require(needs_truncation(l, f))
    base.truncate(f, base.last_matching_end(l, f))


MACHINE = Machine(
    name="kip320-first-try",
    sentence="KIP-320, first try: the epoch of the last record fences fetches, the ISR and the high watermark",
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
        become_follower,
        follower_fetch,
        follower_truncate,
    ),
    source="hachikuji/kafka-specification, Kip320FirstTry",
    cast=base.CAST,
)
