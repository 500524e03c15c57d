"""The chapter "Why every check is there", written from what was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fencepost.api.matrix import MEANING
from fencepost.invariants.protocols import PROTOCOLS, protocol
from fencepost.model.language.actions import Kind
from fencepost.model.language.removal import guards
from fencepost.pages import kips
from fencepost.pages.markdown import table
from fencepost.pages.matrices import measured
from fencepost.pages.tolerance import section
from fencepost.pages.vacuity import TELLS, UNBREAKABLE, decided_by, falsifiable, family_of, report, vacuous

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fencepost.model.language import Action
    from fencepost.model.language.machine import Machine
    from fencepost.model.language.removal import Guard

ORDER = (
    "needed",
    "nothing-broke",
    "same-states",
    "bound",
    "implied",
    "not-exercised",
    "never-fires",
    "refused",
    "undetermined",
)
"""What is said of a row that has several purposes at several constants: the first of these."""

COUNTED = ("needed", "nothing-broke", "same-states", "bound")
"""The purposes whose guards are counted for each base."""
Found = tuple[dict[str, Any], dict[str, Any]]
"""A row, and the base at whose constants it was found."""


def chapter() -> Iterator[str]:
    """Yield the lines of the page, below its title."""
    yield from (
        "Every guard of a protocol was removed in turn, and every switch turned, and the protocol searched again. A guard is",
        "*needed* if a property that holds with it is violated without it; then the shortest history is shown that goes wrong. What",
        "is said of the others reaches as far as the constants at which they were removed, and is the most that was found at any of",
        "them. `fencepost ablate PROTOCOL` makes such a matrix at any constants, with a trace for every cell, and",
        "`python -m fencepost.pages.matrices docs` measures this page anew.",
        "",
    )
    yield from table(("purpose", "what it says"), ((f"**{name}**", text) for name, text in MEANING.items()))
    yield ""
    others = [name for name in PROTOCOLS if name not in measured()]
    yield from (f"No matrix is shown of {', '.join(others)}; `fencepost ablate` makes one of any protocol.", "")
    for name, data in measured().items():
        yield from _protocol(name, data)
    yield from kips.section({name: best_of(data) for name, data in measured().items()})
    yield from section()
    yield from _falsifiable()


def _protocol(name: str, data: dict[str, Any]) -> Iterator[str]:
    machine = protocol(name).machine
    yield from (f"## {name}", "", f"{machine.sentence[0].upper()}{machine.sentence[1:]}.", "")
    head = ("removed at the constants of", "distinct", "depth", *COUNTED)
    rows = (
        [base["run"], f"{base['distinct']:,}", str(base["depth"]), *(str(_count(base, purpose)) for purpose in COUNTED)]
        for base in data["bases"]
    )
    yield from table(head, rows, numbers=range(1, 7))
    yield from ("", *_properties(name), "")
    best = best_of(data)
    known = {item.name: item for item in guards(machine)}
    for item in machine.actions:
        own = [(known[name], found) for name, found in best.items() if name in known and known[name].action == item.label]
        yield from _action(item, own)
    yield from _settings(machine, [found for found in best.values() if found[0]["kind"] == "setting"])
    yield from _suspicious(name)


def _properties(name: str) -> Iterator[str]:
    """Yield what was asked: each property with its sentence and the guarantees that it decides."""
    decides = decided_by()
    yield from table(
        ("property", "what must hold", "guarantees"),
        (
            [f"`{item.name}`", item.sentence, ", ".join(decides.get((family_of(name), item.name), ()))]
            for item in protocol(name).properties
            if item.kind is not Kind.SOMETIMES and not item.kind.over_behaviours
        ),
    )


def _count(base: dict[str, Any], purpose: str) -> int:
    return sum(row["purpose"] == purpose and row["kind"] == "guard" for row in base["rows"])


def best_of(data: dict[str, Any]) -> dict[str, Found]:
    """Return for each row what is said of it: its first purpose in order, by the shortest trace."""
    found: dict[str, Found] = {}
    for base in data["bases"]:
        for row in base["rows"]:
            if row["row"] not in found or _rank(row) < _rank(found[row["row"]][0]):
                found[row["row"]] = row, base
    return found


def _rank(row: dict[str, Any]) -> tuple[int, int]:
    return ORDER.index(row["purpose"]), min(row["broken"].values(), default=0)


def _action(item: Action, own: list[tuple[Guard, Found]]) -> Iterator[str]:
    yield from (f"### {item.label}", "", item.sentence, "")
    if not own:
        yield from ("It has no guard.", "")
    for guard, (row, base) in own:
        yield f"- **{guard.name.rpartition(' ')[2]}.** `{guard.condition}`: **{row['purpose']}**{_why(row, base)}"
        if guard.sentence:
            yield f"  <br>{guard.sentence}."
        if "steps" in row:
            yield from _history(row)
    yield ""


def _why(row: dict[str, Any], base: dict[str, Any]) -> str:
    where = f" ({base['run']})"
    if row["broken"]:
        told = [f"{name} after {length - 1} steps" for name, length in row["broken"].items()]
        return f". Without it: {', '.join(told)}{where}"
    if row["purpose"] == "bound" and "departure" in row:
        return f": {row['departure']}"
    return f": {row['why']}" if row.get("why") else ""


def _history(row: dict[str, Any]) -> Iterator[str]:
    first, length = next(iter(row["broken"].items()))
    yield from ("", f"  <details><summary>{length - 1} steps to a violation of {first}</summary>", "", "  ```text")
    yield from (f"  {number:>2} {step}" for number, step in enumerate(row["steps"], 1))
    yield from ("  ```", "", "  ```mermaid")
    yield from (f"  {line}" for line in row["diagram"].rstrip().splitlines())
    yield from ("  ```", "", "  </details>", "")


def _settings(machine: Machine, found: list[Found]) -> Iterator[str]:
    if not found:
        return
    declared = machine.constants.declared()
    yield from ("### Switches and choices", "")
    rows = (
        [
            f"`{row['row']}`",
            declared[row["constant"]].meaning,
            row["purpose"],
            ", ".join(f"{name} {length}" for name, length in row["broken"].items()),
            base["run"] if row["broken"] else "",
        ]
        for row, base in found
        if row["constant"] in declared
    )
    yield from table(("set to", "constant", "purpose", "violated, with the states of the shortest trace", "at"), rows)
    yield ""


def _suspicious(name: str) -> Iterator[str]:
    """Yield what is suspicious at all constants together."""
    found = report(protocol(name))
    if any(found[key] for key in TELLS):
        yield from ("### What nothing depended on", "")
        for key, told in TELLS.items():
            if found[key]:
                yield f"- {told}: {', '.join(f'`{item}`' for item in found[key])}"
        yield ""


def _falsifiable() -> Iterator[str]:
    known = falsifiable()
    without = vacuous()
    yield from ("## Guarantees that were seen to fail", "")
    yield f"{len(known) - len(without)} of {len(known)} guarantees that hold were seen to fail in a variant of their protocol,"
    yield "by a run of the catalogue or without a guard, so it is no wonder of their own wording that they hold."
    if without:
        yield from ("", "Not so:", "")
        yield from (f"- {name}: {UNBREAKABLE.get(name, 'nobody knows why')}" for name in without)
    yield ""
