"""Traces: the archive, and reading back what was written."""

import re
from pathlib import Path

import pytest
from fencepost.counterexamples.reader import read
from fencepost.counterexamples.replay import follow, replay, rewrite, write
from fencepost.counterexamples.trace import ARCHIVE, trace_of
from fencepost.explorers.plain import search
from fencepost.explorers.verdict import Options, Verdict
from fencepost.model.language.errors import MismatchError, UsageError

from tests.helpers.parameters import few
from tests.helpers.traces import KIP101, lamps_trace, lookup, mailbox_trace, message
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


def test_trace_of_an_exploration_has_its_path_and_a_title_of_its_own() -> None:
    trace = mailbox_trace("requests-run-once", deduplicate=0, clients=1)
    result = search(mailbox.MACHINE, trace.constants, (mailbox.requests_run_once,), Options(stop_on_violation=True))
    assert follow(trace).path == result.of("requests-run-once").path
    assert trace.title == "mailbox: requests-run-once is violated"


def test_trace_of_an_exploration_names_its_initial_state_where_there_are_several() -> None:
    result = search(lamps.MACHINE, lamps.C(lamps=2), lamps.PROPERTIES)
    assert trace_of(result, "favourite-is-lit", lookup=lookup).initial == (1, 0)
    assert trace_of(result, "some-lamp-is-dark", lookup=lookup).initial == (0, 0)


def test_trace_of_a_deadlock_is_the_exploration_s(here: Path) -> None:
    result = search(lamps.MACHINE, lamps.C(lamps=1), (), Options(deadlock=True))
    made = write(here, trace_of(result, None, lookup=lookup))
    assert made.path == result.deadlock
    assert here.read_text().endswith("\nno action is enabled: 5 states\n")


def test_trace_cannot_be_made_of_a_property_that_holds() -> None:
    result = search(mailbox.MACHINE, mailbox.C(clients=1), (mailbox.requests_run_once,))
    with pytest.raises(UsageError, match="found no path for requests-run-once, so there is no trace to write"):
        trace_of(result, "requests-run-once", lookup=lookup)


def test_trace_that_does_not_replay_is_a_mismatch_and_is_not_written(here: Path) -> None:
    with pytest.raises(MismatchError, match="'All lit' does not replay: all steps are possible, but"):
        write(here, lamps_trace(lamps.some_lamp_is_dark, (0b011, 0)))
    assert not here.exists()


# -- the format


def test_format_is_header_actions_and_states(here: Path) -> None:
    why = "Somebody lit them all. " * 6
    write(
        here, lamps_trace(lamps.some_lamp_is_dark, (0b101, 0), (0b111, 1), constants=lamps.C(stuck=1), why=why.strip())
    )
    assert here.read_text() == (
        "format: 1\n"
        "title: All lit\n"
        "protocol: lamps\n"
        "constants: lamps=3 stuck=true\n"
        "initial: favourite=1 noise=yes\n"
        "property: some-lamp-is-dark\n"
        "verdict: violated\n"
        "source: a switch\n"
        "why: Somebody lit them all. Somebody lit them all. Somebody lit them all. Somebody lit them all.\n"
        "  Somebody lit them all. Somebody lit them all.\n"
        "----\n"
        "switch-to lamps={0,2} noise=no\n"
        "switch-to lamps={0,1,2} noise=yes\n"
        "----\n"
        "initial\n"
        "  lit={} favourite=1 noise=yes history=[] history_end=0 count=[0,0,0]\n"
        "\n"
        "1 switch-to lamps={0,2} noise=no\n"
        "  lit {} -> {0,2}, noise yes -> no, history [] -> [0:{0,2}], history_end 0 -> 1,\n"
        "    count [0,0,0] -> [1,0,0]\n"
        "\n"
        "2 switch-to lamps={0,1,2} noise=yes\n"
        "  lit {0,2} -> {0,1,2}, noise no -> yes, history [0:{0,2}] -> [0:{0,2} 1:{0,1,2}],\n"
        "    history_end 1 -> 2, count [1,0,0] -> [2,0,0]\n"
        "\n"
        "some-lamp-is-dark is violated: 3 states\n"
    )


def test_switches_that_are_as_usual_stand_apart_from_what_matters() -> None:
    told = re.findall(
        "^(?:constants|defaults).*$", lamps_trace(constants=lamps.C(stuck=1), version="sticky").head(), re.MULTILINE
    )
    assert told == ["constants: lamps=3", "defaults: stuck=true"]


def test_messages_are_written_by_value_and_their_coming_and_going_is_shown(here: Path) -> None:
    write(here, mailbox_trace("requests-run-once", deduplicate=0, clients=2))
    text = here.read_text()
    assert "\nserve request={client=0,number=1,again=no}\n" in text
    assert "  requests + {client=0,number=1,again=no}\n" in text
    assert "  requests - {client=0,number=1,again=no}\n" in text
    assert "  responses + {client=0,number=1,progress=[{number=1,repeated=no},{number=0,repeated=no}]}\n" in text


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


def test_constants_that_are_left_out_have_their_defaults(here: Path) -> None:
    here.write_text(
        KIP101.replace("constants: replicas=2 log_size=2 max_records=2 max_leader_epoch=2\n", "constants: replicas=2\n")
    )
    assert replay(here).trace == read(ARCHIVE / "kip101-weak-isr.trace").trace


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


def test_a_trace_from_before_the_model_got_constants_replays_as_it_is() -> None:
    assert replay(Path(__file__).parent / "earlier.trace").verdict is Verdict.VIOLATED
