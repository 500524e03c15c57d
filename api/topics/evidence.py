"""The catalogue as data: entries by group, the runs that decide each entry, and the status of entries."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from fencepost.api.answers.as_json import FORMAT, Json, pick
from fencepost.api.answers.counterexample import archived
from fencepost.api.asking.arguments import call
from fencepost.invariants.catalogue import entries, evidence, named_by, observed_on, reached_by, status, values_of
from fencepost.invariants.claim_files import HARMS
from fencepost.invariants.figures.store import load
from fencepost.invariants.protocols import PROTOCOLS, protocol
from fencepost.invariants.run import Case, Entry, Evidence, Run
from fencepost.model.language.errors import UsageError, nearest

GUARANTEES = ("always", "step", "leads-to", "bound")
KINDS = {
    "guarantee": GUARANTEES,
    "bug": ("bug",),
    "hypothesis": ("hypothesis",),
    "question": ("question",),
    "claim": ("claim",),
}


def of_kind(name: str) -> list[Entry]:
    return [entry for entry in entries().values() if entry.kind in KINDS[name]]


def constants_of(run: Run) -> dict[str, Any]:
    """Return all constants of a run as JSON, including constants of its version and default values."""
    return dict(protocol(run.protocol).machine.set_constants(values_of(run)).shown)


def trace_of_case(case: Case) -> str:
    """Return the path of the archived trace of a case, or an empty string if no violation is expected."""
    return archived(case.run, case.prop) if case.expect == "violated" else ""


def case_data(case: Case) -> dict[str, Any]:
    run, reached = case.run, reached_by(case.run)
    bounds = None if reached is None else [{"constant": name, "value": value} for name, value in reached.items()]
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
        "bounds_reached": bounds,  # verdicts of `holds` are valid up to these bounds; unknown if None
        "trace": trace_of_case(case) or None,
    }


def cases_of(entry: Entry) -> tuple[Case, ...]:
    """Return the cases that decide an entry, except cases that decide only an equivalent entry."""
    found = evidence().get(entry.id)
    return found.cases if found else ()


def classes_of(entry: Entry) -> list[dict[str, str]]:
    """Return the observations of an entry on Kafka's classes, each with its release and its verdict."""
    rows: list[dict[str, str]] = load("schemas").get("rows", [])
    return [{name: row[name] for name in ("kafka", "verdict", "seen")} for row in rows if row["entry"] == entry.id]


def answer_of(entry: Entry) -> str:
    found = evidence().get(entry.id)
    return " ".join(part for part in (found.answer, found.gap) if part) if found else ""


SEEN = {"clusters": ("runs", "finding", HARMS), "releases": ("settled", "trace", ("confirmed",))}
"""For each kind of observation on real Kafka: the name of its rows, a finding's key, and the verdicts that count."""
WORDS = {
    "kept": "kept according to Kafka's source code",
    "kept-in-the-model": "holds in the model; no run follows the source of a release",
    "finding": "violated by observed behaviour of Kafka",
    "conjecture": "violated by a conjecture that was not observed on real Kafka",
    "broken": "violated as worded",
}


@dataclass(frozen=True)
class Finding:
    """A hypothesis that violates a guarantee, with its fix, its versions, and the releases on which it was observed."""

    id: str
    repair: str
    versions: tuple[str, ...]
    classes: tuple[str, ...]
    clusters: tuple[str, ...]
    is_past: bool
    """Whether the newest supported release is unaffected."""

    @property
    def is_seen(self) -> bool:
        return bool(self.classes or self.clusters)

    @property
    def text(self) -> str:
        places = (("on clusters running", self.clusters), ("with Kafka's classes in", self.classes))
        seen = [f"{where} {_releases(found)}" for where, found in places if found]
        parts = (
            f"in {_releases(self.versions)}" if self.versions else "",
            f"seen {', and '.join(seen)}" if seen else "not seen on real Kafka",
            f"repair: {self.repair}" if self.repair else "",
        )
        return f"{self.id} ({'; '.join(part for part in parts if part)})"

    def to_dict(self) -> dict[str, Any]:
        return {"id": self.id, "repair": self.repair or None, **pick(self, "versions classes clusters")}


@dataclass(frozen=True)
class Standing:
    """The status of a guarantee. `word` is a key of WORDS, or empty if the guarantee is undecided."""

    word: str
    findings: tuple[Finding, ...]

    @property
    def text(self) -> str:
        """The status as a clause; empty if the guarantee is undecided."""
        now = "; ".join(item.text for item in self.findings if not item.is_past)
        past = "; ".join(item.text for item in self.findings if item.is_past)
        parts = (WORDS.get(self.word, ""), f": {now}" if now else "", f"; violated before by {past}" if past else "")
        return "".join(parts) if self.word else ""


def standing_of(entry: Entry) -> Standing:
    is_broken, judged = status(entry) == "broken", {(case.run.protocol, case.prop) for case in cases_of(entry)}
    asked = judged & named_by(entry) or (judged if is_broken else set())
    breaking = (
        item
        for item in of_kind("hypothesis")
        if any((case.run.protocol, case.prop) in asked for case in _broken(item)) or _breaks_on_kafka(item, entry)
    )
    # a property that holds may also decide a claim about other settings; then a release must have the finding
    found = tuple(item for item in map(finding_of, breaking) if is_broken or item.repair)
    now = [item for item in found if not item.is_past]
    if status(entry) not in ("holds", "broken"):
        return Standing("", found)
    if now:
        return Standing("finding" if any(item.is_seen for item in now) else "conjecture", found)
    if is_broken:
        return Standing("broken", found)
    return Standing("kept" if any(map(_is_as_read, cases_of(entry))) else "kept-in-the-model", found)


def _broken(entry: Entry) -> list[Case]:
    return [case for case in cases_of(entry) if case.expect == "violated"]


def seen_on_kafka(entry: Entry) -> str:
    """Return a sentence about a finding that was observed on Kafka itself, or "" for other entries."""
    known = evidence().get(entry.id)
    if known is None or not known.releases:
        return ""
    return f"{finding_of(entry).text}. To avoid it: {known.avoid[0].lower()}{known.avoid[1:]}"


def outside_models(version: str) -> list[str]:
    """Return the findings of a version that were observed on Kafka itself but are missing from its model."""
    return observed_on(version.removeprefix("kafka-"))


def _breaks_on_kafka(entry: Entry, other: Entry) -> bool:
    found = evidence().get(entry.id)
    return found is not None and bool(found.releases) and other.id in entry.depends


def _is_as_read(case: Case) -> bool:
    run, machine = case.run, protocol(case.run.protocol).machine
    if case.expect != "holds" or not run.version.startswith("kafka-"):
        return False
    return machine.missing(values_of(run)) == machine.missing(machine.version(run.version).values)


@cache
def finding_of(entry: Entry) -> Finding:
    known = evidence().get(entry.id)
    if known is not None and known.releases:
        return _seen_on_kafka(entry, known)
    machines = [found.machine for found in PROTOCOLS.values()]
    rows = [(machine, item) for machine in machines for item in machine.repairs if item.finding == entry.id]
    repair = rows[0][1].sentence if rows else ""
    versions = [(machine, item) for machine, _ in rows for item in machine.versions]
    having = [item for machine, item in versions if any(it.finding == entry.id for it in machine.missing(item.values))]
    is_past = bool(rows) and versions[-1][1] not in having
    names = tuple(item.name for item in having)
    return Finding(entry.id, repair, names, _seen("releases", entry), _seen("clusters", entry), is_past)


def _seen_on_kafka(entry: Entry, known: Evidence) -> Finding:
    """Return the known facts about a hypothesis that was observed on Kafka itself. On later releases, its scenario may
    do harm because of another hypothesis.
    """
    clusters, classes = (
        tuple(name for name in _seen(place, entry) if name.rpartition(".")[0] in known.releases) for place in SEEN
    )
    classes = tuple(sorted({*classes, *known.driven}))
    versions = tuple(f"kafka-{name}" for name in known.releases)
    newest = PROTOCOLS[entry.protocol].machine.versions[-1].name
    return Finding(entry.id, known.repair, versions, classes, clusters, newest not in versions)


def _seen(name: str, entry: Entry) -> tuple[str, ...]:
    rows, key, verdicts = SEEN[name]
    mine = (row for row in load(name).get(rows, ()) if _is_about(row[key], entry) and row["verdict"] in verdicts)
    return tuple(sorted({row["kafka"] for row in mine if row.get("mode", "played") == "played"}))


def _is_about(name: str, entry: Entry) -> bool:
    return f"-{entry.id.lower()}-" in f"-{name}-"


def _releases(names: tuple[str, ...]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}" if len(names) > 2 else " and ".join(names)


@dataclass(frozen=True)
class Guarantees:
    """Entries of the catalogue: guarantees, bugs, hypotheses, questions and claims."""

    entries: tuple[Entry, ...]

    def __repr__(self) -> str:
        first = ", ".join(item.id for item in self.entries[:3])
        return f"Guarantees({len(self)}: {first}{', ...' if len(self) > 3 else ''})"

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def to_dict(self) -> dict[str, Any]:
        """Return the entries as JSON, by kind."""
        further: dict[str, tuple[str, Callable[[Entry], Json]]] = {
            "guarantees": ("guarantee", _guarantee),
            "bugs": ("bug", lambda item: {**pick(item, "reference switch"), "status": status(item)}),
            "questions": ("question", lambda item: {"answer": answer_of(item), "status": status(item)}),
            "hypotheses": ("hypothesis", _hypothesis),
            "claims": ("claim", _claim),
        }
        return {
            "format": FORMAT,
            **{
                title: [{**_common(item), **more(item)} for item in self.entries if item.kind in KINDS[name]]
                for title, (name, more) in further.items()
            },
        }


@call
def guarantees(*ids: str) -> Guarantees:
    """Return the entries with these ids, or the whole catalogue; raise UsageError for an unknown id. Case does not
    matter. A Kafka issue, proposal or pull request, such as KAFKA-15221 or PR 20716, selects entries that mention it.
    """
    if not ids:
        return Guarantees(tuple(entries().values()))
    return Guarantees(tuple(dict.fromkeys(entry for name in ids for entry in _named(name))))


def _named(name: str) -> list[Entry]:
    """Return the entry with this id, or the entries that mention this issue or proposal."""
    known = {item.lower(): entry for item, entry in entries().items()}
    if name.lower() in known:
        return [known[name.lower()]]
    if re.fullmatch(r"(kafka|kip)-\d+|pr \d+", name.lower()):
        word = re.compile(rf"\b{re.escape(name)}\b", re.IGNORECASE)
        found = [item for item in known.values() if word.search(f"{item.reference}; {item.source}; {item.sentence}")]
        if found:
            return found
    raise UsageError(
        f"there is no entry {name!r}.{nearest(name.upper(), list(entries()))} `fencepost.guarantees()` lists all "
        "entries."
    )


def _guarantee(entry: Entry) -> dict[str, Any]:
    stands = standing_of(entry)
    found = {"standing": stands.word or None, "findings": [item.to_dict() for item in stands.findings]}
    return {"kind": entry.kind, "status": status(entry), **found}


def _claim(entry: Entry) -> dict[str, Any]:
    return {"same_as": list(entry.same_as), "classes": classes_of(entry), "status": status(entry)}


def _common(entry: Entry) -> dict[str, Any]:
    return {**pick(entry, "id protocol sentence source"), "cases": [case_data(case) for case in cases_of(entry)]}


def _hypothesis(entry: Entry) -> dict[str, Any]:
    found = evidence().get(entry.id)
    return {"switch": entry.switch, "verdict": (found.verdict if found else "") or "open", "answer": answer_of(entry)}
