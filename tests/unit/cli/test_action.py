"""The GitHub Action: its steps are run here as a runner would run them, with the command that is installed."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from fencepost.cli.commands.check import check
from fencepost.cli.commands.compare import compare
from junitparser import JUnitXml

from tests.helpers.commands import program
from tests.helpers.places import MACHINES, ROOT

ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS = {step["id"]: step for step in ACTION["runs"]["steps"] if "id" in step}
COMPARE: dict[str, Any] = yaml.safe_load((ROOT / ".github" / "actions" / "compare" / "action.yml").read_text())
BOTH = {step["id"]: step for step in COMPARE["runs"]["steps"] if "id" in step}
COMPARED = {
    "verdict": "not-exercised", "a": {"title": "A"}, "b": {"title": "B"}, "difference": None,
    "methods": [{"owner": "kafka.P", "name": "f", "descriptor": "()V", "driven": True, "executed": True}],
    "lines_not_executed": {"kafka.P.f ()V": [4]},
    "conditions_one_way": [
        {"method": "kafka.P.f ()V", "line": 5, "condition": "ifeq", "went": "never jumps", "sides": ["a", "b"]}
    ],
}  # fmt: skip
MAILBOX = MACHINES / "mailbox.py"


def bash(text: str, folder: Path, at: Path, action: Path | str, **variables: str) -> subprocess.CompletedProcess[str]:
    runner = {"RUNNER_TEMP": str(folder), "GITHUB_ACTION_PATH": str(action)}
    runner |= {"GITHUB_OUTPUT": str(folder / "output"), "GITHUB_STEP_SUMMARY": str(folder / "summary.md")}
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", text],  # noqa: S607
        cwd=at, env={**os.environ, **variables, **runner}, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip


def run(step: str, folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    given = {**{name: item["default"] for name, item in ACTION["inputs"].items()}, **inputs}
    named = re.compile(r"\$\{\{ inputs\.(\w+) \}\}")
    variables = {name: named.sub(lambda it: given[it[1]], text) for name, text in STEPS[step]["env"].items()}
    return bash(STEPS[step]["run"], folder, folder, "/actions/fencepost", **variables)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a runner's folder in which our command is installed."""
    program(tmp_path / "fencepost" / "bin" / "fencepost", f'exec "{sys.executable}" -m fencepost "$@"')
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
    program(folder / "fencepost" / "bin" / "fencepost", 'for word; do printf "<%s>" "$word"; done')
    done = run("check", folder, arguments="my.py --set 'a b=1' $(touch harm); touch harm")
    assert done.stdout.startswith("<check><my.py><--set><a b=1><$(touch><harm);><touch><harm><--quiet><--github>")
    assert not (folder / "harm").exists()
    assert run("check", folder).stdout == "<check><--quiet><--github><--junit><fencepost.xml><--sarif><fencepost.sarif>"


@pytest.mark.parametrize(("version", "wanted"), [("", "/actions/fencepost"), ("0.1.0", "fencepost==0.1.0")])
def test_the_files_of_the_action_or_a_released_version_are_installed(version: str, wanted: str, tmp_path: Path) -> None:
    pip = 'mkdir -p "$3/bin"\nprintf \'#!/bin/sh\\necho "$@"\\n\' > "$3/bin/pip"\nchmod +x "$3/bin/pip"'
    program(tmp_path / "python", pip)
    done = run("install", tmp_path, version=version, python=str(tmp_path / "python"))
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


def shell(step: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return bash(BOTH[step]["run"], folder, folder / "kafka", ROOT / ".github" / "actions" / "compare", **variables)


def test_a_pull_request_and_its_base_are_built_and_unpacked(tmp_path: Path) -> None:
    for folder in ("origin", "kafka"):
        (tmp_path / folder).mkdir()
    (tmp_path / "origin" / "name").write_text("base")
    git = "git -c user.name=a -c user.email=a@b"
    made = f"{git} init --quiet -b trunk; {git} add .; {git} commit --quiet -m a; git clone --quiet . ../kafka"
    assert bash(made, tmp_path, tmp_path / "origin", "").returncode == 0
    (tmp_path / "kafka" / "name").write_text("changed")
    made = "mkdir -p core/build/distributions k/libs; cp name k/libs/; "
    tar = "tar -czf core/build/distributions/kafka_2.13-5.tgz k"
    done = shell("build", tmp_path, BASE="trunk", BUILD=made + tar, GITHUB_WORKSPACE=str(tmp_path / "kafka"))
    assert done.returncode == 0, done.stderr
    for side in ("base", "changed"):
        assert (tmp_path / "jars" / side / "libs" / "name").read_text() == side


@pytest.mark.parametrize(("status", "ends"), [(0, 0), (1, 0), (3, 0), (2, 2), (4, 4)])
def test_a_comparison_leaves_its_comment_and_only_trouble_fails_the_job(status: int, ends: int, tmp_path: Path) -> None:
    (tmp_path / "kafka").mkdir()
    text = f"echo \"$@\" > {tmp_path}/words; cat <<'END'\n{json.dumps(COMPARED)}\nEND\nexit {status}"
    program(tmp_path / "fencepost" / "bin" / "fencepost", text)
    done = shell("compare", tmp_path, BUDGET="5m")
    assert done.returncode == ends, done.stderr
    assert (tmp_path / "output").read_text() == f"status={status}\n"
    words = (tmp_path / "words").read_text().split()
    assert {word for word in words if word.startswith("--")} <= {word for item in compare.params for word in item.opts}
    if not ends:
        row = "| `kafka.P.f` | yes | lines 4; line 5 of A and B, ifeq: never jumps |"
        assert row in (tmp_path / "summary.md").read_text()


def test_the_recipe_for_comparing_has_inputs_and_a_folder_that_exist() -> None:
    page = (ROOT / "docs" / "kafka" / "my-pull-request.md").read_text()
    example = yaml.safe_load(re.search(r"```yaml\n(.*?)```", page, re.DOTALL)[1])
    [step] = [item for item in example["jobs"]["compare"]["steps"] if item["uses"].startswith("./")]
    assert (ROOT / Path(step["uses"]).relative_to("fencepost") / "action.yml").is_file()
    assert set(step.get("with", {})) <= set(COMPARE["inputs"])
