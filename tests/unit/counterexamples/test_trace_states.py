"""States as text: the tables of a trace file, and the output of `show`."""

import io
import re
from dataclasses import replace

from fencepost.counterexamples.history import folded
from fencepost.counterexamples.replay import Replay, follow, replay
from fencepost.counterexamples.states import Change, changes, parts
from fencepost.counterexamples.text import render
from fencepost.counterexamples.trace import ARCHIVE
from fencepost.model.cluster.state import State
from fencepost.model.language.records import Key
from rich.console import Console

from tests.helpers.traces import lamps_trace, mailbox_trace
from tests.machines import lamps, mailbox


def test_what_stands_behind_the_end_of_a_log_is_not_hidden() -> None:
    zero: Key = (0, 0, 0, (0, 0, 0, 0), 0, (0, 0, 0))
    stray: Key = (0, 0, 0, (1, 0, 0, 4), 1, (0, 0, 0))
    assert changes(lamps.Room, zero, stray)[0] == Change("", "history", "[]", "[0:{0} | 3:{2}]")


def test_equal_messages_are_counted_when_they_come_and_go() -> None:
    trace = mailbox_trace("everyone-is-done", clients=1)
    key = follow(trace).path.start
    request = (0, 1, 1)
    one, two = (*key[:2], (request,), *key[3:]), (*key[:2], (request, request), *key[3:])
    assert changes(mailbox.State, one, two) == [Change("", "requests", "", "{client=0,number=1,again=yes}")]
    assert changes(mailbox.State, two, key) == [Change("", "requests", "{client=0,number=1,again=yes}", "")] * 2


def shown(made: Replay, width: int = 100) -> str:
    text = io.StringIO()
    Console(file=text, width=width, color_system=None).print(render(made.trace, made.path))
    return re.sub(" +\n", "\n", text.getvalue())


def test_show_tells_each_step_with_its_sentence_and_what_it_changed() -> None:
    text = shown(replay(ARCHIVE / "kip101-weak-isr.trace"))
    assert text.startswith("After a fast leader change a follower drops a committed record\n")
    assert (
        "\n"
        " 10  controller-elect-leader leader=0\n"
        "     The controller elects a member of the ISR that does not lead.\n"
        "     next leader epoch 2 → 3, quorum epoch 1 → 2, quorum.leader 1 → 0\n"
        "     request[2]: leader none → 0, isr {} → {0,1}\n"
        "\n"
        " 11  become-follower-and-truncate leader=0 follower=1 epoch=2\n"
        "     A replica learns of its leader and truncates to where, according to the leader, its last epoch\n"
        "     ends (KIP-101).\n"
        "     replica  log offset:epoch/id  end    high watermark  leader epoch  leader  isr\n"
        "     0        [0:0/0]              1      1               0             0       {0,1}\n"
        "     1        [-0:0/0 -1:1/1]      2 → 0  0               1 → 2         1 → 0   {0,1}\n"
        "\n"
        "weak-isr is violated for leader=0, member=1, offset=0: 12 states\n"
        "A replica that presumes to lead "
    ) in text


def test_show_ends_in_the_sentence_of_the_property_and_in_when_it_does_not_apply() -> None:
    def told(_s: lamps.Room, _c: lamps.C) -> bool:
        """Some lamp
        is dark.

        Does not apply at night.

        A note on how it is computed.
        """
        return False

    trace = lamps_trace(replace(lamps.some_lamp_is_dark, function=told))
    assert shown(follow(trace)).endswith("is violated: 2 states\nSome lamp is dark.\nDoes not apply at night.\n")


def test_a_step_shows_what_the_action_did_and_apart_from_it_what_normalize_folded() -> None:
    made = replay(ARCHIVE / "replication-b02-kip-279-three-records.trace")
    step = made.states.split("\n\n")[8]
    assert step == (
        "8 broker-applies-metadata broker=1 index=1\n"
        "  replica[1]: applied 0 -> 1, isr {0,1} -> {}, waiting [3,0,0] -> [0,0,0], truncating no -> yes\n"
        "  folded: newest 1 -> 0, image[0].leader 1 -> 0, image[0].leader_epoch 1 -> 2,\n"
        "    image[1].leader_epoch 2 -> 0, replica[0].applied 1 -> 0, replica[1].applied 1 -> 0,\n"
        "    and 3 more fields (what nobody can read any more is passed over or dropped, the rest renumbered)"
    )
    text = shown(made)
    assert re.search(r"\n     1 +0 → 1 +\[0:1/3\] .* {0,1} → {} ", text)
    assert "     folded: newest 1 → 0, image[0].leader 1 → 0, image[0].leader epoch 1 → 2,\n" in text
    assert text.count("marks what the model's `normalize` changed after a step") == 1


def test_of_a_message_that_was_folded_the_fields_that_differ_are_told() -> None:
    trace = mailbox_trace("everyone-is-done", clients=1)
    key = follow(trace).path.start
    one, two, none = ((*key[:2], bag, *key[3:]) for bag in (((0, 1, 0),), ((0, 1, 1),), ()))
    assert folded(mailbox.State, one, two) == "requests: again no -> yes"
    assert folded(mailbox.State, one, none) == "requests - {client=0,number=1,again=no}"
    assert not folded(mailbox.State, one, one)


def test_ghosts_and_budgets_stand_after_the_protocol_s_own_fields() -> None:
    start = parts(State, replay(ARCHIVE / "replication-b13-kip-497.trace").path.start)
    assert all(not cell.name.startswith(("ghost_", "budget")) for part in start[:-1] for cell in part.cells)
    assert {cell.name.partition(".")[0].partition("_")[0] for cell in start[-1].cells} == {"budget", "ghost"}


def test_show_breaks_no_title_and_no_value_at_any_width() -> None:
    made = replay(ARCHIVE / "replication-b13-kip-497.trace")
    words = set(re.split(r"[\s,]+", shown(made, 400)))
    for width in (60, 80, 95, 100, 120):
        assert set(re.split(r"[\s,]+", shown(made, width))) <= words | {"replica"}, width


def test_show_tells_messages_and_steps_that_change_nothing() -> None:
    text = shown(follow(mailbox_trace("everyone-is-done", clients=1)))
    assert "     requests + {client=0,number=1,again=no}\n" in text
    assert "     requests - {client=0,number=1,again=no}\n" in text
    assert "nothing changes" not in text


def test_show_is_not_confused_by_what_looks_like_markup() -> None:
    assert "[bold]" in shown(follow(lamps_trace(title="[bold] lamps")))
