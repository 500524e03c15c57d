"""Run random histories in two processes, in reverse order in the second, and store how many results agree, as a figure.

`python -m benchmarks.figures.histories 4.4.0:1000 4.1.2:200` takes minutes. `--rows FOLDER` also counts, by release,
the histories in the Parquet files that `fencepost fuzz --output FOLDER` wrote, and their violations.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fencepost.invariants.figures.store import load, save
from fencepost.kafka.fuzz.histories import Alarm, Fuzzer, fuzz_release

FIGURE = "histories"


def ends(kafka: str, seeds: Iterable[int]) -> dict[int, tuple[str, tuple[str, ...]]]:
    """Return, for each seed, the digest of its states and its violation."""
    found = {}
    with Fuzzer(fuzz_release(kafka, None)) as fuzzer:
        for seed in seeds:
            *alarms, last = fuzzer.histories("mixed", seed, 1)
            found[seed] = (last.digest, tuple(item.message for item in alarms if isinstance(item, Alarm)))
    return found


def counted(folder: Path) -> list[dict[str, Any]]:
    """Return a row for each release, with its histories, their steps, and how often each finding was the cause."""
    from pyarrow import dataset

    rows = (
        dataset.dataset(folder, format="parquet").to_table(columns=["kafka", "steps", "verdict", "finding"]).to_pylist()
    )
    found = []
    for kafka in sorted({row["kafka"] for row in rows}):
        own = [row for row in rows if row["kafka"] == kafka]
        causes = Counter(row["finding"] or "unknown" for row in own if row["verdict"] != "nothing")
        steps = sum(row["steps"] for row in own)
        found.append({"kafka": kafka, "histories": len(own), "steps": steps, "causes": dict(causes.most_common())})
    return found


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("releases", nargs="*", metavar="VERSION:HISTORIES")
    options.add_argument("--rows", type=Path, metavar="FOLDER")
    given = options.parse_args()
    figures = dict(load(FIGURE)) or {"profile": "mixed", "twice": [], "found": []}
    for kafka, _, count in (item.partition(":") for item in given.releases):
        seeds = range(1, int(count) + 1)
        one, two = ends(kafka, seeds), ends(kafka, reversed(seeds))
        row = {"kafka": kafka, "histories": len(one), "same": sum(one[seed] == two[seed] for seed in seeds)}
        figures["twice"] = [*(item for item in figures["twice"] if item["kafka"] != kafka), row]
        sys.stdout.write(f"{row} other: {[seed for seed in seeds if one[seed] != two[seed]][:20]}\n")
        sys.stdout.flush()
        save(FIGURE, figures)
    if given.rows:
        figures["found"] = counted(given.rows)
        save(FIGURE, figures)


if __name__ == "__main__":
    main()
