"""`fencepost list` and the command itself: complete, fast, and readable on any terminal."""

import os
import pty
import select
import subprocess
import sys

import pytest
from fencepost.invariants.protocols import PROTOCOLS

from tests.helpers.commands import KIP320, data_of, fencepost, start


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
        assert [constant["name"] for constant in found[name]["constants"]] == list(item.machine.constants.declared())
        assert [action["name"] for action in found[name]["actions"]] == [
            action.label for action in item.machine.actions
        ]
        assert [prop["name"] for prop in found[name]["properties"]] == [prop.name for prop in item.every_property]
    assert found["kip320"]["constants"][0] == {
        "name": "replicas",
        "default": 3,
        "meaning": "replicas of the partition",
        "low": 1,
        "high": 5,
    }


def test_the_list_of_one_protocol_explains_it() -> None:
    page = fencepost("list", "kip320").stdout
    assert "  replicas=3          1..5    replicas of the partition\n" in page
    assert "  leader-write leader=.." in page
    assert "  strong-isr                 always     A replica that presumes to" in page


def test_no_command_shows_the_help() -> None:
    result = fencepost()
    assert result.stdout.startswith("Usage: fencepost [OPTIONS] [COMMAND]")
    assert result.exit_code == 0


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
