"""Why the loop of a trace is fair: for each promise the step that fulfils it, or the refusing guard, and where.

A trace of a behaviour contains its loop, and replay checks on the plain semantics that the loop closes, avoids
`then` and is fair."""

import json
from dataclasses import replace
from enum import IntEnum
from pathlib import Path
from typing import Any

import fencepost.api as f
import pytest
from fencepost.counterexamples.prevention import preventions
from fencepost.counterexamples.promises import kept
from fencepost.counterexamples.reader import read
from fencepost.counterexamples.render import render
from fencepost.counterexamples.replay import follow, replay, write
from fencepost.counterexamples.shrink import shrink
from fencepost.counterexamples.trace import ARCHIVE, Trace, trace_of
from fencepost.explorers.liveness.shown import Shown, every_instance, of_which, retrace, shown
from fencepost.explorers.plain import search
from fencepost.explorers.symbolic.proof import prove
from fencepost.explorers.verdict import Options, Reach
from fencepost.explorers.walk.walker import Walker
from fencepost.invariants.protocols import Protocol
from fencepost.model.language import Property, Range, action, at_most, leads_to, strong, weak
from fencepost.model.language.errors import UsageError
from fencepost.model.language.interpreter import Interpreter, Step

from tests.helpers.commands import fencepost
from tests.helpers.parameters import few
from tests.helpers.traces import rooms_trace
from tests.helpers.written import machine_of
from tests.machines import maze, rooms
from tests.machines.maze import MACHINE, C, Node, State, a, b
from tests.unit.explorers.test_liveness_traps import constants

LOOPS = [file for file in sorted(ARCHIVE.glob("*.trace")) if "\nloop:" in file.read_text()]


def lines_of(name: str) -> list[str]:
    made = follow(read(ARCHIVE / f"{name}.trace").trace)
    return kept(made.trace, made.path)


def test_a_promise_that_is_taken_says_in_which_step_and_one_never_enabled_by_which_guard() -> None:
    assert lines_of("quorum-q4-loop") == [
        ("weak leader-handles-fetch for each leader, follower (leader=0, follower=2): taken in step 4; never "
            "enabled for all others: `require(is_sent(s, leader, follower))` refuses after step 3"),
        ("weak follower-appends for each follower (follower=2): taken in step 5; never enabled for follower=0 and "
            "follower=1: `require(f.fetch.phase == Phase.ANSWERED)` refuses after step 3"),
        ("weak follower-truncates for each follower: never enabled: "
            "`require(f.fetch.phase == Phase.ANSWERED)` refuses after step 3"),
    ]  # fmt: skip


def test_where_everything_may_stop_each_promise_names_the_guard_or_the_message_that_is_missing() -> None:
    lines, missing = lines_of("replication-b15-kafka-14144"), "there is no message for leader-learns-change-applied"
    applies = "weak broker-applies-metadata for each broker: never enabled: `require(index <= s.newest)` refuses"
    assert f"{applies} after step 4" in lines
    assert any(f"never enabled: {missing} after step 4" in line for line in lines)


def test_a_weak_promise_is_explained_for_each_of_its_values_and_only_where_the_loop_is_fair() -> None:
    plain = Interpreter(rooms.MACHINE, rooms.C(size=2))
    start = plain.initial_states()[0]
    prop = leads_to(
        "all_lit", "All is lit.", when=rooms.is_dark, then=rooms.is_lit, fair=(weak(rooms.light, each="room"),),
        room=rooms.Room,
    )  # fmt: skip
    there, back = ([Step(rooms.light, (room,)), Step(rooms.darken, (room,))] for room in range(2))
    path, away = retrace(plain, start, [*there, *back], 0), retrace(plain, start, there, 0)
    trace = Trace("Rooms", Protocol(rooms.MACHINE, (prop,)), rooms.C(size=2), prop, path.steps, args=(0,), loop=0)
    taken = ((0, 1), (1, 3))
    assert kept(trace, path) == [f"weak light for each room (room={n}): taken in step {step}" for n, step in taken]
    assert kept(trace, away) == []  # room 1 could be lit all the time
    lit = replace(trace, prop=replace(prop, eventual=replace(prop.behaviour, fair=(weak(rooms.darken, each="room"),))))
    half = retrace(plain, start, path.steps[:1], None)
    assert kept(lit, replace(half, loop=1)) == []  # room 0 could be dark all the time
    assert kept(lit, replace(half, loop=0, states=(start,), steps=())) == [
        "weak darken for each room: never enabled: `require(s.lit[room])` refuses in the initial state"
    ]


class Mood(IntEnum):
    """The values of one action of a group."""

    A = 0
    B = 1


@action(k=Mood)
def turns(s: rooms.State, c: rooms.C, k: int) -> None:
    """Turn."""


@action(k=Range(1, 3))
def ends(s: rooms.State, c: rooms.C, k: int) -> None:
    """End."""


def test_a_group_knows_the_values_of_each_of_its_actions() -> None:
    machine = replace(rooms.MACHINE, actions=(*rooms.MACHINE.actions, turns, ends))
    plain, group = Interpreter(machine, machine.set_constants({})), weak(turns, ends, each="k")
    assert every_instance(plain, group) == [(0,), (1,), (2,), (3,)]
    assert [of_which(plain, group, values) for values in every_instance(plain, group)] == ["k=a", "k=b", "k=2", "k=3"]


@pytest.mark.parametrize("file", few(LOOPS, 4), ids=lambda file: file.stem)
def test_every_promise_of_an_archived_loop_is_explained_if_it_is_fair(file: object) -> None:
    made = follow(read(file).trace)
    assert made.trace.prop is not None
    lines = kept(made.trace, made.path)
    literally = shown(made.trace.interpreter(), made.trace.prop, made.trace.args, made.path)
    if isinstance(literally, Shown) and literally.reach is not Reach.NEVER:
        assert lines == [], "each round costs more, and a fair behaviour leaves it"
        return
    for fair in made.trace.prop.behaviour.fair:
        assert any(line.startswith(str(fair)) for line in lines)


def test_a_history_without_end_says_under_which_settings_it_ends_otherwise_or_is_not_fair() -> None:
    made = follow(read(ARCHIVE / "metadata-reads-foreign-context.trace").trace)
    [found] = preventions(made.trace, made.path)
    assert (found.setting, found.ending.step) == ("resets=true", 0)
    assert found.ending.sentence.startswith("the loop is not fair, because `strong user-resets-store for each cli")
    assert f"The steps are the same, and {found.ending.sentence.partition('`')[0]}" in render("html", made)
    ending = follow(read(ARCHIVE / "quorum-neither-half.trace").trace)
    assert [item.ending.step for item in preventions(ending.trace, ending.path)] == [4]


def test_every_format_that_tells_a_story_says_why_its_loop_is_fair() -> None:
    file = ARCHIVE / "quorum-q4-loop.trace"
    made = follow(read(file).trace)
    why = "weak follower-appends for each follower (follower=2): taken in step 5"
    page, text = render("html", made), " ".join(fencepost("show", str(file)).stdout.split())
    assert f"<li>{why}" in page
    assert f" {why}" in text
    assert [shown.count("weak follower-appends for each follower") for shown in (page, text)] == [1, 1]
    notes = [line for line in render("mermaid", made).splitlines() if "The loop is fair:" in line]
    assert len(notes) == 1
    assert why in " ".join(notes[0].replace("<br/>", " ").split())
    assert any(line.startswith(why) for line in json.loads(render("itf", made))["#meta"]["fair"])
    assert 'id="fair"' not in render("html", follow(rooms_trace(rooms.gets_light)))


RATIONED = machine_of("""
class C(Constants):
    tokens = bound(2, low=1, high=4, meaning="leases in all")
    willing = switch(default=True, meaning="the server serves whoever waits")
class State(Record):
    waits: bool
    last: Annotated[int, Range(0, C.tokens)]
@action()
def ask(s, c):
    require(not s.waits)
    s.waits = True
@action()
def serve(s, c):
    require(s.waits)
    require(c.willing)
    require(s.last < c.tokens, bound=C.tokens)
    s.last += 1
    s.waits = False
def waiting(s, c):
    return s.waits
def served(s, c):
    return not s.waits
is_served = leads_to("is-served", "Who asks is served.", when=waiting, then=served, fair=(weak(serve), weak(ask)))
PROPERTIES = (is_served,)
""")
"""A server hands out numbered leases, and stops at the end of the numbers or on purpose."""


@pytest.mark.parametrize("engine", ["plain", "native"])
def test_a_violation_that_hangs_on_a_bound_of_the_run_says_so_first(engine: str) -> None:
    found = f.check(*RATIONED, engine=engine)
    hangs = "guard for the bound tokens=2, which is not a rule of the protocol. Without the guard, serve could"
    assert found.notes[0].startswith("is-served: the trace ")
    assert hangs in found.notes[0]
    made = found.traces["is-served"]
    bounds = "only within the bounds of the run: the trace depends on the guard for the bound tokens=2"
    assert kept(made.trace, made.path)[0].startswith(bounds)
    found = f.check(*RATIONED, engine=engine, willing=False)
    assert not [note for note in found.notes if "depends on" in note], "a rule of the protocol causes it"
    made = found.traces["is-served"]
    assert kept(made.trace, made.path)[0].startswith("weak serve: never enabled: `require(c.willing)` refuses")


ROUND = "b 0>1, b 1>0, a 0>4"
PATH = "a 0>1, a 1>4"


def at(s: State, c: C, node: int) -> bool:
    return s.at == node


def elsewhere(s: State, c: C, node: int) -> bool:
    return s.at != node


ABOUT: dict[str, Any] = {"when": maze.when, "then": maze.then}
COMES = leads_to("comes", "It comes there.", fair=(weak(a), weak(b)), without=(maze.d,), **ABOUT)
LEAVES = leads_to("leaves", "It leaves each node.", when=at, then=elsewhere, fair=(weak(a),), node=Node)
COSTS = at_most("costs", "It is cheap.", costs={a: 3}, bound=6, unit="ms", fair=(weak(a),), **ABOUT)
SPINS = at_most("spins", "It is cheap.", costs={b: 1}, fair=(strong(a), weak(b)), **ABOUT)
FOUND = Protocol(MACHINE, (COMES, LEAVES, COSTS, SPINS))


def trace(prop: Property, graph: str) -> Trace:
    result = search(MACHINE, constants(graph, [0], [4]), (prop,), Options(workers=1))
    return trace_of(result, prop.name, lookup=lambda _: FOUND)


def written(folder: Path, prop: Property, graph: str) -> Path:
    file = folder / "x.trace"
    write(file, trace(prop, graph))
    return file


EDITS = [
    (COMES, ROUND, "loop:\n", "", "this trace has no loop. Write a line `loop:`"),
    (COMES, ROUND, "loop:\nb to=1\n", "b to=1\nloop:\n", "the loop is not closed"),
    (COMES, ROUND, "loop:\nb to=1\nb to=0\n", "loop:\n", "`weak a` is enabled all the time but never happens"),
    (COMES, ROUND, "loop:\nb to=1\nb to=0\n", "loop:\nb to=1\nloop:\nb to=0\n", "`loop:` appears twice"),
    (COMES, ROUND, "loop:\nb to=1\nb to=0\n", "a to=4\nloop:\n", "after each state that satisfies `when`"),
    (COMES, ROUND, "fairness: weak a; weak b", "fairness: weak a", "but 'comes' has 'weak a; weak b'"),
    (COMES, ROUND, "without: d\n", "without: b\n", "without is 'b'"),
    (COMES, ROUND, "verdict: violated", "for: node=1\nverdict: violated", "the property has no parameters"),
    (COMES, ROUND, "verdict: violated", "verdict: worst", "has no costs. Write `verdict: violated`"),
    (LEAVES, "a 0>1", "for: node=1\n", "", "needs a value for node, but the header gives none"),
    (LEAVES, "a 0>1", "for: node=1", "for: node=7", "is not a value of the property's parameters"),
    (LEAVES, "a 0>1", "for: node=1", "for: node=0", "after each state that satisfies `when`"),
    (COSTS, PATH, "a to=4\n", "", "`then` does not hold in the last state"),
    (COSTS, PATH, "a to=4\n", "a to=4\nloop:\n", "without a loop. Remove `loop:`"),
    (COSTS, PATH, "verdict: worst", "verdict: violated", "the path costs 6, and the bound is 6"),
    (SPINS, ROUND, "loop:\nb to=1\nb to=0\n", "b to=1\nb to=0\nloop:\n",
        "`strong a` is enabled again and again but never happens"),
]  # fmt: skip


@pytest.mark.parametrize(("prop", "graph", "old", "new", "message"), EDITS)
def test_an_edited_trace_that_shows_nothing_is_refused(
    tmp_path: Path, prop: Property, graph: str, old: str, new: str, message: str
) -> None:
    file = written(tmp_path, prop, graph)
    text = file.read_text()
    assert text.count(old) >= 1
    file.write_text(text.replace(old, new, 1))
    with pytest.raises(UsageError) as caught:
        replay(file, lambda _: FOUND)
    assert message in str(caught.value)


def test_diagrams_tell_the_loop(tmp_path: Path) -> None:
    made = replay(written(tmp_path, COMES, ROUND), lambda _: FOUND)
    diagram = [line.strip() for line in render("mermaid", made).split("\n")]
    assert diagram.index("loop forever") < diagram.index("end")


def test_what_judges_finite_runs_refuses_whole_behaviours() -> None:
    chosen = constants(ROUND, [0], [4])
    with pytest.raises(UsageError, match="'comes' is about whole behaviours, which never end: every walk has an end"):
        Walker(MACHINE, chosen, (COMES,))
    with pytest.raises(UsageError, match="induction is about states and single steps"):
        prove(MACHINE, chosen, (COMES,), None)
    with pytest.raises(UsageError, match="the trace is a path and a loop"):
        shrink(trace(COMES, ROUND))
