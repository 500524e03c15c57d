"""The initial model of `new` runs unchanged, and so does its test."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from fencepost.api.asking.model_files import load_protocol
from fencepost.api.calls.new import new, pytest_command
from fencepost.model.language.errors import UsageError

from tests.helpers.commands import fencepost
from tests.helpers.places import ROOT


def test_a_new_model_and_its_test_run_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = fencepost("new", "two-phase")
    assert made.exit_code == 0
    assert "fencepost check two_phase.py" in made.stdout
    found = load_protocol(Path("two_phase.py"))
    assert (found.name, len(found.properties)) == ("two-phase", 6)
    assert "fencepost new" not in Path("two_phase.py").read_text()
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_two_phase.py"],
        capture_output=True,
        text=True,
        check=False,
        env=dict(os.environ),
        timeout=300,
    )
    assert "2 passed" in ran.stdout, ran.stdout


def test_the_command_for_the_test_works_in_a_clone_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "`python -m pytest test_lease.py` runs them" in fencepost("new", "lease").stdout
    assert pytest_command(ROOT / "x.py").startswith("python -m pytest -o addopts= ")


def test_a_new_model_overwrites_nothing(tmp_path: Path) -> None:
    new("lease", tmp_path)
    with pytest.raises(UsageError, match=r"the file .*lease\.py already exists: choose another name"):
        new("lease", tmp_path)


@pytest.mark.parametrize("name", ["../lease", "1st", "", "a b", "json", "class", "typing"])
def test_a_name_that_is_none_or_that_python_has_itself_is_refused(name: str, tmp_path: Path) -> None:
    own = f"'{name}' is a Python keyword or a standard module"
    with pytest.raises(UsageError, match=own if name.isidentifier() else "does not name a model: write a word"):
        new(name, tmp_path)
    assert not list(tmp_path.iterdir())
