"""The tables of the page on clusters: what `python -m benchmarks.figures.clusters` recorded."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

from fencepost.invariants.figures.store import load

if TYPE_CHECKING:
    from collections.abc import Iterable

Row = list[str]
MODES = {"played": "", "control": "control", "repaired": "repaired"}


def played() -> tuple[Row, Iterable[Row]]:
    """Return what became of the stories as they are."""
    return _table(("played",))


def kept() -> tuple[Row, Iterable[Row]]:
    """Return what became of controls and repairs."""
    return _table(("control", "repaired"))


def _table(modes: tuple[str, ...]) -> tuple[Row, Iterable[Row]]:
    runs: list[dict[str, Any]] = load("clusters").get("runs", [])
    groups = dict.fromkeys((run["finding"], run["mode"], run["kafka"]) for run in runs if run["mode"] in modes)
    head = [
        "finding",
        *(["as"] if len(modes) > 1 else []),
        "Kafka",
        "expected",
        "runs",
        "lost a record, or a broker",
        "kept all",
        "undetermined",
    ]
    rows = (
        _row(key, [run for run in runs if (run["finding"], run["mode"], run["kafka"]) == key], named=len(modes) > 1)
        for key in groups
    )
    return [*head, "acknowledged", "of them lost", "seconds"], rows


def _row(key: tuple[str, str, str], runs: list[dict[str, Any]], *, named: bool) -> Row:
    finding, mode, kafka = key
    verdicts = [run["verdict"] for run in runs]
    ended = [run for run in runs if run["verdict"] != "undetermined"]
    return [
        finding,
        *([MODES[mode]] if named else []),
        kafka,
        runs[0]["expected"],
        str(len(runs)),
        str(verdicts.count("lost") + verdicts.count("out")),
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
