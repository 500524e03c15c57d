"""The table of KIP-392's four cases: what becomes of a consumer, by design and reset policy, from the runs of its cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fencepost.api.topics.evidence import constants_of
from fencepost.invariants import follower_reads_cases
from fencepost.invariants.catalogue import runs_of

if TYPE_CHECKING:
    from fencepost.invariants.catalogue import Run

CASES = {1: "1 uncommitted", 2: "2 unavailable", 3: "3 too small", 4: "4 too large"}
DESIGNS = {"kip392-older": "older text", "kip392-newer": "newer text", "kafka-4.1": "code"}
CONTRADICTION = "†"
"""Marks where the two texts, which the page mixes, do not lead to the same."""


class Cell(NamedTuple):
    """One cell: design, policy and case; whether epochs are known; what may happen, the worst first; the run."""

    version: str
    policy: str
    case: int
    epochs: bool
    outcomes: tuple[str, ...]
    run: Run


def every_cell() -> list[Cell]:
    """Return the cells, from the runs that watch one case."""
    return [_cell(run) for run in runs_of("follower-reads") if "watched_case" in run.constants]


def _cell(run: Run) -> Cell:
    said = constants_of(run)
    reached = [item.name.removeprefix("case-") for item in follower_reads_cases.CASES if item.name not in run.unreached]
    return Cell(run.version, said["policy"], said["watched_case"], said["position_epochs"], tuple(reached), run)


def cells() -> tuple[list[str], list[list[str]]]:
    """Return the head and the rows of the table: one row for each case, policy, and whether the epoch is known."""
    by_place = {(cell.case, cell.policy, cell.epochs, cell.version): cell for cell in every_cell()}
    places = sorted({(case, not epochs, policy) for case, policy, epochs, _ in by_place})
    rows = []
    for case, lacks_epoch, policy in places:
        row = {version: by_place[case, policy, not lacks_epoch, version] for version in DESIGNS}
        differs = row["kip392-older"].outcomes != row["kip392-newer"].outcomes
        shown = [_told(cell, marked=differs and version != "kafka-4.1") for version, cell in row.items()]
        rows.append([CASES[case], "none" if lacks_epoch else "known", policy, *shown])
    return ["case", "epoch", "policy", *DESIGNS.values()], rows


def _told(cell: Cell, *, marked: bool) -> str:
    """Return what may happen in a cell, the worst first and with a link to its history."""
    mark = f" {CONTRADICTION}" if marked else ""
    if not cell.outcomes:
        return f"not met{mark}"
    worst, *others = [name + (" data" if name == "skips" else "") for name in cell.outcomes]
    (file,) = cell.run.trace.values()
    return ", ".join([f"[{worst}](../counterexamples/archive/{file})", *others]) + mark
