"""Replay every archived trace of data replication on the classes of every release, and store the verdicts as figures.

`python -m benchmarks.figures.releases` takes a minute once Maven has downloaded the jars.
"""

import argparse
import sys

from fencepost.counterexamples.reader import read
from fencepost.counterexamples.trace import ARCHIVE
from fencepost.invariants.figures.store import save
from fencepost.kafka.conform.binding import PROTOCOL
from fencepost.kafka.conform.settled import settle_trace
from fencepost.kafka.driver.process import Driver
from fencepost.kafka.driver.releases import RELEASES, release


def measure(versions: list[str], names: str) -> list[dict[str, str]]:
    rows = []
    traces = {path.stem: read(path).trace for path in sorted(ARCHIVE.glob(f"{PROTOCOL}-{names}*.trace"))}
    for version in versions:
        with Driver(release(version)) as driver:
            for name, trace in traces.items():
                found = settle_trace(driver, trace)
                rows.append({"trace": name, "kafka": version, "verdict": str(found.verdict), "why": found.why})
                sys.stderr.write(f"{version} {name}: {found.verdict}, {found.why}\n")
    return rows


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument(
        "--kafka", action="append", metavar="VERSION", help="only this release; save nothing (repeatable)"
    )
    options.add_argument("--names", default="", metavar="TEXT", help="only traces with this prefix; save nothing")
    given = options.parse_args()
    rows = measure(given.kafka or list(RELEASES), given.names)
    if not given.kafka and not given.names:
        save("releases", {"settled": rows})


if __name__ == "__main__":
    main()
