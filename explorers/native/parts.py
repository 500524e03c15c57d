"""The data files of a checkpoint: arrays as plain bytes, each with its size and its SHA-256.

They lie in one of two folders, and a new checkpoint goes to the one that the manifest does not name. Only these two folders,
and in them only files whose names have this form, are ever removed.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from fencepost.explorers import sealed
from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

SLOTS = ("states-0", "states-1")
OURS = re.compile(r"\d{1,9}-(rows|fresh|parents|hashes)\.bin")


class DamagedPartError(ValueError):
    """A data file is missing, or not what was written."""


def write(slot: Path, name: str, array: np.ndarray[Any, Any]) -> dict[str, Any]:
    """Write an array as a file that does not exist yet; return its size and checksum."""
    content = np.ascontiguousarray(array).view(np.uint8).data
    sealed.create(slot / f"{name}.bin", content)
    return {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def read(slot: Path, name: str, entry: dict[str, Any], dtype: np.dtype[Any], count: int) -> np.ndarray[Any, Any]:
    """Return `count` values of a file, (count,) of `dtype`; raise DamagedPartError if it is not as it was written."""
    size = count * dtype.itemsize
    try:
        if slot.is_symlink():
            raise DamagedPartError(name)
        with sealed.opened(slot / f"{name}.bin") as file:
            if not entry["bytes"] == size == os.fstat(file.fileno()).st_size:
                raise DamagedPartError(name)
            content = np.empty(size, np.uint8)
            length = file.readinto(content.data)
    except OSError as error:
        raise DamagedPartError(name) from error
    if length != size or hashlib.sha256(content.data).hexdigest() != entry["sha256"]:
        raise DamagedPartError(name)
    return content.view(dtype)


def emptied(slot: Path) -> Path:
    """Return the folder without files of an earlier checkpoint, made if it is missing."""
    slot.mkdir(exist_ok=True)
    _refuse_link(slot)
    _remove_ours(slot)
    return slot


def remove(slot: Path) -> None:
    """Remove the files of a checkpoint, and their folder if nothing else is in it."""
    if slot.is_dir():
        _refuse_link(slot)
        _remove_ours(slot)
        with suppress(OSError):
            slot.rmdir()


def _remove_ours(slot: Path) -> None:
    for entry in sorted(slot.iterdir()):
        if OURS.fullmatch(entry.name) and not stat.S_ISDIR(entry.lstat().st_mode):
            entry.unlink()


def _refuse_link(slot: Path) -> None:
    if slot.is_symlink():
        raise UsageError(
            f"{slot} is a symbolic link, and a checkpoint stays in its own folder: remove it or name another folder."
        )
