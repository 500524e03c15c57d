"""The cost of replication's switches when they are off: `python -m benchmarks.switches`.

The current engine takes turns searching two models, as kafka-4.1 with three brokers: the current model, and the model
of the last commit in which operators could not move replicas. Both must have the same states. `--moving` instead
searches with moving replicas, the largest case. `--warm` measures a whole `fencepost check` whose machine is already
compiled. Writes invariants/figures/switches.json, which docs/kafka/replication.md shows.
"""

import argparse
import json
import resource
import subprocess
import sys
import tarfile
import time
from io import BytesIO
from statistics import median
from typing import Any

from fencepost.explorers.search import values_of
from fencepost.invariants.catalogue import runs
from fencepost.invariants.figures.store import load, save

from benchmarks.earlier import FOLDER, ROOT
from benchmarks.replication import CONSOLE, THREE, Answer, Searcher

BEFORE = "dbd7a51"
"""The last commit whose model has no reassignments, changes of min ISR, early starts, or a step that turns ELR off."""
MOVING = "replication kafka-4.4 3 brokers, replicas move, repaired"
LARGER = {"max_records": 2}
"""Additional constants for moving replicas, chosen so that the states just fit into 16 GiB."""
KEPT = {"exact": "whole states", "compact": "fingerprints"}


def models_before() -> str:
    folder = FOLDER / f"{BEFORE}-model"
    packed = subprocess.run(
        ["git", "archive", BEFORE, "model/cluster", "invariants/replication.py"],  # noqa: S607
        cwd=ROOT,
        stdout=subprocess.PIPE,
        check=True,
    ).stdout
    with tarfile.open(fileobj=BytesIO(packed)) as files:
        for file in files.getmembers():
            if file.isfile():
                taken = files.extractfile(file)
                assert taken is not None
                path = folder / "before" / file.name.removeprefix("model/").removeprefix("invariants/")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(taken.read().decode().replace("fencepost.model.cluster", "before.cluster"))
    (folder / "before" / "__init__.py").touch()
    return str(folder)


def off(rounds: int) -> None:
    folder, (now, before) = models_before(), (Searcher(sys.executable), Searcher(sys.executable))
    taken: dict[str, list[Answer]] = {"this one": [], BEFORE: []}
    for _ in range(rounds):
        taken[BEFORE].append(before.ask(THREE, folder=folder, workers=1))
        taken["this one"].append(now.ask(THREE, workers=1))
    now.end()
    before.end()
    rows = [row(commit, answers) for commit, answers in taken.items()]
    if any(rows[0][key] != rows[1][key] for key in ("distinct", "generated", "depth")):
        raise SystemExit(f"{THREE}: the searches have different results: {rows}")
    CONSOLE.print(*rows, rows[0]["rate"] / rows[1]["rate"], sep="\n")
    save("switches", {**load("switches"), "what": THREE, "off": rows})


def row(commit: str, answers: list[Answer]) -> dict[str, Any]:
    first, processor = answers[0], median(item["processor"] for item in answers)
    return {
        "commit": commit,
        **{key: first[key] for key in ("distinct", "generated", "depth")},
        "processor": round(processor, 4),
        "rate": round(first["distinct"] / processor),
        "bytes_a_state": round(first["store_bytes"] / first["distinct"], 1),
    }


def moving(mode: str, seconds: float) -> None:
    run = next(run for run in runs() if run.name == MOVING)
    constants = {**values_of(run), **LARGER}
    searcher = Searcher(sys.executable)
    found = searcher.ask_of("replication", constants, workers=2, compact=mode == "compact", budget=seconds)
    searcher.end()
    what = "kafka-4.4 3 brokers, replicas move, two records, repaired"
    found = {"what": what, "kept": KEPT[mode], "constants": constants, "workers": 2, **found}
    CONSOLE.print(found)
    kept = [item for item in load("switches").get("moving", ()) if item["kept"] != found["kept"]]
    save("switches", {**load("switches"), "moving": [*kept, found]})


def children() -> float:
    """Return the CPU time in seconds of all finished child processes."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def warm(rounds: int) -> None:
    """Measure how long an operator waits for an answer: the minimum of several runs, because the machine is shared."""
    command = ["fencepost", "check", "replication", "--version", "kafka-4.4"]
    seconds, processor = [], []
    for _ in range(rounds + 1):
        began, before = time.perf_counter(), children()
        done = subprocess.run(
            [sys.executable, "-m", *command, "--json", "--quiet"], stdout=subprocess.PIPE, check=False
        )
        seconds.append(time.perf_counter() - began)
        processor.append(children() - before)
    found = json.loads(done.stdout)
    result = {
        "command": " ".join(command),
        "distinct": found["distinct"],
        "verdict": found["verdict"],
        "seconds": round(min(seconds[1:]), 2),
        "processor": round(min(processor[1:]), 2),
    }
    CONSOLE.print(result)
    save("switches", {**load("switches"), "warm": result})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="number of runs of each search; the median counts")
    parser.add_argument("--moving", choices=KEPT, help="search with moving replicas, stored in this way")
    parser.add_argument("--warm", action="store_true", help="measure the time of a whole check")
    parser.add_argument("--seconds", type=float, default=600, help="the time limit")
    given = parser.parse_args()
    if given.moving:
        moving(given.moving, given.seconds)
    elif given.warm:
        warm(given.rounds)
    else:
        off(given.rounds)


if __name__ == "__main__":
    main()
