"""Metadata logs of any size with planted violations. Walks of the model produce them, and Kafka's classes encode them.

A random walk through `replication` gives the controller's changes to a partition and its brokers. Each walk has its own
brokers and its own topic of many partitions, which all change together, like the partitions of a broker that is fenced.
The seed determines everything.
"""

import base64
import itertools
import json
import os
import random
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from fencepost.kafka.audit.reading import NEWEST, SOURCES
from fencepost.kafka.driver.releases import compile_driver, fetch_kafka, tool
from fencepost.kafka.driver.walks import walk
from fencepost.model.cluster.machine import MACHINE
from fencepost.model.cluster.state import newest
from fencepost.model.language import NONE, bits
from fencepost.model.language.interpreter import Interpreter

BUDGETS = {
    "brokers": 3,
    "max_records": 0,
    "min_isr": 2,
    "metadata_lag": 24,
    "max_leader_epoch": 12,
    "fences": 6,
    "shrinks": 4,
}
MORE = {"crashes": 2, "clean_stops": 2, "elections": 4, "loss": 0}
STEPS = 220
CHANGES = 9
"""The maximum number of changes to a partition in one walk: with a million partitions, ten million records."""
BATCH = 8_000
"""The maximum number of records in a batch; the controller's own limit is 10,000."""
APART = 5_000
"""The time between two steps of a walk in milliseconds."""
SEGMENT = 64 << 20
BEGIN = 1_700_000_000_000
OUTSIDE = 99_999


@dataclass(frozen=True)
class Happening:
    """A step of the controller: the change to the partition, and the records about brokers before and after it."""

    before: tuple[tuple[str, int], ...] = ()
    change: dict[str, Any] | None = None
    after: tuple[tuple[str, int], ...] = ()


@dataclass
class Template:
    """A walk as records. `last` is the state of the partition after the walk."""

    happenings: list[Happening] = field(default_factory=list)
    last: dict[str, Any] = field(default_factory=dict)


@dataclass
class Written:
    records: int = 0
    partitions: int = 0
    planted: dict[str, str] = field(default_factory=dict)
    exposed: dict[str, str] = field(default_factory=dict)


def templates(count: int, seed: int) -> list[Template]:
    """Return walks as records, leaving out those in which little happens."""
    version = next(item for item in MACHINE.versions if item.name == "kafka-4.1")
    plain = Interpreter(MACHINE, MACHINE.constants(**{**version.values, **BUDGETS, **MORE}))
    initial = plain.initial_states()[0]
    made: list[Template] = []
    number = 0
    while len(made) < count:
        states = [plain.read(initial)]
        chance = random.Random(f"{seed} {number}")  # noqa: S311 (no secret)
        states += [plain.read(step.after) for step in walk(plain, initial, STEPS, chance)]
        number += 1
        found = _template(states)
        if sum(item.change is not None for item in found.happenings) >= 4:
            made.append(found)
    return made


def _template(states: list[Any]) -> Template:
    made = Template()
    recovering = 0
    for one, other in itertools.pairwise(states):
        change, recovering = _change(one, other, recovering)
        before, after = _events(newest(one), newest(other))
        if sum(item.change is not None for item in made.happenings) == CHANGES:
            break
        if change or before or after:
            made.happenings.append(Happening(before, change or None, after))
    image = newest(states[-1])
    made.last = {
        "isr": _members(image.isr),
        "leader": image.leader,
        "elr": _members(states[-1].elr),
        "recovering": recovering,
    }
    return made


def _members(mask: int) -> list[int]:
    return [broker for broker in range(3) if bits.contains(mask, broker)]


def _change(one: Any, other: Any, recovering: int) -> tuple[dict[str, Any], int]:
    before, after = newest(one), newest(other)
    found: dict[str, Any] = {}
    if after.isr != before.isr:
        found["isr"] = _members(after.isr)
    if after.leader_epoch != before.leader_epoch:
        found["leader"] = after.leader
    if other.elr != one.elr:
        found["eligibleLeaderReplicas"] = _members(other.elr)
    if other.last_known_leader != one.last_known_leader:
        found["lastKnownElr"] = [] if other.last_known_leader == NONE else [other.last_known_leader]
    unclean = after.leader not in (NONE, before.leader) and not bits.contains(before.isr | one.elr, after.leader)
    if found and unclean != bool(recovering):
        recovering = int(unclean)
        found["leaderRecoveryState"] = recovering
    return found, recovering


def _events(before: Any, after: Any) -> tuple[tuple[tuple[str, int], ...], tuple[tuple[str, int], ...]]:
    first, last = [], []
    for broker in range(3):
        if after.broker_epoch[broker] != before.broker_epoch[broker]:
            first.append(("register", broker))
            continue
        was, now = bits.contains(before.fenced, broker), bits.contains(after.fenced, broker)
        if was and not now:
            first.append(("unfence", broker))
        elif now and not was:
            last.append(("fence", broker))
        if bits.contains(after.stopping, broker) and not bits.contains(before.stopping, broker):
            last.append(("stop", broker))
    return tuple(first), tuple(last)


class Writer:
    def __init__(self, to: IO[str]) -> None:
        self._to, self._count = to, 0
        self.time, self.records = BEGIN, 0

    def begin(self) -> None:
        self._to.write(f"1\t{self.time}\n")
        self._count = 0

    def record(self, kind: str, version: int, fields: dict[str, Any]) -> None:
        self.text(f"{kind}\t{version}\t{json.dumps(fields, separators=(',', ':'))}\n")

    def text(self, line: str) -> None:
        if self._count == BATCH:
            self.begin()
        self._to.write(line)
        self._count += 1
        self.records += 1

    def change(self, topic: str, partition: int, fields: dict[str, Any]) -> None:
        self.record("PARTITION_CHANGE_RECORD", 2, {"partitionId": partition, "topicId": topic, **fields})


def uuid(number: int) -> str:
    return base64.urlsafe_b64encode(number.to_bytes(16, "big")).decode().rstrip("=")


class Group:
    def __init__(self, number: int, template: Template, partitions: int) -> None:
        self.template, self.partitions = template, partitions
        self.topic, self.name = uuid(number + 1_000), f"g{number}"
        self.first = 10 + 3 * number
        self.skipped: dict[int, int] = {}
        """For each partition, the number of the step whose change is omitted."""

    def brokers(self, numbers: list[int]) -> list[int]:
        return [self.first + number for number in numbers]

    def create(self, to: Writer) -> None:
        to.begin()
        for number in range(3):
            self._event(to, "register", number)
            self._event(to, "unfence", number)
        create(to, self.topic, self.name, self.brokers([0, 1, 2]), self.partitions)

    def happen(self, to: Writer, step: int) -> None:
        if step >= len(self.template.happenings):
            return
        item = self.template.happenings[step]
        to.begin()
        for kind, broker in item.before:
            self._event(to, kind, broker)
        if item.change is not None:
            fields = {name: self._named(name, value) for name, value in item.change.items()}
            tail = json.dumps(fields, separators=(",", ":"))[1:]
            for partition in range(self.partitions):
                if self.skipped.get(partition) != step:
                    to.text(
                        f'PARTITION_CHANGE_RECORD\t2\t{{"partitionId":{partition},"topicId":"{self.topic}",{tail}\n'
                    )
        for kind, broker in item.after:
            self._event(to, kind, broker)

    def _named(self, name: str, value: Any) -> Any:
        if name == "leaderRecoveryState" or value == NONE:
            return value
        return self.brokers(value) if isinstance(value, list) else self.first + value

    def _event(self, to: Writer, kind: str, number: int) -> None:
        broker = self.first + number
        if kind == "register":
            fields = {
                "brokerId": broker,
                "isMigratingZkBroker": False,
                "incarnationId": uuid(to.records),
                "brokerEpoch": to.records,
            }
            more = {
                "endPoints": [],
                "features": [],
                "rack": None,
                "fenced": True,
                "inControlledShutdown": False,
                "logDirs": [],
            }
            to.record("REGISTER_BROKER_RECORD", 3, {**fields, **more})
            return
        says = {"unfence": {"fenced": -1}, "fence": {"fenced": 1}, "stop": {"inControlledShutdown": 1}}[kind]
        to.record("BROKER_REGISTRATION_CHANGE_RECORD", 1, {"brokerId": broker, "brokerEpoch": 1, **says})


def create(to: Writer, topic: str, name: str, brokers: list[int], partitions: int) -> None:
    to.record("TOPIC_RECORD", 0, {"name": name, "topicId": topic})
    to.record(
        "CONFIG_RECORD", 0, {"resourceType": 2, "resourceName": name, "name": "min.insync.replicas", "value": "2"}
    )
    for partition in range(partitions):
        to.record("PARTITION_RECORD", 2, created(topic, partition, brokers))


def created(topic: str, partition: int, brokers: list[int]) -> dict[str, Any]:
    fields = {"partitionId": partition, "topicId": topic, "replicas": brokers, "isr": brokers, "removingReplicas": []}
    more = {"addingReplicas": [], "leader": brokers[0], "leaderEpoch": 0, "partitionEpoch": 0}
    return {**fields, **more, "directories": [uuid(broker) for broker in brokers]}


def write(folder: Path, *, records: int, seed: int, plant: int = 10, groups: int = 200, hot: int = 0) -> Written:
    """Write a log of about this many records, with `plant` violations per kind and a partition with `hot` changes."""
    made = templates(groups, seed)
    changes = sum(sum(item.change is not None for item in template.happenings) + 1 for template in made)
    partitions = max(plant, (records - hot) // changes)
    found = [Group(number, template, partitions) for number, template in enumerate(made)]
    written = Written(partitions=partitions * groups)
    jars = fetch_kafka(NEWEST)
    path = os.pathsep.join([str(compile_driver(NEWEST, jars, (SOURCES,))), f"{jars}{os.sep}*"])
    folder.mkdir(parents=True, exist_ok=True)
    command = [
        tool("java"),
        "-Xmx1g",
        "-XX:+UseSerialGC",
        "-cp",
        path,
        "fencepost.audit.Encode",
        str(folder),
        "0",
        str(SEGMENT),
    ]
    with subprocess.Popen(command, stdin=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        to = Writer(process.stdin)
        chance = random.Random(seed)  # noqa: S311 (no secret)
        _all(to, found, written, chance, plant, hot)
        process.stdin.close()
    written.records = to.records
    return written


def _all(to: Writer, groups: list[Group], written: Written, chance: random.Random, plant: int, hot: int) -> None:
    to.begin()
    to.record("FEATURE_LEVEL_RECORD", 0, {"name": "metadata.version", "featureLevel": 27})
    to.record("FEATURE_LEVEL_RECORD", 0, {"name": "eligible.leader.replicas.version", "featureLevel": 1})
    quiet = Group(
        len(groups), Template(last={"isr": [0, 1, 2], "leader": 0, "elr": [], "recovering": 0}), len(PLANTED) * plant
    )
    for group in (*groups, quiet):
        group.create(to)
    _skip(groups, written, chance, plant)
    longest = max(len(group.template.happenings) for group in groups)
    for step in range(longest):
        to.time += APART
        for group in groups:
            group.happen(to, step)
    to.time += APART
    _hot(to, quiet, hot)
    for number, (name, planted) in enumerate(PLANTED.items()):
        for partition in range(number * plant, (number + 1) * plant):
            to.time += APART
            to.begin()
            written.planted[planted(to, quiet, partition)] = name
    _clear_and_delete(to, quiet, written, plant)
    _turn_off(to, len(groups) + 1, written, plant)
    to.time += APART
    to.begin()
    to.record("NO_OP_RECORD", 0, {})


def _clear_and_delete(to: Writer, quiet: Group, written: Written, plant: int) -> None:
    """Write topics whose ELR is cleared by a change of min ISR, and which are then deleted (HYP-13)."""
    for number in range(plant):
        topic, name = uuid(900 + number), f"cleared{number}"
        to.time += APART
        to.begin()
        create(to, topic, name, quiet.brokers([0, 1, 2]), 1)
        to.change(topic, 0, {"isr": quiet.brokers([0, 1])})
        to.change(topic, 0, {"isr": quiet.brokers([0]), "eligibleLeaderReplicas": quiet.brokers([1])})
        to.record(
            "CONFIG_RECORD", 0, {"resourceType": 2, "resourceName": name, "name": "min.insync.replicas", "value": "1"}
        )
        to.record("CLEAR_ELR_RECORD", 0, {"topicName": name})
        to.record("REMOVE_TOPIC_RECORD", 0, {"topicId": topic})
        written.exposed[f"{name}-0"] = "cleared-then-deleted"


def _turn_off(to: Writer, number: int, written: Written, plant: int) -> None:
    """Write a topic that has no leader when ELR is turned off; then one of its eligible brokers returns after a crash.

    HYP-14.
    """
    happenings = [
        Happening(change={"isr": [0, 1]}, after=(("fence", 2),)),
        Happening(change={"isr": [0], "eligibleLeaderReplicas": [1]}, after=(("fence", 1),)),
        Happening(
            change={"isr": [], "leader": NONE, "eligibleLeaderReplicas": [0, 1], "lastKnownElr": [0]},
            after=(("fence", 0),),
        ),
        Happening(before=(("register", 1),)),
        Happening(
            before=(("unfence", 1),), change={"isr": [1], "leader": 1, "eligibleLeaderReplicas": [], "lastKnownElr": []}
        ),
    ]
    group = Group(number, Template(happenings), plant)
    group.create(to)
    for step in range(len(happenings)):
        to.time += APART
        if step == len(happenings) - 2:
            to.begin()
            to.record("FEATURE_LEVEL_RECORD", 0, {"name": "eligible.leader.replicas.version", "featureLevel": 0})
        group.happen(to, step)
    written.exposed.update({f"{group.name}-{partition}": "stale-elr-elected" for partition in range(plant)})


def _skip(groups: list[Group], written: Written, chance: random.Random, plant: int) -> None:
    """Omit changes of partitions when a broker in their ISR is fenced, if these partitions do not change later."""
    fitting = []
    for group in groups:
        steps = [step for step, item in enumerate(group.template.happenings) if item.change is not None]
        last = steps[-1]
        item = group.template.happenings[last]
        if any(kind == "fence" for kind, _ in item.after) and "isr" in (item.change or {}):
            fitting.append((group, last))
    for group, last in [chance.choice(fitting) for _ in range(plant)] if fitting else []:
        partition = chance.choice([number for number in range(group.partitions) if number not in group.skipped])
        group.skipped[partition] = last
        written.planted[f"{group.name}-{partition}"] = "left-in-the-isr"


def _hot(to: Writer, quiet: Group, hot: int) -> None:
    topic = uuid(7)
    to.begin()
    create(to, topic, "hot", quiet.brokers([0, 1, 2]), 1)
    for number in range(hot):
        if number % 100 == 0:
            to.time += 1
            to.begin()
        to.change(topic, 0, {"isr": quiet.brokers([0, 1] if number % 2 == 0 else [0, 1, 2])})
    to.time += APART


def _simple(**fields: Any) -> Callable[[Writer, Group, int], str]:
    def plant(to: Writer, group: Group, partition: int) -> str:
        named = {
            name: [group.first + one if one < 3 else one for one in value]
            if isinstance(value, list)
            else value + group.first
            for name, value in fields.items()
        }
        to.change(group.topic, partition, named)
        return f"{group.name}-{partition}"

    return plant


def _leaderless(to: Writer, group: Group, partition: int) -> str:
    to.change(group.topic, partition, {"leader": -1})
    to.time += APART
    return f"{group.name}-{partition}"


def _again(to: Writer, group: Group, partition: int) -> str:
    to.record("PARTITION_RECORD", 2, created(group.topic, partition, group.brokers([0, 1, 2])))
    return f"{group.name}-{partition}"


def _deleted(to: Writer, group: Group, partition: int) -> str:
    topic, name = uuid(500 + partition), f"deleted{partition}"
    create(to, topic, name, group.brokers([0, 1, 2]), 1)
    to.record("REMOVE_TOPIC_RECORD", 0, {"topicId": topic})
    to.change(topic, 0, {"isr": group.brokers([0, 1])})
    return f"{name}-0"


PLANTED: dict[str, Callable[[Writer, Group, int], str]] = {
    "isr-outside-replicas": _simple(isr=[0, 1, 2, OUTSIDE]),
    "leader-outside-isr": _simple(isr=[1, 2]),
    "elr-overlaps-isr": _simple(isr=[0], eligibleLeaderReplicas=[0, 1, 2]),
    "elr-without-replica": _simple(isr=[0], eligibleLeaderReplicas=[1, 2, OUTSIDE]),
    "elr-above-min-isr": _simple(isr=[0, 1], eligibleLeaderReplicas=[2]),
    "member-forgotten": _simple(isr=[0]),
    "epoch-not-opened": _simple(replicas=[0, 1], isr=[0, 1]),
    "nobody-elected": _leaderless,
    "created-twice": _again,
    "changed-after-deletion": _deleted,
}
"""Violations that a single record plants. An eleventh kind omits a partition when a broker is fenced."""


def names() -> Iterator[str]:
    yield from (*PLANTED, "left-in-the-isr")
