"""Measurement of how Kafka's classes conform to the model, for the page on conformance.

`python -m benchmarks.figures.conformance PART [--kafka VERSION ...]`.

covers: walks that take every transition of small state graphs. walks: walks of three brokers, in batches until enough
steps are compared (half an hour per release). With --keep, the results of batches are saved in DIR, so the command may
be interrupted and restarted. moves: walks in which operators move replicas, on every release. changes: every change of
every image. others: walks that take every transition of small state graphs of other protocols. seen: removes each of
Kafka's checks from the models, changes each rule, and tries refused steps. The program writes the rows of these
releases in invariants/figures/conformance.json.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from fencepost.api.topics.measured import NAME as MEASURED
from fencepost.api.topics.measured import machine_mark
from fencepost.explorers.running.files import write_file
from fencepost.invariants.figures.store import load, save
from fencepost.kafka.conform.binding import BINDINGS, REPLICATION, Binding
from fencepost.kafka.conform.changes import conform_changes
from fencepost.kafka.conform.guards import Sight, conform_guards
from fencepost.kafka.conform.histories import HistoriesPlan, HistoriesReport, conform_histories
from fencepost.kafka.driver.ablation import read_sizes
from fencepost.kafka.driver.releases import RELEASES, Release, release

LONG = ("4.1.2", "4.4.0")
PATCHED = ("3.9.0",)
"""Patch releases with a bug that the latest patch of their line has fixed. They are covered too."""
STEPS = 1_000_000
BATCH = 4_000
SIZES = {
    "max_records": 2,
    "clean_stops": 1,
    "fences": 2,
    "lags": 1,
    "elections": 1,
    "min_isr": 2,
    "metadata_lag": 4,
    "max_leader_epoch": 4,
}
MOVES = {
    (3, 300): "movable=3 spare=1 reassignments=2 cancels=1 max_records=2 metadata_lag=7 clean_stops=1 lags=1",
    (4, 100): "movable=4 spare=2 reassignments=3 cancels=2 metadata_lag=8 shrinks=0",
}
"""The constants of the walks, by number of brokers and title; all have min ISR 2, a crash and a fence."""
COVERS = {
    "a crash, a fence, a shrink": "",
    "min ISR raised and lowered, a shrink": "raises=1 lowers=1 crashes=0 fences=0",
    "answers of an earlier leader epoch": (
        "initial_leader=1 late_answers=1 crashes=0 shrinks=0 elections=2 max_leader_epoch=3"
    ),
    "a disk is replaced, two clean stops": (
        "crashes=0 fences=0 shrinks=0 loss=0 directories=1 max_records=0 min_isr=2 clean_stops=2 max_leader_epoch=2 "
        "disk_replacements=1"
    ),
    "a log directory fails or is taken out, a clean stop": (
        "crashes=0 fences=0 shrinks=0 loss=0 directories=1 clean_stops=1 directory_failures=1 directory_removals=1"
    ),
    "records are deleted, a crash, a shrink": "fences=0 loss=0 deletions=1",
}
"""Small graphs with two brokers, each with the constants that it adds to `SMALL`."""
OTHERS = {
    "quorum": {"elections in two epochs, a record": "", "one epoch, snapshots": "max_epoch=1 snapshots=2"},
    "broker-sessions": {
        "a crash, a clean stop, a fail-over, a repeated registration": "",
        "a crash, a freeze, a fail-over, an overload": "stops=0 amendments=0 freezes=1 overloads=1",
    },
    "topic-deltas": {"three topics of one name": ""},
    "directory-moves": {"a move, a kill, a failed directory": ""},
}
"""The small graphs of other protocols."""
REFUSALS = 1_000
COUNTS = ("histories", "steps", "seconds", "aside", "differences")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("part", choices=("covers", "walks", "moves", "changes", "others", "seen"))
    options.add_argument("--kafka", action="append", metavar="VERSION", help="only this release (repeatable)")
    options.add_argument("--protocol", choices=BINDINGS, help="for others and seen: only this protocol")
    options.add_argument("--steps", type=int, default=STEPS, help="compare this many steps on each release")
    options.add_argument(
        "--workers", type=int, default=1, help="number of processes that run Kafka's classes (ignored with --idle)"
    )
    options.add_argument("--keep", type=Path, metavar="DIR", help="save the result of each batch here")
    options.add_argument(
        "--idle", action="store_true", help="record the speed of covers, because nothing else runs on this machine"
    )
    options.add_argument("--batches", type=int, default=1_000, help="run at most this many batches")
    given = options.parse_args()
    if given.part == "walks":
        _walks(given)
    for version in given.kafka or (*(PATCHED if given.part == "covers" else ()), *RELEASES):
        if given.part == "covers":
            _write("covers", version, [_covered(release(version), *graph, given) for graph in COVERS.items()])
            graphs = [{**REPLICATION.small, **read_sizes(text)[0]} for text in COVERS.values()]
            _write_driven("covers", version, graphs)
        if given.part == "moves":
            _write("moves", version, [_moved(release(version), *size, text) for size, text in MOVES.items()])
        if given.part == "changes":
            _write("changes", version, [_changed(release(version))])
        bounds = [item for name, item in BINDINGS.items() if given.protocol in (None, name)]
        for bound in (item for item in bounds if version in item.harness.releases):
            if given.part == "others" and bound.protocol in OTHERS:
                kafka, graphs = release(version, None, bound.harness), OTHERS[bound.protocol].items()
                rows = [_covered(kafka, *graph, given, bound) for graph in graphs]
                _write("others", version, [{"release": "", "protocol": bound.protocol, **row} for row in rows])
            if given.part == "seen":
                _write("seen", version, [_seen(bound, version)])


def _seen(bound: Binding, version: str) -> dict[str, str]:
    kafka = release(version, None, bound.harness)

    def tell(text: str) -> None:
        sys.stderr.write(f"{version}: {text}\n")

    found = conform_guards(bound, kafka, REFUSALS, 1, tell, ablate=True)
    for row in found.rows:
        if not row.is_well:
            sys.stderr.write(f"{row.variant.name}: {row.sight} {row.shown}\n")
    refusals = found.refusals
    assert refusals is not None
    for item in refusals.forbidden:
        sys.stderr.write(f"{item.answer} after {' / '.join(item.steps)}\n")
    return {
        "release": version,
        "protocol": bound.protocol,
        "noticed": f"{found.noticed} of {found.drivable}",
        "together": str(sum(row.sight is Sight.TOGETHER for row in found.rows)),
        "refusals": f"{refusals.tries:,}",
        "otherwise": str(len(refusals.forbidden)),
    }


def _covered(
    kafka: Release, graph: str, text: str, given: argparse.Namespace, bound: Binding = REPLICATION
) -> dict[str, str]:
    machine = bound.machine
    values = {**dict(machine.version(kafka.model).values), **bound.small, **read_sizes(text)[0]}
    constants = bound.as_built(kafka.model, machine.set_constants(values))
    request = HistoriesPlan(constants) if given.idle else HistoriesPlan(constants, workers=given.workers)
    found = conform_histories(bound, kafka, request, lambda _: None)
    _tell(found)
    done, of = len(found.outcome.taken), found.transitions
    return {
        "release": kafka.version,
        "graph": graph,
        "transitions": f"all {of:,}" if done == of else f"{done:,} of {of:,}",
        "steps": f"{found.outcome.tally.steps:,}",
        "aside": f"{sum(found.outcome.tally.aside.values()):,}",
        "differences": f"{sum(found.outcome.times.values()):,}",
        "rate": f"{found.outcome.rate:,.0f}" if given.idle else "",
    }


def _walks(given: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        keep = given.keep or Path(folder)
        keep.mkdir(parents=True, exist_ok=True)
        for version in given.kafka or LONG:
            row = _walked(version, keep, given)
            if int(row["steps"].replace(",", "")) >= given.steps:
                _write("walks", version, [row])
                _write_driven("walks", version, [SIZES])


def _walked(version: str, keep: Path, given: argparse.Namespace) -> dict[str, str]:
    sums: dict[str, float] = dict.fromkeys(COUNTS, 0)
    pairs: set[int] = set()
    seed, fresh = 0, 0
    while sums["steps"] < given.steps:
        seed += 1
        file = keep / f"{version}-{seed}.json"
        if not file.is_file():
            if fresh == given.batches:
                break
            fresh += 1
            write_file(file, json.dumps(_batch(version, seed, given.workers)).encode())
        found = json.loads(file.read_text("utf-8"))
        pairs.update(found["pairs"])
        for name in COUNTS:
            sums[name] += found[name]
        sys.stderr.write(f"{version}, batch {seed}: {sums['steps']:,} steps, {len(pairs):,} pairs\n")
    return {
        "release": version,
        "steps": f"{sums['steps']:,.0f}",
        "histories": f"{sums['histories']:,.0f}",
        "pairs": f"{len(pairs):,}",
        "aside": f"{sums['aside']:,.0f}",
        "differences": f"{sums['differences']:,.0f}",
    }


def _batch(version: str, seed: int, workers: int) -> dict[str, Any]:
    kafka = release(version)
    machine = REPLICATION.machine
    constants = machine.set_constants({**dict(machine.version(kafka.model).values), **SIZES})
    found = conform_histories(
        REPLICATION, kafka, HistoriesPlan(constants, walks=BATCH, seed=seed, workers=workers), lambda _: None
    )
    _tell(found)
    tally = found.outcome.tally
    return {
        "histories": tally.histories,
        "steps": tally.steps,
        "seconds": found.outcome.seconds,
        "aside": sum(tally.aside.values()),
        "differences": sum(found.outcome.times.values()),
        "pairs": sorted(found.outcome.taken),
    }


def _tell(found: HistoriesReport) -> None:
    sys.stderr.write(f"{found.outcome.rate:,.0f} steps a second\n")
    for (action, part), difference in found.outcome.differences.items():
        steps = " / ".join(f"{step.action.label}{step.args}" for step in difference.steps)
        sys.stderr.write(f"after {action}, {part}: {difference.rows} after {steps}\n")


def _moved(kafka: Release, brokers: int, walks: int, text: str) -> dict[str, str]:
    machine = REPLICATION.machine
    values = {"brokers": brokers, "min_isr": 2, "max_leader_epoch": 6, **read_sizes(text)[0]}
    constants = machine.set_constants({**dict(machine.version(kafka.model).values), **values})
    found = conform_histories(REPLICATION, kafka, HistoriesPlan(constants, walks=walks), lambda _: None)
    _tell(found)
    tally = found.outcome.tally
    return {
        "release": kafka.version,
        "brokers": str(brokers),
        "steps": f"{tally.steps:,}",
        "histories": f"{tally.histories:,}",
        "pairs": f"{len(found.outcome.taken):,}",
        "reassignments": f"{tally.actions['operator-reassigns-replicas']:,}",
        "cancellations": f"{tally.actions['operator-cancels-reassignment']:,}",
        "aside": f"{sum(tally.aside.values()):,}",
        "differences": f"{sum(found.outcome.times.values()):,}",
    }


def _changed(kafka: Release) -> dict[str, str]:
    machine = REPLICATION.machine
    found = conform_changes(
        kafka, machine, machine.set_constants(dict(machine.version(kafka.model).values)), lambda _: None
    )
    return {
        "release": kafka.version,
        **{
            name: f"{sum(getattr(item, name) for item in found.compared):,}"
            for name in ("states", "images", "changes", "idle", "different")
        },
    }


def _write(part: str, version: str, rows: list[dict[str, str]]) -> None:
    figures: dict[str, Any] = load("conformance")
    written = {(version, row.get("protocol")) for row in rows}
    kept = [old for old in figures.get(part, []) if (old["release"].split(",")[0], old.get("protocol")) not in written]
    save(
        "conformance",
        {**figures, part: sorted([*kept, *rows], key=lambda row: (row["release"], row.get("protocol", "")))},
    )
    sys.stderr.write(f"{rows}\n")


def with_driven(part: str, release: str, mark: str, graphs: list[dict[str, int]]) -> dict[str, Any]:
    """Return the figures, adding the constants executed in a part that the release's version does not set."""
    figures = load(MEASURED)
    rows = [row for row in figures.get("driven", ()) if (row["part"], row["release"]) != (part, release)]
    rows.append({"part": part, "release": release, "mark": mark, "constants": graphs})
    return {**figures, "driven": sorted(rows, key=lambda row: (row["part"], row["release"]))}


def _write_driven(part: str, version: str, graphs: list[dict[str, int]]) -> None:
    """Record the machine and the constants that were executed, because the figures apply only to these."""
    save(MEASURED, with_driven(part, version, machine_mark(REPLICATION.machine), graphs))


if __name__ == "__main__":
    main()
