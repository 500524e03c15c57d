"""Refusals of the reader and of replay, each message in full.

`refused_traces/*.txt` holds blocks: a title after `==`, lines to remove from a good trace (`-`) and to add (`+`),
`---`, the message.
"""

import inspect
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fencepost.counterexamples.reader import read
from fencepost.counterexamples.replay import replay, write
from fencepost.counterexamples.trace import ARCHIVE
from fencepost.model.language import action, require
from fencepost.model.language.errors import UsageError

from tests.helpers.blocks import blocks
from tests.helpers.commands import fencepost
from tests.helpers.traces import KIP101, LAMPS, lamps_trace, mailbox_trace, message
from tests.machines import lamps
from tests.machines.lamps import C, Lamps, Room

KIP279 = (ARCHIVE / "kip279-strong-isr.trace").read_text()
FOLDER = Path(__file__).parent / "refused_traces"
ADVICE = "Name a trace file, such as counterexamples/archive/kip101-weak-isr.trace."
A_TRACE = "A trace is a text file that starts with `format: 1`."
GOOD = {
    "kip101": lambda: KIP101,
    "lamps": lambda: lamps_trace(why="").head(),
    "mailbox": lambda: mailbox_trace("everyone-is-done", clients=1).head(),
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder, so that messages have a short path."""
    monkeypatch.chdir(tmp_path)
    return Path("x.trace")


def refused() -> list[Any]:
    """Return (machine, lines to remove, lines to add, message) of every block."""
    found = []
    for name in GOOD:
        for title, edit, expected in blocks(FOLDER / f"{name}.txt"):
            old, new = ([line[2:] for line in edit.split("\n") if line.startswith(sign)] for sign in "-+")
            found.append(pytest.param(name, "\n".join(old), "\n".join(new), expected, id=title))
    return found


@pytest.mark.parametrize(("name", "old", "new", "expected"), refused())
def test_reader_refuses(name: str, old: str, new: str, expected: str, here: Path) -> None:
    good = GOOD[name]()
    assert old in good
    assert message(here, good.replace(old if new else old + "\n", new, 1)) == expected


def test_reader_refuses_a_file_that_is_not_there_and_a_folder_and_what_is_no_text(here: Path) -> None:
    with pytest.raises(UsageError, match=re.escape(f"x.trace: the file does not exist. {ADVICE}")):
        read(here)
    with pytest.raises(UsageError, match=re.escape(f".: the file cannot be read: Is a directory. {ADVICE}")):
        read(".")
    here.write_bytes(b"format: 1\n\xff\xfe")
    said = f"x.trace:2: this line is not UTF-8 text, so it is not a trace. {A_TRACE}"
    with pytest.raises(UsageError, match=re.escape(said)):
        read(here)


def line_of(item: Any, text: str) -> int:
    lines, first = inspect.getsourcelines(item.function)
    return first + next(number for number, line in enumerate(lines) if text in line)


def changed(text: str | Path, **parts: Any) -> str:
    """Return the message of replay for a trace of the lamps under another protocol."""
    with pytest.raises(UsageError) as caught:
        replay(text, lambda _: replace(LAMPS, **parts))
    return str(caught.value)


@action(lamps=Lamps, noise=bool)
def switch_quietly(s: Room, c: C, lamps: int, noise: int) -> None:
    require(noise == 0)
    s.lit = lamps


@action(lamps=Lamps, noise=bool)
def switch_one(s: Room, c: C, lamps: int, noise: int) -> None:
    """Somebody lights one lamp at most."""
    require(lamps & (lamps - 1) == 0 or s.lit == 0)
    s.lit = lamps if s.lit == 0 else 0


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (switch_quietly, ("x.trace:11: step 1, `switch-to lamps={0,2} noise=yes`, is not possible: "
            "the guard `noise == 0` (test_trace_refusals.py:LINE) refuses. "
            "Write a step that is enabled in that state: `switch-to lamps={} noise=no`, `switch-to lamps={0} "
            "noise=no`, `switch-to lamps={1} noise=no`, `switch-to lamps={0,1} noise=no` or one of 4 others. "
            "The states are as recorded, so the header or the model has changed, or steps and states were "
            "edited.")),
        (switch_one,
            ("x.trace:12: step 2, `switch-to lamps={0,1,2} noise=yes`, is not possible: the guard `lamps & lamps - "
            "1 == 0 or s.lit == 0` (test_trace_refusals.py:LINE) refuses. Write a step that is enabled in that state: "
            "`switch-to lamps={} noise=no`, `switch-to lamps={} noise=yes`, `switch-to lamps={0} noise=no`, "
            "`switch-to lamps={0} noise=yes` or one of 4 others. The header has been edited, or the model has changed, "
            "since the states were written: x.trace:18: the states say 'lit {} -> {0,2}, history [] -> [0:{0,2}], "
            "history_end 0 -> 1, count [0,0,0] -> [1,0,0]', but the model gives 'lit {} -> {0,2}'.")),
    ],
    ids=["a new guard", "another effect"],
)  # fmt: skip
def test_replay_says_what_has_changed_in_the_model(item: Any, expected: str, here: Path) -> None:
    write(here, lamps_trace(lamps.some_lamp_is_dark, (0b101, 1), (0b111, 1), why=""))
    machine = replace(lamps.MACHINE, actions=(item.named("switch_to"),))
    assert changed("x.trace", machine=machine) == expected.replace("LINE", str(line_of(item, "require(")))


def test_replay_refuses_a_trace_whose_property_holds_by_now(here: Path) -> None:
    write(here, lamps_trace())
    kinder = replace(lamps.some_lamp_is_dark, function=lambda _s, _c: True)
    assert changed(here, properties=(kinder,)) == (
        "x.trace:8: all steps are possible, but property 'some-lamp-is-dark' "
        "is not violated at the end. Find another trace with "
        f'`fencepost.check("{lamps.__file__}", lamps=3, only=["some-lamp-is-dark"])`, or remove the file. '
        "The states are as recorded, so the header or the model has changed."
    )


EDITED = KIP279.replace("leader-write leader=0", "leader-write leader=1", 1)
SAID = "The file has been edited, or the model has changed, since the states were written."
DAMAGED = {
    "its last lines cut off": ("".join(KIP279.splitlines(keepends=True)[:-4]),
        f"69: the states end, but the model continues with 'quorum.isr {{0,1}} -> {{0,1,2}}'. {SAID}"),
    "its last bytes cut off": (KIP279[:-12], ("72: the states say 'strong-isr is violated', but the "
        f"model gives 'strong-isr is violated: 12 states'. {SAID}")),
    "twice in one file": (KIP279 * 2, f"73: the states say 'format: 1', but the model has nothing more. {SAID}"),
    "another constant": (KIP279.replace("max_leader_epoch=1", "max_leader_epoch=2"),
        f"32: the states say '0..1     none    {{}}', but the model gives '0..2     none    {{}}'. {SAID}"),
    "no states": (KIP279.rpartition("----\n")[0] + "----\n", "26: the file contains no states. Write states with"),
    "an edited step": (EDITED, "18: step 4, `leader-write leader=1`, is not possible: "),
}  # fmt: skip


@pytest.mark.parametrize("command", ["replay", "show", "shrink"])
@pytest.mark.parametrize("damage", DAMAGED)
def test_a_damaged_trace_is_refused_by_every_command_that_reads_it(damage: str, command: str, here: Path) -> None:
    text, expected = DAMAGED[damage]
    here.write_text(text)
    result = fencepost(command, "x.trace")
    assert result.stderr.startswith(f"fencepost: x.trace:{expected}")
    assert (result.exit_code, result.stdout) == (2, "")


def test_an_edited_step_that_can_happen_is_one_that_differs_from_what_is_recorded(here: Path) -> None:
    text = write(here, lamps_trace(lamps.some_lamp_is_dark, (0b001, 0), (0b111, 0))).text
    assert message(here, text.replace("lamps={0} noise=no", "lamps={1} noise=no", 1)) == (
        "x.trace:18: the steps differ from the recorded steps at step "
        "1: the file has '1 switch-to lamps={0} noise=no', but the model has "
        "'1 switch-to lamps={1} noise=no'. The file has been edited since "
        "the states were written. Check the steps, then update the "
        f'states with `fencepost.replay("x.trace", model="{lamps.__file__}", rewrite=True)`.'
    )


def test_states_that_are_cut_off_are_no_change_of_the_model(here: Path) -> None:
    cut = EDITED[: EDITED.index("\n3 become-follower-and-truncate") + 1]
    said = " The file has been truncated or edited since the states were written: x.trace:40: the states end"
    assert said in message(here, cut)


ALONE = [(0b001, 0)] * 5
REFUSED = {
    "nothing is enabled": (lambda: lamps_trace(lamps.some_lamp_is_dark, *ALONE).head(),
        " refuses. No step is enabled in that state: remove this step and all later steps."),
    "a message is not in flight": (
        lambda: mailbox_trace("everyone-is-done", clients=1).head().replace("send client=0\n", "", 1),
        ("x.trace:9: step 1, `serve request={client=0,number=1,again=no}`, is not possible: no such message is in "
        "flight. Write a step that is enabled in that state: `send client=0`.")),
    "it goes on after the violation": (
        lambda: lamps_trace(lamps.some_lamp_is_dark, ALONE[0], (0b111, 0), ALONE[0]).head(),
        ("x.trace:8: property 'some-lamp-is-dark' is not violated at the end of the 3 steps, but it is after step 2. "
        "Remove all later steps.")),
    "a witness is not reached": (lambda: lamps_trace(lamps.favourite_is_lit).head(),
        "but witness 'favourite-is-lit' is not reached at the end."),
    "a deadlock is none": (lambda: lamps_trace(None).head(),
        "but some action is enabled in the last state, so this is not a deadlock."),
}  # fmt: skip


@pytest.mark.parametrize(("text", "said"), REFUSED.values(), ids=REFUSED)
def test_replay_refuses_what_its_steps_do_not_show(text: Callable[[], str], said: str, here: Path) -> None:
    told = message(here, text())
    assert said in told if said.startswith("but ") else told.endswith(said)
