"""Conversion of metadata logs to Parquet. Kafka's own classes decode the records; later runs append new records. Output
of `kafka-dump-log.sh --cluster-metadata-decoder` is converted to the format that Fencepost's decoder writes.
"""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fencepost.explorers.running import sealed
from fencepost.explorers.running.files import read_file, write_file
from fencepost.kafka.audit.logs import Coverage, File, Note, add_run, files_in, identity
from fencepost.kafka.driver.releases import RELEASES, compile_driver, java_version, locate_release, tool
from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import RecordBatch

BATCH = re.compile(r"baseOffset: (\d{1,18}) lastOffset: (\d{1,18}) ", re.ASCII)
EPOCH = re.compile(r"partitionLeaderEpoch: (-?\d{1,9})\b", re.ASCII)
CONTROL = re.compile(r"isControl: (\w+)")
VALID = re.compile(r"isvalid: (\w+)")
RECORD = re.compile(r"\|? ?offset: (\d{1,18}) ", re.ASCII)
TIME = re.compile(r"(?:CreateTime|LogAppendTime): (-?\d{1,18}) ", re.ASCII)
PAYLOAD = "payload:"
MOST = 5
OTHERS = {
    "damaged": "batches that the tool reports as invalid",
    "refused": "records that do not belong to the metadata log",
    "strange": "lines in an unknown format",
}
LONGEST = 1 << 24


def lines(path: Path, number: int, runs: list[list[int]], notes: list[Note], after: int = -1) -> Iterator[bytes]:
    """Yield a line for each record after an offset; add the records' offsets to `runs`, and notes on invalid text."""
    last, epoch, control, newest, repeated = -1, -1, False, -1, 0
    with path.open(encoding="utf-8", errors="replace") as opened:
        for at, line in enumerate(iter(partial(opened.readline, LONGEST), ""), 1):
            if len(line) == LONGEST and not line.endswith("\n"):
                text = (
                    f"{path}, line {at}: the line has more than {LONGEST:,} characters, too many for a valid record, "
                    "so the rest was not read"
                )
                notes.append(Note("damaged", text))
                return
            batch = _batch(line)
            record = _record(line.rstrip("\n"))
            if batch:
                first, last, epoch, control = batch
                valid = VALID.search(line)
                if valid and valid[1] != "true":
                    _note(notes, "damaged", path, at, f"the tool reports an invalid batch at offset {first}")
                if control and first > newest:
                    add_run(runs, first, last)
                    newest = last
            elif record and not control:
                offset, time, payload = record
                found = _payload(payload)
                if found is None:
                    _note(
                        notes, "refused", path, at, f"the record does not belong to the metadata log: {payload[:60]!r}"
                    )
                    continue
                kind, version, about, fields = found
                if offset <= newest and any(first <= offset <= end for first, end in runs):
                    repeated += 1
                    continue
                add_run(runs, offset, offset)
                newest = max(newest, offset)
                if offset > after:
                    columns = (number, offset, max(last, offset), epoch, time, kind, version, about, fields)
                    yield ("\t".join(map(str, columns)) + "\n").encode()
            elif not (record or line.startswith(("Dumping ", "Log starting ", "Snapshot end", "|"))) and line.strip():
                _note(notes, "strange", path, at, f"the line is not output of kafka-dump-log.sh: {line.strip()[:60]!r}")
    if repeated:
        text = f"{path}: {repeated:,} records were left out, because their offsets had already occurred in the file"
        notes.append(Note("repeated", text, repeated, unread=False))


def _batch(line: str) -> tuple[int, int, int, bool] | None:
    found = BATCH.search(line)
    epoch = EPOCH.search(line, found.end()) if found else None
    control = CONTROL.search(line, epoch.end()) if epoch else None
    return (int(found[1]), int(found[2]), int(epoch[1]), control[1] == "true") if found and epoch and control else None


def _record(line: str) -> tuple[int, int, str] | None:
    found = RECORD.match(line)
    time = TIME.search(line, found.end()) if found else None
    at = line.find(PAYLOAD, time.end()) if time else -1
    if found and time and at >= 0:
        return (int(found[1]), int(time[1]), line[at + len(PAYLOAD) :].removeprefix(" "))
    return None


def _payload(text: str) -> tuple[str, int, str, str] | None:
    try:
        found = json.loads(text)
        kind, version, data = found["type"], found["version"], found["data"]
        json.dumps(data, ensure_ascii=False).encode()  # invalid text raises UnicodeEncodeError
        if not fits(kind, version, data):
            return None
        about = f"{data.get('topicId', '')}\t{data.get('partitionId', -1)}"
        return kind, version, about, json.dumps(data, separators=(",", ":"))
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _note(notes: list[Note], what: str, path: Path, at: int, said: str) -> None:
    same = [note for note in notes if note.what == what]
    if len(same) < MOST - 1:
        notes.append(Note(what, f"{path}, line {at}: {said}"))
    elif len(same) < MOST:
        notes.append(Note(what, f"{path}: 1 more: {OTHERS[what]}"))
    else:
        same[-1].count += 1
        same[-1].text = f"{path}: {same[-1].count:,} more: {OTHERS[what]}"


NAME = re.compile(r"[A-Z0-9_]{1,80}", re.ASCII)
ID = re.compile(r"[A-Za-z0-9_+/=-]{0,80}", re.ASCII)
Shape = Callable[[object], bool]


def _number(least: int, beyond: int) -> Shape:
    return lambda value: type(value) is int and least <= value < beyond


def _of(kind: type) -> Shape:
    return lambda value: isinstance(value, kind)


def _each(shape: Shape) -> Shape:
    return lambda value: isinstance(value, list) and all(map(shape, value))


def _or_none(shape: Shape) -> Shape:
    return lambda value: value is None or shape(value)


_INT8, _INT16, _INT32, _INT64 = (_number(-(1 << bits - 1), 1 << bits - 1) for bits in (8, 16, 32, 64))
_EPOCH = _number(-1, 1 << 30)
"""Upper limits for epochs, which grow by one at a time and never get that high."""
_text, _flag = _of(str), _of(bool)
_brokers, _objects = _each(_number(0, 1 << 31)), _each(_of(dict))
_SOME = _or_none(_brokers)
WHERE: dict[str, Shape] = {"topicId": _text, "partitionId": _INT32}
_LISTS = ("removingReplicas", "addingReplicas", "eligibleLeaderReplicas", "lastKnownElr")
_OPTIONAL: dict[str, Shape] = {**dict.fromkeys(_LISTS, _SOME), "leaderRecoveryState": _INT8}
_PARTITION: dict[str, Shape] = {"replicas": _brokers, "isr": _brokers, "leader": _INT32}
_FLAGS: dict[str, Shape] = {"fenced": _flag, "inControlledShutdown": _flag}
FIELDS: dict[str, tuple[dict[str, Shape], dict[str, Shape]]] = {
    "PARTITION_RECORD": ({**WHERE, **_PARTITION, "leaderEpoch": _EPOCH, "partitionEpoch": _EPOCH}, _OPTIONAL),
    "PARTITION_CHANGE_RECORD": (WHERE, {**_OPTIONAL, "replicas": _SOME, "isr": _SOME, "leader": _INT32}),
    "REGISTER_BROKER_RECORD": ({"brokerId": _INT32, "brokerEpoch": _INT64}, _FLAGS),
    "UNREGISTER_BROKER_RECORD": ({"brokerId": _INT32}, {}),
    "FENCE_BROKER_RECORD": ({"id": _INT32}, {}),
    "UNFENCE_BROKER_RECORD": ({"id": _INT32}, {}),
    "BROKER_REGISTRATION_CHANGE_RECORD": ({"brokerId": _INT32}, dict.fromkeys(_FLAGS, _INT8)),
    "REGISTER_CONTROLLER_RECORD": ({"controllerId": _INT32}, {"features": _objects}),
    "TOPIC_RECORD": ({"topicId": _text, "name": _text}, {}),
    "REMOVE_TOPIC_RECORD": ({"topicId": _text}, {}),
    "CONFIG_RECORD": ({"resourceType": _INT8, "resourceName": _text, "name": _text, "value": _or_none(_text)}, {}),
    "CLEAR_ELR_RECORD": ({}, {"topicName": _or_none(_text)}),
    "FEATURE_LEVEL_RECORD": ({"name": _text, "featureLevel": _INT16}, {}),
}


def fits(kind: object, version: object, data: object) -> bool:
    if not (isinstance(kind, str) and NAME.fullmatch(kind) and isinstance(data, dict)):
        return False
    needed, optional = FIELDS.get(kind, ({}, {}))
    there = {name: shape for name, shape in {**WHERE, **optional, **needed}.items() if name in data}
    return (
        set(needed) <= set(data)
        and _INT16(version)
        and all(shape(data[name]) for name, shape in there.items())
        and ID.fullmatch(data.get("topicId", "")) is not None
    )


FORMAT = 1
MANIFEST = "records.json"
RECORDS = "records"
PART = re.compile(r"part-\d{5,}\.parquet", re.ASCII)
SOURCES = Path(__file__).parent / "java"
NEWEST = list(RELEASES)[-1]
"""Default release for decoding. Every release can read the logs of earlier releases."""
COLUMNS = """file int, offset bigint, batch_end bigint, epoch int, time bigint, type string, version smallint,
topic_id string, partition int, fields string"""
FINDING = """sort string, severity string, offset bigint, time bigint, end bigint, lasted bigint, brokers brokers,
text string"""
ROWS = 500_000
"""Rows per row group of a Parquet file. One Spark task reads one row group."""
JAVA_OPTIONS = ("-XX:+UseSerialGC", "-Xmx768m", "-XX:-UsePerfData")


@cache
def arrow_schema(columns: str) -> pa.Schema:
    import pyarrow as pa

    kinds = {"string": pa.string(), "smallint": pa.int16(), "int": pa.int32(), "bigint": pa.int64()}
    kinds |= {"boolean": pa.bool_(), "brokers": pa.list_(pa.int32())}
    if columns != FINDING:
        kinds["findings"] = pa.list_(pa.struct(list(arrow_schema(FINDING))))
    return pa.schema([(name, kinds[kind]) for name, kind in (column.split() for column in columns.split(","))])


@dataclass
class Reading:
    folder: Path
    files: list[File] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    added: int = 0
    before: bytes | None = None
    """The manifest as it was before the files were read."""

    @property
    def every_note(self) -> list[Note]:
        return [*self.notes, *(note for item in self.files for note in item.notes)]

    @property
    def records(self) -> int:
        return sum(item.records for item in self.files)

    @cached_property
    def coverage(self) -> Coverage:
        return Coverage.of(self.files)

    @property
    def paths(self) -> list[str]:
        return [str(self.folder / RECORDS / name) for name in self.parts]

    def save(self) -> None:
        data = {"format": FORMAT, "parts": self.parts, "files": list(map(asdict, self.files))}
        write_file(self.folder / MANIFEST, sealed.seal(data))

    def undo(self) -> None:
        """Restore the manifest as it was before the files were read, because their records were refused."""
        if self.before is None:
            (self.folder / MANIFEST).unlink()
        else:
            write_file(self.folder / MANIFEST, self.before)


def earlier(folder: Path) -> Reading:
    refused = UsageError(
        f"{folder} contains no readable {MANIFEST} of an audit: leave out `resume=True` and choose another directory."
    )
    try:
        before = read_file(folder / MANIFEST)
        data = sealed.read_sealed(before, folder / MANIFEST, FORMAT)
    except (OSError, sealed.DamagedError) as error:
        raise refused from error
    files, parts = [File.of(item) for item in data["files"]], data["parts"]
    if not all(PART.fullmatch(name) and (folder / RECORDS / name).is_file() for name in parts):
        raise refused
    return Reading(folder, files, parts, before=before)


def _parts_in(folder: Path) -> list[Path]:
    records = folder / RECORDS
    try:
        if not records.is_symlink():
            records.mkdir(parents=True, exist_ok=True)
            found = list(records.iterdir())
            if all(PART.fullmatch(item.name) and item.is_file() for item in found):
                return found
    except FileExistsError:
        pass
    raise UsageError(f"{records} is not a folder that contains only an audit's records: choose another `output=`.")


def read(paths: Sequence[Path], folder: Path, kafka: str | None, jars: Path | None, *, resume: bool) -> Reading:
    begun = resume and not (folder / MANIFEST).exists()  # ended before it wrote a manifest
    if begun and {item.name for item in folder.iterdir()} - {RECORDS, f"{MANIFEST}.new"}:
        raise UsageError(f"{folder} contains no audit: leave out `resume=True` and choose another directory.")
    reading = earlier(folder) if resume and not begun else Reading(folder)
    found, reading.notes = files_in(paths)
    for part in _parts_in(folder):
        if part.name not in reading.parts:
            part.unlink()
    known = {item.path: item for item in reading.files}
    wanted = []
    for path, kind, end in found:
        item = known.get(str(path))
        if item is None:
            item = File(len(reading.files), str(path), kind, end)
            reading.files.append(item)
        if _has_more(item, reading):
            wanted.append(item)
    binary = [item for item in wanted if item.kind != "dump"]
    if binary:
        _take(reading, _Decoder(binary, command(kafka, jars, "Decode")))
    for item in wanted:
        if item.kind == "dump":
            _take_dump(reading, item)
    reading.save()
    return reading


def _take_dump(reading: Reading, item: File) -> None:
    """Append the new records of a dump. The whole dump is parsed again, and its earlier notes are replaced."""
    path, before = Path(item.path), reading.added
    after = max((last for _, last in item.runs), default=-1)
    item.notes, item.runs = [], []
    item.position = path.stat().st_size  # the file may grow in the meantime
    _take(reading, _Lines(lines(path, item.number, item.runs, item.notes, after)))
    item.records += reading.added - before


def _has_more(item: File, reading: Reading) -> bool:
    path = Path(item.path)
    try:
        size, now = path.stat().st_size, identity(path)
    except OSError as error:
        reading.notes.append(Note("unreadable", f"{path} cannot be read: {error.strerror}"))
        return False
    if (item.identity and now != item.identity) or size < item.position:
        raise UsageError(
            f"{path} is not the file that was read into {reading.folder}: leave out `resume=True` and choose "
            "another directory."
        )
    item.identity = now
    return size > item.position


def _take(reading: Reading, rows: io.RawIOBase) -> None:
    """Write rows to a Parquet file, which is valid once the manifest lists it."""
    from pyarrow.parquet import ParquetWriter

    name = f"part-{len(reading.parts):05}.parquet"
    batches = _batches(rows)
    first = next(batches, None)
    if first is None:
        return
    with ParquetWriter(reading.folder / RECORDS / name, first.schema, compression="zstd") as writer:
        held, count = [first], first.num_rows
        for batch in batches:
            held.append(batch)
            count += batch.num_rows
            if count >= ROWS:
                reading.added += _write(writer, held)
                held, count = [], 0
        reading.added += _write(writer, held)
    reading.parts.append(name)


def _write(writer: Any, held: list[RecordBatch]) -> int:
    from pyarrow import Table

    if not held:
        return 0
    table = Table.from_batches(held)
    writer.write_table(table, row_group_size=ROWS)
    return int(table.num_rows)


def _batches(rows: io.RawIOBase) -> Iterator[RecordBatch]:
    from pyarrow import csv

    buffered = io.BufferedReader(rows, 1 << 20)
    if not buffered.peek(1):
        return
    schema = arrow_schema(COLUMNS)
    yield from csv.open_csv(
        buffered,
        csv.ReadOptions(column_names=schema.names, block_size=8 << 20, use_threads=False),
        csv.ParseOptions(
            delimiter="\t", quote_char=False, double_quote=False, escape_char=False, newlines_in_values=False
        ),
        csv.ConvertOptions(column_types=schema, strings_can_be_null=False),
    )


def command(kafka: str | None, jars: Path | None, main: str) -> list[str]:
    try:
        java_version()
    except UsageError as error:
        raise UsageError(f"{error} Output of kafka-dump-log.sh can be read without Java.") from error
    version, folder, _ = locate_release(kafka or (None if jars else NEWEST), jars)
    path = os.pathsep.join([str(compile_driver(version, folder, (SOURCES,))), f"{folder}{os.sep}*"])
    return [tool("java"), *JAVA_OPTIONS, "-cp", path, f"fencepost.audit.{main}"]


class _Lines(io.RawIOBase):
    def __init__(self, made: Iterator[bytes]) -> None:
        self._made, self._left = made, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        text = self._left or next(self._made, b"")
        count = min(len(text), len(buffer))
        buffer[:count], self._left = text[:count], text[count:]
        return count


class _Decoder(io.RawIOBase):
    def __init__(self, items: list[File], command: list[str]) -> None:
        self._items, self._done = items, False
        with ExitStack() as stack:
            self._notes = stack.enter_context(tempfile.NamedTemporaryFile("r", prefix="fencepost-notes-"))
            self._said = stack.enter_context(tempfile.TemporaryFile("w+"))
            asked = stack.enter_context(tempfile.TemporaryFile("w+"))
            asked.write("".join(f"{item.number}\t{item.position}\t{item.path}\n" for item in items))
            asked.seek(0)
            self._process = stack.enter_context(
                subprocess.Popen(  # noqa: S603 (our own command)
                    [*command, self._notes.name], stdin=asked, stdout=subprocess.PIPE, stderr=self._said
                )
            )
            stack.callback(self._process.kill)
            self._held = stack.pop_all()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        assert self._process.stdout is not None
        got = self._process.stdout.readinto(buffer)  # type: ignore[attr-defined]  # a pipe has it
        if not got and not self._done:
            self._done = True
            self._end()
        return int(got)

    def close(self) -> None:
        """End the process, even if some of its output has not been read."""
        self._held.close()
        super().close()

    def _end(self) -> None:
        if self._process.wait() != 0:
            self._said.seek(0)
            said = [line for line in self._said.read().splitlines() if line and not line.startswith(("SLF4J", "\tat"))]
            raise UsageError(
                f"Kafka's classes could not read the log: {said[0] if said else 'the process ended without a message'}."
            )
        take_notes({item.number: item for item in self._items}, map(json.loads, self._notes))


def take_notes(files: dict[int, File], notes: Iterable[dict[str, Any]]) -> None:
    begun: dict[int, int] = {}
    ended: dict[int, bool] = {}
    for note in notes:
        item = files[note["file"]]
        if item.number not in ended:
            ended[item.number] = True
            item.notes = [found for found in item.notes if found.what in ("damaged", "unknown")]
        kind, name = note["note"], f"{item.path}"
        if kind == "run":
            if item.number in begun and note["after"] > 0:
                add_run(item.runs, begun[item.number], note["after"] - 1)
            begun[item.number] = note["offset"]
        elif kind == "damaged":
            text = (
                f"{name}: a batch of {note['bytes']:,} bytes at position {note['position']:,} is damaged: {note['why']}"
            )
            item.notes.append(Note("damaged", f"{text}, after offset {note['offset'] - 1}"))
        elif kind == "refused":
            text = f"{name}: {note['count']:,} records of {note['what']}, whose type is unknown to this Kafka release"
            item.notes.append(Note("unknown", f"{text}; the first is at offset {note['offset']}", note["count"]))
        else:
            _read_to(item, note, begun)


def _read_to(item: File, note: dict[str, Any], begun: dict[int, int]) -> None:
    item.position = note["position"]
    item.records += note["records"]
    if item.number in begun and note["last"] >= begun[item.number]:
        add_run(item.runs, begun[item.number], note["last"])
    left, grown = note["size"] - note["position"], note["grown"] - note["size"]
    if note["failed"]:
        item.notes.append(Note("unreadable", f"{item.path} cannot be read: {note['failed']}"))
    elif grown > 0 and note["size"] > 0:  # an incomplete batch may be complete by now
        text = (
            f"{item.path} grew by {grown:,} bytes while it was read: to continue from position {note['position']:,}, "
            "write `resume=True`"
        )
        item.notes.append(Note("grew", text, unread=False))
    elif left > 0:
        text = (
            f"{item.path}: the last {left:,} bytes, from position {note['position']:,}, are an incomplete or damaged "
            "batch"
        )
        item.notes.append(Note("truncated", text))
