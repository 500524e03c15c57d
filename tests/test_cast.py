"""What a model says of its parties, and what diagrams make of it: who sends, who receives, what is lost."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import pytest
from fencepost.counterexamples.reader import read
from fencepost.counterexamples.render import render
from fencepost.counterexamples.render.drawing import drawing
from fencepost.counterexamples.render.story import GONE, LOST, RECEIVED, Story, story
from fencepost.counterexamples.replay import Replay, follow
from fencepost.counterexamples.trace import ARCHIVE, Trace
from fencepost.explorers.verdict import Verdict
from fencepost.invariants.protocols import Protocol
from fencepost.model.language import Cast, Range
from fencepost.model.language.errors import ModelError
from fencepost.model.language.interpreter import Interpreter, Path

from tests.machines import lease

if TYPE_CHECKING:
    import pathlib

    from fencepost.model.language.actions import Action

FILES = sorted(ARCHIVE.glob("*.trace"))
GIVEN = (lease.wants, lease.wants, lease.give, lease.refuse, lease.take)


def history(*actions: Action, cast: Cast = lease.CAST) -> Replay:
    """Return a history that takes the first step of each action."""
    machine = replace(lease.MACHINE, cast=cast)
    plain = Interpreter(machine, lease.C())
    states, steps = plain.initial_states(), []
    for item in actions:
        happened = next(found for found in plain.transitions(states[-1]) if found.step.action is item)
        steps.append(happened.step)
        states.append(happened.after)
    found = Protocol(machine, lease.PROPERTIES)
    trace = Trace("A lease", found, lease.C(), lease.somebody_has_it, tuple(steps))
    return Replay(trace, Path(states[0], tuple(steps), tuple(states)), Verdict.HOLDS)


def told(made: Replay) -> Story:
    """Return what happens in a history."""
    return story(made.trace, made.path)


def ways(found: Story) -> list[tuple[str, str, str, str]]:
    """Return each message with its sender, its receiver and what became of it."""
    return [
        (item.name, item.sender.title if item.sender else "", item.receiver.title if item.receiver else "", item.fate)
        for item in found.flights
    ]


def test_the_cast_says_who_an_index_is_who_sends_and_who_receives() -> None:
    found = told(history(*GIVEN))
    assert [lane.title for lane in found.parties.lanes] == ["server", "client 0", "client 1"]
    first, second = (event.actor.title for event in found.events[:2] if event.actor)
    assert {first, second} == {"client 0", "client 1"}
    assert ways(found) == [
        ("Ask 1", first, "server", RECEIVED),
        ("Ask 2", second, "server", RECEIVED),
        ("Grant 1", "server", "client 1", RECEIVED),
    ]
    assert [event.actor and event.actor.title for event in found.events[2:]] == ["server", "server", "client 1"]


def test_arrows_follow_the_cast() -> None:
    lines = render("mermaid", history(*GIVEN)).splitlines()
    assert [line.split(":")[0].strip() for line in lines if "-)" in line] == ["P2-)P0", "P1-)P0", "P0-)P2"]
    assert "    participant E as environment" not in lines


def test_the_cast_may_name_nobody_and_a_place_in_the_state() -> None:
    found = told(history(*GIVEN[:4], cast=replace(lease.CAST, actors={"wants": "", "refuse": "last[holder]"})))
    assert [event.actor and event.actor.title for event in found.events] == [None, None, "server", "client 1"]


def test_a_step_tells_whom_the_cast_names() -> None:
    found = told(history(*GIVEN[:1], cast=replace(lease.CAST, tells={"wants": "server"})))
    [signal] = found.events[0].signals
    assert (signal.sender.title, signal.receiver.title, signal.text) == ("client 0", "server", "told in step 1")
    made = history(*GIVEN[:1], cast=replace(lease.CAST, tells={"wants": "server"}))
    assert "    P1->>P0: told in step 1" in render("mermaid", made).splitlines()


def test_a_place_that_the_state_does_not_have_is_refused() -> None:
    with pytest.raises(ModelError) as refused:
        told(history(*GIVEN[:1], cast=replace(lease.CAST, actors={"wants": "lease[who]"})))
    assert str(refused.value) == "Cast: 'lease[who]' of action 'wants' has no place 'lease[who]' in State."


LANES = {
    "leader-discovery": ["controller", "broker", "client"],
    "hints-and-tokens": ["controller", "broker", "client"],
    "follower-reads": ["controller", "consumer", "replica"],
    "metadata-reads": ["controller", "server", "client"],
}


@pytest.mark.parametrize("file", [file for file in FILES if file.stem.startswith(tuple(LANES))], ids=lambda file: file.stem)
def test_whom_the_name_of_an_action_names_takes_it(file: pathlib.Path) -> None:
    found = told(follow(read(file).trace))
    protocol = next(name for name in LANES if file.stem.startswith(name))
    nouns = [lane.title.partition(" ")[0] for lane in found.parties.lanes]
    assert list(dict.fromkeys(nouns)) == LANES[protocol]
    for event in found.events:
        first = event.step.action.name.split("_")[0]
        if first in nouns:
            assert event.actor is not None
            assert event.actor.title.partition(" ")[0] == first


def test_without_a_cast_what_an_action_takes_by_its_parameter_is_received_all_the_same() -> None:
    made = history(*GIVEN, cast=Cast())
    assert [fate for *_, fate in ways(told(made))] == [RECEIVED] * 3
    assert "is lost" not in render("mermaid", made)
    assert {arrow.kind for arrow in drawing(told(made)).arrows if arrow.label} == {"received"}


@pytest.mark.parametrize("cast", [Cast(), lease.CAST], ids=["without a cast", "with a cast"])
def test_what_an_action_loses_is_lost(cast: Cast) -> None:
    made = history(lease.wants, lease.lose, cast=cast)
    [(_, _, receiver, fate)] = ways(told(made))
    assert (receiver, fate) == ("", LOST)
    assert "Ask 1, sent in step 1, is lost" in render("mermaid", made)


def test_the_cast_may_say_which_actions_lose_messages() -> None:
    cast = replace(lease.CAST, losses=("refuse",))
    found = told(history(*GIVEN[:4], lease.wants, lease.lose, cast=cast))
    assert [fate for *_, fate in ways(found)] == [LOST, RECEIVED, "in flight", RECEIVED]


def test_a_message_that_a_step_takes_out_by_the_way_is_neither_received_nor_lost() -> None:
    made = history(lease.wants, lease.give, lease.wants, lease.take)
    assert [fate for *_, fate in ways(told(made))] == [RECEIVED, RECEIVED, GONE]
    assert "is taken out of flight in step 4" in render("mermaid", made)
    page = render("html", made)
    assert '<span class="tag">taken out</span> <b>Ask 2</b>' in page


def test_in_the_archive_no_message_that_is_taken_by_a_parameter_is_lost() -> None:
    for file in sorted(ARCHIVE.glob("replication-*.trace")):
        for event in told(follow(read(file).trace)).events:
            for flight in event.takes:
                assert (flight.fate == RECEIVED) is (flight.first in event.step.args or flight.key in event.step.args), (
                    file.stem
                )


@pytest.mark.parametrize("file", sorted(ARCHIVE.glob("watermark-propagation-*.trace")), ids=lambda file: file.stem)
def test_the_parties_of_a_machine_without_arrays_have_lanes(file: object) -> None:
    found = told(follow(read(file).trace))  # type: ignore[arg-type]
    assert [lane.title for lane in found.parties.lanes] == ["leader", "follower", "consumer"]
    for event in found.events:
        assert (event.actor is None) is (event.step.action.name == "answer_is_lost")


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (
            {"parties": {"client": Annotated[int, Range(0, 2)]}},
            "which does not say which of them: write an alias such as Annotated[int, Index(C.clients)], or None",
        ),
        ({"parties": {"server": None}, "fields": {"x": "sever"}}, "Did you mean 'server'?"),
        ({"parties": {"client": lease.Client}, "fields": {"x": "client"}}, "which is no party that there is one of only."),
    ],
    ids=["no index", "a misspelt party", "a party of several"],
)
def test_a_cast_that_names_nobody_is_refused(parts: dict[str, object], message: str) -> None:
    with pytest.raises(ModelError) as refused:
        Cast(**parts)  # type: ignore[arg-type]
    assert message in str(refused.value)
