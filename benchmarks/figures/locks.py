"""Take locks out of Kafka's methods, one at a time, and store how many schedules of threads it takes to find each.

`python -m benchmarks.figures.locks --seconds 600` takes up to ten minutes per lock.
"""

import argparse
import sys

from fencepost.invariants.figures.store import save
from fencepost.kafka.fuzz.locks import SEED, measure
from fencepost.kafka.fuzz.schedules import FIGURE


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--kafka", default="4.4.0", metavar="VERSION")
    options.add_argument("--scheduler", default="mixed", metavar="NAME")
    options.add_argument("--schedules", type=int, default=20_000, metavar="N", help="maximum number of schedules")
    options.add_argument("--seconds", type=float, default=600, metavar="N", help="maximum time per lock")
    given = options.parse_args()
    plants, most = [], given.schedules
    for name, found, taken, why in measure(given.kafka, given.scheduler, given.schedules, given.seconds):
        plants.append({"plant": name, "found": found, "taken": taken, "why": why})
        most = most if found else min(most, taken)
        sys.stdout.write(f"{found or '-':>5}  {name} ({taken}): {why}\n")
        sys.stdout.flush()
        what = {"kafka": given.kafka, "profile": given.scheduler, "seed": SEED, "histories": most}
        save(FIGURE, {**what, "plants": plants})


if __name__ == "__main__":
    main()
