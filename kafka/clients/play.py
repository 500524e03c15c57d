"""A play of one history to one client: the history decides when the cluster changes and when requests are answered.

The client acts freely. Requests that the history does not wait for are answered immediately from the broker's state. If
an expected request does not arrive in time, its step is skipped. The resulting history is judged.
"""

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from fencepost.kafka.clients import wire
from fencepost.kafka.clients.brokers import POLL, Connection, Request
from fencepost.kafka.clients.events import NOBODY, SLACK, Event, Play
from fencepost.kafka.clients.history import APPLICATION, BESIDES, ERRORS, FOLLOWERS, PRODUCERS, SILENT, History, Move
from fencepost.kafka.clients.sessions import ClientSession, OwnClient
from fencepost.kafka.clients.world import CLUSTER_ACTIONS, TOPIC, World
from fencepost.model.language.errors import DisabledError, DomainError

LATE = "the client did not start in time"
SLOW = 0.2
"""Seconds that a slow broker takes to answer."""
MOST_REQUESTS = 300
"""The play ends if the client has not recovered after this many requests."""
ASKED_AGAIN = 0.25
"""If the client reports that a record failed, the application sends it again after this many seconds."""
PATIENT = 5
"""The final recovery may take this many times as long as other steps: after failures, sarama sends nothing for 10 s."""
TICK, TICKS = 0.02, 5
LEASE, MINUTE = 0.6, 60.0
WARM = 2
"""Number of records that exist, or are written or read, before the history starts."""


@dataclass(frozen=True)
class Times:
    """The client's backoff in seconds, and the time limits for a request, for starting and for recovering."""

    backoff: float = 0.03
    grace: float = 0.09
    start: float = 6.0
    recover: float = 3.0


Session = OwnClient | ClientSession


class Player:
    def __init__(self, history: History, session: Session, times: Times) -> None:
        self.history, self.session, self.times = history, session, times
        self.world = World(history)
        self.partitions = int(history.constants.partitions)
        self.play = Play(history.role, self.partitions, backoff=times.backoff)
        self.play.has_old_brokers = bool(history.constants.old_brokers)
        self.play.restarts = history.has("client_restarts")
        self.play.resets = history.has("client_resets")
        self.play.lease = LEASE * history.has("client_lease_ends")
        self.play.is_idempotent = history.has("client_is_idempotent")
        self.done_with = asyncio.Event()
        self.began = time.monotonic()
        self.servers: dict[int, asyncio.Server] = {}
        self.connections: set[Connection] = set()
        self.waiting: tuple[bool, asyncio.Future[Request]] | None = None
        self.polling: set[Request] = set()
        self.held: dict[bool, Request | None] = {True: None, False: None}
        self.outstanding: dict[str, int] = {}
        """Values that the client must write or read, for each partition."""
        self.reported: set[int] = set()
        self.done = asyncio.Event()
        self.has_begun = False
        self.said: dict[int, tuple[Any, ...]] = {}
        self.pause: asyncio.Task[None] | None = None
        self.kept: list[Request] = []
        """Requests that are answered when the pause ends."""
        self.settled = 0
        """0 until the cluster has settled, then 1 plus the number of later requests."""

    def now(self) -> float:
        return time.monotonic() - self.began

    def note(self, event: Event) -> None:
        self.play.events.append(event)
        if event.kind == "request" and self.settled:
            self.settled += 1
            if self.settled > MOST_REQUESTS:
                self.done.set()

    def tell(self, told: list[Event], at: float) -> None:
        """Note an answer. If it names another leader, let the client read it before other requests are answered."""
        is_news = False
        for event in told:
            self.note(event)
            if event.kind in ("hint", "metadata"):
                what = event.topic, event.leader, event.epoch, event.error
                is_news |= self.said.get(event.partition, what) != what
                self.said[event.partition] = what
        if is_news and self.has_begun and self.pause is None and not self.history.has("brokers_answer_at_once"):
            self.pause = asyncio.create_task(self._pause(at))

    async def _pause(self, began: float) -> None:
        for _ in range(TICKS):  # a slow machine makes the pause longer
            await asyncio.sleep(SLACK / TICKS)
        self.play.pauses[began] = self.now()
        self.pause = None
        kept, self.kept = self.kept, []
        for request in kept:
            self._answer(request)

    def _answer(self, request: Request) -> None:
        if self.pause is None:
            request.send()
        else:
            self.kept.append(request)

    async def _quiet(self) -> None:
        if self.pause is not None:
            await asyncio.shield(self.pause)

    async def run(self) -> Play:
        watch: asyncio.Task[None] | None = None
        try:
            for broker in range(self.world.c.brokers):
                await self._open(broker)
            await self._begin()
            watch = asyncio.create_task(self._watch())
            for move in self.history.moves:
                if self.play.broken:
                    break
                await self._move(move)
            await self._settle()
        except TimeoutError:
            self.play.broken = self.play.broken or LATE
        finally:
            for task in (watch, self.pause):
                if task is not None:
                    task.cancel()
            with suppress(TimeoutError):
                await asyncio.wait_for(self.session.stop(), self.times.recover)
            for broker in list(self.servers):
                self._close(broker)
        newest = self.world.s.image[self.world.s.newest]
        for partition in range(self.partitions):
            for epoch in range(newest.partition[partition].epoch + 1):
                topic = newest.partition[partition].topic
                self.play.logs[partition, topic] = [item.value for item in self.world.logs[partition, topic, epoch]]
        return self.play

    async def _open(self, broker: int) -> None:
        told = self.world.s.image[self.world.s.newest].endpoint[broker]
        if told != NOBODY:
            loop = asyncio.get_running_loop()
            opened = self.connections.add
            server = await loop.create_server(lambda: Connection(self, broker, opened), self.world.host, 0)
            self.servers[broker] = server
            self.world.ports[broker, told] = server.sockets[0].getsockname()[1]

    def _close(self, broker: int) -> None:
        self.servers.pop(broker).close()
        for connection in [item for item in self.connections if item.broker == broker]:
            self.connections.discard(connection)
            connection.close()

    async def _begin(self) -> None:
        """Start the client and let it run freely until its next request, which waits for the history."""
        self.command = command = {
            "role": self.play.role, "bootstrap": [f"{self.world.host}:{port}" for port in self.world.ports.values()],
            "topic": TOPIC, "partitions": self.partitions, "backoff": round(self.times.backoff * 1000),
            "timeout": round(max(15.0, self.times.recover) * 1000),
            "rack": "r" if self.history.has("follower_serves") else "",
            "reset": "latest" if self.play.resets else "none", "group": "g" if self.world.has_groups else "",
            "max_age": round(1000 * (self.play.lease or MINUTE)), "resume": 0,
            "idempotent": int(self.play.is_idempotent),
        }  # fmt: skip
        if self.play.role == "consumer":
            for _ in range(WARM):
                self._more()
        await self.session.start(command, self._hear)
        if self.play.role == "producer":
            self._more()
        await asyncio.wait_for(self.done.wait(), self.times.start)
        if self.play.role == "producer":
            self._more()
        self.held[True] = await self._wanted(is_data=True)
        self.has_begun = True

    def _more(self, partition: int | None = None) -> None:
        for place in range(self.partitions) if partition is None else (partition,):
            is_producer = self.play.role == "producer"
            self.world.written += is_producer
            value = f"w{self.world.written}" if is_producer else self.world.write(place)
            self._wait_for(place, value)
            if is_producer:
                self.session.produce(place, value)

    def _wait_for(self, partition: int, value: str) -> None:
        self.done.clear()
        self.outstanding[value] = partition
        self.note(Event("written", self.now(), partition=partition, value=value))

    def _hear(self, told: dict[str, Any]) -> None:
        if told["event"] in ("died", "broken"):
            is_dead = told["event"] == "died"
            self.play.broken = told["error"] if is_dead else f"the client was not created: {told['error']}"
            if is_dead:
                self.note(Event("died", self.now(), error=told["error"]))
            self.done.set()
            return
        if told["event"] == "committed":
            self.done_with.set()
            return
        kind: Any = "reported" if told["event"] == "error" else told["event"]
        partition = told.get("partition", NOBODY)
        given = {"offset": told.get("offset", NOBODY), "epoch": told.get("epoch") or 0, "value": told.get("value", "")}
        given |= {"error": told.get("error", "")[:200], "happened": kind == "truncated" and self._is_due(partition)}
        self.note(Event(kind, self.now(), partition=partition, **given))
        if kind == "failed" and not self.play.is_idempotent and not self.history.has(*APPLICATION):
            asyncio.get_running_loop().call_later(ASKED_AGAIN, self.session.produce, partition, given["value"])
        elif kind in ("acked", "failed", "delivered"):
            self.outstanding.pop(told.get("value", ""), None)
        if kind == "truncated":
            self.reported |= set(range(self.partitions)) if partition == NOBODY else {partition}
            self.outstanding = {value: at for value, at in self.outstanding.items() if at not in self.reported}
        if kind == "reported":
            self.done_with.set()
        if not self.outstanding:
            self.done.set()

    async def _watch(self) -> None:
        while True:
            before = self.now()
            await asyncio.sleep(TICK)
            self.play.lag = max(self.play.lag, self.now() - before - TICK)

    def _is_due(self, partition: int) -> bool:
        """Return whether a reported truncation is real: a record that was read is lost, or an offset is out of range at
        a broker that metadata falsely named as the leader in the newest epoch.
        """
        about = [item for item in self.play.events if partition in (item.partition, NOBODY)]
        fetched = [item for item in about if item.kind == "answer" and item.api == "fetch"]
        if fetched and fetched[-1].error == str(wire.OUT_OF_RANGE):
            news = [item for item in about if item.kind == "metadata" and item.partition == fetched[-1].partition]
            newest = max((item.epoch for item in news), default=NOBODY)
            named = {item.leader for item in news if item.epoch == newest and not item.error}
            leader = self.world.view(fetched[-1].partition, self.world.s.newest).leader
            if fetched[-1].broker in named and fetched[-1].broker != leader:
                return True
        return any(
            self.world.is_lost(item.partition, item.topic, item.offset, item.epoch)
            for item in fetched
            if item.epoch != NOBODY
        )

    def arrived(self, request: Request) -> None:
        if request.message.api == wire.OFFSET_FOR_LEADER_EPOCH:
            request.build()
            later = SLOW * (request.broker in self.world.slow)
            asyncio.get_running_loop().call_later(later, self._answer, request)
        elif self.waiting is not None and self.waiting[0] == request.is_data and not self.waiting[1].done():
            self.waiting[1].set_result(request)
        elif self._is_idle(request):
            self.polling.add(request)
            asyncio.get_running_loop().call_later(POLL, self._end_poll, request)
        else:
            self._answer(request)

    def _is_idle(self, request: Request) -> bool:
        if request.message.api != wire.FETCH:
            return False
        request.build()
        is_empty = not any(event.error or event.epoch != NOBODY for event in request.told if event.kind == "answer")
        request.built = None
        return is_empty

    def _end_poll(self, request: Request) -> None:
        if not self.has_begun:
            asyncio.get_running_loop().call_later(POLL, self._end_poll, request)
        elif request in self.polling:
            self.polling.discard(request)
            self._answer(request)

    async def _wanted(self, *, is_data: bool) -> Request | None:
        if is_data and self.polling:
            return self.polling.pop()
        self.waiting = (is_data, asyncio.get_running_loop().create_future())
        try:
            return await asyncio.wait_for(self.waiting[1], self.times.grace)
        except TimeoutError:
            return None
        finally:
            self.waiting = None

    async def _move(self, move: Move) -> None:
        await self._quiet()
        if move.name in (*CLUSTER_ACTIONS, *BESIDES, *ERRORS, *FOLLOWERS, *PRODUCERS):
            await self._change(move)
        elif move.name in APPLICATION:
            self.note(Event("moved", self.now(), value=str(move)))
            await self._apply(move)
        elif move.name == "client_has_more":
            self._more(*move.args)
            if self.play.is_idempotent:  # each batch is sent separately
                await self._let_through()
        elif move.name in ("client_sends_request", "client_refreshes", "client_refreshes_one_topic"):
            is_data = move.name == "client_sends_request"
            self.play.wanted += 1
            self.held[is_data] = self.held[is_data] or await self._wanted(is_data=is_data)
            self.play.followed += self.held[is_data] is not None
        elif move.name not in SILENT:
            is_data = move.name in (
                "broker_answers_request", "broker_answers_after_reassignment", "client_receives_response",
            )  # fmt: skip
            request = self.held[is_data]
            if request is not None and move.name.startswith("client"):
                self._release(is_data=is_data)
            elif request is not None:
                request.build()

    async def _let_through(self) -> None:
        if self.held[True] is None:
            self.held[True] = await self._wanted(is_data=True)
        else:
            await asyncio.sleep(self.times.grace)

    async def _apply(self, move: Move) -> None:
        """Send the held answers, for which the application would otherwise wait, then let the application act."""
        if move.name.startswith(("client_commits", "client_restarts", "client_asks", "client_lease")):
            self._release(is_data=True)
            self._release(is_data=False)
        if move.name == "client_lease_ends":
            await asyncio.sleep(2 * LEASE)
        elif move.name == "client_restarts":
            await asyncio.wait_for(self.session.stop(), self.times.recover)
            self.command["resume"] = 1
            await self.session.start(self.command, self._hear)
        elif move.name in ("client_starts_over", "client_asks_admin"):
            self.world.written += 1
            value = f"w{self.world.written}"
            self._wait_for(move.args[0], value)
            self.session.do(move.name.removeprefix("client_"), topic=TOPIC, partition=move.args[0], value=value)
            with suppress(TimeoutError):
                is_asked = move.name == "client_asks_admin"
                await asyncio.wait_for(self.done.wait(), self.times.recover if is_asked else self.times.grace)
        elif move.name != "client_resets":
            await self._commit(move)

    async def _commit(self, move: Move) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self.done.wait(), self.times.recover)
        read = [item for item in self.play.events if item.kind == "delivered" and item.partition == move.args[0]]
        if not read:
            return
        answers = [item for item in self.play.events if item.kind == "answer" and item.offset == read[-1].offset]
        epoch = answers[-1].epoch if move.name == "client_commits" and answers else NOBODY
        found = Event("committing", self.now(), partition=move.args[0], epoch=epoch, offset=read[-1].offset + 1)
        self.note(found)
        self.done_with.clear()
        self.session.do("commit", topic=TOPIC, partition=found.partition, offset=found.offset, epoch=epoch)
        with suppress(TimeoutError):
            await asyncio.wait_for(self.done_with.wait(), self.times.recover)

    def _release(self, *, is_data: bool) -> None:
        request, self.held[is_data] = self.held[is_data], None
        if request is not None:
            request.send()

    async def _change(self, move: Move) -> None:
        try:
            lost = self.world.apply(move)
        except (DisabledError, DomainError):  # a broker that knows less than in the model may have no leader to follow
            return
        self.note(Event("moved", self.now(), value=str(move)))
        self._note_lost(lost)
        if move.name == "broker_stops":
            self._close(move.args[0])
        elif move.name == "broker_starts":
            await self._open(move.args[0])
        elif move.name == "connections_end":
            for connection in [item for item in self.connections if item.broker == move.args[0]]:
                self.connections.discard(connection)
                connection.close()

    def _note_lost(self, lost: list[tuple[int, int]]) -> None:
        for partition, offset in lost:
            self.note(Event("lost", self.now(), partition=partition, offset=offset))

    async def _settle(self) -> None:
        await self._quiet()
        self._release(is_data=True)
        self._release(is_data=False)
        if self.play.broken:
            return
        self.world.silent.clear()
        self._note_lost(self.world.settle())
        self.note(Event("settled", self.now()))
        self.settled = 1
        if self.play.role == "consumer":
            self.outstanding.clear()  # a consumer that has read the last record does not read earlier ones
        self._more()
        self.outstanding = {value: place for value, place in self.outstanding.items() if place not in self.reported}
        if not self.outstanding:
            self.done.set()
        with suppress(TimeoutError):
            await asyncio.wait_for(self.done.wait(), PATIENT * self.times.recover)
