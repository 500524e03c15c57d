"""A checkpoint that was edited, moved about, or cut short at any point is refused in one sentence, or is as good as
before."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from fencepost.explorers.running import sealed
from fencepost.explorers.search import search
from fencepost.explorers.verdict import Options, Result
from fencepost.model.language.errors import UsageError

from tests.helpers.commands import fencepost
from tests.helpers.places import ROOT
from tests.helpers.questions import MACHINES, group, shared

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

GRID = {"width": 60, "starts": 4, "resting": 1}
RUN = Options(workers=2, deadlock=True)
STOPPED = replace(RUN, max_states=2_000)
pytestmark = group("grid", GRID)


def ask(options: Options) -> Result:
    machine, properties = MACHINES["grid"]
    return search(machine, machine.set_constants(GRID), properties, options)


@pytest.fixture(scope="module", params=["exact", "compact"])
def compact(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "compact")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory, compact: bool) -> Path:
    folder = tmp_path_factory.mktemp("kept") / "checkpoint"
    ask(replace(STOPPED, compact=compact, checkpoint=str(folder)))
    return folder


@pytest.fixture
def copy(kept: Path, tmp_path: Path) -> Path:
    shutil.copytree(kept, tmp_path / "checkpoint")
    return tmp_path / "checkpoint"


def manifest_of(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
    return found


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def refusal(folder: Path, *, compact: bool) -> str:
    before = content(folder)
    with pytest.raises(UsageError) as caught:
        ask(replace(RUN, compact=compact, checkpoint=str(folder), resume=True))
    assert content(folder) == before, "what is refused stays as it is"
    return str(caught.value)


def test_a_manifest_that_names_another_folder_is_refused_whatever_its_digest(copy: Path, compact: bool) -> None:
    """Files in the folder that it names would be removed."""
    manifest = manifest_of(copy)
    del manifest["sum"]
    (copy / "manifest.json").write_bytes(sealed.seal({**manifest, "slot": "../states-0"}))
    assert "manifest.json: this file of the checkpoint is missing or damaged" in refusal(copy, compact=compact)


@pytest.mark.parametrize("part", ["found", "fired", "seconds", "deadlocks"])
def test_whatever_is_edited_by_hand_is_found_by_the_digest(part: str, copy: Path, compact: bool) -> None:
    manifest = manifest_of(copy)
    value = manifest["position"][part]
    manifest["position"][part] = (
        {} if part == "found" else [item + 1 for item in value] if part == "fired" else value + 1
    )
    if part == "found":
        manifest["position"]["levels"].reverse()
    (copy / "manifest.json").write_text(json.dumps(manifest))
    assert "this file of the checkpoint is missing or damaged" in refusal(copy, compact=compact)


def test_rows_that_are_no_states_do_not_reach_compiled_code(copy: Path, compact: bool) -> None:
    manifest = manifest_of(copy)
    name = next(part for part, told in manifest["files"].items() if part.endswith("rows") and told["bytes"])
    path = copy / manifest["slot"] / f"{name}.bin"
    path.write_bytes(b"\x7f" * path.stat().st_size)
    manifest["files"][name]["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    del manifest["sum"]
    (copy / "manifest.json").write_bytes(sealed.seal(manifest))
    assert f"{name}.bin: this file of the checkpoint is missing or damaged" in refusal(copy, compact=compact)


@pytest.mark.parametrize("part", ["ends", "bases"])
def test_a_level_that_ends_outside_of_its_arrays_does_not_reach_compiled_code(
    part: str, copy: Path, compact: bool
) -> None:
    manifest = manifest_of(copy)
    del manifest["sum"]
    if part == "ends":
        manifest["position"].update(ends=[10**7] * 32, judged=[10**7] * 32)
    else:
        manifest["bases"][0] = [10**7, *manifest["bases"][0][1:]]
    (copy / "manifest.json").write_bytes(sealed.seal(manifest))
    assert "this file of the checkpoint is missing or damaged" in refusal(copy, compact=compact)


def test_saving_follows_no_link_and_removes_nothing_that_only_looks_like_its_own(tmp_path: Path) -> None:
    folder, outside = tmp_path / "checkpoint", tmp_path / "outside"
    for name in ("3-2-1-0", "states-2", "states-0-old", "states-1/mine", "12345-12-3-4"):
        (folder / name).mkdir(parents=True)
        (folder / name / "0-rows.bin").write_text("mine")
    outside.mkdir()
    (outside / "0-rows.bin").write_text("theirs")
    (folder / "states-0").symlink_to(outside)
    (problem,) = ask(replace(STOPPED, checkpoint=str(folder))).problems
    assert "states-0 is a symbolic link" in problem.text
    (folder / "states-0").unlink()
    (folder / "states-0").mkdir()
    (folder / "states-0" / "0-rows.bin").symlink_to(outside / "0-rows.bin")
    for limit in (2_000, 2_500, 3_000):
        ask(replace(RUN, max_states=limit, checkpoint=str(folder), resume=limit > 2_000))
    assert (outside / "0-rows.bin").read_text() == "theirs"
    for name in ("3-2-1-0", "states-2", "states-0-old", "states-1/mine", "12345-12-3-4"):
        assert (folder / name / "0-rows.bin").read_text() == "mine"
    assert ask(replace(RUN, checkpoint=str(folder), resume=True)).complete


class KilledError(BaseException):
    """The process ends here."""


CALLS = ("open", "fsync", "replace", "unlink", "mkdir", "rmdir", "fdopen")


@pytest.mark.long
def test_a_search_that_is_killed_at_any_point_of_saving_goes_on_from_the_checkpoint_before(
    kept: Path, tmp_path: Path, compact: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = shared(ask(replace(RUN, compact=compact)))
    resumed = replace(RUN, compact=compact, resume=True)
    shutil.copytree(kept, tmp_path / "dry")
    with monkeypatch.context() as patch:
        calls = die_at(patch, 1 << 30)
        ask(replace(resumed, max_states=3_000, checkpoint=str(tmp_path / "dry")))
    turns = [point for point, name in enumerate(calls) if name in ("mkdir", "replace", "rmdir")]
    points = {point + offset for point in turns for offset in (-3, -2, -1, 0, 1, 2)} | set(range(0, len(calls), 97))
    assert [calls[point] for point in turns][-4:] == ["mkdir", "mkdir", "replace", "rmdir"]
    for point in sorted(points & set(range(len(calls)))):
        folder = tmp_path / str(point)
        shutil.copytree(kept, folder)
        with monkeypatch.context() as patch:
            die_at(patch, point)
            with pytest.raises(KilledError):
                ask(replace(resumed, max_states=3_000, checkpoint=str(folder)))
        ask(replace(resumed, max_states=3_200, checkpoint=str(folder)))
        assert len(list(folder.iterdir())) == 2, (
            "a manifest and one folder of parts: what was cut short is cleared away"
        )
        assert shared(ask(replace(resumed, checkpoint=str(folder)))) == whole, f"killed at call {point}"


def die_at(patch: pytest.MonkeyPatch, point: int) -> list[str]:
    """End the process, as it were, at the call of this number that changes files; return the calls as they are made."""
    calls: list[str] = []

    def dying(real: Callable[..., Any], name: str) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            if name != "open" or args[1] & (os.O_WRONLY | os.O_DIRECTORY):
                if len(calls) >= point:
                    raise KilledError
                calls.append(name)
            return real(*args, **options)

        return call

    for name in CALLS:
        patch.setattr(os, name, dying(getattr(os, name), name))
    return calls


EDITS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "another count": lambda manifest: manifest["bases"].__setitem__(0, [10, 0, 0]),
    "a level more": lambda manifest: manifest["position"]["levels"].append(1),
    "no files": lambda manifest: manifest.update(files={}),
    "another model": lambda manifest: manifest["question"].update(model="x"),
    "another format": lambda manifest: manifest.update(format=1),
}


def test_the_command_refuses_every_edit_with_one_message_and_status_2(tmp_path: Path) -> None:
    file = str(ROOT / "tests/machines/lamps.py")
    command = ["check", file, "--checkpoint", str(tmp_path / "kept")]
    assert fencepost(*command, "--max-depth", "2").exit_code in (1, 3)
    for name, edit in EDITS.items():
        shutil.rmtree(tmp_path / "edited", ignore_errors=True)
        shutil.copytree(tmp_path / "kept", tmp_path / "edited")
        manifest = manifest_of(tmp_path / "edited")
        edit(manifest)
        (tmp_path / "edited" / "manifest.json").write_text(json.dumps(manifest))
        result = fencepost(*command[:-1], str(tmp_path / "edited"), "--resume")
        assert (result.exit_code, result.stdout) == (2, ""), name
        assert result.stderr.startswith("fencepost: ")
        assert result.stderr.count("Start afresh without `--resume`") == 1, name
