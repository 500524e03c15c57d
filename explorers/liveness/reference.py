"""Reference implementation of leads-to and at-most properties with networkx, short enough to review."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from heapq import heapify, heappop, heappush
from itertools import count
from typing import NamedTuple

from fencepost.explorers.liveness.shown import Instance, confirmed, instances, retrace
from fencepost.explorers.verdict import LEFT, Cost, PropertyResult, Reach, Result, Verdict, model_error, undetermined
from fencepost.model.language.actions import Kind, Property
from fencepost.model.language.constants import Constants
from fencepost.model.language.errors import DomainError
from fencepost.model.language.interpreter import Interpreter, Path, Step, Transition
from fencepost.model.language.records import Key

Graph = Mapping[Key, list[Transition]]
"""Every reachable state with its steps, in breadth-first order."""


def _is_at(place: Key, at: Key, _: "Edge") -> bool:
    return at == place


class Edge(NamedTuple):
    """A step that stays inside the region, or leads from it to a state in which `then` holds."""

    step: Step
    after: Key
    leaves: bool
    promises: frozenset[Instance]
    cost: int


@dataclass
class Region:
    """The region between `when` and `then`: the states reachable by included steps while `then` is false."""

    begins: list[Key]
    edges: dict[Key, list[Edge]] = field(default_factory=dict)
    enabled: dict[Key, frozenset[Instance]] = field(default_factory=dict)

    def components(self, states: set[Key] | None = None) -> list[set[Key]]:
        from networkx import DiGraph, strongly_connected_components

        found: DiGraph[Key] = DiGraph()
        chosen = self.edges if states is None else states
        found.add_nodes_from(chosen)
        found.add_edges_from((key, edge.after) for key in chosen for edge in self.edges[key] if edge.after in chosen)
        return [set(part) for part in strongly_connected_components(found)]


@dataclass(frozen=True)
class Way:
    start: Key
    stem: tuple[Step, ...] = ()
    loop: tuple[Step, ...] = ()

    def longer(self, *steps: Step) -> "Way":
        return replace(self, stem=(*self.stem, *steps))

    def around(self, loop: tuple[Step, ...]) -> "Way":
        return replace(self, loop=loop)

    def __len__(self) -> int:
        return len(self.stem) + len(self.loop)


class Reference:
    def __init__(
        self, plain: Interpreter, graph: Graph, starts: list[Key], prop: Property, args: tuple[int, ...]
    ) -> None:
        self.plain, self.graph, self.starts, self.prop, self.args = plain, graph, starts, prop, args
        about = prop.behaviour
        self.happens = {key for key in graph if plain.says(prop, about.then, key, args)}
        self.whens = starts if about.when is None else [key for key in graph if plain.says(prop, about.when, key, args)]
        self.strong = [fair.strong for fair in about.fair]
        self.region = self.between()

    def between(self) -> Region:
        region = Region([key for key in self.whens if key not in self.happens])
        gone = {item.name for item in self.prop.behaviour.without}
        waiting = list(region.begins)
        while waiting:
            key = waiting.pop()
            if key in region.edges:
                continue
            taken = [item for item in self.graph[key] if item.step.action.name not in gone]
            region.edges[key] = [self.edge(key, item) for item in taken]
            region.enabled[key] = frozenset().union(*(edge.promises for edge in region.edges[key]))
            waiting += [edge.after for edge in region.edges[key] if not edge.leaves]
        return region

    def edge(self, key: Key, item: Transition) -> Edge:
        cost = self.plain.cost(self.prop, key, item) if self.prop.kind is Kind.AT_MOST else 0
        promises = frozenset(instances(self.plain, self.prop, [item], key))
        return Edge(item.step, item.after, item.after in self.happens, promises, cost)

    def run(self) -> "BehaviourFinding":
        vacuous = not self.whens
        best = self.extreme(min)
        costs = [best[key] for key in self.region.begins if key in best]
        least = min(costs, default=None if self.region.begins else 0)
        never = min(self.lassos(), key=len, default=None)
        if never is not None:
            near = min(len(self.stems[key]) for part in self.fair_parts() for key in part)
            return BehaviourFinding(
                self.args, Reach.NEVER, None, least, self.path(never, Reach.NEVER, None), vacuous, near
            )
        if self.prop.kind is Kind.LEADS_TO:
            return BehaviourFinding(self.args, Reach.BOUNDED, 0, 0, None, vacuous)
        spin = min(self.spins(), key=len, default=None)
        if spin is not None:
            near = min(len(way.stem) for way in self.spins())
            return BehaviourFinding(
                self.args, Reach.UNBOUNDED, None, least, self.path(spin, Reach.UNBOUNDED, None), vacuous, near
            )
        worst = self.extreme(max)
        most = max((worst[key] for key in self.region.begins), default=0)
        path = self.path(self.dearest(worst, most), Reach.BOUNDED, most) if self.region.begins else None
        prefixes = self.prefixes
        near = min((len(prefixes[key]) for key in self.region.begins if worst[key] == most), default=0)
        return BehaviourFinding(self.args, Reach.BOUNDED, most, least, path, vacuous, near)

    def path(self, way: Way, reach: Reach, cost: int | None) -> Path:
        made = retrace(self.plain, way.start, [*way.stem, *way.loop], None if reach is Reach.BOUNDED else len(way.stem))
        return confirmed(self.plain, self.prop, self.args, made, reach, cost)

    # -- fair behaviours that stay in the region

    def fair_parts(self) -> Iterator[set[Key]]:
        waiting = self.region.components()
        while waiting:
            part = waiting.pop()
            happen = {
                item for key in part for edge in self.region.edges[key] if edge.after in part for item in edge.promises
            }
            enabled = [self.region.enabled[key] for key in part]
            broken = {item for item in frozenset().union(*enabled) - happen if self.strong[item[0]]}
            if broken:
                kept = {key for key in part if not self.region.enabled[key] & broken}
                waiting += self.region.components(kept)
            elif frozenset.intersection(*enabled) <= happen:
                yield part

    def lassos(self) -> Iterator[Way]:
        """Yield paths to states where a fair run may end, and a lasso to each fair strongly connected component."""
        stems = self.stems
        yield from (stems[key] for key in self.region.edges if not self.region.enabled[key])
        for part in self.fair_parts():
            entry = min((key for key in stems if key in part), key=lambda key: len(stems[key].stem))
            yield stems[entry].around(self.around(part, entry))

    def around(self, part: set[Key], entry: Key) -> tuple[Step, ...]:
        open_promises = frozenset().union(*(self.region.enabled[key] for key in part))
        loop: list[Step] = []
        at = entry
        left = {item for item in open_promises if self.strong[item[0]] or item in self.region.enabled[entry]}
        while left:
            way, at = self.walk(part, at, lambda key, edge, left=left: self.kept(left, key, edge))  # type: ignore[misc]
            for edge in way:
                left -= {item for item in left if self.kept({item}, edge.after, edge)}
            loop += [edge.step for edge in way]
        if at != entry:
            loop += [edge.step for edge in self.walk(part, at, lambda key, _: key == entry)[0]]
        return tuple(loop)

    def kept(self, left: set[Instance], key: Key, edge: Edge) -> bool:
        """Return whether a step satisfies one of these constraints, by its action or by disabling a weak constraint."""
        return any(
            item in edge.promises or (not self.strong[item[0]] and item not in self.region.enabled[key])
            for item in left
        )

    def walk(self, part: set[Key], start: Key, wanted: Callable[[Key, Edge], bool]) -> tuple[list[Edge], Key]:
        ways: dict[Key, list[Edge]] = {start: []}
        waiting = [start]
        for key in waiting:
            for edge in self.region.edges[key]:
                if edge.after not in part:
                    continue
                if wanted(edge.after, edge):
                    return [*ways[key], edge], edge.after
                if edge.after not in ways:
                    ways[edge.after] = [*ways[key], edge]
                    waiting.append(edge.after)
        raise AssertionError(f"no step in a component of {len(part)} states meets the condition")

    # -- costs

    def spins(self) -> Iterator[Way]:
        """Yield, for each loop with a cost in the region, a path that leads to the loop and goes around it once."""
        stems = self.stems
        for part in self.region.components():
            for key in part:
                for edge in self.region.edges[key]:
                    if edge.cost and edge.after in part:
                        back = [] if edge.after == key else self.walk(part, edge.after, partial(_is_at, key))[0]
                        yield stems[key].around((edge.step, *(item.step for item in back)))

    def extreme(self, choose: Callable[[int, int], int]) -> dict[Key, int]:
        """Return, for each state with a path to `then`, the cost of the most expensive (or cheapest) path."""
        found: dict[Key, int] = {}
        for _ in range(len(self.region.edges) + 1):
            before = dict(found)
            for key, edges in self.region.edges.items():
                for edge in edges:
                    if edge.leaves or edge.after in found:
                        cost = edge.cost + (0 if edge.leaves else found[edge.after])
                        found[key] = choose(found.get(key, cost), cost)
            if found == before:
                break
        return found

    def dearest(self, worst: Mapping[Key, int], most: int) -> Way:
        prefixes = self.prefixes
        begin = min((key for key in self.region.begins if worst[key] == most), key=lambda key: len(prefixes[key]))
        ways: dict[Key, tuple[Step, ...]] = {begin: ()}
        waiting = [begin]
        for key in waiting:
            for edge in self.region.edges[key]:
                if edge.leaves and edge.cost == worst[key]:
                    return prefixes[begin].longer(*ways[key], edge.step)
                if not edge.leaves and edge.cost + worst[edge.after] == worst[key] and edge.after not in ways:
                    ways[edge.after] = (*ways[key], edge.step)
                    waiting.append(edge.after)
        raise AssertionError("the most expensive path is infinite")

    # -- paths from an initial state

    @cached_property
    def prefixes(self) -> dict[Key, Way]:
        found = {key: Way(key) for key in self.starts}
        waiting = list(found)
        for key in waiting:
            for item in self.graph[key]:
                if item.after not in found:
                    found[item.after] = found[key].longer(item.step)
                    waiting.append(item.after)
        return found

    @cached_property
    def stems(self) -> dict[Key, Way]:
        """Return a shortest path to each state of the region: from an initial state, through a `when` state."""
        found: dict[Key, Way] = {}
        order = count()
        waiting = [(len(self.prefixes[key]), next(order), self.prefixes[key], key) for key in self.region.begins]
        heapify(waiting)
        while waiting:
            length, _, way, key = heappop(waiting)
            if key in found:
                continue
            found[key] = way
            for edge in self.region.edges[key]:
                if not edge.leaves and edge.after not in found:
                    heappush(waiting, (length + 1, next(order), way.longer(edge.step), edge.after))
        return found


def judge(plain: Interpreter, graph: Graph, starts: list[Key], prop: Property) -> PropertyResult:
    return summary(
        prop, plain.constants, [Reference(plain, graph, starts, prop, args).run() for args in plain.arguments(prop)]
    )


class BehaviourFinding(NamedTuple):
    args: tuple[int, ...]
    reach: Reach
    worst: int | None
    best: int | None
    path: Path | None
    vacuous: bool
    """`when` holds in no reachable state."""
    near: int = 0
    """Length of a shortest path from an initial state, through a `when` state, to the nearest evidence. Evidence is a
    state that a fair behaviour may visit forever, a step with a cost in a loop, or a state with the worst cost.
    """


_WORSE = (Reach.NEVER, Reach.UNBOUNDED, Reach.BOUNDED)


def summary(prop: Property, constants: Constants, findings: list[BehaviourFinding]) -> PropertyResult:
    """Return the worst verdict over all arguments.

    If several findings are equally bad, the nearest is chosen; if several are equally near, the first of these is
    chosen. The nearest finding depends only on the graph, so every engine reports the same arguments. The length of the
    loop is not compared, because an engine need not find the shortest loop.
    """
    chosen = min(
        findings,
        key=lambda item: (_WORSE.index(item.reach), -(item.worst or 0), item.near),
        default=BehaviourFinding((), Reach.BOUNDED, 0, 0, None, vacuous=True),
    )
    vacuous = all(item.vacuous for item in findings)
    note = "no reachable state satisfies `when`, so the property is vacuous" if vacuous else ""
    values = {name: value for (name, _), value in zip(prop.behaviour.params, chosen.args, strict=False)}
    if prop.kind is Kind.LEADS_TO:
        verdict = Verdict.HOLDS if chosen.reach is Reach.BOUNDED else Verdict.VIOLATED
        return PropertyResult(
            prop.name, prop.kind, verdict, chosen.path, chosen.args, values, note=note, vacuous=vacuous
        )
    about = prop.behaviour
    bound = None if about.bound is None else about.bound.value(constants.values)
    kept = chosen.worst is not None and (bound is None or chosen.worst <= bound)
    # if `then` holds already, there is no path and no cost
    least = [item.best for item in findings if item.best is not None and item.path is not None]
    cost = Cost(chosen.reach, chosen.worst, min(least, default=chosen.best), about.unit, bound)
    verdict = Verdict.HOLDS if kept else Verdict.VIOLATED
    return PropertyResult(prop.name, prop.kind, verdict, chosen.path, chosen.args, values, cost, note, vacuous)


def with_behaviours(
    result: Result, properties: tuple[Property, ...], judge: Callable[[Property], PropertyResult]
) -> Result:
    """Add the verdicts on leads-to and at-most properties to the result, in the requested order. These properties are
    checked on the complete state graph, so they are undetermined if the search is unfinished.
    """
    known = {item.name: item for item in result.properties}
    try:
        for prop in properties:
            if prop.kind.over_behaviours:
                known[prop.name] = judge(prop) if result.complete else undetermined(prop)
    except DomainError as error:
        return beside_error(error, result, properties, known)
    return replace(result, properties=tuple(known[prop.name] for prop in properties))


def beside_error(
    error: DomainError, result: Result, properties: tuple[Property, ...], known: Mapping[str, PropertyResult]
) -> Result:
    """Return the result with the verdicts that were already `known` when a leads-to or at-most property raised an
    error. If no property is violated, raise the error.
    """
    found = {item.name: undetermined(item) for item in properties}
    found |= {item.name: item for item in result.properties} | dict(known)
    if not any(item.verdict is Verdict.VIOLATED for item in found.values()):
        raise error
    judged = tuple(found[item.name] for item in properties)
    return replace(result, complete=False, why_stopped=LEFT, properties=judged, problems=(model_error(error),))
