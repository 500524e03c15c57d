"""Check claims about schemas, versions and code paths on the classes of every release, and store the verdicts as
figures.

`python -m benchmarks.figures.schemas` takes two minutes once Maven has downloaded the jars; `--kafka 4.1.2` prints the
rows of one release.
"""

import argparse
import sys

from fencepost.invariants.figures.store import save, text_of
from fencepost.kafka.driver.releases import RELEASES
from fencepost.kafka.schemas.data_claims import measure_claims


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument(
        "--kafka", action="append", metavar="VERSION", help="only this release; save nothing (repeatable)"
    )
    given = options.parse_args()
    rows = measure_claims(given.kafka or list(RELEASES))
    if given.kafka:
        sys.stdout.write(text_of(rows) + "\n")
    else:
        save("schemas", {"rows": rows})


if __name__ == "__main__":
    main()
