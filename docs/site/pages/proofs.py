"""The tables of the page of proofs: what was proved, measured by `fencepost prove --json`, and the lemmas in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fencepost.invariants.figures.store import load
from fencepost.invariants.theorems import THEOREMS

if TYPE_CHECKING:
    from collections.abc import Iterable

Row = list[str]
MOST_NAMES = 4
"""Names in a cell; `fencepost prove` prints all of them."""


def measured_proofs() -> dict[str, dict[str, Any]]:
    """Return what was measured of each proof, by its name."""
    return {item["name"]: item for item in load("proofs").get("proofs", ())}


def proofs() -> tuple[Row, Iterable[Row]]:
    """Return the table of proofs: what is unbounded, what stays bounded, how much was asked, and what breaks the twin."""
    head = ["proof", "verdict", "for any", "at", "steps", "branches", "questions", "solver s", "fails without"]
    return head, (_proof(item.name) for item in THEOREMS)


def _proof(name: str) -> Row:
    found = measured_proofs().get(name)
    if found is None:
        return [name, "not measured", *[""] * 7]
    return [
        f"`{name}`",
        found["verdict"],
        _many(found["unbounded"]),
        _sizes(found["bounded"]),
        f"{found['steps']:,}",
        f"{found['branches']:,}",
        f"{found['questions']:,}",
        f"{found['solver_seconds']:.1f}",
        found["twin"]["rule"] + ("" if found["twin"]["fails_as_expected"] else " (does not fail)"),
    ]


def _many(text: str) -> str:
    """Return the first names of a long list, and how many more there are."""
    names = text.split(", ")
    return text if len(names) <= MOST_NAMES else f"{', '.join(names[:MOST_NAMES])} and {len(names) - MOST_NAMES} more"


def _sizes(text: str) -> str:
    """Return the constants that are not zero: what is zero cannot happen."""
    return " ".join(item for item in text.split() if not item.endswith("=0")) or "no bound"


def statements() -> Iterable[str]:
    """Yield what each proof says, of which properties, for which constants, and the entries of the catalogue that it is about."""
    for item in THEOREMS:
        goals = ", ".join(f"`{name}`" for name in item.goals)
        entries = f" Entries: {', '.join(item.entries)}." if item.entries else ""
        yield f"`{item.name}` on {item.protocol}: {item.says} Goals: {goals}.{entries}"


def lemmas(name: str) -> tuple[Row, Iterable[Row]]:
    """Return the lemmas of one proof in words."""
    theorem = next(item for item in THEOREMS if item.name == name)
    return ["lemma", "in words"], (
        [f"`{item.name}`", item.sentence] for item in theorem.properties if item.name in theorem.lemmas
    )


def loops() -> tuple[Row, Iterable[Row]]:
    """Return the functions whose loops have no end in a proof, so that what they write may be anything."""
    found = ((item.name, measured_proofs().get(item.name, {}).get("havoc_loops", [])) for item in THEOREMS)
    return ["proof", "loops of"], (
        [f"`{name}`", ", ".join(f"`{item}`" for item in names)] for name, names in found if names
    )


def cuts(name: str) -> tuple[Row, Iterable[Row]]:
    """Return the bounds that steps of one proof may leave: such steps end with an error, and nothing is said of runs with one."""
    found = measured_proofs().get(name, {"cuts": {}})
    return ["action", "bound"], ([f"`{action}`", "; ".join(whats)] for action, whats in found["cuts"].items())
