"""Broker states, settings, topics and features of a cluster that affect partitions, each with its offset. A log has far
fewer records about the cluster than about partitions, so the former are collected once and sent to every task.
"""

import json
import re
from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, NamedTuple

from fencepost.kafka.audit.judging import Brokers, Rules
from fencepost.model.cluster.machine import MACHINE

MIN_ISR, UNCLEAN, CLEANUP = "min.insync.replicas", "unclean.leader.election.enable", "cleanup.policy"
ELR_FEATURE, METADATA_FEATURE = "eligible.leader.replicas.version", "metadata.version"
SHRINK_OPENS_BEFORE = 12
"""The first metadata.version level (3.6-IV0) at which shrinking an ISR starts no new leader epoch (KAFKA-15021)."""
LEVELS = (
    (12, "kafka-3.5"),
    (20, "kafka-3.7"),
    (22, "kafka-3.9"),
    (26, "kafka-4.0"),
    (28, "kafka-4.1"),
    (30, "kafka-4.2"),
    (31, "kafka-4.3"),
)
"""(level, version): a metadata.version below `level` uses this version of the model; the first match counts."""
NEWEST = MACHINE.versions[-1].name
TOPIC, BROKER = 2, 4
FOREVER = 1 << 62
WHOLE = re.compile(r"[0-9]{1,9}", re.ASCII)
TOGETHER = 1000
"""Records at most this many milliseconds apart may share a cause; for example, a broker is fenced and leaves an ISR."""


class LogRecord(NamedTuple):
    """A record of the log. Records of a snapshot have the last offset that it covers."""

    offset: int
    snapshot: bool
    time: int
    type: str
    fields: str


class Standing(NamedTuple):
    offset: int
    time: int
    fenced: bool
    stopping: bool
    registered: int


class Away(NamedTuple):
    """A range of offsets and times in which a broker is fenced, shutting down or unregistered."""

    first: int
    since: int
    end: int
    until: int


@dataclass
class Presence:
    """A broker's absences, registrations and states. Initially, the broker is unregistered. After a gap in the log, it
    counts as neither fenced nor stopping until the next record about it, because its state is unknown.
    """

    away: list[Away] = field(default_factory=lambda: [Away(-1, -1, FOREVER, FOREVER)])
    registered: list[tuple[int, int]] = field(default_factory=list)
    standings: list[Standing] = field(default_factory=list)
    epoch: int = -1
    fenced: bool = True
    stopping: bool = False
    _ends: list[int] = field(default_factory=list)
    _offsets: list[int] = field(default_factory=list)

    def change(self, offset: int, time: int) -> None:
        self.standings.append(Standing(offset, time, self.fenced, self.stopping, len(self.registered)))
        last = self.away[-1] if self.away else None
        is_away = last is not None and last.end == FOREVER
        if (self.fenced or self.stopping) and not is_away:
            self.away.append(Away(offset, time, FOREVER, FOREVER))
        elif not self.fenced and not self.stopping and is_away:
            assert last is not None
            self.away[-1] = last._replace(end=offset, until=time)

    def lose(self, offset: int, time: int) -> None:
        self.fenced = self.stopping = False
        self.change(offset, time)

    def done(self) -> None:
        self._ends = [item.end for item in self.away]
        self._offsets = [offset for offset, _ in self.registered]

    def why_away(self, offset: int, time: int) -> str:
        """Return why the broker was inactive when a partition changed, or an empty string if it was active."""
        at = bisect_right(self.standings, offset, key=lambda item: item.offset)
        known = self.standings[at - 1] if at else Standing(-1, 0, False, False, 0)
        for item in (known, *self.standings[at : at + 2]):
            if item.time - time > TOGETHER:
                break
            if item.registered > known.registered or (item.registered > 1 and 0 <= time - item.time <= TOGETHER):
                return "it had restarted"
            if item.stopping:
                return "it was shutting down"
            if item.fenced:
                return "the broker was fenced because its heartbeats had stopped"
        return ""

    def away_within(self, first: int, end: int) -> list[Away]:
        found = []
        for item in self.away[bisect_right(self._ends, first) :]:
            if item.first >= end:
                break
            found.append(item)
        return found

    def registered_within(self, first: int, end: int) -> list[tuple[int, int]]:
        at = bisect_right(self._offsets, first)
        return self.registered[at : bisect_right(self._offsets, end - 1)] if at < len(self._offsets) else []


class Moment(NamedTuple):
    """A topic's settings from `offset` on. `clears` marks a ClearElrRecord, and `removed` marks a topic's deletion."""

    offset: int
    time: int
    rules: Rules
    unclean: bool
    clears: bool
    removed: bool
    whose: str = ""
    unclean_offset: int = -1
    unclean_time: int = -1


@dataclass
class Topic:
    """A topic id with its settings. A topic recreated under the same name gets another id."""

    name: str
    created: int
    removed: int = FOREVER


@dataclass
class ClusterContext:
    """Cluster-wide facts up to the end of the log. `gaps` are ranges of missing offsets."""

    brokers: dict[int, Presence] = field(default_factory=dict)
    topics: dict[str, Topic] = field(default_factory=dict)
    aborted: list[tuple[int, int]] = field(default_factory=list)
    gaps: list[tuple[int, int]] = field(default_factory=list)
    end: int = 0
    until: int = 0
    min_isr: int = 1
    """The broker setting min.insync.replicas, used if neither the topic nor the cluster overrides it."""
    own: dict[str, list[tuple[int, int, str, Any]]] = field(default_factory=lambda: defaultdict(list))
    common: list[tuple[int, int, str, Any]] = field(default_factory=list)
    snapshots: list[int] = field(default_factory=list)
    """The last offset that each snapshot covers."""
    supported: dict[int, int] = field(default_factory=dict)
    """The highest metadata.version level that each controller's release supports."""

    def version_at(self, offset: int) -> str:
        return version_of(self._level(METADATA_FEATURE, offset))

    def _level(self, feature: str, offset: int) -> int | None:
        known = (value for at, _, kind, value in reversed(self.common) if kind == feature and at <= offset)
        return next(known, None)

    @property
    def release(self) -> dict[str, Any]:
        """The rules in force at the end of the log, as JSON; null if the log contains no metadata.version."""
        level, supported = self._level(METADATA_FEATURE, self.end), min(self.supported.values(), default=None)
        on = [bool(value) for _, _, kind, value in self.common if kind == ELR_FEATURE]
        is_known = any(on) or ((on or level is not None) and not self.may_lack_settings(self.end + 1))
        return {
            "version": version_of(level if supported is None else supported),
            "supported": supported,
            "metadata_version": level,
            "elr": any(on) if is_known else None,
        }

    def timeline(self, topic_id: str) -> list[Moment]:
        topic = self.topics.get(topic_id)
        own = self.own.get(topic.name, []) if topic else []
        events = sorted(
            [*((*event, True) for event in own), *((*event, False) for event in self.common)], key=lambda one: one[0]
        )
        values: dict[tuple[bool, str], Any] = {}
        since: dict[tuple[bool, str], tuple[int, int]] = {}
        found = [Moment(-1, -1, Rules(self.min_isr, False), False, False, False)]
        for offset, time, kind, value, is_own in events:
            values[(is_own, kind)] = value
            since[(is_own, kind)] = (offset, time)
            if kind == "removed":  # deleting a topic removes its configuration without further records
                values = {key: item for key, item in values.items() if not key[0]}
            min_isr = _whole(values.get((True, MIN_ISR))) or _whole(values.get((False, MIN_ISR))) or self.min_isr
            unclean = values.get((True, UNCLEAN)) or values.get((False, UNCLEAN)) or "false"
            level = values.get((False, METADATA_FEATURE))
            rules = Rules(
                min_isr, bool(values.get((False, ELR_FEATURE))), level is not None and level < SHRINK_OPENS_BEFORE
            )
            removed = topic is not None and offset == topic.removed
            own_value = bool(values.get((True, UNCLEAN)))
            whose = "topic" if own_value else "cluster"
            unclean_since = since.get((own_value, UNCLEAN), (-1, -1))
            found.append(
                Moment(offset, time, rules, unclean == "true", kind == "clear", removed, whose, *unclean_since)
            )
        return found

    def is_compacted(self, topic_id: str) -> bool:
        own = self.own.get(self.topics[topic_id].name, [])
        return any(kind == CLEANUP and "compact" in str(value) for _, _, kind, value in [*own, *self.common])

    def registered_near(self, brokers: Iterable[int], offset: int, time: int) -> Brokers:
        known = {broker: self.brokers[broker] for broker in brokers if broker in self.brokers}
        near = {broker: one.registered_within(offset - 20_000, offset + 20_000) for broker, one in known.items()}
        return tuple(broker for broker, found in near.items() if any(abs(at - time) <= 1000 for _, at in found))

    def is_unknown_between(self, first: int, end: int) -> bool:
        at = bisect_right(self.gaps, first, key=itemgetter(0))
        return at < len(self.gaps) and self.gaps[at][1] < end

    def may_lack_settings(self, offset: int) -> bool:
        """Return whether a gap before `offset` may contain settings that no later snapshot repeats."""
        last = max((end for _, end in self.gaps if end < offset), default=-1)
        return last >= 0 and not any(last <= covered < offset for covered in self.snapshots)


def version_of(level: int | None) -> str:
    return NEWEST if level is None else next((name for below, name in LEVELS if level < below), NEWEST)


def gather_context(
    events: Iterable[LogRecord], *, gaps: list[tuple[int, int]], end: int, until: int, min_isr: int
) -> ClusterContext:
    made = ClusterContext(gaps=gaps, end=end, until=until, min_isr=min_isr)
    ordered = sorted(events, key=lambda event: (event.offset, event.snapshot))
    made.aborted = _aborted(ordered)
    made.snapshots = sorted({event.offset for event in ordered if event.snapshot})
    left, time = deque(gaps), 0
    for event in ordered:
        while left and left[0][1] <= event.offset:
            for presence in made.brokers.values():
                presence.lose(left[0][0], time)
            left.popleft()
        time = event.time
        at = bisect_right(made.aborted, event.offset, key=itemgetter(0)) - 1
        if at >= 0 and event.offset <= made.aborted[at][1]:
            continue
        _take(made, event, json.loads(event.fields))
    for presence in made.brokers.values():
        presence.done()
    return made


def _aborted(events: list[LogRecord]) -> list[tuple[int, int]]:
    found, begun = list[tuple[int, int]](), -1
    for event in events:
        if event.type == "BEGIN_TRANSACTION_RECORD":
            begun = event.offset
        elif event.type == "ABORT_TRANSACTION_RECORD" and begun >= 0:
            if found and found[-1][0] == begun:
                found.pop()
            found.append((begun, event.offset))
    return found


def _whole(text: str | None) -> int | None:
    """Return a setting as an integer, or None if Kafka's controller would have rejected the string."""
    return int(text) if text is not None and WHOLE.fullmatch(text) else None


OF_BROKERS = (
    *("REGISTER_BROKER_RECORD", "UNREGISTER_BROKER_RECORD", "FENCE_BROKER_RECORD", "UNFENCE_BROKER_RECORD"),
    "BROKER_REGISTRATION_CHANGE_RECORD",
)
TYPES = (
    *(*OF_BROKERS, "REGISTER_CONTROLLER_RECORD", "TOPIC_RECORD", "REMOVE_TOPIC_RECORD", "CONFIG_RECORD"),
    *("CLEAR_ELR_RECORD", "FEATURE_LEVEL_RECORD"),
    *("BEGIN_TRANSACTION_RECORD", "END_TRANSACTION_RECORD", "ABORT_TRANSACTION_RECORD"),
)


def _take(made: ClusterContext, event: LogRecord, fields: dict[str, Any]) -> None:
    at = event.offset, event.time
    match event.type:
        case kind if kind in OF_BROKERS:
            broker = fields["id"] if "id" in fields else fields["brokerId"]
            after_gap = bool(made.gaps) and made.gaps[0][1] <= event.offset
            new = Presence([], fenced=False) if after_gap else Presence()
            _stand(made.brokers.setdefault(broker, new), event, fields)
        case "REGISTER_CONTROLLER_RECORD":
            for feature in fields.get("features") or ():
                level = feature.get("maxSupportedVersion")
                if feature.get("name") == METADATA_FEATURE and isinstance(level, int):
                    made.supported[fields["controllerId"]] = level
        case "TOPIC_RECORD":
            made.topics.setdefault(fields["topicId"], Topic(fields["name"], event.offset))
        case "REMOVE_TOPIC_RECORD" if topic := made.topics.get(fields["topicId"]):
            topic.removed = event.offset
            made.own[topic.name].append((*at, "removed", None))
        case "CONFIG_RECORD" if fields["name"] in (MIN_ISR, UNCLEAN, CLEANUP):
            if fields["resourceType"] == TOPIC:
                made.own[fields["resourceName"]].append((*at, fields["name"], fields["value"]))
            elif fields["resourceType"] == BROKER and not fields["resourceName"]:
                made.common.append((*at, fields["name"], fields["value"]))
        case "CLEAR_ELR_RECORD":
            moments = made.own[fields["topicName"]] if fields.get("topicName") else made.common
            moments.append((*at, "clear", None))
        case "FEATURE_LEVEL_RECORD" if fields["name"] in (ELR_FEATURE, METADATA_FEATURE):
            made.common.append((*at, fields["name"], fields["featureLevel"]))


def _stand(presence: Presence, event: LogRecord, fields: dict[str, Any]) -> None:
    match event.type:
        case "REGISTER_BROKER_RECORD":
            if presence.epoch != fields["brokerEpoch"] and not (event.snapshot and presence.epoch < 0):
                presence.registered.append((event.offset, event.time))
            presence.epoch = fields["brokerEpoch"]
            presence.fenced = fields.get("fenced", True)
            presence.stopping = fields.get("inControlledShutdown", False)
        case "BROKER_REGISTRATION_CHANGE_RECORD":
            fenced, stopping = fields.get("fenced", 0), fields.get("inControlledShutdown", 0)
            presence.fenced = presence.fenced if fenced == 0 else fenced == 1
            presence.stopping = presence.stopping or stopping == 1
        case kind:
            presence.fenced = kind != "UNFENCE_BROKER_RECORD"
    presence.change(event.offset, event.time)
