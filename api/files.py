"""Files and folders that a user named: written, or refused with one message before the work is done."""

from __future__ import annotations

import os
import time
import weakref
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from fencepost.explorers.sealed import put
from fencepost.model.language.errors import UnkeptError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE = 5.0
"""Seconds in which the workers of a process that was killed end, and leave its folder to others."""


def write_text(path: Path, text: str) -> None:
    """Write a file that the user named, whole or not at all; raise UsageError if that cannot be done."""
    try:
        put(path, text.encode("utf-8", "backslashreplace"))  # a name of a file may hold any bytes
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


@contextmanager
def beside(found: object) -> Iterator[None]:
    """Write what a user asked for beside an answer; where that cannot be done, raise UnkeptError with the answer."""
    try:
        yield
    except UsageError as error:
        unkept = UnkeptError(str(error))
        unkept.found = found
        raise unkept from error


def unwritable(path: Path, error: OSError) -> UsageError:
    """Return the error for a file that the user named and that cannot be written."""
    return UsageError(f"{path} cannot be written: {error.strerror or error}. Name a place where you may write.")


class Held:
    """A folder in which no other process keeps anything, for as long as somebody refers to this."""

    def __init__(self, folder: Path) -> None:
        self.descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        weakref.finalize(self, os.close, self.descriptor)


_held: weakref.WeakValueDictionary[tuple[int, int], Held] = weakref.WeakValueDictionary()


def hold(folder: Path) -> Held:
    """Keep other processes out of a folder of checkpoints; raise UsageError if one is there."""
    import fcntl

    there = folder.stat()
    found = _held.get((there.st_dev, there.st_ino))
    if found is not None:
        return found
    made, began = Held(folder), time.monotonic()
    while True:
        try:
            fcntl.flock(made.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() - began > PATIENCE:
                raise UsageError(
                    f"{folder} is in use: another process keeps its checkpoint there. Wait for its end, or name another folder."
                ) from None
            time.sleep(0.05)
        else:
            _held[there.st_dev, there.st_ino] = made
            return made


def keeps_search(folder: Path) -> bool:
    """Say whether a folder holds the checkpoint of a search on one machine."""
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
