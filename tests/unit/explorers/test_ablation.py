"""A guard removed at run time in compiled code acts as if removed by the plain semantics; its purpose is found."""

from collections.abc import Mapping

import numpy as np
import pytest
from fencepost.explorers import plain
from fencepost.explorers.evidence.ablation import Ablation, Purpose, RowOutcome, explore_rows, rows_of, settings
from fencepost.explorers.native.compile import compiled
from fencepost.explorers.native.masked import MaskedSearch, same_states
from fencepost.explorers.program.removal import Guard, find_guard, guards, without
from fencepost.explorers.verdict import Options
from fencepost.invariants.protocols import PROTOCOLS
from fencepost.model.language import Machine, Property
from fencepost.model.language.errors import DomainError, MismatchError
from fencepost.model.language.interpreter import Interpreter

from tests.helpers import search as reference
from tests.helpers.written import machine_of, texts
from tests.machines import lamps, mailbox, planted

ALONE = Options(workers=1)

SLIPS = machine_of("""
class State(Record):
    numbers: Annotated[Array[Annotated[int, Range(0, 3)]], Size(3)]
    at: Annotated[int, Range(0, 9)]
@action()
def move(s, c):
    require(s.at < 2)
    require(s.numbers[0] == 0)
    s.at += 1
def put_back(s, c):
    if s.at == 3:
        s.at = s.numbers[s.at]
@step()
def numbers_are_none(before, after, c):
    return after.numbers[after.at] == 0
MACHINE = Machine("slips", "A place that moves.", State, C, initial, (move,), normalize=put_back)
""")
"""Without its guard, neither what puts a place back nor the property of the step has a number there."""


DOUBLES = machine_of("""
class State(Record):
    turns: Annotated[int, Range(0, 3)]
    at: Annotated[int, Range(0, 4)]
    seen: Annotated[Array[Annotated[int, Range(0, 1)]], Size(3)]
@action()
def left_hand(s, c):
    require(s.turns < 3)
    require(s.at < 2 and s.seen[s.at] == 0)
    s.turns += 1
    s.at += 1
@always
def stays_below(s, c):
    return s.at < 3
MACHINE = Machine("doubles", "Two turn a counter.", State, C, initial, (left_hand, left_hand.named("right_hand")))
""")
"""A counter that two people turn in the same way: two actions of one function, each with guards of its own."""
PLACES = machine_of("""
class State(Record):
    a: Annotated[int, Range(0, 9)]
    b: Annotated[int, Range(0, 9)]
    items: Annotated[Array[Annotated[int, Range(0, 3)]], Size(5)]
@action()
def right(s, c):
    require(s.a < 9)
    s.a += 1
@action()
def up(s, c):
    require(s.b < 5)
    require(s.items[s.b] == 0)
    s.b += 1
@always
def below(s, c):
    return s.b < 9
""")
"""A place that goes right and up, as far as guards let it."""
SHIFTED = machine_of("""
class C(Constants):
    n = bound(3, low=0, high=3, meaning="turns")
class State(Record):
    turns: Annotated[int, Range(0, 9)]
@action()
def turn(s, c):
    require(s.turns < c.n, bound=C.n)
    require((1 << (s.turns * 30)) < (1 << 61))
    s.turns += 1
@always
def turns_are_few(s, c):
    return s.turns <= c.n
""")
"""A counter with a guard that shifts: where another guard refuses, compiled numbers are too short for it."""


MACHINES = {"slips": SLIPS, "doubles": DOUBLES, "places": PLACES, "shifted": SHIFTED}
MACHINES |= {item.MACHINE.name: (item.MACHINE, item.PROPERTIES) for item in (mailbox, lamps, planted)}
MACHINES |= {"kip320": (PROTOCOLS["kip320"].machine, PROTOCOLS["kip320"].properties)}


def ablation_of(
    parts: tuple[Machine, tuple[Property, ...]], values: Mapping[str, int], options: Options = ALONE
) -> Ablation:
    machine, properties = parts
    constants = machine.set_constants(values)
    return Ablation(machine, constants, properties, options, compiled(machine, constants, properties, masked=True))


def masked(name: str, values: Mapping[str, int], guard: Guard | None = None, options: Options = ALONE) -> MaskedSearch:
    made = ablation_of(MACHINES[name], values, options)
    return MaskedSearch(made.machine, made.constants, made.properties, options, kernels=made.kernels, guard=guard)


@pytest.mark.parametrize("name", ["doubles", "slips"])
def test_compiled_code_without_a_guard_does_what_the_definition_does(name: str) -> None:
    machine, properties = MACHINES[name]
    for guard in guards(machine):
        changed = without(machine, guard)
        search = reference.Search(changed, {}, properties)
        search.interpreter = Interpreter(changed, changed.set_constants({}), bounded=True)
        expected, found = [search.found for _ in search.levels()][-1], masked(name, {}, guard).run()
        counts = found.distinct, found.generated, found.depth
        assert counts == (expected.distinct, expected.generated, expected.depth), guard
        assert {name.replace("-", "_"): count for name, count in found.fired.items()} == expected.fired
        decided = {item.name: item.path.length for item in found.properties if item.path}
        assert decided == expected.violated | expected.reached, guard


Matrix = dict[str, RowOutcome]


def matrix(name: str, values: Mapping[str, int], options: Options = ALONE, workers: int = 1) -> Matrix:
    ablation = ablation_of(MACHINES[name], values, options)
    assert ablation.explore_whole().complete
    found: Matrix = {}
    rows = rows_of(ablation.machine, ablation.constants, {})
    explore_rows(ablation, rows, workers, lambda item: found.update({item.row.name: item}))
    return found


@pytest.fixture(scope="module")
def kip320() -> Matrix:
    return matrix("kip320", {"replicas": 3}, Options(max_states=1_500_000))


@pytest.mark.xdist_group("planted")
@pytest.mark.parametrize("workers", [1, 3])
def test_planted_guards_are_told_apart(workers: int) -> None:
    found = matrix("planted", {}, workers=workers)
    assert {name: str(item.purpose) for name, item in found.items()} == planted.PURPOSES


@pytest.mark.parametrize(
    ("name", "last", "left", "message"),
    [
        ("right 1", (9, 0), 6, "State.a: 10 is out of its domain 0..9"),
        ("up 1", (0, 5), 10, "State.items: index 5 is outside the array"),
    ],
)
@pytest.mark.parametrize("workers", [1, 2])
def test_the_first_state_from_which_a_step_leaves_its_domain_is_named(
    name: str, last: tuple[int, int], left: int, message: str, workers: int
) -> None:
    search = masked("places", {}, find_guard(PLACES[0], name), Options(workers=workers))
    assert search.run().distinct == 60
    departure = search.departure()
    assert (departure.path.states[-1][:2], search.left_steps) == (last, left)
    assert message in departure.message


def test_a_guard_refuses_whatever_the_others_say() -> None:
    search = masked("places", {}, options=Options(workers=2))
    search.run()
    asked = guards(search.machine)
    assert {item.name: count for item, count in search.refusals(asked).items()} == {"right 1": 6, "up 1": 10, "up 2": 0}


def test_refusals_are_not_counted_where_a_number_is_too_long_for_compiled_code() -> None:
    two, three = masked("shifted", {"n": 2}), masked("shifted", {})
    two.run()
    three.run()
    assert {item.name: times for item, times in two.refusals(guards(two.machine)).items()} == {"turn 1": 1, "turn 2": 0}
    with pytest.raises(DomainError, match="a shift or a product does not fit in the 64 bits"):
        three.refusals(guards(three.machine))
    found = matrix("shifted", {})["turn 2"]
    assert found.purpose is Purpose.UNDETERMINED
    assert "a shift or a product does not fit in the 64 bits" in found.why


def test_a_switch_is_turned_and_a_choice_is_taken_otherwise() -> None:
    found = {item.name for item in settings(mailbox.MACHINE.set_constants({}), {"losses": (0, 1)})}
    assert found == {"resend=never", "resend=when-lost", "deduplicate=off", "losses=0"}


@pytest.mark.xdist_group("mailbox")
def test_a_switch_that_a_property_depends_on_is_needed() -> None:
    found = matrix("mailbox", {"requests": 1, "resends": 1, "losses": 1})
    assert found["deduplicate=off"].broken == ("requests-run-once",)
    assert found["resend=never"].purpose is Purpose.HARMLESS


@pytest.mark.xdist_group("mailbox")
def test_searches_that_reach_as_many_states_may_reach_others() -> None:
    one, two, other = (masked("lamps", {"lamps": 2}) for _ in range(3))
    for search in (one, two, other):
        search.run()
    assert same_states(one, two)
    other.partitions[3].rows["words"][0] ^= np.uint64(1)
    assert not same_states(one, other)


SETTINGS = texts("settings.txt")


def of_text(title: str, values: Mapping[str, int]) -> Ablation:
    return ablation_of(machine_of(SETTINGS[title]), values)


@pytest.mark.parametrize("title", SETTINGS)
def test_a_setting_is_searched_and_compared_whatever_it_does_to_the_rows(title: str) -> None:
    purpose, _, setting = title.split(": ")
    name, _, value = setting.partition("=")
    ablation = of_text(title, {})
    assert ablation.explore_whole().complete
    [row] = settings(ablation.constants, {name: (int(value),)})
    found = ablation.explore(row)
    assert found.purpose == purpose
    assert found.broken == ((ablation.properties[0].name,) if purpose == "needed" else ())
    if not found.why:
        there = plain.search(ablation.machine, ablation.constants.replace(**{name: int(value)}), ablation.properties)
        assert found.result.distinct == there.distinct
    assert ("out of its domain" in found.why) is ("leaves a domain" in title)


def test_a_step_of_the_whole_machine_that_leaves_a_domain_is_an_error() -> None:
    ablation = of_text("undetermined: a step leaves a domain: n=7", {"n": 7})
    with pytest.raises(DomainError, match=r"go: State.b: 6 is out of its domain 0..5") as error:
        ablation.explore_whole()
    assert [state[0] for state in error.value.states] == [0, 1, 2, 3, 4, 5]


def test_kernels_refuse_constants_that_they_have_no_room_for() -> None:
    ablation = of_text("needed: a larger shape: many=3", {"many": 2})
    assert ablation.kernels.serve(ablation.constants.replace(many=1))
    larger = ablation.constants.replace(many=3)
    assert not ablation.kernels.serve(larger)
    message = r"the compiled code has room for {'many': 2}, but the constants are C\(many=3\)"
    with pytest.raises(MismatchError, match=message):
        MaskedSearch(ablation.machine, larger, ablation.properties, ALONE, kernels=ablation.kernels)
