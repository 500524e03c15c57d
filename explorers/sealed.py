"""Files that are whole or absent, and JSON that shows whether it is as it was written.

A file is written aside, brought to the disk, and only then put in its place, so whoever is killed in between leaves the one
that was there before.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
import sys
from contextlib import suppress
from shutil import copymode
from typing import TYPE_CHECKING, Any, NoReturn
from uuid import uuid4

if TYPE_CHECKING:
    from pathlib import Path

SUM = "sum"
"""The key of the checksum, over everything else."""
MOST = 1 << 26
"""Bytes of a file that is read as a whole."""


_IN_PLACE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY)
"""What the system says where a file may be written, and not replaced: of its folder, or of a file that is mounted alone."""


class BrokenSealError(ValueError):
    """A text is not what was written."""


def checksum(data: Any) -> str:
    """Return the SHA-256 of what `data` says, however it is laid out as JSON."""
    read_back = json.loads(json.dumps(data))
    return hashlib.sha256(json.dumps(read_back, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def sealed(data: dict[str, Any]) -> bytes:
    """Return data as JSON with a checksum."""
    return json.dumps({**data, SUM: checksum(data)}, allow_nan=False).encode()


def unsealed(data: dict[str, Any]) -> dict[str, Any]:
    """Return data without its checksum; raise BrokenSealError if that does not fit."""
    rest = {name: value for name, value in data.items() if name != SUM}
    if data.get(SUM) != checksum(rest):
        raise BrokenSealError("the checksum does not fit")
    return rest


def object_in(text: bytes) -> dict[str, Any]:
    """Return the JSON object that a text is, checksum and all; raise BrokenSealError if it is none."""
    try:
        found = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise BrokenSealError(str(error)) from error
    if not isinstance(found, dict):
        raise BrokenSealError("not an object")
    return found


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def write(path: Path, content: bytes) -> None:
    """Replace a file in one step; after a crash there is the old one or the new one."""
    aside = path.with_name(f"{path.name}.new")
    aside.unlink(missing_ok=True)
    create(aside, content)
    os.replace(aside, path)  # noqa: PTH105 (beside the other calls of the system)
    settle(path.parent)


def put(path: Path, content: bytes) -> None:
    """Write a file that a user named: whole, or it stays as it was. What is no file, such as a pipe, is written to where it is.

    A file that this user may not write is refused, although its folder would let it be replaced.
    """
    target = path.resolve()
    is_open = path.is_symlink() and {"/dev", "/proc"} & set(map(str, path.absolute().parents))  # such as /dev/stdout
    if path.exists() and (is_open or not (path.is_file() and os.access(path, os.W_OK))):
        _send(path, content)
        return
    aside = target.with_name(f".{uuid4().hex}.new")
    try:
        create(aside, content)
        if target.exists():
            copymode(target, aside)
        os.replace(aside, target)  # noqa: PTH105 (beside the other calls of the system)
    except OSError as error:
        if error.errno not in _IN_PLACE:
            raise
        path.write_bytes(content)
    finally:
        with suppress(OSError):
            aside.unlink()


def _send(path: Path, content: bytes) -> None:
    """Write to what stands at a path: after what was printed already where that is our own output."""
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


def create(path: Path, content: bytes | memoryview) -> None:
    """Write a file that does not exist yet and bring it to the disk; a link in its place is not followed."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def settle(folder: Path) -> None:
    """Bring the names in a folder to the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def opened(path: Path) -> Any:
    """Open a file to read it; raise OSError for a link, a pipe or anything else that is not a file."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(f"{path} is not a file")
    return os.fdopen(descriptor, "rb")


def content(path: Path, most: int = MOST) -> bytes:
    """Return what a file of ours holds; raise OSError for what `opened` refuses, and for more than `most` bytes."""
    with opened(path) as file:
        return all_of(file, most)


def given(path: Path, most: int = MOST) -> bytes:
    """Return what a file that a user named holds, which may be a pipe; raise OSError if that cannot be read, or has no end."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe to which nobody writes is empty
    try:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        os.set_blocking(descriptor, True)
        with open(descriptor, "rb", closefd=False) as file:
            return all_of(file, most)
    finally:
        os.close(descriptor)


def all_of(file: Any, most: int) -> bytes:
    """Return what an open file holds; raise OSError if that is more than `most` bytes."""
    size = os.fstat(file.fileno()).st_size
    text: bytes = file.read(most + 1) if size <= most else b""
    if max(size, len(text)) > most:
        raise OSError(errno.EFBIG, f"it has more than {most >> 20} MiB")
    return text
