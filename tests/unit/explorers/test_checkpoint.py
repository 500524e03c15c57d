"""A stopped search continues from its checkpoint as if it had never stopped, or reports why it cannot."""

import hashlib
import json
import os
import shutil
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fencepost.explorers.native import checkpoint, store
from fencepost.explorers.native.search import Search
from fencepost.explorers.running import files, sealed
from fencepost.explorers.verdict import Options, Verdict
from fencepost.model.language.errors import UsageError

from tests.helpers.questions import ask, group, is_valid, shared

VALUES = {"replicas": 3, "max_leader_epoch": 1}
RUN = Options(workers=2, deadlock=True)
GRID = {"width": 60, "starts": 4, "resting": 1}


@group("kip101", VALUES)
def test_a_search_that_cannot_number_its_states_is_kept_before_the_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = replace(RUN, checkpoint=str(tmp_path))
    with monkeypatch.context() as patch:
        patch.setattr(store, "MOST_STATES", 90)
        first = ask("kip101", VALUES, options)
    assert (first.complete, first.why_stopped) == (False, "there are too many states for a search on one machine")
    whole, found = ask("kip101", VALUES, RUN), ask("kip101", VALUES, replace(options, resume=True))
    for name in ("generated", "fired", "guards", "deadlocks", "distinct", "levels"):
        assert getattr(found, name) == getattr(whole, name), name


@pytest.mark.parametrize("mode", ["exact", "compact"])
@pytest.mark.parametrize(
    ("name", "values", "limits"),
    [
        pytest.param(
            "kip101", VALUES, (1, 500, 9_000, 30_000, 30_001, 59_000), marks=[group("kip101", VALUES), pytest.mark.long]
        ),
        pytest.param("grid", GRID, (1, 2, 100, 2_000, 3_599), marks=group("grid", GRID)),
    ],
)
def test_a_search_in_pieces_with_more_and_more_workers_finds_what_one_in_one_go_does(
    tmp_path: Path, name: str, values: dict[str, int], limits: tuple[int, ...], mode: str
) -> None:
    whole = replace(RUN, compact=mode == "compact")
    options = replace(whole, checkpoint=str(tmp_path))
    for workers, limit in enumerate(limits, 1):
        asked = replace(options, max_states=limit, resume=limit != limits[0], workers=workers)
        part = ask(name, values, asked)
        assert (part.complete, part.why_stopped) == (False, f"the limit of {limit:,} states was reached")
        assert Verdict.HOLDS not in {item.verdict for item in part.properties if item.path is None}
    result = ask(name, values, replace(options, resume=True))
    assert shared(result) == shared(ask(name, values, whole))
    assert all(item.path is None or is_valid(name, values, item.path) for item in result.properties)


@group("kip101", VALUES)
def test_reading_a_checkpoint_takes_nothing_of_the_time_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = replace(RUN, checkpoint=str(tmp_path))
    ask("kip101", VALUES, replace(options, max_states=20_000))
    read, clock, hour = checkpoint.load, time.perf_counter, [0.0]

    def slowly(search: Search) -> None:
        hour[0] = 3600.0
        read(search)

    monkeypatch.setattr(checkpoint, "load", slowly)
    monkeypatch.setattr(time, "perf_counter", lambda: clock() + hour[0])
    assert ask("kip101", VALUES, replace(options, resume=True, budget=600)).complete


@group("kip101", VALUES)
def test_a_signal_leaves_a_checkpoint_and_an_undetermined_result(tmp_path: Path) -> None:
    options = replace(RUN, checkpoint=str(tmp_path))
    first = ask("kip101", VALUES, options, tell=lambda _: signal.raise_signal(signal.SIGTERM))
    assert (first.why_stopped, first.complete) == ("SIGTERM was received", False)
    assert first.verdict is Verdict.UNDETERMINED
    result = ask("kip101", VALUES, replace(options, resume=True))
    assert shared(result) == shared(ask("kip101", VALUES, RUN))


@group("grid", GRID)
def test_a_search_that_finishes_leaves_no_checkpoint(tmp_path: Path) -> None:
    assert ask("grid", GRID, replace(RUN, checkpoint=str(tmp_path / "new"))).complete
    assert not (tmp_path / "new").exists()


STOPPED = replace(RUN, max_states=100)


def stopped(folder: Path, **options: Any) -> Any:
    ask("grid", GRID, replace(STOPPED, checkpoint=str(folder), **options))
    return json.loads((folder / "manifest.json").read_text())


def forge(folder: Path, manifest: dict[str, Any]) -> None:
    """Write a manifest with a matching checksum."""
    (folder / "manifest.json").write_bytes(sealed.seal({key: item for key, item in manifest.items() if key != "sum"}))


def refusal(folder: Path, name: str = "grid", values: dict[str, int] | None = None, **options: Any) -> str:
    with pytest.raises(UsageError) as caught:
        ask(name, GRID if values is None else values, replace(RUN, checkpoint=str(folder), resume=True, **options))
    return str(caught.value)


def test_resuming_needs_a_folder_with_a_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^`resume=True` needs a folder: write `checkpoint=DIR, resume=True`\.$"):
        ask("grid", GRID, Options(resume=True))
    (tmp_path / "file").touch()
    for place in (tmp_path, tmp_path / "file"):
        said = f"there is no checkpoint in {place}: run once with `checkpoint='{place}'` and a budget."
        assert refusal(place) == said
    (problem,) = ask("grid", GRID, replace(STOPPED, checkpoint=str(tmp_path / "file"))).problems
    assert problem.text.startswith(f"the checkpoint could not be written to {tmp_path}/file: File exists. Choose")


DAMAGED = "this checkpoint file is missing or damaged. Start again without `resume=True`."


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kept") / "checkpoint"
    stopped(folder)
    return folder


@pytest.fixture
def copy(kept: Path, tmp_path: Path) -> Path:
    shutil.copytree(kept, tmp_path / "checkpoint")
    return tmp_path / "checkpoint"


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


TEXTS = {
    "deep": "[" * 100_000,
    "a long number": "1" * 10_000,
    "its format alone": '{"format": 2}',
    "parts of other types": '{"format": 2, "question": [], "files": 3, "sum": 1}',
    "no number": '{"format": 2, "seconds": NaN}',
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_damaged_manifest_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text)
    assert refusal(tmp_path) == f"{tmp_path}/manifest.json: {DAMAGED}"


@pytest.mark.parametrize("number", [1, 99])
def test_a_checkpoint_of_another_format_is_refused_by_name(tmp_path: Path, number: int) -> None:
    (tmp_path / "manifest.json").write_text(f'{{"format": {number}}}')
    assert refusal(tmp_path) == (
        f"{tmp_path}/manifest.json: this checkpoint file has format {number}, but this version of Fencepost "
        "reads format 2. Start again without `resume=True`, or continue with the version that wrote the checkpoint."
    )


EDITS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "it names another folder, whose files would be removed": lambda _: {"slot": "../states-0"},
    "a level ends outside of its arrays": lambda kept: {
        "position": {**kept["position"], "ends": [10**7] * 32, "judged": [10**7] * 32}
    },
    "states begin outside of theirs": lambda kept: {
        "bases": [[10**7, *kept["bases"][0][1:]], *kept["bases"][1:]]
    },
    "no files": lambda _: {"files": {}},
}  # fmt: skip


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
@group("grid", GRID)
def test_a_manifest_that_was_edited_and_sealed_again_is_refused(copy: Path, edit: Any) -> None:
    manifest = json.loads((copy / "manifest.json").read_text())
    forge(copy, manifest | edit(manifest))
    before = content(copy)
    assert refusal(copy).endswith(DAMAGED)
    assert content(copy) == before, "what is refused stays as it is"


@pytest.mark.parametrize("damage", ["missing", "cut", "changed"])
@group("grid", GRID)
def test_a_damaged_file_is_named(copy: Path, damage: str) -> None:
    (path, *_) = (path for path in sorted(copy.rglob("*-rows.bin")) if path.stat().st_size)
    whole = path.read_bytes()
    path.unlink()
    if damage != "missing":
        path.write_bytes(whole[:-1] if damage == "cut" else whole[:-1] + bytes([whole[-1] ^ 1]))
    assert refusal(copy) == f"{path}: {DAMAGED}"


@pytest.mark.parametrize("compact", [False, True])
@group("grid", GRID)
def test_rows_that_are_no_states_do_not_reach_compiled_code(tmp_path: Path, compact: bool) -> None:
    manifest = stopped(tmp_path, compact=compact)
    name = next(part for part, told in manifest["files"].items() if part.endswith("rows") and told["bytes"])
    path = tmp_path / manifest["slot"] / f"{name}.bin"
    path.write_bytes(b"\x7f" * path.stat().st_size)
    manifest["files"][name]["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    forge(tmp_path, manifest)
    assert refusal(tmp_path, compact=compact) == f"{path}: {DAMAGED}"


@group("grid", GRID)
@pytest.mark.parametrize(
    ("kept", "asked", "says"),
    [
        ({}, {"name": "id-sequence", "values": {}},
            "the checkpoint has protocol grid, but this search has id-sequence"),
        ({}, {"compact": True},
            "the checkpoint was written without `compact=True`, but this search runs with `compact=True`"),
        ({}, {"normalize": False},
            "the checkpoint was written without `normalize=False`, but this search runs with `normalize=False`"),
        ({}, {"values": {**GRID, "width": 61}}, "the checkpoint has width=60, but this search has width=61"),
        ({"model": "another"}, {}, "the model changed after the checkpoint was written"),
        ({"initial states": "another"}, {}, "the initial states changed after the checkpoint was written"),
        ({"properties": ["another"]}, {}, "the checkpoint has properties another, but this search has {mine}"),
    ],
    ids=str,
)  # fmt: skip
def test_a_checkpoint_serves_one_question(
    tmp_path: Path, kept: dict[str, Any], asked: dict[str, Any], says: str
) -> None:
    manifest = stopped(tmp_path)
    mine = ", ".join(manifest["question"]["properties"])
    manifest["question"] |= kept
    forge(tmp_path, manifest)
    assert refusal(tmp_path, **asked) == (
        f"the checkpoint in {tmp_path} belongs to another search: {says.format(mine=mine)}. "
        "Ask the same question, or start again in another folder."
    )


@group("grid", GRID)
@pytest.mark.parametrize("limit", [100, 2_000], ids=["nothing new", "more states"])
def test_a_checkpoint_cut_short_leaves_the_last_one(
    tmp_path: Path, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped(tmp_path)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(files, "create_file", full)
        result = ask("grid", GRID, replace(RUN, checkpoint=str(tmp_path), resume=True, max_states=limit))
    assert [item.text for item in result.problems] == [
        f"the checkpoint could not be written to {tmp_path}: No space left on device. Choose a folder with free space."
    ]
    assert not result.kept
    result = ask("grid", GRID, replace(RUN, checkpoint=str(tmp_path), resume=True))
    assert shared(result) == shared(ask("grid", GRID, RUN))


OTHERS = ("3-2-1-0", "states-2", "states-0-old", "states-1/mine", "12345-12-3-4")


def test_saving_follows_no_link_and_removes_nothing_that_only_looks_like_its_own(tmp_path: Path) -> None:
    folder, outside = tmp_path / "checkpoint", tmp_path / "outside"
    mine = [folder / name / "0-rows.bin" for name in OTHERS]
    for file in mine:
        file.parent.mkdir(parents=True)
        file.write_text("mine")
    outside.mkdir()
    (outside / "0-rows.bin").write_text("theirs")
    (folder / "states-0").symlink_to(outside)
    (problem,) = ask("grid", GRID, replace(STOPPED, checkpoint=str(folder))).problems
    assert "states-0 is a symbolic link" in problem.text
    (folder / "states-0").unlink()
    (folder / "states-0").mkdir()
    (folder / "states-0" / "0-rows.bin").symlink_to(outside / "0-rows.bin")
    for limit in (2_000, 2_500, 3_000):
        ask("grid", GRID, replace(RUN, max_states=limit, checkpoint=str(folder), resume=limit > 2_000))
    assert [file.read_text() for file in ((outside / "0-rows.bin"), *mine)] == ["theirs", *["mine"] * len(mine)]
    assert ask("grid", GRID, replace(RUN, checkpoint=str(folder), resume=True)).complete


class KilledError(BaseException):
    """The process is killed here."""


CALLS = ("open", "fsync", "replace", "unlink", "mkdir", "rmdir", "fdopen")


@pytest.mark.long
@pytest.mark.parametrize("compact", [False, True])
def test_a_search_that_is_killed_at_any_point_of_saving_goes_on_from_the_checkpoint_before(
    tmp_path: Path, compact: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "kept"
    ask("grid", GRID, replace(STOPPED, max_states=2_000, compact=compact, checkpoint=str(kept)))
    whole = shared(ask("grid", GRID, replace(RUN, compact=compact)))
    resumed = replace(RUN, compact=compact, resume=True)
    shutil.copytree(kept, tmp_path / "dry")
    with monkeypatch.context() as patch:
        calls = die_at(patch, 1 << 30)
        ask("grid", GRID, replace(resumed, max_states=3_000, checkpoint=str(tmp_path / "dry")))
    turns = [point for point, name in enumerate(calls) if name in ("mkdir", "replace", "rmdir")]
    points = {point + offset for point in turns for offset in (-3, -2, -1, 0, 1, 2)} | set(range(0, len(calls), 97))
    assert [calls[point] for point in turns][-4:] == ["mkdir", "mkdir", "replace", "rmdir"]
    for point in sorted(points & set(range(len(calls)))):
        folder = tmp_path / str(point)
        shutil.copytree(kept, folder)
        with monkeypatch.context() as patch:
            die_at(patch, point)
            with pytest.raises(KilledError):
                ask("grid", GRID, replace(resumed, max_states=3_000, checkpoint=str(folder)))
        ask("grid", GRID, replace(resumed, max_states=3_200, checkpoint=str(folder)))
        assert len(list(folder.iterdir())) == 2, "more than a manifest and a folder: what was cut short is left"
        assert shared(ask("grid", GRID, replace(resumed, checkpoint=str(folder)))) == whole, f"killed at call {point}"


def die_at(patch: pytest.MonkeyPatch, point: int) -> list[str]:
    """Simulate the death of the process at this call that changes files; return the calls made."""
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
