"""Which version of the model has which finding, as `python -m benchmarks.figures.versions` measured it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fencepost.api.kept import digest
from fencepost.api.topics.crash_table import lost_with
from fencepost.invariants.catalogue import evidence, values_of
from fencepost.invariants.figures.store import load
from fencepost.invariants.protocols import protocol
from fencepost.site.pages.matrices import texts_of

if TYPE_CHECKING:
    from collections.abc import Iterable

PROTOCOL = "replication"
LOSS = "leader-has-acknowledged"
DISK_STAYS = {"brokers": 2, "crashes": 2, "fences": 2, "max_leader_epoch": 4, "max_records": 1, "loss": "none"}
"""What is set where a release is asked what it loses while crashes leave the disk as it is: the process dies, and starts again."""


def measured() -> list[dict[str, Any]]:
    """Return a row for each finding: its run, the property that fails, and what each version does with it."""
    found: list[dict[str, Any]] = load("versions").get("findings", [])
    return found


def mark() -> str:
    """Return what tells whether anything has changed that the verdicts depend on: the machine, its versions, and the runs of findings."""
    found = protocol(PROTOCOL)
    versions = [(item.name, sorted(item.values.items())) for item in found.machine.versions]
    runs = sorted(
        {
            (case.run.name, repr(values_of(case.run)), case.prop)
            for item in evidence().values()
            for case in item.cases
            if case.run.protocol == PROTOCOL
        }
    )
    return digest([*texts_of(found.machine, found.properties), repr(versions), repr(runs)])


def losses_mark() -> str:
    """Return what tells whether anything has changed that the losses of releases depend on."""
    found = protocol(PROTOCOL)
    versions = [(item.name, sorted(item.values.items())) for item in found.machine.versions]
    return digest([*texts_of(found.machine, found.select((LOSS,))), repr(versions), repr(DISK_STAYS)])


def losses() -> tuple[list[str], Iterable[list[str]]]:
    """Return what each release loses where crashes leave the disk as it is; releases of which all is the same share a row."""
    alike: dict[tuple[str, ...], list[str]] = {}
    rows = load("versions")["losses"]["rows"]
    for name in dict.fromkeys(row["version"] for row in rows):
        cells = tuple(lost_with(row) for row in rows if row["version"] == name)
        alike.setdefault(cells, []).append(name.removeprefix("kafka-"))
    return ["release", "min ISR 1", "min ISR 2"], ([", ".join(names), *cells] for cells, names in alike.items())


def stale() -> bool:
    """Say whether the verdicts were measured with another model, or other runs, than there are now."""
    found = load("versions")
    return bool(found) and (found["mark"], found["losses"]["mark"]) != (mark(), losses_mark())


def by_version() -> tuple[list[str], Iterable[list[str]]]:
    """Return a table with a column for each version; findings of which all versions do the same share a row."""
    rows = measured()
    columns = list(dict.fromkeys(name for row in rows for name in row["by"]))
    alike: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        alike.setdefault(tuple(_shown(row["by"].get(name)) for name in columns), []).append(row["entry"])
    return ["finding", *(name.removeprefix("kafka-") for name in columns)], (
        [", ".join(names), *cells] for cells, names in alike.items()
    )


def _shown(cell: dict[str, Any] | None) -> str:
    """Return a verdict, with the states of the shortest trace; a dash for what the model of a version cannot say."""
    if cell is None or cell["verdict"] == "not expressible":
        return "-"
    return f"violated, {cell['length']}" if cell["verdict"] == "violated" else str(cell["verdict"])
