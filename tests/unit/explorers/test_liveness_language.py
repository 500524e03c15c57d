"""The parts of leads-to and at-most properties; engines agree with brute force on many random graphs."""

import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain, combinations
from typing import Any

import pytest
from fencepost.explorers.liveness.reference import judge
from fencepost.explorers.native.compile import Kernels, compiled
from fencepost.explorers.program.subset.program import check
from fencepost.explorers.search import search as native
from fencepost.explorers.verdict import Options, PropertyResult, Reach, Verdict
from fencepost.model.language import Fairness, Property, action, at_most, leads_to, strong, weak
from fencepost.model.language.errors import ModelError
from fencepost.model.language.interpreter import Interpreter

from tests.helpers.written import machine_of
from tests.machines import maze
from tests.machines.grid import MACHINE as GRID
from tests.machines.maze import MACHINE, NODES, C, Node, State, a, d
from tests.machines.maze import is_at as at


def made(**more: Any) -> Any:
    return leads_to(**{"name": "comes", "sentence": "It comes.", "when": maze.when, "then": maze.then, **more})


def paid(costs: Any) -> Property:
    return at_most("x", "y", when=maze.when, then=maze.then, costs=costs)


def moves(s: State, c: C) -> bool:
    s.at = 0
    return True


@action(m=Node)
def numbered(s: State, c: C, m: int) -> None:
    """Take a number where others take a message."""


MIXED = replace(MACHINE, actions=(*MACHINE.actions, numbered))

TWO_BAGS = """
class Flat(Record):
    at: Annotated[int, Range(0, 1)]
class Deep(Record):
    flat: Flat
class State(Record):
    flat: Annotated[Bag[Flat], Size(1)]
    deep: Annotated[Bag[Deep], Size(1)]
    got: bool
@action(m=InFlight("flat"))
def spin(s, c, m):
    require(not s.got)
@action(m=InFlight("deep"))
def take(s, c, m):
    require(not s.got)
    s.got = True
def has(s, c):
    return s.got
MACHINE = Machine("two-bags", "Two bags.", State, C, initial, (spin, take))
TOGETHER = eventually("ends", "It is taken.", then=has, fair=(weak(spin, take, each="m"),))
PROPERTIES = (TOGETHER,)
"""
REFUSALS: list[tuple[Any, str]] = [
    (weak, r"was given no action: name the actions"),
    (lambda: weak(a, each="too"), r"has no parameter 'too'. Did you mean 'to'\? Its parameters are: to."),
    (lambda: strong(a, each="to.at"), r"only a message has fields"),
    (lambda: made(fair=(a,)), r"`fair` has .*: write weak\(...\) or strong\(...\) there"),
    (lambda: made(without=(maze.when,)), r"`without` has .*: write an action there"),
    (lambda: made(then=None), r"`then` is None, not a function: name a function, as in then=is_done"),
    (lambda: made(when=at), r"parameters of `when` after state and constants are \['node'\]"),
    (lambda: made(when=at, then=at, broker=Node), r"name the same parameters, in the same order"),
    (lambda: made(when=at, then=at, node=3), r"3 is not a domain for parameter 'node'"),
    (lambda: paid({a: 0.5}), r"the cost of a is 0.5: expected a whole number"),
    (lambda: paid({"a": 1}), r"`costs` has 'a', which is not an action"),
    (lambda: check(MACHINE, (made(then=moves),)), r"property 'comes' changes the state"),
    (lambda: check(MACHINE, (made(fair=(weak(d, each="m.to"),)),)),
        r"the message 'm' has no field 'to' .*Write one of: at."),
    (lambda: check(MACHINE, (made(fair=(weak(GRID.actions[0]),)),)),
        r"machine 'maze' has no action '.*'. The actions are: a, b, d."),
    (lambda: check(MIXED, (made(fair=(weak(d, numbered, each="m"),)),)),
        (r"'m' is a message of class Token in d, and a number in "
        r"numbered, which are never equal. Give each action its own fairness constraint")),
    (lambda: machine_of(TWO_BAGS), r"'m' is a message of class Flat in spin, and a message of class Deep in take"),
    (lambda: check(MACHINE, (made(without=(GRID.actions[0],)),)), r"machine 'maze' has no action"),
    (lambda: check(MACHINE, (paid({GRID.actions[0]: 1}),)), r"machine 'maze' has no action"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "message"), REFUSALS)
def test_what_cannot_be_meant_is_refused(make: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        make()


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
        subsets = chain.from_iterable(
            combinations(sorted(self.inside), size) for size in range(1, len(self.inside) + 1)
        )
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
            changing = [
                step
                for step in self.steps
                if step[0] != step[2] and promise.names(step[1], step[0], step[2]) is not None
            ]
            for name in {promise.names(kind, n, t) for n, kind, t in changing}:
                own = [(n, t) for n, kind, t in changing if promise.names(kind, n, t) == name]
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


ACTIONS = {"a": maze.a, "b": maze.b, "d": maze.d}
GRAPHS = 2000
BLOCKS = [pytest.param(block, marks=[pytest.mark.long] if block else []) for block in range(16)]
"""Every sixteenth graph is in a block; one is always tested."""


class Question:
    """A random graph with random marks, fairness, costs, and actions that are left out."""

    def __init__(self, seed: int) -> None:
        draw = random.Random(seed)  # noqa: S311 (no secret)
        density = draw.choice((0.08, 0.15, 0.25, 0.4))

        def nodes(share: float) -> int:
            return sum(1 << node for node in range(NODES) if draw.random() < share)

        self.values = {f"{kind}{node}": nodes(density) for kind in KINDS for node in range(NODES)}
        self.values |= {"starts": nodes(0.3) or 1, "when": nodes(0.5), "then": nodes(0.25)}
        self.promises = [self._promise(draw) for _ in range(draw.randint(0, 4))]
        self.without = draw.choice(("", "", "", "b"))
        self.costs = {kind: draw.choice((0, 0, 1, 5)) for kind in draw.sample(KINDS, draw.randint(0, 3))}
        self.bound = draw.choice((None, 0, 3, 10))

    @staticmethod
    def _promise(draw: random.Random) -> Promise:
        kinds = "".join(draw.sample(KINDS, draw.choice((1, 1, 2, 3))))
        return Promise(
            draw.random() < 0.5, kinds, source=kinds == "d" and draw.random() < 0.4, target=draw.random() < 0.4
        )

    def asked(self, names: str, **about: Any) -> tuple[Property, Property]:
        """Return the same question as properties of the machine: whether it comes there, and at what cost."""
        about["fair"] = tuple(map(_fairness, self.promises))
        costs = {ACTIONS[kind]: cost for kind, cost in self.costs.items()}
        comes, pays = names.split()
        return (
            leads_to(comes, "It comes there.", **about),
            at_most(pays, "It comes there in time.", costs=costs, bound=self.bound, **about),
        )

    @property
    def properties(self) -> tuple[Property, Property]:
        without = tuple(ACTIONS[kind] for kind in self.without)
        return self.asked("leads costs", when=maze.when, then=maze.then, without=without)

    @property
    def properties_of_each(self) -> tuple[Property, Property]:
        return self.asked("comes pays", when=maze.sets_out, then=maze.is_at, node=maze.Node)

    def agrees(self, properties: Iterable[PropertyResult]) -> None:
        found_by_name = {item.name: item for item in properties}
        graph = Maze(self.values, self.without)
        lasts = graph.lasts(self.promises)
        leads, costs = found_by_name["leads"], found_by_name["costs"]
        assert (leads.verdict is Verdict.VIOLATED) == lasts
        assert (leads.path is not None) == lasts
        most, least = graph.costs(self.costs)
        found = costs.cost
        assert (found.reach is Reach.NEVER) == lasts
        if not lasts:
            assert found.worst == most
            assert (found.reach is Reach.UNBOUNDED) == (most is None)
        assert found.best == least
        kept = not lasts and most is not None and (self.bound is None or most <= self.bound)
        assert (costs.verdict is Verdict.HOLDS) == kept
        assert kept or costs.path is not None


def _fairness(promise: Promise) -> Fairness:
    make = strong if promise.strong else weak
    each = ("m.at",) * promise.source + ("to",) * promise.target
    return make(*(ACTIONS[kind] for kind in promise.kinds), each=each)


@cache
def kernels() -> Kernels:
    """Return the kernels for all graphs, which are constants of one machine."""
    return compiled(MACHINE, MACHINE.set_constants({}), ())


def searched(question: Question, properties: tuple[Property, ...]) -> tuple[PropertyResult, ...]:
    constants = MACHINE.set_constants(question.values)
    return native(MACHINE, constants, properties, Options(workers=1), kernels=kernels()).properties


def _judged(question: Question, properties: tuple[Property, ...]) -> list[PropertyResult]:
    plain = Interpreter(MACHINE, MACHINE.set_constants(question.values))
    starts = plain.initial_states()
    graph = {}
    waiting = list(starts)
    for key in waiting:
        graph[key] = list(plain.transitions(key))
        waiting += [item.after for item in graph[key] if item.after not in waiting]
    return [judge(plain, graph, starts, prop) for prop in properties]


@pytest.mark.xdist_group("maze")
@pytest.mark.parametrize("judge", [pytest.param(searched, marks=pytest.mark.long), _judged])
@pytest.mark.parametrize("block", BLOCKS)
def test_native_engine_and_reference_say_what_brute_force_says(block: int, judge: Any) -> None:
    for question in map(Question, range(block, GRAPHS, len(BLOCKS))):
        question.agrees(judge(question, question.properties))


@pytest.mark.long
@pytest.mark.xdist_group("maze")
def test_engines_name_the_same_of_several_nodes_that_are_never_reached() -> None:
    named = set()
    for question in map(Question, range(30)):
        found, expected = (ask(question, question.properties_of_each) for ask in (searched, _judged))
        assert [(item.name, item.verdict, item.args, item.cost) for item in found] == [
            (item.name, item.verdict, item.args, item.cost) for item in expected
        ], question.values
        named |= {item.args for item in found if item.verdict is Verdict.VIOLATED}
    assert len(named) > 3
