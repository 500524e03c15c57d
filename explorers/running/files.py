"""Reading and writing whole files, and locking folders. A file is written under another name, synced to disk, and then
renamed. If a process is killed before the rename, the previous file remains, so a file is either complete or absent.
"""

import errno
import os
import re
import stat
import sys
import time
import weakref
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

MOST = 1 << 26
"""Maximum size, in bytes, of a file that is read as a whole."""
_IN_PLACE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY)
"""System errors for a file that is writable but cannot be replaced, because its folder forbids it or it is a mount."""
LEFTOVER = re.compile(r"\.[0-9a-f]{32}\.new")
_RETRY = 0.05
"""Seconds between two attempts to acquire a lock."""


def write_file(path: Path, content: bytes | memoryview, *, lasting: bool = True, mode: int | None = None) -> None:
    """Replace a file atomically; if `lasting`, the new file survives a system crash. `mode` sets permissions."""
    aside = path.with_name(f".{uuid4().hex}.new")
    try:
        create_file(aside, content, lasting=lasting, mode=mode)
        os.replace(aside, path)  # noqa: PTH105 (beside the other system calls)
    finally:
        with suppress(OSError):
            aside.unlink()
    if lasting:
        settle(path.parent)


def write_named(path: Path, content: bytes) -> None:
    """Write to a file that the user named.

    A regular file is replaced atomically, so an error leaves the old content unchanged; pipes and devices are written
    in place. A read-only file is never replaced, even if the folder's permissions allow replacing it.
    """
    is_open = path.is_symlink() and {"/dev", "/proc"} & set(map(str, path.absolute().parents))  # such as /dev/stdout
    if path.exists() and (is_open or not (path.is_file() and os.access(path, os.W_OK))):
        _send(path, content)
        return
    target = path.resolve()
    try:
        write_file(target, content, mode=stat.S_IMODE(target.stat().st_mode) if target.exists() else None)
    except OSError as error:
        if error.errno not in _IN_PLACE:
            raise
        path.write_bytes(content)


def _send(path: Path, content: bytes) -> None:
    """Write to an open file. If it is this process's standard output or error, flush earlier output first."""
    for number, stream in ((1, sys.stdout), (2, sys.stderr)):
        if _is_open_as(path, number):
            stream.flush()
            with os.fdopen(os.dup(number), "wb") as file:
                file.write(content)
            return
    path.write_bytes(content)


def _is_open_as(path: Path, number: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(number))
    except OSError:
        return False


def create_file(path: Path, content: bytes | memoryview, *, lasting: bool = True, mode: int | None = None) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    with os.fdopen(descriptor, "wb") as file:
        if mode is not None:
            os.fchmod(descriptor, mode)
        file.write(content)
        if lasting:
            file.flush()
            os.fsync(file.fileno())


def remove_leftovers(folder: Path) -> None:
    """Remove the temporary files of killed processes from a folder to which no other process is writing."""
    for entry in folder.iterdir():
        if LEFTOVER.fullmatch(entry.name):
            entry.unlink()


def settle(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def open_regular(path: Path) -> Any:
    """Open a regular file for reading. Raise OSError for anything else, such as a link or a pipe."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(f"{path} is not a file")
    return os.fdopen(descriptor, "rb")


def read_file(path: Path) -> bytes:
    with open_regular(path) as file:
        return read_all(file, MOST)


def read_named(path: Path, most: int = MOST) -> bytes:
    with path.open("rb") as file:
        return read_all(file, most)


def read_all(file: Any, most: int) -> bytes:
    size = os.fstat(file.fileno()).st_size
    text: bytes = file.read(most + 1) if size <= most else b""
    if max(size, len(text)) > most:
        raise OSError(errno.EFBIG, f"the file is larger than {most >> 20} MiB")
    return text


class Lock(AbstractContextManager["Lock"]):
    def __init__(self, descriptor: int) -> None:
        self.release = weakref.finalize(self, os.close, descriptor)

    def __exit__(self, *error: object) -> None:
        self.release()


def lock_folder(folder: Path, *, shared: bool = False, patience: float | None = None) -> Lock | None:
    """Lock a folder against everyone else; if `shared`, only against exclusive locks. Returns None if the folder is
    missing, or if the folder stays locked for `patience` seconds (None: wait forever).
    """
    import fcntl  # missing in browsers

    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    made, began = Lock(descriptor), time.monotonic()
    how = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    while True:
        try:
            fcntl.flock(descriptor, how if patience is None else how | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() - began >= (patience or 0.0):
                return None
            time.sleep(_RETRY)
        else:
            return made if folder.is_dir() else None  # it may have been removed in the meantime
