"""Analysis of a graph: whether a fair behaviour can avoid `then`, and the cost of reaching `then`.

Strong fairness is a Streett condition. Each round computes the strongly connected components in time linear in the
number of edges. If a component violates a strong constraint, the next round keeps only the component's states in which
the constraint is disabled, so the constraint cannot be violated again. Each state is examined in at most n + 1 rounds,
where n is the number of strong constraints.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from fencepost.explorers.liveness import calls
from fencepost.explorers.liveness.calls import Fairness, Graph
from fencepost.explorers.verdict import Reach

Array = np.ndarray[Any, Any]
WHEN, THEN = 1, 2
WORD = 64


@dataclass(frozen=True)
class Rows:
    """A graph of N states and E edges, sorted by source: offsets (N + 1), targets (E), and each edge's class (E)."""

    offsets: Array
    targets: Array
    classes: Array

    @property
    def states(self) -> int:
        return len(self.offsets) - 1

    def source(self, edge: int) -> int:
        return int(np.searchsorted(self.offsets, edge, side="right")) - 1


@dataclass(frozen=True)
class Terms:
    """A question about a graph: for each class of edges, its fairness constraints, whether it is allowed, and its cost.

    `masks` (classes, words) has one bit for each constraint that an edge satisfies; `strong` (words) marks the strong
    constraints. `costs` is indexed by class, and is None for a leads-to property. If `by_edge` is given, it contains
    the cost of each edge and is used instead.
    """

    masks: Array
    strong: Array
    allowed: Array
    costs: Array | None = None
    by_edge: Array | None = None


class FairAnswer(NamedTuple):
    """The answer to a question about a graph.

    The path consists of edges: from the state `begin`, in which `when` holds, along `stem`, and then around `loop`
    forever. If there is no path, `begin` is -1. If `reach` is NEVER and `loop` is empty, the behaviour may end where
    `stem` ends, because no fairness constraint is enabled there. In `worst` and `best`, MOST_COST also stands for all
    larger costs. `near` is defined in `BehaviourFinding`.
    """

    reach: Reach
    worst: int | None
    best: int | None
    begin: int = -1
    stem: tuple[int, ...] = ()
    loop: tuple[int, ...] = ()
    near: int = 0


class Analysis:
    """A question about a graph whose states are marked with the bits WHEN and THEN.

    `begins` contains the states in which `when` holds and `then` does not, and `depth` contains their distances from an
    initial state. `pause` is called between parts of the work, and may raise an exception to stop the analysis.
    """

    def __init__(
        self,
        rows: Rows,
        terms: Terms,
        marks: Array,
        begins: Array,
        depth: Callable[[Array], Array],
        pause: Callable[[], None] = lambda: None,
    ) -> None:
        self.rows, self.terms, self.marks, self.depth, self.pause = rows, terms, marks, depth, pause
        none = np.zeros(0, np.int64)
        self.by_edge = none if terms.by_edge is None else terms.by_edge
        costs = none if terms.costs is None else terms.costs
        edges = rows.offsets, rows.targets, rows.classes
        self.graph = Graph(edges, terms.allowed, marks, costs, self.by_edge)
        count = rows.states
        self.group = np.full(count, -1, np.int32)
        self.enabled = np.zeros((count, terms.masks.shape[1]), np.uint64)
        self.fairness = Fairness(terms.masks, terms.strong, self.enabled)
        self.begins = begins.astype(np.int32)
        queue = np.empty(count, np.int32)
        queue[: len(begins)] = self.begins
        self.group[self.begins] = 0
        size = calls.reach(self.graph, self.fairness, self.group, queue, len(begins))
        self.nodes = queue[:size].copy()

    def wrong(self) -> int | None:
        costs = self.terms.costs
        below = np.flatnonzero(self.by_edge < 0)
        if costs is not None and (costs < 0).any():
            below = np.flatnonzero((costs < 0)[self.rows.classes])
        sources = np.searchsorted(self.rows.offsets, below, side="right") - 1
        counts = np.isin(sources, self.nodes) & self.terms.allowed[self.rows.classes[below]]
        return int(below[counts][0]) if counts.any() else None

    def run(self, refuse: Callable[[int], None] = lambda _: None) -> FairAnswer:
        """Find a fair behaviour that avoids `then`, otherwise a loop with a cost, otherwise the most expensive path.

        `refuse` is called with the first edge between `when` and `then` whose cost is negative, if any.
        """
        wrong = self.wrong()
        if wrong is not None:
            refuse(wrong)
        costs = self.terms.costs
        best = None
        if costs is not None:
            best = 0 if not len(self.begins) else self.cheapest()
        if not len(self.begins):
            return FairAnswer(Reach.BOUNDED, 0, best)
        self.pause()
        inside = self.group.copy()
        fair = self.fair_parts()
        self.pause()
        if fair is not None:
            return self.lasso(fair, inside, best)
        if costs is None:
            return FairAnswer(Reach.BOUNDED, 0, 0)
        return self.dearest(inside, best)

    def fair_parts(self) -> Array | None:
        """Return each state's component, or -1 if no fair behaviour can stay in the component forever. Return None if
        no component is fair.
        """
        count = self.rows.states
        fair = np.full(count, -1, np.int32)
        component, order = np.full(count, -1, np.int32), np.zeros(count, np.int32)
        nodes, first = self.nodes.copy(), 0
        while len(nodes):
            found = calls.components(self.graph, nodes, self.group, component, order)
            numbers = range(first, first + found)
            left = calls.promises(self.graph, self.fairness, nodes, component, self.group, numbers, fair)
            nodes, first = nodes[:left], first + found
            self.pause()
        return fair if bool((fair >= 0).any()) else None

    # -- paths

    def stems(self, inside: Array) -> tuple[Array, Array]:
        """Return each state's distance from an initial state (-1 outside the region), and the last edge of its path."""
        depth = self.depth(self.begins)
        order = np.argsort(depth[self.begins], kind="stable")
        distance, via = np.full(self.rows.states, -1, np.int32), np.full(self.rows.states, -2, np.int64)
        calls.stems(self.graph, inside, self.begins[order], depth, distance, via)
        return distance, via

    def chain(self, via: Array, state: int) -> tuple[int, tuple[int, ...]]:
        edges: list[int] = []
        while via[state] >= 0:
            edges.append(int(via[state]))
            state = self.rows.source(edges[-1])
        return state, tuple(reversed(edges))

    def lasso(self, fair: Array, inside: Array, best: int | None) -> FairAnswer:
        distance, via = self.stems(inside)
        states = np.flatnonzero(fair >= 0)
        stopping = states[~self.enabled[states].any(axis=1)]
        nearest = states[np.argmin(distance[states])]
        near = int(distance[nearest])
        if len(stopping):
            end = stopping[np.argmin(distance[stopping])]
            if distance[end] <= distance[nearest] + 2:  # a loop has at least two steps
                begin, stem = self.chain(via, int(end))
                return FairAnswer(Reach.NEVER, None, best, begin, stem, near=near)
        begin, stem = self.chain(via, int(nearest))
        return FairAnswer(Reach.NEVER, None, best, begin, stem, self.around(fair, int(nearest)), near)

    def around(self, fair: Array, entry: int) -> tuple[int, ...]:
        """Return the edges of a cycle through `entry` that satisfies every fairness constraint."""
        masks, strong = self.terms.masks, self.terms.strong
        own = np.flatnonzero(fair == fair[entry])
        pending = np.bitwise_or.reduce(self.enabled[own], axis=0)
        weak = ~strong
        pending &= strong | self.enabled[entry]
        via = np.empty(self.rows.states, np.int64)
        loop: list[int] = []
        at = entry
        while pending.any():
            via, at = self.step(fair, at, -1, pending, via, loop)
            for edge in loop:
                pending &= ~(masks[self.rows.classes[edge]] | (weak & ~self.enabled[self.rows.targets[edge]]))
        if at != entry:
            self.step(fair, at, entry, np.zeros_like(pending), via, loop)
        return tuple(loop)

    def step(self, part: Array, at: int, goal: int, pending: Array, via: Array, loop: list[int]) -> tuple[Array, int]:
        last = calls.walk(self.graph, self.fairness, part, (at, goal), pending, via)
        assert last >= 0, "a component is not connected"
        _, edges = self.chain(via, self.rows.source(last))
        loop += [*edges, last]
        return via, int(self.rows.targets[last])

    # -- costs

    def cheapest(self) -> int | None:
        found = calls.cheapest(self.graph, self.begins)
        return None if found < 0 else found

    def dearest(self, inside: Array, best: int | None) -> FairAnswer:
        count = self.rows.states
        component = np.full(count, -1, np.int32)
        found = calls.components(self.graph, self.nodes, inside, component, np.zeros(count, np.int32))
        self.pause()
        distance, via = self.stems(inside)
        edge = calls.spin(self.graph, self.nodes, component, inside, distance)
        if edge >= 0:
            source, target = self.rows.source(edge), int(self.rows.targets[edge])
            begin, stem = self.chain(via, source)
            loop = [edge]
            if source != target:
                none = np.zeros_like(self.terms.strong)
                self.step(component, target, source, none, np.empty(count, np.int64), loop)
            return FairAnswer(Reach.UNBOUNDED, None, best, begin, stem, tuple(loop), int(distance[source]))
        nodes = self.nodes[np.argsort(component[self.nodes], kind="stable")]
        worst = np.full(found, -1, np.int64)
        calls.dearest(self.graph, nodes, component, worst)
        most = worst[component[self.begins]]
        chosen = self.begins[most == most.max()]
        start = int(chosen[np.argmin(distance[chosen])])
        last = calls.dear_way(self.graph, component, worst, start, via)
        begin, edges = self.chain(via, self.rows.source(last))
        return FairAnswer(Reach.BOUNDED, int(most.max()), best, begin, (*edges, last), near=int(distance[start]))
