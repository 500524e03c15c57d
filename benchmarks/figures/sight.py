"""Plant mistakes in Kafka's classes, one at a time, and store how many random histories it takes to find each.

`python -m benchmarks.figures.sight --histories 300` takes about ten minutes.
"""

import argparse
import sys

from fencepost.invariants.figures.store import save
from fencepost.kafka.fuzz.sight import FIGURE, SEED, measure


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--kafka", default="4.4.0", metavar="VERSION")
    options.add_argument("--profile", default="mixed", metavar="NAME")
    options.add_argument("--histories", type=int, default=300, metavar="N", help="maximum number of histories")
    given = options.parse_args()
    plants = []
    for plant, found, why in measure(given.kafka, given.profile, given.histories):
        plants.append({"plant": plant.name, "found": found, "why": why})
        sys.stdout.write(f"{found or '-':>5}  {plant.name}: {why}\n")
        sys.stdout.flush()
    what = {"kafka": given.kafka, "profile": given.profile, "seed": SEED, "histories": given.histories}
    save(FIGURE, {**what, "plants": plants})


if __name__ == "__main__":
    main()
