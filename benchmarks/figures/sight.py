"""Plant mistakes in Kafka's classes, one at a time, and store how many random histories it takes to find each.

`python -m benchmarks.figures.sight --histories 300` takes about ten minutes. With `--locks`, a mistake is a lock that
was taken out of a method, and schedules of threads are counted instead of histories.
"""

import argparse
import sys

from fencepost.invariants.figures.store import save
from fencepost.kafka.fuzz import locks, schedules
from fencepost.kafka.fuzz.sight import SEED, figure_of, measure


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--kafka", default="4.4.0", metavar="VERSION")
    options.add_argument("--profile", default="mixed", metavar="NAME", help="or the scheduler")
    options.add_argument("--histories", type=int, default=300, metavar="N", help="maximum number of histories")
    options.add_argument("--seconds", type=float, default=600, metavar="N", help="maximum time per lock")
    options.add_argument("--locks", action="store_true", help="take locks out of methods")
    given = options.parse_args()
    if given.locks:
        found = locks.measure(given.kafka, given.profile, given.histories, given.seconds)
    else:
        found = ((plant.name, *rest, 0) for plant, *rest in measure(given.kafka, given.profile, given.histories))
    plants, most = [], given.histories
    for name, number, why, taken in found:
        told = {"why": why, "taken": taken}
        plants.append({"plant": name, "found": number, **{key: value for key, value in told.items() if value}})
        most = min(most, taken or most) if number is None else most
        sys.stdout.write(f"{number or '-':>5}  {name}{f' of {taken}' if taken else ''}: {why}\n")
        sys.stdout.flush()
        what = {"kafka": given.kafka, "profile": given.profile, "seed": SEED, "histories": most}
        save(schedules.FIGURE if given.locks else figure_of(given.profile), {**what, "plants": plants})


if __name__ == "__main__":
    main()
