"""Proofs claim no more than is true if the plain semantics raises an error, or if several things fail."""

from itertools import product
from pathlib import Path
from typing import Any

import pytest
import z3
from fencepost.api.answers.proof_report import ProveResult
from fencepost.api.calls.prove import explain
from fencepost.api.calls.prove import prove as asked
from fencepost.cli.views.console import Display
from fencepost.explorers.symbolic.proof import Proof, Settings, prove
from fencepost.explorers.symbolic.system import System
from fencepost.explorers.symbolic.terms import boolean, both, equal
from fencepost.explorers.verdict import Verdict
from fencepost.invariants.protocols import Protocol
from fencepost.model.language import Action, Machine, Property
from fencepost.model.language.errors import DomainError, ModelError, UsageError
from fencepost.model.language.interpreter import Interpreter, Step

from tests.helpers.blocks import whole
from tests.helpers.parameters import few
from tests.helpers.symbols import load
from tests.helpers.written import HEAD, module_of
from tests.random_machines.engines import load as load_model

stumbles = module_of("""
class C(Constants):
    most = bound(4, low=1, high=6, meaning="the largest number")
    size = capacity(3, low=1, high=4, meaning="elements of an array")
class Word(Record):
    letters: Annotated[Array[Annotated[int, Range(0, 3)]], Size(C.size)]
class Plain(Record):
    x: Annotated[int, Range(0, 3)]
class State(Record):
    x: Annotated[int, Range(0, C.most)]
    y: Annotated[int, Range(0, 9)]
    arr: Annotated[Array[Annotated[int, Range(-1, 3)]], Size(C.size)]
    box: Annotated[Bag[Plain], Size(2)]
    words: Annotated[Bag[Word], Size(2)]
@action()
def initial_with_one(s, c):
    s.x = 1
@action()
def initial_with_three(s, c):
    s.x = 3
@action()
def initial_error(s, c):
    s.arr[s.x - 1] = 1
@action()
def no_initial(s, c):
    require(s.x == 1)
@action()
def count(s, c):
    require(s.x < 3)
    s.x += 1
@action()
def count_on(s, c):
    s.x += 1
@action()
def stumble(s, c):
    s.y = s.arr[0 - (s.x // 2)]
@action()
def look(s, c):
    require(s.arr[s.x + 1] >= 0)
    s.y = 1
@action()
def send_two(s, c):
    require(len(s.box) == 0)
    s.box.add(x=2)
    s.box.add(x=1)
@action(n=Index(C.size))
def put(s, c, n):
    s.arr[n] = n
@action(members=BitSet(C.size))
def choose(s, c, members):
    s.y = members
@action(n=Range(0, C.most))
def set_number(s, c, n):
    s.x = n
@action()
def find(s, c):
    s.y = any(s.arr[i] == 3 or s.arr[s.arr[i]] < 0 for i in range(c.size))
    s.arr[c.size - 1] = -1
@action()
def forget(s, c):
    s.arr[0] = -1
def go_back(s, c):
    if s.x == 2:
        s.x = 0
def fall_over(s, c):
    s.arr[s.x + 1] = 0
@always
def not_one(s, c):
    return s.x != 1
@always
def not_two(s, c):
    return s.x != 2
@always
def not_four(s, c):
    return s.x != 4
@always
def not_seven(s, c):
    return s.x != 7
@always
def anything(s, c):
    return True
@always
def stumbles(s, c):
    return s.arr[s.x * 2] >= 0
@step()
def stumbles_on_a_step(before, after, c):
    return after.arr[after.x] >= 0
@step()
def grows(before, after, c):
    return after.x - before.x < 3
@step()
def box_is_empty(before, after, c):
    return len((before if before.x == 1 else after).box) == 0
@always
def first_is_not_two(s, c):
    for m in s.box:
        return m.x != 2
    return True
@always
def words_are_even(s, c):
    for m in s.words:
        return m.letters[0] == 0
    return True
@always
def no_choice(s, c):
    return s.y < 8
@always
def first_is_the_number_of_an_element(s, c):
    return any(s.arr[0] == i for i in range(c.size))
""")
"""Parts that end with errors, or see an order; tests put machines together from them."""
WAYS: tuple[dict[str, Any], ...] = ({"depth": 5}, {"k": 4}, {})
"""Runs, induction over several steps, induction: each must find an error after two or three steps."""


def machine(*actions: Action, start: Action = stumbles.initial, normalize: Any = None) -> Machine:
    return Machine("errors", "errors of a model", stumbles.State, stumbles.C, start, actions, normalize=normalize)


def proved(made: Machine, *properties: Property, **settings: Any) -> Proof:
    """Prove properties and confirm z3's answer, as the command does."""
    constants, chosen = made.set_constants({}), Settings(**settings)
    proof = prove(made, constants, properties, chosen)
    found = ProveResult(Protocol(made, properties), constants, properties, chosen, proof)
    return explain(found, 0.0, Display(quiet=True)).proof


def rising(folder: Path, only: str, *changes: tuple[str, str], **way: Any) -> ProveResult:
    text = RISING
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    made, properties = load_model(HEAD + whole(text), folder)
    return asked(Protocol(made, properties), only=only.split(), reach=20, workers=1, cache=False, **way)


ENDS = ("s.x += 1", "require(s.x < 590)\n    s.x += 1")  # a change by which it raises no error


def test_each_property_is_decided_on_its_own_at_its_own_depth() -> None:
    found = proved(machine(stumbles.count), stumbles.not_four, stumbles.not_two, stumbles.not_one, depth=4)
    assert [(item.verdict, item.why) for item in found.findings] == [
        (Verdict.NOT_FOUND, "no violation within 4 steps of an initial state"),
        (Verdict.VIOLATED, "fails after 2 steps"),
        (Verdict.VIOLATED, "fails after 1 step"),
    ]
    assert (found.history.violates, len(found.history.steps)) == ("not-one", 1)
    at_once = machine(stumbles.count, start=stumbles.initial_with_one)
    found = proved(at_once, stumbles.not_one, stumbles.not_two, depth=3)
    assert [item.why for item in found.findings] == ["fails after 0 steps", "fails after 1 step"]


def test_what_fails_only_beyond_the_ranges_of_constants_is_no_violation() -> None:
    made, lifted = machine(stumbles.set_number), {"most": None}
    far = proved(made, stumbles.not_seven, stumbles.not_four, depth=2, lifted=lifted)
    assert [item.verdict for item in far.findings] == [Verdict.UNDETERMINED, Verdict.VIOLATED]
    assert far.findings[0].why == "fails after 1 step, but not with constants in their ranges"


def test_nothing_is_proved_of_no_property() -> None:
    with pytest.raises(UsageError, match="there is nothing to prove"):
        proved(machine(stumbles.count))


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
        (Verdict.UNDETERMINED, "raises an error after 4 steps: count-on: State.x: 5 is out of its domain 0..4"),
    ]
    assert found.depth == way.get("depth", 1) - 1


RISING = '''
class State(Record):
    x: Annotated[int, Range(0, 600)]
    y: Annotated[int, Range(0, 4)]
@action()
def initial(s, c):
    """0."""
@action()
def go(s, c):
    s.x += 1
    s.y = 4 if s.y == 3 else s.y
@step()
def seven(before, after, c):
    return after.x != 7
@always
def not_550(s, c):
    return s.x != 550
@always
def calm(s, c):
    return s.y != 4
@always
def far(s, c):
    return 1 >> (560 - s.x) >= 0
'''
"""It raises an error after 600 steps, beyond the states that are searched."""


def test_a_violation_is_reported_where_the_search_for_a_state_raises_an_error(tmp_path: Path) -> None:
    found = rising(tmp_path, "not-550 calm").proof
    assert (found.of("not-550").verdict, found.of("not-550").why) == (Verdict.VIOLATED, "fails after 550 steps")
    assert "raises an error after 600 steps: go: State.x: 601 is out of its domain" in found.of("calm").why
    with pytest.raises(DomainError, match="601 is out of its domain"):
        rising(tmp_path, "calm")


@pytest.mark.parametrize("least", [0, 1])
def test_an_error_under_other_constants_in_the_search_for_a_state_is_told_as_such(least: int, tmp_path: Path) -> None:
    small, longer = ("Range(0, 600)", "Range(0, 3)"), ("s.x += 1", "s.x += c.n > 1 or s.x < 2")
    rare = ("s.y == 3", f"s.y == 3 and c.n > {least}")
    found = rising(tmp_path, "calm", small, longer, rare, constants={"n": 1}, unbounded=["n"])
    assert found.verdict is Verdict.UNDETERMINED
    assert ("with n=2 the model raises an error after 3 steps: go: State.x: 4 is out" in found.reachable) == bool(least)


VAST = """
    require(s.x == 5 and x == 7)
    s.x = 550
@action()
def stay(s, c):
    require(s.x < 3)
    s.x += 1
"""


def test_a_parameter_with_very_many_values_ends_no_proof(tmp_path: Path) -> None:
    wide = ("@action()\ndef go(s, c):", "@action(x=Range(0, 4000000000000))\ndef go(s, c, x):")
    vast = ("\n    s.x += 1\n    s.y = 4 if s.y == 3 else s.y\n", VAST)
    found = rising(tmp_path, "not-550", wide, vast, unbounded=["n"])
    assert found.verdict is Verdict.UNDETERMINED
    said = (
        "no search for the state is possible: protocol 'machine': the parameters of action 'go' have 4,000,000,000,001"
    )
    assert said in found.reachable
    with pytest.raises(DomainError, match=r"stay: State.x: 800 is out of its domain"):
        rising(tmp_path, "calm", wide, vast, ("s.x < 3", "s.x < 900"), ("+= 1", "+= 200"), unbounded=["n"])


@pytest.mark.parametrize("way", [{}, {"depth": 2}, {"k": 2}], ids=str)
def test_an_initial_action_with_very_many_values_is_violated_or_goes_wrong(way: dict[str, Any], tmp_path: Path) -> None:
    wide = ("@action()\ndef initial(s, c):", "@action(x=Range(0, 4000000000000))\ndef initial(s, c, x):")
    last = ('"""0."""', "require(x >= 3999999999999)\n    s.x = x - 3999999999449")
    found = rising(tmp_path, "not-550", wide, last, ENDS, **way)
    assert found.verdict is Verdict.VIOLATED
    assert bool(way) == ("initial: x=3999999999999\n" in found.text)
    with pytest.raises(DomainError, match=r"initial x=.*: State.x: .* is out of its domain 0..600"):
        rising(tmp_path, "calm", wide, ('"""0."""', "s.x = x"), **way)


@pytest.mark.parametrize("action", ["initial", "go"])
@pytest.mark.parametrize("domain", ["BitSet(60)", "Index(1000000000)"])
def test_a_parameter_with_more_values_than_a_proof_can_follow_is_refused(
    action: str, domain: str, tmp_path: Path
) -> None:
    change = (f"@action()\ndef {action}(s, c)", f"@action(x={domain})\ndef {action}(s, c, x)")
    message = f"the parameters of action '{action}' have .* combinations, and a proof must"
    with pytest.raises(UsageError, match=message):
        rising(tmp_path, "calm", change)


def test_a_step_that_leaves_a_bound_on_its_way_is_no_error_unless_it_happens(tmp_path: Path) -> None:
    bounded, passing = ("Range(0, 4)", "Range(0, C.n)"), "require(s.y == c.n)\n    s.y += 1\n    s.y = 0"
    last = ("4 if s.y == 3 else s.y", "0\n    s.x = 550")
    found = rising(tmp_path, "not-550", bounded, ("s.x += 1", passing), last, unbounded=["n"])
    assert (found.verdict, found.proof.pair) == (Verdict.UNDETERMINED, None)
    said = "go breaks the induction only if it exceeds, during the step, a bound that the proof leaves open"
    assert found.reachable == said


BROKEN = {
    r"count: State.arr: index 3 is outside the array": machine(stumbles.count, normalize=stumbles.fall_over),
    r"initial-error: State.arr: NONE used as an index": machine(stumbles.count, start=stumbles.initial_error),
    "has no initial state": machine(stumbles.count, start=stumbles.no_initial),
}


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("error", BROKEN)
def test_an_error_in_normalize_or_in_the_initial_action_is_reported(error: str, way: dict[str, Any]) -> None:
    with pytest.raises(ModelError if "no initial" in error else DomainError, match=error):
        proved(BROKEN[error], stumbles.anything, **way)


@pytest.mark.parametrize("prop", [stumbles.stumbles, stumbles.stumbles_on_a_step], ids=lambda item: item.name)
@pytest.mark.parametrize("way", WAYS[:2], ids=str)
def test_a_property_that_ends_with_an_error_is_told(way: dict[str, Any], prop: Property) -> None:
    with pytest.raises(DomainError, match=f"property '{prop.name}': State.arr: index "):
        proved(machine(stumbles.count), stumbles.anything, prop, **way)


def test_a_property_that_ends_with_an_error_is_not_inductive_and_one_of_the_initial_state_is_told() -> None:
    found = proved(machine(stumbles.count), stumbles.anything, stumbles.stumbles, stumbles.stumbles_on_a_step)
    assert [item.verdict for item in found.findings] == [Verdict.PROVED, Verdict.UNDETERMINED, Verdict.UNDETERMINED]
    with pytest.raises(DomainError, match=r"property 'stumbles': State.arr: index 6 is outside"):
        proved(machine(stumbles.set_number, start=stumbles.initial_with_three), stumbles.stumbles)


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_a_loop_over_a_bag_sees_the_order_of_the_plain_semantics_and_the_right_bag(way: dict[str, Any]) -> None:
    found = proved(machine(stumbles.send_two), stumbles.first_is_not_two, **way)
    assert found.verdict in {Verdict.VIOLATED, Verdict.UNDETERMINED}
    found = proved(machine(stumbles.send_two), stumbles.box_is_empty, **way)
    assert found.verdict is (Verdict.VIOLATED if way else Verdict.UNDETERMINED)


def test_messages_that_cannot_be_compared_have_no_first_one() -> None:
    assert proved(machine(stumbles.count), stumbles.words_are_even).verdict is Verdict.PROVED
    said = "this loop iterates over messages without an order, because `unbounded=` made part of them unbounded"
    with pytest.raises(ModelError, match=said):
        proved(machine(stumbles.count), stumbles.words_are_even, lifted={"size": None})


@pytest.mark.parametrize("taken", [stumbles.put, stumbles.choose], ids=lambda item: item.name)
def test_a_parameter_that_counts_things_keeps_its_size(taken: Action) -> None:
    assert proved(machine(taken), stumbles.no_choice).verdict is Verdict.PROVED
    with pytest.raises(UsageError, match="sets, bags and numbered sets have a fixed size in a proof"):
        proved(machine(taken), stumbles.no_choice, lifted={"size": None})


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_an_error_under_the_constants_as_they_are_is_told_within_the_depth_and_no_further(way: dict[str, Any]) -> None:
    made, lifted = machine(stumbles.count_on), {"most": None}
    with pytest.raises(DomainError, match=r"count-on: State.x: 5 is out of its domain 0..4") as caught:
        proved(made, stumbles.anything, lifted=lifted, **way)
    assert len(caught.value.states) == 5
    assert proved(made, stumbles.anything, lifted=lifted, depth=4).verdict is Verdict.NOT_FOUND


@pytest.mark.parametrize("arr", few(product((-1, 0, 2, 3), repeat=3), 5), ids=str)
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
    made, prop, lifted = machine(stumbles.forget), stumbles.first_is_the_number_of_an_element, {"size": None}
    assert proved(made, prop, lifted=lifted).verdict is Verdict.UNDETERMINED
    assert proved(made, prop, lifted=lifted, depth=2).verdict is Verdict.VIOLATED


def test_a_state_that_normalizing_mends_is_no_violation() -> None:
    made = machine(stumbles.count, normalize=stumbles.go_back)
    assert proved(made, stumbles.not_two, depth=4).verdict is Verdict.NOT_FOUND
    assert proved(made, stumbles.not_two, stumbles.grows).of("grows").verdict is Verdict.PROVED
