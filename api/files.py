"""Files and folders that a user named: written, or refused with one message before the work is done."""

from __future__ import annotations

import os
import weakref
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from fencepost.explorers.running.files import Lock, lock_folder, write_named
from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE = 5.0
"""Seconds in which the workers of a process that was killed end, and leave its folder to others."""


def write_text(path: Path, text: str) -> None:
    """Write a file that the user named, whole or not at all; raise UsageError if that cannot be done."""
    try:
        write_named(path, text.encode("utf-8", "backslashreplace"))  # a name of a file may hold any bytes
    except OSError as error:
        raise unwritable(path, error) from error


def make_sure_writable(path: Path) -> None:
    """Raise UsageError if a file that the user named could not be written: found out before the work is done."""
    try:
        existed = path.exists()
        path.open("a").close()
        if not existed:
            path.unlink()
    except OSError as error:
        raise unwritable(path, error) from error


def make_sure_folder(path: Path) -> None:
    """Raise UsageError if nothing could be written into a folder that the user named; make it if only it is missing."""
    try:
        path.mkdir(exist_ok=True)
    except OSError as error:
        raise unwritable(path, error) from error
    make_sure_writable(path / f".probe-{os.getpid()}")


def unwritable(path: Path, error: OSError) -> UsageError:
    """Return the error for a file that the user named and that cannot be written."""
    return UsageError(f"{path} cannot be written: {error.strerror or error}. Name a place where you may write.")


_held: weakref.WeakValueDictionary[tuple[int, int], Lock] = weakref.WeakValueDictionary()


def hold(folder: Path) -> Lock:
    """Keep other processes out of a folder of checkpoints; raise UsageError if one is there."""
    there = folder.stat()
    found = _held.get((there.st_dev, there.st_ino))
    if found is None:
        found = lock_folder(folder, patience=PATIENCE)
        if found is None:
            raise UsageError(
                f"{folder} is in use: another process keeps its checkpoint there. "
                "Wait for its end, or name another folder."
            )
        _held[there.st_dev, there.st_ino] = found
    return found


def keeps_search(folder: Path) -> bool:
    """Return whether a folder holds the checkpoint of a search on one machine."""
    from fencepost.explorers.native.checkpoint import MANIFEST

    return (folder / MANIFEST).is_file()


@contextmanager
def alone_in(folder: str | Path | None) -> Iterator[None]:
    """Keep other processes out of the folder of a checkpoint, if there is one on this machine."""
    if folder is None or "://" in str(folder):
        yield
        return
    path = Path(folder)
    existed = path.exists()
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(path, error) from error
    held = hold(path)
    try:
        yield
    finally:
        if not existed:
            with suppress(OSError):
                path.rmdir()  # nothing was kept
        del held
