"""The whole catalogue as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fencepost.api.answers.results import FORMAT
from fencepost.api.topics.evidence import answer_of, case_data, cases_of, classes_of, of_kind
from fencepost.api.topics.standing import standing_of
from fencepost.invariants.catalogue import evidence, status

if TYPE_CHECKING:
    from fencepost.invariants.catalogue import Entry


def catalogue_data() -> dict[str, Any]:
    """Return the whole catalogue as JSON."""
    return {
        "format": FORMAT,
        "guarantees": [_guarantee(item) for item in of_kind("guarantee")],
        "bugs": [
            {**_common(item), "reference": item.reference, "switch": item.switch, "status": status(item)}
            for item in of_kind("bug")
        ],
        "questions": [
            {**_common(item), "answer": answer_of(item), "status": status(item)} for item in of_kind("question")
        ],
        "hypotheses": [
            {**_common(item), "switch": item.switch, "verdict": _hypothesis(item), "answer": answer_of(item)}
            for item in of_kind("hypothesis")
        ],
        "claims": [
            {**_common(item), "same_as": list(item.same_as), "classes": classes_of(item), "status": status(item)}
            for item in of_kind("claim")
        ],
    }


def _guarantee(entry: Entry) -> dict[str, Any]:
    stands = standing_of(entry)
    return {
        **_common(entry),
        "kind": entry.kind,
        "status": status(entry),
        "standing": stands.word or None,
        "findings": [item.to_dict() for item in stands.findings],
    }


def _common(entry: Entry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "protocol": entry.protocol,
        "sentence": entry.sentence,
        "source": entry.source,
        "cases": [case_data(case) for case in cases_of(entry)],
    }


def _hypothesis(entry: Entry) -> str:
    found = evidence().get(entry.id)
    return (found.verdict if found else "") or "open"
