"""Files by others are never executed and never end in a traceback, as docs/developing/trust.md says."""

import ast
import fcntl
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from fencepost.api import files
from fencepost.explorers.native.llvm import libraries
from fencepost.explorers.running.cache import read_cached
from fencepost.model.language.trees import module_of

from tests.helpers.commands import KIP320, fencepost, refused
from tests.helpers.parameters import words
from tests.helpers.places import MACHINES, ROOT
from tests.soak import kills, long_work, troubles

VAULT = str(MACHINES / "vault.py")
ROOMS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]["package-dir"].values()
RUNS = set(words("loads load exec eval exec_module import_module spec_from_file_location __import__ add_object_file"))
KNOWN = {
    "cli/root/__init__.py": "the library, by its own name",
    "explorers/model_files.py": "a model file that the user names, or that is sent along",
    "kafka/clients/wire.py": "modules of kio, by their names",
    "api/__init__.py": "a module of ours, by one of a few names",
    "model/language/acting.py": "what stands behind a parameter of the user's model",
    "cli/main.py": "a module of ours, by one of a few names",
    "cli/printing.py": "a module of ours, by one of a few names",
    "api/answers/as_json.py": "the library, by its own name",
    "counterexamples/violating_binding.py": "the text of a property, which is a model's",
    "counterexamples/render/__init__.py": "a module of ours, by one of a few names",
    "counterexamples/browser/page.py": "a package of ours, by one of a few names",
    "counterexamples/browser/refusals.py": "the text of a guard, which is a model's",
    "counterexamples/browser/serving.py": "a package of ours, by one of a few names",
    "explorers/native/llvm/aside.py": "what our own process sends",
    "explorers/native/llvm/libraries.py": "an object of the cache",
    "explorers/spark/explore.py": "what our own tasks send",
    "explorers/spark/work.py": "what our own tasks send",
    "explorers/symbolic/cache.py": "a proof of the cache",
    "explorers/symbolic/templates.py": "text that was just written",
    "model/language/records.py": "text that was just written, of names that are identifiers",
    "explorers/program/removal.py": "the text of an action, which is a model's",
}
"""Modules that run, unpickle or import what they read, and what that is."""


def running(text: str) -> Iterator[str]:
    for node in ast.walk(module_of(text)):
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            owner = ast.unparse(node.func.value) if isinstance(node.func, ast.Attribute) else ""
            in_data = called in ("load", "eval") and owner not in ("pickle", "marshal", "")
            if called in RUNS and owner not in ("json", "tomllib", "yaml", "np") and not in_data:
                yield called


def test_whatever_runs_or_unpickles_what_it_read_is_known() -> None:
    modules = [path for room in ROOMS for path in (ROOT / room).rglob("*.py")]
    found = {str(path.relative_to(ROOT)) for path in modules if set(running(path.read_text("utf-8"))) - {"load"}}
    assert found <= set(KNOWN), "say what it runs, and see that nobody else can write it"


def test_a_file_of_the_cache_that_others_may_write_or_own_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "object"
    path.write_bytes(b"code")
    assert read_cached(path) == b"code"
    for mode in (0o606, 0o660):
        path.chmod(mode)
        with pytest.raises(OSError, match="is accessible to other users"):
            read_cached(path)
    path.chmod(0o600)
    (tmp_path / "link").symlink_to(path)
    with pytest.raises(OSError, match="link"):
        read_cached(tmp_path / "link")
    (tmp_path / "elsewhere").symlink_to(tmp_path)
    with pytest.raises(OSError, match="link"):
        read_cached(tmp_path / "elsewhere/object")
    os.truncate(path, 1 << 40)
    with pytest.raises(OSError, match="MiB"):
        read_cached(path)
    if os.getuid() == 0:
        os.chown(path, 54321, -1)
        with pytest.raises(OSError, match="is accessible to other users"):
            read_cached(path)


def test_an_object_whose_head_nests_too_deeply_is_damaged(tmp_path: Path) -> None:
    path = libraries.file_of(tmp_path, "ab" * 32)
    path.parent.mkdir(parents=True)
    path.write_bytes(b"[" * 3000 + b"\n")
    assert libraries.read(tmp_path, "ab" * 32) is None


def test_hostile_input_is_taken_or_refused() -> None:
    """In a separate process, whose memory is that of the readers alone."""
    command = [sys.executable, "-m", "tests.soak.hostile", "--count", "70", "--seconds", "20"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["inputs"] == 70


def test_a_search_that_is_killed_again_and_again_ends_with_the_same_answer(tmp_path: Path) -> None:
    found = kills.run(0, 1, 60, tmp_path / "killed", ["search"])
    assert found["kills"] > 0
    assert found["differ"] == 0


def test_a_search_in_trouble_ends_in_its_answer_or_in_one_message_and_goes_on(tmp_path: Path) -> None:
    """The disk is full, or another process works in the same folder."""
    found = troubles.run(0, len(troubles.TROUBLES), 60, tmp_path / "trouble", ["search"])
    assert found["failures"] == []
    assert found["tried"] == len(troubles.TROUBLES) + 1


def test_figures_are_measured_on_from_where_it_ended(tmp_path: Path) -> None:
    first = long_work.done("matrix for the figures", tmp_path / "kept", None)
    assert "answer" in first, first
    min((tmp_path / "kept").iterdir()).unlink()
    assert long_work.done("matrix for the figures", tmp_path / "kept", None) == first


def test_two_processes_keep_no_checkpoint_in_one_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "PATIENCE", 0.0)
    descriptor = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    for command in (["check", *KIP320[1:]], ["ablate", "kip320"], ["faults", VAULT, "--property", "a-copy-is-left"]):
        assert f"{tmp_path} is in use: another process writes its checkpoint there." in refused(
            *command, "--checkpoint", str(tmp_path)
        )
    os.close(descriptor)
    with files.alone_in(tmp_path / "new"), files.alone_in(tmp_path / "new"):
        assert (tmp_path / "new").is_dir()
    assert list(tmp_path.iterdir()) == []


def test_a_trace_cannot_name_a_file_that_is_run(tmp_path: Path) -> None:
    (tmp_path / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    text = (ROOT / "counterexamples/archive/kip101-weak-isr.trace").read_text()
    for name in (str(tmp_path / "evil.py"), "evil", "./evil.py", "evil.py"):
        (tmp_path / "a.trace").write_text(text.replace("protocol: kip101", f"protocol: {name}"))
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(tmp_path)
            assert fencepost("replay", "a.trace").exit_code == 2
    assert not (tmp_path / "ran").exists()


def test_a_proof_that_is_damaged_is_made_again_with_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("z3")
    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path / "cache"))
    command = ["prove", str(MACHINES / "lamps.py"), "--depth", "2", "--json"]
    first = fencepost(*command)
    (file,) = (tmp_path / "cache/proofs").iterdir()
    whole = file.read_bytes()
    for damaged in (b"", whole[:-1], whole[:40] + bytes([whole[40] ^ 1]) + whole[41:], b"cos\nsystem\n(S'false'\ntR."):
        file.write_bytes(damaged)
        again = fencepost(*command)
        assert again.exit_code == first.exit_code
        assert again.stderr.count(f"note: {file} was damaged, so the proof is recomputed.") == 1
        assert len(file.read_bytes()) == len(whole)
