"""The page of a trace is self-contained and shows the trace. Tests in a browser cover its behaviour."""

import json
import re
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from fencepost.counterexamples.prevention import Prevention, known_as, preventions
from fencepost.counterexamples.reader import read
from fencepost.counterexamples.render import render
from fencepost.counterexamples.render.parties import parties
from fencepost.counterexamples.render.pictures import ADDED, DROPPED, SAME, cards
from fencepost.counterexamples.render.story import FORGOTTEN, Story, story
from fencepost.counterexamples.replay import Replay, follow
from fencepost.counterexamples.trace import ARCHIVE
from jsonschema_rs import validator_for

from tests.helpers.parameters import few
from tests.helpers.traces import lamps_trace, rooms_trace
from tests.machines import rooms

SOME = ("kip101-weak-isr", "replication-b09-kip-903", "replication-b02-kip-279-three-records")
pytestmark = pytest.mark.xdist_group("html")
VOID = {"meta", "rect", "path", "circle", "line", "br"}


@cache
def made(name: str) -> Replay:
    file = read(ARCHIVE / f"{name}.trace")
    return follow(file.trace, file)


@cache
def prevented(name: str) -> tuple[Prevention, ...]:
    return tuple(preventions(made(name).trace, made(name).path))


@cache
def shown(name: str) -> str:
    return render("html", made(name))


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.text = ""
        self.ids: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("href", "src", "xlink:href", "action", "data")]
        self.ids += [value or "" for name, value in attrs if name == "id"]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in VOID, attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("style", "script"):
            self.text += data


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("name", few(SOME, 3))
def test_the_page_has_every_step_is_in_balance_and_asks_for_nothing_from_elsewhere(name: str) -> None:
    found, page = made(name), Page(shown(name))
    assert page.links == []
    assert len(page.ids) == len(set(page.ids))
    assert not re.search(r"https?://|@import|url\((?!#)", shown(name))
    text = flat(page.text)
    for number, step in enumerate(found.path.steps, 1):
        assert f"{number} {step.action.label}" in text
        assert flat(step.action.sentence) in text
    assert found.trace.title in text
    assert flat(found.trace.why) in text


def test_the_page_tells_the_property_where_it_is_promised_and_for_which_values_it_fails() -> None:
    text = flat(Page(shown("replication-b09-kip-903")).text)
    assert "joining-epoch-is-registered is violated for broker=1: 8 states" in text
    assert "KIP903-S1 A replica joins the ISR through AlterPartition only if the request contains" in text
    assert "B09 A delayed AlterPartition adds a broker that has restarted" in text
    assert "Violated for broker=1: this is false: m.member_epoch[broker] in" in text


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "expected"),
    few(
        {
            "kip101-weak-isr": "B02", "replication-b09-kip-903": "B09", "replication-b12-kip-841": "B12",
            "replication-b13-kip-497": "B13", "replication-hyp-3": "HYP-3",
        }.items(), 4, several=True,
    ),
)  # fmt: skip
def test_a_trace_is_known_as_the_bug_whose_setting_prevents_it(name: str, expected: str) -> None:
    assert [entry.id for entry in known_as(made(name).trace, prevented(name))] == [expected]


def remedy(name: str, setting: str) -> Prevention:
    return next(item for item in prevented(name) if item.setting == setting)


@pytest.mark.long
def test_a_switch_without_a_guard_says_what_the_step_does_otherwise() -> None:
    found = remedy("replication-b13-kip-497", "maximal_isr=true")
    assert (found.ending.guard, found.ending.step, found.is_usual) == (None, 4, True)
    assert next(f"{change.label}.{change}" for change in found.ending.differs) == "replica[0].high_watermark 1 -> 0"


def test_a_published_model_names_the_next_one_that_prevents_the_history() -> None:
    found = remedy("kip101-weak-isr", "protocol kip279")
    assert (found.ending.step, found.ending.guard) == (11, None)
    assert [str(change) for change in found.ending.differs] == ["log [] -> [0:0/0]", "end 0 -> 1"]
    fence = remedy("kip101-weak-isr", "protocol kip320")
    assert fence.ending.guard is not None
    assert fence.ending.guard.text == "l.leader_epoch == epoch"


@pytest.mark.parametrize("name", few(SOME, 4))
def test_what_is_said_to_prevent_a_history_does(name: str) -> None:
    trace = made(name).trace
    assert trace.prop is not None
    for item in prevented(name):
        if item.setting.startswith("protocol"):
            continue
        constant, _, value = item.setting.partition("=")
        values = {**trace.constants.values, constant: trace.constants.declared()[constant].parse(value)}
        other = replace(trace, constants=trace.protocol.machine.set_constants(values), initial=None)
        with pytest.raises(ValueError, match=r"is not possible|is not violated at the end"):
            follow(other)


def test_settings_that_change_nothing_are_no_remedies() -> None:
    settings = [item.setting for item in prevented("replication-b09-kip-903")]
    assert "elr=true" not in settings
    assert not [item for item in settings if item.startswith(("crashes=", "fences=", "brokers=", "max_"))]


def test_a_card_shows_what_was_appended_and_dropped_and_where_the_high_watermark_is() -> None:
    found = made("kip101-weak-isr")
    plain = found.trace.interpreter()
    lanes = parties(plain)
    _, _, last = cards(lanes, found.path.states[-2], found.path.states[-1])
    [log] = last.logs
    dropped = [("0", "0", "0", DROPPED), ("1", "1", "1", DROPPED)]
    assert [(entry.offset, entry.epoch, entry.text, entry.kind) for entry in log.entries] == dropped
    assert log.mark == 0
    changed = {value.name: (value.old, value.text) for value in last.values if value.old is not None}
    assert changed == {"end": ("2", "0"), "leader epoch": ("1", "2"), "leader": ("1", "0")}
    _, _, writes, _ = cards(lanes, found.path.states[8], found.path.states[9])
    assert [entry.kind for entry in writes.logs[0].entries] == [SAME, ADDED]


def test_the_controllers_card_shows_its_present_state_and_a_brokers_what_it_knows() -> None:
    found = made("replication-b09-kip-903")
    lanes = parties(found.trace.interpreter())
    raw = found.trace.interpreter().apply(found.path.states[-2], found.path.steps[-1]).raw
    controller, broker, *_ = cards(lanes, found.path.states[-2], raw)
    values = {value.name: (value.old, value.text) for value in controller.values}
    assert values["isr"] == ("{0}", "{0,1}")
    assert values["partition epoch"] == ("0", "1")
    assert "newest" not in values
    assert {value.name: value.text for value in broker.values}["its leader"] == "0"


def test_the_page_of_a_behaviour_without_end_says_what_is_repeated() -> None:
    trace = rooms_trace(rooms.goes_dark)
    text = flat(Page(render("html", follow(trace))).text)
    assert f"The steps after step {trace.loop} repeat forever." in text
    assert "A lit room is dark in the end." in text
    assert "Nothing more happens" in Page(render("html", follow(rooms_trace(rooms.gets_light)))).text


def test_a_state_of_numbers_alone_has_cards_too() -> None:
    trace = rooms_trace(rooms.goes_dark)
    made = follow(trace)
    shown = cards(parties(trace.interpreter()), made.path.start, made.path.start)
    assert [card.title for card in shown] == ["room 0", "room 1"]
    assert all(card.values for card in shown)
    lamps = follow(lamps_trace())
    [rest] = cards(parties(lamps.trace.interpreter()), lamps.path.start, lamps.path.start)
    assert (rest.title, bool(rest.values)) == ("the rest", True)


def test_a_history_without_steps_has_a_page() -> None:
    made = follow(read(ARCHIVE / "follower-reads-q41-tail.trace").trace)
    assert not made.path.steps
    assert not preventions(made.trace, made.path)
    assert "<html" in render("html", made)


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


FILES = sorted(ARCHIVE.glob("*.trace"))
EXPRESSION: dict[str, Any] = {
    "anyOf": [
        {"type": ["boolean", "string"]},
        {"type": "integer", "minimum": -(2**53) + 1, "maximum": 2**53 - 1},
        {"type": "array", "items": {"$ref": "#/$defs/expression"}},
        {"$ref": "#/$defs/bigint"},
        {"$ref": "#/$defs/tuple"},
        {"$ref": "#/$defs/set"},
        {"$ref": "#/$defs/map"},
        {"type": "object", "propertyNames": {"pattern": "^[^#]"},
            "additionalProperties": {"$ref": "#/$defs/expression"}},
    ]
}  # fmt: skip
ONE = {"type": "object", "minProperties": 1, "maxProperties": 1}
LIST = {"type": "array", "items": {"$ref": "#/$defs/expression"}}
PAIR = {"type": "array", "prefixItems": [{"$ref": "#/$defs/expression"}] * 2, "minItems": 2, "maxItems": 2}


def only(name: str, content: dict[str, Any]) -> dict[str, Any]:
    return {**ONE, "required": [name], "properties": {name: content}}


ITF: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Informal Trace Format, from the text of Apalache's ADR-015",
    "type": "object",
    "required": ["vars", "states"],
    "additionalProperties": False,
    "properties": {
        "#meta": {"type": "object"},
        "params": {"type": "array", "items": {"type": "string"}},
        "vars": {"type": "array", "items": {"type": "string"}, "minItems": 1},
        "states": {"type": "array", "items": {"$ref": "#/$defs/state"}, "minItems": 1},
        "loop": {"type": "integer", "minimum": 0},
    },
    "$defs": {
        "state": {"type": "object", "properties": {"#meta": {"type": "object"}},
            "patternProperties": {"^[^#]": {"$ref": "#/$defs/expression"}}, "additionalProperties": False},
        "expression": EXPRESSION,
        "bigint": only("#bigint", {"type": "string", "pattern": "^-?[0-9]+$"}),
        "tuple": only("#tup", LIST),
        "set": only("#set", {**LIST, "uniqueItems": True}),
        "map": only("#map", {"type": "array", "items": PAIR}),
    },
}  # fmt: skip
ACCEPTS = validator_for(ITF)


def itf(source: Any) -> dict[str, Any]:
    trace = read(source).trace if isinstance(source, Path) else source
    found: dict[str, Any] = json.loads(render("itf", follow(trace)))
    return found


@pytest.mark.parametrize("file", few(FILES, 24), ids=lambda file: file.stem)
def test_every_archived_trace_is_accepted_by_the_schema_and_sets_every_variable(file: Path) -> None:
    data = itf(file)
    assert [error.message for error in ACCEPTS.iter_errors(data)] == []
    for number, state in enumerate(data["states"]):
        assert state["#meta"]["index"] == number
        assert set(data["vars"]) <= state.keys()
    assert set(data["params"]) <= data["states"][0].keys()
    assert not set(data["params"]) & set(data["vars"])


def test_states_are_written_value_by_value() -> None:
    data = itf(ARCHIVE / "kip101-weak-isr.trace")
    assert data["#meta"]["finding"] == "weak-isr is violated for leader=0, member=1, offset=0"
    assert data["states"][0]["c::replicas"] == {"#bigint": "2"}
    last = data["states"][-1]
    assert last["mbt::actionTaken"] == "become-follower-and-truncate"
    taken = {"leader": "0", "follower": "1", "epoch": "2"}
    assert last["#meta"]["parameters"] == {name: {"#bigint": value} for name, value in taken.items()}
    assert last["quorum"] == {"leader": {"#bigint": "0"}, "isr": {"#set": [{"#bigint": "0"}, {"#bigint": "1"}]}}
    first, second = last["replica"]
    assert first["log"] == [{"id": {"#bigint": "0"}, "epoch": {"#bigint": "0"}}]
    assert (second["log"], second["end"]) == ([], {"#bigint": "0"})
    assert data["states"][0]["quorum_epoch"] == {"#bigint": "-1"}


@pytest.mark.parametrize("prop", rooms.PROPERTIES, ids=lambda prop: prop.name)
def test_a_behaviour_without_end_says_where_its_loop_starts(prop: Any) -> None:
    trace = rooms_trace(prop)
    data = itf(trace)
    assert ACCEPTS.is_valid(data)
    assert data["loop"] == trace.loop
    path = follow(trace).path
    assert path.states[data["loop"]] == path.states[-1]
    assert len(data["states"]) == max(path.length - 1, data["loop"] + 1)
