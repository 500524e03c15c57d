"""Errors that end a command: one message for the user, and an exit status."""

import errno
import os
from collections.abc import Iterable

import click
from fencepost.api.asking.places import against, placed
from fencepost.cli.status import Exit
from fencepost.explorers.verdict import Problem, ProblemKind
from fencepost.model.language.errors import DomainError, FencepostError, MismatchError, ModelError, UsageError, nearest

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS)
_NAMED = (errno.ENAMETOOLONG, errno.EACCES, errno.EPERM, errno.ELOOP, errno.ENOTDIR, errno.EISDIR)
NO_MEMORY = (
    "memory ran out before there was a result. Free some memory. `fencepost check` accepts a limit with --memory, "
    "and needs less memory with --compact."
)
LONGEST = 60


def unkept(problems: Iterable[Problem]) -> FencepostError | None:
    """Return the error to raise after printing the answer, if part of the answer could not be saved."""
    return next((item.error for item in problems if item.kind is ProblemKind.NOT_KEPT), None)


def require_kept(problems: Iterable[Problem]) -> None:
    error = unkept(problems)
    if error is not None:
        raise error


def explain(error: BaseException) -> tuple[Exit, str]:
    if isinstance(error, click.ClickException):
        return Exit.BAD_INPUT, _of_click(error)
    if isinstance(error, DomainError):
        return Exit.BAD_INPUT, "\n".join([placed(error, against(error)), *getattr(error, "__notes__", ())])
    if isinstance(error, UsageError | ModelError):
        return Exit.BAD_INPUT, str(error)
    if isinstance(error, MismatchError):
        return Exit.WRONG, "\n".join([f"Fencepost contradicts itself: {error}", *getattr(error, "__notes__", ())])
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return Exit.UNDETERMINED, "interrupted before there was a result. Nothing was decided."
    if isinstance(error, MemoryError):
        return Exit.UNDETERMINED, NO_MEMORY
    if isinstance(error, OSError) and error.errno in _NO_ROOM:
        return Exit.BAD_INPUT, f"the output cannot be written: {error.strerror}. Choose a place with free space."
    if isinstance(error, OSError) and error.errno in _NAMED and isinstance(error.filename, str | bytes):
        name = os.fsdecode(error.filename)
        return Exit.BAD_INPUT, f"{name[:LONGEST]} cannot be used: {error.strerror}. Choose another file or folder."
    return Exit.WRONG, _unforeseen(error)


def _of_click(error: click.ClickException) -> str:
    if isinstance(error, click.NoSuchOption) and error.possibilities:
        near = [item for item in error.possibilities if nearest(error.option_name[2:], [item[2:]])]
        error = click.NoSuchOption(error.option_name, error.message, near, error.ctx)
    message = " ".join(error.format_message().split())
    if isinstance(error, click.NoSuchOption) and not error.possibilities and "_" in error.option_name:
        return f"{message} Constants are set with --set: write --set {error.option_name.strip('-')}=VALUE."
    command = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "fencepost"
    stop = "" if message.endswith((".", "?")) else "."
    return f"{message}{stop} `{command} --help` lists all options."


def _unforeseen(error: BaseException) -> str:
    first = (str(error).strip().splitlines() or ["no message"])[0]
    return (
        f"unexpected error: {type(error).__name__}: {first[:300]}\nThis is a bug in Fencepost: please report it with "
        "the command that you ran" + ("." if debugging() else "; FENCEPOST_DEBUG=1 shows the traceback.")
    )


def visible(message: str) -> str:
    return "".join(sign if sign.isprintable() or sign in "\n\t" else f"\\x{ord(sign):02x}" for sign in message)


def debugging() -> bool:
    return os.environ.get("FENCEPOST_DEBUG", "") not in ("", "0")
