"""How brokers learn of changes and respond to clients. A broker's replicas and its metadata cache may both lag."""

from fencepost.model.clients.discovery.constants import C, HintFrom
from fencepost.model.clients.discovery.state import (
    Broker,
    ImageIndex,
    Outcome,
    Request,
    Stage,
    State,
    may_answer,
    takes_old_answer,
)
from fencepost.model.language import NONE, action, bits, require


@action(broker=Broker, image=ImageIndex)
def broker_learns(s: State, c: C, broker: int, image: int) -> None:
    """A broker publishes a later image to its metadata cache. Its replicas adopt the image immediately or later."""
    b = s.broker[broker]
    require(b.is_up)
    require(image > b.cache)
    require(image <= s.newest)
    b.cache = image
    if not c.replica_lags:
        b.replica = image


@action(broker=Broker)
def replicas_follow(s: State, c: C, broker: int) -> None:
    """A broker's replicas become leaders and followers according to its metadata cache (ReplicaManager.applyDelta)."""
    b = s.broker[broker]
    require(b.replica < b.cache)
    b.replica = b.cache


def outcome_of(s: State, broker: int, partition: int, epoch: int) -> Outcome:
    """Return the result of checking the epoch (Partition.checkCurrentLeaderEpoch), and then whether the replica leads.

    `epoch` is the leader epoch in the request, or NONE if the request has no such field, as in Produce.
    """
    own = s.image[s.broker[broker].replica].partition[partition]
    if epoch != NONE and epoch < own.epoch:
        return Outcome.FENCED_EPOCH
    if epoch != NONE and epoch > own.epoch:
        return Outcome.UNKNOWN_EPOCH
    return Outcome.SUCCESS if own.leader == broker else Outcome.NOT_LEADER


def is_hinted(s: State, c: C, broker: int, partition: int, epoch: int) -> bool:
    """Return whether the response has a hint. In KIP-951's text, this depends on epochs, not on the error."""
    outcome = outcome_of(s, broker, partition, epoch)
    knows_hints = c.hints and broker < c.brokers - c.silent_brokers
    if c.hints_by_epoch:
        return (
            knows_hints
            and outcome != Outcome.SUCCESS
            and epoch < s.image[s.broker[broker].cache].partition[partition].epoch
        )
    return knows_hints and outcome in (Outcome.NOT_LEADER, Outcome.FENCED_EPOCH)


def finish_answer(s: State, c: C, from_leader: int, from_epoch: int) -> None:
    """Send a response. Its hints, if any, contain the leaders and epochs of the given images."""
    request = s.request
    b = s.broker[request.broker]
    for partition in range(c.partitions):
        if not c.consumer:
            request.epoch[partition] = 0
    if request.hinted != 0:
        request.from_leader = from_leader
        request.from_epoch = from_epoch
        request.cache = b.cache
    if b.replica < s.newest:
        takes_old_answer(s, request.broker)
    request.stage = Stage.ANSWERED


@action()
def broker_answers_request(s: State, c: C) -> None:
    """A broker answers a produce or fetch request. An error names the leader that the broker knows (KIP-951)."""
    request = s.request
    require(request.stage == Stage.SENT)
    require(may_answer(s, request.broker), bound=C.lagging_brokers)
    b = s.broker[request.broker]
    for partition in range(c.partitions):
        if bits.contains(request.partitions, partition):
            epoch = request.epoch[partition]
            request.outcome[partition] = outcome_of(s, request.broker, partition, epoch)
            if is_hinted(s, c, request.broker, partition, epoch):
                request.hinted = bits.with_member(request.hinted, partition)
    from_leader = b.cache if c.hint_from == HintFrom.CACHE else b.replica
    from_epoch = b.cache if c.hint_from in (HintFrom.CACHE, HintFrom.BOTH) else b.replica
    finish_answer(s, c, from_leader, from_epoch)


def has_lost_replicas(s: State, c: C, request: Request) -> bool:
    """Return whether the broker leads none of the requested partitions, and may therefore have lost their replicas."""
    image = s.image[s.broker[request.broker].replica]
    return all(
        image.partition[partition].leader != request.broker
        for partition in range(c.partitions)
        if bits.contains(request.partitions, partition)
    )


@action()
def broker_answers_after_reassignment(s: State, c: C) -> None:
    """A broker without a replica returns NOT_LEADER_OR_FOLLOWER, with a hint from its metadata cache (KIP-951)."""
    request = s.request
    require(c.hint_from == HintFrom.EITHER)
    require(request.stage == Stage.SENT)
    require(may_answer(s, request.broker), bound=C.lagging_brokers)
    require(has_lost_replicas(s, c, request))
    cache = s.broker[request.broker].cache
    for partition in range(c.partitions):
        if bits.contains(request.partitions, partition):
            request.outcome[partition] = Outcome.NOT_LEADER
            if c.hints and request.broker < c.brokers - c.silent_brokers:
                request.hinted = bits.with_member(request.hinted, partition)
    finish_answer(s, c, cache, cache)


@action()
def broker_answers_refresh(s: State, c: C) -> None:
    """A broker answers a metadata request from its cache."""
    refresh = s.refresh
    require(refresh.stage == Stage.SENT)
    require(may_answer(s, refresh.broker), bound=C.lagging_brokers)
    cache = s.broker[refresh.broker].cache
    refresh.image = cache
    refresh.is_old = refresh.broker >= c.brokers - c.old_brokers
    if cache < s.newest:
        takes_old_answer(s, refresh.broker)
    refresh.broker = 0
    refresh.stage = Stage.ANSWERED
