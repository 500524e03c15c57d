"""Checkpoints: folders with everything that a search needs to continue.

The manifest contains the names, sizes and digests of the data files, the question that the search answers, and the
manifest's own digest. The manifest is replaced last and atomically, so a folder always contains one complete
checkpoint, even if writing the next one was interrupted. The data files are arrays stored as plain bytes in two
alternating folders: a new checkpoint goes to the folder that the manifest does not name. Files are removed only from
these two folders, and only if their names have the expected form.
"""

import errno
import hashlib
import os
import re
import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from fencepost.explorers.native.compile import Source
from fencepost.explorers.native.expansion import Expansion
from fencepost.explorers.native.keys import MOST_KEYS
from fencepost.explorers.native.layout import BITS, Layout
from fencepost.explorers.native.store import Position, TooManyStates
from fencepost.explorers.running import files, sealed
from fencepost.explorers.verdict import Options
from fencepost.model.language.actions import Property
from fencepost.model.language.constants import Constants
from fencepost.model.language.errors import MismatchError, UnkeptError, UsageError
from fencepost.model.language.interpreter import Interpreter
from fencepost.model.language.machine import Machine
from fencepost.model.language.records import ArrayOf, FieldType, Nested, Record, Scalar, fields

FORMAT = 2
MANIFEST = "manifest.json"
SLOTS = ("states-0", "states-1")
ROWS = 1 << 14
"""Number of rows examined together: few enough to fit in a core's cache."""
OURS = re.compile(r"\d{1,9}-(rows|fresh|parents|hashes)\.bin")


def save(search: Expansion) -> Path:
    folder = _folder(search)
    position = asdict(search.settle())
    if search.before_judging is not None:
        position["judged"], position["found"] = search.before_judging
    try:
        folder.mkdir(parents=True, exist_ok=True)
        there = _slot_in_use(folder)
        here = next(name for name in SLOTS if name != there)
        slot = folder / here
        slot.mkdir(exist_ok=True)
        _empty(slot)
        entries = {
            f"{owner}-{name}": _write(slot / f"{owner}-{name}.bin", array)
            for owner, part in enumerate(search.partitions)
            for name, array in part.content().items()
        }
        files.settle(slot)
        manifest = {
            "format": FORMAT,
            "question": question(search),
            "slot": here,
            "position": position,
            # for each owner, the number of states and the number of the first state of each level that is kept
            "bases": [[part.count, *part.levels] for part in search.partitions],
            "files": entries,
        }
        files.write_file(folder / MANIFEST, sealed.seal(manifest))
        files.remove_leftovers(folder)
        if there:
            _remove(folder / there)
    except OSError as error:
        raise UnkeptError(
            f"the checkpoint could not be written to {folder}: {error.strerror}. Choose a folder with free space."
        ) from error
    return folder


def discard(folder: Path) -> None:
    (folder / MANIFEST).unlink(missing_ok=True)
    for name in SLOTS:
        _remove(folder / name)
    if folder.is_dir():
        files.remove_leftovers(folder)
        with suppress(OSError):
            folder.rmdir()


def load(search: Expansion) -> None:
    folder = _folder(search)
    manifest = _manifest(folder)
    refuse_other_question(folder, manifest["question"], question(search))
    slot, entries = folder / manifest["slot"], manifest["files"]
    if not _stays_inside(search, manifest["position"], manifest["bases"], entries):
        raise sealed.damaged(folder / MANIFEST)
    search.position = Position(**manifest["position"])
    trees = search.new_trees(sum(count for count, *_ in manifest["bases"]))
    for owner, (part, base) in enumerate(zip(search.partitions, manifest["bases"], strict=True)):
        arrays = {
            name: _read(slot / f"{owner}-{name}.bin", entries[f"{owner}-{name}"], dtype, count)
            for name, (dtype, count) in part.shapes(*base).items()
        }
        for name in {"rows", "fresh"} & set(arrays):
            if not are_states(arrays[name], search.layout, search.constants.values):
                raise sealed.damaged(slot / f"{owner}-{name}.bin")
        try:
            part.restore(arrays, *base)
            if trees is not None:
                search.pack(trees, owner)
        except MismatchError:  # the checkpoint contains a state twice
            raise sealed.damaged(slot / f"{owner}-rows.bin") from None
        except TooManyStates as error:
            raise UsageError(f"{error}. Choose a folder with free space.") from error
    if trees is not None:
        search.use(trees)


# -- checks that compiled code relies on: a digest detects damage, but does not prove who wrote a checkpoint


def _stays_inside(search: Expansion, position: dict[str, Any], bases: list[list[int]], entries: dict[str, Any]) -> bool:
    starts, ends, compact = position["starts"], position["ends"], search.options.compact
    names = {f"{owner}-{name}" for owner, part in enumerate(search.partitions) for name in part.content()}
    return (
        len(bases) == len(starts) == len(ends) == search.owners
        and position["judged"] == ends
        and len(position["fired"]) == len(search.machine.actions)
        and len(position["refused"]) == search.kernels.source.counters
        and all(
            base[1:] == ([start, end] if compact else [0, 0]) and 0 <= start <= end <= base[0] <= MOST_KEYS
            for base, start, end in zip(bases, starts, ends, strict=True)
        )
        and set(entries) == names
    )


def are_states(rows: np.ndarray[Any, Any], layout: Layout, values: Mapping[str, int]) -> bool:
    """Return whether rows are states of the model: every field is in its domain, and unused space is zero."""
    unused = layout.words * BITS - layout.bits
    for first in range(0, len(rows), ROWS):
        some = rows[first : first + ROWS]
        last = some["words"][:, -1] >> np.uint64(BITS - unused if unused < BITS else 0)
        if unused and last.any():
            return False
        if not _is_record(layout.unpack(some), layout.state, values, np.ones(len(some), bool)):
            return False
    return True


def _is_record(rows: Any, record: type[Record], values: Mapping[str, int], there: np.ndarray[Any, Any]) -> bool:
    """Return whether all fields of the records (n,) are in their domains, and all records outside `there` are zero."""
    return all(_is_field(rows[name], field, values, there) for name, field in fields(record))


def _is_field(column: Any, field: FieldType, values: Mapping[str, int], there: np.ndarray[Any, Any]) -> bool:
    if isinstance(field, Scalar):
        low, high = field.domain.bounds(values)
        return bool(np.where(there, (column >= low) & (column <= high), column == 0).all())
    if isinstance(field, Nested):
        return _is_record(column, field.record, values, there)
    if isinstance(field, ArrayOf):
        length = field.length.value(values)
        return all(
            _is_field(column[:, index], field.element, values, there & (index < length))
            for index in range(column.shape[1])
        )
    count, room, items = column["count"], field.room.value(values), column["items"]
    return bool(np.where(there, (count >= 0) & (count <= room), count == 0).all()) and all(
        _is_record(items[:, index], field.record, values, there & (index < count)) for index in range(items.shape[1])
    )


def require_question(
    machine: Machine, constants: Constants, properties: tuple[Property, ...], options: Options
) -> None:
    folder = Path(options.checkpoint or "")
    asked = _question(machine, constants, properties, options)
    refuse_other_question(folder, _manifest(folder)["question"], asked)


def refuse_other_question(folder: Path | str, stored: dict[str, Any], asked: dict[str, Any]) -> None:
    for name, here in asked.items():
        there = stored.get(name, False if name == "symmetry" else None)
        if there != here:
            raise UsageError(
                f"the checkpoint in {folder} belongs to another search: {_differing(name, there, here)}. "
                "Ask the same question, or start again in another folder."
            )


def _differing(name: str, there: Any, here: Any) -> str:
    if isinstance(there, dict) and isinstance(here, dict):
        names = [key for key in {**there, **here} if there.get(key) != here.get(key)]
        sides = (" ".join(f"{key}={str(side.get(key)).lower()}" for key in names) for side in (there, here))
        return "the checkpoint has {}, but this search has {}".format(*sides)
    if isinstance(there, list) and isinstance(here, list):
        stored, asked = ", ".join(map(str, there)) or "none", ", ".join(here) or "none"
        return f"the checkpoint has {name} {stored}, but this search has {asked}"
    if name == "protocol":
        return f"the checkpoint has protocol {there}, but this search has {here}"
    if isinstance(here, bool):
        options = {
            "compact": ("with `compact=True`", "without `compact=True`"),
            "normalize": ("without `normalize=False`", "with `normalize=False`"),
            "symmetry": ("with `symmetry=True`", "without `symmetry=True`"),
        }[name]
        return f"the checkpoint was written {options[not there]}, but this search runs {options[not here]}"
    return f"the {name} changed after the checkpoint was written"


def question(search: Expansion) -> dict[str, Any]:
    return {
        **_question(search.machine, search.constants, search.properties, search.options),
        **model_of(search.kernels.source.general or search.kernels.source, search.plain),
    }


def _question(
    machine: Machine, constants: Constants, properties: tuple[Property, ...], options: Options
) -> dict[str, Any]:
    return {
        "protocol": machine.name,
        "constants": dict(constants.shown),
        "properties": [item.name for item in properties if not item.kind.over_behaviours],
        "compact": options.compact,
        "normalize": options.normalize,
        "symmetry": options.symmetry,
    }


def model_of(source: Source, plain: Interpreter) -> dict[str, str]:
    parts = {"model": source.question(plain.constants), "initial states": repr(plain.initial_states())}
    return {name: hashlib.sha256(text.encode()).hexdigest() for name, text in parts.items()}


def _folder(search: Expansion) -> Path:
    if not search.options.checkpoint:
        raise UsageError("`resume=True` needs a folder: write `checkpoint=DIR, resume=True`.")
    return Path(search.options.checkpoint)


def _manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    try:
        text = files.read_file(path)
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise sealed.damaged(path) from None
        raise UsageError(
            f"there is no checkpoint in {folder}: run once with `checkpoint={str(folder)!r}` and a budget."
        ) from None
    content = sealed.read_sealed(text, path, FORMAT)
    if content.get("slot") not in SLOTS:  # otherwise, files in another folder could be removed
        raise sealed.damaged(path)
    return content


def _slot_in_use(folder: Path) -> str:
    try:
        return str(_manifest(folder)["slot"])
    except UsageError:
        return ""


def _write(path: Path, array: np.ndarray[Any, Any]) -> dict[str, Any]:
    content = np.ascontiguousarray(array).view(np.uint8).data
    files.create_file(path, content)
    return {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def _read(path: Path, entry: dict[str, Any], dtype: np.dtype[Any], count: int) -> np.ndarray[Any, Any]:
    """Return the `count` values of a file as an array of `dtype`; raise DamagedError if its content has changed."""
    size = count * dtype.itemsize
    try:
        with files.open_regular(path) as file:
            if not entry["bytes"] == size == os.fstat(file.fileno()).st_size:
                raise sealed.damaged(path)
            content = np.empty(size, np.uint8)
            length = file.readinto(content.data)
    except OSError as error:
        raise sealed.damaged(path) from error
    if length != size or hashlib.sha256(content.data).hexdigest() != entry["sha256"]:
        raise sealed.damaged(path)
    return content.view(dtype)


def _remove(slot: Path) -> None:
    if slot.is_dir():
        _empty(slot)
        with suppress(OSError):
            slot.rmdir()


def _empty(slot: Path) -> None:
    if slot.is_symlink():
        raise UnkeptError(
            f"{slot} is a symbolic link, but a checkpoint must stay inside its folder: remove the link or name "
            "another folder."
        )
    for entry in sorted(slot.iterdir()):
        if OURS.fullmatch(entry.name) and not stat.S_ISDIR(entry.lstat().st_mode):
            entry.unlink()
