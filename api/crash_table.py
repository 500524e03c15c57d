"""The measured table of how many crashes an acknowledged record survives, a cell for each setting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.figures.store import load

if TYPE_CHECKING:
    from fencepost.api.contract_evidence import PointData


def cells(replicas: int) -> list[PointData]:
    """Return the cells that were searched for so many replicas; none where nothing was."""
    found: list[PointData] = load("faults").get(str(replicas), {}).get("grid", [])
    return found


def cell_of(replicas: int, min_isr: int, *, elr: bool, unclean_election: bool) -> PointData | None:
    """Return the cell of a setting, None if it was not searched."""
    wanted = {"min_isr": min_isr, "elr": elr, "unclean_election": unclean_election}
    return next((item for item in cells(replicas) if item["setting"] == wanted), None)


def outcome(point: PointData) -> str:
    """Return what crashes do to an acknowledged record in a cell."""
    least = point["least"]
    if point["undetermined"]:
        return "not decided: a search ended early"
    if least is None:
        return f"survives the {sum(point['most'].values())} crashes that were tried"
    if not least:
        return "lost without any crash"
    survived = least - 1
    return f"survives {survived} crash{'es' if survived > 1 else ''}, lost with {least}" if survived else "lost with 1 crash"
