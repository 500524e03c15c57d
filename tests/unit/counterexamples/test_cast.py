"""The parties of a model, and their use in diagrams: who sends, who receives, what is lost."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path as File
from typing import Annotated

import pytest
from fencepost.api.answers.counterexample import trace_of_path
from fencepost.api.asking.model_files import load_protocol
from fencepost.api.calls import first_model as first
from fencepost.counterexamples.reader import read
from fencepost.counterexamples.render import render
from fencepost.counterexamples.render.html import drawing
from fencepost.counterexamples.render.story import LOST, RECEIVED, Mail, Story, story
from fencepost.counterexamples.replay import Replay, follow
from fencepost.counterexamples.trace import ARCHIVE, Trace
from fencepost.explorers.plain import search
from fencepost.explorers.verdict import Options, Verdict
from fencepost.invariants.protocols import Protocol
from fencepost.model.language import Cast, Range
from fencepost.model.language.errors import ModelError
from fencepost.model.language.interpreter import Interpreter

from tests.helpers.parameters import few
from tests.helpers.places import DOCS
from tests.helpers.traces import path_of
from tests.helpers.written import module_of

lease = module_of("""
class C(Constants):
    clients = shape(2, low=1, high=3, meaning="clients")
Client = Annotated[int, Index(C.clients)]
MaybeClient = Annotated[int, Index(C.clients, none=True)]
class Ask(Record):
    by: Client
class Grant(Record):
    to: Client
class State(Record):
    granted: Annotated[int, Range(0, 3)]
    holder: MaybeClient
    last: Annotated[Array[MaybeClient], Per(Client)]
    leased: Annotated[Array[bool], Per(Client)]
    asks: Annotated[Bag[Ask], Size(2)]
    grants: Annotated[Bag[Grant], Size(2)]
@action()
def initial(s, c):
    s.holder = -1
@action(who=Client)
def wants(s, c, who):
    require(all(m.by != who for m in s.asks))
    require(not s.leased[who])
    s.asks.add(by=who)
@action(m=InFlight("asks"))
def give(s, c, m):
    require(s.holder == -1)
    s.granted += 1
    s.holder = m.by
    s.last[m.by] = m.by
    s.grants.add(to=m.by)
    s.asks.remove(m)
@action(m=InFlight("asks"))
def refuse(s, c, m):
    require(s.holder != -1)
    s.asks.remove(m)
@action(m=InFlight("grants"))
def take(s, c, m):
    s.leased[m.to] = True
    s.grants.remove(m)
    for other in s.asks:
        if other.by == m.to:
            s.asks.remove(other)
@action(m=InFlight("asks"))
def lose(s, c, m):
    s.asks.remove(m)
@sometimes
def somebody_has_it(s, c):
    return any(s.leased) and len(s.asks) == 0
CAST = Cast(parties={"server": None, "client": Client}, fields={"granted": "server", "holder": "server"},
    actors={"wants": "who"}, senders={"Ask": "by", "Grant": "server"}, receivers={"Ask": "server", "Grant": "to"})
MACHINE = Machine("lease", "A lease", State, C, initial, (wants, give, refuse, take, lose), cast=CAST)
""")
"""A server leases something to one client, once and for all: whoever asks too late is refused."""
FILES = sorted(ARCHIVE.glob("*.trace"))
GIVEN = ("wants", "wants", "give", "refuse", "take")


def history(*actions: str, cast: Cast = lease.CAST) -> Replay:
    machine = replace(lease.MACHINE, cast=cast)
    path = path_of(Interpreter(machine, lease.C()), *actions)
    trace = Trace("A lease", Protocol(machine, lease.PROPERTIES), lease.C(), lease.somebody_has_it, path.steps)
    return Replay(trace, path, Verdict.HOLDS)


def told(made: Replay) -> Story:
    return story(made.trace, made.path)


def ways(found: Story) -> list[tuple[str, str, str, str]]:
    parties = ((item, item.sender, item.receiver) for item in found.flights)
    return [(it.name, one.title if one else "", to.title if to else "", it.fate) for it, one, to in parties]


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
    lines = render("mermaid", history(*GIVEN)).splitlines()
    assert [line.split(":")[0].strip() for line in lines if "-)" in line] == ["P2-)P0", "P1-)P0", "P0-)P2"]
    assert "    participant E as environment" not in lines


LANES = {
    "leader-discovery": ["controller", "broker", "client"],
    "hints-and-tokens": ["controller", "broker", "client"],
    "follower-reads": ["controller", "consumer", "replica"],
    "metadata-reads": ["controller", "server", "client"],
}


@pytest.mark.parametrize(
    "file", few((file for file in FILES if file.stem.startswith(tuple(LANES))), 5), ids=lambda file: file.stem
)
def test_whom_the_name_of_an_action_names_takes_it(file: File) -> None:
    found = told(follow(read(file).trace))
    protocol = next(name for name in LANES if file.stem.startswith(name))
    nouns = [lane.title.partition(" ")[0] for lane in found.parties.lanes]
    assert list(dict.fromkeys(nouns)) == LANES[protocol]
    for event in found.events:
        first = event.step.action.name.split("_")[0]
        if first in nouns:
            assert event.actor is not None
            assert event.actor.title.partition(" ")[0] == first


@pytest.mark.parametrize("cast", [Cast(), lease.CAST], ids=["without a cast", "with a cast"])
def test_what_an_action_takes_by_its_parameter_is_received_and_what_it_loses_is_lost(cast: Cast) -> None:
    made = history(*GIVEN, cast=cast)
    assert [fate for *_, fate in ways(told(made))] == [RECEIVED] * 3
    assert "is lost" not in render("mermaid", made)
    assert {arrow.kind for arrow in drawing(told(made)).arrows if arrow.label} == {"received"}
    made = history("wants", "lose", cast=cast)
    [(_, _, receiver, fate)] = ways(told(made))
    assert (receiver, fate) == ("", LOST)
    assert "Ask 1, sent in step 1, is lost" in render("mermaid", made)


def test_the_cast_may_say_which_actions_lose_messages() -> None:
    cast = replace(lease.CAST, losses=("refuse",))
    found = told(history(*GIVEN[:4], "wants", "lose", cast=cast))
    assert [fate for *_, fate in ways(found)] == [LOST, RECEIVED, "in flight", RECEIVED]


@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.long)])
def test_in_the_archive_no_message_that_is_taken_by_a_parameter_is_lost(every: int) -> None:
    for file in sorted(ARCHIVE.glob("replication-*.trace"))[::every]:
        for event in told(follow(read(file).trace)).events:
            for flight in event.takes:
                is_parameter = flight.first in event.step.args or flight.key in event.step.args
                assert (flight.fate == RECEIVED) is is_parameter, file.stem


@pytest.mark.parametrize("file", sorted(ARCHIVE.glob("watermark-propagation-*.trace")), ids=lambda file: file.stem)
def test_the_parties_of_a_machine_without_arrays_have_lanes(file: object) -> None:
    found = told(follow(read(file).trace))
    assert [lane.title for lane in found.parties.lanes] == ["leader", "follower", "consumer"]
    for event in found.events:
        assert (event.actor is None) is (event.step.action.name == "answer_is_lost")


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"parties": {"client": Annotated[int, Range(0, 2)]}}, "does not identify a member of the party"),
        ({"parties": {"server": None}, "fields": {"x": "sever"}}, "Did you mean 'server'?"),
        ({"parties": {"client": lease.Client}, "fields": {"x": "client"}}, "is not a party with a single member."),
    ],
)  # fmt: skip
def test_a_cast_that_names_nobody_or_no_place_of_the_state_is_refused(parts: dict[str, object], message: str) -> None:
    with pytest.raises(ModelError, match=re.escape(message)):
        Cast(**parts)
    with pytest.raises(ModelError, match=r"in path 'lease\[who\]' of action 'wants', State has no field"):
        told(history(*GIVEN[:1], cast=replace(lease.CAST, actors={"wants": "lease[who]"})))


EXAMPLES = DOCS / "examples"
WITH_MESSAGES = {
    EXAMPLES / "classics" / "alternating_bit.py": ["sender", "receiver"],
    EXAMPLES / "classics" / "echo.py": ["node 0", "node 1", "node 2"],
    EXAMPLES / "cookbook" / "lossy_network.py": ["customer", "shop"],
    File(first.__file__): ["server", "client 0", "client 1"],
}


def histories(file: File) -> Iterator[Story]:
    """Yield the histories of a model's witnesses and violations near the initial state."""
    found = load_protocol(file)
    constants = found.machine.set_constants({})
    asked = tuple(item for item in found.properties if not item.kind.over_behaviours)
    for item in search(found.machine, constants, asked, Options(workers=1, max_states=1_000)).properties:
        if item.path is not None:
            yield story(trace_of_path(found, constants, item.name, item.path), item.path)


@pytest.mark.parametrize("file", [*EXAMPLES.glob("c*/[a-su-z]*.py"), *WITH_MESSAGES], ids=lambda file: file.stem)
def test_in_the_examples_messages_come_to_whom_they_are_for_and_no_channel_takes_part(file: File) -> None:
    for found in histories(file):
        titles = [lane.title for lane in found.parties.lanes]
        assert titles == WITH_MESSAGES.get(file, titles)
        assert not set(titles) & {way.name for way in Mail(found.parties, found.parties.plain.initial_states()[0]).bags}
        for event in found.events:
            is_loss = event.step.action.name.startswith("lose")
            assert file not in WITH_MESSAGES or (event.actor is None) is is_loss
            for flight in event.takes:
                assert flight.fate == (LOST if is_loss else RECEIVED)
                assert is_loss or flight.receiver is not None
