"""How many crashes an acknowledged record survives, measured over a grid of settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fencepost.api.asking.constants import make_constants, parse_settings
from fencepost.api.kept import digest
from fencepost.api.topics.crash_table import cells, outcome
from fencepost.api.topics.fault_words import breaks_with, left_out, tolerated, words_of
from fencepost.invariants.figures.store import load
from fencepost.invariants.protocols import protocol
from fencepost.site.pages.markdown import NOTICE, table
from fencepost.site.pages.matrices import texts_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fencepost.model.language import Constants

PROPERTY = "leader-has-acknowledged"
CLAIM = (
    "max_records=1 shrinks=0 loss=any equal_partition_epoch_overwrites=off "
    "reset_followers_on_reelection=on fenced_before_registration=on fenced_epoch_check=on"
)
"""The constants at which KIP-966's claim is tested: any crash may lose everything, the known holes are repaired."""
SIZES = {
    "2": "brokers=2 initial_isr=2 fences=2 crashes=2 max_leader_epoch=4",
    "3": "brokers=3 initial_isr=3 fences=3 crashes=3 max_leader_epoch=8",
}
"""What else is set, by the number of replicas. As many fences as replicas: a crashed broker registers once it is fenced."""
GRID = ("elr=off,on", "unclean_election=off,on")
MOST_STATES = 20_000_000
"""A search may take so many states; kept as fingerprints they take less than 4 GiB."""


def grid_of(replicas: str) -> tuple[str, ...]:
    """Return the grid: every min ISR, with ELR and without, with unclean elections and without."""
    return (f"min_isr={','.join(str(number) for number in range(1, int(replicas) + 1))}", *GRID)


def constants_of(replicas: str) -> Constants:
    """Return the constants that all points of a grid share."""
    machine = protocol("replication").machine
    return make_constants(machine, "", parse_settings(machine, "--set", f"{CLAIM} {SIZES[replicas]}".split()))


def mark_of(replicas: str) -> str:
    """Return what tells whether anything has changed that the figures depend on."""
    found = protocol("replication")
    values = [(name, int(value)) for name, value in constants_of(replicas).values.items()]
    return digest(
        [*texts_of(found.machine, found.select((PROPERTY,))), repr(values), repr((grid_of(replicas), MOST_STATES))]
    )


def measured() -> dict[str, Any]:
    """Return what was measured, by the number of replicas."""
    return load("faults")


def stale() -> list[str]:
    """Return the numbers of replicas for which something was measured, and not of the protocol as it now is.

    For what was never measured the page says so.
    """
    known = measured()
    return [replicas for replicas in SIZES if replicas in known and known[replicas].get("mark") != mark_of(replicas)]


def in_short(replicas: int = 3) -> tuple[list[str], Iterator[list[str]]]:
    """Return what crashes do to a record, a row for each min ISR, in the words of `fencepost advise`."""
    found = cells(replicas)

    def shown(min_isr: int, **asked: bool) -> str:
        """Return the outcome of a setting; both where ELR makes a difference that was not asked for."""
        points = [item for item in found if item["setting"].items() >= {"min_isr": min_isr, **asked}.items()]
        return "; or ".join(dict.fromkeys(map(outcome, points))) or "not searched"

    return ["min ISR", "without ELR", "with ELR", "unclean elections"], (
        [
            str(min_isr),
            shown(min_isr, elr=False, unclean_election=False),
            shown(min_isr, elr=True, unclean_election=False),
            shown(min_isr, unclean_election=True),
        ]
        for min_isr in range(1, replicas + 1)
    )


def page() -> Iterator[str]:
    """Yield the lines of the page: what settings tolerate, and what that says of KIP-966's claim."""
    known = measured()
    yield from ("# How many crashes an acknowledged record survives", "", NOTICE, "")
    yield (
        "KIP-966 says that with eligible leader replicas an acknowledged record survives min ISR - 1 unclean shutdowns. So "
        f"`{PROPERTY}` was checked with more and more crashes, each of which may lose the whole log. Other faults may happen as often "
        "as the constants allow. *Tolerates* counts crashes that break nothing."
    )
    yield ""
    for replicas in SIZES:
        yield from (f"## {replicas} replicas", "")
        if replicas in known:
            yield from _tolerances(known[replicas])
        else:
            yield from (
                f"Not measured yet: `python -m benchmarks.figures.matrices --faults {replicas}` measures it.",
                "",
            )


def _tolerances(data: dict[str, Any]) -> Iterator[str]:
    first = data["grid"][0]
    fixed = " ".join(
        f"{name}={str(value).lower()}" for name, value in first["constants"].items() if name not in first["setting"]
    )
    head = (*first["setting"], "tolerates", "breaks with", "states searched", "how far")
    rows = (
        [
            *(str(value).lower() for value in point["setting"].values()),
            tolerated(point),
            breaks_with(point),
            f"{point['states']:,}",
            reach(point),
        ]
        for point in data["grid"]
    )
    yield from table(head, rows, numbers=(len(first["setting"]) + 2,))
    omission = sum(point["omission"] for point in data["grid"])
    tried = f"Up to {words_of(first['most'])} were tried, by searches of {sum(point['states'] for point in data['grid']):,} states"
    yield from ("", claim(data), "", f"{tried}{left_out(omission)}. The other constants: `{fixed}`.", "")
    yield from ("Shortest histories:", "")
    for settings, item in _shortest(data["grid"]):
        yield f"- {words_of(item['faults'], first['kinds'])}, {item['length'] - 1} steps, with {'; '.join(settings)}:"
        yield f"  {', '.join(f'`{step}`' for step in item['steps'])}"
    yield ""


def _shortest(grid: list[dict[str, Any]]) -> Iterator[tuple[list[str], dict[str, Any]]]:
    """Yield each history once, with the settings whose shortest history it is."""
    found: dict[str, tuple[list[str], dict[str, Any]]] = {}
    for point in grid:
        setting = " ".join(f"{name}={str(value).lower()}" for name, value in point["setting"].items())
        for item in point["front"]:
            found.setdefault(repr((item["faults"], item["steps"])), ([], item))[0].append(setting)
    yield from found.values()


def reach(point: dict[str, Any]) -> str:
    """Return how far the searches of a point went: whether every search completed."""
    undecided = "; ".join(f"{words_of(item['faults'], point['kinds'])}: {item['why']}" for item in point["unknown"])
    return f"not decided: {undecided}" if undecided else "every search ended"


def claim(data: dict[str, Any]) -> str:
    """Return whether KIP-966's claim holds, as a sentence."""
    asked = [point for point in data["grid"] if point["setting"]["elr"] and not point["setting"]["unclean_election"]]
    open_ones = [
        point
        for point in asked
        if any(sum(item["faults"].values()) < point["setting"]["min_isr"] for item in point["unknown"])
    ]
    failing = [point for point in asked if point["least"] is not None and point["least"] < point["setting"]["min_isr"]]
    if failing:
        where = "; ".join(f"with min ISR {point['setting']['min_isr']} by {breaks_with(point)}" for point in failing)
        return f"**The claim does not hold in the model at these constants**: it fails {where}."
    if open_ones:
        where = ", ".join(str(point["setting"]["min_isr"]) for point in open_ones)
        return f"**The claim is not decided in the model at these constants** for min ISR {where}: a search ended without a decision."
    return "**The claim holds in the model at these constants**, with ELR and without unclean elections."
