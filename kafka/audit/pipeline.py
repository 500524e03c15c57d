"""Steps of an audit, in this process or on Spark: group records into a history per partition, and check them."""

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
"""Version of the rules and of the output format. Output of other versions is not reused."""
ROWS_OF_A_TASK = 250_000
BATCH = 20_000
LED = 400
"""A trace shows at most this many of a partition's last changes, or fewer if the model cannot hold that many."""
CREATES, CHANGES = "PARTITION_RECORD", "PARTITION_CHANGE_RECORD"
PLACE = "topic_id string, topic string, partition int"
FOUND = f"{PLACE}, {FINDING}"
HISTORY = f"""{PLACE}, offset bigint, time bigint, epoch int, replicas brokers, isr brokers, removing brokers,
adding brokers, leader int, leader_epoch int, partition_epoch int, recovering int, elr brokers, last_known brokers,
min_isr int, unclean boolean, election string, why string, findings findings"""
CHANGED = """topic_id string, partition int, offset bigint, time bigint, epoch int, creates boolean, snapshot boolean,
text string"""
LINEAGE = "topic_id topic partition offset time leader leader_epoch isr elr election"
SOME = 3
RECORDS = 1000
"""Maximum number of partitions whose copies are reported. Partitions that lost records come first."""
Place = tuple[str, int]
Ranges = list[tuple[int, int]]
Where = list[tuple[str, str, Any]]


def batches(
    paths: Path | list[str], columns: str, where: Where | None = None, schema: str = ""
) -> Iterator[pa.RecordBatch]:
    import pyarrow.dataset as ds
    from pyarrow.parquet import filters_to_expression

    found = ds.dataset(paths, schema=arrow_schema(schema) if schema else None, format="parquet")
    yield from found.to_batches(columns=columns.split(), filter=filters_to_expression(where) if where else None)


@dataclass(frozen=True)
class Selection:
    """Records to judge, without duplicates. Records of a snapshot have the last offset that it covers."""

    chosen: dict[int, Ranges]
    ends: dict[int, int]
    aborted: Ranges

    def changes(self, batch: pa.RecordBatch) -> pa.RecordBatch:
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
    if not ranges:
        return np.zeros(len(offsets), bool)
    firsts, lasts = np.array(ranges).T
    at = np.searchsorted(firsts, offsets, side="right") - 1
    return (at >= 0) & (offsets <= lasts[at])


@dataclass(frozen=True)
class Judged:
    """The result of judging a log: how many offsets differ between its files, and what the brokers' copies contain."""

    differ: dict[str, int]
    records: list[dict[str, Any]]
    notes: list[tuple[str, bool]]
    """Open questions about the copies; each flag says whether the question leaves the verdict incomplete."""


@dataclass
class MetadataLog:
    reading: Reading
    within: int = 60_000
    """Maximum time, in milliseconds, between two changes that are suspicious in combination."""
    min_isr: int = 1
    """The broker setting min.insync.replicas, which applies if the log contains no value."""
    copies: tuple[Copy, ...] = ()
    comparing: tuple[str, ...] = ()

    def scan(self, columns: str, types: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        return batches(self.reading.paths, columns, [("type", "in", list(types))] if types else None)

    @cached_property
    def selection(self) -> Selection:
        """Records to judge, including those of aborted transactions."""
        chosen: dict[int, Ranges] = {}
        for number, first, last in self.reading.coverage.chosen:
            chosen.setdefault(number, []).append((first, last))
        ends = {item.number: item.end - 1 for item in self.reading.files if item.kind == "snapshot"}
        return Selection(chosen, ends, [])

    @cached_property
    def times(self) -> tuple[int | None, int | None]:
        known = [times[times > 0] for times in (batch["time"].to_numpy() for batch in self.scan("time"))]
        both = [(int(times.min()), int(times.max())) for times in known if len(times)]
        return min((first for first, _ in both), default=None), max((last for _, last in both), default=None)

    @cached_property
    def context(self) -> ClusterContext:
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
        import pyarrow as pa

        schema = HISTORY if name == HISTORIES else FOUND
        kinds = pa.schema([arrow_schema(schema).field(column) for column in columns.split()])
        return pa.Table.from_batches(batches(self.reading.folder / name, columns, where, schema), kinds)


def disagreements(log: MetadataLog) -> dict[str, int]:
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
    """Write the history of every partition, including its findings. On Spark, one task sorts a partition's records and
    reads them as a stream, so a partition may have any number of them.
    """
    import pyarrow as pa

    around, within = log.context, log.within
    counted = replace(log.selection, aborted=around.aborted)
    folder, order = log.reading.folder / HISTORIES, ("topic_id", "partition", "offset", "snapshot")
    columns = "file offset time epoch type topic_id partition fields"

    def followed(given: Iterable[pa.RecordBatch], around: ClusterContext) -> Iterator[pa.RecordBatch]:
        gc.disable()  # looking for reference cycles takes a fifth of the time, and there are no such cycles
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
    import pyarrow as pa

    if not pa.types.is_list(kind):
        return pa.array(column, kind)
    places: dict[Any, int] = {}
    named = [places.setdefault(brokers, len(places)) for brokers in column]
    return pa.array(list(places), kind).take(pa.array(named, pa.int32()))


def _findings(folder: Path) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    for batch in batches(folder / HISTORIES, "topic_id topic partition findings", schema=HISTORY):
        found = batch["findings"]
        place = [column.take(found.value_parent_indices()) for column in batch.columns[:-1]]
        yield pa.RecordBatch.from_arrays([*place, *found.flatten().flatten()], schema=arrow_schema(FOUND))


def judge(log: MetadataLog, start: Callable[[], SparkSession | None] = lambda: None) -> Judged:
    """Write histories and findings, unless they exist for these records and settings. `start` may start Spark."""
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
    """Compare copies of brokers' logs; return findings, the copies' contents, and notes on omitted copies."""
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
        notes.append((f"{of.pop(place)[0].path} is a copy of a partition that the metadata log does not contain", True))
    alone = [of.pop(place)[0].path for place in list(of) if len(of[place]) == 1]
    notes += _some(alone, "not compared, because there is no other copy of the partition: ")
    wanted = [Compared(of[place], log.context.is_compacted(place[0])) for place in sorted(of)]
    found, records = [], []
    for place, made in zip(sorted(of), compare(wanted, list(log.comparing), start()), strict=True):
        one, topic = Partition(made, histories[place], known[place]), histories[place][0]["topic"]
        found += [(place[0], topic, place[1], *item) for item in one.findings()]
        records.append({"topic": topic, "partition": place[1], **one.data()})
        notes += one.notes()
        if one.reference < 0 and one.now["leader"] != NO_LEADER:
            unled.append(f"{topic}-{place[1]} from broker {one.now['leader']}")
    notes += _some(unled, "not judged, because no copy of the leader's log was made after the leader's election: ")
    schema = arrow_schema(FOUND)
    batch = pa.RecordBatch.from_pylist([dict(zip(schema.names, row, strict=True)) for row in found], schema)
    return [batch], sorted(records, key=lambda item: not item["lost"])[:RECORDS], notes


def _grouped(rows: Iterable[dict[str, Any]]) -> dict[Place, list[dict[str, Any]]]:
    made: dict[Place, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        made[(row["topic_id"], row["partition"])].append(row)
    return made


def _some(names: list[str], text: str) -> list[tuple[str, bool]]:
    more = f" and {len(names) - SOME} more" if len(names) > SOME else ""
    return [(f"{text}{', '.join(names[:SOME])}{more}", False)] if names else []


def history_of(log: MetadataLog, name: str, until: int | None) -> ControllerHistory:
    topic, _, number = name.rpartition("-")
    if not topic or not number.isdecimal():
        raise UsageError(
            f"`partition=` was given {name!r}, which does not name a partition: write TOPIC-NUMBER, such as orders-3."
        )
    last = log.context.end if until is None else until
    own = [("topic", "==", topic), ("partition", "==", int(number)), ("offset", "<=", last)]
    rows = log.kept(HISTORIES, " ".join(arrow_schema(HISTORY).names[:-1]), own).sort_by("offset").to_pylist()[-LED:]
    if not rows and (later := log.kept(HISTORIES, "offset", own[:2])).num_rows:
        begins = min(later["offset"].to_pylist())
        raise UsageError(f"`until=` is {last:,}, but {name} begins only at offset {begins:,}: raise `until=`.")
    if not rows:
        raise UsageError(f"the log has no partition {name}: write TOPIC-NUMBER for a partition that it contains.")
    newest = rows[-1]["topic_id"]  # a recreated topic has another id
    return controller_history([row for row in rows if row["topic_id"] == newest], log.context, until)


def _kept(folder: Path, stands: dict[str, Any]) -> Judged | None:
    try:
        kept = sealed.unseal(sealed.parse_object(read_file(folder / JUDGED)))
    except (OSError, sealed.BrokenSealError):
        return None
    same = all(kept.get(name) == value for name, value in stands.items())
    return Judged(kept["differ"], kept["records"], [(text, unread) for text, unread in kept["notes"]]) if same else None
