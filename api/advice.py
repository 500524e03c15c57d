"""What to write instead where the file of a model does not run: by the names that people try first."""

from __future__ import annotations

import re

from fencepost.model import language
from fencepost.model.language.errors import nearest


def told(error: BaseException) -> BaseException:
    """Return an error of a file without the paths of this machine."""
    if isinstance(error, ImportError) and error.path and error.path in str(error):
        said = str(error).replace(f" ({error.path})", "")
        return type(error)(said).with_traceback(error.__traceback__)
    return error


def instead_of(error: BaseException) -> str:
    """Return what to write where a model file does not run."""
    found = re.search(r"name '(\w+)'", str(error))
    word = found[1] if found else ""
    known = language.__all__
    if isinstance(error, NameError) and word in known:
        return f"Import it: from fencepost.model.language import {word}."
    if isinstance(error, NameError) and word == "c":
        return "Where a model is declared, write C.name: the class declares the constants, and c has their values in a run."
    if isinstance(error, NameError):
        return INSTEAD.get(word, "Define it above, or import it.")
    if isinstance(error, ImportError) and error.name == language.__name__ and word:
        return f"The language has no such name.{nearest(word, known)}"
    if isinstance(error, TypeError) and "'meaning'" in str(error):
        return 'Every constant says what it means: write bound(2, low=0, high=4, meaning="...").'
    return "The file must run before its model can be read."


INSTEAD = {
    "Enum": "Members of an enum are numbers: write `from enum import IntEnum`, and a class that subclasses IntEnum.",
    "dataclass": "Write a class that subclasses Record, without @dataclass.",
    "Annotated": "Import it: from typing import Annotated.",
    "IntEnum": "Import it: from enum import IntEnum.",
    "Optional": "NONE is a value of a domain: write Annotated[int, Index(C.brokers, none=True)].",
}
"""What to write where a name is not defined in a model file."""
