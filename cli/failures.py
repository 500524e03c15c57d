"""How errors end: one message for people, and the exit status that goes with it."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

import click
from fencepost.cli.status import Exit
from fencepost.model.language.errors import DomainError, FencepostError, MismatchError, ModelError, UsageError

if TYPE_CHECKING:
    from types import FrameType

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS)
"""What the system says when it cannot take what is printed."""
USER_MODULE = "fencepost_user_"
"""How the names of modules begin that are users' files."""
_OURS = ("fencepost.model.language", "fencepost.explorers", "fencepost.counterexamples", "fencepost.cli", "fencepost_native_")
"""Modules that run models and are none."""


def explain(error: BaseException) -> tuple[Exit, str]:
    """Return the exit status for an error and what to tell the user."""
    if isinstance(error, click.ClickException):
        return Exit.BAD_INPUT, _of_click(error)
    if isinstance(error, DomainError):
        return Exit.BAD_INPUT, "\n".join([placed(error), *getattr(error, "__notes__", ())])
    if isinstance(error, UsageError | ModelError):
        return Exit.BAD_INPUT, str(error)
    if isinstance(error, MismatchError):
        return Exit.WRONG, f"Fencepost contradicts itself: {error}"
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return Exit.UNDETERMINED, "interrupted before there was a result. Nothing is known."
    if isinstance(error, MemoryError):
        return (
            Exit.UNDETERMINED,
            "memory ran out before there was a result. Give a limit with --memory, or search with --compact.",
        )
    if isinstance(error, OSError) and error.errno in _NO_ROOM:
        return Exit.BAD_INPUT, f"the output cannot be written: {error.strerror}. Send it to where there is room."
    if isinstance(error, Exception) and _raised_by_user(error):
        return Exit.BAD_INPUT, f"{placed(error, named=True)}. The model has to be defined for every state: guard what fails."
    return Exit.WRONG, _unforeseen(error)


def placed(error: BaseException, *, named: bool = False) -> str:
    """Return an error's message after the file and line of the model that it comes from; `named` adds its class."""
    said = str(error)
    if named and not isinstance(error, FencepostError):
        said = f"{type(error).__name__}: {said}" if said else type(error).__name__
    root = error
    while isinstance(root.__cause__, Exception):
        root = root.__cause__
    frames = [(frame, line) for frame, line in traceback.walk_tb(root.__traceback__) if _is_model(frame)]
    if not frames:
        return said
    frame, line = frames[-1]
    return f"{near(Path(frame.f_code.co_filename))}:{line}: {said}"


def near(path: Path) -> str:
    """Return a path as it is seen from the folder where the user is."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def _is_model(frame: FrameType) -> bool:
    """Say whether this is code of a model: not of Fencepost's machinery, a library or Python itself."""
    name = str(frame.f_globals.get("__name__", ""))
    foreign = name.split(".", maxsplit=1)[0] in sys.stdlib_module_names or "site-packages" in frame.f_code.co_filename
    return not foreign and not name.startswith(_OURS) and Path(frame.f_code.co_filename).is_file()


def _raised_by_user(error: Exception) -> bool:
    """Say whether the line that failed stands in a user's file."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return bool(frames) and str(frames[-1].f_globals.get("__name__", "")).startswith(USER_MODULE)


def _of_click(error: click.ClickException) -> str:
    message = " ".join(error.format_message().split())
    command = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "fencepost"
    stop = "" if message.endswith((".", "?")) else "."
    return f"{message}{stop} `{command} --help` lists what there is."


def _unforeseen(error: BaseException) -> str:
    """Return one message for what nobody foresaw; Numba's own run over pages."""
    said = "" if isinstance(error, FencepostError) and not str(error) else str(error).strip()
    first = next((line.strip() for line in said.splitlines() if line.strip()), "no message")
    kind = type(error).__name__
    origin = "the model could not be compiled" if type(error).__module__.startswith("numba") else "something unforeseen failed"
    return (
        f"{origin}: {kind}: {first[:300]}\nThis is a defect of Fencepost: please report it with the command that you gave"
        + ("." if debugging() else "; FENCEPOST_DEBUG=1 shows where it happened.")
    )


def debugging() -> bool:
    """Say whether tracebacks are asked for."""
    return os.environ.get("FENCEPOST_DEBUG", "") not in ("", "0")


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
