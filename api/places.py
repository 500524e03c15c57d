"""Where in a model an error comes from: the file and line that a user can mend."""

from __future__ import annotations

import sys
import traceback
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from fencepost.model.language.errors import FencepostError, ModelError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

USER_MODULE = "fencepost_user_"
"""How the names of modules begin that are users' files."""
_OURS = (
    "fencepost.model.language",
    "fencepost.explorers",
    "fencepost.counterexamples",
    "fencepost.api",
    "fencepost.testing",
    "fencepost.cli",
    "fencepost_native_",
)
"""Modules that run models and are none."""


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
    return ModelError(f"{placed(error, named=True)}. The model has to be defined for every state: guard what fails.")


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
