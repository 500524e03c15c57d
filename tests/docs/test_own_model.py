"""A protocol of one's own: the example of the page, and what goes wrong in a user's file."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.helpers.commands import fencepost
from tests.helpers.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path

PAGE = (ROOT / "docs" / "own-model.md").read_text()
EXAMPLES = ROOT / "docs" / "examples"
MODEL, SUITE = "fetch_from_anyone.py", "test_fetch_from_anyone.py"


def commands() -> list[tuple[str, int]]:
    """Return every command of the page with the status that it must end with."""
    lines = [line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]
    found = []
    for line in lines:
        command, _, comment = line.partition("#")
        status = re.search(r"status (\d)", comment)
        found.append((command.strip(), int(status[1]) if status else 0))
    return found


def test_the_page_shows_the_files_that_are_tested() -> None:
    *parts, suite = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(parts) == 2
    assert all(part in (EXAMPLES / MODEL).read_text() for part in parts)
    assert (EXAMPLES / SUITE).read_text() == suite


def test_every_command_of_the_page_ends_as_it_says(tmp_path: Path) -> None:
    for file in EXAMPLES.glob("*.py"):
        shutil.copy(file, tmp_path)
    printed = {}
    for command, status in commands():
        tool, *words = shlex.split(command)
        done = subprocess.run(
            [sys.executable, "-m", tool, *words], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == status, f"{command}\n{done.stdout}\n{done.stderr}"
        printed[command] = done.stdout
    checks = [text for command, text in printed.items() if " check " in command]
    assert re.search(r"epochs-never-fall-in-a-log is violated for broker=\d, offset=1: 11 states", checks[0])
    assert ["epochs-never-fall-in-a-log is violated for" in text for text in checks] == [True, True, False]
    assert all("weak-isr                    always     holds" in text for text in checks)
    html = (tmp_path / "epochs-fall.html").read_text()
    assert "require(in_same_epoch(l, leader, f))" in html
    suites = [text for command, text in printed.items() if command.startswith("pytest")]
    assert ["4 passed" in suites[0], "1 passed" in suites[1]] == [True, True]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a trace of the example."""
    file = tmp_path_factory.mktemp("found") / "x.trace"
    asked = (
        "--engine",
        "plain",
        "--set",
        "replicas=2",
        "--property",
        "epochs-never-fall-in-a-log",
        "--stop-on-violation",
    )
    assert fencepost("check", str(EXAMPLES / MODEL), *asked, "--trace", str(file), "--quiet").exit_code == 1
    return file


@pytest.fixture
def here(found: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with the example and its trace."""
    shutil.copy(EXAMPLES / MODEL, tmp_path)
    shutil.copy(found, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


FORMATS = ("text", "mermaid", "itf", "pytest", "html")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "require(f.end < l.end)",
            "require(f.end < l.ende)",
            "step 8: follower-fetch leader=0 follower=1: record ReplicaState has no field 'ende'. Did you mean 'end'?",
        ),
        ("@always\n", "@alway\n", "fetch_from_anyone.py:19: NameError: name 'alway' is not defined"),
        (
            "def follower_fetch(s: State, c: C, leader: int, follower: int) -> None:",
            "def follower_fetch(s:",
            "fetch_from_anyone.py:10: ",
        ),
        (
            "follower_fetch=follower_fetch",
            "follower_fetches=follower_fetch",
            "machine 'kip320' has no action 'follower_fetches'. Did you mean 'follower_fetch'?",
        ),
        (
            "require(f.end < l.end)",
            "require(f.end + 1 < l.end)",
            "cannot happen: the guard `f.end + 1 < l.end` (fetch_from_anyone.py:15) refuses.",
        ),
    ],
    ids=["a field", "a decorator", "syntax", "an action", "a guard that refuses"],
)
def test_a_trace_of_a_broken_model_is_refused_in_every_format(old: str, new: str, expected: str, here: Path) -> None:
    text = (here / MODEL).read_text()
    assert old in text
    (here / MODEL).write_text(text.replace(old, new, 1))
    for args in (["replay", "x.trace"], *(["show", "x.trace", "--format", form] for form in FORMATS)):
        result = fencepost(*args, "--model", MODEL)
        assert result.exit_code == 2, args
        assert expected in result.stderr, args
        assert "Traceback" not in result.stderr
        assert result.stdout == ""


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("\n----\ncontroller", "\ncontroller", r"x\.trace:\d+: "),
        (
            "follower-fetch leader",
            "follower-fetsch leader",
            r"x\.trace:\d+: protocol .* has no action 'follower-fetsch'",
        ),
        (
            "controller-elect-leader leader=",
            "controller-elect-leader leader=7",
            r"x\.trace:\d+: parameter 'leader' .* out of its domain",
        ),
        ("constants: replicas=2", "constants: brokers=2", r"x\.trace:\d+: protocol .* has no constant 'brokers'"),
        ("format: 1", "format: 2", r"x\.trace:1: "),
    ],
    ids=["truncated", "action", "parameter", "constant", "format"],
)
def test_broken_input_is_refused_with_its_line_in_every_format(
    form: str, old: str, new: str, expected: str, here: Path
) -> None:
    text = (here / "x.trace").read_text()
    assert old in text
    (here / "x.trace").write_text(text.replace(old, new, 1))
    result = fencepost("show", "x.trace", "--model", MODEL, "--format", form)
    assert result.exit_code == 2
    assert re.match(f"fencepost: {expected}", result.stderr), result.stderr
    assert result.stdout == ""


def test_a_file_is_not_written_where_the_trace_is_refused(here: Path) -> None:
    result = fencepost("show", "x.trace", "--format", "html", "--output", "x.html")
    assert result.exit_code == 2
    assert "A protocol of your own is found with --model FILE.py." in result.stderr
    assert not (here / "x.html").exists()
