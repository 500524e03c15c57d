"""The table of the page on the explorer: what `python -m benchmarks.explore` measured in a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.invariants.figures.store import load

if TYPE_CHECKING:
    from collections.abc import Iterable

Row = list[str]


def times() -> tuple[Row, Iterable[Row]]:
    """Return how long the page takes, a row for each thing that somebody waits for."""
    rows = load("explore").get("rows", [])
    return ["what", "measured", "wanted"], ([row["what"], row["measured"], row["wanted"]] for row in rows)
