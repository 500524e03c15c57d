"""Kernels for a run of the catalogue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.explorers.native.compile import generate
from fencepost.invariants.protocols import protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fencepost.explorers.native.generate import Source


def source_of(name: str, values: Mapping[str, int], properties: tuple[str, ...], *, normalize: bool) -> Source:
    """Return the generated module of a named protocol."""
    found = protocol(name)
    constants = found.machine.set_constants(values)
    return generate(found.machine, constants, found.compiled_with(found.select(properties)), normalize=normalize)


def sources_of(
    name: str, values: Mapping[str, int], properties: tuple[str, ...], *, normalize: bool, graph: bool
) -> list[Source]:
    """Return every module that a run needs; `graph`: it is asked for properties of whole behaviours, too."""
    found = protocol(name)
    sources = [source_of(name, values, properties, normalize=normalize)]
    behaviours = tuple(item for item in found.select(properties) if item.kind.over_behaviours)
    if behaviours and graph:
        from fencepost.explorers.liveness.generated import sources as graph_sources

        sources += graph_sources(found.machine, found.machine.set_constants(values), behaviours, normalize=normalize)[
            :2
        ]
    return sources
