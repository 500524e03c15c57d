"""Two machines are compared by observations, with the result of a comparison by sets on the plain semantics."""

from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from fencepost.explorers.evidence.diff import Difference, compare
from fencepost.explorers.evidence.space import Space, choose_fields, everything, observe_fields, observe_views
from fencepost.explorers.native.compile import compiled
from fencepost.explorers.native.search import Search
from fencepost.explorers.verdict import Options
from fencepost.invariants.protocols import PROTOCOLS
from fencepost.model.language import Machine, always
from fencepost.model.language.errors import DomainError, UsageError
from fencepost.model.language.interpreter import Interpreter
from fencepost.model.language.records import Key, Record, key_of

from tests.helpers.commands import data_of, fencepost, refused
from tests.helpers.parameters import few, words
from tests.helpers.places import DOCS
from tests.helpers.places import MACHINES as HERE
from tests.helpers.written import file_of, machine_of, module_of
from tests.machines import planted

pytestmark = pytest.mark.xdist_group("compare")
COIN = """
class C(Constants):
    side = bound(1, low=0, high=1, meaning="the side that is up at first")
class State(Record):
    up: Annotated[int, Range(0, 1)]
@action(side=Range(0, C.side))
def initial(s, c, side):
    s.up = side
@action()
def flip(s, c):
    s.up = 1 - s.up
"""
DROPPED = """
class C(Constants):
    drops = bound(1, low=0, high=3, meaning="drops")
class State(Record):
    up: Annotated[int, Range(0, 1)]
    drops_left: Annotated[int, Range(0, 3)]
@action()
def initial(s, c):
    s.drops_left = c.drops
@action()
def drop(s, c):
    require(s.drops_left > 0)
    s.drops_left -= 1
    s.up = 1 - s.up
@action()
def turn(s, c):
    s.up = 1 - s.up
"""
BENCHES = """
class C(Constants):
    left = shape(2, low=2, high=3, meaning="seats on the left")
    right = shape(2, low=2, high=3, meaning="seats on the right")
    used = bound(2, low=1, high=2, meaning="lamps in use")
    most = bound(2, low=1, high=2, meaning="people at most")
    top = capacity(2, low=1, high=300, meaning="the last hour")
    room = capacity(2, low=1, high=300, meaning="notes on the wall")
class Note(Record):
    by: Annotated[int, Range(0, 1)]
class State(Record):
    left: Annotated[Array[Annotated[int, Range(0, 1)]], Size(C.left)]
    right: Annotated[Array[Annotated[int, Range(0, 1)]], Size(C.right)]
    lamps: Annotated[Array[Annotated[int, Range(0, 1)]], Size(C.used)]
    people: Annotated[int, Range(0, C.most)]
    hour: Annotated[int, Range(0, C.top)]
    notes: Annotated[Bag[Note], Size(C.room)]
@action()
def sit(s, c):
    require(s.people == 0)
    s.people = 1
    if c.left == 2:
        s.right[0] = 1
    else:
        s.left[c.left - 1] = 1
@always
def few(s, c):
    return s.left[0] == 0
"""
"""Whose seats they are is only in the lengths of two arrays, which two variants may share out in other ways."""
respelt = module_of("""
from tests.machines import planted
from tests.machines.planted import C, Hall
PROPERTIES = planted.PROPERTIES
@action()
def sell(s, c):
    require(not c.tickets <= s.sold)
    s.sold = s.sold + 1
@action()
def open_door(s, c):
    require(not s.door and s.openings != 0)
    s.openings -= 1
    s.door = True
MACHINE = planted.MACHINE.replacing(
    name="respelt", sentence="the same hall in other words", sell=sell, open_door=open_door, burn_down=None
)
@action()
def open_door_again(s, c):
    require(s.openings > 0)
    require(not s.door)
    s.door = True
    s.lamp = True
    s.openings -= 1
@action()
def shut_door(s, c):
    require(s.door)
    require(s.inside > 0)
    s.door = False
CARELESS = planted.MACHINE.replacing(
    name="careless", sentence="the lamp goes on with the door", open_door=open_door_again
)
TIMID = planted.MACHINE.replacing(
    name="timid", sentence="the door stays open until somebody is inside", shut_door=shut_door
)
""")
"""The hall of `planted`, with guards spelt otherwise; `careless` lacks one, `timid` has one more."""
MACHINES: dict[str, Machine] = {
    "planted": planted.MACHINE, "respelt": respelt.MACHINE, "careless": respelt.CARELESS, "timid": respelt.TIMID,
    "coin": machine_of(COIN)[0], "dropped-coin": machine_of(DROPPED)[0],
    **{name: item.machine for name, item in PROTOCOLS.items()},
}  # fmt: skip
TINY = {"replicas": 2, "log_size": 1, "max_records": 1, "max_leader_epoch": 1}
SMALL = {"replicas": 2, "log_size": 2, "max_records": 2, "max_leader_epoch": 1}
MANY = 3_000


def space(name: str, values: Mapping[str, int]) -> Space:
    machine = MACHINES[name]
    constants = machine.set_constants(values)
    search = Search(machine, constants, (), Options(workers=1), kernels=compiled(machine, constants, ()))
    assert search.run().complete
    return Space(search)


Side = tuple[str, dict[str, int]]


def difference(one: Side, other: Side, paths: tuple[str, ...] = ()) -> Difference:
    spaces = space(*one), space(*other)
    state = MACHINES[one[0]].state
    chosen = choose_fields(state, paths) if paths else everything(state)
    return compare(spaces, (observe_fields(spaces[0], chosen), observe_fields(spaces[1], chosen)), MANY)


def graph(name: str, values: Mapping[str, int]) -> tuple[list[Key], dict[Key, set[Key]]]:
    plain = Interpreter(MACHINES[name], MACHINES[name].set_constants(values))
    following: dict[Key, set[Key]] = {}
    waiting = list(starts := plain.initial_states())
    while waiting:
        state = waiting.pop()
        if state not in following:
            following[state] = {item.after for item in plain.transitions(state)}
            waiting += following[state]
    return starts, following


def by_sets(graphs: list[Any], see: list[Callable[[Key], Any]]) -> int | None:
    """Return the number of observations in the shortest behaviour of only one side; or None."""

    def closed(side: int, states: set[Key]) -> frozenset[Key]:
        found, waiting = set(states), list(states)
        while waiting:
            at = waiting.pop()
            for after in graphs[side][1][at] - found:
                if see[side](after) == see[side](at):
                    found.add(after)
                    waiting.append(after)
        return frozenset(found)

    def split(side: int, states: set[Key]) -> dict[Any, frozenset[Key]]:
        sights = {see[side](state) for state in states}
        return {sight: closed(side, {state for state in states if see[side](state) == sight}) for sight in sights}

    waiting = deque([(split(0, set(graphs[0][0])), split(1, set(graphs[1][0])), 1)])
    known = set()
    while waiting:
        one, other, count = waiting.popleft()
        if set(one) != set(other):
            return count
        for sight, pair in ((sight, (states, other[sight])) for sight, states in one.items()):
            if pair not in known:
                known.add(pair)
                ends = [
                    {after for state in own for after in graphs[side][1][state] if see[side](after) != sight}
                    for side, own in enumerate(pair)
                ]
                waiting.append((split(0, ends[0]), split(1, ends[1]), count + 1))
    return None


CASES = [
    (("kip320", TINY), ("kip279", TINY), ("quorum",)),
    (("kip320", TINY), ("kip279", TINY), ("replica.end", "replica.high_watermark")),
    (("kip101", TINY), ("kip279", TINY), ("replica.log", "replica.end")),
    (("kip101", TINY), ("truncate-to-hwm", TINY), ("replica.high_watermark",)),
    (("planted", {}), ("respelt", {}), ("inside", "door")),
    (("planted", {}), ("careless", {}), ("door", "lamp")),
    (("planted", {}), ("timid", {}), ("door",)),
    (("planted", {}), ("timid", {}), ("door", "inside")),
    (("planted", {}), ("planted", {"tickets": 2}), ("inside",)),
    (("planted", {}), ("planted", {"painted": 1}), ("sold", "lamp")),
]


@pytest.mark.parametrize(
    ("one", "other", "paths"), few(CASES, 3, several=True), ids=lambda item: " ".join(map(str, item))
)
def test_behaviours_differ_where_sets_of_states_on_the_plain_semantics_say_so(
    one: Side, other: Side, paths: tuple[str, ...]
) -> None:
    found = difference(one, other, paths)

    def see(name: str, values: dict[str, int]) -> Callable[[Key], Any]:
        schema = Interpreter(MACHINES[name], MACHINES[name].set_constants(values)).schema
        return lambda key: tuple(_value(schema.restore(key), path.split(".")) for path in paths)

    expected = by_sets([graph(*one), graph(*other)], [see(*one), see(*other)])
    assert (expected is None) == (found.same is True)
    assert found.behaviour is None or found.behaviour.sights == expected


def _value(state: Any, names: list[str]) -> Any:
    if names and hasattr(state, names[0]):
        return _value(getattr(state, names[0]), names[1:])
    if isinstance(state, Record):
        return key_of(state)
    return int(state) if isinstance(state, int) else tuple(_value(item, names) for item in state)


def test_a_behaviour_is_a_history_of_the_side_that_has_it() -> None:
    found = difference(("planted", {}), ("timid", {}), ("door", "inside"))
    only = found.behaviour
    assert found.state is None
    assert (only.side, only.sights) == ("a", 3)
    assert [step.action.label for step in only.path.steps] == ["open-door", "shut-door"]


def test_steps_are_compared_where_every_state_can_be_told_from_all_others() -> None:
    found = difference(("kip320", SMALL), ("kip279", SMALL))
    assert found.state is not None
    one, other = space("kip279", TINY), space("kip101", TINY)
    sights = [observe_fields(item, everything(MACHINES["kip320"].state)) for item in (one, other)]
    assert all(len(set(item.tolist())) == len(item) for item in sights)
    expected = by_sets([graph("kip279", TINY), graph("kip101", TINY)], [lambda key: key, lambda key: key])
    found = compare((one, other), (sights[0], sights[1]), MANY)
    assert (expected is None) == (found.same is True)


def test_behaviours_that_differ_in_their_first_state_alone_are_told() -> None:
    found = difference(("coin", {"side": 0}), ("coin", {"side": 1}))
    assert (found.same, found.state, found.seen) == (False, None, (2, 2, 2))
    only = found.behaviour
    assert (only.side, only.sights, only.path.states, only.path.steps) == ("b", 1, ((1,),), ())
    assert by_sets([graph("coin", {"side": 0}), graph("coin", {"side": 1})], [lambda key: key, lambda key: key]) == 1


def test_views_see_what_the_plain_semantics_sees() -> None:
    found = PROTOCOLS["kip320"]
    own = space("kip320", TINY)
    plain = Interpreter(found.machine, own.search.constants)
    seen = observe_views(own, tuple(map(always, found.visible)))
    for row, sight in zip(own.rows, seen, strict=True):
        state = plain.schema.restore(own.search.layout.decode(row))
        expected = [int(view(state, own.search.constants)) for view in found.visible]
        assert list(memoryview(sight.tobytes()).cast("q")) == expected


def shifted(s: Any, c: Any) -> int:
    return 1 << (0 - s.up)


def test_a_view_that_goes_wrong_is_told_in_the_words_of_the_plain_semantics() -> None:
    with pytest.raises(DomainError, match="property 'shifted': negative shift count"):
        observe_views(space("coin", {"side": 1}), (always(shifted),))


def test_behaviours_that_are_not_compared_to_the_end_are_not_called_the_same() -> None:
    one, other = space("planted", {}), space("respelt", {})
    chosen = choose_fields(planted.Hall, ("inside", "door", "lamp"))
    found = compare((one, other), (observe_fields(one, chosen), observe_fields(other, chosen)), 1)
    assert (found.same, found.why) == (None, "more than 1 pairs of state sets were explored")


def test_fields_are_chosen_by_their_path() -> None:
    state = MACHINES["kip320"].state
    assert choose_fields(state, ("replica.log", "quorum")) == (
        "replica.log.id", "replica.log.epoch", "quorum.leader", "quorum.isr",
    )  # fmt: skip
    with pytest.raises(UsageError, match=r"has no field 'replica[.]lag'[.] Did you mean 'replica[.]log'"):
        choose_fields(state, ("replica.lag",))
    kept = everything(MACHINES["replication"].state)
    assert not any(path.startswith(("ghost_", "budget")) for path in kept)
    assert "image.isr" in kept


def test_numbers_of_what_is_left_are_budgets_which_are_not_compared() -> None:
    assert everything(MACHINES["dropped-coin"].state) == ("up",)
    assert difference(("dropped-coin", {"drops": 0}), ("dropped-coin", {"drops": 3})).same is True


def test_steps_are_read_where_a_machine_has_more_step_properties_than_64() -> None:
    stays = "@step()\ndef stays_{}(before, after, c):\n    return after.up == before.up\n"
    machine, properties = machine_of(COIN + "\n".join(stays.format(number) for number in range(70)))
    constants = machine.set_constants({})
    search = Search(machine, constants, (), Options(workers=1), kernels=compiled(machine, constants, properties))
    assert search.run().complete
    rooms = []

    def expand(*given: Any) -> Any:
        rooms.append(len(given[12]))  # compiled code writes a number for each property
        return whole.expand(*given[:12], np.full(len(properties), -1, np.int64), *given[13:])

    whole, search.module = search.module, SimpleNamespace(expand=expand)
    offsets, targets = Space(search).steps()
    assert (offsets.tolist(), targets.tolist()) == ([0, 1, 2], [1, 0])
    assert rooms == [len(properties)]


def test_a_users_file_is_compared_with_another_or_with_a_setting_and_the_first_difference_is_shown() -> None:
    found = fencepost("compare", str(HERE / "planted.py"), respelt.__file__, "--quiet", "-v")
    assert found.exit_code == 0, found.output
    assert "all that the protocol stores: no difference" in found.stdout
    assert "only B requires not c.tickets <= s.sold" in found.stdout
    assert "Only in A: burn-down" in found.stdout
    found = fencepost("compare", str(HERE / "planted.py"), "strict=off", "--quiet", "-v")
    assert found.exit_code == 1
    lines = [" ".join(line.split()) for line in found.stdout.splitlines()]
    assert "strict true in A, false in B" in lines
    assert "Only in B: the first state that no state of the other side matches, 8 states" in lines
    assert "7 enter guest=3" in lines


@pytest.mark.parametrize(
    ("sides", "says"),
    [
        ("kip320 replication", "the two sides have different state fields"),
        ("kip320 kafka-4.0", "has no version 'kafka-4.0'"),
        ("kip320 replicas=9", "out of range"),
        ("kip320 max_records=1 --max-states 10", "did not finish"),
    ],
)
def test_what_cannot_be_compared_is_refused(sides: str, says: str) -> None:
    assert says in refused(*words(f"compare {sides} --quiet"))


def test_states_are_compared_where_only_the_ends_of_numbers_differ() -> None:
    found = fencepost("compare", str(file_of(BENCHES, "benches")), "most=1", "--quiet")
    assert "all that the protocol stores: no difference" in found.stdout


@pytest.mark.long
def test_a_change_that_never_acts_is_named_with_what_stands_before_it() -> None:
    sizes = [f"--set={item}" for item in ("brokers=2", "max_records=0", "fences=0", "crashes=0")]
    asked = ("compare", str(HERE / "shrink_any_epoch.py"), *sizes, "--version=kafka-4.4-repaired", "--json", "--quiet")
    found = data_of(fencepost(*asked))
    assert (found["verdict"], found["a"]["distinct"]) == ("same", found["b"]["distinct"])
    assert found["guarantees"] == []
    assert any("`normalize` runs before controller-applies-alter-partition" in item for item in found["untouched"])


def test_guarantees_that_differ_are_named_with_the_length_of_the_history() -> None:
    found = data_of(fencepost("compare", str(HERE / "planted.py"), "strict=off", "--json", "--quiet"))
    assert (found["verdict"], found["format"]) == ("differs", 1)
    (item,) = found["guarantees"]
    assert (item["name"], item["a"], item["b"], item["states_b"]) == ("guests-have-seats", "holds", "violated", 8)


RARE = "@always\ndef rare(s: State, c: C) -> bool:\n    return s.attempts < 2\n"


def test_worst_costs_and_lengths_that_differ_are_named(tmp_path: Path) -> None:
    text = (DOCS / "examples" / "cookbook" / "worst_case.py").read_text("utf-8")
    text = text.replace("few_attempts = at", f"{RARE}\nfew_attempts = at").replace("(at_once,", "(rare, at_once,")
    text = text.replace("import Constants", "import always, Constants")
    (tmp_path / "one.py").write_text(text, "utf-8")

    def against(old: str, new: str) -> dict[str, Any]:
        (tmp_path / "other.py").write_text(text.replace(old, new, 1), "utf-8")
        sides = (str(tmp_path / name) for name in ("one.py", "other.py"))
        return data_of(fencepost("compare", *sides, "--json", "--quiet"))

    (item,) = against("{fail: 1,", "{fail: 2,")["guarantees"]
    assert (item["name"], item["worst_a"], item["worst_b"]) == ("few-attempts", "3 attempts", "5 attempts")
    (item,) = against("attempts += 1", "attempts += 2")["lengths"]
    assert (item["name"], item["states_a"], item["states_b"]) == ("rare", 3, 2)
