"""Measure the harm of each operation, by release and settings: `python -m benchmarks.figures.operations`.

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
"""Time limit, in seconds, of a search for findings that suffice, which usually takes a few seconds."""
SIZES = (
    *((3, 2, True), (3, 2, False), (2, 2, True), (2, 1, True)),
    *((2, 2, False), (2, 1, False), (3, 1, True), (3, 3, True)),
)
"""Replicas, min ISR and ELR of the measured rows, the most common first."""


def grouped(operation: Operation, replicas: int, min_isr: int, *, elr: bool) -> Iterator[list[str]]:
    """Yield groups of releases that agree on everything that an operation depends on."""
    groups: dict[str, list[str]] = {}
    if operation.constants and (elr or not operation.elr):
        for version in protocol(PROTOCOL).machine.versions:
            if not elr or version.name >= "kafka-4.0":
                asked = question(operation, version.name, replicas, min_isr, elr=elr)
                groups.setdefault(repr(sorted(asked.items())), []).append(version.name)
    yield from reversed(groups.values())


def measured(values: dict[str, int], operation: Operation, prop: str = LOSS) -> dict[str, Any]:
    """Return the fewest faults that violate the property, each with the findings that cause it.

    If the operation does not occur in the history, the findings that violate the property on their own are fixed.
    """
    first, repaired = broken_in(values, prop), set[str]()
    found = first
    while operation.kinds and found["front"] and not any(map(operation.takes_part, found["front"])):
        without = {name for item in found["front"] for name in item["by"]}
        if not without:
            return first
        repaired |= without
        found = broken_in({**values, **repairs(values, tuple(repaired))}, prop)
    return {**found, "repaired": sorted(repaired)} if repaired and found["front"] else first


def broken_in(values: dict[str, int], prop: str) -> dict[str, Any]:
    found = api.faults(
        "replication", prop=prop, constants=values, compact=True, workers=1, budget=SECONDS, max_states=MOST_STATES
    )
    (point,) = found.to_dict()["grid"]
    front = [{**item, "by": causes(values, item, prop)} for item in point["front"]]
    asked = {name: point[name] for name in ("most", "undetermined", "states", "omission")}
    asked["omission"] = float(f"{asked['omission'] * 1.05:.1e}")  # rounded up, to keep the file small
    return {**asked, "front": [{name: item[name] for name in ("faults", "length", "steps", "by")} for item in front]}


def causes(values: dict[str, int], history: dict[str, Any], prop: str) -> list[str]:
    """Return each finding that violates the property with these faults while all other findings are fixed.

    The list is empty if the property is violated with all findings fixed. Another history may show the violation if
    this one is rejected.
    """
    lacking, faults = [item.finding for item in MACHINE.missing(values)], history["faults"]
    given = {**values, **{name: 0 for name in BUDGETS if name not in faults}, **faults}
    by = {name: {**given, **repairs(values, tuple({*lacking} - {name}))} for name in ("", *lacking)}
    taken = [name for name, constants in by.items() if violates(constants, history, prop)]
    if taken:
        return [] if "" in taken else taken
    alone = {}
    for name, constants in by.items():
        made = api.check(
            "replication",
            constants=constants,
            only=[prop],
            stop_on_violation=True,
            compact=True,
            workers=1,
            budget=CAUSE_SECONDS,
        )
        alone[name] = str(made.verdict) == "violated"
        if alone.get(""):
            return []
    return [name for name, breaks in alone.items() if breaks]


def violates(constants: dict[str, int], history: dict[str, Any], prop: str) -> bool:
    point = {"constants": MACHINE.set_constants(constants).shown}
    try:
        history_of_faults({"protocol": PROTOCOL, "property": {"name": prop}}, point, history)
    except FencepostError:
        return False
    return True


BUDGETS = (
    *("crashes", "clean_stops", "fences", "shrinks", "elections", "reassignments", "cancels", "raises", "lowers"),
    *("elr_disables", "directory_failures", "directory_removals", "disk_replacements", "deletions"),
)


def add(rows: list[dict[str, Any]], row: dict[str, Any]) -> None:
    same = next((one for one in rows if {**one, "versions": row["versions"]} == row), None)
    if same is None:
        rows.append(row)
    else:
        same["versions"] = sorted({*same["versions"], *row["versions"]})


def _place(row: dict[str, Any]) -> list[Any]:
    return [row.get(name) for name in ("operation", "replicas", "min_isr", "elr", "prop")]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=sys.maxsize, metavar="N", help="Stop after this many rows.")
    options.add_argument("--only", nargs="+", default=[item.name for item in OPERATIONS], metavar="OPERATION")
    options.add_argument("--again", action="store_true", help="Measure rows of these operations again.")
    given = options.parse_args()
    left = given.rows
    mark = operations_mark()
    known = load("operations")
    rows: list[dict[str, Any]] = list(known["rows"]) if known.get("mark") == mark else []
    rows = [row for row in rows if not (given.again and row["operation"] in given.only)]
    for replicas, min_isr, elr in SIZES:
        for operation, prop in ((item, prop) for item in OPERATIONS if item.name in given.only for prop in item.props):
            for versions in grouped(operation, replicas, min_isr, elr=elr):
                key = {"operation": operation.name, "replicas": replicas, "min_isr": min_isr, "elr": elr}
                key |= {} if prop == LOSS else {"prop": prop}
                alike = (row for row in rows if row.items() >= key.items() and row.get("prop", LOSS) == prop)
                if not left or any({*versions} <= {*row["versions"]} for row in alike):
                    continue
                left -= 1
                begun = time.monotonic()
                values = question(operation, versions[0], replicas, min_isr, elr=elr)
                row = {**key, "versions": versions, **measured(values, operation, prop)}
                add(rows, row)
                save("operations", {"mark": mark, "rows": rows})
                done = {name: row[name] for name in ("versions", "undetermined", "states")}
                done["seconds"] = round(time.monotonic() - begun, 1)
                sys.stderr.write(f"{key}: {done}, {[(item['faults'], item['by']) for item in row['front']]}\n")
    places = [_place(row) for row in (*known.get("rows", ()), *rows)]
    save("operations", {"mark": mark, "rows": sorted(rows, key=lambda row: places.index(_place(row)))})


if __name__ == "__main__":
    main()
