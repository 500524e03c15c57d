"""Traces as sequence diagrams: who takes each step, and which messages go from whom to whom."""

from pathlib import Path
from typing import Any

from fencepost.counterexamples.reader import read
from fencepost.counterexamples.render import render
from fencepost.counterexamples.render.story import FORGOTTEN, Story, story
from fencepost.counterexamples.replay import follow
from fencepost.counterexamples.trace import ARCHIVE

from tests.helpers.traces import lamps_trace, rooms_trace
from tests.machines import rooms

B09 = ARCHIVE / "replication-b09-kip-903.trace"


def told(source: Any) -> Story:
    trace = read(source).trace if isinstance(source, Path) else source
    return story(trace, follow(trace).path)


def actors(found: Story) -> list[str]:
    return [event.actor.title if event.actor else "" for event in found.events]


def test_the_delayed_request_of_kip_903_is_followed_from_the_leader_to_the_controller() -> None:
    found = told(B09)
    assert [lane.title for lane in found.parties.lanes] == ["controller", "broker 0", "broker 1"]
    assert actors(found) == ["broker 0", "broker 1", "controller", "broker 1", "broker 0", "controller", "controller"]
    request, late, again = found.flights
    assert [item.name for item in found.flights] == ["AlterPartition 1", "LateFetch 1", "AlterPartition 2"]
    assert [item.sender and item.sender.title for item in found.flights] == ["broker 0", "broker 1", "controller"]
    assert [(item.sent, item.ended) for item in (request, late, again)] == [(1, 7), (2, 0), (7, 0)]
    assert (request.receiver and request.receiver.title, late.receiver, again.receiver) == ("controller", None, None)
    lines = render("mermaid", follow(read(B09).trace)).splitlines()
    assert lines[0] == "sequenceDiagram"
    assert any(line.startswith("    P1-)P0: AlterPartition 1 {") and "(sent in step 1)" in line for line in lines)
    assert "    P0-->>P1: read in step 5" in lines
    assert lines[-1] == "    Note over P0,P2: joining-epoch-is-registered is violated for broker=1:<br/>  8 states"


def test_a_message_that_normalize_drops_is_told_where_it_goes() -> None:
    file = ARCHIVE / "replication-b10-kafka-15221.trace"
    late = told(file).flights[0]
    assert (late.name, late.fate, late.sent, late.ended) == ("LateFetch 1", FORGOTTEN, 5, 10)
    lines = render("mermaid", follow(read(file).trace)).splitlines()
    dropped = next(number for number, line in enumerate(lines) if ": LateFetch 1 is dropped" in line)
    assert ": 10 " in lines[dropped - 1] or ": 10 " in lines[dropped - 2]


def test_a_machine_without_parties_has_a_lane_and_signs_that_mean_something_to_mermaid_are_entities() -> None:
    lines = render("mermaid", follow(lamps_trace(title="a; b # <c>"))).splitlines()
    assert "    participant E as environment" in lines
    assert sum(line.startswith("    Note over E: 1 switch-to") for line in lines) == 1
    assert lines[1] == "    title a#59; b #35; #lt;c#gt;"


def test_a_value_for_each_party_is_a_lane_and_a_loop_is_told() -> None:
    trace = rooms_trace(rooms.goes_dark)
    found = told(trace)
    assert [lane.title for lane in found.parties.lanes] == ["room 0", "room 1"]
    assert actors(found) == [f"room {step.args[0]}" for step in trace.steps]
    lines = render("mermaid", follow(trace)).splitlines()
    assert lines[-3] == f"    Note over P0,P1: the steps after step {trace.loop} repeat forever"
    assert lines[-2].startswith("    Note over P0,P1: The loop is fair:<br/>")
    assert "is violated for room=" in lines[-1]
    assert "nothing more happens" in render("mermaid", follow(rooms_trace(rooms.gets_light)))
