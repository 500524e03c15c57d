"""Selection of the replica from which the consumer fetches, by the leader or by a consumer plugin."""

from fencepost.model.consumers.constants import Allowed, C, Selector, allowed, selector
from fencepost.model.consumers.fetching import is_served, target
from fencepost.model.consumers.state import Broker, Doing, State, has_leader
from fencepost.model.language import NONE, action, bits, require


def is_near(c: C, replica: int) -> bool:
    """Return whether the replica is in the consumer's rack; if `nearest` is 4, all replicas are in it."""
    return c.nearest in (replica, 4)


def leader_offers(s: State, c: C, replica: int) -> bool:
    """Return whether the leader's selector may choose the replica, which must be in the ISR and have the offset.

    ReplicaManager.findPreferredReadReplica: the log end and the log start are known from the follower's last fetch.
    """
    r = s.replica[replica]
    if allowed(c) == Allowed.ANY:
        return r.is_up
    return (
        allowed(c) == Allowed.ISR
        and bits.contains(s.isr, replica)
        and r.known_end >= s.consumer.position
        and r.known_start <= s.consumer.position
    )


@action(replica=Broker)
def leader_prefers_replica(s: State, c: C, replica: int) -> None:
    """The leader answers a fetch without data, and names a replica to fetch from instead (KIP-392, as implemented)."""
    consumer = s.consumer
    require(selector(c) == Selector.LEADER)
    require(consumer.doing == Doing.FETCHING)
    require(consumer.preferred == NONE)
    require(is_near(c, replica))
    require(has_leader(s))
    require(target(s) == s.leader[s.newest])
    require(is_served(s, c))
    require(replica != target(s))
    require(leader_offers(s, c, replica))
    consumer.preferred = replica


@action(replica=Broker)
def consumer_prefers_replica(s: State, c: C, replica: int) -> None:
    """The consumer's plugin chooses a replica, from the known ISR or from all replicas (KIP-392, Consumer Changes)."""
    consumer = s.consumer
    require(selector(c) != Selector.LEADER)
    require(allowed(c) != Allowed.LEADER)
    require(consumer.doing == Doing.FETCHING)
    require(consumer.preferred == NONE)
    require(is_near(c, replica))
    require(replica != target(s))
    require(bits.contains(consumer.isr, replica) or (allowed(c) == Allowed.ANY and selector(c) == Selector.GIVEN_ALL))
    consumer.preferred = replica


@action()
def preference_expires(s: State, c: C) -> None:
    """After metadata.max.age, the consumer fetches from the leader again."""
    require(selector(c) == Selector.LEADER)
    require(s.consumer.doing == Doing.FETCHING)
    require(s.consumer.preferred != NONE)
    s.consumer.preferred = NONE
