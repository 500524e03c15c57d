"""Traces in the Informal Trace Format follow Apalache's description and contain the states."""

import json
from pathlib import Path
from typing import Any

import pytest
from fencepost.counterexamples.reader import read
from fencepost.counterexamples.render import render
from fencepost.counterexamples.render.itf import record_as_itf
from fencepost.counterexamples.replay import follow
from fencepost.counterexamples.trace import ARCHIVE
from fencepost.model.language.interpreter import Interpreter, Step
from jsonschema_rs import validator_for

from tests.helpers.parameters import few
from tests.helpers.schemas import ITF
from tests.helpers.traces import lamps_trace, mailbox_trace, rooms_trace
from tests.machines import lamps, mailbox, rooms

FILES = sorted(ARCHIVE.glob("*.trace"))
ACCEPTS = validator_for(ITF)


def itf(source: Any) -> dict[str, Any]:
    if isinstance(source, Path):
        file = read(source)
        source = file.trace
    found: dict[str, Any] = json.loads(render("itf", follow(source)))
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
    assert last["#meta"]["parameters"] == {
        "leader": {"#bigint": "0"},
        "follower": {"#bigint": "1"},
        "epoch": {"#bigint": "2"},
    }
    assert last["quorum"] == {"leader": {"#bigint": "0"}, "isr": {"#set": [{"#bigint": "0"}, {"#bigint": "1"}]}}
    first, second = last["replica"]
    assert first["log"] == [{"id": {"#bigint": "0"}, "epoch": {"#bigint": "0"}}]
    assert (second["log"], second["end"]) == ([], {"#bigint": "0"})
    assert data["states"][0]["quorum_epoch"] == {"#bigint": "-1"}


def test_enums_flags_and_bags_keep_their_meaning() -> None:
    data = itf(mailbox_trace("everyone-is-done", clients=1))
    sent = data["states"][1]
    assert sent["client"][0]["phase"] == "waiting"
    [[message, count]] = sent["requests"]["#map"]
    assert message == {"client": {"#bigint": "0"}, "number": {"#bigint": "1"}, "again": False}
    assert count == {"#bigint": "1"}
    assert data["#meta"]["status"] == "reached"
    assert sent["#meta"]["step"] == "send client=0"
    assert data["states"][2]["#meta"]["parameters"]["request"] == message


def test_equal_messages_are_counted() -> None:
    plain = Interpreter(mailbox.MACHINE, mailbox.C(clients=1))
    state = plain.initial_states()[0]
    for item in (mailbox.send, mailbox.send_again, mailbox.send_again):
        state = plain.apply(state, Step(item, (0,))).after
    counts = sorted(int(count["#bigint"]) for _, count in record_as_itf(mailbox.State, state)["requests"]["#map"])
    assert counts == [1, 2]


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
