"""`fencepost check --pin` writes changed figures into the files of runs, but not verdicts."""

import json
from functools import cache
from pathlib import Path

import pytest
from fencepost.api.calls import catalogue
from fencepost.invariants.catalogue import file_of, runs_of
from fencepost.invariants.figures import store
from fencepost.invariants.run_files import Runs

from tests.helpers.commands import fencepost

FILE = """
sizes = "replicas log_size max_records max_leader_epoch"

[[group]]
profile = "quick"
run."kip101 2/2/2/2" = {pin=[9_045, 18], fails="weak-isr 12, strong-isr 12"}  # as TLC has it
run."kip320 2/2/2/2" = {pin=[5_973, 18]}
"""


def put(monkeypatch: pytest.MonkeyPatch, folder: Path, text: str) -> Path:
    file = folder / "lineage.toml"
    file.write_text(text)
    monkeypatch.setattr(catalogue, "runs", lambda: tuple(Runs({"lineage.toml": text}).all))
    monkeypatch.setattr(catalogue, "file_of", lambda _: file)
    monkeypatch.setattr(store, "FOLDER", folder / "figures")
    monkeypatch.setattr(store, "load", cache(lambda _: {}))
    return file


@pytest.mark.parametrize(
    "wrong", [("9_045, 18", "0, 0"), ("18]}", "17]}"), ("weak-isr 12, strong", "weak-isr 3, strong")]
)
def test_another_figure_is_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, wrong: tuple[str, str]) -> None:
    file = put(monkeypatch, tmp_path, FILE.replace(*wrong))
    assert fencepost("check").exit_code == 1
    result = fencepost("check", "--pin")
    assert result.exit_code == 0
    assert f"{file}: pinned 1 run. Review the diff before keeping it.\n" in result.stdout
    assert file.read_text() == FILE
    reached = json.loads((tmp_path / "figures" / "reached.json").read_text())
    assert [row["run"] for row in reached["kip320"]] == ["2/2/2/2"]


def test_another_verdict_is_not_written_and_ends_with_status_1(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = FILE.replace(', fails="weak-isr 12, strong-isr 12"', ', fails="weak-isr 12"').replace("5_973", "1")
    file = put(monkeypatch, tmp_path, text)
    result = fencepost("check", "--pin")
    assert result.exit_code == 1
    assert "not pinned: kip101 2/2/2/2 has unexpected verdicts, which must be edited by hand.\n" in result.stdout
    assert file.read_text() == text.replace("=[1, ", "=[5_973, ")


def test_a_run_that_was_cut_short_is_not_pinned(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = put(monkeypatch, tmp_path, FILE)
    result = fencepost("check", "kip320", "--profile", "quick", "--pin", "--max-depth", "3")
    assert result.exit_code == 3
    assert "not pinned: kip320 2/2/2/2 did not finish.\n" in result.stdout
    assert file.read_text() == FILE


def test_every_run_knows_its_file() -> None:
    (run, *_) = runs_of("quorum")
    assert file_of(run).name == "quorum.toml"
    assert run.title in file_of(run).read_text()
