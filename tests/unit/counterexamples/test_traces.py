"""Traces: the archive, reading back what was written, and states as text."""

import io
import re
from pathlib import Path

import pytest
from fencepost.counterexamples.reader import read
from fencepost.counterexamples.replay import Replay, follow, replay, rewrite, write
from fencepost.counterexamples.text import render
from fencepost.counterexamples.trace import ARCHIVE, trace_of
from fencepost.explorers.plain import search
from fencepost.explorers.verdict import Options, Verdict
from fencepost.invariants.protocols import Protocol
from fencepost.model.language.errors import MismatchError, UsageError
from rich.console import Console

from tests.helpers.parameters import few
from tests.helpers.traces import KIP101, lamps_trace, lookup, mailbox_trace, message
from tests.helpers.written import machine_of
from tests.machines import lamps, mailbox


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder, so that messages have a short path."""
    monkeypatch.chdir(tmp_path)
    return Path("x.trace")


# -- the archive


@pytest.mark.parametrize("file", few(sorted(ARCHIVE.glob("*.trace")), 24), ids=lambda file: file.stem)
def test_archived_trace_is_as_fencepost_writes_it_and_says_where_it_comes_from_and_why(file: Path) -> None:
    made = replay(file)
    trace = made.trace
    assert made.text == file.read_text()
    assert trace.title
    assert trace.source
    assert len(trace.why.split()) > 30


# -- what is written is read back


TRACES = {
    "several initial states, sets and flags": lamps_trace,
    "a version, and a switch that is as in that version": lambda: lamps_trace(
        constants=lamps.C(stuck=1), version="sticky"
    ),
    "a switch that is not as usual": lambda: lamps_trace(constants=lamps.C(stuck=1)),
    "a step property": lambda: lamps_trace(lamps.lit_lamps_stay, (0b110, 1), (0b010, 1)),
    "a witness": lambda: lamps_trace(lamps.favourite_is_lit, (0b110, 1), initial=(2, 0)),
    "the initial state alone": lambda: lamps_trace(
        lamps.favourite_is_lit, (0b001, 1), constants=lamps.C(lamps=1), initial=(0, 1)
    ),
    "a deadlock": lambda: lamps_trace(None, *[(0b001, 1)] * 4),
    "messages": lambda: mailbox_trace("requests-run-once", deduplicate=0, clients=2),
    "messages, not normalized": lambda: mailbox_trace(
        "requests-run-once", deduplicate=0, normalize=False, resend=2, resends=1
    ),
    "a witness with messages": lambda: mailbox_trace("everyone-is-done", clients=1),
}


@pytest.mark.parametrize("case", TRACES)
def test_trace_is_the_same_after_writing_and_reading(case: str, here: Path) -> None:
    trace = TRACES[case]()
    written = write(here, trace)
    again = replay(here, lookup)
    assert again.trace == trace
    assert again.path == written.path
    assert again.text == here.read_text() == written.text


def test_trace_of_an_exploration_has_its_path_a_title_of_its_own_and_the_initial_state_if_there_are_several() -> None:
    trace = mailbox_trace("requests-run-once", deduplicate=0, clients=1)
    result = search(mailbox.MACHINE, trace.constants, (mailbox.requests_run_once,), Options(stop_on_violation=True))
    assert follow(trace).path == result.of("requests-run-once").path
    assert trace.title == "mailbox: requests-run-once is violated"
    result = search(lamps.MACHINE, lamps.C(lamps=2), lamps.PROPERTIES)
    for name, initial in (("favourite-is-lit", (1, 0)), ("some-lamp-is-dark", (0, 0))):
        assert trace_of(result, name, lookup=lookup).initial == initial


def test_trace_cannot_be_made_of_a_property_that_holds() -> None:
    result = search(mailbox.MACHINE, mailbox.C(clients=1), (mailbox.requests_run_once,))
    with pytest.raises(UsageError, match="found no path for requests-run-once, so there is no trace to write"):
        trace_of(result, "requests-run-once", lookup=lookup)


def test_trace_that_does_not_replay_is_a_mismatch_and_is_not_written(here: Path) -> None:
    with pytest.raises(MismatchError, match="'All lit' does not replay: all steps are possible, but"):
        write(here, lamps_trace(lamps.some_lamp_is_dark, (0b011, 0)))
    assert not here.exists()


# -- the format


@pytest.mark.parametrize("written", ["{again=no,number=1,client=0}", "{client=0,\n  number=1,\n  again=no}"])
def test_message_is_read_with_its_fields_in_any_order_and_folded_after_commas(written: str, here: Path) -> None:
    trace = mailbox_trace("requests-run-once", deduplicate=0, clients=2)
    here.write_text(trace.head().replace("{client=0,number=1,again=no}", written))
    assert read(here, lookup).trace == trace


def test_comments_blank_lines_and_folded_lines_are_read(here: Path) -> None:
    text = KIP101.replace("leader-write leader=0\n", "\n# it writes\nleader-write\n  leader=0 # the first record\n", 1)
    text = text.replace("replicas=2 log_size=2", "replicas=2\n  log_size=2")
    here.write_text("# a story\n\n" + text)
    assert read(here).trace == read(ARCHIVE / "kip101-weak-isr.trace").trace


# -- rewriting


@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_rewrite_makes_the_states_anew_and_leaves_header_and_actions_as_they_were(here: Path, newline: str) -> None:
    head, _, _ = KIP101.rpartition("----\n")
    head = "# mine\n" + head.replace("leader-write leader=0\n", "leader-write   leader=0   # here\n\n") + "----\n"
    here.write_bytes((head + "nonsense\n").replace("\n", newline).encode())
    rewrite(here)
    first = here.read_bytes()
    assert first.decode() == (head + KIP101.rpartition("----\n")[2]).replace("\n", newline)
    rewrite(here)
    assert here.read_bytes() == first
    assert replay(here).path.length == 12


def test_rewrite_leaves_a_trace_that_does_not_replay_as_it_was(here: Path) -> None:
    text = KIP101.replace("become-leader leader=0 epoch=0\n", "", 1)
    message(here, text, rewrite)
    assert here.read_text() == text


MODEL_WITH_A_LATER_CONSTANT = """
class Message(Record):
    number: Annotated[int, Range(0, 1)]
    later: Annotated[int, Range(0, C.none)]
class State(Record):
    sent: bool
    later: Annotated[int, Range(0, C.none)]
    box: Annotated[Bag[Message], Size(1)]
@action()
def send(s, c):
    require(not s.sent)
    s.sent = True
    s.box.add(number=1, later=0)
@action(m=InFlight("box"))
def receive(s, c, m):
    s.box.remove(m)
@always
def unread(s, c):
    return len(s.box) > 0 or not s.sent
"""


def test_a_trace_from_before_the_model_got_a_constant_and_fields_of_it_replays_as_it_is(here: Path) -> None:
    found = Protocol(*machine_of(MODEL_WITH_A_LATER_CONSTANT))
    result = search(found.machine, found.machine.set_constants({}), found.properties)
    made = write(here, trace_of(result, "unread", lookup=lambda _: found))
    text, left_out = re.subn(" none=0| later=0|(?<=\nreceive m={number=1),later=0", "", here.read_text())
    here.write_text(text)
    assert left_out == 3
    again = replay(here, lambda _: found)
    assert (again.trace, again.path, again.verdict) == (made.trace, made.path, Verdict.VIOLATED)


def shown(made: Replay, width: int = 100) -> str:
    text = io.StringIO()
    Console(file=text, width=width, color_system=None).print(render(made.trace, made.path))
    return re.sub(" +\n", "\n", text.getvalue())


def test_show_tells_each_step_with_its_sentence_and_what_it_changed() -> None:
    text = shown(replay(ARCHIVE / "kip101-weak-isr.trace"))
    assert text.startswith("After a fast leader change, a follower drops a committed record\n")
    assert (
        "\n"
        " 10  controller-elect-leader leader=0\n"
        "     The controller elects a member of the ISR that does not lead.\n"
        "     next leader epoch 2 → 3, quorum epoch 1 → 2, quorum.leader 1 → 0\n"
        "     request[2]: leader none → 0, isr {} → {0,1}\n"
        "\n"
        " 11  become-follower-and-truncate leader=0 follower=1 epoch=2\n"
        "     A replica learns of its leader and truncates to where its own last epoch ends in the leader's\n"
        "     log (KIP-101).\n"
        "     replica  log offset:epoch/id  end    high watermark  leader epoch  leader  isr\n"
        "     0        [0:0/0]              1      1               0             0       {0,1}\n"
        "     1        [-0:0/0 -1:1/1]      2 → 0  0               1 → 2         1 → 0   {0,1}\n"
        "\n"
        "weak-isr is violated for leader=0, member=1, offset=0: 12 states\n"
        "A replica that believes it leads "
    ) in text


def test_a_step_shows_what_the_action_did_and_apart_from_it_what_normalize_folded() -> None:
    made = replay(ARCHIVE / "replication-b02-kip-279-three-records.trace")
    step = made.states.split("\n\n")[8]
    assert step == (
        "8 broker-applies-metadata broker=1 index=1\n"
        "  replica[1]: applied 0 -> 1, isr {0,1} -> {}, waiting [3,0,0] -> [0,0,0], truncating no -> yes\n"
        "  folded: newest 1 -> 0, image[0].leader 1 -> 0, image[0].leader_epoch 1 -> 2,\n"
        "    image[1].leader_epoch 2 -> 0, replica[0].applied 1 -> 0, replica[1].applied 1 -> 0,\n"
        "    and 3 more fields (what can no longer be read is skipped or dropped, and the rest is renumbered)"
    )
    text = shown(made)
    assert re.search(r"\n     1 +0 → 1 +\[0:1/3\] .* {0,1} → {} ", text)
    assert "     folded: newest 1 → 0, image[0].leader 1 → 0, image[0].leader epoch 1 → 2,\n" in text
    assert text.count("marks changes made by the model's `normalize` after a step") == 1


def test_show_breaks_no_title_and_no_value_at_any_width_and_takes_nothing_for_markup() -> None:
    made = replay(ARCHIVE / "replication-b13-kip-497.trace")
    words = set(re.split(r"[\s,]+", shown(made, 400)))
    for width in (60, 80, 95, 100, 120):
        assert set(re.split(r"[\s,]+", shown(made, width))) <= words | {"replica"}, width
    assert "[bold]" in shown(follow(lamps_trace(title="[bold] lamps")))
