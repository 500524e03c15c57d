"""What it takes to lose a record by a finding: min ISR, and the fewest faults and operator's actions, as `python -m benchmarks.figures.finding_faults` measured it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from fencepost.api.kept import digest
from fencepost.api.topics.fault_words import breaks_with
from fencepost.invariants.figures.store import load
from fencepost.invariants.protocols import protocol
from fencepost.site.pages.matrices import texts_of

if TYPE_CHECKING:
    from collections.abc import Iterable

PROTOCOL, PROPERTY = "replication", "leader-has-acknowledged"


class Question(NamedTuple):
    """The constants at which a finding is looked for, with all others repaired, and what is counted."""

    constants: str
    kinds: tuple[str, ...]
    min_isr: str = "1,2"


_REPAIRED = {
    "max_records": "1",
    "max_leader_epoch": "8",
    "elr": "on",
    "equal_partition_epoch_overwrites": "off",
    "reset_followers_on_reelection": "on",
    "fenced_epoch_check": "on",
    "fenced_before_registration": "on",
}


def _alone(said: str) -> str:
    """Return constants with everything repaired that they do not set."""
    given = dict(pair.split("=") for pair in said.split())
    return " ".join(f"{name}={value}" for name, value in {**_REPAIRED, **given}.items())


_MOVES = ("fences", "shrinks", "reassignments", "cancels")
_MOVING = "loss=none crashes=0 shrinks=1 fences=2 reassignments=2 cancels=1"
_FROM_THREE = f"least_replicas=2 spare=1 {_MOVING}"
QUESTIONS = {
    "HYP-1": Question(
        _alone(
            "brokers=3 initial_leader=1 loss=none crashes=0 shrinks=0 fences=2 elections=1 reset_followers_on_reelection=off"
        ),
        ("fences", "elections"),
    ),
    "HYP-3": Question(
        _alone(
            "brokers=2 initial_isr=2 loss=none crashes=0 shrinks=1 fences=2 lags=1 waits_for_joining=on "
            "equal_partition_epoch_overwrites=on"
        ),
        ("fences", "shrinks", "lags"),
    ),
    "HYP-8": Question(
        _alone("brokers=2 initial_isr=1 loss=none crashes=0 shrinks=0 fences=2 resends=1"),
        ("fences", "resends"),
    ),
    "HYP-10": Question(_alone(f"brokers=2 movable=2 clean_stops=1 {_MOVING}"), (*_MOVES, "clean_stops")),
    "HYP-10, kafka-4.1": Question(_alone(f"brokers=3 initial_leader=1 movable=1 {_FROM_THREE}"), _MOVES, "1,2,3"),
    "HYP-10, kafka-4.3": Question(
        _alone(f"brokers=3 movable=2 {_FROM_THREE} completion=added-unless-fewer"), _MOVES, "1,2,3"
    ),
    "HYP-11": Question(
        _alone("brokers=2 loss=none crashes=0 shrinks=1 fences=2 raises=1 lowers=1"),
        ("shrinks", "fences", "raises", "lowers"),
    ),
    "HYP-14": Question(
        _alone("brokers=2 crashes=1 shrinks=0 fences=2 elr_disables=1"), ("crashes", "fences", "elr_disables")
    ),
    "HYP-15": Question(
        _alone(
            "brokers=2 initial_isr=1 crashes=2 clean_stops=1 shrinks=0 fences=1 early_starts=1 last_known_leader=off"
        ),
        ("crashes", "clean_stops", "fences", "early_starts"),
    ),
}


def mark() -> str:
    """Return what tells whether anything has changed that the figures depend on."""
    found = protocol(PROTOCOL)
    return digest([*texts_of(found.machine, found.select((PROPERTY,))), repr(QUESTIONS)])


def stale() -> bool:
    """Say whether the figures were measured with another model, or other questions, than there are now."""
    return bool(load("finding-faults")) and load("finding-faults")["mark"] != mark()


def needed(which: str = "") -> tuple[list[str], Iterable[list[str]]]:
    """Return a table with a row for each min ISR of a finding, or of every one."""
    found: dict[str, Any] = load("finding-faults").get("findings", {})
    return ["finding", "brokers", "min ISR", "fewest that lose an acknowledged record", "states searched"], (
        [
            entry,
            str(point["constants"]["brokers"]),
            str(point["setting"]["min_isr"]),
            breaks_with(point) or "nothing that was tried",
            f"{point['states']:,}",
        ]
        for entry, data in found.items()
        if entry.startswith(which)
        for point in data["grid"]
    )
