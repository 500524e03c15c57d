"""Measured tables of what loses an acknowledged record: crashes by setting, and faults by release."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fencepost.api.topics.fault_words import words_of
from fencepost.invariants.figures.store import load

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fencepost.api.answers.contract_evidence import PointData


def cells(replicas: int) -> list[PointData]:
    """Return the cells that were searched for so many replicas; none where nothing was."""
    found: list[PointData] = load("faults").get(str(replicas), {}).get("grid", [])
    return found


def cell_of(replicas: int, min_isr: int, *, elr: bool, unclean_election: bool) -> PointData | None:
    """Return the cell of a setting, None if it was not searched."""
    wanted = {"min_isr": min_isr, "elr": elr, "unclean_election": unclean_election}
    return next((item for item in cells(replicas) if item["setting"] == wanted), None)


def released(version: str, min_isr: int) -> dict[str, Any] | None:
    """Return the losses of a release on two brokers whose crashes keep the disk; None if not searched."""
    rows: list[dict[str, Any]] = load("versions").get("losses", {}).get("rows", [])
    return next((row for row in rows if (row["version"], row["min_isr"]) == (version, min_isr)), None)


def lost_with(row: Mapping[str, Any]) -> str:
    """Return the fewest faults that lose a record, or that none of those tried does."""
    if row["front"]:
        return "lost with " + "; or ".join(words_of(item["faults"]) for item in row["front"])
    return f"kept with up to {words_of(row['most'])}" if not row["unknown"] else "not decided"


def outcome(point: PointData) -> str:
    """Return the effect of crashes on an acknowledged record in a cell."""
    least = point["least"]
    if point["undetermined"]:
        return "not decided: a search ended early"
    if least is None:
        return f"survives the {sum(point['most'].values())} crashes that were tried"
    if not least:
        return "can be lost without any crash"
    survived = least - 1
    return (
        f"survives {survived} crash{'es' if survived > 1 else ''}, can be lost with {least}"
        if survived
        else "can be lost with 1 crash"
    )
