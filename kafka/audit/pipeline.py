"""Records to histories to findings, on Spark: one history for each partition, judged as it is built."""

from __future__ import annotations

import gc
import shutil
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from fencepost.explorers.running import sealed
from fencepost.explorers.running.files import read_file, write_file
from fencepost.kafka.audit.cluster_context import TYPES, LogRecord, gather_context
from fencepost.kafka.audit.controller_history import controller_history
from fencepost.kafka.audit.findings import Found
from fencepost.kafka.audit.following import follow
from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fencepost.kafka.audit.cluster_context import ClusterContext
    from fencepost.kafka.audit.controller_history import ControllerHistory
    from fencepost.kafka.audit.reading import Reading
    from pyspark.sql import DataFrame, SparkSession

HISTORIES, FINDINGS, JUDGED = "histories", "findings", "judged.json"
JUDGEMENT = 2
"""Rises when what is judged, or written of it, changes: an earlier one is not taken for it."""
ROWS_OF_A_TASK = 250_000
BATCH = 20_000
"""Rows that a task hands over at a time."""
LED = 400
"""Changes of a partition that may become a trace, the last ones: the model has room for fewer."""
CREATES, CHANGES = "PARTITION_RECORD", "PARTITION_CHANGE_RECORD"
FINDING = (
    "struct<sort:string,severity:string,offset:bigint,time:bigint,end:bigint,lasted:bigint,"
    "brokers:array<int>,text:string>"
)
SCHEMA = f"""topic_id string, topic string, partition int, offset bigint, time bigint, epoch int, replicas array<int>,
isr array<int>, removing array<int>, adding array<int>, leader int, leader_epoch int, partition_epoch int,
recovering int, elr array<int>, last_known array<int>, min_isr int, unclean boolean, election string, why string,
findings array<{FINDING}>"""


@dataclass
class Disagreement:
    """Offsets at which files of the log have different records: how many, and the first."""

    count: int
    first: int


@dataclass
class MetadataLog:
    """A log that was read, on Spark, and what it is judged by."""

    sql: SparkSession
    reading: Reading
    within: int = 60_000
    """Milliseconds after a change in which the next one is suspicious."""
    min_isr: int = 1
    """The value in server.properties, for a log without one."""

    @property
    def parquet(self) -> DataFrame:
        """All records as they were read, of each file."""
        return self.sql.read.parquet(*self.reading.paths)

    @cached_property
    def records(self) -> DataFrame:
        """Each record once: what several files have is taken from one; snapshots count after their end."""
        from pyspark.sql import functions as f

        sql, rows, covered = self.sql, self.parquet, self.reading.coverage
        ends = [(item.number, item.end) for item in self.reading.files if item.kind == "snapshot"]
        kept = rows if not ends else rows.where(~rows["file"].isin([number for number, _ in ends]))
        if covered.overlaps:
            ranges = sql.createDataFrame(covered.chosen, "number int, first bigint, last bigint")
            fits = (kept["file"] == ranges["number"]) & kept["offset"].between(ranges["first"], ranges["last"])
            kept = kept.join(f.broadcast(ranges), fits, "left_semi")
        kept = kept.withColumn("snapshot", f.lit(False))
        if not ends:
            return kept
        known = sql.createDataFrame([(number, end - 1) for number, end in ends], "number int, until bigint")
        inside = rows.join(f.broadcast(known), rows["file"] == known["number"])
        inside = inside.withColumn("offset", f.col("until")).drop("number", "until")
        return kept.unionByName(inside.withColumn("snapshot", f.lit(True)))

    @cached_property
    def context(self) -> ClusterContext:
        """The cluster around the partitions."""
        from pyspark.sql import functions as f

        rows = self.records
        events = rows.where(rows["type"].isin(list(TYPES))).select("offset", "snapshot", "time", "type", "fields")
        last = rows.agg(f.max("offset").alias("offset"), f.max("time").alias("time")).first()
        return gather_context(
            (LogRecord(*row) for row in events.toLocalIterator()),
            gaps=self.reading.coverage.gaps,
            end=last["offset"] if last["offset"] is not None else -1,
            until=last["time"] or 0,
            min_isr=self.min_isr,
        )


def disagreements(log: MetadataLog) -> Disagreement:
    """Compare what several files have of the same offsets."""
    from pyspark.sql import functions as f

    shared = log.reading.coverage.overlaps
    if not shared:
        return Disagreement(0, -1)
    ranges = f.broadcast(log.sql.createDataFrame(shared, "first bigint, last bigint"))
    rows = log.parquet
    snapshots = [item.number for item in log.reading.files if item.kind == "snapshot"]
    rows = rows.where(~rows["file"].isin(snapshots)) if snapshots else rows
    both = rows.join(ranges, rows["offset"].between(ranges["first"], ranges["last"]), "left_semi")
    content = f.xxhash64("epoch", "type", "version", "fields")
    counted = both.groupBy("offset").agg(f.count_distinct(content).alias("different")).where("different > 1")
    found = counted.agg(f.count("*").alias("count"), f.min("offset").alias("first")).first()
    return Disagreement(found["count"], -1 if found["first"] is None else found["first"])


def histories(log: MetadataLog) -> DataFrame:
    """Return the history of every partition, with what was found in it.

    Records are brought to their partition's task and sorted there, and the task reads them as a stream: however many a
    single partition has, none is in memory but the newest.
    """
    from pyspark.sql import functions as f

    sql, rows, around, within = log.sql, log.records, log.context, log.within
    fields = f.col("fields")
    named = rows.where(rows["type"].isin(CREATES, CHANGES)).select(
        "topic_id",
        "partition",
        "offset",
        "time",
        "epoch",
        (f.col("type") == CREATES).alias("creates"),
        "snapshot",
        f.regexp_replace(fields, r'^\{"partitionId":\d+,"topicId":"[^"]*",?', "{").alias("text"),
    )
    if around.aborted:
        aborted = f.broadcast(sql.createDataFrame(around.aborted, "first bigint, last bigint"))
        named = named.join(aborted, named["offset"].between(aborted["first"], aborted["last"]), "left_anti")
    tasks = max(2 * sql.sparkContext.defaultParallelism, log.reading.records // ROWS_OF_A_TASK)
    brought = named.repartition(tasks, "topic_id", "partition")
    ordered = brought.sortWithinPartitions("topic_id", "partition", "offset", "snapshot")
    given = sql.sparkContext.broadcast(around)

    def follow_all(batches: Iterator[Any]) -> Iterator[Any]:
        gc.disable()  # thousands of rows are alive, none part of a circle: looking for some takes a fifth of the time
        try:
            yield from _tables(follow(given.value, within, _rows(batches)))
        finally:
            gc.enable()

    return ordered.mapInArrow(follow_all, SCHEMA)


def _rows(batches: Iterator[Any]) -> Iterator[tuple[Any, ...]]:
    for batch in batches:
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _tables(rows: Iterator[tuple[Any, ...]]) -> Iterator[Any]:
    import pyarrow as pa

    numbers = pa.list_(pa.int32())
    text, small, large = pa.string(), pa.int32(), pa.int64()
    kinds = [text, text, small, large, large, small, *[numbers] * 4, *[small] * 4]
    kinds += [numbers, numbers, small, pa.bool_(), text, text]
    finding = [text, text, large, large, large, large, numbers, text]
    names = [part.split()[0] for part in SCHEMA.replace(FINDING, "x").split(",")]
    while held := list(islice(rows, BATCH)):
        *columns, found = zip(*held, strict=True)
        arrays = [_array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
        flat = [one for some in found for one in some]
        parts = zip(*flat, strict=True) if flat else [()] * len(finding)
        inside = [_array(part, kind) for part, kind in zip(parts, finding, strict=True)]
        ends = pa.array([0, *accumulate(map(len, found))], pa.int32())
        arrays.append(pa.ListArray.from_arrays(ends, pa.StructArray.from_arrays(inside, names=Found._fields)))
        yield pa.RecordBatch.from_arrays(arrays, names)


def _array(column: tuple[Any, ...], kind: Any) -> Any:
    """Return a column for Arrow.

    There are few lists of brokers, and making one is expensive: each is made once, and rows refer to it.
    """
    import pyarrow as pa

    if not pa.types.is_list(kind):
        return pa.array(column, kind)
    places: dict[Any, int] = {}
    named = [places.setdefault(brokers, len(places)) for brokers in column]
    return pa.array(list(places), kind).take(pa.array(named, pa.int32()))


def judge(log: MetadataLog) -> Disagreement:
    """Write histories and findings beside the records, unless they are there of just these records and settings."""
    from pyspark.sql import functions as f

    folder = log.reading.folder
    stands = {"judgement": JUDGEMENT, "parts": log.reading.parts, "within": log.within, "min_isr": log.min_isr}
    if (kept := _kept(folder, stands)) is not None:
        return kept
    for name in (HISTORIES, FINDINGS):
        shutil.rmtree(folder / name, ignore_errors=True)
    (folder / JUDGED).unlink(missing_ok=True)
    histories(log).write.parquet(str(folder / HISTORIES), compression="zstd")
    found = log.sql.read.schema(SCHEMA).parquet(str(folder / HISTORIES)).where(f.size("findings") > 0)
    found = found.select("topic_id", "topic", "partition", f.explode("findings").alias("found"))
    flat = found.select("topic_id", "topic", "partition", "found.*")
    flat.coalesce(log.sql.sparkContext.defaultParallelism).write.parquet(str(folder / FINDINGS), compression="zstd")
    differ = disagreements(log)
    write_file(folder / JUDGED, sealed.seal({**stands, "count": differ.count, "first": differ.first}))
    return differ


def history_of(log: MetadataLog, name: str, until: int | None) -> ControllerHistory:
    """Return the history of a partition, by its name such as `orders-3`, as a controller of the model would have it."""
    from pyspark.sql import functions as f

    topic, _, number = name.rpartition("-")
    if not topic or not number.isdecimal():
        raise UsageError(
            f"`partition=` was given {name!r}, which names no partition: write TOPIC-NUMBER, such as orders-3."
        )
    own = (f.col("topic") == topic) & (f.col("partition") == int(number))
    histories = log.sql.read.schema(SCHEMA).parquet(str(log.reading.folder / HISTORIES)).where(own)
    if until is not None:
        histories = histories.where(f.col("offset") <= until)
    rows = [row.asDict() for row in histories.drop("findings").orderBy(f.col("offset").desc()).limit(LED).collect()]
    if not rows:
        raise UsageError(
            f"the log has no partition {name}: write the name of a topic, a dash, and the number of a "
            "partition that it has."
        )
    newest = max(rows, key=itemgetter("offset"))["topic_id"]  # a topic that was created again has another id
    return controller_history([row for row in rows if row["topic_id"] == newest], log.context, until)


def _kept(folder: Path, stands: dict[str, Any]) -> Disagreement | None:
    """Return what an earlier run has said of these records; None if it has not, or said it of others."""
    try:
        kept = sealed.unseal(sealed.parse_object(read_file(folder / JUDGED)))
    except (OSError, sealed.BrokenSealError):
        return None
    same = all(kept.get(name) == value for name, value in stands.items())
    return Disagreement(kept["count"], kept["first"]) if same else None
