"""The kernels of graphs, compiled, with the working room that they need: one function for each."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from fencepost.explorers.native.llvm.libraries import library
from fencepost.explorers.native.llvm.unit import Unit

if TYPE_CHECKING:
    from fencepost.explorers.native.llvm.libraries import Kernel

Array = np.ndarray[Any, Any]
Edges = tuple[Array, Array, Array, Array]
"""offsets, targets, classes, and by class whether it is allowed, as in `kernels`."""


@cache
def graph_kernels() -> dict[str, Kernel]:
    """Return the kernels of `kernels` and `ways`: they depend on no machine."""
    texts = [Path(__file__).with_name(name).read_text() for name in ("kernels.py", "graph_paths.py")]
    found, _ = library(Unit("\n\n".join(text.replace("from __future__ import annotations", "") for text in texts)))
    return found.kernels()


def intern(
    codes: Array, done: int, out: Array, keys: Array, numbers: Array, known: Array, count: int
) -> tuple[int, int]:
    """Number codes from place `done` on, `count` being known; return how many are known, and how many were numbered."""
    counts = np.array([count, done], np.int64)
    graph_kernels()["intern"](codes, done, out, keys, numbers, known, counts)
    return int(counts[0]), int(counts[1])


def by_source(parents: Array, first: int, count: int, degrees: Array, place: Array) -> None:
    """Count the successors of each state, and order them by state."""
    starts = np.empty(len(degrees) + 1, np.int64)
    graph_kernels()["by_source"](parents, first, count, degrees, starts, place)


def reach(edges: Edges, marks: Array, masks: Array, group: Array, enabled: Array, queue: Array, count: int) -> int:
    """Find the region that the first `count` states of `queue` reach; return its size."""
    return int(graph_kernels()["reach"](*edges, marks, masks, group, enabled, queue, count))


def components(edges: Edges, nodes: Array, group: Array, component: Array, order: Array) -> int:
    """Write the strongly connected component of each node; return how many there are."""
    low, frames, stack = (np.empty(len(nodes), np.int32) for _ in range(3))
    cursor = np.empty(len(nodes), np.int64)
    return int(graph_kernels()["components"](*edges, nodes, group, component, order, low, frames, cursor, stack))


def promises(
    edges: Edges,
    masks: Array,
    nodes: Array,
    component: Array,
    group: Array,
    enabled: Array,
    strong: Array,
    found: int,
    fair: Array,
    first: int,
) -> int:
    """Judge components; return how many nodes are left to be looked at again."""
    happens, somewhere = (np.zeros((found, masks.shape[1]), np.uint64) for _ in range(2))
    everywhere, verdicts = np.full_like(happens, 0xFFFFFFFFFFFFFFFF), np.zeros(found, np.uint8)
    return int(
        graph_kernels()["promises"](
            *edges,
            masks,
            nodes,
            component,
            group,
            enabled,
            strong,
            found,
            fair,
            first,
            happens,
            somewhere,
            everywhere,
            verdicts,
        )
    )


def depths(parents: Array, wanted: Array, depth: Array) -> None:
    """Write how many steps each wanted state is from its initial state."""
    graph_kernels()["depths"](parents, wanted, depth, np.empty(len(parents), np.int32))


def stems(edges: Edges, inside: Array, begins: Array, depth: Array, distance: Array, via: Array) -> None:
    """Write the fewest steps to each state inside, and the edge that led there."""
    graph_kernels()["stems"](*edges, inside, begins, depth, distance, via, np.empty(len(inside), np.int32))


def walk(
    edges: Edges,
    part: Array,
    start: int,
    goal: int,
    masks: Array,
    enabled: Array,
    pending: Array,
    weak: Array,
    via: Array,
) -> int:
    """Return the last of the fewest edges that lead to `goal` or keep a pending promise, -1 if there are none."""
    queue = np.empty(len(part), np.int32)
    return int(graph_kernels()["walk"](*edges, part, start, goal, masks, enabled, pending, weak, via, queue))


def spin(
    edges: Edges, nodes: Array, component: Array, inside: Array, costs: Array, by_edge: Array, distance: Array
) -> int:
    """Return the nearest edge with a cost inside a component, -1 if there is none."""
    return int(graph_kernels()["spin"](*edges, nodes, component, inside, costs, by_edge, distance))


def dearest(
    edges: Edges, marks: Array, nodes: Array, component: Array, costs: Array, by_edge: Array, worst: Array
) -> None:
    """Write what the most expensive path from each component costs."""
    graph_kernels()["dearest"](*edges, marks, nodes, component, costs, by_edge, worst)


def dear_way(
    edges: Edges, marks: Array, component: Array, costs: Array, by_edge: Array, worst: Array, start: int, via: Array
) -> int:
    """Return the last of the fewest edges that cost as much as the most expensive path."""
    queue = np.empty(len(component), np.int32)
    return int(graph_kernels()["dear_way"](*edges, marks, component, costs, by_edge, worst, start, via, queue))


def cheapest(edges: Edges, marks: Array, begins: Array, costs: Array, by_edge: Array) -> int:
    """Return the least cost of a way from one of `begins` to `then`, -1 if there is none."""
    offsets, targets, *_ = edges
    room = len(begins) + len(targets)
    done, spent, states = np.zeros(len(offsets) - 1, np.uint8), np.empty(room, np.int64), np.empty(room, np.int32)
    return int(graph_kernels()["cheapest"](*edges, marks, begins, costs, by_edge, done, spent, states))
