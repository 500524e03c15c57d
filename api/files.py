"""Files and folders that a user named: written, or refused with one message before the work is done."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path


def write_text(path: Path, text: str) -> None:
    """Write a file that the user named; raise UsageError if that cannot be done."""
    try:
        path.write_text(text, encoding="utf-8")
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
