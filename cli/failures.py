"""Errors at the end of a command: one message for people, and an exit status."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import click
from fencepost.api.asking.advice import against
from fencepost.api.asking.places import placed
from fencepost.cli.status import Exit
from fencepost.explorers.verdict import ProblemKind
from fencepost.model.language.errors import (
    DomainError,
    FencepostError,
    MismatchError,
    ModelError,
    UsageError,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fencepost.explorers.verdict import Problem

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS)
"""What the system says when it cannot take what is printed."""
_NAMED = (errno.ENAMETOOLONG, errno.EACCES, errno.EPERM, errno.ELOOP, errno.ENOTDIR, errno.EISDIR)
"""What the system says when it refuses a file or a folder by its name."""
NO_MEMORY = (
    "memory ran out before there was a result. Leave more of it free; "
    "`fencepost check` takes a limit with --memory, and needs less with --compact."
)
LONGEST = 60
"""Characters of a name that a message repeats."""


def unkept(problems: Iterable[Problem]) -> FencepostError | None:
    """Return the error for a part of an answer that could not be kept: it is raised after the answer is printed."""
    return next((item.error for item in problems if item.kind is ProblemKind.NOT_KEPT), None)


def require_kept(problems: Iterable[Problem]) -> None:
    """Raise the error for a part of an answer, which is printed by now, that could not be kept."""
    error = unkept(problems)
    if error is not None:
        raise error


def explain(error: BaseException) -> tuple[Exit, str]:
    """Return the exit status for an error and what to tell the user."""
    if isinstance(error, click.ClickException):
        return Exit.BAD_INPUT, _of_click(error)
    if isinstance(error, DomainError):
        return Exit.BAD_INPUT, "\n".join([placed(error, against(error)), *getattr(error, "__notes__", ())])
    if isinstance(error, UsageError | ModelError):
        return Exit.BAD_INPUT, str(error)
    if isinstance(error, MismatchError):
        return Exit.WRONG, f"Fencepost contradicts itself: {error}"
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return Exit.UNDETERMINED, "interrupted before there was a result. Nothing is known."
    if _is_memory(error):
        return Exit.UNDETERMINED, NO_MEMORY
    if isinstance(error, FileNotFoundError) and "No usable temporary directory" in str(error):
        return Exit.BAD_INPUT, "no temporary folder can be written. Make room, or name another one with TMPDIR."
    if isinstance(error, OSError) and error.errno in _NO_ROOM:
        return Exit.BAD_INPUT, f"the output cannot be written: {error.strerror}. Send it to where there is room."
    if isinstance(error, OSError) and error.errno in _NAMED and isinstance(error.filename, str | bytes):
        name = os.fsdecode(error.filename)
        shown = name if len(name) <= LONGEST else f"{name[: LONGEST - 3]}..."
        return Exit.BAD_INPUT, f"{shown} cannot be used: {error.strerror}. Name another file or folder."
    return Exit.WRONG, _unforeseen(error)


def _is_memory(error: BaseException) -> bool:
    """Say whether memory ran out: Python's, or that of a library, a thread or a process that was to start.

    CPython 3.11 has no exception set where a frame finds no memory.
    """
    said = str(error)
    return (
        isinstance(error, MemoryError)
        or (isinstance(error, OSError) and error.errno == errno.ENOMEM)
        or (isinstance(error, ImportError) and "failed to map segment" in said)
        or (isinstance(error, RuntimeError) and said == "can't start new thread")
        or (isinstance(error, SystemError) and said.endswith(("without exception set", "without setting an exception")))
    )


def _of_click(error: click.ClickException) -> str:
    message = " ".join(error.format_message().split())
    command = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "fencepost"
    stop = "" if message.endswith((".", "?")) else "."
    return f"{message}{stop} `{command} --help` lists what there is."


def _unforeseen(error: BaseException) -> str:
    """Return one message for what nobody foresaw; a compiler's own may run over pages."""
    said = "" if isinstance(error, FencepostError) and not str(error) else str(error).strip()
    first = next((line.strip() for line in said.splitlines() if line.strip()), "no message")
    kind = type(error).__name__
    compiling = type(error).__module__.startswith("fencepost.explorers.native.llvm")
    origin = "the model could not be compiled" if compiling else "something unforeseen failed"
    return (
        f"{origin}: {kind}: {first[:300]}\nThis is a defect of Fencepost: please report it with the command that you gave"
        + ("." if debugging() else "; FENCEPOST_DEBUG=1 shows where it happened.")
    )


def visible(message: str) -> str:
    """Return a message with what would move a terminal's cursor or change its colours written out: files may hold anything."""
    return "".join(sign if sign.isprintable() or sign in "\n\t" else f"\\x{ord(sign):02x}" for sign in message)


def debugging() -> bool:
    """Say whether tracebacks are asked for."""
    return os.environ.get("FENCEPOST_DEBUG", "") not in ("", "0")
