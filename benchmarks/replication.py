"""Speed and memory compared with an earlier commit and with hand-written C, as ratios in one run.

`python -m benchmarks.replication [--large]`.

The earlier commit (`benchmarks/earlier.py`) is installed into a separate folder. Runs are interleaved, so that other
load on the machine affects all of them alike. Compilation is excluded. The fastest of several runs counts, because it
was disturbed the least. `--large` adds a search of 61 million states, of which the earlier commit searches only the
first states. The results are in invariants/figures/speed.json, which docs/developing/speed.md shows.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from fencepost.explorers.search import values_of
from fencepost.invariants.catalogue import runs
from fencepost.invariants.figures.store import load, save
from fencepost.invariants.protocols import protocol
from rich.console import Console
from rich.table import Table

from benchmarks import yardsticks
from benchmarks.earlier import COMMIT, installed
from benchmarks.lineage import SIZE

Answer = dict[str, Any]
CONSOLE = Console(width=120, highlight=False)
LARGE = "replication kafka-4.1 3 brokers, two records and two fences, repaired, fenced first"
FIRST = 4_000_000
"""The number of states of the large run that the earlier commit searches."""
SMALL, THREE = "kip320 3/2/2/2", "kafka-4.1, 3 brokers, min ISR 2"


class Searcher:
    def __init__(self, python: Path | str) -> None:
        command = [str(python), "-P", str(Path(__file__).with_name("searcher.py"))]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, machine: str, **options: Any) -> Answer:
        return self.ask_of(*machines()[machine], **options)

    def ask_of(self, name: str, constants: dict[str, int], **options: Any) -> Answer:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"protocol": name, "constants": constants, **options}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.process.args}: the search of {name} ended with status {self.process.wait()}")
        found: Answer = json.loads(line)
        return found

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def machines() -> dict[str, tuple[str, dict[str, int]]]:
    version = next(item for item in protocol("replication").machine.versions if item.name == "kafka-4.1")
    large = next(run for run in runs() if run.name == LARGE)
    return {
        SMALL: ("kip320", SIZE),
        THREE: ("replication", {**version.values, "brokers": 3, "min_isr": 2}),
        LARGE: ("replication", values_of(large)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="number of runs of each search; the fastest counts")
    parser.add_argument("--large", action="store_true", help="also search 61 million states with two workers")
    given = parser.parse_args()
    now, before = Searcher(sys.executable), Searcher(installed())
    figures = dict(load("speed"))
    figures["searches"] = {
        **{name: row for name, row in figures.get("searches", {}).items() if LARGE in name},
        **compared(now, before, given.rounds),
    }
    before.end()
    now.end()
    if given.large:
        figures["searches"] |= large()
    keep(figures)
    show(figures["searches"])


def keep(figures: dict[str, Any]) -> None:
    names = ("what", "wanted", "measured")
    figures["ratios"] = [dict(zip(names, row, strict=True)) for row in ratios(figures["searches"])]
    save("speed", figures)
    whole = figures["searches"].get(f"{LARGE}, two workers")
    if whole is not None:
        row = {name: whole[name] for name in ("distinct", "generated", "depth", "store_bytes")}
        row |= {"seconds": round(whole["wall"], 2), "processor_seconds": round(whole["processor"], 2), "workers": 2}
        row |= {"peak_memory_bytes": whole["peak_bytes"]}
        save("replication", {**load("replication"), LARGE: row})


def compared(now: Searcher, before: Searcher, rounds: int) -> dict[str, Answer]:
    taken: dict[str, list[Answer]] = {}

    def take(name: str, answer: Answer) -> None:
        taken.setdefault(name, []).append(answer)

    for _ in range(rounds):
        for machine in (SMALL, THREE):
            take(f"{machine}, one worker", now.ask(machine, workers=1))
            take(f"{machine}, {COMMIT}, one worker", before.ask(machine, workers=1))
            take(f"{machine}, two workers", now.ask(machine, workers=2))
            take(f"{machine}, compact, one worker", now.ask(machine, workers=1, compact=True))
        for _ in range(3):  # each run takes a fifth of a second
            in_c = yardsticks.c_search(*SIZE.values())
            if in_c is not None:
                take(f"{SMALL}, hand-written C", of_c(in_c))
    found = {name: least(answers) for name, answers in taken.items()}
    for machine in (SMALL, THREE):
        rows = [row for name, row in found.items() if name.startswith(machine)]
        if any(row[key] != rows[0][key] for row in rows for key in ("distinct", "generated", "depth")):
            raise SystemExit(f"{machine}: the searches have different results")
    return found


def large() -> dict[str, Answer]:
    """Measure the large run: its first states in both versions, then all of it, in separate processes."""
    found = {}
    for version, python in (("", sys.executable), (f", {COMMIT}", installed())):
        searcher = Searcher(python)
        found[f"{LARGE}, the first states{version}"] = searcher.ask(LARGE, workers=2, max_states=FIRST)
        searcher.end()
    whole = Searcher(sys.executable)
    found[f"{LARGE}, two workers"] = whole.ask(LARGE, workers=2)
    whole.end()
    return found


def of_c(measured: yardsticks.Measured) -> Answer:
    bytes_ = round(measured["bytes_per_state"] * measured["distinct"])
    kept = {name: measured[name] for name in ("distinct", "generated", "depth")}
    return {"wall": measured["seconds"], "processor": measured["processor_seconds"], **kept, "store_bytes": bytes_}


def least(answers: list[Answer]) -> Answer:
    return answers[0] | {name: round(min(item[name] for item in answers), 4) for name in ("wall", "processor")}


def show(rows: dict[str, Answer]) -> None:
    table = Table(title="Fastest of several interleaved runs", title_justify="left")
    for column in ("search", "states", "processor s", "wall s", "states/s", "bytes a state"):
        table.add_column(column, justify="left" if column == "search" else "right")
    for name, row in rows.items():
        rate, size = row["distinct"] / row["wall"], row["store_bytes"] / row["distinct"]
        table.add_row(
            name, f"{row['distinct']:,}", f"{row['processor']:.2f}", f"{row['wall']:.2f}", f"{rate:,.0f}", f"{size:.1f}"
        )
    CONSOLE.print(table)
    checks = Table(title="What must hold", title_justify="left")
    for column in ("what", "wanted", "measured"):
        checks.add_column(column, justify="left" if column == "what" else "right")
    for row in ratios(rows):
        checks.add_row(*row)
    CONSOLE.print(checks)


def ratios(rows: dict[str, Answer]) -> list[tuple[str, str, str]]:
    found = []
    if f"{SMALL}, hand-written C" in rows:
        ratio = _ratio(rows, f"{SMALL}, one worker", f"{SMALL}, hand-written C", "processor")
        found.append(("kip320, processor seconds against hand-written C", "at most 1.8", f"{ratio:.2f}"))
    for machine, most in ((SMALL, 30), (THREE, 60)):
        one, two, old = (f"{machine}, one worker", f"{machine}, two workers", f"{machine}, {COMMIT}, one worker")
        wanted = "at least 4" if machine == THREE else ""
        found.append(
            (
                f"{machine}, rate against {COMMIT}, processor seconds",
                wanted,
                f"{_ratio(rows, old, one, 'processor'):.2f}",
            )
        )
        found.append((f"{machine}, rate against {COMMIT}, wall", wanted, f"{_ratio(rows, old, one, 'wall'):.2f}"))
        found.append(
            (f"{machine}, two workers against one, wall", "at least 1.7", f"{_ratio(rows, one, two, 'wall'):.2f}")
        )
        found.append((f"{machine}, bytes a state, exact", f"at most {most}", f"{_size(rows[one]):.1f}"))
        found.append(
            (
                f"{machine}, bytes a state, compact",
                "at most 20",
                f"{_size(rows[f'{machine}, compact, one worker']):.1f}",
            )
        )
    if f"{LARGE}, two workers" in rows:
        whole = rows[f"{LARGE}, two workers"]
        share = _ratio(rows, f"{LARGE}, the first states", f"{LARGE}, the first states, {COMMIT}", "processor")
        what = f"61 million states, processor seconds of the first {FIRST // 10**6} million against {COMMIT}"
        found.append((what, "at most 0.33", f"{share:.2f}"))
        found.append(("61 million states, peak memory in GB", "at most 4.5", f"{whole['peak_bytes'] / 1e9:.2f}"))
    return found


def _ratio(rows: dict[str, Answer], one: str, other: str, name: str) -> float:
    return float(rows[one][name] / rows[other][name])


def _size(row: Answer) -> float:
    return float(row["store_bytes"] / row["distinct"])


if __name__ == "__main__":
    main()
