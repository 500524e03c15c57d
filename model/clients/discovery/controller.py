"""Changes of the cluster's leaders, brokers, endpoints and topics. Each change is a record in the metadata log."""

from fencepost.model.clients.discovery.constants import C
from fencepost.model.clients.discovery.state import (
    Broker,
    Partition,
    Stage,
    State,
    Work,
    clear_refresh,
    clear_request,
    newest,
)
from fencepost.model.language import NONE, action, bits, require


def append_image(s: State) -> None:
    """Start a new image as a copy of the newest one."""
    s.image[s.newest + 1] = s.image[s.newest]
    s.newest += 1


@action(partition=Partition, leader=Broker)
def controller_elects_leader(s: State, c: C, partition: int, leader: int) -> None:
    """The controller moves the leadership of a partition to another broker, in a new leader epoch."""
    require(s.newest < c.changes, bound=C.changes)
    require(s.budget.elections > 0, bound=C.elections)
    require(newest(s).partition[partition].leader != leader)
    require(newest(s).endpoint[leader] != NONE)
    append_image(s)
    now = newest(s).partition[partition]
    now.leader = leader
    now.epoch += 1
    s.budget.elections -= 1


@action(partition=Partition, leader=Broker)
def topic_is_recreated(s: State, c: C, partition: int, leader: int) -> None:
    """A topic is recreated: it has a new id, and its leader epochs start again at 0."""
    require(s.newest < c.changes, bound=C.changes)
    require(s.budget.recreations > 0, bound=C.recreations)
    require(newest(s).endpoint[leader] != NONE)
    append_image(s)
    now = newest(s).partition[partition]
    now.topic += 1
    now.leader = leader
    now.epoch = 0
    s.budget.recreations -= 1


def lose_connection(s: State, c: C, broker: int) -> None:
    """Break a broker's connection: its requests are lost; the client requests metadata, and retries after a backoff."""
    if s.request.stage == Stage.SENT and s.request.broker == broker:
        for partition in range(c.partitions):
            if bits.contains(s.request.partitions, partition):
                s.known[partition].work = Work.BACKOFF
        clear_request(c, s.request)
        s.wants_refresh = True
    if s.refresh.stage == Stage.SENT and s.refresh.broker == broker:
        clear_refresh(s.refresh)
        s.wants_refresh = True


@action(broker=Broker)
def broker_stops(s: State, c: C, broker: int) -> None:
    """A broker that leads no partition stops, and the controller removes it from the metadata."""
    require(s.newest < c.changes, bound=C.changes)
    require(s.budget.restarts > 0, bound=C.restarts)
    require(s.broker[broker].is_up)
    require(all(partition.leader != broker for partition in newest(s).partition))
    append_image(s)
    newest(s).endpoint[broker] = NONE
    s.broker[broker].is_up = False
    s.broker[broker].cache = 0
    s.broker[broker].replica = 0
    lose_connection(s, c, broker)
    s.budget.restarts -= 1


@action(broker=Broker)
def broker_starts(s: State, c: C, broker: int) -> None:
    """A broker joins, or returns on another host or port, with the newest metadata."""
    require(s.newest < c.changes, bound=C.changes)
    require(not s.broker[broker].is_up)
    append_image(s)
    newest(s).endpoint[broker] = c.restarts - s.budget.restarts
    s.broker[broker].is_up = True
    s.broker[broker].cache = s.newest
    s.broker[broker].replica = s.newest
