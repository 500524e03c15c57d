"""What is measured for the chapter "Why every check is there": `python -m fencepost.cli.chapter docs` measures it anew.

The matrix of each protocol is made at several constants, those of runs of the catalogue in which nothing fails. Of each row is
kept what it is for, what breaks without it, and the shortest history; `docs/checks.md` is written from that.
"""

from __future__ import annotations

import hashlib
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from fencepost.cli.kept import Kept
from fencepost.explorers.verdict import Options
from fencepost.invariants.catalogue import runs, values_of
from fencepost.invariants.protocols import protocol
from fencepost.model.language.removal import guards

if TYPE_CHECKING:
    from fencepost.explorers.evidence.ablation import Ablation, Outcome
    from fencepost.explorers.evidence.rows import Row
    from fencepost.invariants.catalogue import Run
    from fencepost.invariants.protocols import Protocol

MEASURED = Path(__file__).parent.parent / "docs" / "measured" / "checks.json"
BASES: dict[str, tuple[str, ...]] = {
    "kip320": ("3/2/2/2",),
    "replication": (
        "2 brokers, KIP-903",
        "2 brokers, one fence",
        "2 brokers, joining with two fences",
        "2 brokers, shrink",
        "2 brokers, two fences",
        "2 brokers, three moves",
        "2 brokers, clean stop",
        "2 brokers, ELR",
        "3 brokers, joining",
        "3 brokers, crash with loss",
        "3 brokers, waiting for joining",
    ),
    "quorum": ("2 voters and an observer", "3 voters"),
    "metadata-reads": ("repaired 2 clients",),
}
"""The runs at whose constants guards are removed, by protocol: together they use every part of it."""
MORE: dict[str, dict[str, tuple[int, ...]]] = {"replication": {"alter_partition_version": (1, 2)}}
"""Constants that are no switches, and are set otherwise too."""
FAULTS = MEASURED.with_name("faults.json")
CLAIM = (
    "max_records=1 initial_isr=2 fences=2 shrinks=0 loss=any equal_partition_epoch_overwrites=off "
    "reset_followers_on_reelection=on fenced_before_registration=on fenced_epoch_check=on"
)
"""The constants at which KIP-966's claim is tested: any crash may lose everything, the known holes are repaired."""
SIZES = {"2": "brokers=2 crashes=2 max_leader_epoch=4", "3": "brokers=3 crashes=3 max_leader_epoch=6"}
"""What else is set, by the number of replicas."""
GRID = ("elr=off,on", "unclean_election=off,on")
MOST_STATES = 5_000_000
LEAST_STATES, TIMES = 300_000, 3
"""A row may take so many states, or so many times those of the whole machine."""


def base_run(name: str, title: str) -> Run:
    """Return the run of the catalogue with this title."""
    return next(run for run in runs() if run.name == f"{name} {title}")


def mark_of(found: Protocol) -> str:
    """Return what tells whether guards or properties have changed since they were measured."""
    asked = [(item.name, item.condition) for item in guards(found.machine)]
    return hashlib.sha256(repr((asked, [item.name for item in found.properties])).encode()).hexdigest()[:16]


def stale() -> list[str]:
    """Return the protocols whose guards or properties are not those that were measured."""
    return [name for name, data in measured().items() if data["mark"] != mark_of(protocol(name))]


def missing() -> list[str]:
    """Return the bases that were not measured, as `PROTOCOL RUN`."""
    known = {name: {base["run"] for base in data["bases"]} for name, data in measured().items()}
    return [f"{name} {title}" for name, titles in BASES.items() for title in titles if title not in known.get(name, ())]


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
        for row in base["rows"]:
            row["cells"] = {name: cell for name, cell in row["cells"].items() if cell["verdict"] == "violated"}
            if shortest.get(row["row"]) == min(row["broken"].values(), default=0):
                shortest.pop(row["row"])
            else:
                row.pop("steps", None)
                row.pop("diagram", None)
    return bases


def _base(found: Protocol, title: str, folder: str | None, workers: int) -> dict[str, Any]:
    from fencepost.cli.matrix import whole_data
    from fencepost.explorers.evidence.ablation import Ablation, explore_rows
    from fencepost.explorers.evidence.rows import rows_of
    from fencepost.explorers.native.compile import compiled

    run = base_run(found.name, title)
    constants = found.machine.set_constants(values_of(run))
    kernels = compiled(found.machine, constants, found.properties, masked=True)
    ablation = Ablation(found.machine, constants, found.properties, Options(workers=workers), kernels)
    base = ablation.explore_whole()
    limit = max(LEAST_STATES, TIMES * base.distinct)
    ablation.options = replace(ablation.options, max_states=limit)
    kept = Kept(folder, f"{constants!r}{limit}{kernels.source.text}", resume=folder is not None)
    rows = rows_of(found.machine, constants, MORE.get(found.name, {}))
    finished = {row.name: item for row in rows if (item := kept.recall(f"{found.name} {title} {row.name}")) is not None}

    def done(outcome: Outcome) -> None:
        finished[outcome.row.name] = condensed(found, ablation, outcome)
        kept.keep(f"{found.name} {title} {outcome.row.name}", finished[outcome.row.name])

    waiting: tuple[Row, ...] = tuple(row for row in rows if row.name not in finished)
    explore_rows(ablation, waiting, workers, done)
    whole = whole_data(found, ablation, base)
    kept_of = ("constants", "properties", "asked", "distinct", "depth", "actions")
    sys.stderr.write(f"{found.name} {title}: {len(rows)} rows\n")
    return {"run": title, **{key: whole[key] for key in kept_of}, "rows": [finished[row.name] for row in rows]}


def condensed(found: Protocol, ablation: Ablation, outcome: Outcome) -> dict[str, Any]:
    """Return what is kept of a row: of its traces only the shortest one that shows something new."""
    from fencepost.cli.matrix import row_data, trace_of_cell
    from fencepost.counterexamples.render import render
    from fencepost.counterexamples.replay import follow

    row = row_data(found, ablation, outcome, texts=False)
    kept = ("row", "kind", "action", "number", "part", "constant", "condition", "sentence", "purpose", "grown", "alone", "why")
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


def measure_faults(replicas: str, workers: int) -> dict[str, Any]:
    """Return how many crashes with loss an acknowledged record survives, at every point of the grid."""
    from fencepost.cli.display import Display
    from fencepost.cli.faulting import fault_data
    from fencepost.cli.targets import choose_constants

    found = protocol("replication")
    constants = choose_constants(found.machine, None, tuple(f"{CLAIM} {SIZES[replicas]}".split()), ())
    grid = (f"min_isr={','.join(str(number) for number in range(1, int(replicas) + 1))}", *GRID)
    given = {
        "workers": workers, "normalize": True, "budget": None, "max_states": MOST_STATES, "memory": None, "trace": None,
    }  # fmt: skip
    with Display(quiet=True) as display:
        return fault_data(found, constants, "leader-has-acknowledged", ("crashes",), (), grid, given, display)


def measured_faults() -> dict[str, Any]:
    """Return what was measured of faults, by the number of replicas."""
    found: dict[str, Any] = json.loads(FAULTS.read_text()) if FAULTS.is_file() else {}
    return found


@click.command()
@click.argument("docs")
@click.argument("names", nargs=-1)
@click.option("--keep", metavar="DIR", help="Keep finished rows there, and take those that are.")
@click.option(
    "--faults",
    type=click.Choice(list(SIZES)),
    help="Count the faults that a record on so many replicas survives, and no guards.",
)
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="Rows at a time.")
def main(docs: str, names: tuple[str, ...], keep: str | None, faults: str | None, workers: int) -> None:
    """Measure the named protocols, or those that are stale or missing, and write the page in DOCS."""
    from fencepost.cli.pages import pages

    known = measured()
    if faults:
        counted = {**measured_faults(), faults: measure_faults(faults, workers)}
        FAULTS.write_text(json.dumps(dict(sorted(counted.items())), indent=1) + "\n")
    for name in () if faults else names or dict.fromkeys((*stale(), *(item.split()[0] for item in missing()))):
        known[name] = measure(name, keep, workers)
        MEASURED.parent.mkdir(parents=True, exist_ok=True)
        MEASURED.write_text(json.dumps({key: known[key] for key in BASES if key in known}, indent=1) + "\n")
    (Path(docs) / "checks.md").write_text(pages()["checks.md"])


if __name__ == "__main__":
    main()
