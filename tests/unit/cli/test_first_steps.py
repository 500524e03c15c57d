"""Small obstacles that first users met, lists, and help."""

import os
import pty
import select
import subprocess
import sys
from pathlib import Path

import pytest
from fencepost.api import simulate
from fencepost.api.calls import first_model as first
from fencepost.invariants.catalogue import runs
from fencepost.invariants.protocols import PROTOCOLS
from fencepost.model.language import sometimes

from tests.helpers.commands import KIP320, data_of, fencepost, refused, start
from tests.machines import rooms

LOCK = str(Path(first.__file__))


def test_walks_say_which_properties_they_leave_out_and_refuse_them_by_name() -> None:
    walked = simulate(first.MACHINE, first.PROPERTIES, walks=10)
    names = [item.name for item in first.PROPERTIES if not item.kind.over_behaviours]
    assert [item.result.name for item in walked.properties] == names
    [note] = walked.notes
    assert note.startswith("not checked: who-waits-gets-it, few-ask-meanwhile. Walks are finite")
    assert note.endswith("only `fencepost check` decides properties of behaviours.")
    assert not simulate(first.MACHINE, first.PROPERTIES, only="one-holds", walks=10).notes
    witness = sometimes(room=rooms.Room)(rooms.is_lit)
    assert simulate(rooms.MACHINE, (rooms.goes_dark, witness), walks=10).verdict == "not-found"
    assert "messages-until-known" in str(simulate("watermark-propagation", walks=10).notes)
    message = refused("simulate", LOCK, "--property", "who-waits-gets-it")
    assert message.endswith("check it with `fencepost check` and `--property who-waits-gets-it`.\n")


def test_a_state_that_breaks_an_induction_is_looked_for_in_models_with_whole_behaviours_too() -> None:
    found = fencepost("prove", LOCK, "--property", "one-holds", "--no-cache")
    assert found.exit_code == 3
    assert "the state is not among the 84 reachable states under these constants" in " ".join(found.stdout.split())
    text = " ".join(fencepost("prove", LOCK, "--property", "one-holds", "--reach", "0s", "--no-cache").stdout.split())
    assert "the state was not searched for, so it may be unreachable" in text


def test_the_typed_program_is_shown_in_words_of_the_model() -> None:
    text = fencepost("check", LOCK, "--dump", "ir").stdout
    assert "s%0.session[client%1].phase := 1 in Phase" in text
    assert "s%0.holder := m%1.client in -1..clients - 1" in text
    assert "<enum" not in text


@pytest.mark.long
def test_a_run_of_the_catalogue_is_checked_by_the_name_that_pages_give_it() -> None:
    name = "replication 2 brokers, elections without an epoch"
    data = data_of(fencepost("check", name, "--engine", "plain", "--json"))
    [run] = [run for run in runs() if run.name == name]
    assert (data["distinct"], data["depth"]) == (run.distinct, run.depth)
    violated = {item["name"]: item["length"] for item in data["properties"] if item["verdict"] == "violated"}
    assert violated == dict(run.violated)
    assert f"Did you mean '{name}'?" in refused("check", name.replace("epoch", "epock"))
    other = fencepost("check", name, "--set", "fences=2")
    assert "constant 'fences' has two values, 0 in the run and 2 in" in other.stderr


def test_listing_and_help_are_instant_for_they_import_neither_llvmlite_nor_numpy() -> None:
    code = (
        "import sys, subprocess\nfrom click.testing import CliRunner\nfrom fencepost.cli.main import run\n"
        "for words in ('list', 'list kip320', 'list --json', '--help', 'check --help', '--version'):\n"
        "    assert CliRunner().invoke(run, words.split()).exit_code == 0\n"
        "assert not {'llvmlite', 'numpy', 'psutil', 'z3'} & sys.modules.keys()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


def test_the_list_as_json_says_all_of_every_protocol() -> None:
    found = {item["name"]: item for item in data_of(fencepost("list", "--json"))["protocols"]}
    assert list(found) == list(PROTOCOLS)
    for name, item in PROTOCOLS.items():
        listed = {kind: [one["name"] for one in found[name][kind]] for kind in ("constants", "actions", "properties")}
        assert listed == {
            "constants": list(item.machine.constants.declared()),
            "actions": [action.label for action in item.machine.actions],
            "properties": [prop.name for prop in item.every_property],
        }
    assert found["kip320"]["constants"][0] == {
        "name": "replicas", "default": 3, "meaning": "replicas of the partition", "low": 1, "high": 5,
    }  # fmt: skip


def test_the_list_of_one_protocol_explains_it() -> None:
    page = fencepost("list", "kip320").stdout
    assert "  replicas=3          1..5    replicas of the partition\n" in page
    assert "  leader-write leader=.." in page
    assert "  strong-isr                 always     A replica that believes it" in page


@pytest.mark.parametrize(("no_color", "coloured"), [("", True), ("1", False)])
def test_a_terminal_gets_colours_unless_it_wants_none(no_color: str, *, coloured: bool) -> None:
    outer, inner = pty.openpty()
    process = start(*KIP320, "--quiet", stdout=inner, NO_COLOR=no_color, TERM="xterm-256color")
    os.close(inner)
    text = b""
    while select.select([outer], [], [], 300)[0]:
        try:
            piece = os.read(outer, 4096)
        except OSError:  # Linux raises this when the other end is closed
            break
        if not piece:
            break
        text += piece
    os.close(outer)
    with process:
        assert process.wait(timeout=300) == 0
    assert (b"\x1b[1;" in text) is coloured
    assert b"holds" in text
