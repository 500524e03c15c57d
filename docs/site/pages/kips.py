"""The checks that each KIP added, one by one: whether they were shown necessary, or the reason why not at the bounds."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from fencepost.explorers.program.removal import guards
from fencepost.invariants.catalogue import runs, values_of
from fencepost.invariants.protocols import protocol
from fencepost.site.pages.markdown import NOTICE, table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fencepost.explorers.program.removal import Guard
    from fencepost.invariants.catalogue import Run

Best = dict[str, dict[str, tuple[dict[str, Any], dict[str, Any]]]]
"""By protocol and row: the row where most was found, and the base at whose constants that was."""

ADDED: Mapping[str, tuple[tuple[str, str, str], ...]] = {
    "KIP-320": (
        ("kip320", "follower-fetch 1", ""),
        (
            "kip320",
            "become-follower-and-truncate 1",
            "only a replica that leads in the epoch passes the check after it",
        ),
        ("kip320", "become-follower-and-truncate 3", ""),
        ("kip320", "leader-expand-isr 3", ""),
        ("kip320", "leader-expand-isr 4", ""),
        ("kip320", "leader-expand-isr 5", ""),
        ("kip320", "leader-increase-high-watermark 2a", ""),
        (
            "kip320",
            "leader-shrink-isr 4",
            "it spares members that are caught up; a smaller ISR than need be breaks no promise",
        ),
        ("replication", "fetch_leader_epoch_check=off", ""),
        ("replication", "leader-handles-fetch 1", ""),
        ("replication", "leader-reports-divergence 1", ""),
        ("replication", "leader-tells-epoch-end 1", ""),
        (
            "replication",
            "leader-handles-late-fetch 2",
            "`normalize` has forgotten fetches of older epochs already, so it meets only those of a newer one than the leader knows",
        ),
    ),
    "KIP-841": (
        ("replication", "alter_partition_version=1", ""),
        ("replication", "controller-applies-alter-partition 7", ""),
        (
            "replication",
            "leader_eligibility_check=off",
            "the controller refuses what the leader then asks for; the leader's own look only saves the request",
        ),
        (
            "replication",
            "controller-begins-shutdown 4",
            "who is fenced or is leaving already is in no ISR and leads nothing, so there is nothing to take from it",
        ),
        (
            "replication",
            "controller-unfences-broker 4",
            "who is leaving stays ineligible by that mark, unfenced or not",
        ),
        (
            "replication",
            "broker-stops 5",
            "it spares clients errors while they learn of the new leader, and no record depends on it",
        ),
    ),
    "KIP-903": (
        ("replication", "alter_partition_version=2", ""),
        ("replication", "controller-applies-alter-partition 7", ""),
        ("replication", "fetch_carries_broker_epoch=off", ""),
        ("replication", "leader_broker_epoch_check=off", ""),
        (
            "replication",
            "controller-finds-replica-ineligible 3",
            "without it requests may be refused that could be granted: a delay, and the leader is told that nothing was applied",
        ),
    ),
    "KIP-966": (
        ("replication", "elr=off", ""),
        ("replication", "high_watermark_needs_min_isr=off", ""),
        ("replication", "unclean_shutdown=never", ""),
        ("replication", "last_known_leader=off", ""),
        ("replication", "last_known_leader_check=off", ""),
    ),
}
"""The guards and switches of each KIP, by protocol, and the reason where the matrices show no need: by hand, as one reads it
off the model."""


def page(best: Best) -> Iterator[str]:
    """Yield the lines of the page: the checks of each KIP with what was found of them."""
    yield from ("# The checks that KIP-320, KIP-841, KIP-903 and KIP-966 added", "", NOTICE, "")
    yield (
        "A check is *needed* if a property is violated without it, in a measured matrix or in a run of the catalogue that differs from "
        "a run that holds in this switch alone. For every other check the table has what the matrices found, and the reason why "
        "nothing broke, read off the model."
    )
    yield ""
    for kip, items in ADDED.items():
        yield from (f"## {kip}", "")
        rows = (
            [name, f"`{row}`", _asks(name, row), *necessity(best, name, row, reason)] for name, row, reason in items
        )
        yield from table(("protocol", "without, or with", "it asks for", "found", "how"), rows)
        yield ""


def _asks(name: str, row: str) -> str:
    """Return what a guard asks for, or what a constant means."""
    machine = protocol(name).machine
    if "=" in row:
        return machine.constants.declared()[row.partition("=")[0]].meaning
    guard = _guards(name)[row]
    return guard.sentence or f"`{guard.condition}`"


def necessity(best: Best, name: str, row: str, reason: str) -> tuple[str, str]:
    """Return what was found of a check, and by what, or why not."""
    found, base = best.get(name, {}).get(row, ({"purpose": "not measured", "broken": {}}, {"run": ""}))
    if found["broken"]:
        prop, length = next(iter(found["broken"].items()))
        return "**needed**", f"{prop} after {length - 1} steps ({base['run']})"
    run = of_catalogue(name, row)
    if run is not None:
        prop, length = min(run.violated.items(), key=lambda item: item[1])
        return "**needed**", f"{prop} after {length - 1} steps (run {run.title} of the catalogue)"
    return found["purpose"], reason


def of_catalogue(name: str, row: str) -> Run | None:
    """Return the run with the shortest trace that differs in this setting alone from one in which all it violates holds."""
    constant, mark, text = row.partition("=")
    if not mark:
        return None
    value = int(protocol(name).machine.constants.declared()[constant].parse(text))
    broken = [
        run
        for run, values in _values(name)
        if run.violated
        and values[constant] == value
        and any(
            values == {**others, constant: value}
            and others[constant] != value
            and not run.violated.keys() & twin.violated.keys()
            for twin, others in _values(name)
        )
    ]
    return min(broken, key=lambda run: min(run.violated.values()), default=None)


@cache
def _guards(name: str) -> dict[str, Guard]:
    return {item.name: item for item in guards(protocol(name).machine)}


@cache
def _values(name: str) -> list[tuple[Run, dict[str, int]]]:
    """Return the runs of a protocol with all their constants."""
    machine = protocol(name).machine
    return [
        (run, {key: int(value) for key, value in machine.set_constants(values_of(run)).values.items()})
        for run in runs()
        if run.protocol == name
    ]


def unexplained(best: Best) -> list[str]:
    """Return the checks that were not shown necessary and have no reason, and those that have one and need none."""
    return [
        f"{name} {row}"
        for items in ADDED.values()
        for name, row, reason in items
        if (necessity(best, name, row, "")[0] == "**needed**") == bool(reason)
    ]
