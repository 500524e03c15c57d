"""The GitHub Action: its steps are run here as a runner would run them, with the command that is installed."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from fencepost.cli.commands.check import check
from junitparser import JUnitXml

from tests.helpers.places import MACHINES, ROOT

ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS = {step["id"]: step for step in ACTION["runs"]["steps"] if "id" in step}
MAILBOX = MACHINES / "mailbox.py"


def run(step: str, folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    given = {**{name: item["default"] for name, item in ACTION["inputs"].items()}, **inputs}
    variables = {
        name: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda found: given[found[1]], text)
        for name, text in STEPS[step]["env"].items()
    }
    runner = {
        "RUNNER_TEMP": str(folder),
        "GITHUB_ACTION_PATH": "/actions/fencepost",
        "GITHUB_OUTPUT": str(folder / "output"),
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
    }
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", STEPS[step]["run"]],  # noqa: S607
        cwd=folder,
        env={**os.environ, **variables, **runner},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a runner's folder in which our command is installed."""
    tool = tmp_path / "fencepost" / "bin" / "fencepost"
    tool.parent.mkdir(parents=True)
    tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m fencepost "$@"\n')
    tool.chmod(0o755)
    return tmp_path


def test_a_check_that_fails_annotates_leaves_files_and_ends_with_its_status(folder: Path) -> None:
    done = run("check", folder, arguments=f"'{MAILBOX}' --engine plain --set clients=1 --without deduplicate")
    assert done.returncode == 1, done.stderr
    assert "::error file=" in done.stdout
    assert (folder / "output").read_text() == "status=1\n"
    assert "```mermaid" in (folder / "summary.md").read_text()
    assert JUnitXml.fromfile(str(folder / "fencepost.xml")).failures == 1
    assert (folder / "fencepost.sarif").is_file()


def test_a_check_that_passes_ends_well_and_files_can_be_left_out(folder: Path) -> None:
    done = run("check", folder, arguments=f"{MAILBOX} --engine plain --set clients=1", junit="", sarif="")
    assert done.returncode == 0, done.stderr
    assert (folder / "output").read_text() == "status=0\n"
    assert not (folder / "fencepost.xml").exists()
    assert not (folder / "fencepost.sarif").exists()


def test_arguments_are_words_and_no_commands(folder: Path) -> None:
    tool = folder / "fencepost" / "bin" / "fencepost"
    tool.write_text('#!/bin/sh\nfor word; do printf "<%s>" "$word"; done\n')
    done = run("check", folder, arguments="my.py --set 'a b=1' $(touch harm); touch harm")
    assert done.stdout.startswith("<check><my.py><--set><a b=1><$(touch><harm);><touch><harm><--quiet><--github>")
    assert not (folder / "harm").exists()
    assert run("check", folder).stdout == "<check><--quiet><--github><--junit><fencepost.xml><--sarif><fencepost.sarif>"


@pytest.mark.parametrize(("version", "wanted"), [("", "/actions/fencepost"), ("0.1.0", "fencepost==0.1.0")])
def test_the_files_of_the_action_or_a_released_version_are_installed(version: str, wanted: str, tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(
        '#!/bin/sh\nmkdir -p "$3/bin"\nprintf \'#!/bin/sh\\necho "$@"\\n\' > "$3/bin/pip"\nchmod +x "$3/bin/pip"\n'
    )
    python.chmod(0o755)
    done = run("install", tmp_path, version=version, python=str(python))
    assert done.stdout == f"install --quiet {wanted}\n"


def test_the_action_has_what_its_page_says_and_options_that_exist() -> None:
    page = (ROOT / "docs" / "use" / "builds.md").read_text()
    for name in (*ACTION["inputs"], *ACTION["outputs"]):
        assert f"`{name}`" in page
    options = {word for item in check.params for word in item.opts}
    assert set(re.findall(r"--[a-z]+", STEPS["check"]["run"])) <= options
    example = yaml.safe_load(re.search(r"```yaml\n(.*?)```", page, re.DOTALL)[1])
    [step] = [step for step in example["jobs"]["fencepost"]["steps"] if step["uses"] == "./fencepost"]
    assert set(step["with"]) <= set(ACTION["inputs"])
