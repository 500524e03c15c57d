"""The engines agree with brute force on hundreds of random graphs with random fairness, on thousands with `tox -e
long`.
"""

import random
from functools import cache
from typing import Any

import pytest
from fencepost.explorers.liveness.reference import judge
from fencepost.explorers.native.compile import Kernels, compiled
from fencepost.explorers.search import search as native
from fencepost.explorers.verdict import Options, PropertyResult, Reach, Verdict
from fencepost.model.language import Fairness, Property, at_most, leads_to, strong, weak
from fencepost.model.language.interpreter import Interpreter

from tests.helpers.brute import KINDS, Maze, Promise
from tests.machines import maze
from tests.machines.maze import MACHINE, NODES

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

    @property
    def properties(self) -> tuple[Property, Property]:
        """The same question as properties of the machine."""
        about: dict[str, Any] = {
            "when": maze.when,
            "then": maze.then,
            "fair": tuple(map(_fairness, self.promises)),
            "without": tuple(ACTIONS[kind] for kind in self.without),
        }
        costs = {ACTIONS[kind]: cost for kind, cost in self.costs.items()}
        return (
            leads_to("leads", "It comes there.", **about),
            at_most("costs", "It comes there in time.", costs=costs, bound=self.bound, **about),
        )

    @property
    def properties_of_each(self) -> tuple[Property, Property]:
        """Questions about each node: whether the walk comes there, and at what cost."""
        about: dict[str, Any] = {
            "when": maze.sets_out, "then": maze.is_at, "fair": tuple(map(_fairness, self.promises)), "node": maze.Node,
        }  # fmt: skip
        costs = {ACTIONS[kind]: cost for kind, cost in self.costs.items()}
        return (
            leads_to("comes", "The walk comes to each node.", **about),
            at_most("pays", "It comes to each node in time.", costs=costs, bound=self.bound, **about),
        )

    def agrees(self, found_by_name: dict[str, PropertyResult]) -> None:
        """Compare what an engine found with brute force."""
        graph = Maze(self.values, self.without)
        lasts = graph.lasts(self.promises)
        leads, costs = found_by_name["leads"], found_by_name["costs"]
        assert (leads.verdict is Verdict.VIOLATED) == lasts
        assert (leads.path is not None) == lasts
        most, least = graph.costs(self.costs)
        found = costs.cost
        assert found is not None
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


@pytest.mark.xdist_group("maze")
@pytest.mark.parametrize("block", BLOCKS)
def test_native_engine_says_what_brute_force_says(block: int) -> None:
    for seed in range(block, GRAPHS, len(BLOCKS)):
        question = Question(seed)
        result = native(
            MACHINE, MACHINE.set_constants(question.values), question.properties, Options(workers=1), kernels=kernels()
        )
        question.agrees({item.name: item for item in result.properties})


@pytest.mark.parametrize("block", BLOCKS)
def test_reference_says_what_brute_force_says(block: int) -> None:
    for seed in range(block, GRAPHS, len(BLOCKS)):
        question = Question(seed)
        question.agrees({item.name: item for item in _judged(question, question.properties)})


def _judged(question: Question, properties: tuple[Property, ...]) -> list[PropertyResult]:
    """Return the reference's results for a graph."""
    plain = Interpreter(MACHINE, MACHINE.set_constants(question.values))
    starts = plain.initial_states()
    graph = {}
    waiting = list(starts)
    for key in waiting:
        graph[key] = list(plain.transitions(key))
        waiting += [item.after for item in graph[key] if item.after not in waiting]
    return [judge(plain, graph, starts, prop) for prop in properties]


@pytest.mark.xdist_group("maze")
def test_engines_name_the_same_of_several_nodes_that_are_never_reached() -> None:
    named = set()
    for seed in range(30):
        question = Question(seed)
        expected = _judged(question, question.properties_of_each)
        constants = MACHINE.set_constants(question.values)
        found = native(
            MACHINE, constants, question.properties_of_each, Options(workers=1), kernels=kernels()
        ).properties
        assert [(item.name, item.verdict, item.args, item.cost) for item in found] == [
            (item.name, item.verdict, item.args, item.cost) for item in expected
        ], seed
        named |= {item.args for item in found if item.verdict is Verdict.VIOLATED}
    assert len(named) > 3
