"""A checkpoint that was edited, moved about, or cut short at any point is refused in one sentence, or is as good as before."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from fencepost.explorers import sealed
from fencepost.explorers.search import search
from fencepost.explorers.verdict import Options, Result
from fencepost.model.language.errors import UsageError

from tests.helpers.commands import fencepost
from tests.helpers.places import MACHINES
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


def put(path: tuple[Any, ...], value: Any) -> Callable[[dict[str, Any]], None]:
    def edit(manifest: dict[str, Any]) -> None:
        there: Any = manifest
        for part in path[:-1]:
            there = there[part]
        there[path[-1]] = value(there[path[-1]]) if callable(value) else value

    return edit


EDITS = {
    "another state count": put(("bases", 0, 0), 10),
    "more states than there are": put(("bases", 0, 0), 10**7),
    "more states than a number holds": put(("bases", 0, 0), 10**30),
    "rows that begin elsewhere": put(("bases", 0, 1), 1 << 40),
    "fewer owners": put(("bases",), lambda bases: bases[:5]),
    "owners that are words": put(("bases",), "many"),
    "a round before the first": put(("position", "next_round"), -5),
    "a round after the last": put(("position", "next_round"), 1 << 40),
    "a round that is a word": put(("position", "next_round"), "1"),
    "a level that ends later": put(("position", "ends"), lambda ends: [10**7] * len(ends)),
    "a level that ends before it starts": put(("position", "ends"), lambda ends: [0] * len(ends)),
    "a level that starts earlier": put(("position", "starts"), lambda starts: [0] * len(starts)),
    "a level that was done": lambda manifest: put(("position", "starts"), manifest["position"]["ends"])(manifest),
    "fewer starts": put(("position", "starts"), lambda starts: starts[:-1]),
    "fewer levels": put(("position", "levels"), lambda levels: levels[:3]),
    "no levels": put(("position", "levels"), []),
    "a negative level": put(("position", "levels", 0), -1),
    "a depth of its own": put(("position", "depth"), 3),
    "a depth that is a word": put(("position", "depth"), "x"),
    "a depth that is true": put(("position", "depth"), True),
    "judged states that were not": put(("position", "judged"), lambda judged: [0] * len(judged)),
    "no counts of actions": put(("position", "fired"), None),
    "too few actions": put(("position", "fired"), []),
    "a negative count": put(("position", "fired"), lambda fired: [-1] * len(fired)),
    "counts below the states": put(("position", "fired"), lambda fired: [0] * len(fired)),
    "too many guards": put(("position", "refused"), lambda refused: [*refused, 1]),
    "more initial states": put(("position", "initial"), -1),
    "a deadlock without one": put(("position", "deadlock"), 3),
    "a deadlock nowhere": put(("position", "deadlock"), 1 << 40),
    "deadlocks without one": put(("position", "deadlocks"), 7),
    "a finding of no property": put(("position", "found"), {"nothing": 1}),
    "findings that are a list": put(("position", "found"), []),
    "seconds before the beginning": put(("position", "seconds"), -1.0),
    "seconds that are a word": put(("position", "seconds"), "soon"),
    "a part that nobody knows": put(("position", "bogus"), 1),
    "a part that nobody knows, outside": put(("bogus",), 1),
    "no files": put(("files",), {}),
    "files that are a list": put(("files",), []),
    "a file outside": lambda manifest: manifest["files"].update(
        {"../../secret": next(iter(manifest["files"].values()))}
    ),
    "a file that is a number": put(("files", "0-rows"), 3),
    "another folder": put(("slot",), "../states-0"),
    "no folder": put(("slot",), ""),
    "a folder that is a list": put(("slot",), ["states-0"]),
    "a question that is none": put(("question",), []),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edited_manifest_is_refused_with_and_without_a_checksum_that_fits(
    name: str, copy: Path, compact: bool
) -> None:
    manifest = manifest_of(copy)
    EDITS[name](manifest)
    (copy / "manifest.json").write_text(json.dumps(manifest))
    damaged = f"{copy}/manifest.json: the manifest of the checkpoint is damaged. Start afresh without --resume."
    assert refusal(copy, compact=compact) == damaged
    del manifest["sum"]
    (copy / "manifest.json").write_bytes(sealed.sealed(manifest))
    assert refusal(copy, compact=compact) == damaged


@pytest.mark.parametrize("part", ["found", "fired", "seconds", "deadlocks"])
def test_whatever_is_edited_by_hand_is_found_by_the_checksum(part: str, copy: Path, compact: bool) -> None:
    manifest = manifest_of(copy)
    value = manifest["position"][part]
    manifest["position"][part] = (
        {} if part == "found" else [item + 1 for item in value] if part == "fired" else value + 1
    )
    if part == "found":
        manifest["position"]["levels"].reverse()
    (copy / "manifest.json").write_text(json.dumps(manifest))
    assert "the manifest of the checkpoint is damaged" in refusal(copy, compact=compact)


def forge_part(folder: Path, name: str, change: Callable[[np.ndarray[Any, Any]], None]) -> None:
    """Change a data file, and make the manifest fit it."""
    manifest = manifest_of(folder)
    path = folder / manifest["slot"] / f"{name}.bin"
    bytes_there = np.fromfile(path, np.uint8)
    change(bytes_there)
    bytes_there.tofile(path)
    manifest["files"][name]["sha256"] = hashlib.sha256(bytes_there.tobytes()).hexdigest()
    del manifest["sum"]
    (folder / "manifest.json").write_bytes(sealed.sealed(manifest))


@pytest.mark.parametrize("name", ["rows", "parents"])
def test_data_that_no_search_wrote_is_refused_even_with_checksums_that_fit(
    name: str, copy: Path, compact: bool
) -> None:
    sizes = {part: told["bytes"] for part, told in manifest_of(copy)["files"].items()}
    name = next(part for part, size in sizes.items() if part.endswith(name) and size)
    forge_part(copy, name, lambda there: there.fill(0x7F))
    assert "the manifest of the checkpoint is damaged" in refusal(copy, compact=compact)


def test_parents_that_go_round_are_refused(copy: Path, compact: bool) -> None:
    for owner in range(len(manifest_of(copy)["bases"])):
        forge_part(copy, f"{owner}-parents", lambda there, owner=owner: there.view(np.uint32).fill(owner))  # type: ignore[misc]
    assert "holds what no search of this model finds" in refusal(copy, compact=compact)


@pytest.mark.parametrize("kind", ["file", "folder", "manifest"])
def test_a_link_is_not_followed_out_of_the_folder(kind: str, copy: Path, compact: bool, tmp_path: Path) -> None:
    path = copy / {"file": "states-0/0-rows.bin", "folder": "states-0", "manifest": "manifest.json"}[kind]
    shutil.move(path, tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    said = refusal(copy, compact=compact)
    assert ("there is no checkpoint" if kind == "manifest" else "is missing or damaged") in said


def test_a_pipe_in_the_place_of_a_file_does_not_hold_a_search_up(copy: Path, compact: bool) -> None:
    (copy / "states-0/0-rows.bin").unlink()
    os.mkfifo(copy / "states-0/0-rows.bin")
    with pytest.raises(UsageError, match="missing or damaged"):
        ask(replace(RUN, compact=compact, checkpoint=str(copy), resume=True))


def test_saving_follows_no_link_and_removes_nothing_that_only_looks_like_its_own(tmp_path: Path) -> None:
    folder, outside = tmp_path / "checkpoint", tmp_path / "outside"
    for name in ("3-2-1-0", "states-2", "states-0-old", "states-1/mine", "12345-12-3-4"):
        (folder / name).mkdir(parents=True)
        (folder / name / "0-rows.bin").write_text("mine")
    outside.mkdir()
    (outside / "0-rows.bin").write_text("theirs")
    (folder / "states-0").symlink_to(outside)
    with pytest.raises(UsageError, match="states-0 is a symbolic link"):
        ask(replace(STOPPED, checkpoint=str(folder)))
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


def test_a_search_that_is_killed_at_any_point_of_saving_goes_on_from_the_checkpoint_before(
    kept: Path,
    tmp_path: Path,
    compact: bool,
    monkeypatch: pytest.MonkeyPatch,
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


KINDS = {
    "found": lambda j: j["position"].update(found={}),
    "bases": lambda j: j["bases"].__setitem__(0, [10, 0, 0]),
    "bases_big": lambda j: j["bases"].__setitem__(0, [10**7, 0, 0]),
    "neg": lambda j: j["position"].update(next_round=-5),
    "ends": lambda j: j["position"].update(ends=[10**7] * 32),
    "levels": lambda j: j["position"].update(levels=j["position"]["levels"][:3]),
    "starts": lambda j: j["position"].update(starts=[0] * 31),
    "files": lambda j: j.update(files={}),
    "complete": lambda j: j["position"].update(starts=j["position"]["ends"]),
    "fmt": lambda j: j.update(format=1),
    "model": lambda j: j["question"].update(model="x"),
    "extra": lambda j: j["position"].update(bogus=1),
    "str": lambda j: j["position"].update(depth="x"),
    "none": lambda j: j["position"].update(fired=None),
    "short": lambda j: j.update(bases=j["bases"][:5]),
}


def test_the_command_refuses_every_edit_with_one_message_and_status_2(tmp_path: Path) -> None:
    file = str(MACHINES / "lamps.py")
    command = ["check", file, "--checkpoint", str(tmp_path / "kept")]
    assert fencepost(*command, "--max-depth", "2").exit_code in (1, 3)
    for name, edit in KINDS.items():
        shutil.rmtree(tmp_path / "edited", ignore_errors=True)
        shutil.copytree(tmp_path / "kept", tmp_path / "edited")
        manifest = manifest_of(tmp_path / "edited")
        edit(manifest)
        if manifest == manifest_of(tmp_path / "kept"):
            manifest["position"]["levels"].append(1)
        (tmp_path / "edited" / "manifest.json").write_text(json.dumps(manifest))
        result = fencepost(*command[:-1], str(tmp_path / "edited"), "--resume")
        assert (result.exit_code, result.stdout) == (2, ""), name
        assert result.stderr.startswith("fencepost: ")
        assert result.stderr.count("Start afresh without --resume") == 1, name
