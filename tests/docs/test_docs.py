"""The documentation says what is so."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from fencepost.counterexamples.stateful import PROFILES, Profile

from tests.helpers import commands
from tests.helpers.parameters import words
from tests.helpers.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path


def blocks(page: str, language: str) -> list[str]:
    """Return the fenced blocks of a page in this language."""
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)


def fencepost(*arguments: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run the command line."""
    command = [sys.executable, "-m", "fencepost", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)


def test_the_readmes_model_can_be_checked_as_it_stands(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(blocks("README.md", "python")[0])
    done = fencepost("check", "model.py", "--json", "--quiet", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert '"verdict": "holds"' in done.stdout


@pytest.mark.parametrize(
    "line",
    [
        line.split("#")[0].strip()
        for block in blocks("README.md", "sh")[2:]
        for line in block.splitlines()
        if line.startswith("fencepost") and "--budget" not in line and "/var/lib" not in line  # a broker's folder
    ],
)
def test_the_readmes_commands_are_accepted(line: str) -> None:
    done = commands.fencepost(*line.split()[1:])
    assert done.exit_code in (0, 1), done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "page",
    words(
        "README.md ARCHITECTURE.md docs/model/language.md docs/model/own-model.md docs/model/known-systems.md "
        "docs/use/python.md docs/use/builds.md docs/use/json.md docs/use/walks.md docs/use/explore.md "
        "docs/developing/program.md docs/model/semantics.md docs/kafka/conformance.md docs/kafka/clusters.md"
    ),
)
def test_every_path_that_a_page_names_exists(page: str) -> None:
    text = (ROOT / page).read_text()
    named = set(re.findall(r"\]\(([^)#:]+)\)", text))
    named |= set(re.findall(r"`([a-z_]+/[a-z_./0-9-]*)`", text))
    missing = [
        item for item in named if not (ROOT / item).exists() and not (ROOT / page).parent.joinpath(item).exists()
    ]
    assert missing == []


def test_the_language_pages_blocks_are_python_that_runs() -> None:
    scope: dict[str, object] = {}
    for block in blocks("docs/model/language.md", "python"):
        exec(compile(block, "docs/model/language.md", "exec"), scope)  # noqa: S102 (our own page)
    assert "follower_fetch" in scope


@pytest.mark.long
@pytest.mark.parametrize("line", [line for block in blocks("docs/use/walks.md", "sh") for line in block.splitlines()])
def test_the_commands_on_walks_are_accepted(line: str) -> None:
    done = fencepost(*line.split()[1:])
    assert done.returncode in (0, 1, 3), done.stderr
    assert "Traceback" not in done.stderr


def test_the_block_on_hypothesis_is_a_test_that_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PROFILES, "development", Profile("development", 30, fixed=True))
    scope: dict[str, Any] = {}
    (block,) = blocks("docs/use/walks.md", "python")
    exec(compile(block, "docs/use/walks.md", "exec"), scope)  # noqa: S102 (our own page)
    scope["test_kip320"]()
