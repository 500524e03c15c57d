"""What is measured for the chapter "Why every check is there": `python -m fencepost.pages.matrices docs` measures it anew.

The matrix of each protocol is made at several constants, those of small runs of the catalogue. Of each row is
kept what it is for, what breaks without it, and the shortest history; `docs/checks.md` is written from that.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from fencepost.api.kept import Kept, digest
from fencepost.explorers.evidence.rows import rows_of, settings
from fencepost.explorers.verdict import Options
from fencepost.invariants.catalogue import runs, values_of
from fencepost.invariants.protocols import protocol
from fencepost.model.language.fingerprint import texts
from fencepost.pages import tolerance

if TYPE_CHECKING:
    from fencepost.explorers.evidence.ablation import Ablation, Outcome
    from fencepost.explorers.evidence.rows import Row
    from fencepost.explorers.native.generate import Source
    from fencepost.invariants.catalogue import Run
    from fencepost.invariants.protocols import Protocol
    from fencepost.model.language.constants import Constants

MEASURED = Path(__file__).parent.parent / "docs" / "measured" / "checks.json"
BASES: dict[str, tuple[str, ...]] = {
    "kip320": ("3/2/2/2",),
    "replication": (
        "2 brokers, KIP-903",
        "2 brokers, one fence",
        "2 brokers, joining with two fences",
        "2 brokers, shrink and lag",
        "2 brokers, two fences",
        "2 brokers, clean stop",
        "2 brokers, ELR",
        "2 brokers, three moves",
        "2 brokers, one move",
        "2 brokers, waiting for joining",
        "3 brokers, two moves",
        "3 brokers, crash with loss",
        "3 brokers, crash with loss and early registration",
        "3 brokers, joining",
        "3 brokers, crash",
        "3 brokers, size of KIP-966's specification",
        "3 brokers, reassignment",
    ),
    "quorum": (
        "2 voters and an observer",
        "3 voters",
        "3 voters, restart",
    ),
    "metadata-reads": (
        "repaired 2 clients",
        "repaired 2 clients, writes and a foreign context, to offset 2",
        "draft-check-first 1 client, one image",
        "draft-check-first 2 calls in order, one broker",
        "draft-check-first 1 client, an old broker refused, in the end",
        "draft-check-first 1 client, a foreign context and resets, in the end",
        "draft-check-first 1 client, a rebuilt log and resets, in the end",
        "draft-check-first 1 client, a wrong context and resets, in the end",
    ),
    "leader-discovery": (
        "kip-951 3 brokers",
        "before-kip-951 3 brokers",
        "kip-951 3 brokers, consumer",
        "kip-951 3 brokers, one joins late, leaders keep endpoints",
        "kip-951 3 brokers, replicas behind their caches",
        "kip-951 2 brokers, a new topic, topic ids in hints",
        "kip-951 2 brokers, 2 partitions",
    ),
    "hints-and-tokens": (
        "repaired 2 brokers, in order, a new topic",
        "draft-check-first 2 brokers, one image, late metadata dropped",
    ),
    "follower-reads": (
        "kafka-4.1 2 replicas",
        "kafka-4.1 2 replicas, ListOffsets",
        "kafka-4.1 2 replicas, one stops",
        "kafka-4.1 2 replicas, late error, sender known",
        "kip392-newer 2 replicas, no epochs, leader asked first",
        "kip392-newer 2 replicas, no retention, guarded",
    ),
    "controller-failover": (
        "one decision",
        "one decision, no records",
        "two decisions, no records",
        "three epochs",
    ),
    "watermark-propagation": (
        "kip-392 one follower",
        "data-only one follower",
        "reported one follower",
    ),
}
"""The runs at whose constants guards are removed, by protocol: together they use every part of it."""
MORE: dict[str, dict[str, tuple[int, ...]]] = {"replication": {"alter_partition_version": (1, 2)}}
"""Constants that are no switches, and are set otherwise too."""
LEAST_STATES, TIMES = 300_000, 3
"""A row may take so many states, or so many times those of the whole machine."""


def base_run(name: str, title: str) -> Run:
    """Return the run of the catalogue with this title."""
    return next(run for run in runs() if run.name == f"{name} {title}")


def mark_of(found: Protocol) -> str:
    """Return what tells whether anything has changed that its matrices depend on: functions, schema, properties, constants."""
    asked = [(item.name, str(item.kind)) for item in found.properties]
    bases = [(title, *_question(found, title)) for title in BASES[found.name]]
    return digest([*texts(found.machine, found.properties), repr(asked), repr(bases), repr((LEAST_STATES, TIMES))])


def _question(found: Protocol, title: str) -> tuple[list[tuple[str, int]], list[str]]:
    """Return the constants of a base, and the settings that are its rows."""
    constants = found.machine.set_constants(values_of(base_run(found.name, title)))
    values = [(name, int(value)) for name, value in constants.values.items()]
    return values, [row.name for row in settings(constants, MORE.get(found.name, {}))]


def stale() -> list[str]:
    """Return the protocols whose matrices were not measured, or not as the protocol now is."""
    known = measured()
    return [name for name in BASES if name not in known or known[name]["mark"] != mark_of(protocol(name))]


def measured() -> dict[str, Any]:
    """Return what was measured, by protocol."""
    found: dict[str, Any] = json.loads(MEASURED.read_text()) if MEASURED.is_file() else {}
    return found


def measure(name: str, folder: str | None, workers: int) -> dict[str, Any]:
    """Return the matrices of a protocol, one for each of its bases; finished rows are kept in the folder."""
    found = protocol(name)
    return {"mark": mark_of(found), "bases": slim([_base(found, title, folder, workers) for title in BASES[name]])}


def slim(bases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Drop what the page does not show: cells that nothing violates, and histories of a row but the shortest of all bases."""
    shortest: dict[str, int] = {}
    for base in bases:
        for row in base["rows"]:
            length = min(row["broken"].values(), default=0)
            if length:
                shortest[row["row"]] = min(length, shortest.get(row["row"], length))
    for base in bases:
        base["properties"] = [{"name": item["name"], "verdict": item["verdict"]} for item in base["properties"]]
        for row in base["rows"]:
            row["cells"] = {name: cell for name, cell in row["cells"].items() if cell["verdict"] == "violated"}
            if shortest.get(row["row"]) == min(row["broken"].values(), default=0):
                shortest.pop(row["row"])
            else:
                row.pop("steps", None)
                row.pop("diagram", None)
            if row["purpose"] != "bound":
                row.pop("departure", None)
    return bases


def _base(found: Protocol, title: str, folder: str | None, workers: int) -> dict[str, Any]:
    """Return one matrix; nothing is compiled or searched where everything is kept already."""
    from fencepost.explorers.evidence.ablation import explore_rows
    from fencepost.explorers.native.generate import generate

    constants = found.machine.set_constants(values_of(base_run(found.name, title)))
    source = generate(found.machine, constants, found.properties, normalize=True, compact=False, masked=True)
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

        def done(outcome: Outcome) -> None:
            finished[outcome.row.name] = condensed(found, ablation, outcome)
            kept.keep(f"{name} {outcome.row.name}", finished[outcome.row.name])

        explore_rows(ablation, waiting, workers, done)
    sys.stderr.write(f"{name}: {len(rows)} rows, {len(waiting)} of them searched\n")
    return {"run": title, **whole, "rows": [finished[row.name] for row in rows]}


def _whole(found: Protocol, constants: Constants, source: Source, workers: int) -> tuple[dict[str, Any], Ablation]:
    """Explore the whole machine; return what is kept of that, and the matrix that rows are explored for."""
    from fencepost.api.matrix import whole_data
    from fencepost.explorers.evidence.ablation import Ablation
    from fencepost.explorers.native.compile import load

    ablation = Ablation(found.machine, constants, found.properties, Options(workers=workers), load(source, constants))
    data = whole_data(found, ablation, ablation.explore_whole())
    return {key: data[key] for key in ("constants", "properties", "asked", "distinct", "depth", "actions")}, ablation


def condensed(found: Protocol, ablation: Ablation, outcome: Outcome) -> dict[str, Any]:
    """Return what is kept of a row: of its traces only the shortest one that shows something new."""
    from fencepost.api.matrix import row_data, trace_of_cell
    from fencepost.counterexamples.render import render
    from fencepost.counterexamples.replay import follow

    row = row_data(found, ablation, outcome, texts=False)
    kept = ("row", "kind", "action", "number", "part", "constant", "purpose", "why")
    made = {key: row[key] for key in kept if row.get(key) is not None}
    made["cells"] = {
        name: {key: cell[key] for key in ("verdict", "length") if key in cell} for name, cell in row["cells"].items()
    }
    made["broken"] = {name: row["cells"][name]["length"] for name in row["broken"]}
    if row["departure"]:
        made["departure"] = row["departure"]["message"]
    if outcome.broken:
        first = outcome.broken[0]
        made["steps"] = row["cells"][first]["steps"]
        made["diagram"] = render("mermaid", follow(trace_of_cell(found, ablation, outcome, first)))
    return made


@click.command()
@click.argument("docs")
@click.argument("names", nargs=-1)
@click.option("--keep", metavar="DIR", help="Keep finished rows and grid points there, and take those that are.")
@click.option(
    "--faults", type=click.Choice(list(tolerance.SIZES)), help="Count the faults that so many replicas survive instead."
)
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="Rows at a time.")
def main(docs: str, names: tuple[str, ...], keep: str | None, faults: str | None, workers: int) -> None:
    """Measure the named protocols, or those that are stale, and write the page in DOCS."""
    from fencepost.pages.build import pages

    if faults:
        tolerance.store(faults, keep, workers)
    else:
        for name in names or stale():
            known = {**measured(), name: measure(name, keep, workers)}
            MEASURED.parent.mkdir(parents=True, exist_ok=True)
            MEASURED.write_text(json.dumps({key: known[key] for key in BASES if key in known}, indent=1) + "\n")
    (Path(docs) / "checks.md").write_text(pages()["checks.md"])


if __name__ == "__main__":
    main()
