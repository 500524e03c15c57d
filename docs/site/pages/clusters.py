"""The tables of the page on clusters: what `python -m benchmarks.figures.clusters` recorded."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

from fencepost.invariants.figures.store import load

if TYPE_CHECKING:
    from collections.abc import Iterable

Row = list[str]
HARMS = ("lost", "out", "leaderless")


def played() -> tuple[Row, Iterable[Row]]:
    """Return what became of the stories as they are."""
    return _table(as_they_are=True)


def kept() -> tuple[Row, Iterable[Row]]:
    """Return what became of controls and repairs."""
    return _table(as_they_are=False)


def _table(*, as_they_are: bool) -> tuple[Row, Iterable[Row]]:
    runs: list[dict[str, Any]] = [
        run for run in load("clusters").get("runs", []) if (run["mode"] == "played") == as_they_are
    ]
    groups = dict.fromkeys((run["finding"], run["mode"], run["kafka"]) for run in runs)
    head = [
        "finding",
        *([] if as_they_are else ["as"]),
        "Kafka",
        "expected",
        "runs",
        "did harm",
        "kept all",
        "undetermined",
    ]
    rows = (
        _row(key, [run for run in runs if (run["finding"], run["mode"], run["kafka"]) == key], named=not as_they_are)
        for key in groups
    )
    return [*head, "acknowledged", "of them lost", "seconds"], rows


def _row(key: tuple[str, str, str], runs: list[dict[str, Any]], *, named: bool) -> Row:
    finding, mode, kafka = key
    verdicts = [run["verdict"] for run in runs]
    ended = [run for run in runs if run["verdict"] != "undetermined"]
    return [
        finding,
        *([mode.replace("repaired-", "only repaired: ")] if named else []),
        kafka,
        runs[0]["expected"],
        str(len(runs)),
        str(sum(verdicts.count(harm) for harm in HARMS)),
        *(str(verdicts.count(verdict)) for verdict in ("kept", "undetermined")),
        _span([run["acknowledged"] for run in ended]),
        _span([run["lost"] for run in ended]),
        f"{median(run['seconds'] for run in runs):.0f}",
    ]


def _span(numbers: list[int]) -> str:
    """Return the least and the greatest of some numbers."""
    if not numbers:
        return ""
    least, greatest = min(numbers), max(numbers)
    return f"{least:,}" if least == greatest else f"{least:,} to {greatest:,}"
