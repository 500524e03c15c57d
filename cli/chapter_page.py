"""The chapter "Why every check is there", written from what was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fencepost.cli.chapter import SIZES, measured, measured_faults, missing
from fencepost.cli.evidence import cases_of
from fencepost.cli.faulting import breaks_with, tolerated, words_of
from fencepost.cli.matrix import MEANING
from fencepost.cli.suspicions import TOLD, suspicions
from fencepost.invariants.catalogue import entries, runs, status
from fencepost.invariants.protocols import protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fencepost.model.language import Action

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
UNBREAKABLE: dict[str, str] = {}
"""The guarantees that no variant breaks, each with the reason. Any other one without evidence fails the check of the pages."""

Found = tuple[dict[str, Any], dict[str, Any]]
"""A row, and the base at whose constants it was found."""


def chapter() -> Iterator[str]:
    """Yield the lines of the page, below its title."""
    yield from (
        "Every guard of a protocol was removed in turn, and every switch turned, and the protocol searched again. A guard is",
        "*needed* if a property that holds with it is violated without it; then the shortest history is shown that goes wrong. What",
        "is said of the others reaches as far as the constants at which they were removed, and is the most that was found at any of",
        "them. `fencepost ablate PROTOCOL` makes such a matrix at any constants, with a trace for every cell, and",
        "`python -m fencepost.cli.chapter docs` measures this page anew.",
        "",
    )
    yield from _table(("purpose", "what it says"), ((f"**{name}**", text) for name, text in MEANING.items()))
    yield ""
    if missing():
        yield from (f"Not measured yet: {'; '.join(missing())}.", "")
    for name, data in measured().items():
        yield from _protocol(name, data)
    yield from _faults()
    yield from _falsifiable()


def _protocol(name: str, data: dict[str, Any]) -> Iterator[str]:
    machine = protocol(name).machine
    yield from (f"## {name}", "", f"{machine.sentence[0].upper()}{machine.sentence[1:]}.", "")
    head = ("removed at the constants of", "distinct", "depth", *COUNTED)
    rows = (
        [base["run"], f"{base['distinct']:,}", str(base["depth"]), *(str(_count(base, purpose)) for purpose in COUNTED)]
        for base in data["bases"]
    )
    yield from _table(head, rows, numbers=range(1, 7))
    yield ""
    best = _best(data)
    for item in machine.actions:
        yield from _action(item, [found for row, found in best.items() if found[0].get("action") == item.label and row])
    yield from _settings([found for found in best.values() if found[0]["kind"] == "setting"])
    yield from _suspicious(data)


def _count(base: dict[str, Any], purpose: str) -> int:
    return sum(row["purpose"] == purpose and row["kind"] == "guard" for row in base["rows"])


def _best(data: dict[str, Any]) -> dict[str, Found]:
    """Return for each row what is said of it: its first purpose in order, by the shortest trace."""
    found: dict[str, Found] = {}
    for base in data["bases"]:
        for row in base["rows"]:
            if row["row"] not in found or _rank(row) < _rank(found[row["row"]][0]):
                found[row["row"]] = row, base
    return found


def _rank(row: dict[str, Any]) -> tuple[int, int]:
    return ORDER.index(row["purpose"]), min(row["broken"].values(), default=0)


def _action(item: Action, own: list[Found]) -> Iterator[str]:
    yield from (f"### {item.label}", "", item.sentence, "")
    if not own:
        yield from ("It has no guard.", "")
    for row, base in own:
        number = f"{row['number']}{'abcdefghijklmnopqrstuvwxyz'[row['part'] - 1] if row['part'] else ''}"
        yield f"- **{number}.** `{row['condition']}`: **{row['purpose']}**{_why(row, base)}"
        if row["sentence"]:
            yield f"  <br>{row['sentence']}."
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


def _settings(found: list[Found]) -> Iterator[str]:
    if not found:
        return
    yield from ("### Switches and choices", "")
    rows = (
        [
            f"`{row['row']}`",
            row["sentence"],
            row["purpose"],
            ", ".join(f"{name} {length}" for name, length in row["broken"].items()),
            base["run"] if row["broken"] else "",
        ]
        for row, base in found
    )
    yield from _table(("set to", "constant", "purpose", "violated, with the states of the shortest trace", "at"), rows)
    yield ""


def _suspicious(data: dict[str, Any]) -> Iterator[str]:
    """Yield what is suspicious at all constants together."""
    each = [suspicions(base) for base in data["bases"]]
    best = _best(data)
    needed_parts = {
        (row["action"], row["number"]) for row, _ in best.values() if row["kind"] == "guard" and row["purpose"] == "needed"
    }
    common = {name: [item for item in each[0][name] if all(item in other[name] for other in each)] for name in each[0]}
    common["idle"] = [name for name in common["idle"] if (best[name][0]["action"], best[name][0]["number"]) not in needed_parts]
    if any(common.values()):
        yield from ("### What nothing depended on", "")
        for name, told in TOLD.items():
            if common[name]:
                yield f"- {told}: {', '.join(f'`{item}`' for item in common[name])}"
        yield ""


def _faults() -> Iterator[str]:
    """Yield what settings tolerate, and what that says of KIP-966's claim."""
    known = measured_faults()
    yield from ("## How many crashes an acknowledged record survives", "")
    yield from (
        "KIP-966 says that with eligible leader replicas an acknowledged record survives min ISR - 1 unclean shutdowns. So",
        "`leader-has-acknowledged` was asked with more and more crashes, each of which may lose the whole log. Other faults may happen as",
        "often as the constants allow. *Tolerates* counts crashes that break nothing.",
        "",
    )
    for replicas in SIZES:
        yield from (f"### {replicas} replicas", "")
        if replicas in known:
            yield from _tolerances(known[replicas])
        else:
            yield from (f"Not measured yet: `python -m fencepost.cli.chapter docs --faults {replicas}` does it.", "")


def _tolerances(data: dict[str, Any]) -> Iterator[str]:
    first = data["grid"][0]
    fixed = " ".join(
        f"{name}={str(value).lower()}" for name, value in first["constants"].items() if name not in first["setting"]
    )
    head = (*first["setting"], "tolerates", "breaks with", "the shortest history")
    rows = (
        [
            *(str(value).lower() for value in point["setting"].values()),
            tolerated(point),
            breaks_with(point),
            "; ".join(point["front"][0]["steps"]) if point["front"] else "",
        ]
        for point in data["grid"]
    )
    yield from _table(head, rows)
    yield from ("", claim(data), "", f"Up to {words_of(first['most'])} were tried. The other constants: `{fixed}`.", "")


def claim(data: dict[str, Any]) -> str:
    """Return whether KIP-966's claim holds, as a sentence."""
    asked = [point for point in data["grid"] if point["setting"]["elr"] and not point["setting"]["unclean_election"]]
    open_ones = [
        point for point in asked if any(sum(item["faults"].values()) < point["setting"]["min_isr"] for item in point["unknown"])
    ]
    failing = [point for point in asked if point["least"] is not None and point["least"] < point["setting"]["min_isr"]]
    if failing:
        where = "; ".join(f"with min ISR {point['setting']['min_isr']} by {breaks_with(point)}" for point in failing)
        return f"**The claim does not hold in the model at these constants**: it fails {where}."
    if open_ones:
        where = ", ".join(str(point["setting"]["min_isr"]) for point in open_ones)
        return f"**The claim is not decided in the model at these constants** for min ISR {where}: a search ended before it could tell."
    return "**The claim holds in the model at these constants**, with ELR and without unclean elections."


def seen_to_fail() -> set[tuple[str, str]]:
    """Return the properties, by family of protocols, that a run of the catalogue or a row of a matrix violates."""
    broken = {
        (_family(name), prop)
        for name, data in measured().items()
        for base in data["bases"]
        for row in base["rows"]
        for prop, cell in row["cells"].items()
        if cell["verdict"] == "violated"
    }
    return broken | {(_family(run.protocol), prop) for run in runs() for prop in run.violated}


def falsifiable() -> dict[str, bool]:
    """Return for each guarantee that holds whether a property that decides it was seen to fail."""
    broken, found = seen_to_fail(), {}
    for entry in entries().values():
        decided = {(_family(case.run.protocol), case.prop) for case in cases_of(entry) if case.expect in ("holds", "violated")}
        if entry.kind in ("always", "step") and status(entry) == "holds" and decided:
            found[entry.id] = bool(decided & broken)
    return found


def _family(name: str) -> str:
    """Return the protocol, or one name for the published models, which share their properties."""
    return name if name in ("replication", "quorum", "metadata-reads") else "lineage"


def vacuous() -> list[str]:
    """Return the guarantees that hold, and that nothing was seen to break."""
    return [name for name, known in falsifiable().items() if not known]


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


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: Iterable[int] = ()) -> Iterator[str]:
    right = set(numbers)
    yield "| " + " | ".join(head) + " |"
    yield "| " + " | ".join("--:" if place in right else "---" for place in range(len(head))) + " |"
    for row in rows:
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"
