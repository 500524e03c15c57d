"""Guarantees that were never violated, witnesses that were never reached, actions that were never taken, and guards
that were never needed, according to the catalogue's runs and the measured matrices.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fencepost.api.answers.as_json import FORMAT
from fencepost.api.answers.matrix import suspicions
from fencepost.api.asking.arguments import call
from fencepost.api.asking.model_files import make_sure_file
from fencepost.api.topics.evidence import cases_of
from fencepost.api.topics.matrices import Found, best_of, history, measured, stale
from fencepost.counterexamples.replay import Replay
from fencepost.invariants.catalogue import entries, runs, status
from fencepost.invariants.protocols import PROTOCOLS, Protocol, protocol
from fencepost.model.language.actions import Kind
from fencepost.model.language.errors import UsageError, nearest
from fencepost.model.lineage import base

UNBREAKABLE: dict[str, str] = {}
"""Guarantees that no variant violates, each with the reason. If an entry is missing, the check of the pages fails."""


@dataclass(frozen=True)
class VacuityResult:
    """Signs of vacuous results, with the same keys as in `report`. `stale` lists protocols whose matrix is outdated."""

    protocols: tuple[dict[str, Any], ...]
    stale: tuple[str, ...]

    def __repr__(self) -> str:
        found = sum(len(data["guarantees"]) for data in self.protocols)
        names = ", ".join(str(data["protocol"]) for data in self.protocols)
        return f"VacuityResult({names}: {found} guarantees that no variant violates)"

    @property
    def complete(self) -> bool:
        """Return whether every guarantee that holds is violated by some variant."""
        return not any(data["guarantees"] for data in self.protocols)

    def to_dict(self) -> dict[str, Any]:
        return {"format": FORMAT, "stale": list(self.stale), "protocols": list(self.protocols)}


@call
def vacuity(*names: str) -> VacuityResult:
    """Return, for each protocol, the properties that no variant violates and the guards that have no effect.

    The function does not search, but reads the catalogue's runs and the measured matrices. Raises UsageError for a
    model file, which has no measurements.
    """
    for name in names:
        if name.endswith(".py") or "/" in name:
            make_sure_file(Path(name))
            raise UsageError(
                f"there is no matrix for {name}: `fencepost ablate {name}` measures a matrix and reports suspicious "
                "rows."
            )
    asked = names or tuple(PROTOCOLS)
    reports = tuple(report(protocol(name)) for name in asked)
    return VacuityResult(reports, tuple(name for name in stale() if name in asked))


@dataclass(frozen=True)
class MeasuredRow:
    """A row of a protocol's matrices, for a removed guard or a changed setting, with all its measurements."""

    protocol: str
    row: str
    found: tuple[Found, ...]

    @property
    def history(self) -> Replay | None:
        return next((history(self.protocol, pair) for pair in self.found if "steps" in pair[0]), None)

    def to_dict(self) -> dict[str, Any]:
        rows = [{"run": base["run"], "constants": base["constants"], **item} for item, base in self.found]
        return {"format": FORMAT, "protocol": self.protocol, "row": self.row, "rows": rows}


@call
def measured_row(names: tuple[str, ...], row: str) -> MeasuredRow:
    """Return the row with a name such as `follower-fetch 1` or `elr=off`; raise UsageError if it was not measured."""
    if len(names) != 1 or names[0] not in measured():
        raise UsageError(
            f"`row=` needs exactly one measured protocol, not {' '.join(names) or 'none'}: write "
            f"one of {', '.join(measured())}."
        )
    (name,) = names
    data = measured()[name]
    known = list(best_of(data))
    if row not in known:
        raise UsageError(
            f"there is no measured row {row!r} of {name}.{nearest(row, known)} `fencepost ablate {name}` measures it."
        )
    found = tuple((item, base) for base in data["bases"] for item in base["rows"] if item["row"] == row)
    return MeasuredRow(name, row, found)


def seen_to_fail() -> set[tuple[str, str]]:
    """Return the properties that a run of the catalogue or a row of a matrix violates, by family of protocols. An
    at-most property counts as violated if its worst cost differs between two runs.
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
    """Return the name of a protocol's family. Published models, which share their properties, form one family."""
    return "lineage" if protocol(name).machine.state is base.State else name


def decided_by() -> dict[tuple[str, str], list[str]]:
    """Return the guarantees that each property decides, by family of protocols and property name."""
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
    """Return, for each guarantee that holds, whether any variant violates a property that decides it."""
    broken = seen_to_fail()
    found: dict[str, bool] = {}
    for item, names in decided_by().items():
        for name in names:
            if status(entries()[name]) == "holds":
                found[name] = found.get(name, False) or item in broken
    return found


def vacuous() -> list[str]:
    return [name for name, known in falsifiable().items() if not known]


def report(found: Protocol) -> dict[str, Any]:
    """Return a protocol's signs of vacuous results under all measured constants, and its guarantees without evidence.
    The keys are the same as in `suspicions`. Without a measured matrix, no claim is made about actions and guards.
    """
    broken = {prop for family, prop in seen_to_fail() if family == family_of(found.name)}
    own = [run for run in runs() if run.protocol == found.name]
    every = tuple(item.name for item in found.properties)
    judged = {name for run in own for name in run.properties or every}
    reached = {name for run in own for name in run.properties or every if name not in run.unreached}
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


def _is_about(name: str, found: Protocol) -> bool:
    return any(family_of(case.run.protocol) == family_of(found.name) for case in cases_of(entries()[name]))


def together(data: dict[str, Any]) -> dict[str, list[str]]:
    """Return the actions never taken, and the guards never needed, in any measurement of a protocol."""
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
    "idle": "guards that no property was found to need",
}
"""The meaning of each sign of a vacuous result that applies to all constants."""
