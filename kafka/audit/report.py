"""Report of an audit, summed up in Spark SQL: how much there is, the worst of it, and what led to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fencepost.kafka.audit.findings import SEVERITIES, SORTS
from fencepost.kafka.audit.partition import NO_LEADER
from fencepost.kafka.audit.pipeline import FINDINGS, HISTORIES, SCHEMA
from fencepost.kafka.formatting import clock, many

if TYPE_CHECKING:
    from fencepost.kafka.audit.findings import Severity
    from fencepost.kafka.audit.logs import File
    from fencepost.kafka.audit.pipeline import Disagreement, MetadataLog
    from pyspark.sql import DataFrame


FORMAT = 1
SHOWN = 1000
"""Findings that are in the report, the worst first; `omitted` says how many more are in the Parquet files."""
TOLD = 5
"""Partitions whose history is shown."""
GAPS = 3
"""Gaps that are named at the top; all are at the end."""
SEEMS = 10
"""Logs of one cluster differ in a few offsets at most, at their ends; if more than one in so many differs they are
of two."""
TOP = 10
FOUND_SCHEMA = """topic_id string, topic string, partition int, sort string, severity string, offset bigint,
time bigint, end bigint, lasted bigint, brokers array<int>, text string"""
RANK = "array_position(array('critical', 'high', 'medium', 'low'), severity)"
COUNTS = """
SELECT count_if(election NOT IN ('end', 'deleted')) AS changes, count(DISTINCT topic_id) AS topics,
       count(DISTINCT topic_id, partition) AS partitions, count_if(election = 'unjudged') AS unjudged,
       count(DISTINCT IF(election = 'unjudged', struct(topic_id, partition), NULL)) AS unjudged_partitions,
       count_if(election IN ('isr', 'elr', 'unclean', 'last-known', 'none-of-them')) AS elections
FROM histories
"""
SORTED = """
SELECT sort, severity, count(*) AS count, count(DISTINCT topic_id, partition) AS partitions, min(time) AS first,
       max(time) AS last, max(lasted) AS longest
FROM everything GROUP BY sort, severity
"""
TOPICS = (
    "SELECT topic, count(*) AS count, count(DISTINCT partition) AS partitions FROM findings GROUP BY "
    "topic, topic_id ORDER BY count DESC, topic"
)
BROKERS = (
    "SELECT broker, count(*) AS count FROM (SELECT explode(brokers) AS broker FROM findings) GROUP BY "
    "broker ORDER BY count DESC, broker"
)
DAYS = """
SELECT date_format(timestamp_millis(time), 'yyyy-MM-dd') AS day, severity, count(*) AS count FROM findings
GROUP BY day, severity ORDER BY day, severity
"""


def report(log: MetadataLog, differ: Disagreement, severity: Severity) -> dict[str, Any]:
    """Return what was found, as JSON; of the findings those of this severity or worse."""
    sql, reading = log.sql, log.reading
    taken: list[str] = list(SEVERITIES[: SEVERITIES.index(severity) + 1])
    folder = reading.folder
    histories = sql.read.schema(SCHEMA).parquet(str(folder / HISTORIES))
    everything = sql.read.schema(FOUND_SCHEMA).parquet(str(folder / FINDINGS))
    found = everything.where(_any("severity", taken))
    histories.createOrReplaceTempView("histories")
    everything.createOrReplaceTempView("everything")
    found.createOrReplaceTempView("findings")
    counts = sql.sql(COUNTS).first().asDict()
    every = [row.asDict() for row in sql.sql(SORTED).collect()]
    sorts = [item for item in every if item["severity"] in taken]
    worst = found.orderBy(_expr(RANK), "time", "topic", "partition", "sort", "offset").limit(SHOWN)
    findings = [_finding(row.asDict()) for row in worst.collect()]
    total = sum(item["count"] for item in sorts)
    notes = [
        {"what": note.what, "text": note.text, "count": note.count, "unread": note.unread}
        for note in reading.every_note
    ]
    offsets = [run for item in reading.files if item.kind != "snapshot" for run in item.runs]
    times = log.parquet.where("time > 0").selectExpr("min(time)", "max(time)").first()
    newest = log.parquet.selectExpr("max(offset)").first()[0]
    missing, common = reading.coverage.gaps, reading.coverage.overlaps
    return {
        "format": FORMAT,
        "verdict": _verdict(every, notes),
        "warnings": warnings_of(counts, notes, missing, differ, sum(last - first + 1 for first, last in common)),
        "inputs": [_input(item) for item in reading.files],
        "began": times[0],
        "until": times[1],
        "severity": severity,
        "milder": sum(item["count"] for item in every) - total,
        "records": reading.records,
        "read_now": reading.added,
        "first": min((first for first, _ in offsets), default=None),
        "last": max((last for _, last in offsets), default=None),
        "files": len(reading.files),
        **counts,
        "sorts": sorted(
            (_sort(item) for item in sorts), key=lambda item: (SEVERITIES.index(item["severity"]), item["sort"])
        ),
        "findings": findings,
        "omitted": total - len(findings),
        "histories": _histories(histories, findings, missing, (newest or 0, times[1] or 0)),
        "trace": None,
        "by_topic": [row.asDict() for row in sql.sql(TOPICS).limit(TOP).collect()],
        "by_broker": [row.asDict() for row in sql.sql(BROKERS).limit(TOP).collect()],
        "by_day": [row.asDict() for row in sql.sql(DAYS).collect()],
        "notes": notes,
        "gaps": [list(gap) for gap in missing],
        "overlaps": [list(one) for one in common],
        "disagreements": {"count": differ.count, "offset": differ.first},
    }


def _input(item: File) -> dict[str, Any]:
    return {
        "path": item.path,
        "kind": item.kind,
        "records": item.records,
        "first": item.runs[0][0] if item.runs else None,
        "last": item.runs[-1][1] if item.runs else None,
    }


def _any(column: str, values: list[str]) -> Any:
    from pyspark.sql import functions as f

    return f.col(column).isin(values)


def _expr(text: str) -> Any:
    from pyspark.sql import functions as f

    return f.expr(text)


def _verdict(sorts: list[dict[str, Any]], notes: list[dict[str, Any]]) -> str:
    """Return the worst that can be said: what was found goes before what could not be read."""
    if any(SORTS[item["sort"]].violation for item in sorts):
        return "violated"
    if sorts:
        return "exposed"
    return "undetermined" if any(note["unread"] for note in notes) else "nothing-found"


def _sort(item: dict[str, Any]) -> dict[str, Any]:
    """Return a row of the overview with what it means."""
    sort = SORTS[item["sort"]]
    return {
        **item,
        "kind": "violation" if sort.violation else "exposure",
        "about": sort.about,
        "page": sort.page,
        "sentence": sort.sentence,
        "look": sort.look,
    }


def _finding(item: dict[str, Any]) -> dict[str, Any]:
    del item["topic_id"]
    sort = SORTS[item["sort"]]
    return {**item, "kind": "violation" if sort.violation else "exposure", "about": sort.about}


def _histories(
    histories: DataFrame, findings: list[dict[str, Any]], missing: list[tuple[int, int]], end: tuple[int, int]
) -> list[dict[str, Any]]:
    """Return the histories of the partitions with the worst findings."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    worst: dict[tuple[str, int], int] = {}
    for item in findings:
        if item["severity"] in ("critical", "high") and len(worst) < TOLD:
            worst.setdefault((item["topic"], item["partition"]), item["offset"])
    if not worst:
        return []
    wanted, upto = f.lit(False), f.lit(False)
    for (topic, partition), offset in worst.items():
        own = (f.col("topic") == topic) & (f.col("partition") == partition)
        wanted |= own
        upto |= own & (f.col("offset") <= offset)
    rows = histories.where(wanted & (f.col("election") != "end")).drop("findings").withColumn("earlier", upto)
    side = Window.partitionBy("topic", "partition", "earlier")
    rows = rows.withColumn("back", f.row_number().over(side.orderBy(f.col("offset").desc())))
    rows = rows.withColumn("on", f.row_number().over(side.orderBy("offset"))).withColumn("of", f.count("*").over(side))
    shown = rows.where(f"earlier AND back <= {BEFORE} OR NOT earlier AND (on <= {AFTER} OR back = 1)")
    steps: dict[tuple[str, int], list[dict[str, Any]]] = {key: [] for key in worst}
    for row in shown.orderBy("offset").collect():
        steps[row["topic"], row["partition"]].append(row.asDict())
    return [
        partition_story(made, [item for item in findings if (item["topic"], item["partition"]) == key], missing, end)
        for key, made in steps.items()
    ]


def warnings_of(
    counts: dict[str, Any],
    notes: list[dict[str, Any]],
    missing: list[tuple[int, int]],
    differ: Disagreement,
    common: int,
) -> list[str]:
    """Return what a reader must know before the findings: what is not judged, and that logs do not belong together."""
    found = []
    if differ.count * SEEMS > common:
        found.append(
            f"these logs seem to be of different clusters: {differ.count:,} of {common:,} offsets that they "
            "share differ. Audit each by itself."
        )
    unread = [note for note in notes if note["unread"]]
    if unread or counts["unjudged"]:
        inner = [gap for gap in missing if gap[0] > 0 or counts["unjudged"]]
        spans = [
            f"offset {first:,} is" if first == last else f"offsets {first:,} to {last:,} are" for first, last in inner
        ]
        parts = (
            [f"{', '.join(spans[:GAPS])}{' and more' if len(spans) > GAPS else ''} damaged or missing"] if spans else []
        )
        parts += [] if spans else [unread[0]["text"]] if unread else []
        if counts["unjudged"]:
            changes, partitions = counts["unjudged"], counts["unjudged_partitions"]
            parts.append(
                f"{many(changes, 'later change')} of {many(partitions, 'partition')} "
                f"{'was' if changes == 1 else 'were'} not judged"
            )
        found.append(f"incomplete: {'; '.join(parts)}")
    return found


BEFORE, AFTER = 8, 20
"""Changes that are shown: the last ones up to the worst finding, and the first ones after it; the newest is shown
always."""
STEP = (
    "offset",
    "time",
    "leader",
    "leader_epoch",
    "replicas",
    "isr",
    "elr",
    "adding",
    "removing",
    "min_isr",
    "election",
    "why",
)
LOSING = ("removed-replica-elected", "late-min-isr-elected", "stale-elr-elected", "unclean-election")
"""Elections after which the leader before may be the only one that has the records."""
Told = dict[str, Any]


def partition_story(rows: list[Told], found: list[Told], gaps: list[tuple[int, int]], end: tuple[int, int]) -> Told:
    """Return the history of a partition for a report.

    Rows are its changes in their order, each with how many there are on its side of the finding (`of`) and whether it
    is up to it (`earlier`). `end` is the offset and the time at which the log ends.
    """
    steps = [{name: row[name] for name in STEP} for row in rows]
    first = rows[0]
    earlier = sum(row["earlier"] for row in rows)
    later = next((row["of"] for row in rows if not row["earlier"]), 0)
    advice = [one for item in found if item["sort"] in LOSING and (one := _advice(item, steps, end))]
    return {
        "topic": first["topic"],
        "partition": first["partition"],
        "steps": steps,
        "earlier": (first["of"] if first["earlier"] else 0) - earlier,
        "left_out": later - (len(rows) - earlier),
        "gaps": [list(gap) for gap in gaps if steps[0]["offset"] < gap[0] <= end[0]],
        "end": {"offset": end[0], "time": end[1]},
        "advice": advice,
    }


def _advice(item: Told, steps: list[Told], end: tuple[int, int]) -> str:
    """Say what to do about an election, by what became of the leader before it."""
    at = item["offset"]
    former = next(
        (step["leader"] for step in reversed(steps) if step["offset"] < at and step["leader"] != NO_LEADER), NO_LEADER
    )
    after = [step for step in steps if step["offset"] > at]
    known = [step for step in after if step["election"] not in ("unjudged", "deleted")]
    name, began = f"{item['topic']}-{item['partition']}", clock(item["time"])
    if former == NO_LEADER or former in item["brokers"]:
        return ""
    who = f"Broker {former} led before the election at offset {at:,} ({began})."
    if after and after[-1]["election"] == "deleted":
        return f"{who} The topic was deleted at offset {after[-1]['offset']:,}: there is nothing left to compare."
    back = next((step for step in known if former in step["isr"]), None)
    if back is not None:
        return (
            f"{who} It joined the ISR again at offset {back['offset']:,} ({clock(back['time'])}): its log is "
            "that of the new leader now, and what "
            f"only it had is gone. Search its log for 'Truncating partition {name}' between {began} and "
            f"{clock(back['time'])}: the line says "
            "from which offset. Producers must send those records again, or you from a copy of its disk of before."
        )
    if known and former not in known[-1]["replicas"]:
        return (
            f"{who} It has not been a replica since offset {_since(known, former):,}: stop it before it "
            "deletes the folder (a minute, by default), or look for "
            f"a folder {name}.*-delete on its disk, and copy it."
        )
    return (
        f"{who} It has not joined the ISR again when the log ends (offset {end[0]:,}, {clock(end[1])}). If it "
        f"is down keep it down, and copy the folder {name} "
        f"from its disk before it starts: it may have the only copy of the records. If it runs, search its log for "
        f"'Truncating partition {name}' since {began}."
    )


def _since(steps: list[Told], broker: int) -> int:
    """Return the offset from which on a broker has no replica."""
    last = max((number for number, step in enumerate(steps) if broker in step["replicas"]), default=-1)
    return int(steps[last + 1]["offset"])
