"""Checkpoints: everything that a search needs to continue, in a folder.

The manifest names the data files, their sizes and checksums, and what they belong to, and has a checksum of its own. It is
replaced last and in one step, so a folder always holds one whole checkpoint, even if writing the next one was cut short.
"""

from __future__ import annotations

import errno
import hashlib
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fencepost.explorers import sealed
from fencepost.explorers.native import parts
from fencepost.explorers.native.manifest import InvalidError, files_in, look_at_parents, look_at_rows, position_in
from fencepost.model.language.errors import UnkeptError, UsageError

if TYPE_CHECKING:
    from fencepost.explorers.native.expansion import Expansion
    from fencepost.explorers.native.generate import Source
    from fencepost.explorers.verdict import Options
    from fencepost.model.language.actions import Property
    from fencepost.model.language.constants import Constants
    from fencepost.model.language.interpreter import Interpreter
    from fencepost.model.language.machine import Machine

FORMAT = 2
MANIFEST = "manifest.json"


def save(search: Expansion) -> Path:
    """Write a checkpoint of a search that stands between two rounds; return its folder."""
    folder = _folder(search)
    position = asdict(search.settle())
    if search.before_judging is not None:
        position["judged"], position["found"] = search.before_judging
    try:
        folder.mkdir(parents=True, exist_ok=True)
        there = _slot_in_use(folder)
        here = next(name for name in parts.SLOTS if name != there)
        slot = parts.emptied(folder / here)
        files = {
            f"{owner}-{name}": parts.write(slot, f"{owner}-{name}", array)
            for owner, part in enumerate(search.partitions)
            for name, array in part.content().items()
        }
        sealed.settle(slot)
        manifest = {
            "format": FORMAT,
            "question": question(search),
            "slot": here,
            "position": position,
            "bases": [[part.count, part.base, part.fresh_base] for part in search.partitions],
            "files": files,
        }
        sealed.write(folder / MANIFEST, sealed.sealed(manifest))
        if there:
            parts.remove(folder / there)
    except OSError as error:
        raise UnkeptError(
            f"the checkpoint could not be written to {folder}: {error.strerror}. Name a folder with room."
        ) from error
    return folder


def discard(folder: Path) -> None:
    """Remove a checkpoint that is needed no more, and its folder if nothing else is in it."""
    (folder / MANIFEST).unlink(missing_ok=True)
    for name in parts.SLOTS:
        parts.remove(folder / name)
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def load(search: Expansion) -> None:
    """Bring a search to where its checkpoint stands; raise UsageError if there is none that fits, or it is damaged."""
    folder = _folder(search)
    manifest = _manifest(folder)
    refuse_other_question(folder, manifest["question"], question(search))
    try:
        _restore(search, folder, manifest)
    except parts.DamagedPartError as error:
        path = folder / manifest["slot"] / f"{error}.bin"
        raise UsageError(
            f"{path}: this file of the checkpoint is missing or damaged. Start afresh without --resume."
        ) from error
    except InvalidError as error:
        raise _damaged(folder) from error


def _restore(search: Expansion, folder: Path, manifest: dict[str, Any]) -> None:
    position, bases = position_in(manifest, search)
    slot = folder / manifest["slot"]
    shapes = [part.shapes(*base) for part, base in zip(search.partitions, bases, strict=True)]
    entries = files_in(manifest, {f"{owner}-{name}" for owner, needed in enumerate(shapes) for name in needed})
    for owner, (part, base) in enumerate(zip(search.partitions, bases, strict=True)):
        arrays = {
            name: parts.read(slot, f"{owner}-{name}", entries[f"{owner}-{name}"], dtype, count)
            for name, (dtype, count) in shapes[owner].items()
        }
        look_at_parents(arrays["parents"], position, search.owners)
        for name in {"rows", "fresh"} & set(arrays):
            look_at_rows(arrays[name], search.layout, search.constants.values)
        part.restore(arrays, *base)
    search.position = position


def look_at_question(
    machine: Machine, constants: Constants, properties: tuple[Property, ...], options: Options
) -> None:
    """Raise UsageError if the checkpoint is of another question, as far as that can be seen before anything is compiled."""
    folder = Path(options.checkpoint or "")
    refuse_other_question(folder, _manifest(folder)["question"], _asked(machine, constants, properties, options))


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
        return f"{name}: {', '.join(map(str, there)) or 'none'} there, {', '.join(here) or 'none'} here"
    if name == "protocol":
        return f"{there} there, {here} here"
    if isinstance(here, bool):
        options = {
            "compact": ("with --compact", "without --compact"),
            "normalize": ("without --no-normalize", "with --no-normalize"),
        }[name]
        return f"{options[not there]} there, {options[not here]} here"
    return f"the {name} changed since"


def _asked(
    machine: Machine, constants: Constants, properties: tuple[Property, ...], options: Options
) -> dict[str, Any]:
    return {
        "protocol": machine.name,
        "constants": dict(constants.shown),
        "properties": [item.name for item in properties if not item.kind.over_behaviours],
        "compact": options.compact,
        "normalize": options.normalize,
    }


def question(search: Expansion) -> dict[str, Any]:
    """Return what a checkpoint belongs to: it serves no other question."""
    return {
        **_asked(search.machine, search.constants, search.properties, search.options),
        **model_of(search.kernels.source, search.plain),
    }


def model_of(source: Source, plain: Interpreter) -> dict[str, str]:
    """Return what a machine is under the constants of an interpreter, as hashes: the module, and the states that it begins in."""
    parts = {"model": source.question(plain.constants), "initial states": repr(plain.initial_states())}
    return {name: hashlib.sha256(text.encode()).hexdigest() for name, text in parts.items()}


def _folder(search: Expansion) -> Path:
    if not search.options.checkpoint:
        raise UsageError("--resume was given without a folder: write --checkpoint DIR --resume.")
    return Path(search.options.checkpoint)


def _manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of a checkpoint, which is as it was written; raise UsageError if it is not, or there is none."""
    path = folder / MANIFEST
    try:
        text = sealed.content(path)
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise _damaged(folder) from None
        raise UsageError(
            f"there is no checkpoint in {folder}: run once with --checkpoint {folder} and a budget."
        ) from None
    try:
        found = sealed.object_in(text)
        if found.get("format") != FORMAT:
            raise UsageError(
                f"{path}: the checkpoint has format {str(found.get('format'))[:20]}, and this version of Fencepost reads format "
                f"{FORMAT}. Start afresh without --resume, or continue with the version that wrote it."
            )
        manifest = sealed.unsealed(found)
    except sealed.BrokenSealError:
        raise _damaged(folder) from None
    if not isinstance(manifest.get("question"), dict) or manifest.get("slot") not in parts.SLOTS:
        raise _damaged(folder)
    return manifest


def _slot_in_use(folder: Path) -> str:
    """Return which folder the checkpoint that is there uses; an empty string if there is none that could be resumed."""
    try:
        return str(_manifest(folder)["slot"])
    except UsageError:
        return ""


def _damaged(folder: Path) -> UsageError:
    return UsageError(f"{folder / MANIFEST}: the manifest of the checkpoint is damaged. Start afresh without --resume.")
