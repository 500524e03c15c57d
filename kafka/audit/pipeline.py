"""From records to histories to findings: one history per partition, judged as it is built, in process or on Spark."""

from __future__ import annotations

import gc
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import accumulate, chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from fencepost.explorers.running import sealed
from fencepost.explorers.running.files import read_file, write_file
from fencepost.kafka.audit.cluster_context import TYPES, ClusterContext, LogRecord, gather_context
from fencepost.kafka.audit.controller_history import ControllerHistory, controller_history
from fencepost.kafka.audit.following import follow
from fencepost.kafka.audit.judging import NO_LEADER
from fencepost.kafka.audit.logs import Compared, Copy, compare, topic_of
from fencepost.kafka.audit.reading import FINDING, Reading, arrow_schema
from fencepost.kafka.audit.records import Partition
from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

HISTORIES, FINDINGS, JUDGED = "histories", "findings", "judged.json"
JUDGEMENT = 4
"""Version of the judgement and its output: older output is not reused."""
ROWS_OF_A_TASK = 250_000
BATCH = 20_000
"""Rows that a task yields at a time."""
LED = 400
"""Most changes of a partition in a trace, the last ones; the model has capacity for fewer."""
CREATES, CHANGES = "PARTITION_RECORD", "PARTITION_CHANGE_RECORD"
PLACE = "topic_id string, topic string, partition int"
FOUND = f"{PLACE}, {FINDING}"
HISTORY = f"""{PLACE}, offset bigint, time bigint, epoch int, replicas brokers, isr brokers, removing brokers,
adding brokers, leader int, leader_epoch int, partition_epoch int, recovering int, elr brokers, last_known brokers,
min_isr int, unclean boolean, election string, why string, findings findings"""
CHANGED = """topic_id string, partition int, offset bigint, time bigint, epoch int, creates boolean, snapshot boolean,
text string"""
"""Columns of a change that `follow` reads."""
LINEAGE = "topic_id topic partition offset time leader leader_epoch isr elr election"
SOME = 3
"""The most names in a note."""
RECORDS = 1000
"""Most partitions whose copies are in the report, those that lost records first."""
Place = tuple[str, int]
Ranges = list[tuple[int, int]]
Where = list[tuple[str, str, Any]]


def batches(
    paths: Path | list[str], columns: str, where: Where | None = None, schema: str = ""
) -> Iterator[pa.RecordBatch]:
    """Yield columns of Parquet files, in order."""
    import pyarrow.dataset as ds
    from pyarrow.parquet import filters_to_expression

    found = ds.dataset(paths, schema=arrow_schema(schema) if schema else None, format="parquet")
    yield from found.to_batches(columns=columns.split(), filter=filters_to_expression(where) if where else None)


@dataclass(frozen=True)
class Selection:
    """The records to judge, each once: duplicates are taken from one file, and snapshots count at their end."""

    chosen: dict[int, Ranges]
    ends: dict[int, int]
    """The last offset that each snapshot covers."""
    aborted: Ranges

    def changes(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the changes of partitions among some records."""
        import pyarrow as pa
        import pyarrow.compute as pc

        batch = self.records(batch)
        batch = batch.filter(pa.array(~_inside(batch["offset"].to_numpy(), self.aborted)))
        pattern = r'^\{"partitionId":\d+,"topicId":"[^"]*",?'
        text = pc.replace_substring_regex(batch["fields"], pattern, "{", max_replacements=1)
        columns = {name: batch[name] for name in batch.schema.names}
        more = {"creates": pc.equal(batch["type"], CREATES), "text": text}
        return pa.RecordBatch.from_pydict({**columns, **more}).select(arrow_schema(CHANGED).names)

    def records(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the records to judge, with their effective offsets."""
        import pyarrow as pa

        files, offsets = batch["file"].to_numpy(), batch["offset"].to_numpy().copy()
        counts, snapshot = np.zeros(len(files), bool), np.isin(files, list(self.ends))
        for number in np.unique(files).tolist():
            mine = files == number
            if number in self.ends:
                counts |= mine
                offsets[mine] = self.ends[number]
            else:
                counts |= mine & _inside(offsets, self.chosen.get(number, []))
        columns = {name: batch[name] for name in batch.schema.names}
        made = pa.RecordBatch.from_pydict({**columns, "offset": offsets, "snapshot": snapshot})
        return made.filter(pa.array(counts))


def _inside(offsets: Any, ranges: Ranges) -> Any:
    """Return for each offset whether it is in one of some ranges, which are sorted and do not touch."""
    if not ranges:
        return np.zeros(len(offsets), bool)
    firsts, lasts = np.array(ranges).T
    at = np.searchsorted(firsts, offsets, side="right") - 1
    return (at >= 0) & (offsets <= lasts[at])


@dataclass(frozen=True)
class Judged:
    """A judged log: the number of offsets that differ between its files, and the content of copies of brokers' logs."""

    differ: dict[str, int]
    records: list[dict[str, Any]]
    notes: list[tuple[str, bool]]
    """Limits of the copies, each with whether a verdict is missing because of it."""


@dataclass
class MetadataLog:
    """A log that was read, and the settings for judging it."""

    reading: Reading
    within: int = 60_000
    """Changes this many milliseconds after another are suspicious."""
    min_isr: int = 1
    """The value of min.insync.replicas in server.properties, for a log without one."""
    copies: tuple[Copy, ...] = ()
    """Copies of brokers' logs."""
    comparing: tuple[str, ...] = ()
    """The command that compares them."""

    def scan(self, columns: str, types: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        """Yield the records of each file as read."""
        return batches(self.reading.paths, columns, [("type", "in", list(types))] if types else None)

    @cached_property
    def selection(self) -> Selection:
        """The records to judge, including those of aborted transactions."""
        chosen: dict[int, Ranges] = {}
        for number, first, last in self.reading.coverage.chosen:
            chosen.setdefault(number, []).append((first, last))
        ends = {item.number: item.end - 1 for item in self.reading.files if item.kind == "snapshot"}
        return Selection(chosen, ends, [])

    @cached_property
    def times(self) -> tuple[int | None, int | None]:
        """The first and the last time of a record."""
        known = [times[times > 0] for times in (batch["time"].to_numpy() for batch in self.scan("time"))]
        both = [(int(times.min()), int(times.max())) for times in known if len(times)]
        return min((first for first, _ in both), default=None), max((last for _, last in both), default=None)

    @cached_property
    def context(self) -> ClusterContext:
        """The context of the partitions."""
        events = (self.selection.records(batch) for batch in self.scan("file offset time type fields", TYPES))
        records = (self.selection.records(batch) for batch in self.scan("file offset"))
        return gather_context(
            (LogRecord(*row) for batch in events for row in _rows([batch.select(LogRecord._fields)])),
            gaps=self.reading.coverage.gaps,
            end=max((int(batch["offset"].to_numpy().max()) for batch in records if batch.num_rows), default=-1),
            until=self.times[1] or 0,
            min_isr=self.min_isr,
        )

    def kept(self, name: str, columns: str, where: Where | None = None) -> pa.Table:
        """Return columns of the written histories or findings."""
        import pyarrow as pa

        schema = HISTORY if name == HISTORIES else FOUND
        kinds = pa.schema([arrow_schema(schema).field(column) for column in columns.split()])
        return pa.Table.from_batches(batches(self.reading.folder / name, columns, where, schema), kinds)


def disagreements(log: MetadataLog) -> dict[str, int]:
    """Compare offsets that several files contain: return the number that differ, and the first, -1 if none does."""
    import pandas as pd
    from pandas.util import hash_pandas_object

    shared, snapshots, parts = log.reading.coverage.overlaps, list(log.selection.ends), []
    for batch in log.scan("file offset epoch type version fields") if shared else ():
        rows = batch.to_pandas()
        rows = rows[_inside(rows["offset"].to_numpy(), shared) & ~rows["file"].isin(snapshots)]
        parts.append(hash_pandas_object(rows.drop(columns="file").set_index("offset"), index=False))
    if not parts:
        return {"count": 0, "offset": -1}
    different = pd.concat(parts).groupby(level=0).nunique()
    different = different[different > 1]
    return {"count": len(different), "offset": int(different.index.min()) if len(different) else -1}


def _write_histories(log: MetadataLog, sql: SparkSession | None) -> None:
    """Write the history of every partition, with its findings.

    On Spark, records are sent to their partition's task and sorted there. The task reads them as a stream and holds
    only the newest in memory, however many a partition has.
    """
    import pyarrow as pa

    around, within = log.context, log.within
    counted = replace(log.selection, aborted=around.aborted)
    folder, order = log.reading.folder / HISTORIES, ("topic_id", "partition", "offset", "snapshot")
    columns = "file offset time epoch type topic_id partition fields"

    def followed(given: Iterable[pa.RecordBatch], around: ClusterContext) -> Iterator[pa.RecordBatch]:
        gc.disable()  # looking for cycles among thousands of live rows, which have none, takes a fifth of the time
        try:
            yield from _tables(follow(around, within, _rows(given)))
        finally:
            gc.enable()

    if sql is None:
        chosen = [counted.changes(batch) for batch in log.scan(columns, (CREATES, CHANGES))]
        ordered = pa.Table.from_batches(chosen, arrow_schema(CHANGED)).sort_by([(name, "ascending") for name in order])
        _write(folder, HISTORY, followed(ordered.to_batches(BATCH), around))
        return
    from pyspark.sql.pandas.types import from_arrow_schema

    rows = sql.read.parquet(*log.reading.paths).select(*columns.split())
    changes = rows.where(rows["type"].isin(CREATES, CHANGES)).mapInArrow(
        lambda batches: map(counted.changes, batches), from_arrow_schema(arrow_schema(CHANGED))
    )
    tasks = max(2 * sql.sparkContext.defaultParallelism, log.reading.records // ROWS_OF_A_TASK)
    brought = changes.repartition(tasks, "topic_id", "partition").sortWithinPartitions(*order)
    given = sql.sparkContext.broadcast(around)
    made = brought.mapInArrow(lambda batches: followed(batches, given.value), from_arrow_schema(arrow_schema(HISTORY)))
    made.write.parquet(str(folder), compression="zstd")


def _write(folder: Path, columns: str, made: Iterable[pa.RecordBatch]) -> None:
    from pyarrow.parquet import ParquetWriter

    folder.mkdir()
    with ParquetWriter(folder / "part-00000.parquet", arrow_schema(columns), compression="zstd") as writer:
        for batch in made:
            writer.write_batch(batch)


def _rows(given: Iterable[pa.RecordBatch]) -> Iterator[tuple[Any, ...]]:
    for batch in given:
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _tables(rows: Iterator[tuple[Any, ...]]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    schema = arrow_schema(HISTORY)
    finding = list(schema.field("findings").type.value_type)
    while held := list(islice(rows, BATCH)):
        *columns, found = zip(*held, strict=True)
        arrays = [_array(column, kind) for column, kind in zip(columns, schema.types[:-1], strict=True)]
        flat = [one for some in found for one in some]
        parts = zip(*flat, strict=True) if flat else [()] * len(finding)
        inside = [_array(part, field.type) for part, field in zip(parts, finding, strict=True)]
        ends = pa.array([0, *accumulate(map(len, found))], pa.int32())
        arrays.append(pa.ListArray.from_arrays(ends, pa.StructArray.from_arrays(inside, fields=finding)))
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _array(column: tuple[Any, ...], kind: Any) -> Any:
    """Return a column for Arrow.

    Few lists of brokers differ, and making one is expensive: each is made once and shared by rows.
    """
    import pyarrow as pa

    if not pa.types.is_list(kind):
        return pa.array(column, kind)
    places: dict[Any, int] = {}
    named = [places.setdefault(brokers, len(places)) for brokers in column]
    return pa.array(list(places), kind).take(pa.array(named, pa.int32()))


def _findings(folder: Path) -> Iterator[pa.RecordBatch]:
    """Yield a row for each finding in the histories."""
    import pyarrow as pa

    for batch in batches(folder / HISTORIES, "topic_id topic partition findings", schema=HISTORY):
        found = batch["findings"]
        place = [column.take(found.value_parent_indices()) for column in batch.columns[:-1]]
        yield pa.RecordBatch.from_arrays([*place, *found.flatten().flatten()], schema=arrow_schema(FOUND))


def judge(log: MetadataLog, start: Callable[[], SparkSession | None] = lambda: None) -> Judged:
    """Write histories and findings next to the records, unless those of the same records and settings exist.

    `start` starts Spark, if wanted.
    """
    folder = log.reading.folder
    copies = [[copy.path, copy.bytes, repr(copy)] for copy in log.copies]
    stands = {"judgement": JUDGEMENT, "parts": log.reading.parts, "within": log.within, "min_isr": log.min_isr}
    stands["copies"] = sealed.checksum(copies)
    if (kept := _kept(folder, stands)) is not None:
        return kept
    for name in (HISTORIES, FINDINGS):
        shutil.rmtree(folder / name, ignore_errors=True)
    (folder / JUDGED).unlink(missing_ok=True)
    _write_histories(log, start())
    found, records, notes = _judge_copies(log, start) if log.copies else ([], [], [])
    _write(folder / FINDINGS, FOUND, chain(_findings(folder), found))
    judged = Judged(disagreements(log), records, notes)
    write_file(folder / JUDGED, sealed.seal({**stands, **asdict(judged)}))
    return judged


def _judge_copies(log: MetadataLog, start: Callable[[], SparkSession | None]) -> tuple[Any, Any, Any]:
    """Compare copies of brokers' logs; return findings, the content of each partition's copies, and notes on what was
    not compared.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    notes, unled = list[tuple[str, bool]](), list[str]()
    of: dict[Place, list[Copy]] = defaultdict(list)
    for copy in log.copies:
        topic_id, why = topic_of(copy, log.context)
        of[(topic_id, copy.partition)].append(copy) if topic_id else notes.append(why)
    topics = pa.array(sorted({topic_id for topic_id, _ in of}), pa.string())
    rows = log.kept(HISTORIES, LINEAGE).filter(pc.is_in(pc.field("topic_id"), topics)).sort_by("offset").to_pylist()
    histories = _grouped(row for row in rows if row["election"] not in ("end", "unjudged", "deleted"))
    kept = (batch.filter(pc.is_in(batch["topic_id"], topics)) for batch in _findings(log.reading.folder))
    known = _grouped(row for batch in kept for row in batch.to_pylist())
    for place in [place for place in of if not histories[place]]:
        notes.append((f"{of.pop(place)[0].path} is of a partition that the metadata log does not have", True))
    alone = [of.pop(place)[0].path for place in list(of) if len(of[place]) == 1]
    notes += _some(alone, "not compared, since there is no other copy of the partition: ")
    wanted = [Compared(of[place], log.context.is_compacted(place[0])) for place in sorted(of)]
    found, records = [], []
    for place, made in zip(sorted(of), compare(wanted, list(log.comparing), start()), strict=True):
        one, topic = Partition(made, histories[place], known[place]), histories[place][0]["topic"]
        found += [(place[0], topic, place[1], *item) for item in one.findings()]
        records.append({"topic": topic, "partition": place[1], **one.data()})
        notes += one.notes()
        if one.reference < 0 and one.now["leader"] != NO_LEADER:
            unled.append(f"{topic}-{place[1]} from broker {one.now['leader']}")
    notes += _some(unled, "not judged, since there is no copy of the leader's log from after its election: ")
    schema = arrow_schema(FOUND)
    batch = pa.RecordBatch.from_pylist([dict(zip(schema.names, row, strict=True)) for row in found], schema)
    return [batch], sorted(records, key=lambda item: not item["lost"])[:RECORDS], notes


def _grouped(rows: Iterable[dict[str, Any]]) -> dict[Place, list[dict[str, Any]]]:
    made: dict[Place, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        made[(row["topic_id"], row["partition"])].append(row)
    return made


def _some(names: list[str], text: str) -> list[tuple[str, bool]]:
    """Return one note for all of some names."""
    more = f" and {len(names) - SOME} more" if len(names) > SOME else ""
    return [(f"{text}{', '.join(names[:SOME])}{more}", False)] if names else []


def history_of(log: MetadataLog, name: str, until: int | None) -> ControllerHistory:
    """Return the history of a partition, by its name such as `orders-3`, as seen by a controller of the model."""
    topic, _, number = name.rpartition("-")
    if not topic or not number.isdecimal():
        raise UsageError(
            f"`partition=` was given {name!r}, which names no partition: write TOPIC-NUMBER, such as orders-3."
        )
    last = log.context.end if until is None else until
    own = [("topic", "==", topic), ("partition", "==", int(number)), ("offset", "<=", last)]
    rows = log.kept(HISTORIES, " ".join(arrow_schema(HISTORY).names[:-1]), own).sort_by("offset").to_pylist()[-LED:]
    if not rows:
        raise UsageError(
            f"the log has no partition {name}: write the name of a topic, a dash, and the number of a "
            "partition that it has."
        )
    newest = rows[-1]["topic_id"]  # a recreated topic has another id
    return controller_history([row for row in rows if row["topic_id"] == newest], log.context, until)


def _kept(folder: Path, stands: dict[str, Any]) -> Judged | None:
    """Return an earlier run's result for these records; None without one, or if it is for others."""
    try:
        kept = sealed.unseal(sealed.parse_object(read_file(folder / JUDGED)))
    except (OSError, sealed.BrokenSealError):
        return None
    same = all(kept.get(name) == value for name, value in stands.items())
    return Judged(kept["differ"], kept["records"], [(text, unread) for text, unread in kept["notes"]]) if same else None
