"""Find bugs that later releases fix, by random histories of old releases, and store the results as a figure.

`python -m benchmarks.figures.recall` takes some minutes.
"""

import argparse
import sys
from typing import Any, NamedTuple

from fencepost.invariants.figures.store import save
from fencepost.kafka.fuzz.histories import Alarm, Fuzzer, fuzz_release


class Defect(NamedTuple):
    """A bug in Kafka: the last release that has it, the first that does not, its effect, and words from its
    violation.
    """

    name: str
    release: str
    repaired: str
    profile: str
    what: str
    says: str


DEFECTS = (
    Defect("KAFKA-16814", "3.7.0", "3.7.1", "disks", "a broker with a log that has no topic ID yet ends", "a topic ID"),
    Defect("KAFKA-15665", "3.7.2", "3.8.0", "mixed", "a reassignment never ends", "still reassigned"),
    Defect("KAFKA-19383", "4.0.0", "4.0.1", "mixed", "a deleted topic comes back in a broker's image", "but its ID is"),
    Defect("KAFKA-18106", "4.0.2", "4.1.0", "mixed", "who registers again in its session still leads", "not know it"),
    Defect("KAFKA-19571", "3.9.2", "4.0.2", "mixed", "a late flush takes a directory offline", "takes a directory"),
    Defect("apache/kafka#20716", "4.2.1", "4.3.0", "disks", "an assignment empties the ELR (HYP-17)", "acknowledged"),
)


def first(defect: Defect, histories: int) -> dict[str, Any]:
    """Return the first history (its seed and shortened form) that shows a bug, but not on the fixed release."""
    old = fuzz_release(defect.release, None)
    with Fuzzer(old) as drawing, Fuzzer(old) as asked, Fuzzer(fuzz_release(defect.repaired, None)) as repaired:
        for found in drawing.histories(defect.profile, 1, histories):
            if isinstance(found, Alarm) and defect.says in found.message and not repaired.replayed(found.script):
                short = asked.replayed(found.script, shortens=True)
                if short is not None and not repaired.replayed(short.script):
                    drawing.stop()
                    return {"seed": found.seed, "steps": len(short.steps), "script": short.script.line()}
    return {"seed": None, "steps": 0, "script": ""}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--histories", type=int, default=1000, metavar="N", help="maximum number of histories")
    given = options.parse_args()
    rows = []
    for defect in DEFECTS:
        row = {**defect._asdict(), **first(defect, given.histories)}
        del row["says"]
        rows.append(row)
        sys.stdout.write(f"{row}\n")
        sys.stdout.flush()
    save("recall", {"histories": given.histories, "rows": rows})


if __name__ == "__main__":
    main()
