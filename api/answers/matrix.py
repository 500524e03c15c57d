"""The matrix of `fencepost ablate` as text, JSON or HTML, and its signs of vacuous results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.api.answers.as_json import FORMAT, Json, actions_of, pick
from fencepost.api.asking.quantities import counted
from fencepost.explorers.program.removal import Guard
from fencepost.explorers.verdict import PropertyResult, Result, Verdict
from fencepost.invariants.protocols import Protocol
from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    from fencepost.counterexamples.trace import Trace
    from fencepost.explorers.evidence.ablation import Ablation, RowOutcome

MEANING = {
    "needed": "a property is violated without the guard, or with the setting",
    "liveness": "a leads-to or at-most property is violated without the guard, or with the setting, but no safety "
    "property is",
    "bound": "the guard only keeps values in their domains; without it, the domains refuse the same steps",
    "same-states": "without the guard, or with the setting, the same states are reached, possibly by other steps",
    "implied": "other guards of the action refuse every step that the guard refuses",
    "not-exercised": "the guard never refuses a step under these constants",
    "never-fires": "the guard's action never happens under these constants, with or without the guard",
    "nothing-broke": "different states are reached, but no property is violated: the guard may be needed for liveness, "
    "for requirements that no property states, with larger constants, or (if steps left a domain) with wider domains",
    "refused": "the setting cannot be combined with the other constants",
    "undetermined": "the search ended without a decision",
}


IDLE_PURPOSES = ("implied", "not-exercised", "never-fires", "nothing-broke", "same-states", "undetermined")
"""Purposes of guards that no known guarantee needs. Guards that only bound the search have another purpose."""
SUSPICIONS = {
    "never_violated": "properties that no row violates, so nothing shows that they can be violated",
    "unreached": "witnesses that no state or step satisfies: the protocol never does what they describe",
    "dead": "actions that never happen under these constants",
    "idle": "guards that no property was found to need under these constants",
}
"""The meaning of each sign of a vacuous result."""


def meaning_for(data: Json) -> dict[str, str]:
    """Return the meaning of each purpose in this matrix, ignoring properties that the unmodified machine violates."""
    if not any(item["verdict"] == "violated" for item in data["properties"]):
        return MEANING
    return {
        name: text.replace("a property is", "another property is")
        .replace("no property is", "no other property is")
        .replace("no safety property is", "no other safety property is")
        for name, text in MEANING.items()
    }


def not_run(data: Json) -> str:
    """Return a sentence that says how many rows were not run, or "" if all were run."""
    left = len(data["not_run"])
    return f"Not run: {left:,} of {counted(left + len(data['rows']), 'row')}." if left else ""


def refuse_unfinished(found: Protocol, base: Result) -> None:
    if not base.complete:
        raise UsageError(
            f"the search of the unmodified {found.name!r} did not finish: {base.why_stopped}. All rows are compared "
            "with it: provide more memory, or smaller constants."
        )


def whole_data(found: Protocol, ablation: Ablation, base: Result) -> Json:
    return {
        "format": FORMAT,
        "protocol": found.name,
        "sentence": found.machine.sentence,
        "constants": dict(ablation.constants.shown),
        "properties": [
            {
                **pick(item, "name sentence kind"),
                "verdict": str(result.verdict),
                "length": result.path.length if result.path else None,
            }
            for item, result in ((item, base.of(item.name)) for item in ablation.all_properties)
        ],
        "asked": [item.name for item in ablation.properties],
        **pick(base, "distinct generated depth"),
        "seconds": round(base.seconds, 3),
        "actions": actions_of(base.fired),
        "rows": [],
        "not_run": [],
        "why_stopped": "",
        "suspicions": {},
    }


def row_data(found: Protocol, ablation: Ablation, outcome: RowOutcome, *, texts: bool = True) -> Json:
    """Return a row as JSON: subject, purpose, and a cell for each property. If `texts` is set, include trace files."""
    row, result, left = outcome.row, outcome.result, outcome.departure
    data: Json = {
        "row": row.name,
        **pick(row, "condition sentence"),
        "kind": "guard" if isinstance(row, Guard) else "setting",
        **pick(outcome, "purpose broken grown refused alone"),
        "complete": result is not None and result.complete,
        "why": outcome.why,
        "distinct": result.distinct if result else None,
        "depth": result.depth if result else None,
        "seconds": round(result.seconds, 3) if result else None,
        "cells": {item.name: _cell(found, ablation, outcome, item, texts=texts) for item in result.properties}
        if result
        else {},
        "departure": {"length": left.path.length + 1, "message": left.message} if left else None,
    }
    if isinstance(row, Guard):
        data["action"], data["number"], data["part"] = row.action, row.number, row.part
    else:
        data["constant"] = row.constant
    return data


def _cell(found: Protocol, ablation: Ablation, outcome: RowOutcome, item: PropertyResult, *, texts: bool) -> Json:
    if item.path is None:
        if item.verdict is Verdict.HOLDS:
            return {"verdict": str(item.verdict)}
        return {"verdict": str(item.verdict), "depth": outcome.result.depth if outcome.result else 0}
    trace = trace_of_cell(found, ablation, outcome, item.name)
    plain = trace.interpreter()
    cell: Json = {
        "verdict": str(item.verdict),
        "length": item.path.length,
        "new": item.name in outcome.broken,
        "steps": [plain.show(step) for step in trace.steps],
    }
    if texts:
        from fencepost.counterexamples.replay import follow

        cell["trace"] = follow(trace).text
    return cell


def trace_of_cell(found: Protocol, ablation: Ablation, outcome: RowOutcome, prop: str) -> Trace:
    from fencepost.counterexamples.trace import trace_of

    assert outcome.result is not None
    row = outcome.row
    return trace_of(
        outcome.result,
        prop,
        title=f"{found.name} {'without guard ' if isinstance(row, Guard) else 'with '}{row.name}: {prop} is violated",
        source=found.machine.source,
        why=next(item.sentence for item in found.properties if item.name == prop),
        normalize=ablation.options.normalize,
        lookup=lambda _: found,
        removed=row if isinstance(row, Guard) else None,
    )


def suspicions(data: Json) -> dict[str, list[str]]:
    """Return the signs of vacuous results in a protocol's matrix, by kind.

    `never_violated`: properties that hold and that no row violates. `unreached`: witnesses that are not
    reached. `dead`: actions that are never taken. `idle`: guards that no guarantee depends on.
    """
    broken = {name for row in data["rows"] for name, cell in row["cells"].items() if cell["verdict"] == "violated"}
    verdicts = {item["name"]: item["verdict"] for item in data["properties"]}
    return {
        "never_violated": [name for name in data["asked"] if verdicts[name] == "holds" and name not in broken],
        "unreached": [name for name, verdict in verdicts.items() if verdict == "unreached"],
        "dead": [item["name"] for item in data["actions"] if not item["fired"]],
        "idle": [
            row["row"]
            for row in data["rows"]
            if row["kind"] == "guard" and row["purpose"] in IDLE_PURPOSES and not _has_needed_part(row, data)
        ],
    }


def _has_needed_part(row: Json, data: Json) -> bool:
    own = (row["action"], row["number"], "needed")
    others = (item for item in data["rows"] if item is not row)
    return any((item.get("action"), item.get("number"), item["purpose"]) == own for item in others)
