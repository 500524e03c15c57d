"""Scripted brokers on loopback addresses. The cluster determines their answers, and the history their timing."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

from fencepost.kafka.clients import wire
from fencepost.kafka.clients.events import NOBODY, Event
from fencepost.kafka.clients.world import TOPIC, World, topic_id

POLL = 0.015
"""Seconds for which a fetch waits for new records."""
LATEST = -1


class Plot(Protocol):
    """The part of a play that decides when requests are answered."""

    world: World

    def note(self, event: Event) -> None: ...

    def now(self) -> float: ...

    def arrived(self, request: "Request") -> None: ...

    def tell(self, told: list[Event], at: float) -> None: ...


class Request:
    def __init__(self, connection: "Connection", message: wire.Message) -> None:
        self.connection, self.message, self.broker = connection, message, connection.broker
        self.is_data = message.api in (wire.PRODUCE, wire.FETCH)
        self.built: bytes | None = None
        self.told: list[Event] = []
        self.is_sent = False

    @property
    def is_lost(self) -> bool:
        return self.connection.transport is None or self.connection.transport.is_closing()

    def build(self) -> None:
        if self.built is None:
            values, self.told = answers(self.connection.plot, self.broker, self.message)
            self.built = wire.answer(self.message, values)

    def send(self) -> None:
        if not self.is_sent:
            self.build()
            self.is_sent = True
            plot = self.connection.plot
            if plot.world.take("connection_dies", self.broker):
                self.connection.close()
            if self.broker in plot.world.silent:
                self.connection.read_on()
                return
            if not self.is_lost:
                at = plot.now()
                plot.tell([replace(event, at=at) for event in self.told], at)
                assert self.built is not None
                self.connection.answer(self.built)


class Connection(asyncio.Protocol):
    """A client's connection to a broker. Like Kafka's brokers, it processes one request at a time."""

    def __init__(self, plot: Plot, broker: int, opened: "Callable[[Connection], None]") -> None:
        self.plot, self.broker, self.opened = plot, broker, opened
        self.transport: asyncio.Transport | None = None
        self.buffer = bytearray()
        self.is_busy = False
        self.since = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.since = self.plot.now()
        self.opened(self)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        self._next()

    def _next(self) -> None:
        while not self.is_busy and len(self.buffer) >= 4:
            size = int.from_bytes(self.buffer[:4], "big")
            if len(self.buffer) < 4 + size:
                return
            frame = bytes(self.buffer[4 : 4 + size])
            del self.buffer[: 4 + size]
            self.is_busy = True
            self._handle(wire.read_request(frame))

    def _handle(self, message: wire.Message) -> None:
        if message.body is None:
            if message.api == wire.API_VERSIONS:
                older = wire.Message(wire.API_VERSIONS, 0, message.correlation, None)
                self.answer(wire.answer(older, wire.versions(wire.UNSUPPORTED)))
            elif self.transport is not None:
                self.transport.close()
            return
        note_requests(self.plot, self, message)
        if message.api in (wire.PRODUCE, wire.FETCH, wire.METADATA, wire.OFFSET_FOR_LEADER_EPOCH):
            self.plot.arrived(Request(self, message))
        else:
            Request(self, message).send()

    def answer(self, data: bytes) -> None:
        """Write an answer and process the next request. If that request has already arrived, its `since` must show that
        it was sent before the client could read this answer.
        """
        assert self.transport is not None
        self.transport.write(data)
        if not self.buffer:
            self.since = self.plot.now()
        self.read_on()

    def read_on(self) -> None:
        self.is_busy = False
        asyncio.get_running_loop().call_soon(self._next)

    def close(self) -> None:
        if self.transport is not None:
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 (as asyncio calls it)
        self.transport = None


def note_requests(plot: Plot, connection: Connection, message: wire.Message) -> None:
    broker, body = connection.broker, message.body
    at, since = plot.now(), connection.since

    def note(
        api: str, partition: int, epoch: int = NOBODY, offset: int = NOBODY, fetched: int = NOBODY, **more: Any
    ) -> None:
        more |= {"epoch": epoch, "offset": offset, "fetched": fetched, "since": since}
        plot.note(Event("request", at, api, broker, partition, **more))

    if message.api == wire.METADATA:
        note("metadata", NOBODY)
    elif message.api == wire.PRODUCE:
        for partition, values, numbers in produced(body):
            by = f"{numbers.producer}/{numbers.epoch}" if numbers.producer != NOBODY else ""
            note("produce", partition, value=" ".join(values), producer=by, sequence=numbers.sequence)
    elif message.api == wire.FETCH:
        for partition, _, item in fetched_partitions(body):
            known = getattr(item, "last_fetched_epoch", NOBODY)
            note("fetch", partition, getattr(item, "current_leader_epoch", NOBODY), item.fetch_offset, known)
    for item in (one for topic in getattr(body, "topics", None) or () for one in getattr(topic, "partitions", ())):
        epoch = getattr(item, "current_leader_epoch", NOBODY)
        if message.api == wire.OFFSET_FOR_LEADER_EPOCH:
            note("validate", item.partition, epoch, fetched=item.leader_epoch)
        elif message.api == wire.OFFSET_COMMIT:
            note("commit", item.partition_index, getattr(item, "committed_leader_epoch", NOBODY), item.committed_offset)
        elif message.api == wire.LIST_OFFSETS:
            note("list", item.partition_index, epoch)


def produced(body: Any) -> list[tuple[int, list[str], wire.Numbers]]:
    return [
        (item.index, [one.value for one in wire.records(item.records)], wire.numbers_of(item.records))
        for topic in body.topic_data
        for item in topic.partition_data
    ]


def fetched_partitions(body: Any) -> list[tuple[int, Any, Any]]:
    pairs = ((topic, item) for topic in body.topics for item in topic.partitions)
    return [(item.partition, getattr(topic, "topic_id", None), item) for topic, item in pairs]


def answers(plot: Plot, broker: int, message: wire.Message) -> tuple[dict[str, Any], list[Event]]:
    world = plot.world
    base: dict[str, Any] = {"throttle_time": wire.NO_TIME, "error_code": wire.NONE}
    if message.api == wire.API_VERSIONS:
        return wire.versions(has_groups=world.has_groups), []
    if message.api == wire.METADATA:
        return _metadata(world, broker, message, base)
    if message.api in (wire.PRODUCE, wire.FETCH):
        return _data(world, broker, message, base)
    if message.api == wire.FIND_COORDINATOR:
        return base | _coordinator(world, broker, message), []
    if message.api in (wire.OFFSET_COMMIT, wire.OFFSET_FETCH):
        return base | {"topics": _committed(world, message)}, []
    if message.api == wire.INIT_PRODUCER_ID:
        world.producers += 1
        return base | {"producer_id": world.producers, "producer_epoch": 0}, []
    topics, events = _offsets(world, broker, message)
    return base | {"topics": topics}, events


def _metadata(
    world: World, broker: int, message: wire.Message, base: dict[str, Any]
) -> tuple[dict[str, Any], list[Event]]:
    where, told = world.metadata(broker)
    partitions: list[dict[str, Any]] = []
    events: list[Event] = []
    topic = told[0][1].topic if told else world.view(0, world.s.broker[broker].cache).topic
    omitted = set(range(world.c.partitions)) - {partition for partition, _, _ in told}
    events += [Event("omitted", 0, "metadata", broker, partition) for partition in omitted]
    everyone = list(range(world.c.brokers))
    failed = world.take("topic_has_error")
    error = failed.args[0] if failed else wire.NONE
    for partition, view, epoch in told:
        leader = (view.leader + 1) % world.c.brokers if failed and view.leader != NOBODY else view.leader
        row = {"error_code": view.error, "partition_index": partition, "leader_id": leader, "leader_epoch": epoch}
        partitions.append({**row, "replica_nodes": everyone, "isr_nodes": everyone, "offline_replicas": []})
        epoch_told = epoch if message.version >= 7 else NOBODY
        shown = str(error) if failed else ""
        events.append(Event("metadata", 0, "metadata", broker, partition, view.topic, leader, epoch_told, error=shown))
    named = {"error_code": error, "name": TOPIC, "topic_id": topic_id(topic), "is_internal": False}
    brokers = [{"node_id": other, "host": host, "port": port, "rack": None} for other, (host, port) in where.items()]
    asks = message.body.topics is None or message.version == 0 or len(message.body.topics) > 0
    topics = [{**named, "partitions": partitions}] if asks else []
    found = {"brokers": brokers, "cluster_id": "fencepost", "controller_id": min(where), "topics": topics}
    return base | found, events if asks else []


def _data(world: World, broker: int, message: wire.Message, base: dict[str, Any]) -> tuple[dict[str, Any], list[Event]]:
    identity, is_fetch = None, message.api == wire.FETCH
    if is_fetch:
        asked = fetched_partitions(message.body)
        rack = bool(getattr(message.body, "rack_id", ""))
        found = [world.fetch(broker, place, item, given, has_rack=rack) for place, given, item in asked]
        identity = asked[0][1] if asked else None
    else:
        found = [world.produce(broker, *one) for one in produced(message.body)]
    cache, api = world.s.broker[broker].cache, "fetch" if is_fetch else "produce"
    where = {item.leader: world.endpoint(item.leader, cache) for item in found if item.leader != NOBODY}
    where = {leader: at for leader, at in where.items() if at and world.c.hint_endpoints}
    rows, events = [], []
    for item in found:
        row: dict[str, Any] = {
            "index": item.partition, "partition_index": item.partition, "error_code": item.error,
            "base_offset": item.base, "log_start_offset": item.start, "record_errors": [], "high_watermark": item.end,
            "last_stable_offset": item.end, "aborted_transactions": None, "preferred_read_replica": item.preferred,
            "records": b"".join(wire.batch(offset, one.epoch, one.value) for offset, one in item.records),
        }  # fmt: skip
        about = api, broker, item.partition, item.topic
        shown = "" if item.error == wire.NONE else str(item.error)
        offset, epoch = (item.records[0][0], item.records[0][1].epoch) if item.records else (item.base, NOBODY)
        events.append(Event("answer", 0, *about, epoch=epoch, offset=offset, error=shown))
        if item.preferred != NOBODY:
            events.append(Event("preferred", 0, *about, item.preferred))
        if item.leader != NOBODY or item.epoch != NOBODY:
            row["current_leader"] = {"leader_id": item.leader, "leader_epoch": item.epoch}
            named = message.version >= (16 if is_fetch else 10) and item.leader in where
            events.append(Event("hint", 0, *about, item.leader, item.epoch, named=named))
        if item.diverging:
            row["diverging_epoch"] = {"epoch": item.diverging[0], "end_offset": item.diverging[1]}
        rows.append(row)
    nodes = [{"node_id": leader, "host": at[0], "port": at[1], "rack": None} for leader, at in where.items() if at]
    topics = [{"name": TOPIC, "topic": TOPIC, "topic_id": identity, "partition_responses": rows, "partitions": rows}]
    return base | {"responses": topics if rows else [], "node_endpoints": nodes}, events


def _coordinator(world: World, broker: int, message: wire.Message) -> dict[str, Any]:
    where = world.endpoint(broker, world.s.newest) if world.has_groups else None
    host, port = where or ("", -1)
    named = {"node_id": broker if where else -1, "host": host, "port": port, "error_message": None}
    named["error_code"] = wire.NONE if where else wire.NO_COORDINATOR
    keys = getattr(message.body, "coordinator_keys", ())
    return {**named, "coordinators": [{**named, "key": key} for key in keys]}


def _committed(world: World, message: wire.Message) -> list[dict[str, Any]]:
    rows = []
    for topic in message.body.topics or ():
        for item in getattr(topic, "partitions", None) or topic.partition_indexes:
            if message.api == wire.OFFSET_COMMIT:
                epoch = getattr(item, "committed_leader_epoch", NOBODY)
                world.committed[item.partition_index] = item.committed_offset, epoch
            partition = item.partition_index if message.api == wire.OFFSET_COMMIT else item
            offset, epoch = world.committed.get(partition, (NOBODY, NOBODY))
            row = {"committed_offset": offset, "committed_leader_epoch": epoch, "metadata": ""}
            rows.append({"partition_index": partition, "error_code": wire.NONE, **row})
    return [{"name": TOPIC, "partitions": rows}]


def _offsets(world: World, broker: int, message: wire.Message) -> tuple[list[dict[str, Any]], list[Event]]:
    topics, events = [], []
    for topic in message.body.topics:
        rows = []
        for item in topic.partitions:
            partition = item.partition_index if message.api == wire.LIST_OFFSETS else item.partition
            error = world.outcome(broker, partition, getattr(item, "current_leader_epoch", NOBODY))
            if message.api == wire.OFFSET_FOR_LEADER_EPOCH:
                if failed := world.take("validation_fails", partition):
                    error = failed.args[1]
                shown = str(error) if error else ""
                events.append(Event("answer", 0, "validate", broker, partition, error=shown))
            row: dict[str, Any] = {"error_code": error, "partition": partition, "partition_index": partition}
            if error == wire.NONE:
                log = world.log(broker, partition)
                if message.api == wire.LIST_OFFSETS:
                    end = len(log) if item.timestamp == LATEST else world.starts.get(partition, 0)
                    row |= {"offset": end, "timestamp": -1, "leader_epoch": NOBODY}
                else:
                    row["leader_epoch"], row["end_offset"] = world.end_of(log, item.leader_epoch)
            elif message.api == wire.OFFSET_FOR_LEADER_EPOCH:
                row |= {"leader_epoch": NOBODY, "end_offset": NOBODY}
            rows.append(row)
        topics.append({"name": TOPIC, "topic": TOPIC, "partitions": rows})
    return topics, events
