"""Measurement of the matrices and the fault tables, which takes hours, so `tox -e figures` runs at night.

`python -m benchmarks.figures.matrices` measures the stale matrices and tables; `fencepost site` builds the pages.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from fencepost.api.asking.constants import axes_of
from fencepost.api.calls.faults import faults
from fencepost.api.files import Kept
from fencepost.api.topics.matrices import LEAST_STATES, MORE, TIMES, base_run, bases, mark_of, stale
from fencepost.api.topics.measured import NAME as MEASURED
from fencepost.api.topics.measured import machine_mark
from fencepost.cli.views.console import Display
from fencepost.explorers.evidence.ablation import Ablation, Row, RowOutcome, rows_of
from fencepost.explorers.native.compile import Source
from fencepost.explorers.verdict import Options
from fencepost.invariants.catalogue import values_of
from fencepost.invariants.figures.store import load, save
from fencepost.invariants.protocols import Protocol, protocol
from fencepost.model.language.constants import Constants
from fencepost.site.stale import (
    LOSS,
    MOST_STATES,
    SIZES,
    constants_of,
    crashes_mark,
    crashes_measured,
    grid_of,
    stale_crashes,
)

NEW_VIOLATION = "a property is violated"
"""The usual reason why a search ended; it is omitted, because a violation implies it."""


def measure(name: str, folder: str | None, workers: int) -> dict[str, Any]:
    found = protocol(name)
    return {"mark": mark_of(found), "bases": slim([_base(found, title, folder, workers) for title in bases()[name]])}


def slim(bases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Keep, for each row, only the shortest history over all bases."""
    shortest: dict[str, int] = {}
    for base in bases:
        for row in base["rows"]:
            length = min(row.get("broken", {}).values(), default=0)
            if length:
                shortest[row["row"]] = min(length, shortest.get(row["row"], length))
    for base in bases:
        for row in base["rows"]:
            if row.get("broken") and shortest.get(row["row"]) == min(row["broken"].values()):
                shortest.pop(row["row"])
            else:
                row.pop("steps", None)
    return bases


def _base(found: Protocol, title: str, folder: str | None, workers: int) -> dict[str, Any]:
    from fencepost.explorers.evidence.ablation import explore_rows
    from fencepost.explorers.native.compile import generate

    constants = found.machine.set_constants(values_of(base_run(found.name, title)))
    source = generate(found.machine, constants, found.properties, normalize=True, masked=True)
    ready: list[Ablation] = []
    name = f"{found.name} {title}"
    wholes = Kept(folder, f"{constants!r}{source.text}", resume=folder is not None)
    whole = wholes.recall(f"{name} whole")
    if whole is None:
        whole, ablation = _whole(found, constants, source, workers)
        ready.append(ablation)
        wholes.keep(f"{name} whole", whole)
    limit = max(LEAST_STATES, TIMES * whole["distinct"])
    kept = Kept(folder, f"{constants!r}{limit}{source.text}", resume=folder is not None)
    rows = rows_of(found.machine, constants, MORE.get(found.name, {}))
    finished = {row.name: item for row in rows if (item := kept.recall(f"{name} {row.name}")) is not None}
    waiting: tuple[Row, ...] = tuple(row for row in rows if row.name not in finished)
    if waiting:
        ablation = ready[0] if ready else _whole(found, constants, source, workers)[1]
        ablation.options = replace(ablation.options, max_states=limit)

        def done(outcome: RowOutcome) -> None:
            finished[outcome.row.name] = condensed(found, ablation, outcome)
            kept.keep(f"{name} {outcome.row.name}", finished[outcome.row.name])

        explore_rows(ablation, waiting, workers, done)
    sys.stderr.write(f"{name}: {len(rows)} rows, {len(waiting)} of them searched\n")
    return {"run": title, **whole, "rows": [finished[row.name] for row in rows]}


def _whole(found: Protocol, constants: Constants, source: Source, workers: int) -> tuple[dict[str, Any], Ablation]:
    from fencepost.api.answers.matrix import whole_data
    from fencepost.explorers.evidence.ablation import Ablation
    from fencepost.explorers.native.compile import load

    ablation = Ablation(found.machine, constants, found.properties, Options(workers=workers), load(source))
    data = whole_data(found, ablation, ablation.explore_whole())
    kept = {key: data[key] for key in ("distinct", "depth", "constants", "asked")}
    kept["properties"] = {item["name"]: item["verdict"] for item in data["properties"]}
    kept["fired"] = {item["name"]: item["fired"] for item in data["actions"]}
    return kept, ablation


def condensed(found: Protocol, ablation: Ablation, outcome: RowOutcome) -> dict[str, Any]:
    """Return the stored part of a row: the violated properties, and the steps of the shortest history with a new
    violation.
    """
    from fencepost.api.answers.matrix import row_data

    row = row_data(found, ablation, outcome, texts=False)
    violated = {name: cell["length"] for name, cell in row["cells"].items() if cell["verdict"] == "violated"}
    departure = row["departure"]["message"] if row["departure"] and row["purpose"] == "bound" else ""
    made = {
        "row": row["row"],
        "purpose": row["purpose"],
        "broken": {name: violated[name] for name in row["broken"]},
        "also": {name: length for name, length in violated.items() if name not in row["broken"]},
        "why": row["why"] if row["why"] != NEW_VIOLATION else "",
        "departure": departure,
        "steps": row["cells"][outcome.broken[0]]["steps"] if outcome.broken else [],
    }
    return {key: value for key, value in made.items() if value or (key == "steps" and outcome.broken)}


def measure_faults(replicas: str, keep: str | None, workers: int) -> None:
    found = protocol("replication")
    with Display(quiet=False) as display:
        made = faults(
            found,
            prop=LOSS,
            constants=constants_of(replicas),
            kinds=("crashes",),
            grid=axes_of(found.machine, grid_of(replicas)),
            workers=workers,
            compact=True,
            max_states=MOST_STATES,
            checkpoint=keep,
            resume=keep is not None and any(Path(keep).glob("*.json")),
            progress=display,
        ).to_dict()
    mark = crashes_mark(replicas)
    save("faults", dict(sorted({**crashes_measured(), replicas: {"mark": mark, **made}}.items())))
    measured: dict[str, Any] = load(MEASURED)
    marks = {**measured.get("crashes", {}), replicas: machine_mark(found.machine)}
    save(MEASURED, {**measured, "crashes": marks})


@click.command()
@click.argument("names", metavar="[PROTOCOL]...", nargs=-1)
@click.option("--keep", metavar="DIR", help="Save finished rows and grid points here, and reuse saved ones.")
@click.option(
    "--faults", type=click.Choice(list(SIZES)), multiple=True, help="Measure the fault table for this many replicas."
)
@click.option("--proofs", metavar="FILE", help="Store the output of `fencepost prove --no-cache --workers 1 --json`.")
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="Rows to search in parallel.")
def main(names: tuple[str, ...], keep: str | None, faults: tuple[str, ...], proofs: str | None, workers: int) -> None:
    """Measure the matrices of each PROTOCOL and the named fault tables or, if none are named, whatever is stale."""
    if proofs:
        save("proofs", json.loads(Path(proofs).read_text()))
    elif not names and not faults:
        names, faults = tuple(stale()), tuple(stale_crashes())
    for name in names:
        save(f"matrices/{name}", measure(name, keep, workers))
    for replicas in faults:
        measure_faults(replicas, keep, workers)


if __name__ == "__main__":
    main()
