"""Variants of the published models, each without one rule, so that a proof must fail."""

from fencepost.model.language import Machine, action, bits, require
from fencepost.model.lineage import base, kip320
from fencepost.model.lineage.base import C, Epoch, Replica, State


@action(leader=Replica, epoch=Epoch)
def become_leader(s: State, c: C, leader: int, epoch: int) -> None:
    """A replica becomes the leader, even if the controller's decision names another replica."""
    require(epoch < s.next_leader_epoch)
    require(epoch > s.replica[leader].leader_epoch)
    r = s.replica[leader]
    r.leader_epoch = epoch
    r.leader = leader
    r.isr = s.request[epoch].isr


@action(leader=Replica)
def controller_elect_leader(s: State, c: C, leader: int) -> None:
    """The controller elects any replica, even one outside the ISR."""
    require(s.next_leader_epoch <= c.max_leader_epoch)
    require(s.quorum.leader != leader)
    base.decide(s, leader, s.quorum.isr)


@action(leader=Replica, follower=Replica, epoch=Epoch)
def become_follower_and_truncate(s: State, c: C, leader: int, follower: int, epoch: int) -> None:
    """A new follower truncates to its own high watermark, as before KIP-101, but with all of KIP-320's fencing."""
    l, f = s.replica[leader], s.replica[follower]
    offset = f.high_watermark
    require(base.presumes_leadership(l, leader))
    require(base.is_news_of_leader(s, follower, leader, epoch))
    require(l.leader_epoch == epoch)
    base.truncate(f, offset)
    base.follow(s, follower, epoch)


@action(leader=Replica)
def leader_increase_high_watermark(s: State, c: C, leader: int) -> None:
    """The high watermark advances past an offset that every other ISR member has, even if the leader lacks it."""
    l = s.replica[leader]
    require(l.high_watermark < c.log_size)
    require(
        all(
            kip320.in_same_epoch(l, leader, s.replica[member]) and base.has_offset(s.replica[member], l.high_watermark)
            for member in range(c.replicas)
            if bits.contains(l.isr, member) and member != leader
        )
    )
    l.high_watermark += 1


def _without(rule: str, **actions: object) -> Machine:
    sentence = f"KIP-320 without a rule: {rule}"
    return kip320.MACHINE.replacing(name="kip320-broken", sentence=sentence, **actions)  # type: ignore[arg-type]


ANY_LEADER_LEADS = _without("only the replica that a decision names leads", become_leader=become_leader)
ANYONE_IS_ELECTED = _without("leaders come from the ISR", controller_elect_leader=controller_elect_leader)
TRUNCATES_TO_HIGH_WATERMARK = _without(
    "followers truncate where the logs diverge", become_follower_and_truncate=become_follower_and_truncate
)
LEADER_NOT_COUNTED = _without(
    "the leader has every record that it commits", leader_increase_high_watermark=leader_increase_high_watermark
)
