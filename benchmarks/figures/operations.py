"""Measure the losses of each operation, by release and settings: `python -m benchmarks.figures.operations`.

Rows already measured with this model and these constants are skipped, so the command may be interrupted and restarted.
Writes invariants/figures/operations.json.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from typing import Any

from fencepost import api
from fencepost.api.topics.matrices import history_of_faults
from fencepost.api.topics.operations import LOSS, OPERATIONS, PROTOCOL, Operation, question, repairs
from fencepost.invariants.figures.store import load, save
from fencepost.invariants.protocols import protocol
from fencepost.model.cluster.machine import MACHINE
from fencepost.model.language.errors import FencepostError
from fencepost.site.stale import operations_mark

SECONDS, MOST_STATES = 500.0, 150_000_000
CAUSE_SECONDS = 30.0
"""The time limit in seconds of a search for sufficient findings, which a few seconds usually find."""
SIZES = (
    *((3, 2, True), (3, 2, False), (2, 2, True), (2, 1, True)),
    *((2, 2, False), (2, 1, False), (3, 1, True), (3, 3, True)),
)
"""Replicas, min ISR and ELR of the measured rows, the most common first."""


def grouped(operation: Operation, replicas: int, min_isr: int, *, elr: bool, also: bool = False) -> Iterator[list[str]]:
    """Yield groups of releases that agree in everything that an operation depends on."""
    groups: dict[str, list[str]] = {}
    if operation.constants and (elr or not operation.elr):
        for version in protocol(PROTOCOL).machine.versions:
            if not elr or version.name >= "kafka-4.0":
                asked = question(operation, version.name, replicas, min_isr, elr=elr, also=also)
                groups.setdefault(repr(sorted(asked.items())), []).append(version.name)
    yield from reversed(groups.values())


def measured(values: dict[str, int], kinds: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the fewest faults that lose an acknowledged record, each with the findings that cause the loss.

    If no such history has a fault of these kinds, the findings that lose a record without faults are fixed.
    """
    first, repaired = lost_in(values), set[str]()
    found = first
    while kinds and found["front"] and not any(item["faults"].get(name) for item in found["front"] for name in kinds):
        without = {name for item in found["front"] for name in item["by"]}
        if not without:
            return first
        repaired |= without
        found = lost_in({**values, **repairs(values, tuple(repaired))})
    return {**found, "repaired": sorted(repaired)} if repaired and found["front"] else first


def lost_in(values: dict[str, int]) -> dict[str, Any]:
    found = api.faults(
        "replication", prop=LOSS, constants=values, compact=True, workers=1, budget=SECONDS, max_states=MOST_STATES
    )
    (point,) = found.to_dict()["grid"]
    front = [{**item, "by": causes(values, item)} for item in point["front"]]
    asked = {name: point[name] for name in ("most", "undetermined", "states", "omission")}
    asked["omission"] = float(f"{asked['omission'] * 1.05:.1e}")  # rounded up, to keep the file small
    return {**asked, "front": [{name: item[name] for name in ("faults", "length", "steps", "by")} for item in front]}


def causes(values: dict[str, int], history: dict[str, Any]) -> list[str]:
    """Return the findings each of which loses the record with these faults while all others are fixed.

    The list is empty if the record is lost with all of them fixed. The loss may be by this history, or by another one
    if this one is refused.
    """
    lacking, faults = [item.finding for item in MACHINE.missing(values)], history["faults"]
    given = {**values, **{name: 0 for name in BUDGETS if name not in faults}, **faults}
    by = {name: {**given, **repairs(values, tuple({*lacking} - {name}))} for name in ("", *lacking)}
    taken = [name for name, constants in by.items() if loses(constants, history)]
    if taken:
        return [] if "" in taken else taken
    alone = {}
    for name, constants in by.items():
        made = api.check(
            "replication",
            constants=constants,
            only=[LOSS],
            stop_on_violation=True,
            compact=True,
            workers=1,
            budget=CAUSE_SECONDS,
        )
        alone[name] = str(made.verdict) == "violated"
        if alone.get(""):
            return []
    return [name for name, loses in alone.items() if loses]


def loses(constants: dict[str, int], history: dict[str, Any]) -> bool:
    point = {"constants": MACHINE.set_constants(constants).shown}
    try:
        history_of_faults({"protocol": PROTOCOL, "property": {"name": LOSS}}, point, history)
    except FencepostError:
        return False
    return True


BUDGETS = (
    *("crashes", "clean_stops", "fences", "shrinks", "elections", "reassignments", "cancels", "raises", "lowers"),
    *("elr_disables", "directory_failures", "directory_removals", "disk_replacements"),
)


def add(rows: list[dict[str, Any]], row: dict[str, Any]) -> None:
    same = next((one for one in rows if {**one, "versions": row["versions"]} == row), None)
    if same is None:
        rows.append(row)
    else:
        same["versions"] = sorted({*same["versions"], *row["versions"]})


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=sys.maxsize, metavar="N", help="Stop after this many rows.")
    left = options.parse_args().rows
    mark = operations_mark()
    known = load("operations")
    rows: list[dict[str, Any]] = list(known["rows"]) if known.get("mark") == mark else []
    for replicas, min_isr, elr in SIZES:
        for operation, also in ((item, also) for item in OPERATIONS for also in (False, True)):
            second = also and operation.also and replicas > 2
            for versions in grouped(operation, replicas, min_isr, elr=elr, also=also) if second or not also else ():
                key = {"operation": operation.name, "replicas": replicas, "min_isr": min_isr, "elr": elr}
                key |= {"also": True} if also else {}
                alike = (row for row in rows if row.items() >= key.items() and row.get("also", False) == also)
                if not left or any({*versions} <= {*row["versions"]} for row in alike):
                    continue
                left -= 1
                begun = time.monotonic()
                values = question(operation, versions[0], replicas, min_isr, elr=elr, also=also)
                row = {**key, "versions": versions, **measured(values, operation.kinds)}
                add(rows, row)
                save("operations", {"mark": mark, "rows": rows})
                done = {name: row[name] for name in ("versions", "undetermined", "states")}
                done["seconds"] = round(time.monotonic() - begun, 1)
                sys.stderr.write(f"{key}: {done}, {[(item['faults'], item['by']) for item in row['front']]}\n")


if __name__ == "__main__":
    main()
