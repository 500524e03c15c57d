"""The catalogue of guarantees, bugs, hypotheses, questions and claims: entries by id, and all of them as JSON."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fencepost.api.answers.as_json import FORMAT, pick
from fencepost.api.asking.arguments import call
from fencepost.api.topics.evidence import KINDS, answer_of, case_data, cases_of, classes_of
from fencepost.api.topics.standing import standing_of
from fencepost.invariants.catalogue import entries, evidence, status
from fencepost.model.language.errors import UsageError, nearest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fencepost.invariants.catalogue import Entry


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
        return {
            "format": FORMAT,
            "guarantees": [_guarantee(item) for item in self._of_kind("guarantee")],
            "bugs": [
                {**_common(item), "reference": item.reference, "switch": item.switch, "status": status(item)}
                for item in self._of_kind("bug")
            ],
            "questions": [
                {**_common(item), "answer": answer_of(item), "status": status(item)}
                for item in self._of_kind("question")
            ],
            "hypotheses": [
                {**_common(item), "switch": item.switch, "verdict": _hypothesis(item), "answer": answer_of(item)}
                for item in self._of_kind("hypothesis")
            ],
            "claims": [
                {**_common(item), "same_as": list(item.same_as), "classes": classes_of(item), "status": status(item)}
                for item in self._of_kind("claim")
            ],
        }

    def _of_kind(self, name: str) -> list[Entry]:
        return [entry for entry in self.entries if entry.kind in KINDS[name]]


@call
def guarantees(*ids: str) -> Guarantees:
    """Return the entries with these ids, in any case, or the whole catalogue; raise UsageError for an unknown id.

    An issue or a proposal of Kafka, such as KAFKA-15221, stands for the entries that name it.
    """
    if not ids:
        return Guarantees(tuple(entries().values()))
    return Guarantees(tuple(dict.fromkeys(entry for name in ids for entry in _named(name))))


def _named(name: str) -> list[Entry]:
    """Return the entry with an id, or those whose reference, source or sentence names such an issue or proposal."""
    known = {item.lower(): entry for item, entry in entries().items()}
    if name.lower() in known:
        return [known[name.lower()]]
    if re.fullmatch(r"(kafka|kip)-\d+", name.lower()):
        word = re.compile(rf"\b{re.escape(name)}\b", re.IGNORECASE)
        found = [item for item in known.values() if word.search(f"{item.reference}; {item.source}; {item.sentence}")]
        if found:
            return found
    raise UsageError(
        f"there is no entry {name!r}.{nearest(name.upper(), list(entries()))} `fencepost.guarantees()` has all of them."
    )


def _guarantee(entry: Entry) -> dict[str, Any]:
    stands = standing_of(entry)
    found = {"standing": stands.word or None, "findings": [item.to_dict() for item in stands.findings]}
    return {**_common(entry), "kind": entry.kind, "status": status(entry), **found}


def _common(entry: Entry) -> dict[str, Any]:
    return {**pick(entry, "id protocol sentence source"), "cases": [case_data(case) for case in cases_of(entry)]}


def _hypothesis(entry: Entry) -> str:
    found = evidence().get(entry.id)
    return (found.verdict if found else "") or "open"
