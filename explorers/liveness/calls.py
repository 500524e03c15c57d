"""The kernels of graphs, compiled, with the working room that they need: one function for each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from fencepost.explorers.native.llvm.libraries import address_of, library
from fencepost.explorers.native.llvm.unit import Unit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fencepost.explorers.native.llvm.libraries import Kernel

Array = np.ndarray[Any, Any]


class Graph:
    """A graph and a question to it, as kernels get them: the addresses of its arrays, which it holds.

    By state `offsets` (and one more) and `marks`; by edge `targets`, `classes` and, if it is not empty, `by_edge`, its
    cost; by class whether it is `allowed`, and its cost.
    """

    def __init__(
        self, edges: tuple[Array, Array, Array], allowed: Array, marks: Array, costs: Array, by_edge: Array
    ) -> None:
        kinds = (np.int64, np.int32, np.int32, np.uint8, np.uint8, np.int64, np.int64)
        found = zip((*edges, allowed, marks, costs, by_edge), kinds, strict=True)
        self._held = [np.ascontiguousarray(array, kind) for array, kind in found]
        self.states, self.edges = len(edges[0]) - 1, len(edges[1])
        self.data = _addresses(self._held, len(by_edge))


@dataclass(frozen=True)
class Fairness:
    """The promises of a graph: by class which an edge is part of, which are strong, and by state which are enabled."""

    masks: Array
    strong: Array
    enabled: Array


def _addresses(arrays: Iterable[Array], *numbers: int) -> Array:
    return np.array([*map(address_of, arrays), *numbers], np.int64)


@cache
def graph_kernels() -> dict[str, Kernel]:
    """Return the kernels, which depend on no machine."""
    found, _ = library(Unit(Path(__file__).with_name("kernels.py").read_text()))
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


def reach(graph: Graph, fairness: Fairness, group: Array, queue: Array, count: int) -> int:
    """Find the region that the first `count` states of `queue` reach; return its size."""
    kernel = graph_kernels()["reach"]
    return int(kernel(graph.data, fairness.masks, group, fairness.enabled, queue, count))


def components(graph: Graph, nodes: Array, group: Array, component: Array, order: Array) -> int:
    """Write the strongly connected component of each node; return how many there are."""
    room, cursor = np.empty((3, len(nodes)), np.int32), np.empty(len(nodes), np.int64)
    return int(graph_kernels()["components"](graph.data, nodes, group, component, order, room, cursor))


def promises(
    graph: Graph, fairness: Fairness, nodes: Array, component: Array, group: Array, numbers: range, fair: Array
) -> int:
    """Judge components, which get these numbers; return how many nodes are left to be examined again."""
    masks, enabled, strong = (
        np.ascontiguousarray(item) for item in (fairness.masks, fairness.enabled, fairness.strong)
    )
    words, found = masks.shape[1], len(numbers)
    happens, somewhere = (np.zeros((found, words), np.uint64) for _ in range(2))
    everywhere, verdicts = np.full_like(happens, 0xFFFFFFFFFFFFFFFF), np.zeros(found, np.uint8)
    judging = _addresses((masks, enabled, strong, happens, somewhere, everywhere, verdicts), numbers.start)
    return int(graph_kernels()["promises"](graph.data, judging, words, nodes, component, group, found, fair))


def depths(parents: Array, wanted: Array, depth: Array) -> None:
    """Write how many steps each wanted state is from its initial state."""
    graph_kernels()["depths"](parents, wanted, depth, np.empty(len(parents), np.int32))


def stems(graph: Graph, inside: Array, begins: Array, depth: Array, distance: Array, via: Array) -> None:
    """Write the fewest steps to each state inside, and the edge that led there."""
    graph_kernels()["stems"](graph.data, inside, begins, depth, distance, via, np.empty(len(inside), np.int32))


def walk(graph: Graph, fairness: Fairness, part: Array, ends: tuple[int, int], pending: Array, via: Array) -> int:
    """Return the last of the fewest edges between `ends`, or (-1) that keep a pending promise, or -1."""
    queue = np.empty(max(2, len(part)), np.int32)
    queue[:2] = ends
    both = np.array([pending, ~fairness.strong])
    return int(graph_kernels()["walk"](graph.data, part, fairness.masks, fairness.enabled, both, via, queue))


def spin(graph: Graph, nodes: Array, component: Array, inside: Array, distance: Array) -> int:
    """Return the nearest edge with a cost inside a component, or -1."""
    return int(graph_kernels()["spin"](graph.data, nodes, component, inside, distance))


def dearest(graph: Graph, nodes: Array, component: Array, worst: Array) -> None:
    """Write the cost of the most expensive path from each component."""
    graph_kernels()["dearest"](graph.data, nodes, component, worst)


def dear_way(graph: Graph, component: Array, worst: Array, start: int, via: Array) -> int:
    """Return the last of the fewest edges that cost as much as the most expensive path."""
    queue = np.empty(len(component), np.int32)
    return int(graph_kernels()["dear_way"](graph.data, component, worst, start, via, queue))


def cheapest(graph: Graph, begins: Array) -> int:
    """Return the least cost of a way from one of `begins` to `then`, or -1."""
    room = len(begins) + graph.edges
    done, spent, states = np.zeros(graph.states, np.uint8), np.empty(room, np.int64), np.empty(room, np.int32)
    return int(graph_kernels()["cheapest"](graph.data, begins, done, spent, states))
