"""Mistakes of young liveness checkers, one trap a test, on graphs of at most five nodes.

A graph is written as `kind from>to`: `a 0>1` is a step of kind a from node 0 to node 1. The walk begins at node 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from fencepost.explorers.plain import search as plain
from fencepost.explorers.search import search as native
from fencepost.explorers.verdict import Options, PropertyResult, Reach, Verdict
from fencepost.model.language import at_most, eventually, leads_to, strong, weak
from fencepost.model.language.errors import DomainError

from tests.machines import maze
from tests.machines.maze import MACHINE, a, b, d

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fencepost.explorers.verdict import Result
    from fencepost.model.language import Fairness, Property

    Engine = Callable[..., Result]

ENGINES = {"plain": plain, "native": native}


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Engine:
    """Return a search of each engine."""
    return ENGINES[request.param]


def constants(graph: str, when: Iterable[int], then: Iterable[int], starts: Iterable[int] = (0,)) -> Any:
    """Return the constants that draw a graph."""
    values: dict[str, int] = {
        name: sum(1 << n for n in nodes) for name, nodes in (("when", when), ("then", then), ("starts", starts))
    }
    for step in filter(None, map(str.strip, graph.split(","))):
        kind, source, target = step[0], int(step[2]), int(step[4])
        values[f"{kind}{source}"] = values.get(f"{kind}{source}", 0) | 1 << target
    return MACHINE.set_constants(values)


def ask(
    engine: Engine, graph: str, prop: Property, *, when: Iterable[int] = (0,), then: Iterable[int] = (4,), **more: Any
) -> PropertyResult:
    """Return what an engine says of a property on a graph."""
    return engine(MACHINE, constants(graph, when, then, **more), (prop,), Options(workers=1)).of(prop.name)


def comes(*fair: Fairness, without: tuple[Any, ...] = ()) -> Property:
    """Return the property that a node with `when` is followed by one with `then`."""
    return leads_to("comes", "It comes there.", when=maze.when, then=maze.then, fair=fair, without=without)


def costs(*fair: Fairness, bound: int | None = None, without: tuple[Any, ...] = (), **each: int) -> Property:
    """Return the property that the way from `when` to `then` costs at most `bound`."""
    charged = {{"a": a, "b": b, "d": d}[kind]: cost for kind, cost in each.items()}
    about: dict[str, Any] = {"when": maze.when, "then": maze.then, "fair": fair, "without": without}
    return at_most("costs", "It comes there in time.", costs=charged, bound=bound, unit="ms", **about)


def nodes(found: PropertyResult) -> list[int]:
    """Return the nodes of a path."""
    assert found.path is not None
    return [state[0] for state in found.path.states]


def loop(found: PropertyResult) -> list[int]:
    """Return the nodes of the loop, the first one twice."""
    assert found.path is not None
    return nodes(found)[found.path.loop :]


def test_without_fairness_the_system_may_stop_at_once(engine: Engine) -> None:
    found = ask(engine, "a 0>4", comes())
    assert (found.verdict, nodes(found), loop(found)) == (Verdict.VIOLATED, [0], [0])


def test_what_stays_enabled_happens_under_weak_fairness(engine: Engine) -> None:
    assert ask(engine, "a 0>1, a 1>4", comes(weak(a))).verdict is Verdict.HOLDS


def test_then_may_come_with_when(engine: Engine) -> None:
    assert ask(engine, "a 0>1", comes(), when=[0], then=[0]).verdict is Verdict.HOLDS


def test_a_state_without_successors_is_a_stuck_end(engine: Engine) -> None:
    found = ask(engine, "a 0>1, a 0>4", comes(strong(a)))
    assert (found.verdict, nodes(found), loop(found)) == (Verdict.VIOLATED, [0, 1], [1])


def test_a_fair_action_that_is_disabled_again_and_again_need_not_happen_under_weak_fairness(engine: Engine) -> None:
    graph = "b 0>1, b 1>0, a 0>4"
    found = ask(engine, graph, comes(weak(a), weak(b)))
    assert (found.verdict, loop(found)) == (Verdict.VIOLATED, [0, 1, 0])
    assert ask(engine, graph, comes(strong(a), weak(b))).verdict is Verdict.HOLDS


def test_strong_fairness_asks_nothing_of_what_stays_disabled(engine: Engine) -> None:
    found = ask(engine, "a 0>4, b 0>1, d 1>2, d 2>1", comes(strong(a), strong(d)))
    assert (found.verdict, sorted(set(loop(found)))) == (Verdict.VIOLATED, [1, 2])


def test_a_step_to_the_same_state_keeps_no_promise(engine: Engine) -> None:
    assert ask(engine, "a 0>0, a 0>4", comes(weak(a))).verdict is Verdict.HOLDS


def test_an_action_that_can_only_stay_is_not_enabled(engine: Engine) -> None:
    found = ask(engine, "a 0>0, b 0>4", comes(weak(a)))
    assert (found.verdict, loop(found)) == (Verdict.VIOLATED, [0])


def test_a_loop_that_is_not_reached_is_no_counterexample(engine: Engine) -> None:
    assert ask(engine, "a 0>4, b 1>2, b 2>1", comes(weak(a), weak(b))).verdict is Verdict.HOLDS


def test_a_loop_behind_then_is_no_counterexample(engine: Engine) -> None:
    assert ask(engine, "a 0>4, b 4>1, b 1>2, b 2>1", comes(weak(a))).verdict is Verdict.HOLDS


def test_a_loop_before_when_is_no_counterexample(engine: Engine) -> None:
    assert ask(engine, "b 0>1, b 1>0, a 1>2, a 2>4", comes(weak(a)), when=[2]).verdict is Verdict.HOLDS


def test_when_may_hold_again_after_then(engine: Engine) -> None:
    found = ask(engine, "a 0>4, b 4>1", comes(weak(a), weak(b)), when=[0, 1])
    assert (found.verdict, nodes(found), loop(found)) == (Verdict.VIOLATED, [0, 4, 1], [1])


def test_the_way_to_when_may_go_through_then(engine: Engine) -> None:
    found = ask(engine, "a 0>4, a 4>1", comes(), when=[1])
    assert (found.verdict, nodes(found)) == (Verdict.VIOLATED, [0, 4, 1])


def test_a_loop_must_keep_all_promises_at_once(engine: Engine) -> None:
    """Two loops share a node, and each breaks the promise that the other keeps: the counterexample goes round both."""
    found = ask(engine, "a 0>1, b 1>0, d 0>2, b 2>0, b 0>4", comes(strong(a), strong(d), weak(b)))
    assert found.verdict is Verdict.VIOLATED
    assert set(loop(found)) == {0, 1, 2}


def test_promises_that_break_each_other_leave_no_counterexample(engine: Engine) -> None:
    graph = "a 0>1, b 1>0, d 1>4"
    assert ask(engine, graph, comes(weak(a), strong(d))).verdict is Verdict.HOLDS
    assert ask(engine, graph, comes(weak(a), weak(d), weak(b))).verdict is Verdict.VIOLATED


def test_a_smaller_loop_may_be_fair_where_the_larger_is_not(engine: Engine) -> None:
    """All of 0, 1, 2 breaks the promise of d, which only node 2 enables; staying between 0 and 1 does not."""
    found = ask(engine, "a 0>1, a 1>0, b 1>2, b 2>0, d 2>4", comes(strong(d), weak(a)))
    assert (found.verdict, set(loop(found))) == (Verdict.VIOLATED, {0, 1})


def test_strong_fairness_is_looked_at_again_after_states_are_taken_away(engine: Engine) -> None:
    """Without node 2, where d is enabled, b happens no more, though node 1 enables it."""
    found = ask(engine, "a 0>1, a 1>0, b 1>2, a 2>0, d 2>4", comes(strong(d), strong(b), weak(a)))
    assert found.verdict is Verdict.HOLDS


def test_a_group_is_kept_by_any_of_its_actions(engine: Engine) -> None:
    graph = "a 0>1, a 1>0, b 0>4"
    assert ask(engine, graph, comes(strong(a, b))).verdict is Verdict.VIOLATED
    assert ask(engine, graph, comes(strong(a), strong(b))).verdict is Verdict.HOLDS


def test_each_value_of_a_parameter_has_its_own_promise(engine: Engine) -> None:
    graph = "a 0>1, a 1>0, a 0>4"
    assert ask(engine, graph, comes(strong(a))).verdict is Verdict.VIOLATED
    assert ask(engine, graph, comes(strong(a, each="to"))).verdict is Verdict.HOLDS


def test_each_value_is_told_apart_across_the_actions_of_a_group(engine: Engine) -> None:
    graph = "a 0>1, a 1>0, b 0>4"
    assert ask(engine, graph, comes(strong(a, b, each="to"))).verdict is Verdict.HOLDS


def test_each_field_of_a_message_has_its_own_promise(engine: Engine) -> None:
    """Handling the message of node 0 does not make up for never handling that of node 1."""
    graph = "d 0>1, a 1>0, d 1>4"
    assert ask(engine, graph, comes(strong(d))).verdict is Verdict.VIOLATED
    assert ask(engine, graph, comes(strong(d, each="m.at"))).verdict is Verdict.HOLDS
    assert ask(engine, graph, comes(strong(d, each="m"))).verdict is Verdict.HOLDS


def test_a_weak_promise_is_pressed_by_different_values_in_turn(engine: Engine) -> None:
    """Action a is enabled all the time, as a whole: with another parameter in each node, and no value all the time."""
    graph = "b 0>1, b 1>0, a 0>4, a 1>3, a 3>4"
    assert ask(engine, graph, comes(weak(a), weak(b))).verdict is Verdict.HOLDS
    assert ask(engine, graph, comes(weak(a, each="to"), weak(b))).verdict is Verdict.VIOLATED


def test_what_is_left_out_cannot_help(engine: Engine) -> None:
    graph = "a 0>1, b 1>4"
    assert ask(engine, graph, comes(weak(a), weak(b))).verdict is Verdict.HOLDS
    found = ask(engine, graph, comes(weak(a), weak(b), without=(b,)))
    assert (found.verdict, nodes(found), loop(found)) == (Verdict.VIOLATED, [0, 1], [1])


def test_what_is_left_out_cannot_harm(engine: Engine) -> None:
    assert ask(engine, "a 0>4, b 0>1", comes(weak(a))).verdict is Verdict.VIOLATED
    assert ask(engine, "a 0>4, b 0>1", comes(weak(a), without=(b,))).verdict is Verdict.HOLDS


def test_what_is_left_out_may_happen_before_when(engine: Engine) -> None:
    found = ask(engine, "b 0>1, b 1>4", comes(weak(b), without=(b,)), when=[1])
    assert (found.verdict, nodes(found)) == (Verdict.VIOLATED, [0, 1])


def test_a_promise_about_what_is_left_out_says_nothing(engine: Engine) -> None:
    found = ask(engine, "b 0>4, a 0>1, a 1>0", comes(strong(b), weak(a), without=(b,)))
    assert found.verdict is Verdict.VIOLATED


def test_every_initial_state_counts(engine: Engine) -> None:
    prop = eventually("comes", "It comes there.", then=maze.then, fair=(weak(a),))
    assert ask(engine, "a 0>4, b 4>1", prop, starts=[0]).verdict is Verdict.HOLDS
    assert nodes(ask(engine, "a 0>4, b 4>1", prop, starts=[0, 1])) == [1]


def test_the_shortest_way_to_a_loop_is_shown(engine: Engine) -> None:
    found = ask(engine, "a 0>1, a 1>2, a 2>3, b 3>2, b 0>3, d 2>4", comes(weak(a), weak(b)))
    assert nodes(found)[:2] == [0, 3]


def test_nothing_is_said_where_when_never_holds(engine: Engine) -> None:
    found = ask(engine, "a 0>1", comes(), when=[3])
    assert found.verdict is Verdict.HOLDS
    assert "says nothing" in found.note


def test_an_unfinished_search_says_nothing(engine: Engine) -> None:
    made = comes(weak(a))
    result = engine(MACHINE, constants("a 0>1, a 1>4", [0], [4]), (made,), Options(workers=1, max_depth=2))
    assert (result.verdict, result.of("comes").verdict) == (Verdict.UNDETERMINED, Verdict.UNDETERMINED)


# -- what it may cost


def test_the_worst_way_is_the_dearest(engine: Engine) -> None:
    found = ask(engine, "a 0>1, a 1>4, b 0>4", costs(weak(a), weak(b), a=3, b=5))
    assert (found.verdict, found.cost.worst, found.cost.best, nodes(found)) == (Verdict.HOLDS, 6, 5, [0, 1, 4])
    assert found.path is not None
    assert found.path.loop is None


def test_a_bound_that_is_met_holds_and_one_that_is_passed_does_not(engine: Engine) -> None:
    graph = "a 0>1, a 1>4"
    assert ask(engine, graph, costs(weak(a), bound=6, a=3)).verdict is Verdict.HOLDS
    found = ask(engine, graph, costs(weak(a), bound=5, a=3))
    assert (found.verdict, found.cost.text, nodes(found)) == (Verdict.VIOLATED, "6 ms", [0, 1, 4])


def test_a_loop_that_costs_makes_the_cost_unbounded_though_it_is_left_in_the_end(engine: Engine) -> None:
    found = ask(engine, "b 0>1, b 1>0, a 0>4", costs(strong(a), weak(b), b=1))
    assert found.cost is not None
    assert (found.verdict, found.cost.reach, found.cost.worst, loop(found)) == (
        Verdict.VIOLATED,
        Reach.UNBOUNDED,
        None,
        [0, 1, 0],
    )


def test_a_loop_that_costs_nothing_does_no_harm_if_it_is_left(engine: Engine) -> None:
    found = ask(engine, "b 0>1, b 1>0, a 0>4", costs(strong(a), weak(b), a=2))
    assert found.cost is not None
    assert (found.verdict, found.cost.worst) == (Verdict.HOLDS, 2)


def test_a_step_to_the_same_state_may_cost_for_ever(engine: Engine) -> None:
    found = ask(engine, "b 0>0, a 0>4", costs(weak(a), b=1))
    assert found.cost is not None
    assert (found.cost.reach, loop(found)) == (Reach.UNBOUNDED, [0, 0])


def test_a_fair_way_never_to_arrive_comes_before_any_cost(engine: Engine) -> None:
    found = ask(engine, "b 0>1, a 0>4", costs(weak(a), b=1))
    assert found.cost is not None
    assert (found.verdict, found.cost.reach, found.cost.best, nodes(found)) == (
        Verdict.VIOLATED,
        Reach.NEVER,
        0,
        [0, 1],
    )


def test_costs_end_with_the_first_then(engine: Engine) -> None:
    found = ask(engine, "a 0>4, b 4>3, b 3>4", costs(weak(a), a=1, b=9))
    assert found.cost is not None
    assert found.cost.worst == 1


def test_costs_before_when_do_not_count(engine: Engine) -> None:
    found = ask(engine, "b 0>1, b 1>2, a 2>4", costs(weak(a), a=1, b=9), when=[2])
    assert found.cost is not None
    assert (found.cost.worst, nodes(found)) == (1, [0, 1, 2, 4])


def test_a_step_that_is_left_out_costs_nothing(engine: Engine) -> None:
    found = ask(engine, "b 0>1, a 1>4, a 0>4", costs(weak(a), a=1, b=9, without=(b,)))
    assert found.cost is not None
    assert found.cost.worst == 1


def test_where_then_comes_with_when_nothing_is_paid(engine: Engine) -> None:
    found = ask(engine, "a 0>1, a 1>0", costs(a=1), when=[0, 1], then=[0, 1])
    assert found.cost is not None
    assert (found.verdict, found.cost.worst, found.cost.best) == (Verdict.HOLDS, 0, 0)


def leaps(before: maze.State, after: maze.State, c: maze.C) -> int:
    """Return how many nodes a step skips."""
    return max(after.at - before.at, 0) - 1 if after.at > before.at else 0


def test_a_cost_may_be_a_function_of_the_states_before_and_after(engine: Engine) -> None:
    prop = at_most(
        "costs", "No node is skipped.", costs=leaps, bound=0, when=maze.when, then=maze.then, fair=(weak(a),)
    )
    found = ask(engine, "a 0>1, a 1>4, a 0>3, a 3>4", prop)
    assert found.cost is not None
    assert (found.verdict, found.cost.worst) == (Verdict.VIOLATED, 2)


# -- costs as large as numbers get

LARGE = 2**62 - 1
"""Two of it fit 64 bits, three do not."""
TOO_LARGE = "a way costs 2\\*\\*63 - 1 or more, which the native engine cannot add up in 64 bits"


def large(before: maze.State, after: maze.State, c: maze.C) -> int:
    """Return the same large cost for each step."""
    return LARGE


BY_FUNCTION = at_most(
    "costs", "It is cheap.", costs=large, bound=LARGE, when=maze.when, then=maze.then, fair=(weak(a),)
)


def test_large_costs_that_fit_are_told_exactly(engine: Engine) -> None:
    for prop in (costs(weak(a), bound=LARGE, a=LARGE), BY_FUNCTION):
        found = ask(engine, "a 0>1, a 1>4", prop)
        assert found.cost is not None
        assert (found.verdict, found.cost.worst, found.cost.best) == (Verdict.VIOLATED, 2 * LARGE, 2 * LARGE)


@pytest.mark.parametrize("prop", [costs(weak(a), bound=LARGE, a=LARGE), BY_FUNCTION, costs(weak(a), a=2**70)])
def test_a_worst_cost_that_does_not_fit_64_bits_is_never_told_wrong(prop: Property) -> None:
    graph = "a 0>1, a 1>2, a 2>4"
    found = ask(plain, graph, prop)
    assert found.cost is not None
    assert (found.cost.worst or 0) >= 3 * LARGE
    with pytest.raises(DomainError, match=f"property 'costs': {TOO_LARGE}"):
        ask(native, graph, prop)


def test_a_least_cost_that_does_not_fit_64_bits_is_never_told_wrong() -> None:
    graph, prop = "a 0>1, a 1>2, a 2>4", costs(a=LARGE)
    found = ask(plain, graph, prop)
    assert found.cost is not None
    assert (found.cost.reach, found.cost.best) == (Reach.NEVER, 3 * LARGE)
    with pytest.raises(DomainError, match=TOO_LARGE):
        ask(native, graph, prop)


def test_the_least_cost_is_right_beside_a_way_whose_cost_does_not_fit(engine: Engine) -> None:
    for cost in (2**63 - 1, 2**70):
        found = ask(engine, "a 0>1, d 1>2, a 2>4, a 1>3, a 3>4", costs(a=1, d=cost))
        assert found.cost is not None
        assert (found.cost.reach, found.cost.best) == (Reach.NEVER, 3)


def test_a_cost_that_does_not_fit_64_bits_does_no_harm_where_nobody_pays_it(engine: Engine) -> None:
    found = ask(engine, "a 0>4, b 4>1", costs(weak(a), a=3, b=2**70))
    assert found.cost is not None
    assert (found.verdict, found.cost.worst, found.cost.best) == (Verdict.HOLDS, 3, 3)


def shifted(before: maze.State, after: maze.State, c: maze.C) -> int:
    """Return what does not fit 64 bits where a step leads to node 4, and raises an error elsewhere."""
    return 1 << (70 if after.at == 4 else -1 - before.at)


@pytest.mark.parametrize("start", range(4))
def test_a_cost_that_does_not_fit_64_bits_is_told_as_such_beside_costs_that_go_wrong_where_nobody_pays_them(
    start: int,
) -> None:
    prop = at_most("costs", "It is cheap.", costs=shifted, when=maze.when, then=maze.then, fair=(weak(a),))
    others = [node for node in range(4) if node != start]
    graph = ", ".join(
        [f"a {start}>4", *(f"b {source}>{target}" for source, target in zip([4, *others], others, strict=False))]
    )
    found = ask(plain, graph, prop, when=[start], starts=[start])
    assert found.cost is not None
    assert (found.verdict, found.cost.worst) == (Verdict.HOLDS, 2**70)
    with pytest.raises(DomainError, match="a shift or a product does not fit 64 bits"):
        ask(native, graph, prop, when=[start], starts=[start])


# -- costs below 0

BELOW: Any = maze.C.starts - 5
"""A sum of constants: -4 where the walk begins at node 0."""


def test_a_negative_cost_is_an_error_where_it_is_paid(engine: Engine) -> None:
    for graph in ("a 0>1, b 1>4", "a 0>1, b 1>2, b 2>4", "b 0>1"):
        with pytest.raises(DomainError, match=r"property 'costs': b to=\d costs -4: a cost is 0 or more"):
            ask(engine, graph, costs(weak(a), weak(b), a=1, b=BELOW))


@pytest.mark.parametrize(("graph", "when"), [("a 0>4", 0), ("a 0>4, b 4>1", 0), ("b 0>1, a 1>4", 1)])
def test_a_negative_cost_is_no_error_where_nobody_pays_it(engine: Engine, graph: str, when: int) -> None:
    found = ask(engine, graph, costs(weak(a), a=1, b=BELOW), when=[when])
    assert found.cost is not None
    assert (found.verdict, found.cost.worst, found.cost.best) == (Verdict.HOLDS, 1, 1)


def test_a_negative_cost_of_a_step_that_is_left_out_is_no_error(engine: Engine) -> None:
    found = ask(engine, "b 0>1, a 0>4", costs(weak(a), a=1, b=BELOW, without=(b,)))
    assert found.cost is not None
    assert (found.verdict, found.cost.worst, found.cost.best) == (Verdict.HOLDS, 1, 1)
