"""What an audit found, summed up in Spark SQL: how much there is, the worst of it, and what led to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fencepost.audit.findings import SEVERITIES, SORTS
from fencepost.audit.logs import gaps, overlaps
from fencepost.audit.pipeline import FINDINGS, HISTORIES, SCHEMA

if TYPE_CHECKING:
    from fencepost.audit.findings import Severity
    from fencepost.audit.pipeline import Disagreement
    from fencepost.audit.reading import Reading
    from pyspark.sql import DataFrame, SparkSession

FORMAT = 1
SHOWN = 1000
"""Findings that are in the report, the worst first; `omitted` says how many more are in the Parquet files."""
TOLD, BEFORE = 5, 8
"""Partitions whose history is told, and how many of its changes up to the finding."""
STEP = ("offset", "time", "leader", "leader_epoch", "replicas", "isr", "elr", "adding", "removing", "min_isr", "election")
TOP = 10
FOUND_SCHEMA = """topic_id string, topic string, partition int, sort string, severity string, offset bigint, time bigint, end bigint,
lasted bigint, brokers array<int>, text string"""
RANK = "array_position(array('critical', 'high', 'medium', 'low'), severity)"
COUNTS = """
SELECT count_if(election NOT IN ('end', 'deleted')) AS changes, count(DISTINCT topic_id) AS topics,
       count(DISTINCT topic_id, partition) AS partitions, count_if(election = 'unjudged') AS unjudged,
       count_if(election IN ('isr', 'elr', 'unclean', 'last-known', 'none-of-them')) AS elections
FROM histories
"""
SORTED = """
SELECT sort, severity, count(*) AS count, count(DISTINCT topic_id, partition) AS partitions, min(time) AS first, max(time) AS last,
       max(lasted) AS longest
FROM findings GROUP BY sort, severity
"""
TOPICS = "SELECT topic, count(*) AS count, count(DISTINCT partition) AS partitions FROM findings GROUP BY topic, topic_id ORDER BY count DESC, topic"
BROKERS = "SELECT broker, count(*) AS count FROM (SELECT explode(brokers) AS broker FROM findings) GROUP BY broker ORDER BY count DESC, broker"
DAYS = """
SELECT date_format(timestamp_millis(time), 'yyyy-MM-dd') AS day, severity, count(*) AS count FROM findings
GROUP BY day, severity ORDER BY day, severity
"""


@dataclass(frozen=True)
class Asked:
    """What of the findings is reported: those of this severity or worse."""

    severity: Severity = "low"

    @property
    def taken(self) -> list[str]:
        """The severities that are reported."""
        return list(SEVERITIES[: SEVERITIES.index(self.severity) + 1])


def report(sql: SparkSession, reading: Reading, differ: Disagreement, asked: Asked) -> dict[str, Any]:
    """Return what was found, as JSON."""
    folder = reading.folder
    histories = sql.read.schema(SCHEMA).parquet(str(folder / HISTORIES))
    found = sql.read.schema(FOUND_SCHEMA).parquet(str(folder / FINDINGS)).where(_any("severity", asked.taken))
    histories.createOrReplaceTempView("histories")
    found.createOrReplaceTempView("findings")
    counts = sql.sql(COUNTS).first().asDict()
    sorts = [row.asDict() for row in sql.sql(SORTED).collect()]
    worst = found.orderBy(_expr(RANK), "time", "topic", "partition", "sort", "offset").limit(SHOWN)
    findings = [_finding(row.asDict()) for row in worst.collect()]
    total = sum(item["count"] for item in sorts)
    notes = [{"what": note.what, "text": note.text, "count": note.count, "unread": note.unread} for note in reading.every_note]
    offsets = [run for item in reading.files if item.kind != "snapshot" for run in item.runs]
    return {
        "format": FORMAT,
        "verdict": _verdict(sorts, notes),
        "records": reading.records,
        "read_now": reading.added,
        "first": min((first for first, _ in offsets), default=None),
        "last": max((last for _, last in offsets), default=None),
        "files": len(reading.files),
        **counts,
        "sorts": sorted((_sort(item) for item in sorts), key=lambda item: (SEVERITIES.index(item["severity"]), item["sort"])),
        "findings": findings,
        "omitted": total - len(findings),
        "histories": _told(histories, findings),
        "trace": None,
        "by_topic": [row.asDict() for row in sql.sql(TOPICS).limit(TOP).collect()],
        "by_broker": [row.asDict() for row in sql.sql(BROKERS).limit(TOP).collect()],
        "by_day": [row.asDict() for row in sql.sql(DAYS).collect()],
        "notes": notes,
        "gaps": [list(gap) for gap in gaps(reading.files)],
        "overlaps": [list(one) for one in overlaps(reading.files)],
        "disagreements": {"count": differ.count, "offset": differ.first},
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


def _told(histories: DataFrame, findings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what led to the worst findings: the last changes of their partitions up to them."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    told: dict[tuple[str, int], int] = {}
    for item in findings:
        if item["severity"] in ("critical", "high") and len(told) < TOLD:
            told.setdefault((item["topic"], item["partition"]), item["end"])
    wanted = f.lit(False)
    for (topic, partition), end in told.items():
        wanted |= (f.col("topic") == topic) & (f.col("partition") == partition) & (f.col("offset") <= end)
    newest = Window.partitionBy("topic", "partition").orderBy(f.col("offset").desc())
    rows = histories.where(wanted & (f.col("election") != "end")).drop("findings")
    rows = rows.withColumn("back", f.row_number().over(newest)).where(f.col("back") <= BEFORE)
    steps: dict[tuple[str, int], list[dict[str, Any]]] = {key: [] for key in told}
    for row in rows.orderBy("offset").collect() if told else ():
        steps[row["topic"], row["partition"]].append({name: row[name] for name in STEP})
    return [{"topic": topic, "partition": partition, "steps": found} for (topic, partition), found in steps.items()]
