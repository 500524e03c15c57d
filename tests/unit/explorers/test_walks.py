"""Random walks are walks of the plain semantics, determined by seed and number, and drawn with the right odds."""

import json
import re
import signal
import time
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from fencepost.explorers.verdict import LEFT, Verdict
from fencepost.explorers.walk.measures import estimate
from fencepost.explorers.walk.sample import Plan, Sample, nothing, sample
from fencepost.explorers.walk.walker import End, Walker
from fencepost.invariants.protocols import PROTOCOLS
from fencepost.model.language import Kind, Machine, Property
from fencepost.model.language.errors import DomainError, UsageError
from fencepost.model.language.records import Key

from tests.helpers.commands import fencepost
from tests.helpers.written import file_of, machine_of
from tests.machines import grid, lamps, mailbox

SMALL: dict[str, Any] = {item.MACHINE.name: item for item in (grid, lamps, mailbox)}
WALKED: list[tuple[str, dict[str, int], int]] = [
    ("kip320", {"replicas": 3}, 12),
    ("mailbox", {"deduplicate": 0, "losses": 3}, 20),
    ("grid", {"starts": 3, "noisy": 1, "returning": 1, "resting": 1}, 20),
    ("lamps", {}, 20),
]
FAIR = 45.0
"""A sum of squares with 15 degrees of freedom is larger once in 12,000 times; with fewer degrees, more seldom."""


def walker(name: str, **values: int) -> Walker:
    found = SMALL.get(name)
    known = (found.MACHINE, found.PROPERTIES) if found else (PROTOCOLS[name].machine, PROTOCOLS[name].properties)
    return walker_of(*known, **values)


def walker_of(machine: Machine, properties: tuple[Property, ...], **values: int) -> Walker:
    judged = tuple(item for item in properties if not item.kind.over_behaviours)
    return Walker(machine, machine.set_constants(values), judged)


def decides(w: Walker, prop: Property, key: Key) -> bool:
    """Return whether a state, or a step from it, decides a property by the plain semantics."""
    wanted = prop.kind is Kind.SOMETIMES
    if not prop.over_steps:
        return w.plain.holds(prop, key) is wanted
    return any(
        w.plain.holds_step(prop, key, item) is wanted
        for item in w.plain.transitions(key)
        if prop.on is None or prop.on.name == item.step.action.name
    )


def squares(counted: np.ndarray[Any, Any], odds: list[float]) -> float:
    """Return Pearson's sum of squares of counts against the odds they should have."""
    expected = np.array(odds) * counted.sum()
    return float(((counted - expected) ** 2 / expected).sum())


def fixed(found: Sample) -> Sample:
    """Return the part of a sample that is the same in every run."""
    return replace(found, seconds=0, workers=0, plan=Plan())


WALKS = [pytest.param(*item, id=item[0], marks=pytest.mark.xdist_group(item[0])) for item in WALKED]


@pytest.mark.parametrize(("name", "values", "count"), WALKS)
def test_every_step_of_a_walk_is_one_of_the_plain_semantics_and_judged_alike(
    name: str, values: Mapping[str, int], count: int
) -> None:
    w = walker(name, **values)
    starts = w.plain.initial_states()
    made = w.walk(0, count, seed=7, depth=40)
    for number in range(count):
        way = w.way(number, seed=7, steps=40)
        assert way[0] in starts
        fired = np.zeros(len(w.machine.actions), int)
        for before, after in pairwise(way):
            happened = next(item for item in w.plain.transitions(before) if item.after == after)
            fired[w.machine.actions.index(happened.step.action)] += 1
        assert len(way) == made.steps[number] + 1
        assert w.layout.decode(made.finals[number]) == way[-1]
        assert made.decided[number].tolist() == [
            next((steps for steps, key in enumerate(way) if decides(w, prop, key)), -1) for prop in w.properties
        ]
        assert fired.sum() == made.fired[number].sum()
        is_stuck = len(way) <= 40 and not list(w.plain.transitions(way[-1]))
        assert made.ends[number] == (End.STUCK if is_stuck else End.DEPTH)


def test_a_walk_depends_on_its_seed_and_number_only() -> None:
    w = walker("kip279")
    whole = w.walk(0, 60, seed=1, depth=30)
    parts = [w.walk(first, last, seed=1, depth=30) for first, last in ((0, 7), (7, 8), (8, 60))]
    for name in ("steps", "ends", "decided", "fired", "finals"):
        assert (np.concatenate([getattr(item, name) for item in parts]) == getattr(whole, name)).all()
    assert (np.maximum.reduce([item.sketch for item in parts]) == whole.sketch).all()
    assert (w.walk(0, 60, seed=2, depth=30).finals != whole.finals).any()
    assert (w.walk(0, 60, seed=1 + 2**64, depth=30).finals == whole.finals).all()
    part, all_of_it = (w.walk(at, 9, seed=1, depth=30, weights=w.weights({"leader-write": 2})) for at in (3, 0))
    assert (part.finals == all_of_it.finals[3:]).all()
    with pytest.raises(UsageError, match="which is too many: request at most 1,000,000"):
        w.walk(0, 1, seed=0, depth=2_000_000)


@pytest.mark.parametrize("stop", [False, True])
def test_a_sample_is_the_same_for_any_number_of_workers(stop: bool) -> None:
    w = walker("kip101")
    found = [sample(w, Plan(walks=3_000, workers=workers, stop_on_violation=stop)) for workers in (1, 2, 5)]
    assert fixed(found[0]) == fixed(found[1]) == fixed(found[2])
    assert found[0].verdict is Verdict.VIOLATED
    assert found[0].complete is not stop
    assert (found[0].walks < 3_000) is stop


def test_all_enabled_steps_are_equally_likely() -> None:
    w = walker("lamps")
    finals = w.states(w.walk(0, 16_000, seed=3, depth=1).finals)
    after = finals["lit"] + 8 * finals["noise"]
    assert squares(np.bincount(after, minlength=16), [1 / 16] * 16) < FAIR
    # of favourites 0 and 1 there are two initial states each, and of the last one
    starts = w.states(w.walk(0, 16_000, seed=4, depth=0).finals)
    assert squares(np.bincount(starts["favourite"]), [0.4, 0.4, 0.2]) < FAIR


def test_actions_are_chosen_by_weight_and_then_their_steps_alike() -> None:
    w = walker("grid", width=9, resting=1)
    made = w.walk(0, 16_000, seed=5, depth=1, weights=w.weights({"right": 5, "rest": 2}))
    assert made.fired.sum(axis=0).tolist()[3] == 0
    assert squares(made.fired.sum(axis=0)[:3], [5 / 8, 1 / 8, 2 / 8]) < FAIR
    lights = walker("lamps")
    weighted = lights.walk(0, 16_000, seed=5, depth=1, weights=lights.weights({"switch-to": 3}))
    assert squares(np.bincount(lights.states(weighted.finals)["lit"], minlength=8), [1 / 8] * 8) < FAIR


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"left": 1}, "protocol 'grid' has no action 'left'. Did you mean 'rest'?"),
        ({"right": 70_000}, "action 'right' has the weight 70000: expected a whole number from 0 to 65535."),
        ({"right": 0, "down": 0, "rest": 0, "go-back": 0},
            "every action has weight 0, so no walk could take a step: give at least one action a positive weight."),
    ],
)  # fmt: skip
def test_weights_that_make_no_sense_are_refused(given: dict[str, int], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        walker("grid").weights(given)
    assert str(caught.value).startswith(said)


def test_a_schedule_chooses_the_initial_state_and_then_the_enabled_step_of_its_number() -> None:
    w = walker("grid", width=4, starts=2)
    assert w.way_along([1, 1, 1, 2, 2]) == [(1, 0, 0), (2, 0, 0), (3, 0, 0), (3, 1, 0), (3, 2, 0)]
    assert w.way_along([3, 1]) == w.way_along([1, 1])
    assert w.way_along([0, 3, 4]) == w.way_along([0, 1, 2])
    assert w.way_along([0, 2**64 - 1]) == w.way_along([0, 1])
    assert w.way_along([1, 1, 1, 1], steps=2) == w.way_along([1, 1, 1])
    assert w.way_along([0]) == [(0, 0, 0)]
    w = walker("grid", width=4)
    assert w.way_along([0, 0, 1, 0, 0, 2, 0]) == w.way_along([0, 1, 2]) == [(0, 0, 0), (1, 0, 0), (1, 1, 0)]
    assert w.way_along([0, 0, 0]) == [(0, 0, 0)]


def test_schedules_are_followed_each_on_its_own_to_a_violation() -> None:
    w = walker("grid", width=4)
    followed = w.follow(np.array([[0, 0, 1, 0, 0, 0], [0, 1, 1, 1, 1, 1], [0, 2, 2, 2, 2, 1]]))
    assert followed.steps.tolist() == [1, 3, 4]
    assert followed.ends.tolist() == [End.DEPTH, End.STOPPED, End.STOPPED]
    # the fourth step down is the only one left, to the right
    assert w.states(followed.finals)["x"].tolist() == [1, 3, 1]
    assert followed.decided[:, 0].tolist() == [-1, -1, 4]


@pytest.mark.parametrize("name", ["weak-isr", "strong-isr", "follower-truncates", "leader-changes"])
def test_a_way_is_confirmed_by_the_plain_semantics(name: str) -> None:
    w = walker("kip101")
    found = sample(w, Plan(walks=3_000)).of(name)
    column = [item.name for item in w.properties].index(name)
    decided = w.walk(0, 3_000, seed=0, depth=100).decided[:, column]
    over_steps = w.properties[column].over_steps
    assert found.path.length == decided[decided >= 0].min() + 1 + over_steps
    assert decided[found.walk] == decided[decided >= 0].min()
    assert found.walks == (decided >= 0).sum()


STILL = """
class State(Record):
    lit: bool
@action()
def light(s, c):
    require(s.lit)
@always
def it_is_lit(s, c):
    return s.lit
"""


def test_what_the_first_state_decides_counts_in_walks_without_a_step() -> None:
    found = sample(walker_of(*machine_of(STILL)), Plan(walks=70))
    assert (found.walks, found.steps, found.stuck) == (70, 0, 70)
    assert (found.longest, found.most_faults, found.deepest_log) == (0, 0, 0)
    (item,) = found.properties
    assert (item.result.verdict, item.walks, item.walk) == (Verdict.VIOLATED, 70, 0)


def test_who_asks_to_stop_is_heard_after_the_batches_that_were_begun() -> None:
    told: list[tuple[int, int, float]] = []

    def tell(walks: int, steps: int, seconds: float) -> None:
        told.append((walks, steps, seconds))
        signal.raise_signal(signal.SIGINT)

    began = time.perf_counter()
    found = sample(walker("mailbox"), Plan(walks=10**9, workers=1, budget=60), tell)
    assert (found.why_stopped, len(told)) == ("SIGINT was received", 1)
    assert (found.walks, found.steps) == told[0][:2]
    assert 0 < told[0][2] <= time.perf_counter() - began


def test_a_budget_ends_a_sample_which_says_so() -> None:
    found = sample(walker("kip320"), Plan(walks=10**9, budget=0.3, workers=1))
    assert found.why_stopped == "the time budget of 0.3 s ran out"
    assert 0 < found.walks < 10**9
    assert found.verdict is Verdict.NOT_FOUND


GOES_WRONG = """
class State(Record):
    b: Annotated[int, Range(0, 5)]
@action(by=Range(1, 2))
def go(s, c, by):
    require(s.b == 0)
    s.b += by
@action()
def bad(s, c):
    require(s.b == 2)
    s.b += 8
@always
def not_one(s, c):
    return s.b != 1
@always
def not_two(s, c):
    return s.b != 2
@always
def low(s, c):
    return s.b < 3
"""
"""Walks without an error violate the first property, those whose next step raises an error the second."""


@pytest.mark.parametrize("stop", [False, True])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_walk_that_goes_wrong_hides_no_violation_of_it_or_of_others(seed: int, stop: bool) -> None:
    machine, properties = machine_of(GOES_WRONG)
    w = walker_of(machine, properties)
    told = []
    for workers in (1, 2):
        made = sample(w, Plan(walks=20, depth=8, seed=seed, workers=workers, stop_on_violation=stop))
        assert [item.text.partition(" is out")[0] for item in made.problems] == ["bad: State.b: 10"]
        told.append(fixed(made))
    found = told[0]
    assert (found, found.verdict, found.why_stopped) == (told[1], Verdict.VIOLATED, LEFT)
    assert (found.walks, found.steps) == (20, 20)
    one, two, low = found.properties
    assert (one.walks + two.walks, low.walks) == (20, 0)
    assert one.walks > 0 < two.walks
    assert {one.path and one.path.length, two.path and two.path.length} == {2}
    with pytest.raises(DomainError, match=r"bad: State\.b: 10 is out of its domain"):
        sample(walker_of(machine, properties[2:]), Plan(walks=20, depth=8, seed=seed))
    one_of_two = sample(walker_of(machine, properties[:1]), Plan(walks=2, depth=8, seed=0))
    assert (one_of_two.properties[0].walks, one_of_two.verdict, one_of_two.why_stopped) == (1, Verdict.VIOLATED, LEFT)


def test_an_error_of_a_walk_is_told_beside_the_violations() -> None:
    file = file_of(GOES_WRONG, "mine")
    for shrink in ("--shrink", "--no-shrink"):
        found = fencepost("simulate", str(file), "--walks", "20", "--json", "--quiet", shrink)
        data = json.loads(found.stdout)
        assert (found.exit_code, data["verdict"], data["complete"], data["why_stopped"]) == (1, "violated", False, LEFT)
        [note] = data["notes"]
        said = rf"{re.escape(str(file))}:\d+: bad: State.b: 10 is out of its domain 0..5. Guard the step"
        assert re.match(said, note)


def test_a_sample_that_was_not_begun_has_nothing() -> None:
    w = walker("mailbox")
    found = nothing(w.machine, w.constants, w.properties, Plan(walks=5), "there was no time")
    counts = (found.walks, found.steps, found.seconds, found.stuck, found.longest, found.most_faults, found.deepest_log)
    assert counts == (0,) * 7
    assert (found.distinct, set(found.fired.values()), found.why_stopped) == (0, {0}, "there was no time")
    assert found.verdict is Verdict.NOT_FOUND


def test_different_states_are_counted_to_a_few_per_cent() -> None:
    w = walker("kip320", replicas=2)
    for count in (20, 1_500):
        exact = len({key for number in range(count) for key in w.way(number, seed=0, steps=50)[1:]})
        about = estimate(w.walk(0, count, seed=0, depth=50).sketch)
        assert about == pytest.approx(exact, rel=0.05)
    assert estimate(np.zeros(4096, np.uint8)) == 0
    ranks = np.random.default_rng(0).geometric(0.5, (4096, 50))  # of fifty hashes for each register
    assert estimate(ranks.max(axis=1).astype(np.uint8)) == pytest.approx(4096 * 50, rel=0.05)


BUDGETS = """
class State(Record):
    given: Annotated[int, Range(0, 3)]
    crashes_left: Annotated[int, Range(0, 3)]
@action(count=Range(0, 3))
def initial(s, c, count):
    s.given = count
    s.crashes_left = count
@action()
def crash(s, c):
    require(s.crashes_left > 0)
    s.crashes_left -= 1
@always
def fine(s, c):
    return s.crashes_left < 4
"""


def test_faults_count_from_the_initial_state_of_each_walk() -> None:
    w = walker_of(*machine_of(BUDGETS))
    made = w.walk(0, 60, seed=0, depth=5)
    given = w.states(made.finals)["given"]
    assert set(given.tolist()) == {0, 1, 2, 3}
    assert w.faults(made).tolist() == given.tolist()
    assert w.states(w.initial[made.begins])["given"].tolist() == given.tolist()
    assert sample(w, Plan(walks=60, depth=5, workers=1)).most_faults == 3
    followed = w.follow(np.array([[2, 1, 1, 1], [3, 1, 1, 1]]))
    assert w.faults(followed).tolist() == [2, 3]
