"""Leads-to and at-most by brute force on the machine `maze`, from its constants alone: slow, literal, and independent.

A behaviour visits some set of states for ever. Every set is tried: is it inside the region, is it strongly connected,
and is every promise fulfilled if all steps inside the set are taken again and again? A single state may be repeated.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, combinations

from tests.machines.maze import NODES

KINDS = "abd"
LONG = 300
"""Steps of a walk in which a loop is repeated so often that its cost cannot be missed."""


@dataclass(frozen=True)
class Promise:
    """Fairness as data: kinds of steps, distinguished by the node they leave, the node they enter, both or neither."""

    strong: bool
    kinds: str
    source: bool = False
    target: bool = False

    def names(self, kind: str, source: int, target: int) -> tuple[int, ...] | None:
        if kind not in self.kinds:
            return None
        return (source,) * self.source + (target,) * self.target


class Maze:
    def __init__(self, values: Mapping[str, int], without: str = "") -> None:
        def members(name: str) -> set[int]:
            return {node for node in range(NODES) if values.get(name, 0) >> node & 1}

        everything = [(n, kind, t) for n in range(NODES) for kind in KINDS for t in members(f"{kind}{n}")]
        self.steps = [step for step in everything if step[1] not in without]
        reached = members("starts")
        for _ in range(NODES):
            reached |= {t for n, _, t in everything if n in reached}
        self.then = members("then")
        self.begins = (members("when") & reached) - self.then
        inside = set(self.begins)
        for _ in range(NODES):
            inside |= {t for n, _, t in self.steps if n in inside} - self.then
        self.inside = inside

    def lasts(self, promises: list[Promise]) -> bool:
        """Return whether some fair behaviour avoids `then` for ever."""
        inside = sorted(self.inside)
        subsets = chain.from_iterable(combinations(inside, size) for size in range(1, len(inside) + 1))
        return any(self.connected(set(part)) and self.fair(set(part), promises) for part in subsets)

    def connected(self, part: set[int]) -> bool:
        """Return whether every state of a set is reachable from every other inside it."""
        for start in part:
            seen = {start}
            for _ in part:
                seen |= {t for n, _, t in self.steps if n in seen and t in part}
            if seen != part:
                return False
        return True

    def fair(self, part: set[int], promises: list[Promise]) -> bool:
        """Return whether cycling through a set for ever, by all its steps, fulfils every promise."""
        for promise in promises:
            named = [(promise.names(kind, n, t), n, t) for n, kind, t in self.steps if n != t]
            for name in {name for name, _, _ in named if name is not None}:
                own = [(n, t) for other, n, t in named if other == name]
                enabled = {n for n, _ in own} & part
                happens = any(n in part and t in part for n, t in own)
                pressed = bool(enabled) if promise.strong else enabled == part
                if pressed and not happens:
                    return False
        return True

    def costs(self, costs: Mapping[str, int]) -> tuple[int | None, int | None]:
        """Return the most (None: no bound) and the least (None: no path) cost of a walk from `when` to `then`."""
        walks = dict.fromkeys(self.begins, 0), dict.fromkeys(self.begins, 0)
        found = [list(self._ends(walk, choose, costs)) for walk, choose in zip(walks, (max, min), strict=True)]
        if not self.begins:
            return 0, 0
        most = max(found[0], default=0)
        return (None if most > NODES * max(costs.values(), default=0) else most), min(found[1], default=None)

    def _ends(self, walk: dict[int, int], choose: type[max], costs: Mapping[str, int]) -> Iterator[int]:
        for _ in range(LONG):
            following: dict[int, int] = {}
            for n, kind, t in self.steps:
                if n not in walk:
                    continue
                cost = walk[n] + costs.get(kind, 0)
                if t in self.then:
                    yield cost
                else:
                    following[t] = choose(following.get(t, cost), cost)
            walk = following
