"""Measurement of the time, rate and memory of the catalogue's runs of replication.

`python -m benchmarks.figures.catalogue [--profile full [--only]]`.

Writes invariants/figures/replication.json, from which pages are generated; runs that are not measured keep their
figures. Compilation is excluded; CPU time is measured from the first round of a search to its last. A run with an
unexpected result ends the measurement.
"""

import argparse
import time
from functools import partial

from fencepost.api.calls.catalogue import choose_runs
from fencepost.explorers.running.interrupts import peak_memory
from fencepost.explorers.search import judge
from fencepost.explorers.verdict import Options
from fencepost.invariants.catalogue import Profile, runs_of
from fencepost.invariants.figures.store import load, save
from rich.console import Console


def _note_clock(clock: list[float], _: object) -> None:
    clock.append(time.process_time())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--profile", type=Profile, default=Profile.CI, help="measure the runs of this profile: quick, ci or full"
    )
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--only", action="store_true", help="leave out the runs of smaller profiles")
    parser.add_argument("--least", type=int, default=0, help="leave out runs with fewer states")
    parser.add_argument("--most", type=int, default=1 << 62, help="leave out runs with more states")
    given = parser.parse_args()
    console = Console(width=120)
    measured = load("replication")
    names = {run.name for run in runs_of("replication") if not run.properties}
    measured = {name: row for name, row in measured.items() if name in names}
    peak = 0
    for run in choose_runs(given.profile, ("replication",)):
        if run.name not in names or (given.only and run.profile is not given.profile):
            continue
        if not given.least <= (run.distinct or 0) <= given.most:
            continue
        clock: list[float] = []
        options = Options(workers=given.workers)
        result, differences = judge(run, options, partial(_note_clock, clock))
        if differences:
            raise SystemExit(f"{run.name}: {'; '.join(differences)}")
        measured[run.name] = {
            "distinct": result.distinct,
            "generated": result.generated,
            "depth": result.depth,
            "seconds": round(result.seconds, 2),
            "processor_seconds": round(clock[-1] - clock[0], 2) if clock else 0.0,
            "workers": result.workers,
            "store_bytes": result.store_bytes,
        }
        if peak_memory() > peak:  # the process's peak is the run's peak only if it rises
            peak = measured[run.name]["peak_memory_bytes"] = peak_memory()
        console.print(
            f"{run.name:75} {result.distinct:>12,} {result.depth:>4} {result.seconds:>8.1f} s", highlight=False
        )
        save("replication", dict(sorted(measured.items())))


if __name__ == "__main__":
    main()
