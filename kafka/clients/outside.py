"""Requests to the brokers of a user's cluster. The answers are compared with the model's.

The requests use a topic that is created for this purpose, with a prefix, and deleted at the end. No broker is stopped:
to move the leader, a reassignment changes the order of the replicas, and a preferred election follows.
"""

import datetime as dt
import socket
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, NamedTuple

from fencepost.kafka.clients import wire
from fencepost.kafka.clients.events import NOBODY
from fencepost.model.cluster.log import departs, end_offset_epoch, start_above
from fencepost.model.language.errors import UsageError

PREFIX = "fencepost-conform-"
CREATE, DELETE, ELECT, REASSIGN = 19, 20, 43, 45
VERSIONS = {CREATE: 5, DELETE: 4, ELECT: 2, REASSIGN: 0, wire.METADATA: 12, wire.PRODUCE: 9}
FETCH_BY_NAME, FETCH_WITH_HINTS, PRODUCE_WITH_HINTS = 12, 16, 10
SECONDS = 10.0
"""Seconds to wait for an answer or for the cluster to make a change."""
FIRST_SECONDS = 3.0
"""Seconds to wait for the first answer: the address may not belong to a broker."""
MOST_BYTES = 1 << 28
"""A larger answer is not from Kafka: other protocols start with text, which, read as a size, is a larger number."""
PLAIN = "write the address of a broker's PLAINTEXT listener, and check that the broker is running"
LOOPBACK = ("127.", "::1")
REPLICAS, RECORDS = 3, 2


class Said(NamedTuple):
    """The part of an answer that is compared: an error and two numbers, whose meaning depends on the request."""

    error: int
    first: int = NOBODY
    second: int = NOBODY

    def __str__(self) -> str:
        return f"error {self.error}" if self.error else f"{self.first}, {self.second}"


@dataclass(frozen=True)
class Question:
    """A request that tests whether a broker follows a rule, with the expected and the actual answer."""

    rule: str
    text: str
    expected: Said
    answer: Said
    leads: bool = True


RULES = {
    "epochs-end-where-they-do": "OffsetForLeaderEpoch returns the largest epoch that does not exceed the requested "
    "one, and its end offset (KIP-101)",
    "unknown-epochs-have-no-end": "for epochs newer than the leader's, OffsetForLeaderEpoch returns -1, -1 (KIP-320)",
    "only-leaders-answer": "other brokers answer OffsetForLeaderEpoch with NOT_LEADER_OR_FOLLOWER (KIP-320)",
    "epochs-are-compared": "a wrong leader epoch gets FENCED_LEADER_EPOCH or UNKNOWN_LEADER_EPOCH (KIP-320)",
    "divergence-is-reported": "a fetch beyond the end of its last fetched epoch is answered with that end (KIP-595)",
    "out-of-range-is-an-error": "a fetch outside the log gets OFFSET_OUT_OF_RANGE",
    "errors-carry-hints": "FENCED_LEADER_EPOCH and NOT_LEADER_OR_FOLLOWER errors include the leader and its epoch "
    "(KIP-951)",
    "followers-name-no-replica": "only the leader names a preferred replica (KIP-392, KAFKA-13778)",
    "every-answer-names-the-replica": "incremental fetch answers also name the preferred replica (KIP-392)",
}
Mistake = tuple[str, "Callable[[Question, Said], Said]"]
MISTAKES: dict[str, Mistake] = {
    "a broker that is not the leader answers (redpanda#5435)": ("only-leaders-answer", lambda _, end: end),
    "unknown epochs get the log end offset (redpanda#11864)": ("unknown-epochs-have-no-end", lambda _, end: end),
    "old epochs get the log end offset (redpanda#12063)":
        ("epochs-end-where-they-do", lambda item, end: item.answer._replace(second=end.second)),
    "end offsets come from an older snapshot (AutoMQ#2863)":
        ("epochs-end-where-they-do",
         lambda item, end: item.answer._replace(second=min(item.answer.second, end.second - RECORDS))),
    "the last fetched epoch is ignored (redpanda#17674)": ("divergence-is-reported", lambda *_: Said(wire.NONE)),
    "leader epochs are ignored": ("epochs-are-compared", lambda *_: Said(wire.NONE)),
    "fetches beyond the log end wait for records": ("out-of-range-is-an-error", lambda *_: Said(wire.NONE)),
    "leader hints are missing": ("errors-carry-hints", lambda item, _: Said(item.answer.error)),
    "incremental answers omit the preferred replica (redpanda#11767)":
        ("every-answer-names-the-replica", lambda *_: Said(wire.NONE)),
    "a follower names a preferred replica (KAFKA-13778)":
        ("followers-name-no-replica", lambda item, _: item.answer._replace(first=0)),
}  # fmt: skip
"""Mistakes of brokers, each with the rule that must detect it and a function that plants it in a correct answer."""


def addresses(servers: str) -> list[tuple[str, int]]:
    found = []
    for text in servers.split(","):
        host, _, port = text.strip().rpartition(":")
        if not host or not port.isdigit() or not 0 < int(port) < 65_536:
            raise UsageError(f"`bootstrap_server=` was given {text!r}: write HOST:PORT, such as 127.0.0.1:9092.")
        found.append((host.strip("[]"), int(port)))
    return found


class Brokers:
    def __init__(self, servers: str, *, anywhere: bool) -> None:
        self.anywhere, self.number = anywhere, 0
        self.seeds = [self._allowed(*at) for at in addresses(servers)]
        self.topic = PREFIX + uuid.uuid4().hex[:12]
        self.where: dict[int, tuple[str, int]] = {}
        offered = self.call(self.seeds[0], wire.API_VERSIONS, 0, {}, FIRST_SECONDS)
        self.offered = {int(item.api_key): int(item.max_version) for item in offered.api_keys}
        known = self.metadata(topics=[]).brokers
        self.where = {item.node_id: self._allowed(item.host, item.port) for item in known}
        self.racks = sorted({item.rack for item in known if item.rack}) or ["fencepost"]

    def _allowed(self, host: str, port: int) -> tuple[str, int]:
        try:
            found = {str(item[4][0]) for item in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)}
        except OSError as error:
            raise UsageError(f"{host}:{port} cannot be resolved ({error}).") from error
        if not self.anywhere and not all(address.startswith(LOOPBACK) for address in found):
            raise UsageError(
                f"{host}:{port} is not on this machine, and the test would create a topic there, write to it and "
                "delete it: if you allow this, pass `anywhere=True`."
            )
        return host, port

    def call(
        self, at: tuple[str, int], api: int, version: int, values: dict[str, Any], seconds: float = SECONDS
    ) -> Any:
        self.number += 1
        try:
            with socket.create_connection(at, seconds) as link, link.makefile("rb") as answers:
                link.sendall(wire.request(api, version, self.number, values))
                size = int.from_bytes(answers.read(4), "big")
                frame = answers.read(size) if size < MOST_BYTES else b""
        except OSError as error:
            raise UsageError(f"no Kafka broker answers at {at[0]}:{at[1]} ({error}): {PLAIN}.") from error
        if size >= MOST_BYTES:
            raise UsageError(f"{at[0]}:{at[1]} answers, but not in Kafka's protocol: {PLAIN}.")
        if not size or len(frame) < size:
            raise UsageError(f"the broker at {at[0]}:{at[1]} closed the connection on request {api} version {version}.")
        return wire.read_answer(frame, api, version)

    def metadata(self, topics: list[dict[str, Any]]) -> Any:
        body = {"topics": topics, "allow_auto_topic_creation": False, "include_topic_authorized_operations": False}
        return self.call(self.seeds[0], wire.METADATA, VERSIONS[wire.METADATA], body)

    def administer(self, api: int, values: dict[str, Any]) -> Any:
        return self.call(self.seeds[0], api, VERSIONS[api], {"timeout": dt.timedelta(seconds=SECONDS), **values})

    def partition(self, after: int = NOBODY) -> Any:
        """Wait for a leader in an epoch later than `after`, then return the partition and its topic id."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            told = self.metadata([{"name": self.topic, "topic_id": None}]).topics[0]
            found = told.partitions[0] if told.partitions else None
            if not told.error_code and found and found.leader_id != NOBODY and found.leader_epoch > after:
                self.identity = told.topic_id
                return found
            time.sleep(0.1)
        raise UsageError(f"topic {self.topic} did not get a leader within {SECONDS:g} s.")

    def create(self) -> None:
        replicas = min(REPLICAS, len(self.where))
        row = {"name": self.topic, "num_partitions": 1, "replication_factor": replicas, "assignments": []}
        told = self.administer(CREATE, {"topics": [{**row, "configs": []}], "validate_only": False}).topics[0]
        if told.error_code:
            raise UsageError(f"topic {self.topic} cannot be created: {told.error_message or told.error_code!r}.")

    def remove(self) -> str:
        try:
            told = self.administer(DELETE, {"topic_names": [self.topic]}).responses[0]
        except UsageError as error:
            return str(error).rstrip(".")
        return f"error {int(told.error_code)}" if told.error_code else ""

    def move(self, found: Any) -> None:
        order = [*found.replica_nodes[1:], found.replica_nodes[0]]
        rows = [{"name": self.topic, "partitions": [{"partition_index": 0, "replicas": order}]}]
        self.administer(REASSIGN, {"topics": rows})
        time.sleep(0.5)  # no answer reports when the order of replicas is applied
        named = [{"topic": self.topic, "partitions": [0]}]
        self.administer(ELECT, {"election_type": 0, "topic_partitions": named})

    def write(self, leader: int) -> None:
        """Wait until the broker knows that it is the leader, then write records."""
        end, written = time.monotonic() + SECONDS, 0
        while written < RECORDS:
            written += not self.produce(leader).responses[0].partition_responses[0].error_code
            if time.monotonic() > end:
                raise UsageError(f"broker {leader} accepted no record within {SECONDS:g} s.")

    def produce(self, broker: int, version: int = VERSIONS[wire.PRODUCE]) -> Any:
        rows = [{"index": 0, "records": wire.batch(0, NOBODY, "fencepost")}]
        body = {"acks": -1, "timeout": dt.timedelta(seconds=SECONDS), "transactional_id": None}
        body["topic_data"] = [{"name": self.topic, "partition_data": rows}]
        return self.call(self.where[broker], wire.PRODUCE, version, body)

    def fetch(self, broker: int, offset: int, epoch: int, fetched: int = NOBODY, **more: Any) -> Any:
        return self.fetch_all(broker, offset, epoch, fetched, **more).responses[0].partitions[0]

    def fetch_all(
        self, broker: int, offset: int, epoch: int, fetched: int = NOBODY, version: int = FETCH_BY_NAME, **more: Any
    ) -> Any:
        row: dict[str, Any] = {"partition": 0, "current_leader_epoch": epoch, "fetch_offset": offset}
        row |= {"last_fetched_epoch": fetched, "partition_max_bytes": 1 << 20, "log_start_offset": NOBODY}
        row["replica_directory_id"] = None
        body = {"max_wait": wire.NO_TIME, "min_bytes": 0, "session_epoch": -1, "forgotten_topics_data": []}
        topics = [{"topic": self.topic, "topic_id": self.identity, "partitions": [row]}]
        return self.call(self.where[broker], wire.FETCH, version, {**body, "topics": topics, **more})

    def end_of(self, broker: int, epoch: int, asked: int) -> Said:
        row = {"partition": 0, "current_leader_epoch": epoch, "leader_epoch": asked}
        body = {"replica_id": -1, "topics": [{"topic": self.topic, "partitions": [row]}]}
        found = self.call(self.where[broker], wire.OFFSET_FOR_LEADER_EPOCH, 4, body).topics[0].partitions[0]
        return Said(int(found.error_code), found.leader_epoch, found.end_offset)


def questions(cluster: Brokers) -> Iterator[Question]:
    found = cluster.partition()
    for _ in range(2 if len(found.replica_nodes) > 1 else 0):
        cluster.write(found.leader_id)
        cluster.move(found)
        found = cluster.partition(after=found.leader_epoch)
    cluster.write(found.leader_id)
    leader, epoch = found.leader_id, found.leader_epoch
    others = [node for node in found.replica_nodes if node != leader]
    log: Any = SimpleNamespace(log=[], end=0, start=0)
    until = time.monotonic() + SECONDS
    while log.end < RECORDS * (3 if others else 1):  # a new leader serves records once others have copied them
        log.log += wire.records(cluster.fetch(leader, log.end, epoch).records)
        log.end = len(log.log)
        if time.monotonic() > until:
            raise UsageError(f"broker {leader} returned only {log.end} records within {SECONDS:g} s.")
    for asked in range(epoch + 1):
        expected = Said(wire.NONE, end_offset_epoch(log, epoch, asked), start_above(log, asked))
        text = f"end of epoch {asked}, requested with leader epoch {epoch}"
        yield Question("epochs-end-where-they-do", text, expected, cluster.end_of(leader, epoch, asked))
    answer = cluster.end_of(leader, epoch, epoch + 1)
    yield Question("unknown-epochs-have-no-end", f"end of epoch {epoch + 1}", Said(wire.NONE), answer)
    for other in others:
        answer = cluster.end_of(other, epoch, epoch)
        expected = Said(wire.NOT_LEADER)
        text = f"end of epoch {epoch}, requested from broker {other}"
        yield Question("only-leaders-answer", text, expected, answer, leads=False)
    for asked, error in [(epoch - 1, wire.FENCED_EPOCH)] * (epoch > 0) + [(epoch + 1, wire.UNKNOWN_EPOCH)]:
        answer = cluster.end_of(leader, asked, epoch)
        yield Question("epochs-are-compared", f"an end offset in epoch {asked}", Said(error), answer)
        told = cluster.fetch(leader, 0, asked)
        yield Question("epochs-are-compared", f"a fetch in epoch {asked}", Said(error), Said(int(told.error_code)))
    yield from _fetches(cluster, leader, epoch, others, log)


def _fetches(cluster: Brokers, leader: int, epoch: int, others: list[int], log: Any) -> Iterator[Question]:
    for asked in sorted({item.epoch for item in log.log}):
        for offset in range(log.end + 1):
            told = cluster.fetch(leader, offset, epoch, asked)
            answer = Said(int(told.error_code), told.diverging_epoch.epoch, told.diverging_epoch.end_offset)
            is_other = departs(log, epoch, offset, asked)
            end = Said(wire.NONE, end_offset_epoch(log, epoch, asked), start_above(log, asked))
            text = f"a fetch at offset {offset} with last fetched epoch {asked}"
            yield Question("divergence-is-reported", text, end if is_other else Said(wire.NONE), answer)
    for offset in (-5, log.end + 1):
        told = cluster.fetch(leader, offset, epoch)
        text = f"a fetch at offset {offset}, outside the log, which ends at {log.end}"
        yield Question("out-of-range-is-an-error", text, Said(wire.OUT_OF_RANGE), Said(int(told.error_code)))
    for rack in cluster.racks:
        for other in others:
            told = cluster.fetch(other, 0, epoch, rack_id=rack)
            answer = Said(int(told.error_code), told.preferred_read_replica)
            text = f"a fetch from follower {other} by a consumer in rack {rack}"
            yield Question("followers-name-no-replica", text, Said(wire.NONE), answer, leads=False)
        whole = cluster.fetch_all(leader, 0, epoch, rack_id=rack, session_epoch=0)
        named = whole.responses[0].partitions[0].preferred_read_replica
        if named != NOBODY and whole.session_id:
            more = {"session_id": whole.session_id, "session_epoch": 1, "topics": [], "rack_id": rack}
            told = cluster.fetch_all(leader, 0, epoch, **more).responses
            answer = Said(wire.NONE, told[0].partitions[0].preferred_read_replica if told else NOBODY)
            text = f"a fetch from the leader in a fetch session, by a consumer in rack {rack}"
            yield Question("every-answer-names-the-replica", text, Said(wire.NONE, named), answer)
    if cluster.offered.get(wire.FETCH, 0) >= FETCH_WITH_HINTS and epoch > 0:
        told = cluster.fetch(leader, 0, epoch - 1, version=FETCH_WITH_HINTS)
        hint = told.current_leader
        answer = Said(int(told.error_code), hint.leader_id, hint.leader_epoch)
        text, expected = f"a fetch with leader epoch {epoch - 1}", Said(wire.FENCED_EPOCH, leader, epoch)
        yield Question("errors-carry-hints", text, expected, answer)
    if cluster.offered.get(wire.PRODUCE, 0) >= PRODUCE_WITH_HINTS:
        for other in others:
            told = cluster.produce(other, PRODUCE_WITH_HINTS).responses[0].partition_responses[0]
            answer = Said(int(told.error_code), told.current_leader.leader_id, told.current_leader.leader_epoch)
            expected = Said(wire.NOT_LEADER, leader, epoch)
            yield Question("errors-carry-hints", f"a record sent to broker {other}", expected, answer, leads=False)


@dataclass
class BrokersReport:
    servers: str
    questions: list[Question] = field(default_factory=list)
    topic: str = ""
    left: str = ""

    @property
    def title(self) -> str:
        return self.servers

    @property
    def broken(self) -> list[Question]:
        return [item for item in self.questions if item.answer != item.expected]

    @property
    def verdict(self) -> str:
        return "differs" if self.broken else "conforms"

    def seen(self, mistake: str) -> bool | None:
        rule, change = MISTAKES[mistake]
        ends = [item.answer for item in self.questions if item.rule == "epochs-end-where-they-do"]
        tried = [replace(item, answer=change(item, ends[-1])) for item in self.questions if item.rule == rule]
        return any(item.answer != item.expected for item in tried) if tried else None

    def summary(self) -> Iterator[str]:
        for item in self.broken:
            yield (f"{item.rule}: {item.text}: got {item.answer}, expected {item.expected} ({RULES[item.rule]})")
        for rule in RULES:
            asked = [item for item in self.questions if item.rule == rule]
            wrong = sum(item.answer != item.expected for item in asked)
            yield f"  {rule:<30} " + (f"{wrong} wrong of {len(asked)}" if asked else "not tested on these brokers")
        tried = [seen for mistake in MISTAKES if (seen := self.seen(mistake)) is not None]
        yield f"these requests would detect {sum(tried)} of {len(tried)} planted mistakes"
        yield f"topic {self.topic} was created and " + (f"still exists: {self.left}" if self.left else "deleted")

    def data(self) -> dict[str, Any]:
        rows = [
            {"rule": item.rule, "asked": item.text, "answer": list(item.answer), "expected": list(item.expected)}
            for item in self.questions
        ]
        mistakes = {mistake: self.seen(mistake) for mistake in MISTAKES}
        found = {"format": 1, "brokers": self.servers, "verdict": self.verdict}
        return {**found, "topic": self.topic, "left": self.left, "questions": rows, "planted": mistakes}


def is_here(servers: str) -> bool:
    return all(host == "localhost" or host.startswith(LOOPBACK) for host, _ in addresses(servers))


def conform_brokers(servers: str, note: Callable[[str], None], *, anywhere: bool = False) -> BrokersReport:
    """Send all requests to the brokers of a cluster. The topic is always deleted at the end."""
    wire.kio()
    cluster = Brokers(servers, anywhere=anywhere)
    note(f"{len(cluster.where)} brokers; topic {cluster.topic}")
    cluster.create()
    report = BrokersReport(servers, topic=cluster.topic)
    try:
        report.questions += questions(cluster)
    finally:
        report.left = cluster.remove()
        if report.left:
            note(f"topic {cluster.topic} still exists: {report.left}")
    return report
