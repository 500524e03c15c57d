"""Which place of the schema an expression names: `s.budget.crashes` is `budget.crashes` of the first parameter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.explorers.program.ir import nodes
from fencepost.explorers.program.ir.walk import inside

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fencepost.explorers.program.ir.program import Function

Where = tuple[int, str] | None
"""A parameter by its place and a path below it; None if it is not known, or not one place alone."""


def names_in(function: Function) -> Mapping[nodes.Slot, Where]:
    """Return what each slot of a function refers to: parameters, and locals that are assigned once."""
    found: dict[nodes.Slot, Where] = {slot: (number, "") for number, slot in enumerate(function.parameters)}
    for item in inside(function.body):
        if isinstance(item, nodes.Assign):
            found[item.slot] = None if item.slot in found else path_of(item.value, found)
    return found


def path_of(place: nodes.Expression, names: Mapping[nodes.Slot, Where]) -> Where:
    """Return the parameter and the path that a place stands for."""
    match place:
        case nodes.Local():
            return names.get(place.slot)
        case nodes.Field():
            owner = path_of(place.owner, names)
            return owner and (owner[0], f"{owner[1]}.{place.name}" if owner[1] else place.name)
        case nodes.Element():
            owner = path_of(place.array, names)
            return owner and (owner[0], f"{owner[1]}[]")
    return None
