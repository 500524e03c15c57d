"""The table of the page on the audit: what `python -m benchmarks.audit` measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.invariants.figures.store import load

if TYPE_CHECKING:
    from collections.abc import Iterable

Row = list[str]
HEAD = [
    "records",
    "master",
    "partitions",
    "changes of one",
    "seconds",
    "reading",
    "memory",
    "planted",
    "found",
    "wrongly blamed",
    "exposures, found",
    "digest",
    "load",
]


def runs() -> tuple[Row, Iterable[Row]]:
    """Return what was measured, a row a log."""
    rows = load("audit").get("rows", [])
    return HEAD, (
        [
            f"{row['records']:,}",
            row["master"],
            f"{row['partitions']:,}",
            f"{row['hot']:,}" if row["hot"] else "",
            f"{row['seconds']:.0f}",
            f"{row['reading_seconds']:.0f}",
            f"{row['peak_gb']:.1f} GB",
            f"{row['planted']}",
            f"{row['found']}",
            f"{row['false']}",
            f"{row['exposed']}, {row['exposed_found']}",
            row["digest"][:8],
            f"{row['load']:.0f}",
        ]
        for row in rows
    )
