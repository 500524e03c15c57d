"""The table of the page on the audit: what `python -m benchmarks.audit` measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.figures.store import load

if TYPE_CHECKING:
    from collections.abc import Iterable

Row = list[str]
HEAD = [
    "records",
    "partitions",
    "of them changes of a single one",
    "seconds",
    "of them reading",
    "memory",
    "planted",
    "found",
    "wrongly blamed",
    "load",
]


def runs() -> tuple[Row, Iterable[Row]]:
    """Return what was measured, a row a log."""
    rows = load("audit").get("rows", [])
    return HEAD, (
        [
            f"{row['records']:,}",
            f"{row['partitions']:,}",
            f"{row['hot']:,}" if row["hot"] else "",
            f"{row['seconds']:.0f}",
            f"{row['reading_seconds']:.0f}",
            f"{row['peak_gb']:.1f} GB",
            f"{row['planted']}",
            f"{row['found']}",
            f"{row['false']}",
            f"{row['load']:.0f}",
        ]
        for row in rows
    )
