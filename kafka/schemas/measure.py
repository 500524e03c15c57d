"""Every check on some releases, as rows: an entry, the releases that say the same, the verdict and what was seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.invariants.catalogue import entries
from fencepost.kafka.schemas import broker_epochs, consistency_tokens, leaders_and_replicas, quorum_fetches
from fencepost.kafka.schemas.checks import CHECKS
from fencepost.kafka.schemas.classes import Classes, jars_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fencepost.kafka.schemas.checks import Seen

Row = dict[str, str]
PARTS = (quorum_fetches, broker_epochs, leaders_and_replicas, consistency_tokens)
"""The modules that have the checks."""


def measured(versions: Iterable[str]) -> list[Row]:
    """Return the rows for these releases, entries in the order of the registry."""
    found: dict[str, dict[str, Seen]] = {entry: {} for entry in entries() if entry in CHECKS}
    for version in versions:
        with Classes(jars_of(version)) as kafka:
            for entry, seen in found.items():
                seen[version] = CHECKS[entry](kafka)
    return [row for entry, seen in found.items() for row in _rows(entry, seen)]


def _rows(entry: str, seen: dict[str, Seen]) -> list[Row]:
    """Return a row for each thing that was seen, with the releases that showed it."""
    by: dict[Seen, list[str]] = {}
    for version, one in seen.items():
        by.setdefault(one, []).append(version)
    return [
        {"entry": entry, "kafka": ", ".join(versions), "verdict": str(one.verdict), "seen": one.what}
        for one, versions in by.items()
    ]
