"""What a proof says where the plain semantics ends with an error, or where several things fail: no more than is true."""

from __future__ import annotations

from contextlib import nullcontext
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
import z3
from fencepost.api.proof_report import ProveResult
from fencepost.api.proving import explain
from fencepost.explorers.symbolic.places import load
from fencepost.explorers.symbolic.proof import Settings, prove
from fencepost.explorers.symbolic.system import System
from fencepost.explorers.symbolic.terms import boolean, both, equal
from fencepost.explorers.verdict import Verdict
from fencepost.invariants.protocols import Protocol
from fencepost.model.language import Machine
from fencepost.model.language.errors import DomainError, ModelError, UsageError
from fencepost.model.language.interpreter import Interpreter, Step

from tests.machines import stumbles

if TYPE_CHECKING:
    from fencepost.explorers.symbolic.proof import Proof
    from fencepost.model.language import Action, Property

WAYS: tuple[dict[str, Any], ...] = ({"depth": 5}, {"k": 4}, {})
"""Runs, induction over several steps, induction: each has to find what goes wrong after two steps or three."""


def machine(*actions: Action, start: Action = stumbles.initial, normalize: Any = None) -> Machine:
    """Return a machine with these actions."""
    return Machine("errors", "what goes wrong", stumbles.State, stumbles.C, start, actions, normalize=normalize)


def proved(made: Machine, *properties: Property, **settings: Any) -> Proof:
    """Prove properties, and have what z3 says confirmed, as the command does."""
    constants, chosen = made.set_constants({}), Settings(**settings)
    proof = prove(made, constants, properties, chosen)
    found = ProveResult(Protocol(made, properties), constants, properties, chosen, proof)
    return explain(found, 0.0, Silent()).proof  # type: ignore[arg-type]


class Silent:
    """A display that shows nothing."""

    def busy(self, _: str) -> Any:
        """Show nothing."""
        return nullcontext()


# -- several properties


def test_each_property_is_decided_on_its_own_at_its_own_depth() -> None:
    found = proved(
        machine(stumbles.count, start=stumbles.initial), stumbles.not_four, stumbles.not_two, stumbles.not_one, depth=4
    )
    assert [(item.verdict, item.why) for item in found.findings] == [
        (Verdict.NOT_FOUND, "no violation within 4 steps of an initial state"),
        (Verdict.VIOLATED, "fails after 2 steps"),
        (Verdict.VIOLATED, "fails after 1 step"),
    ]
    assert found.history is not None
    assert (found.history.violates, len(found.history.steps)) == ("not-one", 1)


def test_a_property_that_fails_at_once_does_not_hide_one_that_fails_later() -> None:
    found = proved(machine(stumbles.count, start=stumbles.initial_with_one), stumbles.not_one, stumbles.not_two, depth=3)
    assert [item.why for item in found.findings] == ["fails after 0 steps", "fails after 1 step"]


def test_what_fails_only_beyond_the_ranges_of_constants_is_no_violation() -> None:
    made, lifted = machine(stumbles.set_number), {"most": None}
    far = proved(made, stumbles.not_seven, stumbles.not_four, depth=2, lifted=lifted)
    assert [item.verdict for item in far.findings] == [Verdict.UNDETERMINED, Verdict.VIOLATED]
    assert far.findings[0].why == "fails after 1 step, but only with constants beyond their ranges"


def test_nothing_is_proved_of_no_property() -> None:
    with pytest.raises(UsageError, match="there is nothing to prove"):
        proved(machine(stumbles.count))


# -- errors


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("fault", [stumbles.stumble, stumbles.look], ids=lambda item: item.name)
def test_an_action_that_ends_with_an_error_is_told_and_nothing_is_proved(way: dict[str, Any], fault: Action) -> None:
    with pytest.raises(DomainError, match=f"{fault.name}: State.arr: ") as caught:
        proved(machine(stumbles.count, fault), stumbles.anything, **way)
    assert len(caught.value.states) == 3
    assert [item.action.name for item in caught.value.steps] == ["count", "count"]


@pytest.mark.parametrize("way", [{"depth": 5}, {"depth": 5, "lifted": {"size": None}}, {}], ids=str)
def test_a_violation_is_told_beside_an_error(way: dict[str, Any]) -> None:
    found = proved(machine(stumbles.count_on), stumbles.not_one, stumbles.anything, **way)
    assert [(item.verdict, item.why) for item in found.findings] == [
        (Verdict.VIOLATED, "fails after 1 step"),
        (Verdict.UNDETERMINED, "goes wrong after 4 steps: count-on: State.x: 5 is out of its domain 0..4"),
    ]
    assert found.depth == way.get("depth", 1) - 1


def test_a_violation_is_told_beside_an_error_in_a_property() -> None:
    found = proved(machine(stumbles.count), stumbles.not_one, stumbles.stumbles, depth=3)
    assert found.of("not-one").verdict is Verdict.VIOLATED
    assert "State.arr: index 4 is outside the array" in found.of("stumbles").why


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_an_error_in_normalize_is_told(way: dict[str, Any]) -> None:
    with pytest.raises(DomainError, match=r"count: State.arr: index 3 is outside the array"):
        proved(machine(stumbles.count, normalize=stumbles.fall_over), stumbles.anything, **way)


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_an_initial_action_that_ends_with_an_error_is_told(way: dict[str, Any]) -> None:
    with pytest.raises(DomainError, match=r"initial-error: State.arr: NONE used as an index"):
        proved(machine(stumbles.count, start=stumbles.initial_error), stumbles.anything, **way)


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_a_machine_without_an_initial_state_is_refused(way: dict[str, Any]) -> None:
    with pytest.raises(ModelError, match="has no initial state"):
        proved(machine(stumbles.count, start=stumbles.no_initial), stumbles.anything, **way)


@pytest.mark.parametrize("prop", [stumbles.stumbles, stumbles.stumbles_on_a_step], ids=lambda item: item.name)
@pytest.mark.parametrize("way", WAYS[:2], ids=str)
def test_a_property_that_ends_with_an_error_is_told(way: dict[str, Any], prop: Property) -> None:
    with pytest.raises(DomainError, match=f"property '{prop.name}': State.arr: index "):
        proved(machine(stumbles.count), stumbles.anything, prop, **way)


def test_a_property_that_ends_with_an_error_is_not_inductive() -> None:
    found = proved(machine(stumbles.count), stumbles.anything, stumbles.stumbles, stumbles.stumbles_on_a_step)
    assert [item.verdict for item in found.findings] == [Verdict.PROVED, Verdict.UNDETERMINED, Verdict.UNDETERMINED]


def test_an_error_in_a_property_of_the_initial_state_is_told() -> None:
    with pytest.raises(DomainError, match=r"property 'stumbles': State.arr: index 6 is outside"):
        prove(
            machine(stumbles.set_number, start=stumbles.initial_with_three),
            machine().set_constants({}),
            (stumbles.stumbles,),
            Settings(),
        )


# -- order


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_a_loop_over_a_bag_sees_the_order_of_the_plain_semantics(way: dict[str, Any]) -> None:
    assert proved(machine(stumbles.send_two), stumbles.first_is_not_two, **way).verdict in {
        Verdict.VIOLATED,
        Verdict.UNDETERMINED,
    }


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_the_length_of_one_of_two_bags_is_that_of_the_one_that_is_meant(way: dict[str, Any]) -> None:
    found = proved(machine(stumbles.send_two), stumbles.box_is_empty, **way)
    assert found.verdict is (Verdict.VIOLATED if way else Verdict.UNDETERMINED)


def test_messages_that_cannot_be_compared_have_no_first_one() -> None:
    assert proved(machine(stumbles.count), stumbles.words_are_even).verdict is Verdict.PROVED
    with pytest.raises(
        ModelError, match="this loop goes through a bag in order, and --unbounded made something in its messages endless"
    ):
        proved(machine(stumbles.count), stumbles.words_are_even, lifted={"size": None})


# -- constants with any value


@pytest.mark.parametrize("taken", [stumbles.put, stumbles.choose], ids=lambda item: item.name)
def test_a_parameter_that_counts_things_keeps_its_size(taken: Action) -> None:
    assert proved(machine(taken), stumbles.no_choice).verdict is Verdict.PROVED
    with pytest.raises(UsageError, match="sets, bags and numbered things have a fixed size in a proof"):
        proved(machine(taken), stumbles.no_choice, lifted={"size": None})


def test_arguments_of_a_run_are_in_the_domains_of_its_constants() -> None:
    found = proved(machine(stumbles.set_number), stumbles.not_four, depth=1, lifted={"most": None})
    assert found.history is not None
    assert found.history.constants["most"] >= 4


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_an_error_under_the_constants_as_they_are_is_told_where_no_larger_ones_have_it(way: dict[str, Any]) -> None:
    with pytest.raises(DomainError, match=r"count-on: State.x: 5 is out of its domain 0..4") as caught:
        proved(machine(stumbles.count_on), stumbles.anything, lifted={"most": None}, **way)
    assert len(caught.value.states) == 5


def test_errors_are_looked_for_within_the_depth_and_no_further() -> None:
    found = proved(machine(stumbles.count_on), stumbles.anything, lifted={"most": None}, depth=4)
    assert found.verdict is Verdict.NOT_FOUND


@pytest.mark.parametrize("arr", list(product((-1, 0, 2, 3), repeat=3)), ids=str)
def test_a_fold_without_a_bound_looks_at_nothing_after_the_first_that_decides(arr: tuple[int, ...]) -> None:
    made = machine(stumbles.find)
    plain = Interpreter(made, made.set_constants({}))
    key = (0, 0, arr, (), ())
    try:
        expected = plain.apply(key, Step(stumbles.find, ())).after[1]
    except DomainError:
        expected = None
    system = System(made, made.set_constants({}), (), {"size": None})
    found = system.happening(load(system.lifting, made.state, key), system.moves[0])
    noted = found.after.parts["y"].value
    said = []
    for flag in (found.cut, both(found.happens, equal(noted, 0)), both(found.happens, equal(noted, 1))):
        solver = z3.Solver()
        solver.add(system.lifting.values["size"].term == len(arr), boolean(flag))
        said.append(solver.check() == z3.sat)
    assert said == [expected is None, expected == 0, expected == 1]


def test_a_range_without_a_bound_has_no_negative_number() -> None:
    found = proved(machine(stumbles.forget), stumbles.first_is_the_number_of_an_element, lifted={"size": None})
    assert found.verdict is Verdict.UNDETERMINED
    found = proved(machine(stumbles.forget), stumbles.first_is_the_number_of_an_element, lifted={"size": None}, depth=2)
    assert found.verdict is Verdict.VIOLATED


def test_a_state_that_normalizing_mends_is_no_violation() -> None:
    found = proved(machine(stumbles.count, normalize=stumbles.go_back), stumbles.not_two, depth=4)
    assert found.verdict is Verdict.NOT_FOUND
    assert (
        proved(machine(stumbles.count, normalize=stumbles.go_back), stumbles.not_two, stumbles.grows).of("grows").verdict
        is Verdict.PROVED
    )
