"""Events of the partition: elections, ISR members that fall behind, and brokers that stop."""

from fencepost.model.consumers.constants import C
from fencepost.model.consumers.replication import advance_high_watermark
from fencepost.model.consumers.state import Broker, State, has_leader, newest_leader
from fencepost.model.language import NONE, action, bits, require


def open_epoch(s: State, leader: int) -> None:
    """Begin a leader epoch. The new leader does not know its followers' log ends."""
    s.newest += 1
    s.leader[s.newest] = leader
    for r in s.replica:
        r.known_end = NONE
        r.known_start = 0


@action(leader=Broker)
def controller_elects_leader(s: State, c: C, leader: int) -> None:
    """The controller moves the leadership to another member of the ISR, in a new leader epoch."""
    require(s.newest < c.epochs, bound=C.epochs)
    require(bits.contains(s.isr, leader))
    require(s.leader[s.newest] != leader)
    open_epoch(s, leader)


@action(leader=Broker)
def controller_elects_uncleanly(s: State, c: C, leader: int) -> None:
    """The controller elects a replica outside the ISR, now its only member (unclean.leader.election.enable)."""
    require(s.newest < c.epochs, bound=C.epochs)
    require(s.budget.unclean_elections > 0, bound=C.unclean_elections)
    require(s.replica[leader].is_up)
    require(not bits.contains(s.isr, leader))
    open_epoch(s, leader)
    s.isr = bits.only(leader)
    s.budget.unclean_elections -= 1


@action(follower=Broker)
def leader_shrinks_isr(s: State, c: C, follower: int) -> None:
    """The leader removes from the ISR a follower that, as far as the leader knows, has lagged for too long.

    Partition.getOutOfSyncReplicas, Replica.isCaughtUp.
    """
    require(s.budget.shrinks > 0, bound=C.shrinks)
    require(has_leader(s))
    require(bits.contains(s.isr, follower))
    require(s.leader[s.newest] != follower)
    require(s.replica[follower].known_end != newest_leader(s).end)
    s.isr = bits.without(s.isr, follower)
    s.budget.shrinks -= 1
    advance_high_watermark(s, c)


@action(broker=Broker)
def broker_stops(s: State, c: C, broker: int) -> None:
    """A broker that does not lead stops permanently; the controller removes it from the ISR."""
    require(s.budget.stops > 0, bound=C.stops)
    require(has_leader(s))
    require(s.replica[broker].is_up)
    require(s.leader[s.newest] != broker)
    s.replica[broker].is_up = False
    s.isr = bits.without(s.isr, broker)
    s.budget.stops -= 1
    advance_high_watermark(s, c)
