"""Walks of the model: random walks, and walks that together cover every transition of a state graph."""

import random
from collections import deque
from collections.abc import Iterable, Iterator

import networkx as nx
from fencepost.model.language.interpreter import Interpreter, Step, Transition
from fencepost.model.language.records import Key

NEAR = 40
"""Maximum number of states examined to find the nearest uncovered edge."""


def state_graph(plain: Interpreter, most: int) -> "nx.MultiDiGraph[Key] | None":
    graph: nx.MultiDiGraph[Key] = nx.MultiDiGraph()
    waiting = deque(plain.initial_states())
    graph.add_nodes_from(waiting)
    graph.graph["initial"] = waiting[0]
    while waiting:
        state = waiting.popleft()
        for transition in plain.transitions(state):
            if transition.after not in graph:
                waiting.append(transition.after)
            graph.add_edge(state, transition.after, transition=transition)
        if len(graph) > most:
            return None
    return graph


class Cover:
    """Walks from the initial state that cover every edge, generated one after another; their number is not minimal. A
    walk takes an uncovered edge or the path to the nearest uncovered edge. A strongly connected component is done once
    every edge in it and in its successors is covered. Uncovered edges are counted per component.
    """

    def __init__(self, graph: "nx.MultiDiGraph[Key]") -> None:
        self.graph = graph
        self._left: dict[Key, list[tuple[Key, int]]] = {
            state: [(after, number) for _, after, number in graph.out_edges(state, keys=True)] for state in graph
        }
        self._of: dict[Key, int] = {}
        for place, members in enumerate(nx.strongly_connected_components(graph)):
            self._of.update(dict.fromkeys(members, place))
        self._parents: dict[int, set[int]] = {place: set() for place in self._of.values()}
        children: dict[int, set[int]] = {place: set() for place in self._of.values()}
        for before, after in graph.edges():
            one, other = self._of[before], self._of[after]
            if one != other:
                children[one].add(other)
                self._parents[other].add(one)
        self._remaining = {place: len(found) for place, found in children.items()}
        for state, edges in self._left.items():
            self._remaining[self._of[state]] += len(edges)
        for place, count in list(self._remaining.items()):
            if not count and not children[place]:
                self._count_down(self._parents[place])

    def walks(self) -> Iterator[list[Transition]]:
        start = self.graph.graph["initial"]
        while self._remaining[self._of[start]]:
            at, walk = start, []
            while self._remaining[self._of[at]]:
                for before, after, number in self._way(at):
                    walk.append(self.graph.edges[before, after, number]["transition"])
                    at = after
            yield walk

    def _way(self, start: Key) -> list[tuple[Key, Key, int]]:
        """Return a path to the nearest uncovered edge, or to an uncovered edge in another component if none is near."""
        came: dict[Key, tuple[Key, Key, int] | None] = {start: None}
        waiting = deque([start])
        away = None
        while waiting:
            state = waiting.popleft()
            if self._left[state]:
                after, number = self._left[state].pop()
                self._count_down([self._of[state]])
                return [*self._back(came, state), (state, after, number)]
            for after, edges in self.graph.adj[state].items():
                if after not in came and self._remaining[self._of[after]]:
                    came[after] = (state, after, int(next(iter(edges))))
                    waiting.append(after)
                    away = away or (after if self._of[after] != self._of[start] else None)
            if away is not None and len(came) > NEAR:
                return self._back(came, away)
        raise AssertionError(start)  # every uncovered edge is reachable

    def _count_down(self, places: Iterable[int]) -> None:
        waiting = [*places]
        while waiting:
            place = waiting.pop()
            self._remaining[place] -= 1
            if not self._remaining[place]:
                waiting += self._parents[place]

    @staticmethod
    def _back(came: dict[Key, tuple[Key, Key, int] | None], state: Key) -> list[tuple[Key, Key, int]]:
        way = []
        while (edge := came[state]) is not None:
            way.append(edge)
            state = edge[0]
        return way[::-1]


def walks(plain: Interpreter, number: int, depth: int, seed: int) -> Iterator[Iterator[Transition]]:
    """Yield walks of at most `depth` steps. The seed and the walk's number determine each walk."""
    initial = plain.initial_states()[0]
    for place in range(number):
        yield walk(plain, initial, depth, random.Random(f"{seed} {place}"))  # noqa: S311 (no secret)


def walk(plain: Interpreter, initial: Key, depth: int, chance: random.Random) -> Iterator[Transition]:
    at = initial
    for _ in range(depth):
        taken = _step(plain, at, chance)
        if taken is None:
            return
        yield taken
        at = taken.after


def _step(plain: Interpreter, at: Key, chance: random.Random) -> Transition | None:
    actions = list(plain.machine.actions)
    chance.shuffle(actions)
    return plain.apply_first(at, (step for action in actions for step in _shuffled(plain.steps(action, at), chance)))


def _shuffled(steps: Iterable[Step], chance: random.Random) -> list[Step]:
    found = list(steps)
    chance.shuffle(found)
    return found
