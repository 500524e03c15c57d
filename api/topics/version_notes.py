"""Notes on a verdict about a version of Kafka: its sources, its findings, and the terms of the question."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fencepost.api.topics.crash_table import cells, outcome
from fencepost.api.topics.standing import outside_models
from fencepost.counterexamples.prevention import is_prevented
from fencepost.explorers.verdict import Verdict
from fencepost.invariants.figures.store import load
from fencepost.model.language.machine import REPAIRED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fencepost.api.asking.targets import Question
    from fencepost.explorers.verdict import Result


def version_notes(question: Question) -> Iterator[str]:
    """Yield what a reader of an answer about a version must know; nothing of a question without one."""
    machine, name = question.protocol.machine, question.version
    if not name:
        return
    version = machine.version(name)
    if not machine.repairs:
        yield f"{name}: {version.sentence}" + (f" (after {machine.source})." if machine.source else ".")
        return
    left = machine.missing(question.constants.values)
    if machine.terms is not None:
        yield from machine.terms(question.constants)
    if name.endswith(REPAIRED):
        yield f"{name} is {version.sentence}. No release has all of that: what holds here would hold of one that had."
        return
    yield f"{name} follows Kafka as it reads: {version.sentence}.{_compared(name)}"
    if left:
        found = "; ".join(f"{item.finding}, until {item.sentence}" for item in left)
        yield (
            f"It contains {found}. `version='{name}{REPAIRED}'` asks the same of it without these, and `fencepost "
            "guarantees ID` shows each."
        )
    if machine.name == "replication" and (outside := outside_models(name)):
        yield (
            f"Kafka {name.removeprefix('kafka-')} also has {', '.join(outside)}, which no model has and clusters "
            "have shown: `fencepost guarantees ID` says what they do, and how to avoid them."
        )


def _compared(version: str) -> str:
    """Return on how many steps a version was compared with Kafka's classes of that release, as a sentence."""
    rows = [row for kind in ("covers", "walks") for row in load("conformance").get(kind, ())]
    own = [row for row in rows if re.fullmatch(rf"{re.escape(version.removeprefix('kafka-'))}\.\d+", row["release"])]
    if not own:
        return " It was not compared with Kafka's classes."
    steps, differ = (sum(int(row[key].replace(",", "") or 0) for row in own) for key in ("steps", "differences"))
    found = f"{differ:,} differences" if differ else "no difference"
    return (
        f" {f'{steps:,} of its' if steps else 'Its'} steps were taken on Kafka's own classes of {own[0]['release']}, "
        f"with {found} (docs/conformance.md)."
    )


def answer_notes(question: Question, result: Result, *, normalize: bool) -> Iterator[str]:
    """Yield which finding each violation of a version needs, and what crashes do without any."""
    machine = question.protocol.machine
    if not question.version or not machine.repairs:
        return
    left = machine.missing(question.constants.values)
    needed: dict[str, list[str]] = {}
    for item in result.properties:
        prop = next(prop for prop in question.properties if prop.name == item.name)
        if item.verdict is Verdict.VIOLATED and item.path is not None and not item.kind.over_behaviours:
            repairs = [
                it
                for it in left
                if is_prevented(machine, question.constants, prop, item.path, it.values, normalize=normalize)
            ]
            needed.setdefault(" or ".join(it.finding for it in repairs), []).append(item.name)
    for findings, names in sorted(needed.items()):
        shown = f"the shortest history of {', '.join(names)}"
        yield (
            f"{findings} repaired prevents {shown}."
            if findings
            else f"No repair prevents {shown}: these settings allow it, or it takes several findings."
        )
    yield from _with_crashes(question)


def _with_crashes(question: Question) -> Iterator[str]:
    """Yield the rows of the fault table for these brokers: what crashes alone do, everything repaired."""
    values = question.constants.values
    rows = [
        row
        for row in cells(int(values.get("brokers", 0)))
        if all(row["setting"][name] == bool(values[name]) for name in ("elr", "unclean_election"))
    ]
    if not rows:
        return
    told = "; ".join(f"min ISR {row['setting']['min_isr']}: {outcome(row)}" for row in rows)
    elr, unclean = (
        f"{'with' if values[name] else 'without'} {words}"
        for name, words in (("elr", "ELR"), ("unclean_election", "unclean elections"))
    )
    yield (
        "What crashes alone do, with everything repaired and every crash losing the log, to a record on "
        f"{values['brokers']} brokers, "
        f"{elr} and {unclean}: {told} (docs/losing-data.md)."
    )


def is_told(note: str, told: tuple[str, ...]) -> bool:
    """Say whether a note is about findings alone that were named before."""
    found = re.findall(r"HYP-\d+\b", note)
    return bool(found) and all(any(re.search(rf"{item}\b", line) for line in told) for item in found)
