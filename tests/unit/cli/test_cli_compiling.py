"""Compiling on the command line: its stages, its time and memory, and a machine that takes long."""

import re
from pathlib import Path
from weakref import WeakValueDictionary

import pytest
from fencepost.explorers.native.llvm import libraries
from fencepost.explorers.program.ir.program import text
from fencepost.explorers.program.ir.translate import translate
from fencepost.invariants.protocols import PROTOCOLS

from tests.helpers.commands import KIP320, data_of, fencepost

MACHINE = PROTOCOLS["kip320"].machine
VERBOSE = re.compile(
    r"compiled\s+(cheap|optimized)\s+code:\s+"
    r"(read\s+from\s+the\s+cache|in\s+[\d.]+\s+m?s,\s+with\s+at\s+most\s+[\d.]+\s+[MG]iB\s+in\s+the)"
)


@pytest.fixture
def cold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path))
    monkeypatch.setattr(libraries, "_loaded", WeakValueDictionary())


@pytest.mark.usefixtures("cold")
def test_every_stage_of_compiling_can_be_printed(tmp_path: Path) -> None:
    printed = {stage: fencepost(*KIP320, "--dump", stage) for stage in ("ir", "llvm", "asm")}
    assert all((done.exit_code, done.stderr) == (0, "") for done in printed.values())
    assert printed["ir"].stdout.rstrip() == text(translate(MACHINE, PROTOCOLS["kip320"].properties)).rstrip()
    assert "define i64 @expand(" in printed["llvm"].stdout
    for place, action in enumerate(MACHINE.actions):
        assert f"@{action.name}.action.{place}(" in printed["llvm"].stdout
        assert f"\n{action.name}.action.{place}:\n" in printed["asm"].stdout
    assert not list(tmp_path.rglob("*.o"))


@pytest.mark.usefixtures("cold")
def test_time_and_memory_of_compiling_are_shown_on_request_and_are_in_the_json() -> None:
    first, second = fencepost(*KIP320, "-vv"), fencepost(*KIP320, "--verbose", "--verbose")
    assert [re.search(VERBOSE, done.stdout) is not None for done in (first, second)] == [True, True]
    assert "read from" not in first.stdout
    assert not re.search("^compiled ", fencepost(*KIP320, "-v").stdout, re.MULTILINE)
    (item,) = data_of(fencepost(*KIP320, "--json"))["compiled"]
    assert set(item) == {"tier", "kept", "seconds", "peak_memory_bytes"}
    assert item["tier"] == "cheap"
    assert data_of(fencepost(*KIP320, "--json", "--engine", "plain"))["compiled"] == []
