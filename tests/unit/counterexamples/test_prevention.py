"""What prevents a history: the property is asked along the way, and a model that goes wrong prevents nothing."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import pytest
from fencepost.counterexamples.prevention import is_prevented, preventions
from fencepost.counterexamples.replay import follow
from fencepost.counterexamples.trace import Trace
from fencepost.invariants.protocols import Protocol
from fencepost.model.language.errors import DisabledError, FencepostError
from fencepost.model.language.interpreter import Interpreter, Step

from tests.machines import hurried

if TYPE_CHECKING:
    from fencepost.model.language import Property

TWICE = (Step(hurried.count, ()),) * 2


def trace_of(prop: Property) -> Trace:
    """Return the history of two steps at whose end the number is 2."""
    return Trace("Two", Protocol(hurried.MACHINE, hurried.PROPERTIES), hurried.C(), prop, TWICE)


@pytest.mark.parametrize("prop", [hurried.never_two, hurried.never_to_two], ids=lambda prop: prop.name)
def test_a_setting_that_violates_the_property_sooner_or_goes_wrong_prevents_nothing(prop: Property) -> None:
    made = follow(trace_of(prop))
    assert [item.setting for item in preventions(made.trace, made.path)] == ["careful=true"]


def brute_force(prop: Property, values: dict[str, int]) -> bool:
    """Say whether two steps under these constants neither go wrong nor come to 2."""
    plain = Interpreter(hurried.MACHINE, hurried.MACHINE.set_constants(values))
    states = [plain.initial_states()[0]]
    try:
        for step in TWICE:
            states.append(plain.apply(states[-1], step).after)
    except DisabledError:
        pass
    except FencepostError:
        return False
    return all(plain.read(key).number != 2 for key in states)


@pytest.mark.parametrize("prop", [hurried.never_two, hurried.never_to_two], ids=lambda prop: prop.name)
def test_whether_a_history_is_prevented_is_what_brute_force_says(prop: Property) -> None:
    made = follow(trace_of(prop))
    said = set()
    for fast, careful, wild, end in product(range(2), range(2), range(2), range(1, 7)):
        values = {"fast": fast, "careful": careful, "wild": wild, "end": end}
        prevented = is_prevented(hurried.MACHINE, made.trace.constants, prop, made.path, values, normalize=True)
        assert prevented is brute_force(prop, values), values
        said.add(prevented)
    assert said == {True, False}
