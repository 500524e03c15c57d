"""The tables of the page on speed: what `python -m benchmarks.replication` measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fencepost.invariants.figures.store import load

if TYPE_CHECKING:
    from collections.abc import Iterable

Row = list[str]


def searches() -> tuple[Row, Iterable[Row]]:
    """Return every search that was measured."""
    found: dict[str, dict[str, Any]] = load("speed")["searches"]
    return ["search", "distinct", "processor s", "wall s", "ns a state", "bytes a state"], (
        [
            name,
            f"{row['distinct']:,}",
            f"{row['processor']:.2f}",
            f"{row['wall']:.2f}",
            f"{row['processor'] / row['distinct'] * 1e9:,.0f}",
            f"{row['store_bytes'] / row['distinct']:.1f}",
        ]
        for name, row in found.items()
    )


def wanted() -> tuple[Row, Iterable[Row]]:
    """Return the ratios of that run beside what is wanted, and how long an answer takes as an operator asks for it."""
    rows = [[row["what"], row["wanted"], row["measured"]] for row in load("speed")["ratios"]]
    if warm := load("switches").get("warm"):
        rows.append([f"`{warm['command']}`, compiled before, seconds in all", "at most 10", str(warm["seconds"])])
    return ["what", "wanted", "measured"], rows


def steps() -> tuple[Row, Iterable[Row]]:
    """Return how far each step of the back end went, in nanoseconds of processor time a state."""
    return ["step", "kip320", "3 brokers", "kept"], (
        [row["step"], row["kip320"], row["three brokers"], row["kept"]] for row in load("speed")["steps"]
    )
