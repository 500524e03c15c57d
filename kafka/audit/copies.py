"""Copies of brokers' logs beside a metadata log: which there are, what their checkpoints say, and where they part."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from fencepost.kafka.audit.cluster_context import FOREVER
from fencepost.kafka.audit.logs import SEGMENT, is_copy, look_for_one_cluster, place_of, value_in
from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from fencepost.kafka.audit.cluster_context import ClusterContext
    from pyspark.sql import SparkSession

EPOCHS, HIGH_WATERMARKS, STARTS, STOPPED = (
    "leader-epoch-checkpoint",
    "replication-offset-checkpoint",
    "log-start-offset-checkpoint",
    ".kafka_cleanshutdown",
)
NODE = re.compile(r"^(?:node|broker)\.id=(\d+)\s*$", re.MULTILINE)
TOPIC_ID = re.compile(r"^topic_id: (\S+)", re.MULTILINE)
TASKS = 2
"""Tasks of Spark for each of its cores: each starts a process of Java."""


@dataclass(frozen=True)
class Copy:
    """The log of a partition as a broker had it at some time; -1 and an empty text for what is not known."""

    path: str
    broker: int
    topic: str
    partition: int
    mark: str
    """Why the folder was renamed: it is deleted, stray, or not yet in the place of another."""
    topic_id: str
    high_watermark: int
    start: int
    """The first offset: what is before it was deleted by retention or on request."""
    stopped: bool
    """Whether the broker had stopped cleanly when its disk was copied."""
    epochs: tuple[tuple[int, int], ...]
    """Leader epochs and the offsets at which they begin, by the checkpoint."""
    segments: tuple[str, ...]
    bytes: int
    notes: tuple[str, ...]


class Run(NamedTuple):
    """Offsets in which the same copies have the same.

    `epochs` has for each copy the epoch, `same` the first copy that has the same batches; -1 if it has nothing there.
    """

    first: int
    last: int
    began: int
    ended: int
    epochs: list[int]
    same: list[int]


@dataclass
class Compared:
    """The copies of a partition side by side."""

    copies: list[Copy]
    compacted: bool
    runs: list[Run] = field(default_factory=list)
    notes: list[dict[str, Any]] = field(default_factory=list)
    """Bytes that belong to no batch: number of the copy, place, and whether the log ends with them."""
    whole: bool = True


def copies_in(paths: Sequence[Path], others: Iterable[Path] = ()) -> list[Copy]:
    """Return the logs of brokers in some folders, at any depth; all are of the cluster of some `others`."""
    folders = [
        folder
        for path in paths
        if path.is_dir()
        for folder in sorted({path, *(found.parent for found in path.rglob("*.log"))})
        if is_copy(folder)
    ]
    folders = list(dict.fromkeys(folder.absolute() for folder in folders))
    look_for_one_cluster([*others, *(folder / "-" for folder in folders)])
    read = cache(_offsets)
    return [_copy(folder, read) for folder in folders]


def _offsets(path: Path) -> tuple[dict[tuple[str, str], int], list[str]]:
    """Return the offset of each partition by a checkpoint of a disk, and what is wrong with it."""
    notes = list[str]()
    return {(topic, number): int(offset) for topic, number, offset in _entries(path, 3, notes)}, notes


def _copy(folder: Path, read: Callable[[Path], tuple[dict[tuple[str, str], int], list[str]]]) -> Copy:
    disk, notes, (topic, number, mark) = folder.parent, list[str](), place_of(folder)
    segments = sorted(item for item in folder.iterdir() if SEGMENT.match(item.name))
    known, start = -1, int(segments[0].name[:20]) if segments else 0
    if not mark:  # the checkpoints are of the log that has the place of one that was renamed
        (marks, wrong), (starts, more) = read(disk / HIGH_WATERMARKS), read(disk / STARTS)
        known, start = marks.get((topic, str(number)), -1), max(start, starts.get((topic, str(number)), 0))
        notes += [*wrong, *more]
    epochs = tuple((int(epoch), int(start)) for epoch, start in _entries(folder / EPOCHS, 2, notes))
    if any(one >= other for one, other in pairwise(epochs)):
        notes.append(f"{folder / EPOCHS} is not in the order of its epochs")
    node = value_in(disk / "meta.properties", NODE)
    if not node:
        notes.append(f"{folder} is of an unknown broker: there is no meta.properties beside it; copy it from the disk")
    return Copy(
        str(folder),
        int(node or -1),
        topic,
        number,
        mark,
        value_in(folder / "partition.metadata", TOPIC_ID),
        known,
        start,
        (disk / STOPPED).is_file(),
        epochs,
        tuple(map(str, segments)),
        sum(item.stat().st_size for item in segments),
        tuple(notes),
    )


def _entries(path: Path, width: int, notes: list[str]) -> list[list[str]]:
    """Return the lines of a checkpoint of Kafka; if it is damaged, what is wrong becomes a note."""
    try:
        version, count, *rows = path.read_text(encoding="utf-8").splitlines() or ["0", "0"]
        found = [row.rsplit(" ", width - 1) for row in rows]
        numbers = all(word.isdecimal() and word.isascii() for row in found for word in row[-2:])
        if version == "0" and int(count) == len(found) and numbers and all(len(row) == width for row in found):
            return found
        notes.append(f"{path} is not a checkpoint: its lines are not as its first two lines say")
    except FileNotFoundError:
        notes += [f"{path} is missing"] if path.name == EPOCHS else []
    except (OSError, ValueError) as error:
        notes.append(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}")
    return []


def topic_of(copy: Copy, around: ClusterContext) -> tuple[str, tuple[str, bool]]:
    """Return the id of the topic that a copy is of; empty, with a note, if it is not one that the cluster has now."""
    named = [topic_id for topic_id, topic in around.topics.items() if topic.name == copy.topic]
    topic_id = copy.topic_id or (named[-1] if named else "(none)")
    topic = around.topics.get(topic_id)
    now = topic is not None and topic.removed == FOREVER
    if now and (topic_id in named or copy.mark):  # the name of a folder that was renamed may be cut short
        return topic_id, ("", False)
    why = f"of the topic id {topic_id}, which is not that of a topic {copy.topic} now: it is not compared"
    return "", (f"{copy.path} is {why}", now or topic is None)


def compare(wanted: list[Compared], command: list[str], sql: SparkSession | None) -> list[Compared]:
    """Have Kafka's classes compare the copies of each partition, in one process or on Spark."""
    if sql is None or not wanted:
        return list(_compare(command, wanted))
    tasks = min(len(wanted), TASKS * sql.sparkContext.defaultParallelism)
    return list(sql.sparkContext.parallelize(wanted, tasks).mapPartitions(partial(_compare, command)).collect())


def _compare(command: list[str], wanted: Iterable[Compared]) -> Iterator[Compared]:
    known = list(wanted)
    asked = "".join(
        json.dumps({"number": number, "compacted": one.compacted, "copies": [copy.segments for copy in one.copies]})
        + "\n"
        for number, one in enumerate(known)
    )
    done = subprocess.run(command, input=asked, capture_output=True, text=True, check=False)  # noqa: S603 (our own)
    if done.returncode != 0:
        said = [line for line in done.stderr.splitlines() if line and not line.startswith(("SLF4J", "\tat"))]
        raise UsageError(f"Kafka's classes could not read the copies: {said[0] if said else 'they ended at once'}.")
    for line in done.stdout.splitlines():
        made = json.loads(line)
        one = known[made["number"]]
        yield Compared(one.copies, one.compacted, [Run(*run) for run in made["runs"]], made["notes"], made["whole"])
