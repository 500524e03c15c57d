"""Measured evidence, with a digest (mark) of its machine, and with the executed or searched constants.

Executions on Kafka's classes and tables of crashes apply only to the measured machine and constants. The tables show,
by setting, how many crashes lose an acknowledged record and, by release, which faults lose one.
"""

from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import Any

from fencepost.api.answers.as_json import Json
from fencepost.api.asking.quantities import counted
from fencepost.api.asking.targets import Question
from fencepost.api.files import digest
from fencepost.api.topics.claims import Tolerates, one_of
from fencepost.explorers.program.fingerprint import ends, texts
from fencepost.explorers.program.subset.program import check, guards_of
from fencepost.invariants.figures.store import load
from fencepost.model.language.constants import Constant
from fencepost.model.language.machine import Machine

NAME = "measured"
PARTS = ("covers", "walks")
"""Parts of the conformance figures whose steps are counted."""
ASKED = ("loss", "elr", "unclean_election")
"""Constants for the rules that vary in the table of crashes."""


def machine_mark(machine: Machine) -> str:
    """Return a digest of a machine's schema, its actions, their helpers, and its numeric constants."""
    return digest([*texts(machine, ()), *ends(machine, ())])


def is_measured(mark: str) -> bool:
    figures = load(NAME)
    return mark in {*figures.get("crashes", {}).values(), *(item["mark"] for item in figures.get("driven", ()))}


def driven_rows(version: str, mark: str) -> list[dict[str, Any]]:
    """Return the figures from executing the machine whose digest is `mark` on the classes of a Kafka version."""
    known = {(item["part"], item["release"]) for item in _driven(version, mark)}
    rows = [(part, row) for part in PARTS for row in load("conformance").get(part, ())]
    return [row for part, row in rows if (part, row["release"]) in known]


def beyond(question: Question, mark: str) -> list[str]:
    """Return the constants with which a question's version was not executed, with the executed values."""
    machine = question.protocol.machine
    declared = machine.constants.declared()
    base = {name: int(item.default) for name, item in declared.items()}
    base |= {name: int(value) for name, value in machine.version(question.version).values.items()}
    rows = [{**base, **graph} for item in _driven(question.version, mark) for graph in item["constants"]]
    found = []
    for name, constant in declared.items():
        value, driven = int(question.constants.values[name]), sorted({row[name] for row in rows})
        inside = value in driven if _is_rule(constant) else driven[0] <= value <= driven[-1] or value == 0
        if not inside:
            shown = [str(constant.show(item)).lower() for item in dict.fromkeys((driven[0], driven[-1]))]
            found.append(f"{name}={str(constant.show(value)).lower()} (executed: {' to '.join(shown)})")
    return found


def are_driven_together(question: Question, mark: str) -> bool:
    """Return whether a single execution used the rules and sizes of a question, and bounds at least as large."""
    machine, values = question.protocol.machine, question.constants.values
    declared, bounds = machine.constants.declared(), guards_of(check(machine)).declared
    usual = {name: int(item.default) for name, item in declared.items()}
    usual |= {name: int(value) for name, value in machine.version(question.version).values.items()}
    rows = ({**usual, **graph} for item in _driven(question.version, mark) for graph in item["constants"])
    return any(
        all(int(values[name]) <= row[name] if name in bounds else int(values[name]) == row[name] for name in declared)
        for row in rows
    )


def follows_version(question: Question) -> bool:
    """Return whether a question uses the rules of its version, at any size. The rules in ASKED may differ."""
    machine, values = question.protocol.machine, question.constants.values
    wanted = machine.version(question.version).values
    return all(
        name in ASKED or not _is_rule(item) or int(values[name]) == int(wanted.get(name, item.default))
        for name, item in machine.constants.declared().items()
    )


def crashes_are_of(brokers: int, mark: str) -> bool:
    """Return whether the crash table for this number of brokers was measured with the model whose digest is `mark`."""
    known: Mapping[str, str] = load(NAME).get("crashes", {})
    return known.get(str(brokers)) == mark


def _driven(version: str, mark: str) -> Iterator[dict[str, Any]]:
    release = version.removeprefix("kafka-") + "."
    for item in load(NAME).get("driven", ()):
        if item["release"].startswith(release) and item["mark"] == mark:
            yield item


def _is_rule(constant: Constant[Any]) -> bool:
    return constant.kind is bool or issubclass(constant.kind, IntEnum)


def cells(replicas: int) -> list[Json]:
    found: list[Json] = load("faults").get(str(replicas), {}).get("grid", [])
    return found


def cell_of(replicas: int, min_isr: int, *, elr: bool, unclean_election: bool) -> Json | None:
    wanted = {"min_isr": min_isr, "elr": elr, "unclean_election": unclean_election}
    return next((item for item in cells(replicas) if item["setting"] == wanted), None)


def released(version: str, min_isr: int) -> dict[str, Any] | None:
    """Return the losses in a release with two brokers if disks survive crashes, or None if no search was made."""
    rows: list[dict[str, Any]] = load("versions").get("losses", {}).get("rows", [])
    return next((row for row in rows if (row["version"], row["min_isr"]) == (version, min_isr)), None)


def lost_with(row: Mapping[str, Any]) -> str:
    """Return a clause about the fewest faults that lose a record, or about the faults that were tried if none do."""
    if row["front"]:
        return "lost with " + "; or ".join(_in_words(item["faults"]) for item in row["front"])
    return "not decided" if row["unknown"] else f"kept with up to {_in_words(row['most'])}"


def _in_words(faults: Mapping[str, int]) -> str:
    return ", ".join(counted(n, one_of(kind), kind.replace("_", " ")) for kind, n in faults.items() if n) or "no fault"


def outcome(point: Json) -> str:
    """Return a clause about the effect of crashes on an acknowledged record in a cell."""
    claim = Tolerates.of(point)
    if claim is None:
        return "not decided: a search ended early" if point["undetermined"] else "can be lost without any crash"
    if claim.faults is None:
        return f"survives the {counted(sum(claim.most.values()), 'crash', 'crashes')} that were tried"
    if not claim.faults:
        return "can be lost with 1 crash"
    return f"survives {counted(claim.faults, 'crash', 'crashes')}, can be lost with {claim.faults + 1}"
