"""Pages on checks: the purpose of each guard and switch, each KIP's checks, and how many crashes a record survives."""

import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from fencepost.api.answers.matrix import MEANING
from fencepost.api.calls.vacuity import TELLS, UNBREAKABLE, falsifiable, report, vacuous
from fencepost.api.topics.claims import breaks_with, left_out, tolerated, words_of
from fencepost.api.topics.matrices import ORDER, Found, best_of, history, measured
from fencepost.counterexamples.render.html import figure
from fencepost.explorers.program.removal import Guard, guards
from fencepost.invariants.catalogue import Run, runs_of
from fencepost.invariants.protocols import PROTOCOLS, protocol
from fencepost.invariants.run_files import constants_of
from fencepost.model.language.machine import Machine
from fencepost.site.places import number, table
from fencepost.site.stale import LOSS, SIZES, crashes_measured

COUNTED = ("needed", "nothing-broke", "same-states", "bound")
INTRODUCTION = (
    "These matrices show what happens if a single guard of a protocol is removed, or a single switch is changed, and "
    "the protocol is searched again. A guard is *needed* if a property that holds with it is violated without it. "
    "Any other purpose applies only to the constants of the search.\n\n`fencepost vacuity PROTOCOL --row 'GUARD'` "
    "shows a row in full, with the shortest history as a trace. `fencepost ablate PROTOCOL` builds a matrix for "
    "any constants."
)


def pages() -> dict[str, Iterator[str]]:
    found = measured()
    return {
        "checks.md": index(),
        **{f"checks/{name}.md": page(name, data) for name, data in found.items()},
        "checks/kips.md": kips_page({name: best_of(data) for name, data in found.items()}),
        "checks/crashes.md": crashes_page(),
    }


def index() -> Iterator[str]:
    yield from ("# Why every check is there", "", INTRODUCTION, "")
    counts = {
        name: Counter(found["purpose"] for found, _ in best_of(data).values()) for name, data in measured().items()
    }
    rows = (
        [f"[{name}](checks/{name}.md)", *(number(count[item] or None) for item in ORDER)]
        for name, count in counts.items()
    )
    yield from table(("protocol", *ORDER), rows)
    yield from ("", "Other pages list [the checks that each KIP added](checks/kips.md) and")
    yield from ("[how many crashes an acknowledged record survives](checks/crashes.md).", "")
    yield from table(("purpose", "meaning"), ((f"**{name}**", text) for name, text in MEANING.items()))
    others = [name for name in PROTOCOLS if name not in measured()]
    yield from ("", f"No matrix has been measured for {', '.join(others)}.", "")
    known, without = falsifiable(), vacuous()
    yield from ("## Guarantees that can fail", "")
    yield (
        f"Of {len(known)} guarantees that hold, {len(known) - len(without)} are violated in a variant of the protocol, "
        "in a run of the catalogue, or with a guard removed. These guarantees are therefore not trivially true."
    )
    if without:
        yield from ("", "No variant violates these guarantees:", "")
        yield from (f"- {name}: {UNBREAKABLE.get(name, 'the reason is unknown')}" for name in without)


def page(name: str, data: dict[str, Any]) -> Iterator[str]:
    machine, best = protocol(name).machine, best_of(data)
    yield from (f"# Checks of {name}", "", f"{machine.sentence[0].upper()}{machine.sentence[1:]}.", "")
    count = Counter(found["purpose"] for found, _ in best.values())
    counts = ", ".join(f"{count[item]} {item}" for item in ORDER if count[item])
    yield f"{len(best)} guards and settings: {counts}. The [index](../checks.md) explains these purposes."
    yield from ("", *_suspicious(name))
    where = f"[the protocol](../protocols/{name}.md#actions)"
    yield f"The page of {where} shows each guard's condition, and what is violated without the guard."
    yield from ("", *_settings(machine, [found for found in best.values() if found[0]["kind"] == "setting"]))
    yield from _bases(data)
    yield from _example(name, best)


def without_it(found: Found) -> str:
    """Return the first violation without a guard, with its steps and constants, or the reason why there is none."""
    data, base = found
    if not data["broken"]:
        left = re.search(r"\w+\.\w[^:]*(?=: )", data.get("departure", ""))
        return data["why"] or (f"`{left[0]}` leaves its domain, so the paths end there" if left else "")
    first, length = next(iter(data["broken"].items()))
    others = len(data["broken"]) - 1
    more = f", {others} more" if others else ""
    return f"{first} after {length - 1} steps{more} ({base['run']})"


def _settings(machine: Machine, found: list[Found]) -> Iterator[str]:
    if not found:
        return
    declared = machine.constants.declared()
    rows = (
        [f"`{row['row']}`", declared[row["constant"]].meaning, row["purpose"], without_it((row, base))]
        for row, base in found
        if row["constant"] in declared
    )
    yield from ("## Switches and choices", "", *table(("setting", "meaning", "purpose", "violated with it"), rows), "")


def _bases(data: dict[str, Any]) -> Iterator[str]:
    yield from (
        "## Constants", "", "The table shows how many guards have each purpose with the constants of these runs.",
        "",
    )  # fmt: skip
    rows = []
    for base in data["bases"]:
        count = Counter(item["purpose"] for item in base["rows"] if item["kind"] == "guard")
        rows.append(
            [base["run"], number(base["distinct"]), str(base["depth"]), *(str(count[item]) for item in COUNTED)]
        )
    yield from (*table(("run", "distinct", "depth", *COUNTED), rows), "")


def _suspicious(name: str) -> Iterator[str]:
    found = report(protocol(name))
    items = [f"- {text}: {', '.join(f'`{item}`' for item in found[key])}" for key, text in TELLS.items() if found[key]]
    if items:
        yield from ("## Parts without an effect", "", *items, "")


def _example(name: str, best: dict[str, Found]) -> Iterator[str]:
    shown = [
        found for found in best.values() if found[0]["kind"] == "guard" and len(found[0].get("steps", ())) >= SHORTEST
    ]
    if shown:
        row, base = min(shown, key=lambda item: len(item[0]["steps"]))
        made = history(name, (row, base))
        yield from (f"## Without `{row['row']}`", "")
        yield f"The shortest history that violates {next(iter(row['broken']))} ({base['run']}):"
        yield from ("", figure(made.trace, made.path), "")


SHORTEST = 3
# -- the checks of each KIP: the evidence that they are needed, or the reason why there is no evidence

Best = dict[str, dict[str, tuple[dict[str, Any], dict[str, Any]]]]
"""The best measurement for each protocol and row, and the matrix that it belongs to."""

ADDED: Mapping[str, Mapping[str, Mapping[str, str]]] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text("utf-8")
)
"""Guards and switches of each KIP, by protocol, each with a reason if no matrix shows that it is needed."""


def kips_page(best: Best) -> Iterator[str]:
    yield from ("# The checks that KIP-320, KIP-841, KIP-903 and KIP-966 added", "")
    yield (
        "A check is *needed* if a property is violated without it, in a measured matrix or in a run of the catalogue "
        "that differs only in this switch. For every other check, the table gives a reason from the model."
    )
    yield ""
    for kip, items in ADDED.items():
        yield from (f"## {kip}", "")
        rows = (
            [name, f"`{row}`", _asks(name, row), *necessity(best, name, row, reason)]
            for name, reasons in items.items()
            for row, reason in reasons.items()
        )
        yield from table(
            ("protocol", "guard, or setting", "condition or meaning", "result", "evidence or reason"), rows
        )
        yield ""


def _asks(name: str, row: str) -> str:
    machine = protocol(name).machine
    if "=" in row:
        return machine.constants.declared()[row.partition("=")[0]].meaning
    guard = _guards(name)[row]
    return guard.sentence or f"`{guard.condition}`"


def necessity(best: Best, name: str, row: str, reason: str) -> tuple[str, str]:
    found, base = best.get(name, {}).get(row, ({"purpose": "not measured", "broken": {}}, {"run": ""}))
    if found["broken"]:
        prop, length = next(iter(found["broken"].items()))
        return "**needed**", f"{prop} after {length - 1} steps ({base['run']})"
    run = of_catalogue(name, row)
    if run is not None:
        prop, length = min(run.violated.items(), key=lambda item: item[1])
        return "**needed**", f"{prop} after {length - 1} steps (run {run.title} of the catalogue)"
    return found["purpose"], reason


def of_catalogue(name: str, row: str) -> Run | None:
    """Of the runs whose violations vanish if only this setting changes, return the one with the shortest violation."""
    constant, mark, text = row.partition("=")
    if not mark:
        return None
    value = int(protocol(name).machine.constants.declared()[constant].parse(text))

    def is_broken(run: Run, values: dict[str, int]) -> bool:
        twins = (twin for twin, others in _values(name) if values == {**others, constant: value} != others)
        return bool(run.violated) and any(not run.violated.keys() & twin.violated.keys() for twin in twins)

    broken = [run for run, values in _values(name) if is_broken(run, values)]
    return min(broken, key=lambda run: min(run.violated.values()), default=None)


@cache
def _guards(name: str) -> dict[str, Guard]:
    return {item.name: item for item in guards(protocol(name).machine)}


@cache
def _values(name: str) -> list[tuple[Run, dict[str, int]]]:
    return [(run, {key: int(value) for key, value in constants_of(run).items()}) for run in runs_of(name)]


# -- how many crashes an acknowledged record survives


def crashes_page() -> Iterator[str]:
    known = crashes_measured()
    yield from ("# How many crashes an acknowledged record survives", "")
    yield "KIP-966 says that, with ELR, an acknowledged record survives min ISR - 1 unclean shutdowns."
    yield f"To test this, `{LOSS}` was checked with an increasing number of crashes that may lose the whole log."
    yield "*Tolerates* counts crashes that cause no violation. [Settings](../settings.md) shows the shortest histories."
    yield ""
    for replicas in SIZES:
        unknown = f"Not measured yet: run `python -m benchmarks.figures.matrices --faults {replicas}`."
        yield from (f"## {replicas} replicas", "")
        yield from _tolerances(known[replicas]) if replicas in known else (unknown, "")


def _tolerances(data: dict[str, Any]) -> Iterator[str]:
    first = data["grid"][0]
    fixed = " ".join(
        f"{name}={str(value).lower()}" for name, value in first["constants"].items() if name not in first["setting"]
    )
    head = (*first["setting"], "tolerates", "violated by", "states searched", "complete")
    rows = []
    for point in data["grid"]:
        left = "; ".join(f"{words_of(item['faults'], point['kinds'])}: {item['why']}" for item in point["unknown"])
        settings = (str(value).lower() for value in point["setting"].values())
        reach = f"not decided: {left}" if left else "yes"
        rows.append([*settings, tolerated(point), breaks_with(point), f"{point['states']:,}", reach])
    yield from table(head, rows)
    omission = sum(point["omission"] for point in data["grid"])
    states = sum(point["states"] for point in data["grid"])
    tried = f"These searches tried up to {words_of(first['most'])} and visited {states:,} states"
    yield from ("", claim(data), "", f"{tried}{left_out(omission)}. The other constants are `{fixed}`.", "")


def claim(data: dict[str, Any]) -> str:
    asked = [point for point in data["grid"] if point["setting"]["elr"] and not point["setting"]["unclean_election"]]
    open_ones = [
        point
        for point in asked
        if any(sum(item["faults"].values()) < point["setting"]["min_isr"] for item in point["unknown"])
    ]
    failing = [point for point in asked if point["least"] is not None and point["least"] < point["setting"]["min_isr"]]
    if failing:
        where = "; ".join(f"with min ISR {point['setting']['min_isr']} by {breaks_with(point)}" for point in failing)
        return f"**The claim does not hold in the model with these constants**: it fails {where}."
    if open_ones:
        where = ", ".join(str(point["setting"]["min_isr"]) for point in open_ones)
        return (
            f"**The claim is not decided in the model with these constants** for min ISR {where}: "
            "a search did not finish."
        )
    return "**The claim holds in the model with these constants**, with ELR and without unclean elections."
