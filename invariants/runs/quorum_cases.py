"""All runs of the quorum model, and how cases of them are written down."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.invariants.catalogue import Case
from fencepost.invariants.runs import quorum_delays, quorum_eventual, quorum_parking, quorum_three
from fencepost.invariants.runs.quorum_rows import PROPERTY

if TYPE_CHECKING:
    from fencepost.invariants.catalogue import Run

EVERY_RUN: tuple[Run, ...] = (*quorum_three.RUNS, *quorum_parking.RUNS, *quorum_eventual.RUNS, *quorum_delays.RUNS)
_BY_NAME = {item.name: item for item in EVERY_RUN}


def cases(text: str) -> tuple[Case, ...]:
    """Return cases from lines `title: id, id`; the title is the run's name without the protocol's."""
    found = []
    for line in filter(None, map(str.strip, text.splitlines())):
        title, _, ids = line.rpartition(": ")
        found += [Case(_BY_NAME[f"quorum {title}"], PROPERTY[name]) for name in ids.split(", ")]
    return tuple(found)
