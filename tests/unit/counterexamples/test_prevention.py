"""Settings that prevent a history, and shortest traces that show faults as late as possible."""

from dataclasses import replace
from itertools import product

import pytest
from fencepost.counterexamples.prevention import is_prevented
from fencepost.counterexamples.render import render
from fencepost.counterexamples.replay import follow
from fencepost.counterexamples.trace import Trace
from fencepost.explorers.paths import with_late_faults
from fencepost.invariants.protocols import Protocol, protocol
from fencepost.model.language import Property
from fencepost.model.language.constants import Constants
from fencepost.model.language.errors import DisabledError, FencepostError
from fencepost.model.language.interpreter import Interpreter, Path, Step

from tests.helpers.parameters import sized
from tests.helpers.traces import path_of
from tests.helpers.written import machine_of

HURRIED, PROPERTIES = machine_of("""
class C(Constants):
    fast = switch(default=False, meaning="two at a time")
    careful = switch(default=False, meaning="it stops before two")
    wild = switch(default=False, meaning="the count leaves its domain")
    end = bound(6, low=1, high=6, meaning="the last number")
class State(Record):
    number: Annotated[int, Range(0, 9)]
@action()
def count(s, c):
    require(s.number < c.end)
    require(not (c.careful and s.number == 1))
    s.number += 2 if c.fast else 20 if c.wild and s.number == 1 else 1
@always
def never_two(s, c):
    \"""The number is never 2.\"""
    return s.number != 2
@step()
def never_to_two(before, after, c):
    return after.number != 2
@sometimes
def six(s, c):
    return s.number == 6
""")
"""A counter with a switch that makes it reach a forbidden value sooner, only on the way."""
NEVER_TWO = PROPERTIES[0]
TWICE = (Step(HURRIED.action("count"), ()),) * 2


def trace_of(prop: Property) -> Trace:
    return Trace("Two", Protocol(HURRIED, PROPERTIES), HURRIED.set_constants({}), prop, TWICE)


def brute_force(prop: Property, values: dict[str, int]) -> bool:
    plain = Interpreter(HURRIED, HURRIED.set_constants(values))
    states = [plain.initial_states()[0]]
    try:
        for step in TWICE:
            states.append(plain.apply(states[-1], step).after)
    except DisabledError:
        pass
    except FencepostError:
        return False
    return all(plain.read(key).number != 2 for key in states)


@pytest.mark.parametrize("prop", PROPERTIES[:2], ids=lambda prop: prop.name)
def test_whether_a_history_is_prevented_is_what_brute_force_says(prop: Property) -> None:
    made = follow(trace_of(prop))
    said = set()
    for fast, careful, wild, end in product(range(2), range(2), range(2), range(1, 7)):
        values = {"fast": fast, "careful": careful, "wild": wild, "end": end}
        prevented = is_prevented(HURRIED, made.trace.constants, prop, made.path, values, normalize=True)
        assert prevented is brute_force(prop, values), values
        said.add(prevented)
    assert said == {True, False}


def test_the_page_of_a_difference_says_so_and_that_of_a_deadlock_too() -> None:
    made = follow(replace(trace_of(NEVER_TWO), prop=None, kafka="4.1.2"))
    assert "After the last step, Kafka 4.1.2 behaves differently from the model." in render("html", made)
    assert "<h2>Difference</h2>" in render("html", made)
    stuck = follow(replace(trace_of(NEVER_TWO), prop=None, steps=TWICE * 3))
    assert "<h2>Deadlock</h2>" in render("html", stuck)


REPLICATION = protocol("replication")


def constants(**more: int) -> Constants:
    """KIP-903's two brokers, the second outside the ISR, and requests without broker epochs."""
    sizes = sized("brokers=2 initial_isr=1 shrinks=0 alter_partition_version=2 fenced_before_registration=1")
    return REPLICATION.machine.set_constants({**sizes, **more})


def labels(path: Path) -> tuple[str, ...]:
    return tuple(step.action.label for step in path.steps)


EARLY = ("controller-fences-broker", "leader-appends", "leader-handles-fetch")
FAULTS = ("broker-crashes", "controller-fences-broker", "broker-registers", "controller-unfences-broker")


@pytest.mark.parametrize(
    ("prop", "before", "after"),
    [
        ("leader-has-committed", EARLY, (*EARLY[1:], EARLY[0])),
        ("joining-epoch-is-registered", EARLY, (EARLY[1], EARLY[0], EARLY[2])),
        ("leader-has-committed", FAULTS, FAULTS),
    ],
    ids=["past what does not depend on it", "before the step that is judged", "before what depends on it"],
)
def test_a_fault_moves_as_far_as_it_can_to_one_end(prop: str, before: tuple[str, ...], after: tuple[str, ...]) -> None:
    plain = Interpreter(REPLICATION.machine, constants())
    found = path_of(plain, *before)
    made = with_late_faults(plain, found, REPLICATION.select((prop,))[0])
    assert (made.states[-1], made.length, labels(made)) == (found.states[-1], found.length, after)
    for state, step, following in zip(made.states, made.steps, made.states[1:], strict=False):
        assert plain.apply(state, step).after == following
