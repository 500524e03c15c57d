"""Traces are shortened to a known size, and the reported reach of the check is right."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import fencepost.counterexamples.shrink as shrinking
import pytest
from fencepost.api.calls.shrink import ShrinkResult
from fencepost.counterexamples.replay import follow, write
from fencepost.counterexamples.shortening import sizes
from fencepost.counterexamples.shrink import Limits, Shrunk, shrink
from fencepost.counterexamples.trace import Trace, trace_of_path
from fencepost.explorers.program.removal import find_guard
from fencepost.explorers.walk.walker import Walker
from fencepost.invariants.protocols import PROTOCOLS, Protocol
from fencepost.model.language.interpreter import Interpreter, Step

from tests.helpers.commands import data_of, fencepost
from tests.helpers.parameters import sized
from tests.helpers.traces import lamps_trace
from tests.helpers.written import machine_of
from tests.machines import grid, lamps, mailbox

LIMITS = Limits(seconds=3600, workers=1)
OWN: dict[str, Any] = {item.MACHINE.name: item for item in (grid, lamps, mailbox)}
REPAIRED = {"equal_partition_epoch_overwrites": 0, "reset_followers_on_reelection": 1, "fenced_before_registration": 1}
PLANTED: list[tuple[str, str, dict[str, int], dict[str, int], int]] = [
    # protocol, property, constants of the walks, constants that are left, states of the shortest trace
    ("grid", "is-near", {"width": 9, "starts": 3, "returning": 1, "resting": 1}, {"starts": 3}, 3),
    ("grid", "never-goes-back", {"width": 9, "starts": 2, "returning": 1}, {"starts": 1, "width": 3}, 4),
    ("lamps", "some-lamp-is-dark", {"lamps": 3}, {"lamps": 1}, 2),
    ("truncate-to-hwm", "weak-isr", {"replicas": 3}, sized("replicas=2 log_size=1 max_records=1"), 9),
    ("kip101", "weak-isr", {"replicas": 2}, {"log_size": 2}, 12),
    ("replication", "joining-epoch-is-registered",
        {**REPAIRED, **sized("brokers=3 initial_isr=1 alter_partition_version=2 fences=3 crashes=2")},
        sized("brokers=2 fences=1 crashes=1 max_records=0 shrinks=0 max_leader_epoch=0"), 8),
    ("replication", "leader-has-committed",
        {**REPAIRED, **sized("brokers=3 truncation=0 loss=0 fences=4 crashes=1 max_leader_epoch=6")},
        sized("brokers=2 fences=2 crashes=0 max_records=1 shrinks=0 max_leader_epoch=3"), 10),
]  # fmt: skip


@pytest.fixture(autouse=True)
def every_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    """Search smaller shapes whether compiled before or not, so that no test depends on the cache."""
    monkeypatch.setattr("fencepost.counterexamples.shrink.is_cached", lambda _: True)


def walked(name: str, prop: str, values: dict[str, int]) -> Trace:
    own = OWN.get(name)
    found = Protocol(own.MACHINE, own.PROPERTIES) if own else PROTOCOLS[name]
    constants = found.machine.set_constants(values)
    walker = Walker(found.machine, constants, tuple(item for item in found.properties if not item.kind.over_behaviours))
    number = [item.name for item in walker.properties].index(prop)
    for first in range(0, 200_000, 200):
        decided = walker.walk(first, first + 200, seed=11, depth=200).decided[:, number]
        if (decided >= 0).any():
            at = int((decided >= 0).argmax())
            way = walker.way(first + at, seed=11, steps=int(decided[at]))
            return trace_of_path(found, constants, prop, walker.confirm(way, walker.properties[number]))
    raise AssertionError(f"no walk decides {prop}")


@pytest.mark.parametrize(
    ("name", "prop", "given", "left", "length"),
    [
        pytest.param(
            *item,
            id=f"{item[0]} {item[1]}",
            marks=[pytest.mark.xdist_group(item[0]), *([pytest.mark.long] if item[0] == "replication" else [])],
        )
        for item in PLANTED
    ],
)
def test_planted_bugs_shrink_to_their_known_size(
    name: str, prop: str, given: dict[str, int], left: dict[str, int], length: int
) -> None:
    trace = walked(name, prop, given)
    made = shrink(trace, LIMITS)
    assert made.path.length == length
    assert made.before == follow(trace).path.length >= length
    assert made.shortest
    assert made.reach.startswith("No shorter trace exists with these constants")
    values = made.trace.constants.values
    assert {constant: int(values[constant]) for constant in left} == left
    assert follow(made.trace).path == made.path
    for constant in set(values) - set(sizes(trace.protocol.machine)):
        assert values[constant] == trace.constants.values[constant]


def test_a_deadlock_and_a_witness_are_shortened_too() -> None:
    end = lamps_trace(None, (1, 0), (2, 0), (4, 0), (1, 0))
    assert shrink(end, LIMITS).path.length == 5
    witness = walked("mailbox", "everyone-is-done", {})
    made = shrink(witness, LIMITS)
    assert made.path.length == 4 < made.before  # one client suffices
    assert made.shortest


def test_a_search_that_does_not_reach_says_how_far_it_was_checked() -> None:
    trace = walked("kip279", "strong-isr", {"replicas": 3})
    made = shrink(trace, Limits(seconds=60, memory=1 << 20, workers=1))
    assert not made.shortest
    assert made.checked < made.path.length - 1
    assert f"With these constants, no trace with this finding has {made.checked} states or fewer" in made.reach
    assert "the memory limit of 1 MiB was reached" in made.reach


def test_no_time_leaves_a_trace_that_still_shows_it() -> None:
    trace = walked("kip101", "weak-isr", {"replicas": 2})
    made = shrink(trace, Limits(seconds=0.001, workers=1))
    assert follow(made.trace).path == made.path
    assert made.path.length <= made.before


def test_the_command_shortens_a_file_and_says_how_far(tmp_path: Path) -> None:
    long = tmp_path / "long.trace"
    write(long, walked("kip101", "weak-isr", {"replicas": 2}))
    done = fencepost("shrink", str(long), "--trace", str(tmp_path / "short.trace"))
    assert done.exit_code == 0
    assert "to 12 states in" in " ".join(done.stdout.split())
    assert "No shorter trace exists with these constants" in " ".join(done.stdout.split())
    assert fencepost("replay", str(tmp_path / "short.trace")).exit_code == 0
    found = data_of(fencepost("shrink", str(tmp_path / "short.trace"), "--json"))
    assert (found["before"], found["length"], found["shortest"], len(found["steps"])) == (12, 12, True, 11)


def test_a_trace_that_is_not_shortened_is_told_as_it_was() -> None:
    trace = lamps_trace(lamps.some_lamp_is_dark, (0b111, 0))
    made = Shrunk(trace, follow(trace).path, before=2, lowered={"lamps": (3, 2)}, checked=2, searched=9, seconds=11.9)
    same, shorter = (ShrinkResult(**vars(it)).summary for it in (made, replace(made, before=5)))
    assert same.startswith("The trace still has 2 states; shortening it took 11.9 s. Lowered: lamps 3 → 2. No shorter ")
    assert shorter.startswith("Shortened from 5 to 2 states in 11.9 s. Lowered")


STAIRS = Protocol(
    *machine_of("""
class C(Constants):
    landing = bound(3, low=1, high=4, meaning="the stair on which one stops")
class State(Record):
    stair: Annotated[int, Range(0, 5)]
@action()
def climb(s, c):
    require(s.stair < c.landing)
    s.stair += 1
@action()
def leap(s, c):
    require(s.stair <= 1)
    s.stair += 2
@always
def is_low(s, c):
    return s.stair <= 3
@sometimes
def is_high(s, c):
    return s.stair > 3
""")
)
"""One stair at a time or two: without its guard a step goes higher than any step with it."""
IS_LOW, IS_HIGH = STAIRS.properties


@pytest.mark.parametrize(
    ("prop", "states"), [(IS_LOW, 4), (IS_HIGH, 4), (None, 5)], ids=("always", "sometimes", "deadlock")
)
def test_a_trace_that_lacks_a_guard_is_searched_without_the_guard(prop: Any, states: int) -> None:
    guard = find_guard(STAIRS.machine, "climb 1")
    trace = Trace("Up", STAIRS, STAIRS.machine.set_constants({}), prop, (), removed=guard)
    steps = (Step(trace.interpreter().machine.action("climb"), ()),) * (5 if prop is None else 4)
    found = shrink(replace(trace, steps=steps), LIMITS)
    assert (found.before, found.path.length, found.shortest) == (len(steps) + 1, states, True)
    assert {step.action.name for step in found.trace.steps} == {"climb", "leap"}
    plain = found.trace.interpreter()
    assert shortest_of(plain, prop) == states


def shortest_of(plain: Interpreter, prop: Any) -> int:
    def ends(state: Any) -> bool:
        return plain.holds(prop, state) is (prop is IS_HIGH) if prop else not list(plain.transitions(state))

    level, length = set(plain.initial_states()), 1
    while not any(map(ends, level)):
        level, length = {found.after for state in level for found in plain.transitions(state)}, length + 1
    return length


def test_a_level_that_was_not_expanded_is_not_checked_for_deadlocks(monkeypatch: pytest.MonkeyPatch) -> None:
    climbs = (Step(STAIRS.machine.action("climb"), ()),) * 3
    trace = Trace("Slow", STAIRS, STAIRS.machine.set_constants({}), None, climbs)
    assert shrink(trace, LIMITS).path.length == 3
    whole = shrinking.search

    def limited(*given: Any, **more: Any) -> Any:
        return whole(*given[:3], replace(given[3], max_states=2), **more)

    monkeypatch.setattr(shrinking, "search", limited)
    made = shrink(trace, LIMITS)
    assert (made.path.length, made.checked, made.shortest) == (4, 1, False)
    assert "With these constants, no trace with this finding has 1 states or fewer" in made.reach
