"""Mistakes of young liveness checkers, one trap a row, on graphs of at most five nodes.

A graph is written as `kind from>to`: `a 0>1` is a step of kind a from node 0 to node 1. The walk begins at node 0.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import pytest
from fencepost.explorers.plain import search as plain
from fencepost.explorers.search import search as native
from fencepost.explorers.verdict import Options, PropertyResult, Reach, Result, Verdict
from fencepost.model.language import Fairness, Property, at_most, eventually, leads_to, strong, weak
from fencepost.model.language.errors import DomainError, UsageError

from tests.machines import maze
from tests.machines.maze import MACHINE, a, b, d

Engine = Callable[..., Result]

ENGINES = {"plain": plain, "native": native}
HOLDS, VIOLATED = Verdict.HOLDS, Verdict.VIOLATED


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Engine:
    return ENGINES[request.param]


def constants(graph: str, when: Iterable[int], then: Iterable[int], starts: Iterable[int] = (0,)) -> Any:
    values: dict[str, int] = {
        name: sum(1 << n for n in nodes) for name, nodes in (("when", when), ("then", then), ("starts", starts))
    }
    for step in filter(None, map(str.strip, graph.split(","))):
        kind, source, target = step[0], int(step[2]), int(step[4])
        values[f"{kind}{source}"] = values.get(f"{kind}{source}", 0) | 1 << target
    return MACHINE.set_constants(values)


def ask(engine: Engine, graph: str, prop: Property, **more: Any) -> PropertyResult:
    given = {"when": (0,), "then": (4,), **more}
    return engine(MACHINE, constants(graph, **given), (prop,), Options(workers=1)).of(prop.name)


def comes(*fair: Fairness, without: tuple[Any, ...] = ()) -> Property:
    return leads_to("comes", "It comes there.", when=maze.when, then=maze.then, fair=fair, without=without)


def costs(*fair: Fairness, bound: int | None = None, without: tuple[Any, ...] = (), **each: int) -> Property:
    charged = {{"a": a, "b": b, "d": d}[kind]: cost for kind, cost in each.items()}
    about: dict[str, Any] = {"when": maze.when, "then": maze.then, "fair": fair, "without": without}
    return at_most("costs", "It comes there in time.", costs=charged, bound=bound, unit="ms", **about)


def nodes(found: PropertyResult) -> list[int]:
    return [state[0] for state in found.path.states]


class Trap(NamedTuple):
    """A graph, a property, and the expected result: the nodes of the path and of its loop."""

    verdict: Verdict
    graph: str
    prop: Property
    nodes: list[int] | None = None
    loop: list[int] | set[int] | None = None
    about: dict[str, Any] | None = None
    found: dict[str, Any] | None = None  # the expected cost


def holds(graph: str, *fair: Fairness, without: tuple[Any, ...] = (), **about: Any) -> Trap:
    return Trap(HOLDS, graph, comes(*fair, without=without), about=about)


def fails(graph: str, *fair: Fairness, without: tuple[Any, ...] = (), **more: Any) -> Trap:
    shown = [more.pop(name, None) for name in ("nodes", "loop")]
    return Trap(VIOLATED, graph, comes(*fair, without=without), *shown, more)


FROM_ANY = eventually("comes", "It comes there.", then=maze.then, fair=(weak(a),))
ROUND = "b 0>1, b 1>0, a 0>4"
EACH_OTHER = "a 0>1, b 1>0, d 1>4"
TO_AND_FRO = "a 0>1, a 1>0, a 0>4"
BY_MESSAGE = "d 0>1, a 1>0, d 1>4"
IN_TURN = "b 0>1, b 1>0, a 0>4, a 1>3, a 3>4"
LEADS = {
    "without fairness the system may stop at once": fails("a 0>4", nodes=[0], loop=[0]),
    "what stays enabled happens under weak fairness": holds("a 0>1, a 1>4", weak(a)),
    "then may come with when": holds("a 0>1", when=[0], then=[0]),
    "a state without successors is a stuck end": fails("a 0>1, a 0>4", strong(a), nodes=[0, 1], loop=[1]),
    "what is disabled again and again need not happen under weak fairness": fails(
        ROUND, weak(a), weak(b), loop=[0, 1, 0]
    ),
    "and happens under strong fairness": holds(ROUND, strong(a), weak(b)),
    "strong fairness asks nothing of what stays disabled": fails(
        "a 0>4, b 0>1, d 1>2, d 2>1", strong(a), strong(d), loop={1, 2}
    ),
    "a step to the same state keeps no promise": holds("a 0>0, a 0>4", weak(a)),
    "an action that can only stay is not enabled": fails("a 0>0, b 0>4", weak(a), loop=[0]),
    "a loop that is not reached is no counterexample": holds("a 0>4, b 1>2, b 2>1", weak(a), weak(b)),
    "a loop behind then is no counterexample": holds("a 0>4, b 4>1, b 1>2, b 2>1", weak(a)),
    "a loop before when is no counterexample": holds("b 0>1, b 1>0, a 1>2, a 2>4", weak(a), when=[2]),
    "when may hold again after then": fails("a 0>4, b 4>1", weak(a), weak(b), when=[0, 1], nodes=[0, 4, 1], loop=[1]),
    "the way to when may go through then": fails("a 0>4, a 4>1", when=[1], nodes=[0, 4, 1]),
    "two loops share a node, each breaks the promise that the other keeps, and the path goes round both": fails(
        "a 0>1, b 1>0, d 0>2, b 2>0, b 0>4", strong(a), strong(d), weak(b), loop={0, 1, 2}
    ),
    "promises that break each other leave no counterexample": holds(EACH_OTHER, weak(a), strong(d)),
    "weaker promises leave one": fails(EACH_OTHER, weak(a), weak(d), weak(b)),
    "all of 0, 1, 2 breaks the promise of d, which node 2 enables, and staying between 0 and 1 does not": fails(
        "a 0>1, a 1>0, b 1>2, b 2>0, d 2>4", strong(d), weak(a), loop={0, 1}
    ),
    "without node 2, where d is enabled, b happens no more, though node 1 enables it": holds(
        "a 0>1, a 1>0, b 1>2, a 2>0, d 2>4", strong(d), strong(b), weak(a)
    ),
    "a group is kept by any of its actions": fails("a 0>1, a 1>0, b 0>4", strong(a, b)),
    "each alone is not": holds("a 0>1, a 1>0, b 0>4", strong(a), strong(b)),
    "all values of a parameter share a promise": fails(TO_AND_FRO, strong(a)),
    "each value has its own if asked": holds(TO_AND_FRO, strong(a, each="to")),
    "each value is told apart across the actions of a group": holds("a 0>1, a 1>0, b 0>4", strong(a, b, each="to")),
    "all messages share a promise": fails(BY_MESSAGE, strong(d)),
    "handling the message of node 0 does not make up for that of node 1": holds(BY_MESSAGE, strong(d, each="m.at")),
    "each message has its own promise": holds(BY_MESSAGE, strong(d, each="m")),
    "a is enabled all the time as a whole": holds(IN_TURN, weak(a), weak(b)),
    "and with no value all the time": fails(IN_TURN, weak(a, each="to"), weak(b)),
    "what is there can help": holds("a 0>1, b 1>4", weak(a), weak(b)),
    "what is left out cannot help": fails("a 0>1, b 1>4", weak(a), weak(b), without=(b,), nodes=[0, 1], loop=[1]),
    "what is there can harm": fails("a 0>4, b 0>1", weak(a)),
    "what is left out cannot harm": holds("a 0>4, b 0>1", weak(a), without=(b,)),
    "what is left out may happen before when": fails("b 0>1, b 1>4", weak(b), without=(b,), when=[1], nodes=[0, 1]),
    "a promise about what is left out says nothing": fails("b 0>4, a 0>1, a 1>0", strong(b), weak(a), without=(b,)),
    "a behaviour begins at the initial state": Trap(HOLDS, "a 0>4, b 4>1", FROM_ANY),
    "and at every one": Trap(VIOLATED, "a 0>4, b 4>1", FROM_ANY, [1], about={"starts": [0, 1]}),
}


def costly(graph: str, prop: Property, verdict: Verdict, /, nodes: Any = None, loop: Any = None, **more: Any) -> Trap:
    about = {name: more.pop(name) for name in ("when", "then") if name in more}
    return Trap(verdict, graph, prop, nodes, loop, about, more)


LARGE = 2**62 - 1  # two of it fit 64 bits, three do not
BELOW: Any = maze.C.starts - 5  # a sum of constants: -4 where the walk begins at node 0


def leaps(before: maze.State, after: maze.State, c: maze.C) -> int:
    """Return how many nodes a step skips."""
    return max(after.at - before.at, 0) - 1 if after.at > before.at else 0


def large(before: maze.State, after: maze.State, c: maze.C) -> int:
    return LARGE


def by_function(function: Any, bound: int | None = None) -> Property:
    about: dict[str, Any] = {"when": maze.when, "then": maze.then, "fair": (weak(a),)}
    return at_most("costs", "It is cheap.", costs=function, bound=bound, **about)


THREE = "a 0>1, a 1>2, a 2>4"
COSTS: dict[str, Trap] = {
    "the worst way is the dearest": costly("a 0>1, a 1>4, b 0>4", costs(weak(a), weak(b), a=3, b=5), HOLDS, [0, 1, 4],
        worst=6, best=5),
    "a bound that is met holds": costly("a 0>1, a 1>4", costs(weak(a), bound=6, a=3), HOLDS),
    "one that is passed does not": costly("a 0>1, a 1>4", costs(weak(a), bound=5, a=3), VIOLATED, [0, 1, 4],
        text="6 ms"),
    "a loop that costs makes the cost unbounded though it is left": costly(ROUND, costs(strong(a), weak(b), b=1),
        VIOLATED, loop=[0, 1, 0], reach=Reach.UNBOUNDED, worst=None),
    "a loop that costs nothing does no harm if it is left": costly(ROUND, costs(strong(a), weak(b), a=2), HOLDS,
        worst=2),
    "a step to the same state may cost for ever": costly("b 0>0, a 0>4", costs(weak(a), b=1), VIOLATED, loop=[0, 0],
        reach=Reach.UNBOUNDED),
    "a fair way never to arrive comes before any cost": costly("b 0>1, a 0>4", costs(weak(a), b=1), VIOLATED, [0, 1],
        reach=Reach.NEVER, best=0),
    "costs end with the first then": costly("a 0>4, b 4>3, b 3>4", costs(weak(a), a=1, b=9), HOLDS, worst=1),
    "costs before when do not count": costly("b 0>1, b 1>2, a 2>4", costs(weak(a), a=1, b=9), HOLDS, [0, 1, 2, 4],
        when=[2], worst=1),
    "a step that is left out costs nothing": costly("b 0>1, a 1>4, a 0>4", costs(weak(a), a=1, b=9, without=(b,)),
        HOLDS, worst=1),
    "where then comes with when nothing is paid": costly("a 0>1, a 1>0", costs(a=1), HOLDS, when=[0, 1], then=[0, 1],
        worst=0, best=0),
    "a cost may be a function of the states before and after": costly("a 0>1, a 1>4, a 0>3, a 3>4",
        by_function(leaps, 0), VIOLATED, worst=2),
    "large costs that fit are exact": costly("a 0>1, a 1>4", costs(weak(a), bound=LARGE, a=LARGE), VIOLATED,
        worst=2 * LARGE, best=2 * LARGE),
    "so are those of a function": costly("a 0>1, a 1>4", by_function(large, LARGE), VIOLATED, worst=2 * LARGE,
        best=2 * LARGE),
    "a cost that does not fit 64 bits does no harm where it is not paid": costly("a 0>4, b 4>1",
        costs(weak(a), a=3, b=2**70), HOLDS, worst=3, best=3),
    "nor of a step that is left out": costly("b 0>1, a 0>4", costs(weak(a), a=1, b=BELOW, without=(b,)), HOLDS, worst=1,
        best=1),
}  # fmt: skip
COSTS |= {
    f"the least cost is right beside a way that costs {cost}": costly(
        "a 0>1, d 1>2, a 2>4, a 1>3, a 3>4", costs(a=1, d=cost), VIOLATED, reach=Reach.NEVER, best=3
    )
    for cost in (2**63 - 1, 2**70)
} | {
    f"a negative cost is no error where it is not paid: {graph}": costly(
        graph, costs(weak(a), a=1, b=BELOW), HOLDS, when=[when], worst=1, best=1
    )
    for graph, when in (("a 0>4", 0), ("a 0>4, b 4>1", 0), ("b 0>1, a 1>4", 1))
}


@pytest.mark.parametrize("trap", [*LEADS.values(), *COSTS.values()], ids=[*LEADS, *COSTS])
def test_a_trap_is_seen(engine: Engine, trap: Trap) -> None:
    found = ask(engine, trap.graph, trap.prop, **(trap.about or {}))
    assert found.verdict is trap.verdict
    assert trap.nodes in (None, nodes(found) if found.path else [])
    if trap.loop is not None:
        loop = nodes(found)[found.path.loop :]
        assert trap.loop == (loop if isinstance(trap.loop, list) else {*loop})
    elif found.verdict is HOLDS:
        assert found.path is None or found.path.loop is None
    assert {name: getattr(found.cost, name) for name in trap.found or {}} == (trap.found or {})


def test_the_shortest_way_to_a_loop_is_shown(engine: Engine) -> None:
    found = ask(engine, "a 0>1, a 1>2, a 2>3, b 3>2, b 0>3, d 2>4", comes(weak(a), weak(b)))
    assert nodes(found)[:2] == [0, 3]


def test_nothing_is_said_where_when_never_holds(engine: Engine) -> None:
    found = ask(engine, "a 0>1", comes(), when=[3])
    assert found.verdict is HOLDS
    assert "vacuous" in found.note


TOO_LARGE = "property 'costs': a path costs 2\\*\\*63 - 1 or more, which the native engine cannot add up in 64 bits"


@pytest.mark.parametrize(
    ("prop", "name", "least"),
    [
        (costs(weak(a), bound=LARGE, a=LARGE), "worst", 3 * LARGE),
        (by_function(large, LARGE), "worst", 3 * LARGE),
        (costs(weak(a), a=2**70), "worst", 3 * 2**70),
        (costs(a=LARGE), "best", 3 * LARGE),
    ],
)
def test_a_cost_that_does_not_fit_64_bits_is_never_another(prop: Property, name: str, least: int) -> None:
    assert getattr(ask(plain, THREE, prop).cost, name) == least
    with pytest.raises(DomainError, match=TOO_LARGE):
        ask(native, THREE, prop)


def shifted(before: maze.State, after: maze.State, c: maze.C) -> int:
    """Return what does not fit 64 bits where a step leads to node 4, and raises an error elsewhere."""
    return 1 << (70 if after.at == 4 else -1 - before.at)


@pytest.mark.parametrize("start", range(4))
def test_a_cost_that_does_not_fit_64_bits_is_told_as_such_beside_errors_that_are_not_paid(start: int) -> None:
    others = [node for node in range(4) if node != start]
    steps = [f"b {source}>{target}" for source, target in zip([4, *others], others, strict=False)]
    graph = ", ".join([f"a {start}>4", *steps])
    found = ask(plain, graph, by_function(shifted), when=[start], starts=[start])
    assert (found.verdict, found.cost.worst) == (HOLDS, 2**70)
    with pytest.raises(DomainError, match="a shift or a product does not fit in the 64 bits"):
        ask(native, graph, by_function(shifted), when=[start], starts=[start])


def test_a_negative_cost_is_an_error_where_it_is_paid(engine: Engine) -> None:
    for graph in ("a 0>1, b 1>4", "a 0>1, b 1>2, b 2>4", "b 0>1"):
        with pytest.raises(DomainError, match=r"property 'costs': b to=\d costs -4, but a cost must be 0 or more"):
            ask(engine, graph, costs(weak(a), weak(b), a=1, b=BELOW))


def test_a_limit_below_0_is_refused_and_not_reported_as_violated_without_a_path(engine: Engine) -> None:
    with pytest.raises(UsageError, match="limits a cost to -1 with these constants"):
        ask(engine, "a 0>4", costs(weak(a), bound=-1, a=1))
