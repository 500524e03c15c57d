"""A trace of a behaviour contains its loop, and replay checks on the plain semantics that the loop closes, avoids
`then` and is fair.
"""

from pathlib import Path
from typing import Any

import pytest
from fencepost.counterexamples.render import render
from fencepost.counterexamples.replay import replay, write
from fencepost.counterexamples.shrink import shrink
from fencepost.counterexamples.trace import Trace, trace_of
from fencepost.explorers.plain import search
from fencepost.explorers.symbolic.proof import prove
from fencepost.explorers.verdict import Options, Verdict
from fencepost.explorers.walk.walker import Walker
from fencepost.invariants.protocols import Protocol
from fencepost.model.language import Property, at_most, leads_to, strong, weak
from fencepost.model.language.errors import UsageError

from tests.machines import maze
from tests.machines.maze import MACHINE, C, Node, State, a, b
from tests.unit.explorers.test_liveness_traps import constants

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


def lookup(name: str) -> Protocol:
    return FOUND


def trace(prop: Property, graph: str) -> Trace:
    result = search(MACHINE, constants(graph, [0], [4]), (prop,), Options(workers=1))
    return trace_of(result, prop.name, lookup=lookup)


def written(folder: Path, prop: Property, graph: str) -> Path:
    file = folder / "x.trace"
    write(file, trace(prop, graph))
    return file


CASES = [
    (COMES, ROUND, "violated", "b to=1\nb to=0\n", 0),
    (LEAVES, "a 0>1", "violated", "a to=1\n", 1),
    (COSTS, PATH, "worst", "a to=1\na to=4\n", None),
    (SPINS, ROUND, "violated", "b to=1\nb to=0\n", 0),
]


@pytest.mark.parametrize(("prop", "graph", "verdict", "actions", "loop"), CASES, ids=[item[0].name for item in CASES])
def test_a_trace_is_written_read_and_replayed(
    tmp_path: Path, prop: Property, graph: str, verdict: str, actions: str, loop: int | None
) -> None:
    file = written(tmp_path, prop, graph)
    made = replay(file, lookup)
    assert (made.trace.verdict, made.path.loop, made.text) == (verdict, loop, file.read_text())
    assert made.verdict is (Verdict.HOLDS if verdict == "worst" else Verdict.VIOLATED)
    told = file.read_text().split("----\n")[1]
    assert told.replace("loop:\n", "") == actions
    assert (told.count("loop:") == 1) == (loop is not None)


def test_header_tells_what_is_fair_what_is_left_out_and_for_which_value(tmp_path: Path) -> None:
    text = written(tmp_path, COMES, ROUND).read_text()
    assert "fairness: weak a; weak b\nwithout: d\n" in text
    assert "loop: what follows is repeated for ever" in text
    text = written(tmp_path, LEAVES, "a 0>1").read_text()
    assert "property: leaves\nfor: node=1\n" in text
    assert "loop: nothing happens any more" in text


EDITS = [
    (COMES, ROUND, "loop:\n", "", "this trace has no loop. Write a line `loop:`"),
    (COMES, ROUND, "loop:\nb to=1\n", "b to=1\nloop:\n", "its loop is not closed"),
    (COMES, ROUND, "loop:\nb to=1\nb to=0\n", "loop:\n", "`weak a` is enabled all the time and never happens"),
    (COMES, ROUND, "loop:\nb to=1\nb to=0\n", "loop:\nb to=1\nloop:\nb to=0\n", "`loop:` appears twice"),
    (COMES, ROUND, "loop:\nb to=1\nb to=0\n", "a to=4\nloop:\n", "no state satisfies `when` such that"),
    (COMES, ROUND, "fairness: weak a; weak b", "fairness: weak a", "but 'comes' has 'weak a; weak b'"),
    (COMES, ROUND, "without: d\n", "without: b\n", "without is 'b'"),
    (COMES, ROUND, "verdict: violated", "for: node=1\nverdict: violated", "the property has no parameters"),
    (COMES, ROUND, "verdict: violated", "verdict: worst", "has no costs. Write `verdict: violated`"),
    (LEAVES, "a 0>1", "for: node=1\n", "", "is about each node, but the header does not say which one"),
    (LEAVES, "a 0>1", "for: node=1", "for: node=7", "is not one of the property's values"),
    (LEAVES, "a 0>1", "for: node=1", "for: node=0", "no state satisfies `when` such that"),
    (COSTS, PATH, "a to=4\n", "", "`then` does not hold in its last state"),
    (COSTS, PATH, "a to=4\n", "a to=4\nloop:\n", "without a loop. Remove `loop:`"),
    (COSTS, PATH, "verdict: worst", "verdict: violated", "its path costs 6, and the bound is 6"),
    (SPINS, ROUND, "loop:\nb to=1\nb to=0\n", "b to=1\nb to=0\nloop:\n",
        "`strong a` is enabled again and again and never happens"),
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
        replay(file, lookup)
    assert message in str(caught.value)


def test_a_trace_of_a_state_property_has_no_loop(tmp_path: Path) -> None:
    file = tmp_path / "x.trace"
    file.write_text("format: 1\ntitle: x\nprotocol: maze\ninitial: node=0\nverdict: deadlock\n----\nloop:\n----\n")
    with pytest.raises(UsageError, match="must end in its last step, without a loop"):
        replay(file, lookup)


def test_diagrams_tell_the_loop(tmp_path: Path) -> None:
    made = replay(written(tmp_path, COMES, ROUND), lookup)
    diagram = render("mermaid", made).split("\n")
    assert [line.strip() for line in diagram].index("loop for ever") < [line.strip() for line in diagram].index("end")


def test_what_judges_finite_runs_refuses_whole_behaviours() -> None:
    chosen = constants(ROUND, [0], [4])
    with pytest.raises(UsageError, match="'comes' is about whole behaviours, which never end: every walk has an end"):
        Walker(MACHINE, chosen, (COMES,))
    with pytest.raises(UsageError, match="induction is about states and single steps"):
        prove(MACHINE, chosen, (COMES,), None)
    with pytest.raises(UsageError, match="the trace is a path and a loop"):
        shrink(trace(COMES, ROUND))
