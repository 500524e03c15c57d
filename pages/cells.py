"""The table of KIP-392's four cases: what becomes of a consumer, by design and reset policy, from the runs of its cells."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fencepost.invariants.runs.follower_cells import Cell

CASES = {1: "1 uncommitted", 2: "2 unavailable", 3: "3 too small", 4: "4 too large"}
DESIGNS = {"kip392-older": "older text", "kip392-newer": "newer text", "kafka-4.1": "code"}
CONTRADICTION = "†"
"""Marks where the two texts, which the page mixes, do not lead to the same."""


def cells() -> tuple[list[str], list[list[str]]]:
    """Return the head and the rows of the table: one row for each case, policy, and whether the epoch is known."""
    from fencepost.invariants.runs.follower_cells import CELLS

    by_place = {(cell.case, cell.policy, cell.epochs, cell.version): cell for cell in CELLS}
    places = sorted({(cell.case, cell.epochs == "off", cell.policy) for cell in CELLS})
    rows = []
    for case, lacks_epoch, policy in places:
        epochs = "off" if lacks_epoch else "on"
        row = {version: by_place[case, policy, epochs, version] for version in DESIGNS}
        differs = row["kip392-older"].outcomes != row["kip392-newer"].outcomes
        shown = [_told(cell, marked=differs and version != "kafka-4.1") for version, cell in row.items()]
        rows.append([CASES[case], "none" if lacks_epoch else "known", policy, *shown])
    return ["case", "epoch", "policy", *DESIGNS.values()], rows


def _told(cell: Cell, *, marked: bool) -> str:
    """Return what may happen in a cell, the worst first and with a link to its history."""
    mark = f" {CONTRADICTION}" if marked else ""
    if not cell.outcomes:
        return f"not met{mark}"
    worst, *others = reversed([name + (" data" if name == "skips" else "") for name in cell.outcomes])
    (file,) = cell.run.trace.values()
    return ", ".join([f"[{worst}](../counterexamples/archive/{file})", *others]) + mark
