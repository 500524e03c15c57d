"""Files of a metadata log, parts of which may be missing, and copies of brokers' logs. High watermarks and epochs come
from the copies' checkpoints; Kafka's own classes find where copies diverge.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from fencepost.kafka.audit.cluster_context import FOREVER, ClusterContext
from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


TOPIC = "__cluster_metadata-0"
SEGMENT = re.compile(r"^(\d{20})\.log$")
SNAPSHOT = re.compile(r"^(\d{20})-(\d{10})\.checkpoint$")
PARTITION = re.compile(r"^(.+)-(\d{1,9})(?:\.[0-9a-f]{32}-(delete|future|stray))?$", re.ASCII)
CLUSTER = re.compile(r"^cluster\.id=(\S+)", re.MULTILINE)
ARCHIVES = (b"\x1f\x8b", b"PK\x03\x04", b"\xfd7zXZ", b"BZh", b"\x28\xb5\x2f\xfd")
TEXT = frozenset(range(32, 127)) | {9, 10, 13}
HEADER = 61
"""Size of a batch header in bytes. The first batch header of a file contains a checksum, so it identifies the log."""
Kind = Literal["segment", "snapshot", "dump"]


@dataclass
class Note:
    """A one-line description of a problem with a file. `unread` means that the problem left part of the log unread."""

    what: str
    text: str
    count: int = 1
    unread: bool = True


@dataclass
class File:
    """A file of the log. `runs` lists inclusive ranges of offsets; `end` is a snapshot's end offset."""

    number: int
    path: str
    kind: Kind
    end: int = 0
    identity: str = ""
    position: int = 0
    records: int = 0
    runs: list[list[int]] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)

    @classmethod
    def of(cls, data: dict[str, Any]) -> File:
        return cls(**{**data, "notes": [Note(**note) for note in data["notes"]]})


def files_in(paths: Sequence[Path]) -> tuple[list[tuple[Path, Kind, int]], list[Note]]:
    found: list[tuple[Path, Kind, int]] = []
    notes: list[Note] = []
    for path in paths:
        try:
            inside = _inside(path)
        except OSError as error:
            notes.append(Note("unreadable", f"{path} cannot be read: {error.strerror}"))
            continue
        found += [item for item in inside if item[0] not in {known for known, _, _ in found}]
        notes += [Note("empty", f"{file} is empty", unread=False) for file, _, _ in inside if file.stat().st_size == 0]
    look_for_one_cluster([file for file, _, _ in found])
    if not found and not notes:
        disks = any(next(path.rglob("partition.metadata"), None) for path in paths)
        raise UsageError(
            f"no metadata log was found in {', '.join(map(str, paths))}{', only logs of brokers' if disks else ''}. "
            f"Name a controller's {TOPIC} directory{' too' if disks else ''}, a directory that contains such "
            "directories, or a file with the output of kafka-dump-log.sh --cluster-metadata-decoder."
        )
    return found, notes


def _inside(path: Path) -> list[tuple[Path, Kind, int]]:
    if not path.exists():
        raise UsageError(
            f"{path} does not exist. Name the {TOPIC} directory in a controller's metadata.log.dir, a directory that "
            "contains such directories, or a file with the output of kafka-dump-log.sh."
        )
    if path.is_file():
        return [_file(path)]
    inside = [] if is_copy(path) else sorted(path.iterdir())
    if not any(SEGMENT.match(item.name) for item in inside):
        inside = [item for folder in sorted(path.rglob(TOPIC)) for item in sorted(folder.iterdir())] or inside
    return [_file(item) for item in inside if SEGMENT.match(item.name) or SNAPSHOT.match(item.name)]


def place_of(folder: Path) -> tuple[str, int, str]:
    named = PARTITION.match(folder.name)
    return (named[1], int(named[2]), named[3] or "") if named else ("", -1, "")


def is_copy(folder: Path) -> bool:
    own = any((folder / name).is_file() for name in ("partition.metadata", "leader-epoch-checkpoint"))
    return own and place_of(folder)[1] >= 0 and folder.name != TOPIC and not (folder / "quorum-state").is_file()


def value_in(file: Path, pattern: re.Pattern[str]) -> str:
    with suppress(OSError):
        said = pattern.search(file.read_text(errors="replace"))
        return said[1] if said else ""
    return ""


def look_for_one_cluster(files: Sequence[Path]) -> None:
    known: dict[str, Path] = {}
    for log in dict.fromkeys(file.parent for file in files):
        for folder in (log, log.parent):
            if cluster := value_in(folder / "meta.properties", CLUSTER):
                known.setdefault(cluster, log)
                break
    if len(known) > 1:
        (one, here), (other, there), *_ = known.items()
        raise UsageError(
            f"{here} belongs to cluster {one}, but {there} belongs to {other}, according to their meta.properties. An "
            "audit covers one cluster: audit each cluster separately."
        )


def _look_inside(path: Path, *, named: bool) -> None:
    head = b""
    with suppress(OSError), path.open("rb") as opened:
        head = opened.read(512)
    if head.startswith(ARCHIVES) or head[257:262] == b"ustar":
        raise UsageError(f"{path} is an archive: unpack it, and name the {TOPIC} directory in it.")
    if named and head and all(byte in TEXT for byte in head):
        raise UsageError(
            f"{path} contains text, not a log. If the text is output of kafka-dump-log.sh, rename the file so that "
            "its name ends in .txt."
        )
    if not named and b"\0" in head:
        raise UsageError(
            f"{path} is neither output of kafka-dump-log.sh nor named like a Kafka segment (20 digits and .log): name "
            f"the {TOPIC} directory."
        )


def _file(path: Path) -> tuple[Path, Kind, int]:
    _look_inside(path, named=bool(SEGMENT.match(path.name) or SNAPSHOT.match(path.name)))
    if SEGMENT.match(path.name):
        return path.absolute(), "segment", 0
    snapshot = SNAPSHOT.match(path.name)
    return (path.absolute(), "snapshot", int(snapshot[1])) if snapshot else (path.absolute(), "dump", 0)


def identity(path: Path) -> str:
    with path.open("rb") as opened:
        head = opened.read(HEADER)
    return hashlib.sha256(head).hexdigest()[:16] if len(head) == HEADER else ""


def add_run(runs: list[list[int]], first: int, last: int) -> None:
    if runs and runs[-1][1] + 1 == first:
        runs[-1] = [runs[-1][0], last]
    else:
        runs.append([first, last])


@dataclass(frozen=True)
class Coverage:
    """The present, missing and duplicate offsets of a log, as inclusive ranges."""

    chosen: list[tuple[int, int, int]]
    """(file number, first offset, last offset): the file to use for this range of offsets."""
    overlaps: list[tuple[int, int]]
    gaps: list[tuple[int, int]]
    """Offset ranges that are in no file, including the range before the first offset in any file."""

    @classmethod
    def of(cls, files: Iterable[File]) -> Coverage:
        runs = sorted((*run, item.number) for item in files if item.kind != "snapshot" for run in item.runs)
        made = cls([], [], [])
        done = -1
        for first, last, number in sorted(runs, key=lambda run: (run[0], -run[1], run[2])):
            if first > done + 1:
                made.gaps.append((done + 1, first - 1))
            if last > done:
                made.chosen.append((number, max(first, done + 1), last))
                done = last
        done = -1
        for first, last, _ in runs:
            if first <= done:
                made.share(first, min(last, done))
            done = max(done, last)
        return made

    def share(self, first: int, last: int) -> None:
        if self.overlaps and first <= self.overlaps[-1][1] + 1:
            self.overlaps[-1] = (self.overlaps[-1][0], max(self.overlaps[-1][1], last))
        else:
            self.overlaps.append((first, last))


EPOCHS, STOPPED = "leader-epoch-checkpoint", ".kafka_cleanshutdown"
HIGH_WATERMARKS, STARTS = "replication-offset-checkpoint", "log-start-offset-checkpoint"
NODE = re.compile(r"^(?:node|broker)\.id=(\d+)\s*$", re.MULTILINE)
TOPIC_ID = re.compile(r"^topic_id: (\S+)", re.MULTILINE)
TASKS = 2
"""Spark tasks per core; each task starts a Java process."""


@dataclass(frozen=True)
class Copy:
    """A copy of a partition's log on a broker. Unknown values are -1 or empty."""

    path: str
    broker: int
    topic: str
    partition: int
    mark: str
    """Suffix of the directory's name if Kafka renamed it for a deleted, stray or future replica."""
    topic_id: str
    high_watermark: int
    start: int
    """First offset of the log; retention or DeleteRecords requests may have deleted earlier records."""
    stopped: bool
    epochs: tuple[tuple[int, int], ...]
    """Leader epochs and their start offsets, from the leader epoch checkpoint."""
    segments: tuple[str, ...]
    bytes: int
    notes: tuple[str, ...]


class Run(NamedTuple):
    """A range of offsets in which the same copies agree at every offset. `epochs` holds each copy's epoch in this
    range. `same` holds, for each copy, the first copy with the same batches, or -1 if the copy has no batches there.
    """

    first: int
    last: int
    began: int
    ended: int
    epochs: list[int]
    same: list[int]


@dataclass
class Compared:
    copies: list[Copy]
    compacted: bool
    runs: list[Run] = field(default_factory=list)
    notes: list[dict[str, Any]] = field(default_factory=list)
    """Bytes that belong to no batch: their copy and position, and whether they are at the end of the log."""
    whole: bool = True


def copies_in(paths: Sequence[Path], others: Iterable[Path] = ()) -> list[Copy]:
    """Return all copies of brokers' logs below these directories, which must be from the same cluster as `others`."""
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
    notes = list[str]()
    return {(topic, number): int(offset) for topic, number, offset in _entries(path, 3, notes)}, notes


def _copy(folder: Path, read: Callable[[Path], tuple[dict[tuple[str, str], int], list[str]]]) -> Copy:
    disk, notes, (topic, number, mark) = folder.parent, list[str](), place_of(folder)
    segments = sorted(item for item in folder.iterdir() if SEGMENT.match(item.name))
    known, start = -1, int(segments[0].name[:20]) if segments else 0
    if not mark:  # checkpoints belong to the log that replaced a renamed one
        (marks, wrong), (starts, more) = read(disk / HIGH_WATERMARKS), read(disk / STARTS)
        known, start = marks.get((topic, str(number)), -1), max(start, starts.get((topic, str(number)), 0))
        notes += [*wrong, *more]
    epochs = tuple((int(epoch), int(start)) for epoch, start in _entries(folder / EPOCHS, 2, notes))
    if any(one >= other for one, other in pairwise(epochs)):
        notes.append(f"the epochs in {folder / EPOCHS} are out of order")
    node = value_in(disk / "meta.properties", NODE)
    if not node:
        notes.append(
            f"the broker of {folder} is unknown: copy meta.properties from the broker's disk to the parent directory"
        )
    topic_id, stopped = value_in(folder / "partition.metadata", TOPIC_ID), (disk / STOPPED).is_file()
    files, size = tuple(map(str, segments)), sum(item.stat().st_size for item in segments)
    about = topic, number, mark, topic_id, known, start, stopped, epochs
    return Copy(str(folder), int(node or -1), *about, files, size, tuple(notes))


def _entries(path: Path, width: int, notes: list[str]) -> list[list[str]]:
    try:
        version, count, *rows = path.read_text(encoding="utf-8").splitlines() or ["0", "0"]
        found = [row.rsplit(" ", width - 1) for row in rows]
        numbers = all(word.isdecimal() and word.isascii() for row in found for word in row[-2:])
        if version == "0" and int(count) == len(found) and numbers and all(len(row) == width for row in found):
            return found
        notes.append(f"{path} is not a valid checkpoint: its entries do not match its first two lines")
    except FileNotFoundError:
        notes += [f"{path} is missing"] if path.name == EPOCHS else []
    except (OSError, ValueError) as error:
        notes.append(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}")
    return []


def topic_of(copy: Copy, around: ClusterContext) -> tuple[str, tuple[str, bool]]:
    named = [topic_id for topic_id, topic in around.topics.items() if topic.name == copy.topic]
    topic_id = copy.topic_id or (named[-1] if named else "(none)")
    topic = around.topics.get(topic_id)
    now = topic is not None and topic.removed == FOREVER
    if now and (topic_id in named or copy.mark):  # the name of a renamed folder may be truncated
        return topic_id, ("", False)
    why = f"not compared, because its topic id is {topic_id}, but topic {copy.topic} now has a different id"
    return "", (f"{copy.path} is {why}", now or topic is None)


def compare(wanted: list[Compared], command: list[str], sql: SparkSession | None) -> list[Compared]:
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
        raise UsageError(
            f"Kafka's classes could not read the copies: {said[0] if said else 'the process ended without a message'}."
        )
    for line in done.stdout.splitlines():
        made = json.loads(line)
        one = known[made["number"]]
        yield Compared(one.copies, one.compacted, [Run(*run) for run in made["runs"]], made["notes"], made["whole"])
