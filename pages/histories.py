"""The shortest history without a guard, or with another setting: its steps stand in the figures, and the rest comes from a replay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fencepost.counterexamples.replay import replay_text
from fencepost.invariants.protocols import protocol
from fencepost.model.language.removal import find_guard

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fencepost.counterexamples.replay import Replay
    from fencepost.pages.matrices import Found


def history(name: str, found: Found) -> Replay:
    """Replay the history of a row; raise UsageError where the model does not allow it, or where it violates nothing."""
    row, base = found
    values = dict(base["constants"])
    if row["kind"] == "setting":
        constant, _, value = row["row"].partition("=")
        values[constant] = value
    prop = next(iter(row["broken"]))
    without = row["kind"] == "guard"
    header = {
        "format": "1",
        "title": f"{name} {'without guard' if without else 'with'} {row['row']}: {prop} is violated",
        "protocol": name,
        "constants": " ".join(f"{key}={str(value).lower()}" for key, value in values.items()),
        **({"removed": f"{row['row']}: {find_guard(protocol(name).machine, row['row']).condition}"} if without else {}),
        "property": prop,
        "verdict": "violated",
        "why": next(item.sentence for item in protocol(name).properties if item.name == prop),
    }
    lines = [f"{key}: {value}" for key, value in header.items()]
    return replay_text("\n".join([*lines, "----", *row["steps"], "----"]) + "\n")


def histories(data: dict[str, Any]) -> Iterator[Found]:
    """Yield the rows of a protocol that have a history, each with the base at whose constants it was found."""
    for base in data["bases"]:
        for row in base["rows"]:
            if "steps" in row:
                yield row, base
