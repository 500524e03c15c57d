"""The cache that persists between runs.

Cached code is executed, so other users must not be able to write to the cache. Anyone who can write to a parent folder
of a file can replace the file. Only the current user can access the cache folder (0700). Every folder and link above
the cache folder must belong to the current user or to root, and must not be writable by others.
"""

import atexit
import os
import shutil
import stat
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from fencepost.explorers.running.files import open_regular, read_all, write_file
from fencepost.model.language.errors import UsageError

NAMED = "FENCEPOST_CACHE"
PRIVATE = "private"
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
OTHERS = stat.S_IRWXG | stat.S_IRWXO
MOST_LINKS = 40
MOST = 1 << 28
"""Maximum size of a cache file, in bytes."""

_temporary: list[Path] = []


class UntrustedError(Exception):
    """Error for a path that another user could write to. The message names the folder and the reason."""


def cache_folder() -> Path:
    """Return the cache's folder, which only the current user can access.

    The folder is FENCEPOST_CACHE if set, otherwise `fencepost` in XDG_CACHE_HOME or ~/.cache. If the folder is not
    writable, or another user could change it, a temporary folder is used until this process ends; if FENCEPOST_CACHE is
    set, UsageError is raised instead.
    """
    named = os.environ.get(NAMED)
    try:
        return private_folder(
            Path(named) if named else (Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fencepost")
        )
    except (UntrustedError, OSError, RuntimeError) as error:
        reason = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else str(error)
        if named:
            raise UsageError(
                f"{NAMED}={named} cannot be used for the code that Fencepost compiles and runs: {reason}. "
                "Name a folder that belongs to you and that no other user can write to, or a new folder."
            ) from error
        return _stand_in(reason)


def private_folder(path: Path) -> Path:
    """Return a folder at `path` that only the current user can access, and create the folder if it is missing. Raises
    UntrustedError or OSError if this is impossible. If others can read the folder, return a folder `private` inside it,
    because a group may be able to write to the outer one.
    """
    folder = _resolve(path)
    found = folder.stat()
    if found.st_uid != os.getuid():
        raise UntrustedError(f"{folder} belongs to another user ({found.st_uid})")
    if found.st_mode & OTHERS_WRITE:
        raise UntrustedError(_writable(folder, found))
    if found.st_mode & OTHERS:
        if folder.name == PRIVATE:
            raise UntrustedError(f"{folder} is accessible to other users ({stat.filemode(found.st_mode)}): remove it")
        return private_folder(folder / PRIVATE)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UntrustedError(f"{folder} is not writable")
    return folder


def write_cached(path: Path, content: bytes) -> None:
    """Write a cache file atomically, so that no process reads an incomplete file. If the disk is full, do nothing."""
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_file(path, content, lasting=False, mode=0o600)


def read_cached(path: Path) -> bytes:
    """Return a cache file's content. Raise OSError for a link, and for a file that another user owns or can write to.
    Although other users cannot access the folder, a file that was copied, unpacked from an archive, or created in a
    container may have another owner.
    """
    if path.parent.is_symlink():
        raise OSError(f"{path.parent} is a symbolic link")
    with open_regular(path) as file:
        found = os.fstat(file.fileno())
        if found.st_uid != os.getuid() or found.st_mode & OTHERS_WRITE:
            raise OSError(f"{path} is accessible to other users")
        return read_all(file, MOST)


def _resolve(path: Path) -> Path:
    """Return `path` with links resolved. Check every folder above it, and create missing ones for this user alone."""
    at, links = Path("/"), 0
    _require_safe(at)
    waiting = list(reversed(path.absolute().parts[1:]))
    while waiting:
        name = waiting.pop()
        if name == "..":
            at = at.parent
            continue
        below = at / name
        if not os.path.lexists(below):
            below.mkdir(0o700, exist_ok=True)  # another process may create it first; its owner is checked next
        if below.is_symlink():
            links += 1
            _require_own_link(below, links)
            target = below.readlink()
            at = Path("/") if target.is_absolute() else at
            waiting += reversed(target.parts[target.is_absolute() :])
        else:
            _require_safe(below)
            at = below
    return at


def _require_safe(folder: Path) -> None:
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise UntrustedError(f"{folder} is not a folder")
    if found.st_uid not in (0, os.getuid()):
        raise UntrustedError(f"{folder} belongs to another user ({found.st_uid})")
    if found.st_mode & OTHERS_WRITE and not found.st_mode & stat.S_ISVTX:
        raise UntrustedError(_writable(folder, found))


def _require_own_link(link: Path, links: int) -> None:
    """Raise UntrustedError for a link that another user could have created, and for a cycle of links."""
    if links > MOST_LINKS:
        raise UntrustedError(f"{link} is one of more than {MOST_LINKS} consecutive symbolic links")
    if link.lstat().st_uid not in (0, os.getuid()) or link.parent.stat().st_mode & OTHERS_WRITE:
        raise UntrustedError(f"{link} is a symbolic link in a folder that other users can write to")


def _writable(folder: Path, found: os.stat_result) -> str:
    return f"other users can write to {folder} ({stat.filemode(found.st_mode)}): fix this with `chmod go-w {folder}`"


def lasts() -> bool:
    """Return whether code compiled into the current cache folder is kept until the next run."""
    return not _temporary


def _stand_in(reason: str) -> Path:
    """Return a temporary folder for this process and its child processes. Print a warning at the first call."""
    if not _temporary:
        made = Path(tempfile.mkdtemp(prefix="fencepost-"))
        atexit.register(_remove, made, os.getpid())
        _temporary.append(made)
        sys.stderr.write(
            f"note: the cache cannot be used: {reason}. Code compiled in this run is not kept; {NAMED}=FOLDER names "
            f"another folder.\n"
        )
    try:
        folder = private_folder(_temporary[0])
    except (UntrustedError, OSError) as error:
        raise UsageError(
            f"there is no safe folder for the code that Fencepost compiles and runs: {reason}, and a temporary "
            f"folder cannot be used either: {error}. Name a folder that belongs to you: {NAMED}=FOLDER."
        ) from error
    os.environ[NAMED] = str(folder)
    return folder


def _remove(folder: Path, maker: int) -> None:
    if os.getpid() == maker:
        shutil.rmtree(folder, ignore_errors=True)
