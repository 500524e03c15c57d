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

PAGE = (ROOT / "docs" / "model" / "own-model.md").read_text()
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


@pytest.mark.long
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
    assert checks[0].startswith("`epochs-never-fall-in-a-log` is violated: 11 states.")
    assert re.search(r"violated for broker=\d, offset=1\n", checks[0])
    assert ["epochs-never-fall-in-a-log is violated" in text for text in checks] == [True, True, False]
    assert all(re.search(r"^holds  .*weak-isr", text, re.MULTILINE) for text in checks)
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
