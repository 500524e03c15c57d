"""Traces in the Informal Trace Format follow Apalache's description and contain the states."""

import json
from pathlib import Path
from typing import Any

import pytest
from fencepost.counterexamples.reader import read
from fencepost.counterexamples.render import render
from fencepost.counterexamples.replay import follow
from fencepost.counterexamples.trace import ARCHIVE
from jsonschema_rs import validator_for

from tests.helpers.parameters import few
from tests.helpers.traces import lamps_trace, rooms_trace
from tests.machines import lamps, rooms

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


def test_slots_beyond_the_end_of_a_log_are_shown_only_if_they_hold_something() -> None:
    data = itf(lamps_trace(lamps.some_lamp_is_dark, (0b001, 0), (0b111, 0)))
    assert [len(state["history"]) for state in data["states"]] == [0, 1, 2]


@pytest.mark.parametrize("prop", rooms.PROPERTIES, ids=lambda prop: prop.name)
def test_a_behaviour_without_end_says_where_its_loop_starts(prop: Any) -> None:
    trace = rooms_trace(prop)
    data = itf(trace)
    assert ACCEPTS.is_valid(data)
    assert data["loop"] == trace.loop
    path = follow(trace).path
    assert path.states[data["loop"]] == path.states[-1]
    assert len(data["states"]) == max(path.length - 1, data["loop"] + 1)
