"""Which guarantees, witnesses, actions and guards of a protocol were never seen to fail, to happen, or to matter.

The runs of the catalogue and the measured matrices say so; nothing is searched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fencepost.api.answers.suspicions import suspicions
from fencepost.api.topics.evidence import cases_of
from fencepost.invariants.catalogue import entries, runs, status
from fencepost.invariants.protocols import protocol
from fencepost.model.language.actions import Kind
from fencepost.model.lineage import base
from fencepost.site.pages.matrices import measured

if TYPE_CHECKING:
    from fencepost.invariants.protocols import Protocol

UNBREAKABLE: dict[str, str] = {}
"""The guarantees that no variant breaks, each with the reason. Any other one without evidence fails the check of the pages."""


def seen_to_fail() -> set[tuple[str, str]]:
    """Return the properties, by family of protocols, that a run of the catalogue or a row of a matrix violates.

    What something costs at most was seen to be another thing where two runs differ in it.
    """
    broken = {
        (family_of(name), prop)
        for name, data in measured().items()
        for base in data["bases"]
        for row in base["rows"]
        for prop, cell in row["cells"].items()
        if cell["verdict"] == "violated"
    }
    dearest: dict[tuple[str, str], set[int | str]] = {}
    for run in runs():
        broken |= {(family_of(run.protocol), prop) for prop in run.violated}
        for prop, cost in run.worst.items():
            dearest.setdefault((family_of(run.protocol), prop), set()).add(cost)
    return broken | {item for item, costs in dearest.items() if len(costs) > 1}


def family_of(name: str) -> str:
    """Return the protocol, or one name for the published models, which share their properties."""
    return "lineage" if protocol(name).machine.state is base.State else name


def decided_by() -> dict[tuple[str, str], list[str]]:
    """Return the guarantees that each property decides, by family of protocols and name of the property."""
    found: dict[tuple[str, str], list[str]] = {}
    for entry in entries().values():
        if entry.kind in ("always", "step"):
            decided = (
                (family_of(case.run.protocol), case.prop)
                for case in cases_of(entry)
                if case.expect in ("holds", "violated")
            )
            for item in dict.fromkeys(decided):
                found.setdefault(item, []).append(entry.id)
    return found


def falsifiable() -> dict[str, bool]:
    """Return for each guarantee that holds whether a property that decides it was seen to fail."""
    broken = seen_to_fail()
    found: dict[str, bool] = {}
    for item, names in decided_by().items():
        for name in names:
            if status(entries()[name]) == "holds":
                found[name] = found.get(name, False) or item in broken
    return found


def vacuous() -> list[str]:
    """Return the guarantees that hold, and that nothing was seen to break."""
    return [name for name, known in falsifiable().items() if not known]


def report(found: Protocol) -> dict[str, Any]:
    """Return what is suspicious about a protocol at all constants that were tried, and its guarantees without evidence.

    The keys are those of `suspicions`. Where no matrix was measured, nothing is said of actions and guards.
    """
    broken = {prop for family, prop in seen_to_fail() if family == family_of(found.name)}
    own = [run for run in runs() if run.protocol == found.name]
    reached = {name for run in own for name in (run.properties or _names(found)) if name not in run.unreached}
    judged = {name for run in own for name in run.properties or _names(found)}
    data = measured().get(found.name)
    return {
        "protocol": found.name,
        "bases": [item["run"] for item in data["bases"]] if data else [],
        "runs": len(own),
        "never_violated": [
            item.name
            for item in found.every_property
            if item.kind is not Kind.SOMETIMES
            and item.name not in broken
            and (item in found.properties or item.name in judged)
        ],
        "unreached": [
            item.name for item in found.properties if item.kind is Kind.SOMETIMES and item.name not in reached
        ],
        **(together(data) if data else {"dead": [], "idle": []}),
        "guarantees": [name for name in vacuous() if name not in UNBREAKABLE and _is_about(name, found)],
    }


def _names(found: Protocol) -> tuple[str, ...]:
    return tuple(item.name for item in found.properties)


def _is_about(name: str, found: Protocol) -> bool:
    return any(family_of(case.run.protocol) == family_of(found.name) for case in cases_of(entries()[name]))


def together(data: dict[str, Any]) -> dict[str, list[str]]:
    """Return the actions that never happen, and the guards that nothing depends on, at all constants of a protocol."""
    each = [suspicions(item) for item in data["bases"]]
    needed = {
        (row["action"], row["number"])
        for item in data["bases"]
        for row in item["rows"]
        if row["kind"] == "guard" and row["purpose"] == "needed"
    }
    guard_of = {
        row["row"]: (row["action"], row["number"]) for row in data["bases"][0]["rows"] if row["kind"] == "guard"
    }
    common = {
        name: [item for item in each[0][name] if all(item in other[name] for other in each)]
        for name in ("dead", "idle")
    }
    return {**common, "idle": [name for name in common["idle"] if guard_of[name] not in needed]}


TELLS = {
    "never_violated": "properties that no run and no row of a matrix violates",
    "unreached": "witnesses that no run reaches",
    "dead": "actions that never happen in a matrix",
    "idle": "guards that no property was seen to depend on",
}
"""What each suspicion says of all constants together."""
