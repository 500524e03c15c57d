"""Clients for plays: many clients of one kind in a driver process, or our own client and its mutants."""

import asyncio
import json
import os
import random
import signal
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self

from fencepost.kafka.clients import wire
from fencepost.kafka.clients.events import NOBODY
from fencepost.model.clients.discovery.constants import Accepts
from fencepost.model.clients.discovery.leadership import accepts_hint, accepts_metadata
from fencepost.model.language.errors import UsageError

PRODUCE, FETCH, METADATA, EPOCHS, LISTS, COMMITS = 12, 16, 12, 4, 7, 7
MUTANTS = {
    "takes-any-hint": "older-hint-is-ignored", "takes-any-metadata": "older-metadata-is-ignored",
    "deaf-to-hints": "newer-hint-is-used", "keeps-the-old-leader": "newer-metadata-is-used",
    "ignores-epochs": "epochs-never-fall", "never-asks": "error-asks-for-metadata",
    "retries-at-once": "retry-waits-for-the-backoff", "takes-epoch--1": "epoch-is-not-forgotten",
    "skips-validation": "validates-before-delivering", "overlooks-truncation": "truncation-is-noticed",
    "skips-a-record": "no-record-is-skipped", "delivers-twice": "no-record-is-delivered-twice",
    "asks-anyone": "only-to-named-leaders", "asks-on": "no-leader-no-request", "forgets-topic-ids": "finds-a-new-topic",
    "gives-up": "recovers", "takes-leaders-of-errors": "errors-name-no-leader",
    "trusts-a-failed-validation": "validates-before-delivering", "gives-up-on-a-dead-connection": "recovers",
    "cries-wolf-at-once": "reports-are-true", "cries-wolf-after-two-records": "reports-are-true",
    "cries-wolf-on-epoch--1": "reports-are-true", "cries-wolf-on-a-retried-validation": "reports-are-true",
    "numbers-retries-anew": "retries-keep-their-sequence", "forgets-its-numbers": "no-record-is-written-twice",
    "acknowledges-at-once": "acknowledged-records-are-written", "sends-the-last-first": "records-are-written-in-order",
    "dies-without-a-leader": "stays-alive", "overlooks-the-preferred-replica": "preferred-replica-is-used",
    "flips-back-to-the-leader": "preferred-replica-is-used", "keeps-its-lease": "preferred-replica-is-used",
    "asks-the-follower-again": "errors-end-a-preference",
    "lists-at-the-follower": "only-to-named-leaders", "commits-nothing": "no-record-is-delivered-twice",
    "forgets-committed-epochs": "truncation-is-noticed", "asks-admin-where-nobody-is": "recovers",
    "moves-what-was-dropped": "stays-alive",
}  # fmt: skip
"""Mutants of our own client, named after their mistakes, each with the rule that must detect the mistake."""


@dataclass
class Known:
    leader: int = NOBODY
    epoch: int = NOBODY
    topic: Any = None
    position: int = 0
    fetched: int = NOBODY
    preferred: int = NOBODY
    leased: float = 0.0
    is_validated: bool = True
    waiting: list[str] = field(default_factory=list)
    numbers: dict[str, wire.Numbers] = field(default_factory=dict)
    """Producer id, epoch and sequence number of each record sent by an idempotent producer."""
    is_over: bool = False


class OwnClient:
    def __init__(self, mutant: str = "") -> None:
        self.mutant = mutant
        self.known: dict[int, Known] = {}
        self.where: dict[int, tuple[str, int]] = {}
        self.links: dict[Any, tuple[asyncio.StreamReader, asyncio.StreamWriter, asyncio.Lock]] = {}
        self.tasks: list[asyncio.Task[None]] = []
        self.asking: set[asyncio.Task[None]] = set()
        self.number = 0
        self.admin_leader: tuple[str, int] | None = None
        self.chance = random.Random(1)  # noqa: S311 (no secret)

    async def start(self, command: dict[str, Any], hear: Callable[[dict[str, Any]], None]) -> None:
        self.command, self.hear, self.links = command, hear, {}
        self.backoff = command["backoff"] / 1000
        start = NOBODY if command["resume"] else 0
        self.known = {partition: Known(position=start) for partition in range(command["partitions"])}
        work = self._produce if command["role"] == "producer" else self._consume
        self.tasks = [asyncio.create_task(self._again(work, partition)) for partition in self.known]
        self.asking = set()

    def produce(self, partition: int, value: str) -> None:
        self.known[partition].waiting.append(value)

    def do(self, what: str, **more: Any) -> None:
        known: dict[str, Callable[..., Coroutine[Any, Any, None]]]
        known = {"commit": self._commit, "asks_admin": self._ask_admin, "starts_over": self._start_over}
        self.asking.add(asyncio.create_task(known[what](**more)))

    async def stop(self) -> None:
        for task in (*self.tasks, *self.asking):
            task.cancel()
        await asyncio.gather(*self.tasks, *self.asking, return_exceptions=True)
        for _, link, _ in self.links.values():
            link.close()

    async def _again(self, work: Callable[[int], Any], partition: int) -> None:
        while not self.known[partition].is_over:
            try:
                await work(partition)
            except (OSError, asyncio.IncompleteReadError, TimeoutError):
                self.known[partition].is_over |= self.mutant == "gives-up-on-a-dead-connection"
                self.known[partition].preferred = NOBODY
                await asyncio.sleep(self.backoff)
                await self._ask()

    async def _call(self, at: tuple[str, int], api: int, version: int, values: dict[str, Any], of: int = NOBODY) -> Any:
        """Send a request and return its answer. Each partition has its own connections, so its requests do not wait for
        those of other partitions.
        """
        if (at, of) not in self.links:
            reader, link = await asyncio.open_connection(*at)
            self.links[at, of] = (reader, link, asyncio.Lock())
        reader, link, lock = self.links[at, of]
        try:
            async with lock:
                self.number += 1
                link.write(wire.request(api, version, self.number, values))
                size = int.from_bytes(await reader.readexactly(4), "big")
                return wire.read_answer(await reader.readexactly(size), api, version)
        except BaseException:  # the answer to an abandoned request would be read later
            self.links.pop((at, of), None)
            link.close()
            raise

    async def _ask(self) -> None:
        known = list(self.where.values()) if self.mutant != "never-asks" or not self.where else []
        seeds = [(host, int(port)) for host, _, port in (text.partition(":") for text in self.command["bootstrap"])]
        for at in [*self.chance.sample(known, len(known)), *(() if self.where else seeds)]:
            with suppress(OSError, asyncio.IncompleteReadError):
                body = {"allow_auto_topic_creation": False, "include_topic_authorized_operations": False}
                topics = [{"topic_id": None, "name": self.command["topic"]}]
                self._apply(await self._call(at, wire.METADATA, METADATA, {**body, "topics": topics}))
                return

    def _apply(self, told: Any) -> None:
        is_first = not self.where
        self.where.update({item.node_id: (item.host, item.port) for item in told.brokers})
        topic = told.topics[0]
        if topic.error_code != wire.NONE and self.mutant != "takes-leaders-of-errors":
            return
        for item in topic.partitions:
            known = self.known[item.partition_index]
            is_same = known.topic is None or topic.topic_id == known.topic or self.mutant == "forgets-topic-ids"
            is_other = int(not is_same)
            if item.leader_id == NOBODY and self.mutant == "asks-on":
                continue
            takes_any = self.mutant in ("takes-any-metadata", "ignores-epochs")
            is_unknown = item.leader_id == NOBODY and item.leader_epoch == NOBODY and not is_other
            if item.leader_epoch == NOBODY:
                self._cry("on-epoch--1", item.partition_index)
            if is_unknown and self.mutant == "takes-epoch--1":
                known.epoch = NOBODY
            if is_unknown or (self.mutant == "keeps-the-old-leader" and not is_first and not is_other):
                continue
            if takes_any or item.leader_epoch == NOBODY or accepts_metadata(known.epoch, item.leader_epoch, is_other):
                self._follow(known, topic.topic_id, item.leader_id, item.leader_epoch)

    def _follow(self, known: Known, topic: Any, leader: int, epoch: int) -> None:
        if NOBODY not in (known.fetched, epoch) and (leader, epoch) != (known.leader, known.epoch):
            known.is_validated = self.mutant == "skips-validation"
        if self.mutant == "gives-up" and leader == NOBODY:
            known.is_over = True
        if self.mutant == "dies-without-a-leader" and leader == NOBODY:
            self.hear({"event": "died", "error": "the client crashed"})
        if epoch != known.epoch:
            known.preferred = NOBODY
        known.topic, known.leader, known.epoch = topic, leader, epoch

    def _hint(self, partition: int, told: Any, nodes: Any) -> bool:
        known, leader = self.known[partition], told.current_leader
        rule = Accepts.ANY if self.mutant == "takes-any-hint" else Accepts.NEWER
        where = {item.node_id: (item.host, item.port) for item in nodes}
        if self.mutant == "deaf-to-hints" or NOBODY in (leader.leader_id, leader.leader_epoch):
            return False
        if leader.leader_id not in where and leader.leader_id not in self.where:
            return False
        if not accepts_hint(rule, known.epoch, known.leader, leader.leader_epoch, leader.leader_id):
            return False
        self.where.update(where)
        self._follow(known, known.topic, leader.leader_id, leader.leader_epoch)
        return True

    def _leader(self, partition: int) -> tuple[str, int] | None:
        known = self.known[partition]
        if time.monotonic() > known.leased + self.command["max_age"] / 1000 and self.mutant != "keeps-its-lease":
            known.preferred = NOBODY
        if self.mutant == "asks-anyone" and self.where and self.chance.random() < 0.5:
            return self.chance.choice(list(self.where.values()))
        return self.where.get(known.preferred if known.is_validated and known.preferred in self.where else known.leader)

    async def _found(self, partition: int) -> tuple[str, int] | None:
        at = self._leader(partition)
        if at is None:
            await asyncio.sleep(self.backoff)
            await self._ask()
        return at

    async def _failed(self, *, is_news: bool) -> None:
        """Ask for metadata after an error, and wait for the backoff unless the error named a newer leader."""
        asking = asyncio.create_task(self._ask())
        self.asking.add(asking)
        if not is_news and self.mutant != "retries-at-once":
            await asyncio.sleep(self.backoff)
        if not is_news or self.mutant == "retries-at-once":
            await asyncio.wait([asking], timeout=0 if self.mutant == "retries-at-once" else 1)

    async def _produce(self, partition: int) -> None:
        known = self.known[partition]
        at = await self._found(partition)
        if at is None:
            return
        if not known.waiting:
            await asyncio.sleep(0.002)
            return
        value = known.waiting[-1 if self.mutant == "sends-the-last-first" else 0]
        if self.mutant == "acknowledges-at-once":
            known.waiting.remove(value)
            self.hear({"event": "acked", "partition": partition, "value": value, "offset": 0})
            return
        rows = [{"index": partition, "records": wire.batch(0, NOBODY, value, self._numbers(known, value))}]
        data = [{"name": self.command["topic"], "partition_data": rows}]
        body = {"acks": -1, "timeout": wire.NO_TIME, "topic_data": data}
        told = await self._call(at, wire.PRODUCE, PRODUCE, {"transactional_id": None, **body}, partition)
        found = told.responses[0].partition_responses[0]
        if found.error_code == wire.NONE:
            known.waiting.remove(value)
            self.hear({"event": "acked", "partition": partition, "value": value, "offset": found.base_offset})
            return
        await self._failed(is_news=self._hint(partition, found, told.node_endpoints))

    def _numbers(self, known: Known, value: str) -> wire.Numbers:
        if not self.command["idempotent"] or self.mutant == "forgets-its-numbers":
            return wire.UNNUMBERED
        if value not in known.numbers or self.mutant == "numbers-retries-anew":
            newest = max((item.sequence for item in known.numbers.values()), default=NOBODY)
            known.numbers[value] = wire.Numbers(1, 0, newest + 1)
        return known.numbers[value]

    async def _consume(self, partition: int) -> None:
        known = self.known[partition]
        self._cry("at-once", partition)
        at = await self._found(partition)
        if at is None:
            return
        if self.command["resume"] and known.position == NOBODY:
            await self._resume(partition, at)
            return
        if not known.is_validated:
            await self._validate(partition, at)
            return
        row = {"partition": partition, "current_leader_epoch": known.epoch, "fetch_offset": known.position}
        row |= {"partition_max_bytes": 1 << 20}
        body = {"max_wait": wire.NO_TIME, "min_bytes": 1, "session_epoch": -1, "forgotten_topics_data": []}
        body["rack_id"] = self.command["rack"]
        topics = [{"topic_id": known.topic, "partitions": [{**row, "replica_directory_id": None}]}]
        told = await self._call(at, wire.FETCH, FETCH, {**body, "topics": topics}, partition)
        found = told.responses[0].partitions[0]
        is_from_follower = known.preferred != NOBODY
        if self.mutant != "overlooks-the-preferred-replica" and (not is_from_follower or found.error_code):
            known.preferred, known.leased = found.preferred_read_replica, time.monotonic()
        if self.mutant == "asks-the-follower-again" and is_from_follower and found.error_code:
            known.preferred = next(node for node, where in self.where.items() if where == at)
        if self.mutant == "flips-back-to-the-leader" and is_from_follower:
            known.preferred = NOBODY
        if found.error_code == wire.OUT_OF_RANGE and (not is_from_follower or self.mutant == "lists-at-the-follower"):
            await self._reset(partition, at)
        elif found.error_code == wire.OUT_OF_RANGE:
            await asyncio.sleep(self.backoff)
        elif found.error_code != wire.NONE:
            await self._failed(is_news=self._hint(partition, found, told.node_endpoints))
        else:
            self._deliver(partition, wire.records(found.records))

    def _deliver(self, partition: int, read: list[wire.Read]) -> None:
        known = self.known[partition]
        for item in read:
            known.position, known.fetched = item.offset + 1, item.epoch
            if self.mutant == "skips-a-record" and item.offset == 2:
                continue
            for _ in range(2 if self.mutant == "delivers-twice" and item.offset == 2 else 1):
                told = {"partition": partition, "offset": item.offset, "value": item.value, "epoch": item.epoch}
                self.hear({"event": "delivered", **told})
            if known.position == 2:
                self._cry("after-two-records", partition)

    async def _validate(self, partition: int, at: tuple[str, int]) -> None:
        """Ask the leader for the end offset of the last epoch read (KIP-320)."""
        known = self.known[partition]
        epoch = known.epoch
        row = {"partition": partition, "current_leader_epoch": epoch, "leader_epoch": known.fetched}
        body = {"replica_id": -1, "topics": [{"topic": self.command["topic"], "partitions": [row]}]}
        told = await self._call(at, wire.OFFSET_FOR_LEADER_EPOCH, EPOCHS, body, partition)
        found = told.topics[0].partitions[0]
        if found.error_code != wire.NONE:
            self._cry("on-a-retried-validation", partition)
            known.is_validated = self.mutant == "trusts-a-failed-validation"
            await self._failed(is_news=False)
        elif self.mutant != "overlooks-truncation" and (
            found.end_offset < known.position or found.leader_epoch < known.fetched
        ):
            self._lost(partition, found.end_offset, "truncated")
        elif epoch == known.epoch:
            known.is_validated = True

    async def _reset(self, partition: int, at: tuple[str, int]) -> None:
        if self.command["reset"] == "none":
            self._lost(partition, 0, "out of range")
            return
        found = await self._log_end(at, self.command["topic"], partition, self.known[partition].epoch)
        if found.error_code == wire.NONE:
            self.known[partition].position = found.offset
        else:
            await self._failed(is_news=False)

    async def _log_end(self, at: tuple[str, int], topic: str, partition: int, epoch: int) -> Any:
        row = {"partition_index": partition, "current_leader_epoch": epoch, "timestamp": -1}
        body = {"replica_id": -1, "isolation_level": 0, "topics": [{"name": topic, "partitions": [row]}]}
        return (await self._call(at, wire.LIST_OFFSETS, LISTS, body, partition)).topics[0].partitions[0]

    async def _resume(self, partition: int, at: tuple[str, int]) -> None:
        """Start at the group's committed offset, and validate it if it was committed with a leader epoch."""
        body = {"group_id": self.command["group"], "require_stable": False}
        topics = [{"name": self.command["topic"], "partition_indexes": [partition]}]
        told = await self._call(at, wire.OFFSET_FETCH, COMMITS, {**body, "topics": topics}, partition)
        found, known = told.topics[0].partitions[0], self.known[partition]
        known.position = max(0, found.committed_offset)
        if self.mutant != "forgets-committed-epochs":
            known.fetched = found.committed_leader_epoch
        known.is_validated = known.fetched == NOBODY

    async def _commit(self, topic: str, partition: int, offset: int, epoch: int) -> None:
        row = {"partition_index": partition, "committed_offset": offset, "committed_leader_epoch": epoch}
        body = {"group_id": self.command["group"], "generation_id_or_member_epoch": -1, "member_id": ""}
        topics = [{"name": topic, "partitions": [{**row, "committed_metadata": ""}]}]
        at = self._leader(partition)
        if at is not None and self.mutant != "commits-nothing":
            body["group_instance_id"] = None
            await self._call(at, wire.OFFSET_COMMIT, COMMITS, {**body, "topics": topics}, partition)
        self.hear({"event": "committed"})

    async def _ask_admin(self, topic: str, partition: int, value: str) -> None:
        """Ask for the log end offset like an admin client, and look up the leader again if it has left the cluster."""
        found = self.admin_leader
        while True:
            with suppress(OSError, asyncio.IncompleteReadError):
                at = found if found and self.mutant == "asks-admin-where-nobody-is" else self._leader(partition)
                end = await self._log_end(at, topic, partition, NOBODY) if at else None
                if end is not None and end.error_code == wire.NONE:
                    self.admin_leader = at
                    self.hear({"event": "acked", "partition": partition, "value": value})
                    return
            await asyncio.sleep(self.backoff)
            await self._ask()

    async def _start_over(self, topic: str, partition: int, value: str) -> None:  # noqa: ARG002 (there is one topic)
        if self.mutant == "moves-what-was-dropped":
            self.hear({"event": "died", "error": "the client crashed"})
        for place, known in self.known.items():
            for one in known.waiting:
                self.hear({"event": "failed", "partition": place, "value": one, "error": "dropped"})
            self.known[place] = Known(position=known.position)
        self.produce(partition, value)

    def _cry(self, when: str, partition: int) -> None:
        if self.mutant == f"cries-wolf-{when}" and self.command["role"] == "consumer":
            self._lost(partition, 0, "wolf")

    def _lost(self, partition: int, offset: int, why: str) -> None:
        self.known[partition].is_over = True
        self.hear({"event": "truncated", "partition": partition, "offset": offset, "error": why})


START = 40.0
"""Seconds that a driver may take to start."""
LINE = 1 << 20


class ClientProcess:
    def __init__(self, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        self.command, self.environment = command, dict(environment or {})
        self.hears: dict[int, Callable[[dict[str, Any]], None]] = {}
        self.number = 0
        self.ready = asyncio.Event()
        self.is_ready = self.is_over = False

    async def __aenter__(self) -> Self:
        self.process = await asyncio.create_subprocess_exec(
            *self.command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={**os.environ, **self.environment},
            start_new_session=True,
            limit=LINE,
        )
        self.listening = asyncio.create_task(self._listen())
        try:
            await asyncio.wait_for(self.ready.wait(), START)
        except TimeoutError as error:
            await self.__aexit__()
            raise UsageError(
                f"the driver did not start within {START:g} s: `{' '.join(self.command[:3])} ...`."
            ) from error
        if not self.is_ready:
            await self.__aexit__()
            raise UsageError(f"the driver ended before it was ready: `{' '.join(self.command[:3])} ...`.")
        return self

    async def __aexit__(self, *error: object) -> None:
        if self.process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        await self.process.wait()
        self.listening.cancel()
        with suppress(asyncio.CancelledError):
            await self.listening

    async def _listen(self) -> None:
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            with suppress(ValueError):
                told = json.loads(line)
                if told["event"] == "ready":
                    self.is_ready = True
                    self.ready.set()
                elif hear := self.hears.get(told.get("id", -1)):
                    hear(told)
        self.is_over = True
        self.ready.set()
        code = await self.process.wait()
        by = signal.Signals(-code).name if code < 0 else f"exit {code}"
        for hear in list(self.hears.values()):
            hear({"event": "died", "error": f"the client's process crashed ({by})"})

    def say(self, command: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        with suppress(OSError):
            self.process.stdin.write(json.dumps(command).encode() + b"\n")

    def session(self) -> "ClientSession":
        self.number += 1
        return ClientSession(self, self.number)


class ClientSession:
    def __init__(self, driver: ClientProcess, number: int) -> None:
        self.driver, self.number = driver, number
        self.stopped = asyncio.Event()

    async def start(self, command: dict[str, Any], hear: Callable[[dict[str, Any]], None]) -> None:

        def heard(told: dict[str, Any]) -> None:
            if told["event"] != "stopped" and not self.stopped.is_set():
                hear(told)
            if told["event"] in ("stopped", "died"):
                self.stopped.set()

        self.stopped.clear()
        self.driver.hears[self.number] = heard
        servers = ",".join(command["bootstrap"])
        self.driver.say({**command, "bootstrap": servers, "id": self.number, "do": "start"})
        self.topic = command["topic"]

    def produce(self, partition: int, value: str) -> None:
        told = {"id": self.number, "do": "produce", "topic": self.topic, "partition": partition, "value": value}
        self.driver.say(told)

    def do(self, what: str, **more: Any) -> None:
        self.driver.say({"id": self.number, "do": what, **more})

    async def stop(self) -> None:
        self.driver.say({"id": self.number, "do": "stop"})
        try:
            await self.stopped.wait()
        finally:
            self.stopped.set()
            self.driver.hears.pop(self.number, None)
