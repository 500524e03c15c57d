"""Every check on some releases, as rows: an entry, releases with the same result, verdict and observations."""

from collections.abc import Iterable

from fencepost.invariants.catalogue import entries
from fencepost.kafka.schemas.classes import Classes, Observation, jars_of
from fencepost.kafka.schemas.data_claims import CLAIMS as DATA_CLAIMS
from fencepost.kafka.schemas.quorum_claims import CLAIMS as QUORUM_CLAIMS

Row = dict[str, str]
CHECKS = dict((*QUORUM_CLAIMS, *DATA_CLAIMS))
"""The check of each entry of the registry that has one."""


def measure_claims(versions: Iterable[str]) -> list[Row]:
    """Return the rows for these releases, entries in the order of the registry."""
    found: dict[str, dict[str, Observation]] = {entry: {} for entry in entries() if entry in CHECKS}
    for version in versions:
        with Classes(jars_of(version)) as kafka:
            for entry, seen in found.items():
                seen[version] = CHECKS[entry](kafka)
    return [row for entry, seen in found.items() for row in _rows(entry, seen)]


def _rows(entry: str, seen: dict[str, Observation]) -> list[Row]:
    """Return a row for each distinct observation, with its releases."""
    by: dict[Observation, list[str]] = {}
    for version, one in seen.items():
        by.setdefault(one, []).append(version)
    return [
        {"entry": entry, "kafka": ", ".join(versions), "verdict": str(one.verdict), "seen": one.what}
        for one, versions in by.items()
    ]
