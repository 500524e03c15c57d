"""The catalogue as data: entries in their groups, with what settles each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fencepost.api.answers.as_json import pick
from fencepost.api.answers.traces import archived
from fencepost.invariants.catalogue import entries, evidence, values_of
from fencepost.invariants.figures.store import load
from fencepost.invariants.protocols import protocol
from fencepost.invariants.reached import reached_by

if TYPE_CHECKING:
    from fencepost.invariants.catalogue import Case, Entry, Run

GUARANTEES = ("always", "step", "leads-to", "bound")
"""The kinds of entries that promise something."""
KINDS = {
    "guarantee": GUARANTEES,
    "bug": ("bug",),
    "hypothesis": ("hypothesis",),
    "question": ("question",),
    "claim": ("claim",),
}


def of_kind(name: str) -> list[Entry]:
    """Return the entries of a kind, in the order of the file."""
    return [entry for entry in entries().values() if entry.kind in KINDS[name]]


def constants_of(run: Run) -> dict[str, Any]:
    """Return all constants of a run as they read in JSON: its version's, its own, and the defaults."""
    return dict(protocol(run.protocol).machine.set_constants(values_of(run)).shown)


def trace_of_case(case: Case) -> str:
    """Return the archived trace of a case that must fail, or an empty string."""
    return archived(case.run, case.prop) if case.expect == "violated" else ""


def case_data(case: Case) -> dict[str, Any]:
    """Return a case as JSON: the run, and what it must say of the property."""
    run = case.run
    return {
        "protocol": run.protocol,
        "version": run.version or None,
        "constants": constants_of(run),
        "engine": "native",
        "property": case.prop,
        "expect": case.expect,
        **({} if case.worst is None else {"worst": case.worst}),
        "length": case.length,
        **pick(run, "distinct depth profile"),
        "bounds_reached": _bounds(case),
        "trace": trace_of_case(case) or None,
    }


def _bounds(case: Case) -> list[dict[str, Any]] | None:
    """Return the bounds that a run reached: what holds, holds up to them; None if they were not recorded."""
    found = reached_by(case.run)
    return None if found is None else [{"constant": name, "value": value} for name, value in found.items()]


def cases_of(entry: Entry) -> tuple[Case, ...]:
    """Return the cases that settle an entry itself, not those of what it is the same as."""
    found = evidence().get(entry.id)
    return found.cases if found else ()


def classes_of(entry: Entry) -> list[dict[str, str]]:
    """Return the measurements of an entry on Kafka's classes: releases, verdicts, and observations."""
    rows: list[dict[str, str]] = load("schemas").get("rows", [])
    return [{name: row[name] for name in ("kafka", "verdict", "seen")} for row in rows if row["entry"] == entry.id]


def answer_of(entry: Entry) -> str:
    """Return the result in words, or why it is not known."""
    found = evidence().get(entry.id)
    return " ".join(part for part in (found.answer, found.gap) if part) if found else ""
