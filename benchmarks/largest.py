"""Search a billion states of `replication` exactly, with all properties, and store the rate of each level.

`python -m benchmarks.largest --spill DIR [--max-states N]`: three brokers, all findings fixed, and a reassignment. The
search takes about half an hour on two cores, 14 GB of memory and 20 GB of disk space. The results are in
invariants/figures/speed.json, which docs/developing/speed.md shows.
"""

import argparse
import sys
from itertools import pairwise

import fencepost as f
from fencepost.invariants.figures.store import load, save

VERSION = "kafka-4.4-repaired"
CONSTANTS = {"brokers": 3, "max_records": 2, "crashes": 2, "fences": 2, "reassignments": 1, "movable": 3}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spill", required=True, help="folder for parents and levels")
    parser.add_argument("--max-states", type=int, default=1_000_000_000)
    given = parser.parse_args()
    begins: list[f.Event] = []

    def listen(event: f.Event) -> None:
        if event.distinct and (not begins or event.depth > begins[-1].depth):
            begins.append(event)
            sys.stderr.write(f"{event}\n")

    found = f.check(
        "replication",
        version=VERSION,
        constants=CONSTANTS,
        max_states=given.max_states,
        spill=given.spill,
        cross_check=0,
        progress=listen,
    )
    row = {name: getattr(found, name) for name in ("distinct", "generated", "depth", "why_stopped", "workers")}
    row |= {name: getattr(found, name) for name in ("store_bytes", "spilled_bytes", "peak_memory_bytes")}
    row |= {"version": VERSION, "constants": CONSTANTS, "seconds": round(found.seconds, 1)}
    levels = [
        {"depth": begin.depth, "states": end.distinct, "seconds": round(end.seconds, 1)}
        for begin, end in pairwise([*begins, found])  # a level ends when the next one begins
    ]
    save("speed", {**load("speed"), "largest": {**row, "levels": levels}})
    sys.stdout.write(f"{row}\n")


if __name__ == "__main__":
    main()
