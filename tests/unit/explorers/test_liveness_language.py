"""The parts of leads-to and at-most properties, and refusals with what to write instead."""

from dataclasses import replace
from typing import Any

import pytest
from fencepost.explorers.program.subset.program import check
from fencepost.model.language import action, always, at_most, leads_to, strong, weak
from fencepost.model.language.errors import DomainError, ModelError
from fencepost.model.language.interpreter import Interpreter, Step

from tests.helpers.written import machine_of
from tests.machines import maze
from tests.machines.grid import MACHINE as GRID
from tests.machines.maze import MACHINE, C, Node, State, a, b, d


def made(**more: Any) -> Any:
    return leads_to(**{"name": "comes", "sentence": "It comes.", "when": maze.when, "then": maze.then, **more})


@always
def anything(s: State, c: C) -> bool:
    return True


def at(s: State, c: C, node: int) -> bool:
    return s.at == node


def moves(s: State, c: C) -> bool:
    s.at = 0
    return True


def less_than_nothing(before: State, after: State, c: C) -> int:
    """Return a negative cost."""
    return -1


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
    (weak, r"was given no action: name those"),
    (lambda: weak(maze.when), r"which is not an action: name functions"),
    (lambda: weak(a, each="too"), r"has no parameter 'too'. Did you mean 'to'\? Its parameters are: to."),
    (lambda: strong(a, each="to.at"), r"only a message has fields"),
    (lambda: made(fair=weak(a)), r"`fair` is .*: write a tuple, with its comma"),
    (lambda: made(fair=(a,)), r"`fair` has .*: write weak\(...\) or strong\(...\) there"),
    (lambda: made(without=(maze.when,)), r"`without` has .*: write an action there"),
    (lambda: made(when=anything), r"`when` is property 'anything': write a plain function"),
    (lambda: made(then=3), r"`then` is 3, not a function: name one, as in then=is_done"),
    (lambda: made(then=None), r"`then` is None, not a function: name one, as in then=is_done"),
    (lambda: made(when=at), r"parameters of `when` after state and constants are \['node'\]"),
    (lambda: made(when=at, then=at, broker=Node), r"name the same parameters, in the same order"),
    (lambda: made(when=at, then=at, node=3), r"3 is not a domain for parameter 'node'"),
    (lambda: at_most("x", "y", when=maze.when, then=maze.then, costs={a: 0.5}),
        r"the cost of a is 0.5: write a whole number"),
    (lambda: at_most("x", "y", when=maze.when, then=maze.then, costs={"a": 1}),
        r"`costs` has 'a', which is not an action"),
    (lambda: check(MACHINE, (made(then=moves),)), r"property 'comes' changes the state"),
    (lambda: check(MACHINE, (made(fair=(weak(d, each="m.to"),)),)),
        r"the message 'm' has no field 'to' .*Those are: at."),
    (lambda: check(MACHINE, (made(fair=(weak(GRID.actions[0]),)),)),
        r"machine 'maze' has no action '.*'. Actions are: a, b, d."),
    (lambda: check(MIXED, (made(fair=(weak(d, numbered, each="m"),)),)),
        (r"'m' is a message of class Token in d, and a number in "
        r"numbered, which never are the same. Give each action its own promise")),
    (lambda: machine_of(TWO_BAGS), r"'m' is a message of class Flat in spin, and a message of class Deep in take"),
    (lambda: check(MACHINE, (made(without=(GRID.actions[0],)),)), r"machine 'maze' has no action"),
    (lambda: check(MACHINE, (at_most("x", "y", when=maze.when, then=maze.then, costs={GRID.actions[0]: 1}),)),
        r"machine 'maze' has no action"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "message"), REFUSALS)
def test_what_cannot_be_meant_is_refused(make: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        make()


def test_a_negative_cost_is_refused() -> None:
    prop = at_most("x", "y", when=maze.when, then=maze.then, costs=less_than_nothing)
    plain = Interpreter(MACHINE, MACHINE.set_constants({"a0": 2}))
    (start,) = plain.initial_states()
    (transition,) = plain.transitions(start)
    with pytest.raises(DomainError, match="costs -1, but a cost must be 0 or more"):
        plain.cost(prop, start, transition)


def test_fairness_reads_as_it_is_meant() -> None:
    assert str(weak(a)) == "weak a"
    assert str(strong(a, b, each=("to",))) == "strong a or b for each to"


def test_a_step_belongs_to_the_promise_of_its_own_values() -> None:
    plain = Interpreter(MACHINE, MACHINE.set_constants({}))
    step = Step(d, ((3,), 1))
    assert plain.instance(weak(d), step) == ()
    assert plain.instance(weak(d, each=("m.at", "to")), step) == (3, 1)
    assert plain.instance(weak(d, each="m"), step) == ((3,),)
    assert plain.instance(weak(a), step) is None


def test_a_property_is_about_each_value_of_its_parameters() -> None:
    plain = Interpreter(MACHINE, MACHINE.set_constants({}))
    assert plain.arguments(made(when=at, then=at, node=Node)) == [(n,) for n in range(5)]
    assert plain.arguments(made()) == [()]
