"""Which bounds each run of the catalogue reached: what holds there, holds below them.

`invariants/figures/reached.json` has a row for each run: the constants whose bounds cut off a step that was otherwise
possible, in the order of the constants. A budget of 0 is among them where it leaves something out. `fencepost check
--profile ci --pin` writes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.invariants.figures import store
from fencepost.invariants.run_files import constants_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fencepost.invariants.run import Run

NAME = "reached"
"""The figures that hold them."""


def reached_by(run: Run) -> dict[str, int] | None:
    """Return the bounds that a run reached, with their values; None where that was not recorded."""
    names = next(
        (row["bounds"] for row in store.load(NAME).get(run.protocol, ()) if row["run"] == run.short_name), None
    )
    if names is None:
        return None
    values = constants_of(run)
    return {name: int(values[name]) for name in names.split()}


def with_reached(runs: Iterable[Run], found: Mapping[str, Sequence[str]]) -> dict[str, list[dict[str, str]]]:
    """Return the figures with what runs found, by their names; runs that are gone are left out."""
    tables: dict[str, list[dict[str, str]]] = {}
    for run in runs:
        before = reached_by(run)
        names = found.get(run.name, None if before is None else tuple(before))
        if names is not None:
            tables.setdefault(run.protocol, []).append({"run": run.short_name, "bounds": " ".join(names)})
    return tables
