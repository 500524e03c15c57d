"""The state of the scripted cluster: the brokers' beliefs, the leaders' logs, and the resulting answers.

Leaders, brokers and caches are a model state, which the model's actions change. This module adds logs, and partitions
without a leader. On the wire, leader epochs are twice those of the model, so that a leaderless partition can have an
epoch between two leaders' epochs.
"""

import os
import sys
import uuid
from dataclasses import dataclass
from itertools import count
from types import SimpleNamespace
from typing import Any, NamedTuple

from fencepost.invariants.protocols import protocol as named_protocol
from fencepost.kafka.clients import wire
from fencepost.kafka.clients.events import NOBODY
from fencepost.kafka.clients.history import ERRORS, FOLLOWERS, PRODUCERS, History, Move
from fencepost.model.clients.discovery.constants import HintFrom
from fencepost.model.clients.discovery.state import newest
from fencepost.model.cluster.log import departs
from fencepost.model.consumers.answers import Reply, reply_to
from fencepost.model.idempotence.machine import Answer, answer_to, duplicate_of, knows_producer
from fencepost.model.language.interpreter import Interpreter

TOPIC, WORLDS = "t", count()
RETAINED = 5
"""Number of batches that a broker remembers per producer."""
PRODUCER_ERRORS = {
    Answer.NONE: wire.NONE, Answer.OUT_OF_ORDER: wire.OUT_OF_ORDER, Answer.UNKNOWN_PRODUCER: wire.UNKNOWN_PRODUCER,
    Answer.FENCED: wire.FENCED_PRODUCER,
}  # fmt: skip
NO_PORT = 1
"""A port without a listener: the old address of a broker that moved before the history started."""
CLUSTER_ACTIONS = (
    *("controller_elects_leader", "topic_is_recreated", "broker_stops", "broker_starts", "broker_learns"),
    "replicas_follow",
)


class View(NamedTuple):
    """A broker's view of a partition. The model uses `epoch`, the wire `wire_epoch`. An unknown `leader` is -1."""

    topic: int
    leader: int
    epoch: int
    wire_epoch: int
    error: int = wire.NONE


class Record(NamedTuple):
    """A record in a log: the leader's epoch on the wire, the value, and the producer's id, epoch and sequence."""

    epoch: int
    value: str
    numbers: wire.Numbers = wire.UNNUMBERED


@dataclass
class PartitionAnswer:
    partition: int
    topic: int
    error: int
    leader: int = NOBODY
    epoch: int = NOBODY
    base: int = NOBODY
    end: int = 0
    start: int = 0
    records: tuple[tuple[int, Record], ...] = ()
    diverging: tuple[int, int] | None = None
    preferred: int = NOBODY
    """The replica that the leader names as preferred for the consumer's next fetches."""


class Copy(NamedTuple):
    broker: int
    start: int = 0
    lacks: int = 0


def own_host() -> str:
    """Return a loopback address for one play, so that another play's client cannot reach a port that is reused."""
    number = next(WORLDS)
    own = f"127.{1 + os.getpid() % 254}.{number // 254 % 254}.{1 + number % 254}"
    return own if sys.platform == "linux" else "127.0.0.1"


def topic_id(topic: int) -> uuid.UUID:
    return uuid.UUID(int=(0x951 << 64) + topic + 1)


class World:
    def __init__(self, history: History) -> None:
        machine = named_protocol("leader-discovery").machine
        self.c: Any = history.constants
        plain = Interpreter(machine, self.c)
        self.s: Any = plain.schema.restore(plain.initial_states()[0])
        self.actions = {item.name: item for item in machine.actions if item.name in CLUSTER_ACTIONS}
        self.host = own_host()
        self.ports: dict[tuple[int, int], int] = {}
        """The port of each broker's endpoint, by broker and number of restarts."""
        self.absent: dict[tuple[int, int, int], str] = {}
        """For each partition, topic and epoch: `missing` or `unknown` while there is no leader, then `restored`."""
        self.due: list[Move] = []
        """Pending faults, one entry per answer: wrong leaders, errors, omissions or closed connections."""
        self.nameless: set[int] = set()
        """Partitions whose leader epoch is omitted from metadata."""
        self.cut: set[int] = set()
        self.slow: set[int] = set()
        self.logs: dict[tuple[int, int, int], list[Record]] = {}
        self.starts: dict[int, int] = {}
        self.copies: dict[int, Copy] = {}
        """The copy of each partition on the follower that serves consumers."""
        self.committed: dict[int, tuple[int, int]] = {}
        """Committed offset of each partition, with its leader epoch or -1."""
        self.has_groups = history.has("client_commits", "client_commits_without_epoch", "client_restarts")
        self.followers: Any = named_protocol("follower-reads").machine.set_constants({})
        self.idempotence: Any = named_protocol("idempotent-producer").machine.set_constants({})
        self.written = self.producers = 0
        self.silent: set[int] = set()
        """Brokers that process requests but do not answer."""
        self.snapshots: dict[tuple[int, int], int] = {}
        """The log end offset of each broker and partition when the broker restarted from a snapshot."""
        self.expired: dict[int, int] = {}
        """The log end offset of each partition when the brokers forgot its producers."""
        for partition in range(self.c.partitions):
            for epoch in range(newest(self.s).partition[partition].epoch + 1):
                self.logs[partition, 0, epoch] = []

    def place(self, partition: int) -> tuple[int, int, int]:
        now = newest(self.s).partition[partition]
        return partition, now.topic, now.epoch

    def apply(self, move: Move) -> list[tuple[int, int]]:
        """Apply a move to the cluster; return the partitions whose logs were truncated, with their offsets."""
        if move.name == "records_are_lost":
            self.cut.add(move.args[0])
        elif move.name in ("leader_is_missing", "leader_is_unknown"):
            self.absent.setdefault(self.place(move.args[0]), move.name.removeprefix("leader_is_"))
        elif move.name == "epoch_is_unknown":
            self.nameless.add(move.args[0])
        elif move.name == "broker_is_slow":
            self.slow.add(move.args[0])
        elif move.name in ERRORS or move.name == "leader_is_guessed":
            times = 1 if move.name == "connection_dies" else 3
            self.due = [item for item in self.due if item != move] + [move] * times
        elif move.name in FOLLOWERS:
            self._change_copy(move)
        elif move.name in PRODUCERS:
            self._change_producers(move)
        elif move.name != "brokers_answer_at_once":
            self.actions[move.name].function(self.s, self.c, *move.args)
            if move.name in ("controller_elects_leader", "topic_is_recreated"):
                return self._begin_log(move.args[0])
        return []

    def _change_producers(self, move: Move) -> None:
        ends = {partition: len(self.logs[self.place(partition)]) for partition in range(self.c.partitions)}
        if move.name == "answers_are_lost":
            self.silent.add(move.args[0])
        elif move.name == "connections_end":
            self.silent.discard(move.args[0])
        elif move.name == "broker_keeps_last_batch":
            self.snapshots |= {(move.args[0], partition): end for partition, end in ends.items()}
        elif move.name == "producers_expire":
            self.expired |= ends
        elif move.name == "sequence_is_refused":
            self.due.append(move)

    def _change_copy(self, move: Move) -> None:
        partition, copy = move.args[0], self.copies.get(move.args[0])
        end = len(self.logs[self.place(partition)])
        if move.name == "records_are_deleted":
            self.starts[partition] = end
        elif move.name == "follower_serves":
            self.copies[partition] = Copy(move.args[1])
        elif copy is not None and move.name == "follower_begins_later":
            self.copies[partition] = copy._replace(start=end + 1)
        elif copy is not None:
            self.copies[partition] = copy._replace(lacks=1)

    def take(self, name: str, *args: int) -> Move | None:
        found = next((item for item in self.due if item.name == name and item.args[: len(args)] == args), None)
        if found is not None:
            self.due.remove(found)
        return found

    def _begin_log(self, partition: int) -> list[tuple[int, int]]:
        """Copy the previous leader's log to the new leader's, and truncate it if the partition is to lose a record."""
        _, topic, epoch = key = self.place(partition)
        self.logs[key] = list(self.logs[partition, topic, epoch - 1]) if epoch else []
        return [] if not epoch else self._lose(partition, key)

    def _lose(self, partition: int, key: tuple[int, int, int]) -> list[tuple[int, int]]:
        if partition not in self.cut or not self.logs[key]:
            return []
        self.cut.discard(partition)
        self.logs[key].pop()
        place = len(self.logs[key])
        for _ in range(2):
            self.write(partition)
        return [(partition, place)]

    def write(self, partition: int) -> str:
        self.written += 1
        value = f"r{self.written}"
        key, view = self.place(partition), self.view(partition, self.s.newest)
        self.logs[key].append(Record(max(view.wire_epoch, 2 * key[2]), value))
        return value

    def settle(self) -> list[tuple[int, int]]:
        """Give every partition a leader, and every running broker the latest metadata."""
        self.due.clear()
        self.nameless.clear()
        self.copies = {partition: copy._replace(lacks=0) for partition, copy in self.copies.items()}
        cuts = []
        for partition in range(self.c.partitions):
            key = self.place(partition)
            if key in self.absent or (partition in self.cut and self.logs[key]):
                self.absent[key] = "restored"
                cuts += self._lose(partition, key)
        for broker in self.s.broker:
            if broker.is_up:
                broker.cache = broker.replica = self.s.newest
        return cuts

    def view(self, partition: int, image: int) -> View:
        told = self.s.image[image].partition[partition]
        why = self.absent.get((partition, told.topic, told.epoch))
        if why is None:
            return View(told.topic, told.leader, told.epoch, 2 * told.epoch)
        if why == "restored":
            return View(told.topic, told.leader, told.epoch, 2 * told.epoch + 2)
        if why == "missing":
            return View(told.topic, NOBODY, told.epoch, 2 * told.epoch + 1, wire.LEADER_NOT_AVAILABLE)
        return View(told.topic, NOBODY, told.epoch, NOBODY)  # as in Redpanda: no epoch, and no error

    def outcome(self, broker: int, partition: int, epoch: int) -> int:
        """Return the error for a request with this wire epoch, as the model's `outcome_of` does for its own epochs."""
        own = self.view(partition, self.s.broker[broker].replica)
        if NOBODY not in (epoch, own.wire_epoch):
            if epoch < own.wire_epoch:
                return wire.FENCED_EPOCH
            if epoch > own.wire_epoch:
                return wire.UNKNOWN_EPOCH
        return wire.NONE if own.leader == broker else wire.NOT_LEADER

    def _hinted(self, broker: int, partition: int, error: int) -> tuple[int, int]:
        knows_hints = self.c.hints and broker < self.c.brokers - self.c.silent_brokers
        if not knows_hints or error not in (wire.NOT_LEADER, wire.FENCED_EPOCH):
            return NOBODY, NOBODY
        state = self.s.broker[broker]
        from_leader = state.cache if self.c.hint_from == HintFrom.CACHE else state.replica
        from_epoch = state.cache if self.c.hint_from in (HintFrom.CACHE, HintFrom.BOTH) else state.replica
        return self.view(partition, from_leader).leader, self.view(partition, from_epoch).wire_epoch

    def refused(self, broker: int, partition: int, epoch: int, asked: uuid.UUID | None) -> PartitionAnswer:
        own = self.view(partition, self.s.broker[broker].replica)
        if asked is not None and asked != topic_id(own.topic):
            return PartitionAnswer(partition, own.topic, wire.UNKNOWN_ID)
        error = self.outcome(broker, partition, epoch)
        leader, known = self._hinted(broker, partition, error)
        return PartitionAnswer(partition, own.topic, error, leader, known)

    def log(self, broker: int, partition: int) -> list[Record]:
        own = self.view(partition, self.s.broker[broker].replica)
        return self.logs[partition, own.topic, own.epoch]

    def is_lost(self, partition: int, topic: int, offset: int, epoch: int) -> bool:
        """Return whether the latest leader's log lacks a record with this offset and epoch (the model's `departs`)."""
        key = self.place(partition)
        log: Any = SimpleNamespace(log=self.logs[key], start=0, end=len(self.logs[key]))
        return topic != key[1] or departs(log, self.view(partition, self.s.newest).wire_epoch, offset + 1, epoch)

    def produce(
        self, broker: int, partition: int, values: list[str], numbers: wire.Numbers = wire.UNNUMBERED
    ) -> PartitionAnswer:
        found = self.refused(broker, partition, NOBODY, None)
        if found.error == wire.NONE and numbers.producer != NOBODY:
            found.error, found.base = self.recognize(broker, partition, numbers)
        if found.error == wire.NONE and found.base == NOBODY:
            log = self.log(broker, partition)
            found.base = len(log)
            epoch = self.view(partition, self.s.broker[broker].replica).wire_epoch
            given = [numbers._replace(sequence=numbers.sequence + place) for place in range(len(values))]
            log += [Record(epoch, value, given[place]) for place, value in enumerate(values)]
        return found

    def recognize(self, broker: int, partition: int, numbers: wire.Numbers) -> tuple[int, int]:
        if self.take("sequence_is_refused", partition):
            return wire.OUT_OF_ORDER, NOBODY
        log = self.log(broker, partition)
        own = [place for place, item in enumerate(log) if item.numbers.producer == numbers.producer]
        snapshot, expired = self.snapshots.get((broker, partition), 0), self.expired.get(partition, 0)
        s: Any = SimpleNamespace(log=[log[place].numbers for place in own], end=len(own))
        s.snapshot = {broker: sum(place < snapshot for place in own)}
        s.forgotten = sum(place < expired for place in own)
        c: Any = SimpleNamespace(**{**self.idempotence.values, "log_size": len(own), "retained": RETAINED})
        known = duplicate_of(s, c, broker, *numbers[1:]) if knows_producer(s, broker) else NOBODY
        if known != NOBODY:
            return wire.NONE, own[known]
        return PRODUCER_ERRORS[answer_to(s, c, broker, *numbers[1:])], NOBODY

    def reply(self, copy: Copy, partition: int, offset: int) -> int:
        end = len(self.log(copy.broker, partition)) - copy.lacks
        start = max(copy.start, self.starts.get(partition, 0))
        replica: Any = SimpleNamespace(start=start, high_watermark=end, end=end, received=end)
        return reply_to(self.followers, replica, leads=False, offset=offset)

    def _has_led(self, broker: int, partition: int) -> bool:
        """Return whether a client may believe that this broker leads; its errors then count as a leader's."""
        images = (self.s.image[place] for place in range(int(self.s.newest) + 1))
        return any(image.partition[partition].leader == broker for image in images)

    def _names(self, copy: Copy, leader: int, partition: int, offset: int) -> bool:
        """Return whether the leader names this copy: its broker must be up and, as far as is known, have the offset."""
        leads = copy.broker == leader or self._has_led(copy.broker, partition)
        is_there = self.s.broker[copy.broker].is_up and not leads
        return is_there and self.reply(copy, partition, offset) != Reply.OUT_OF_RANGE

    def fetch(
        self, broker: int, partition: int, item: Any, asked: uuid.UUID | None, *, has_rack: bool = False
    ) -> PartitionAnswer:
        """Answer a fetch for a partition with one record at a time, so that consumers stop at many positions."""
        offset, fetched = item.fetch_offset, getattr(item, "last_fetched_epoch", NOBODY)
        found = self.refused(broker, partition, getattr(item, "current_leader_epoch", NOBODY), asked)
        copy = self.copies.get(partition) if has_rack else None
        is_copy = copy is not None and copy.broker == broker and not self._has_led(broker, partition)
        follows = is_copy and found.error == wire.NOT_LEADER
        if found.error != wire.NONE and not follows:
            return found
        log = self.log(broker, partition)
        if copy is not None and follows:
            log = log[: len(log) - copy.lacks]
            refuses = self.reply(copy, partition, offset) == Reply.OUT_OF_RANGE
            found = PartitionAnswer(partition, found.topic, wire.OUT_OF_RANGE if refuses else wire.NONE, end=len(log))
            found.start = max(copy.start, self.starts.get(partition, 0))
            if refuses:
                return found
        elif copy is not None and self._names(copy, broker, partition, offset):
            found.preferred, found.end = copy.broker, len(log)
            return found
        found.end, found.start = len(log), found.start or self.starts.get(partition, 0)
        if fetched != NOBODY:
            end = self.end_of(log, fetched)
            if end[0] < fetched or end[1] < offset:
                found.diverging = end
                return found
        if not found.start <= offset <= len(log):
            found.error = wire.OUT_OF_RANGE
        elif offset < len(log):
            found.records = ((offset, log[offset]),)
        return found

    @staticmethod
    def end_of(log: list[Record], epoch: int) -> tuple[int, int]:
        """Return the latest epoch in the log that does not exceed this one, and its end offset, or -1 and -1."""
        known = [item.epoch for item in log if item.epoch <= epoch]
        if not known:
            return (NOBODY, NOBODY) if log else (epoch, 0)
        return max(known), max(place for place, item in enumerate(log) if item.epoch == max(known)) + 1

    def endpoint(self, broker: int, image: int) -> tuple[str, int] | None:
        told = self.s.image[image].endpoint[broker]
        return None if told == NOBODY else (self.host, self.ports.get((broker, told), NO_PORT))

    def metadata(self, broker: int) -> tuple[dict[int, tuple[str, int]], list[tuple[int, View, int]]]:
        cache = self.s.broker[broker].cache
        found = {other: where for other in range(self.c.brokers) if (where := self.endpoint(other, cache))}
        told = []
        named = [place for place in range(self.c.partitions) if not self.take("partition_is_left_out", place)]
        older = {place for place in named if self.take("metadata_is_older", place) and cache}
        if any(self.view(place, cache - 1).topic != self.view(place, cache).topic for place in older):
            older = {*named}  # an answer can have only one topic id
        for partition in named:
            view = self.view(partition, cache - (partition in older))
            if view.leader != NOBODY and (guess := self.take("leader_is_guessed", partition)):
                view = view._replace(leader=(view.leader + 1 + self.due.count(guess) % 2) % self.c.brokers)
            if error := self.take("partition_has_error", partition):
                view = view._replace(leader=NOBODY, error=error.args[1])
            has_none = broker >= self.c.brokers - self.c.old_brokers or partition in self.nameless
            told.append((partition, view, NOBODY if has_none else view.wire_epoch))
        return found, told
