"""The client's steps: send, learn leaders from hints and metadata, and retry immediately or after the backoff."""

from fencepost.model.clients.discovery.constants import C, Endpoints, SkipsBackoff
from fencepost.model.clients.discovery.leadership import accepts_hint, accepts_metadata
from fencepost.model.clients.discovery.state import (
    Broker,
    Image,
    Known,
    Leader,
    Outcome,
    Partition,
    Stage,
    State,
    Work,
    clear_refresh,
    clear_request,
    may_answer,
    newest,
    takes_old_answer,
)
from fencepost.model.language import NONE, action, bits, require


def is_reachable(s: State, broker: int) -> bool:
    """Return whether the client knows the broker's current endpoint."""
    return s.endpoint[broker] != NONE and s.endpoint[broker] == newest(s).endpoint[broker]


def may_send(s: State, c: C, partition: int, broker: int) -> bool:
    """Return whether the client has a request for the partition and must send it to this broker."""
    known = s.known[partition]
    is_ready = known.work == Work.READY and known.leader == broker
    return is_ready and (known.is_validated or not c.consumer or not c.validates_position)


@action(broker=Broker)
def client_sends_request(s: State, c: C, broker: int) -> None:
    """The client sends its pending requests for all partitions that it believes this broker leads."""
    require(s.request.stage == Stage.NONE)
    require(any(may_send(s, c, partition, broker) for partition in range(c.partitions)))
    require(is_reachable(s, broker))
    s.request.stage = Stage.SENT
    s.request.broker = broker
    for partition in range(c.partitions):
        known = s.known[partition]
        if may_send(s, c, partition, broker):
            s.request.partitions = bits.with_member(s.request.partitions, partition)
            s.request.epoch[partition] = known.epoch if c.consumer else NONE
            known.work = Work.SENT
            known.attempt = known.epoch
            known.ghost_waited = False


@action(broker=Broker)
def client_cannot_connect(s: State, c: C, broker: int) -> None:
    """The leader is unknown or is no longer at the endpoint that the client knows, so the client requests metadata."""
    require(s.request.stage == Stage.NONE)
    require(any(may_send(s, c, partition, broker) for partition in range(c.partitions)))
    require(not is_reachable(s, broker))
    for partition in range(c.partitions):
        if may_send(s, c, partition, broker):
            s.known[partition].work = Work.BACKOFF
    s.wants_refresh = True


@action(partition=Partition)
def backoff_ends(s: State, c: C, partition: int) -> None:
    """The retry backoff for a partition's batch ends, before or after a metadata refresh (`refresh_in_time`)."""
    known = s.known[partition]
    require(known.work == Work.BACKOFF)
    require(not c.refresh_in_time or (not s.wants_refresh and s.refresh.stage == Stage.NONE))
    known.work = Work.READY
    known.ghost_waited = True


@action(partition=Partition)
def client_has_more(s: State, c: C, partition: int) -> None:
    """The application produces or consumes more records."""
    known = s.known[partition]
    require(known.work == Work.DONE)
    known.work = Work.READY


def hinted_leader(s: State, partition: int) -> int:
    """Return the leader that the response names."""
    return s.image[s.request.from_leader].partition[partition].leader


def hinted_epoch(s: State, partition: int) -> int:
    """Return the leader epoch that the response names."""
    return s.image[s.request.from_epoch].partition[partition].epoch


def hinted_topic(s: State, partition: int) -> int:
    """Return the topic incarnation that a hint names, or NONE if the hint has no topic id."""
    return s.image[s.request.from_leader].partition[partition].topic


def is_hint_accepted(s: State, c: C, partition: int) -> bool:
    """Return whether the client adopts the leader in a hint: its epoch is acceptable and its endpoint is known."""
    if not bits.contains(s.request.hinted, partition):
        return False
    known, leader = s.known[partition], hinted_leader(s, partition)
    return (
        accepts_hint(c.accepts, known.epoch, known.leader, hinted_epoch(s, partition), leader)
        and ((c.hint_endpoints and s.image[s.request.cache].endpoint[leader] != NONE) or s.endpoint[leader] != NONE)
        and (not c.hint_topic_id or hinted_topic(s, partition) == known.topic)
    )


def accepted_hints(s: State, c: C) -> int:
    """Return the set of partitions whose hints the client accepts."""
    return sum(bits.only(partition) for partition in range(c.partitions) if is_hint_accepted(s, c, partition))


def follow(known: Known, c: C, topic: int, leader: int, epoch: int) -> None:
    """Adopt a leader. A consumer must then validate its position against the leader."""
    if c.consumer and (known.leader != leader or known.epoch != epoch or known.topic != topic):
        known.is_validated = False
    if known.topic != topic:
        known.attempt = NONE
        known.ghost_epoch = 0
    known.topic = topic
    known.leader = leader
    known.epoch = epoch
    known.ghost_epoch = max(known.ghost_epoch, epoch)


def takes_endpoint(s: State, c: C, broker: int, endpoint: int) -> bool:
    """Return whether an endpoint in a hint replaces the client's endpoint."""
    return c.hint_endpoints and endpoint != NONE and (c.endpoints != Endpoints.NEWER or endpoint > s.endpoint[broker])


def has_newer_epoch(known: Known) -> bool:
    """ProducerBatch.hasLeaderChangedForTheOngoingRetry: the leader epoch differs from the last attempt's."""
    return known.attempt != NONE and known.epoch not in (NONE, known.attempt)


@action()
def client_receives_response(s: State, c: C) -> None:
    """The client adopts the hints that it accepts, requests metadata, and retries failed partitions (KIP-951)."""
    request = s.request
    require(request.stage == Stage.ANSWERED)
    accepted = accepted_hints(s, c)
    image = s.image[request.cache]
    for partition in range(c.partitions):
        if bits.contains(request.hinted, partition) and accepted != 0:
            leader = hinted_leader(s, partition)
            is_taken = c.endpoints != Endpoints.ACCEPTED or bits.contains(accepted, partition)
            if is_taken and takes_endpoint(s, c, leader, image.endpoint[leader]):
                s.endpoint[leader] = image.endpoint[leader]
    for partition in range(c.partitions):
        known = s.known[partition]
        if bits.contains(accepted, partition):
            follow(known, c, known.topic, hinted_leader(s, partition), hinted_epoch(s, partition))
    for partition in range(c.partitions):
        if bits.contains(request.partitions, partition):
            finish_attempt(s, c, partition, accepted)
    clear_request(c, request)


def finish_attempt(s: State, c: C, partition: int, accepted: int) -> None:
    """Record one partition's result: the request is complete, or will be resent, immediately or after the backoff."""
    known = s.known[partition]
    if s.request.outcome[partition] == Outcome.SUCCESS:
        known.work = Work.DONE
        known.attempt = NONE
        return
    is_news = accepted != 0 if c.skips_backoff == SkipsBackoff.ANY_NEWS else has_newer_epoch(known)
    known.work = Work.READY if is_news and c.skips_backoff != SkipsBackoff.NEVER else Work.BACKOFF
    if c.refreshes_after_hint or not bits.contains(accepted, partition):
        s.wants_refresh = True


def ask_for_metadata(s: State, broker: int, partitions: int) -> None:
    """Send a metadata request."""
    s.refresh.stage = Stage.SENT
    s.refresh.broker = broker
    s.refresh.partitions = partitions


@action(broker=Broker)
def client_refreshes(s: State, c: C, broker: int) -> None:
    """The client requests the metadata of all its topics from a broker that it can reach."""
    require(s.wants_refresh)
    require(s.refresh.stage == Stage.NONE)
    require(is_reachable(s, broker))
    ask_for_metadata(s, broker, bits.everyone(c.partitions))
    s.wants_refresh = False


@action(broker=Broker, partition=Partition)
def client_refreshes_one_topic(s: State, c: C, broker: int, partition: int) -> None:
    """The client requests the metadata of one topic: a new topic, or one whose metadata is too old."""
    require(c.partial_refresh)
    require(s.refresh.stage == Stage.NONE)
    require(is_reachable(s, broker))
    ask_for_metadata(s, broker, bits.only(partition))


@action(broker=Broker)
def client_bootstraps_again(s: State, c: C, broker: int) -> None:
    """A client that can reach none of its known brokers contacts one of its bootstrap addresses (KIP-899)."""
    require(c.rebootstraps)
    require(s.wants_refresh)
    require(s.refresh.stage == Stage.NONE)
    require(s.broker[broker].is_up)
    require(not any(is_reachable(s, other) for other in range(c.brokers)))
    ask_for_metadata(s, broker, bits.everyone(c.partitions))
    s.wants_refresh = False


def advertised_epoch(c: C, leader: Leader) -> int:
    """Return the leader epoch in a metadata response, which may be outdated (KAFKA-9212)."""
    return leader.epoch - 1 if c.metadata_epoch_stale and leader.epoch > 0 else leader.epoch


def is_taken(s: State, c: C, partition: int) -> bool:
    """Return whether the metadata response replaces what the client knows about a partition."""
    known, told = s.known[partition], s.image[s.refresh.image].partition[partition]
    is_other_topic = 1 if c.topic_id_check and told.topic != known.topic else 0
    return bits.contains(s.refresh.partitions, partition) and (
        s.refresh.is_old
        or not c.metadata_epoch_check
        or accepts_metadata(known.epoch, advertised_epoch(c, told), is_other_topic)
    )


def keeps_endpoint(s: State, c: C, broker: int, image: Image) -> bool:
    """Return whether the client keeps its endpoint even if the metadata response omits it or names another one."""
    if c.endpoints == Endpoints.NEWER and image.endpoint[broker] != NONE:
        return image.endpoint[broker] < s.endpoint[broker]
    return (
        c.keeps_leader_endpoint and image.endpoint[broker] == NONE and any(known.leader == broker for known in s.known)
    )


@action()
def client_applies_metadata(s: State, c: C) -> None:
    """The client adopts all endpoints, and every leader whose epoch is not older than the epoch that the client knows.

    Metadata.handleMetadataResponse: the brokers in the response replace the known ones.
    """
    require(s.refresh.stage == Stage.ANSWERED)
    image = s.image[s.refresh.image]
    for partition in range(c.partitions):
        known, told = s.known[partition], image.partition[partition]
        was_epoch = known.epoch
        if is_taken(s, c, partition):
            follow(known, c, told.topic, told.leader, NONE if s.refresh.is_old else advertised_epoch(c, told))
            is_news = known.epoch != was_epoch and has_newer_epoch(known)
            if known.work == Work.BACKOFF and c.skips_backoff != SkipsBackoff.NEVER and is_news:
                known.work = Work.READY
    for broker in range(c.brokers):
        if not keeps_endpoint(s, c, broker, image):
            s.endpoint[broker] = image.endpoint[broker]
    clear_refresh(s.refresh)


@action(partition=Partition)
def client_validates_position(s: State, c: C, partition: int) -> None:
    """A consumer compares its position with the leader's log, and learns the result immediately (KIP-320)."""
    known = s.known[partition]
    own = s.image[s.broker[known.leader].replica].partition[partition]
    require(c.consumer)
    require(c.validates_position)
    require(not known.is_validated)
    require(known.work != Work.BACKOFF)
    require(is_reachable(s, known.leader))
    require(may_answer(s, known.leader), bound=C.lagging_brokers)
    require(own.leader == known.leader)
    require(known.epoch in (NONE, own.epoch))
    known.is_validated = True


@action(partition=Partition)
def client_fails_to_validate(s: State, c: C, partition: int) -> None:
    """A consumer cannot validate its position: the known leader is unreachable or does not lead in the known epoch.

    The consumer requests metadata, and retries after the retry backoff (OffsetsForLeaderEpochClient).
    """
    known = s.known[partition]
    replica = s.broker[known.leader].replica
    own = s.image[replica].partition[partition]
    is_right = own.leader == known.leader and known.epoch in (NONE, own.epoch)
    is_there = is_reachable(s, known.leader)
    require(c.consumer)
    require(c.validates_position)
    require(not known.is_validated)
    require(not is_there or (not is_right and may_answer(s, known.leader)))
    require(not s.wants_refresh)
    require(known.work != Work.BACKOFF)
    if known.work == Work.READY:
        known.work = Work.BACKOFF
    if is_there and replica < s.newest:
        takes_old_answer(s, known.leader)
    s.wants_refresh = True
