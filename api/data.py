"""Results as JSON, in the words of the contract. Names have dashes; constants are spelt as they are set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fencepost.api.targets import spelt
from fencepost.api.traces import archived

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fencepost.explorers.judge import Judgement
    from fencepost.explorers.verdict import PropertyResult, Result

FORMAT = 1


def result_data(
    result: Result, traces: Mapping[str, str], steps: Mapping[str, list[str]], culprits: Mapping[str, str]
) -> dict[str, Any]:
    """Return a result; by property, `traces` gives the file of its trace, `steps` its actions, `culprits` who violates it."""
    return {
        "format": FORMAT,
        "protocol": result.protocol,
        "constants": {name: spelt(value) for name, value in result.constants.items()},
        "engine": result.engine,
        "workers": result.workers,
        "verdict": str(result.verdict),
        "complete": result.complete,
        "exact": not result.omission,
        "why_stopped": result.why_stopped,
        "distinct": result.distinct,
        "generated": result.generated,
        "depth": result.depth,
        "seconds": round(result.seconds, 4),
        "properties": [_property(item, traces, steps, culprits) for item in result.properties],
        "actions": [{"name": name, "fired": fired} for name, fired in result.fired.items()],
        "guards": [{"action": item.action, "condition": item.condition, "refused": item.refused} for item in result.guards],
        "deadlocks": result.deadlocks,
        "levels": list(result.levels),
        "omission": result.omission,
        "notes": list(result.notes),
        "store_bytes": result.store_bytes,
        "peak_memory_bytes": result.peak_memory_bytes,
    }


def _property(
    item: PropertyResult, traces: Mapping[str, str], steps: Mapping[str, list[str]], culprits: Mapping[str, str]
) -> dict[str, Any]:
    found: dict[str, Any] = {"name": item.name, "kind": str(item.kind), "verdict": str(item.verdict)}
    if item.path is not None:
        found["length"] = item.path.length
    if item.kind.over_behaviours:
        found |= _behaviour(item)
    if item.cost is not None and item.path is not None and item.verdict == "holds":
        found["trace"] = traces.get(item.name)
        found["steps"] = steps.get(item.name, [])
    if item.verdict == "violated":
        found["culprit"] = culprits.get(item.name, "")
        found["trace"] = traces.get(item.name)
        found["steps"] = steps.get(item.name, [])
    return found


def _behaviour(item: PropertyResult) -> dict[str, Any]:
    """Return what is told of a property of whole behaviours beside its verdict."""
    found: dict[str, Any] = {}
    if item.path is not None:
        found |= {"for": dict(item.values), "loop": item.path.loop}
    if item.cost is not None:
        cost = item.cost
        worst = str(cost.reach) if cost.worst is None else cost.worst
        found |= {"worst": worst, "best": cost.best, "bound": cost.bound, "unit": cost.unit}
    return found | ({"note": item.note} if item.note else {})


def judgement_data(judgement: Judgement, steps: Mapping[str, list[str]], culprits: Mapping[str, str]) -> dict[str, Any]:
    """Return a run of the catalogue: its result, what was expected, and how they differ."""
    run = judgement.run
    traces = {name: archived(run, name) for name in run.violated}
    return {
        **result_data(judgement.result, {name: file for name, file in traces.items() if file}, steps, culprits),
        "run": run.name,
        "expected": {
            "verdict": "violated" if run.violated else "unreached" if run.unreached else "holds",
            "distinct": run.distinct,
            "depth": run.depth,
            "violated": dict(run.violated),
            "unreached": list(run.unreached),
            **({"worst": dict(run.worst)} if run.worst else {}),
        },
        "as_expected": judgement.as_expected,
        "differences": list(judgement.differences),
    }
