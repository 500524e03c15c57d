"""What the switches of replication cost where they are off: `python -m benchmarks.switches`.

The commit before operators moved replicas is installed into a folder of its own, and both search kafka-4.1 with three brokers, in turns. The states must be the same; the least of several runs
counts. Writes figures/switches.json, which docs/replication.md shows.
"""

from __future__ import annotations

import argparse
import sys

from fencepost.figures.store import load, save

from benchmarks.earlier import installed
from benchmarks.replication import CONSOLE, THREE, Answer, Searcher, least

BEFORE = "dbd7a51"
"""The last commit without reassignments; min ISR that changes, and ELR that is turned off, came later."""


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="runs of each, of which the least counts")
    given = parser.parse_args()
    now, before = Searcher(sys.executable), Searcher(installed(BEFORE))
    taken: dict[str, list[Answer]] = {"now": [], "before": []}
    for _ in range(given.rounds):
        taken["before"].append(before.ask(THREE, workers=1))
        taken["now"].append(now.ask(THREE, workers=1))
    found = {name: least(answers) for name, answers in taken.items()}
    if any(found["now"][key] != found["before"][key] for key in ("distinct", "generated", "depth")):
        raise SystemExit(f"{THREE}: the searches differ in what they find: {found}")
    rows = [
        {
            "commit": BEFORE if name == "before" else "this one",
            **{key: row[key] for key in ("distinct", "generated", "depth", "processor")},
            "rate": round(row["distinct"] / row["processor"]),
            "bytes_a_state": round(row["store_bytes"] / row["distinct"], 1),
        }
        for name, row in found.items()
    ]
    for row in rows:
        CONSOLE.print(row)
    save("switches", {**load("switches"), "what": THREE, "off": rows})


if __name__ == "__main__":
    main()
