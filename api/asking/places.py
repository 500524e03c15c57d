"""Where in a model an error comes from: the file and line that a user can mend."""

from __future__ import annotations

import linecache
import re
import sys
import traceback
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from fencepost.model.language.errors import FencepostError, ModelError
from fencepost.model.language.own_names import at_line
from fencepost.model.language.trees import USER_MODULE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType, TracebackType

_OURS = (
    "fencepost.model.language",
    "fencepost.explorers",
    "fencepost.counterexamples",
    "fencepost.api",
    "fencepost.testing",
    "fencepost.cli",
    "fencepost_native_",
)
"""Modules that run models, and hold none."""


@contextmanager
def errors_of_models() -> Iterator[None]:
    """Raise ModelError, with its file and line, for an error in the code of a user's own model."""
    try:
        yield
    except FencepostError:
        raise
    except Exception as error:
        raise of_model(error) from error


def of_model(error: Exception) -> Exception:
    """Return the error itself, or a ModelError that says where it is in a user's own model."""
    if not _raised_by_user(error):
        return error
    return ModelError(placed(error, "The model has to be defined for every state: guard what fails."))


def placed(error: BaseException, instead: str = "") -> str:
    """Return an error's message with its place in the model, file, line and caret; `instead` ends the message."""
    said = str(error)
    if not isinstance(error, FencepostError):
        said = f"{type(error).__name__}: {said}." if said else f"{type(error).__name__}."
    said = f"{said} {instead}".rstrip()
    root = error
    while isinstance(root.__cause__, Exception):
        root = root.__cause__
    traces = [trace for trace in _traces(root.__traceback__) if _is_model(trace.tb_frame)]
    if not traces or _POINTED in said:
        return said
    number, line, caret = _text_at(traces[-1], said)
    where = f"{near(Path(traces[-1].tb_frame.f_code.co_filename))}:{number}: {said}"
    return f"{where}\n  {line}\n  {caret}" if line else where


_POINTED = "\n  "
"""The mark of a message that already shows a line of the model."""


def pointed_at_line(path: Path, pattern: str, said: str) -> str:
    """Return a message with the first line of a file that matches a pattern, or with the file's name alone."""
    return at_line(str(path.resolve()), [pattern], said) or f"{near(path)}: {said}"


def _traces(trace: TracebackType | None) -> Iterator[TracebackType]:
    while trace is not None:
        yield trace
        trace = trace.tb_next


def _text_at(trace: TracebackType, said: str) -> tuple[int, str, str]:
    """Return the number of the line that failed, its text, and carets below what failed in it.

    Of a statement over several lines that is the line with the word that the message has in quotes.
    """
    code, first = trace.tb_frame.f_code, trace.tb_lineno
    linecache.checkcache(code.co_filename)
    start, last, begin, end = next(islice(code.co_positions(), trace.tb_lasti // 2, None))
    name = re.search(r"'(\w+)'", said)
    for number in range(first, (last or first) + 1) if name and start == first else ():
        text = linecache.getline(code.co_filename, number)
        found = re.search(rf"\b{name[1]}\b", text) if name else None
        if found and last != start:
            return number, text.strip(), " " * (found.start() - len(text) + len(text.lstrip())) + "^" * len(found[0])
    text = linecache.getline(code.co_filename, first).rstrip()
    line = text.lstrip()
    indent = len(text) - len(line)
    if start != first or begin is None or end is None:  # Python leaves columns out under `-X no_debug_ranges`
        begin, end = indent, len(text)
    end = len(text) if last != start else end
    return first, line, " " * max(0, begin - indent) + "^" * max(1, end - max(begin, indent))


def near(path: Path) -> str:
    """Return a path as it is seen from the folder where the user is."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def _is_model(frame: FrameType) -> bool:
    """Return whether this is code of a model: not of Fencepost's machinery, a library or Python itself."""
    name = str(frame.f_globals.get("__name__", ""))
    foreign = name.split(".", maxsplit=1)[0] in sys.stdlib_module_names or "site-packages" in frame.f_code.co_filename
    return not foreign and not name.startswith(_OURS) and Path(frame.f_code.co_filename).is_file()


def _raised_by_user(error: Exception) -> bool:
    """Return whether the line that failed stands in a user's file."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return bool(frames) and str(frames[-1].f_globals.get("__name__", "")).startswith(USER_MODULE)
