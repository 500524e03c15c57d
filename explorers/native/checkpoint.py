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
    from fencepost.explorers.verdict import Options
    from fencepost.model.language.actions import Property
    from fencepost.model.language.constants import Constants
    from fencepost.model.language.machine import Machine

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
    refuse_other_question(folder, manifest["question"], question(search))
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


def look_at_question(machine: Machine, constants: Constants, properties: tuple[Property, ...], options: Options) -> None:
    """Raise UsageError if the checkpoint is of another question, as far as that can be seen before anything is compiled."""
    folder = Path(options.checkpoint or "")
    stored = _manifest(folder).get("question")
    if isinstance(stored, dict):
        refuse_other_question(folder, stored, _asked(machine, constants, properties, options))


def refuse_other_question(folder: Path | str, stored: dict[str, Any], asked: dict[str, Any]) -> None:
    """Raise UsageError for the first part in which the question of a checkpoint is not the one that is asked."""
    for name, here in asked.items():
        there = stored.get(name)
        if there != here:
            raise UsageError(
                f"the checkpoint in {folder} is of another search: {_differing(name, there, here)}. "
                "Ask the same question, or start afresh in another folder."
            )


def _differing(name: str, there: Any, here: Any) -> str:
    """Return what differs, as a user writes it."""
    if isinstance(there, dict) and isinstance(here, dict):
        names = [key for key in {**there, **here} if there.get(key) != here.get(key)]
        sides = (" ".join(f"{key}={str(side.get(key)).lower()}" for key in names) for side in (there, here))
        return "{} there, {} here".format(*sides)
    if isinstance(there, list) and isinstance(here, list):
        return f"{name}: {', '.join(there) or 'none'} there, {', '.join(here) or 'none'} here"
    if name == "protocol":
        return f"{there} there, {here} here"
    if isinstance(here, bool):
        options = {
            "compact": ("with --compact", "without --compact"),
            "normalize": ("without --no-normalize", "with --no-normalize"),
        }[name]
        return f"{options[not there]} there, {options[not here]} here"
    return f"the {name} changed since"


def _asked(machine: Machine, constants: Constants, properties: tuple[Property, ...], options: Options) -> dict[str, Any]:
    return {
        "protocol": machine.name,
        "constants": dict(constants.shown()),
        "properties": [item.name for item in properties if not item.kind.over_behaviours],
        "compact": options.compact,
        "normalize": options.normalize,
    }


def question(search: Search) -> dict[str, Any]:
    """Return what a checkpoint belongs to: it serves no other question."""
    return {
        **_asked(search.machine, search.constants, search.properties, search.options),
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
