"""Checkpoints: everything a search needs to go on, in a folder.

The manifest names the files, their checksums and what they belong to; it is replaced last and in one step, so a folder
always holds one whole checkpoint, even if writing the next one was cut short.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import shutil
import zlib
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from fencepost.explorers.native.position import Position
from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    from fencepost.explorers.native.search import Search

FORMAT = 1
MANIFEST = "manifest.json"
PARTS = re.compile(r"\d+-\d+-\d+-\d+")
"""Names of folders of parts; nothing else in the folder is ours to remove."""


def save(search: Search) -> Path:
    """Write a checkpoint of a search that stands between two rounds; return its folder."""
    folder = _folder(search)
    position = asdict(search.settle())
    if search.before_judging is not None:
        position["judged"], position["found"] = search.before_judging
    try:
        folder.mkdir(parents=True, exist_ok=True)
        stems = (f"{search.distinct}-{position['depth']}-{position['next_round']}-{number}" for number in itertools.count())
        parts = next(path for path in map(folder.joinpath, stems) if not path.exists())
        parts.mkdir()
        files = {}
        for owner, part in enumerate(search.partitions):
            for name, array in part.content().items():
                path = parts / f"{owner}-{name}.npy"
                np.save(path, array)
                files[f"{parts.name}/{path.name}"] = _checksum(path)
        manifest = {
            "format": FORMAT,
            "question": question(search),
            "position": position,
            "bases": [[part.count, part.base, part.fresh_base] for part in search.partitions],
            "files": files,
        }
        fresh = folder / f"{MANIFEST}.new"
        fresh.write_text(json.dumps(manifest))
        fresh.replace(folder / MANIFEST)
        for old in folder.iterdir():
            if PARTS.fullmatch(old.name) and old != parts:
                shutil.rmtree(old)
    except OSError as error:
        raise UsageError(
            f"the checkpoint could not be written to {folder}: {error.strerror}. Name a folder with room."
        ) from error
    return folder


def load(search: Search) -> None:
    """Bring a search to where its checkpoint stands; raise UsageError if there is none that fits."""
    folder = _folder(search)
    manifest = _manifest(folder)
    if manifest.get("format") != FORMAT:
        raise UsageError(
            f"{folder / MANIFEST}: it has format {manifest.get('format')!r}, this version reads {FORMAT}: start afresh."
        )
    try:
        _restore(search, folder, manifest)
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
        if isinstance(error, UsageError):
            raise
        raise UsageError(
            f"{folder / MANIFEST}: the manifest of the checkpoint is damaged. Start afresh without --resume."
        ) from error


def _restore(search: Search, folder: Path, manifest: dict[str, Any]) -> None:
    asked = question(search)
    stored = manifest["question"]
    for name, value in asked.items():
        if stored.get(name) != value:
            raise UsageError(
                f"the checkpoint in {folder} is of another search: {name}: {stored.get(name)!r} there, "
                f"{value!r} here. Ask the same question, or start afresh in another folder."
            )
    for name, checksum in manifest["files"].items():
        path = folder / name
        if not path.exists() or _checksum(path) != checksum:
            raise UsageError(f"{path}: this file of the checkpoint is missing or damaged. Start afresh without --resume.")
    position = Position(**manifest["position"])
    for owner, part in enumerate(search.partitions):
        count, base, fresh_base = manifest["bases"][owner]
        prefix = next(iter(manifest["files"])).split("/")[0]
        arrays = {name: np.load(folder / prefix / f"{owner}-{name}.npy") for name in part.content()}
        part.restore(arrays, count, base, fresh_base)
    search.position = position


def question(search: Search) -> dict[str, Any]:
    """Return what a checkpoint belongs to: it serves no other question."""
    return {
        "protocol": search.machine.name,
        "constants": dict(search.constants.shown()),
        "properties": [item.name for item in search.properties],
        "compact": search.options.compact,
        "normalize": search.options.normalize,
        "model": hashlib.sha256(search.kernels.source.text.encode()).hexdigest(),
        "initial states": hashlib.sha256(repr(search.plain.initial_states()).encode()).hexdigest(),
    }


def _folder(search: Search) -> Path:
    if not search.options.checkpoint:
        raise UsageError("--resume was given without a folder: write --checkpoint DIR --resume.")
    return Path(search.options.checkpoint)


def _manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    try:
        found = json.loads(path.read_text())
    except OSError:
        raise UsageError(f"there is no checkpoint in {folder}: run once with --checkpoint {folder} and a budget.") from None
    except ValueError:
        raise UsageError(f"{path}: the manifest of the checkpoint is damaged. Start afresh without --resume.") from None
    if not isinstance(found, dict):
        raise UsageError(f"{path}: this is no manifest of a checkpoint. Start afresh without --resume.")
    return found


def _checksum(path: Path) -> int:
    value = 0
    with path.open("rb") as file:
        while block := file.read(1 << 22):
            value = zlib.crc32(block, value)
    return value
