"""What `faults` was asked: the points of a grid, what faults cost, and how to search; what cannot be meant is refused early."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from fencepost.api.grids import axes_of, settings_of
from fencepost.api.quantities import default_memory, parse_duration, parse_size
from fencepost.model.language.errors import UsageError, nearest

if TYPE_CHECKING:
    from fencepost.api.grids import Setting
    from fencepost.explorers.verdict import Options
    from fencepost.invariants.protocols import Protocol
    from fencepost.model.language import Constants, Machine


def points_of(
    machine: Machine, constants: Constants, grid: tuple[str, ...]
) -> tuple[list[tuple[Constants, dict[str, Any]]], list[Setting]]:
    """Return the constants of every point of the grid with what is special about it, and the points that the machine refuses."""
    every = list(settings_of(machine, constants, axes_of(machine, grid)))
    refused = [item for item in every if item.constants is None]
    if len(refused) == len(every):
        raise UsageError(f"every cell of the grid is refused; the first: {refused[0].refused}")
    return [(item.constants, item.told) for item in every if item.constants is not None], refused


def refuse_early(
    found: Protocol,
    constants: Constants,
    prop: str,
    kinds: tuple[str, ...],
    costs: tuple[str, ...],
    grid: tuple[str, ...],
    given: dict[str, Any],
) -> None:
    """Raise UsageError for what cannot be meant, before anything is compiled."""
    from fencepost.explorers.evidence.faults import choose_kinds, fault_kinds

    judged = found.select((prop,))[0]
    if not judged.kind.must_hold:
        raise UsageError(
            f"property {prop!r} is of kind {judged.kind}: faults break what must always hold. Name such a property."
        )
    known = fault_kinds(found.machine)
    settings, _ = points_of(found.machine, constants, grid)
    counted_ones = {name for one, _ in settings for name in choose_kinds(found.machine, one, kinds)}
    for name in costs_of(costs):
        if name not in known:
            raise UsageError(
                f"--cost was given {name!r}, which is no fault of protocol {found.name!r}.{nearest(name, list(known))} "
                f"Faults are: {', '.join(known)}."
            )
        if name not in counted_ones:
            add = f"add --kind {name}" if kinds else f"allow some, such as --set {known[name]}=1"
            raise UsageError(f"--cost was given for {name}, which are not counted: {add}, or leave this cost out.")
    options_of(given)


def costs_of(costs: tuple[str, ...]) -> dict[str, int]:
    """Return what a fault of each named kind costs; raise UsageError for a text that does not say it."""
    found = {}
    for text in costs:
        name, _, value = text.partition("=")
        if not value.isdigit():
            raise UsageError(f"--cost was given {text!r}: write KIND=N with a whole number, such as --cost crashes=2.")
        found[name.strip().replace("-", "_")] = int(value)
    return found


def options_of(given: dict[str, Any]) -> Options:
    """Return how to search."""
    from fencepost.explorers.verdict import Options

    return Options(
        workers=given["workers"] or os.cpu_count() or 1,
        normalize=given["normalize"],
        compact=given["compact"],
        budget=parse_duration(given["budget"], "--budget") if given["budget"] else None,
        max_states=given["max_states"],
        memory=parse_size(given["memory"], "--memory") if given["memory"] else default_memory(),
    )
