"""States as text: the tables of a trace file, and what `show` makes of them."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

from fencepost.counterexamples.replay import Replay, follow, replay
from fencepost.counterexamples.states import Change, blocks, changes, log_ends
from fencepost.counterexamples.text import render
from fencepost.counterexamples.trace import ARCHIVE
from fencepost.model.lineage.base import ReplicaState
from rich.console import Console

from tests.machines import lamps, mailbox
from tests.traces import lamps_trace, mailbox_trace

if TYPE_CHECKING:
    from fencepost.model.language.records import Key


def test_log_is_an_array_with_a_field_that_says_where_it_ends() -> None:
    assert log_ends(ReplicaState) == {"log": "end"}
    assert log_ends(lamps.Room) == {"history": "history_end"}
    assert log_ends(mailbox.State) == {}


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


def test_wide_table_is_cut_into_blocks_of_whole_columns() -> None:
    rows = [["replica", "aaaa", "bbbb", "cccc"], ["0", "1", "2", "3"]]
    assert list(blocks(rows, 20)) == [[["replica", "aaaa", "bbbb"], ["0", "1", "2"]], [["replica", "cccc"], ["0", "3"]]]
    assert list(blocks(rows, 5))[2] == [["replica", "cccc"], ["0", "3"]]


def shown(made: Replay) -> str:
    text = io.StringIO()
    Console(file=text, width=100, color_system=None).print(render(made.trace, made.path))
    return re.sub(" +\n", "\n", text.getvalue())


def test_show_tells_each_step_with_its_sentence_and_what_it_changed() -> None:
    text = shown(replay(ARCHIVE / "kip101-weak-isr.trace"))
    assert text.startswith("After a fast leader change a follower drops a committed record\n")
    assert text.endswith(
        "\n"
        " 10  controller-elect-leader leader=0\n"
        "     The controller elects a member of the ISR that does not lead.\n"
        "     next leader epoch 2 → 3, quorum epoch 1 → 2, quorum.leader 1 → 0\n"
        "     request[2]: isr {} → {0,1}\n"
        "\n"
        " 11  become-follower-and-truncate leader=0 follower=1 epoch=2\n"
        "     A replica learns of its leader and truncates to where the leader says that its last epoch ends\n"
        "     (KIP-101).\n"
        "     replica  log offset:epoch/id  end    high watermark  leader epoch  leader  isr\n"
        "     0        [0:0/0]              1      1               0             0       {0,1}\n"
        "     1        [-0:0/0 -1:1/1]      2 → 0  0               1 → 2         1 → 0   {0,1}\n"
        "\n"
        "weak-isr is violated: 12 states\n"
        "Whoever presumes to lead shares all records below its high watermark with the members of the ISR\n"
        "that it knows.\n"
    )


def test_show_tells_messages_and_steps_that_change_nothing() -> None:
    text = shown(follow(mailbox_trace("everyone-is-done", clients=1)))
    assert "     requests + {client=0,number=1,again=no}\n" in text
    assert "     requests - {client=0,number=1,again=no}\n" in text
    assert "nothing changes" not in text


def test_show_is_not_confused_by_what_looks_like_markup() -> None:
    assert "[bold]" in shown(follow(lamps_trace(title="[bold] lamps")))
