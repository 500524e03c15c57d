"""Mutants of the engines, and the tests that kill them: `tox -e mutants` runs it.

Each mutant meets a few random machines, then the tests of the suite that run the changed line, the quickest first.
"""

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from fencepost.invariants.figures.store import load, save

from tests.random_machines.run import added_to, sources
from tests.random_machines.run import rows_in as kept_rows
from tests.soak.mutants.changes import FILES, Mutant, drawn, every, identity
from tests.soak.mutants.session import Runs, Session, collected, forget_proofs, measured, tests_of, tried

UNIT = [f"tests/unit/{room}" for room in ("explorers", "model", "api", "counterexamples", "invariants")]
TESTS = {"default": ["tests/agreement", "tests/catalogue", *UNIT], "all": ["tests/soak/test_theorems.py"]}
"""By suite, the folders of tests for a mutant; `all` includes long ones."""
SURVIVORS = Path(__file__).with_name("survivors.json")
"""Surviving mutants, each with the reason, and whether it is equivalent to the original."""
SEED = 0  # files from which mutants are drawn
NAMES = ("file", "function", "column", "what", "text")
"""The identity of a mutant, even in a file that has changed elsewhere."""


def rows_in(files: Iterable[Path]) -> list[dict[str, Any]]:
    """Return the last row of each mutant whose function is unchanged."""
    present = {key for name in FILES for key in every(name)}
    return list({identity(row): row for row in kept_rows(files) if identity(row) in present}.values())


def by_default(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows without kills by long tests only."""
    return [row if row.get("suite") != "all" else {**row, "noticed": ""} for row in rows]


def known_survivors() -> dict[tuple[str, ...], dict[str, Any]]:
    return {names_of(item): item for item in json.loads(SURVIVORS.read_text())}


def names_of(row: dict[str, Any]) -> tuple[str, ...]:
    return tuple(row[name] for name in NAMES)


def run(given: argparse.Namespace, runs: Runs) -> None:
    """Try mutants until all are done or time is up."""
    kept = {identity(row): row for row in rows_in([given.file, *given.beside])}
    mutants = drawn(SEED, given.count, kept.values())
    began = time.monotonic()
    sound: dict[str, bool] = {}  # whether killing tests pass on unchanged code

    def waiting() -> Iterator[Mutant]:
        first, parts = map(int, given.part.split("/"))
        same = {name for name, item in known_survivors().items() if item["same"]}
        for number, mutant in enumerate(mutants):
            row = kept.get(identity(mutant.row))
            again = (given.again or given.suite == "all") and row and not row["noticed"] and names_of(row) not in same
            if number // len(FILES) % parts == first and (row is None or again):
                yield mutant

    def noticed(mutant: Mutant, session: Session) -> str:
        names = tests_of(mutant, runs, given.most)
        while True:
            who = tried(session, mutant, names, sum(runs[name]["seconds"] for name in names))
            forget_proofs()
            if who in names and who not in sound:
                sound[who] = not tried(session, None, [who], runs[who]["seconds"])
            if sound.get(who, True):
                return who
            names.remove(who)

    def work(session: Session) -> None:
        with added_to(given.file) as out:
            for mutant in waiting():
                if time.monotonic() - began > given.seconds:
                    break
                start = time.monotonic()
                row = {"sources": sources(), "suite": given.suite, **mutant.row, "noticed": noticed(mutant, session)}
                out.write(json.dumps({**row, "seconds": round(time.monotonic() - start, 1)}) + "\n")
                out.flush()

    collected(sorted({name.partition("::")[0] for name in runs if "::" in name}), work, long=given.suite == "all")


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the numbers of killed mutants, by pass and by test, and the survivors with what is known of them."""
    known = known_survivors()
    unknown = {"why": "", "same": False}
    survivors = [
        {name: row[name] for name in ("pass", *NAMES)}
        | {name: known.get(names_of(row), unknown)[name] for name in ("why", "same")}
        for row in rows
        if not row["noticed"]
    ]
    found, made = Counter(row["pass"] for row in rows if row["noticed"]), Counter(row["pass"] for row in rows)
    same = sum(item["same"] for item in survivors)
    return {
        "sources": sources(),
        "tried": len(rows),
        "noticed": found.total(),
        "noticed by random machines": sum(row["noticed"].startswith("machine ") for row in rows),
        "per cent": round(100 * found.total() / len(rows), 1),
        "mean the same": same,
        "per cent of the others": round(100 * found.total() / (len(rows) - same), 1),
        "passes": {name: [found[name], made[name]] for name in made},
        "survivors": survivors,
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak.mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=7200)
    parser.add_argument("--part", default="0/1", help="the part of the mutants that this process tries")
    parser.add_argument("--most", type=float, default=30, help="seconds that the tests of one mutant may take together")
    parser.add_argument("--again", action="store_true", help="survivors that do not mean the same meet the tests again")
    parser.add_argument("--write", action="store_true", help="write what is known to invariants/figures/trust.json")
    file, runs = Path("mutants.jsonl"), Path("runs.json")
    parser.add_argument("--file", type=Path, default=file, help="a row for each mutant; a run goes on after the last")
    parser.add_argument("--beside", type=Path, nargs="*", default=[], help="files of other processes, which are read")
    parser.add_argument("--runs", type=Path, default=runs, help="which lines each test runs: measured if not there")
    parser.add_argument("--suite", choices=TESTS, default="default", help="all: what ./test does not notice, by all")
    given = parser.parse_args()
    long = given.runs.with_name(f"long-{given.runs.name}")
    is_new = not given.runs.exists()
    if is_new:
        measured(TESTS["default"], given.runs)
    if given.suite == "all" and not long.exists():
        is_new = True
        measured([*TESTS["default"], *TESTS["all"]], long, begun=json.loads(given.runs.read_text()), long=True)
    if is_new:  # a second session of pytest in one process cannot set up the fixtures
        os.execv(sys.executable, [sys.executable, "-m", "tests.soak.mutants", *sys.argv[1:]])  # noqa: S606
    run(given, json.loads((long if given.suite == "all" else given.runs).read_text()))
    rows = rows_in([given.file, *given.beside])
    found = summary(rows)
    found["per cent of the others by ./test"] = summary(by_default(rows))["per cent of the others"]
    lines = [f"{name}: {value}" for name, value in found.items() if name != "survivors"]
    print("\n".join(lines))  # noqa: T201 (what it is for)
    if given.write:
        save("trust", {**load("trust"), "mutants": found})
    return found["per cent of the others"] < (97 if given.suite == "all" else 85)


if __name__ == "__main__":
    sys.exit(main())
