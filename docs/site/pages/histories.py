"""Histories of the figures: their steps are stored, and everything else comes from a replay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fencepost.counterexamples.replay import replay_text
from fencepost.explorers.program.removal import find_guard
from fencepost.invariants.protocols import protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fencepost.counterexamples.replay import Replay
    from fencepost.site.pages.matrices import Found


def history(name: str, found: Found) -> Replay:
    """Replay the history of a row; raise UsageError where the model does not allow it, or where it violates nothing."""
    row, base = found
    prop = next(iter(row["broken"]))
    if row["kind"] == "guard":
        guard = find_guard(protocol(name).machine, row["row"])
        title = f"{name} without guard {guard.name}: {prop} is violated"
        return _replay(
            name, base["constants"], prop, row["steps"], title, {"removed": f"{guard.name}: {guard.condition}"}
        )
    constant, _, value = row["row"].partition("=")
    title = f"{name} with {row['row']}: {prop} is violated"
    return _replay(name, {**base["constants"], constant: value}, prop, row["steps"], title)


def history_of_faults(data: Mapping[str, Any], point: Mapping[str, Any], item: Mapping[str, Any]) -> Replay:
    """Replay the history of a minimal set of faults in a fault table; raises as `history` does."""
    name, prop = data["protocol"], data["property"]["name"]
    return _replay(name, point["constants"], prop, item["steps"], f"{name}: {prop} is violated")


def _replay(
    name: str,
    constants: Mapping[str, Any],
    prop: str,
    steps: Iterable[str],
    title: str,
    more: Mapping[str, str] | None = None,
) -> Replay:
    header = {
        "format": "1",
        "title": title,
        "protocol": name,
        "constants": " ".join(f"{key}={str(value).lower()}" for key, value in constants.items()),
        **(more or {}),
        "property": prop,
        "verdict": "violated",
        "why": next(item.sentence for item in protocol(name).properties if item.name == prop),
    }
    lines = [f"{key}: {value}" for key, value in header.items()]
    return replay_text("\n".join([*lines, "----", *steps, "----"]) + "\n")


def histories(data: Mapping[str, Any]) -> Iterator[Found]:
    """Yield the rows of a protocol that have a history, each with the base at whose constants it was found."""
    for base in data["bases"]:
        for row in base["rows"]:
            if "steps" in row:
                yield row, base
