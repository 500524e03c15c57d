"""What a sweep found as data: cells, violations, the frontier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fencepost.api.data import FORMAT
from fencepost.api.targets import spelt

if TYPE_CHECKING:
    from fencepost.cli.commands.sweeping import Asked, Shown
    from fencepost.explorers.spark.summary import Cell, Summary
    from fencepost.explorers.spark.sweep import Swept


def sweep_data(asked: Asked, swept: Swept, summary: Summary, shown: list[Shown]) -> dict[str, Any]:
    """Return what a sweep found."""
    from fencepost.explorers.spark.frontier import Point, smallest_unsafe

    unsafe = {item.cell for item in summary.violations}
    points = {cell: Point(setting.places, cell in unsafe) for cell, setting in asked.settings.items()}
    smallest = smallest_unsafe(points)
    declared = asked.found.machine.constants.declared()
    actions = [item.label for item in asked.found.machine.actions]
    traces = {(item.violation.cell, item.violation.property): item for item in shown}
    cells = []
    by_cell = {item.cell: item for item in summary.cells}
    for cell, setting in asked.settings.items():
        found = by_cell.get(cell)
        if found is None:
            cells.append({"constants": setting.told, "verdict": "undetermined", "walks": 0, "violations": []})
            continue
        violations = [
            {
                "property": item.property,
                "walks": item.walks,
                "length": item.length,
                "walk": item.walk,
                **_trace(traces.get((cell, item.property))),
            }
            for item in summary.violations_of(cell)
        ]
        cells.append(
            {"constants": setting.told, **_cell(found, actions), "smallest_unsafe": cell in smallest, "violations": violations}
        )
    common = {
        name: spelt(value)
        for name, value in asked.settings[next(iter(asked.settings))].constants.shown().items()  # type: ignore[union-attr]
        if name not in asked.axes
    }
    return {
        "format": FORMAT,
        "protocol": asked.found.name,
        "engine": "spark",
        "verdict": "violated" if summary.violations else "not-found",
        "complete": swept.complete,
        "why_stopped": swept.why_stopped,
        "constants": common,
        "axes": {name: [spelt(declared[name].show(value)) for value in values] for name, values in asked.axes.items()},
        "seed": asked.given["seed"],
        "depth": asked.given["depth"],
        "walks": sum(item.walks for item in summary.cells),
        "walked_now": swept.walks,
        "steps": sum(item.steps for item in summary.cells),
        "seconds": round(swept.seconds, 3),
        "output": asked.given["output"],
        "properties": list(asked.names),
        "cells": cells,
        "refused": [{"constants": item.told, "why": item.refused} for item in asked.refused],
        "signatures": [
            {
                "property": item.property,
                "actions": [actions[number] for number in item.actions],
                "walks": item.walks,
                "cells": item.cells,
                "length": item.length,
            }
            for item in summary.signatures
        ],
    }


def _cell(found: Cell, actions: list[str]) -> dict[str, Any]:
    return {
        "verdict": "violated" if found.violated else "not-found",
        "walks": found.walks,
        "steps": found.steps,
        "violated": found.violated,
        "most_faults": found.faults,
        "deepest_log": found.deepest_log,
        "stuck": found.stuck,
        "distinct": found.distinct,
        "growth": list(found.growth),
        "actions": [{"name": name, "fired": count} for name, count in zip(actions, found.fired, strict=True)],
        "walking_seconds": round(found.seconds, 3),
    }


def _trace(shown: Shown | None) -> dict[str, Any]:
    if shown is None:
        return {}
    return {"shortened": shown.length, "is_shortest": shown.shortest, **({"trace": shown.file} if shown.file else {})}
