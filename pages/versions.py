"""Which version of the model has which finding, as `python -m benchmarks.versions` measured it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fencepost.api.kept import digest
from fencepost.figures.store import load
from fencepost.invariants.catalogue import evidence, values_of
from fencepost.invariants.protocols import protocol
from fencepost.pages.matrices import texts_of

if TYPE_CHECKING:
    from collections.abc import Iterable

PROTOCOL = "replication"


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


def stale() -> bool:
    """Say whether the verdicts were measured with another model, or other runs, than there are now."""
    return bool(load("versions")) and load("versions")["mark"] != mark()


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
