"""Helpers for tests of the audit: logs of real clusters, and an audit of them without Spark."""

import json
import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fencepost.kafka.audit.cluster_context import TYPES, ClusterContext, LogRecord, gather_context
from fencepost.kafka.audit.findings import Found
from fencepost.kafka.audit.following import Row, follow
from fencepost.kafka.audit.reading import Reading

from tests.helpers.places import ROOT

LOGS = ROOT / "tests" / "metadata_logs"
"""Controllers' logs, recorded by `python -m benchmarks.audit_logs`: a story and a release each."""


def unpack(name: str, folder: Path) -> Path:
    into = folder / name
    with tarfile.open(LOGS / f"{name}.tar.gz") as packed:
        packed.extractall(into, filter="data")
    return into


def table(reading: Reading) -> list[dict[str, Any]]:
    from pyarrow.parquet import read_table

    return [row for path in reading.paths for row in read_table(path).to_pylist()]


def followed(reading: Reading, rows: Iterable[dict[str, Any]]) -> list[Row]:
    """Return the histories that records make, as one task of the pipeline does."""
    return around_and_histories(reading, rows)[1]


def around_and_histories(reading: Reading, rows: Iterable[dict[str, Any]]) -> tuple[ClusterContext, list[Row]]:
    ends = {item.number: item.end for item in reading.files if item.kind == "snapshot"}
    known = [
        (ends[row["file"]] - 1 if row["file"] in ends else row["offset"], row["file"] in ends, row) for row in rows
    ]
    of_types = [(offset, old, row) for offset, old, row in known if row["type"] in TYPES]
    events = [LogRecord(offset, old, row["time"], row["type"], row["fields"]) for offset, old, row in of_types]
    last = max(known, key=lambda item: item[0])
    around = gather_context(events, gaps=reading.coverage.gaps, end=last[0], until=last[2]["time"], min_isr=1)
    changes = []
    for offset, old, row in known:
        if row["type"] in ("PARTITION_RECORD", "PARTITION_CHANGE_RECORD"):
            fields = json.loads(row["fields"])
            creates = row["type"] == "PARTITION_RECORD"
            about = (offset, row["time"], row["epoch"], creates, old, row["fields"])
            changes.append((fields["topicId"], fields["partitionId"], *about))
    changes.sort(key=lambda item: (item[0], item[1], item[2], item[6]))
    return around, list(follow(around, 60_000, iter(changes)))


def findings(rows: Iterable[Row]) -> list[Found]:
    return [found for row in rows for found in row.findings]
