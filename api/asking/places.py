"""Source positions of errors in a user's model, with hints on how to correct them."""

import linecache
import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from types import FrameType, TracebackType

from fencepost.model import language
from fencepost.model.language.errors import FencepostError, ModelError, nearest
from fencepost.model.language.own_names import at_line
from fencepost.model.language.trees import USER_MODULE

_OURS = (
    "fencepost.model.language", "fencepost.explorers", "fencepost.counterexamples", "fencepost.api",
    "fencepost.testing", "fencepost.cli", "fencepost_native_",
)  # fmt: skip
"""Modules that run models but do not belong to any model."""


@contextmanager
def errors_of_models() -> Iterator[None]:
    """Convert an error in the code of a user's model to a ModelError with file and line."""
    try:
        yield
    except FencepostError:
        raise
    except Exception as error:
        raise of_model(error) from error


def of_model(error: Exception) -> Exception:
    if not _raised_by_user(error):
        return error
    return ModelError(placed(error, "The model must be defined in every state. Add a guard to the step that fails."))


def placed(error: BaseException, instead: str = "") -> str:
    """Return an error's message with its position in the model (file, line and caret), followed by `instead`."""
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
"""Text that occurs only in messages that already show a line of the model."""


def pointed_at_line(path: Path, pattern: str, said: str) -> str:
    """Return a message with the first line of a file that matches a pattern, or with the file's name only."""
    return at_line(str(path.resolve()), [pattern], said) or f"{near(path)}: {said}"


def _traces(trace: TracebackType | None) -> Iterator[TracebackType]:
    while trace is not None:
        yield trace
        trace = trace.tb_next


def _text_at(trace: TracebackType, said: str) -> tuple[int, str, str]:
    """Return the failing line (in a long statement, the quoted line) as its number and text, with carets."""
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
    if start != first or begin is None or end is None:  # no columns under `-X no_debug_ranges`
        begin, end = indent, len(text)
    end = len(text) if last != start else end
    return first, line, " " * max(0, begin - indent) + "^" * max(1, end - max(begin, indent))


def near(path: Path) -> str:
    """Return a path relative to the current folder."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def _is_model(frame: FrameType) -> bool:
    name = str(frame.f_globals.get("__name__", ""))
    foreign = name.split(".", maxsplit=1)[0] in sys.stdlib_module_names or "site-packages" in frame.f_code.co_filename
    return not foreign and not name.startswith(_OURS) and Path(frame.f_code.co_filename).is_file()


def _raised_by_user(error: Exception) -> bool:
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return bool(frames) and str(frames[-1].f_globals.get("__name__", "")).startswith(USER_MODULE)


def told(error: BaseException) -> BaseException:
    """Return a model file's error without the file's path and without internals of Python's calls."""
    if isinstance(error, ImportError) and error.path and error.path in str(error):
        said = str(error).replace(f" ({error.path})", "")
        return type(error)(said).with_traceback(error.__traceback__)
    if isinstance(error, TypeError):
        return type(error)(_as_called(str(error))).with_traceback(error.__traceback__)
    return error


def _as_called(said: str) -> str:
    """Return Python's message about an incorrect call to a class, without mentioning `__init__` or `self`."""
    if ".__init__()" not in said:
        return said
    one_less = re.compile(r"takes (\d+) positional arguments? but (\d+)")
    counted = one_less.sub(lambda found: f"takes {int(found[1]) - 1} positional but {int(found[2]) - 1}", said)
    return counted.replace(".__init__()", "()")


def instead_of(error: BaseException) -> str:
    """Return a hint for a model file that raises an error."""
    found = re.search(r"name '(\w+)'", str(error))
    word = found[1] if found else ""
    known = language.__all__
    if isinstance(error, NameError) and word in known:
        return f"Import it: from fencepost.model.language import {word}."
    if isinstance(error, NameError) and word == "c":
        return (
            "In a model's declarations, write C.name: C is the class that declares the constants, and c holds their "
            "values during a run."
        )
    if isinstance(error, NameError):
        return INSTEAD.get(word, "Define the name above, or import it.")
    if isinstance(error, ImportError) and error.name == language.__name__ and word:
        return f"The language has no such name.{nearest(word, known)}"
    if isinstance(error, ImportError) and word in known:
        return f"Import it from the language package: from fencepost.model.language import {word}."
    if isinstance(error, TypeError) and "'meaning'" in str(error):
        return 'Every constant needs a meaning: write bound(2, low=0, high=4, meaning="...").'
    called = re.match(r"(\w+)(?:\.__init__)?\(\) (missing|takes|got)", str(error))
    if isinstance(error, TypeError) and called and called[1] in CALLS:
        return f"Write {CALLS[called[1]]}."
    return "Python must be able to run the file before the model can be read."


def against(error: FencepostError) -> str:
    """Return a hint for an error in a model's step, or an empty string if the message already contains one."""
    return next((advice for sign, advice in OUTSIDE.items() if sign in str(error)), "")


OUTSIDE = {
    "is out of its domain": "Guard the step with require(...), or give the field a larger domain.",
    "NONE used as an index": "Guard the step with require(... != NONE), or test for NONE with `if`, before using it.",
    "is outside the array": "Guard the step with require(...), or make the array longer.",
    "there is no message": "Guard the step with require(...), or test it with `if`, before using the message.",
    "is empty": "Guard the step with require(len(...) > 0).",
}
"""Hints for errors in a step, by words in the error message."""

INSTEAD = {
    "Enum": "Enum members must be integers: write `from enum import IntEnum`, and a class that subclasses IntEnum.",
    "dataclass": "Write a class that subclasses Record, without @dataclass.",
    "Annotated": "Import it: from typing import Annotated.",
    "IntEnum": "Import it: from enum import IntEnum.",
    **dict.fromkeys(("Optional", "typing"), "NONE must be in the domain: write Annotated[int, Index(n, none=True)]."),
    **dict.fromkeys(("List", "Tuple"), "Write Annotated[Array[element], Size(n)], which has a fixed length."),
    "Dict": "Write an array with one element per key: Annotated[Array[value], Per(Key)].",
    "Set": "Write Annotated[int, BitSet(n)], a set of numbers below n.",
}
"""Hints for names that a model file does not define."""

CALLS = {
    "Range": "Range(low, high), with both bounds: for example, Range(0, 3)",
    "Index": "Index(n), where n is the number of values, starting at 0; none=True adds NONE",
    "BitSet": "BitSet(n), the number of possible members",
    "Size": "Size(n), the fixed length",
    "Per": "Per(Alias), an alias of an Index",
    "InFlight": 'InFlight("bag"), the name of a bag in the state',
    "Machine": 'Machine("name", "What it is.", State, C, initial, (an_action, another))',
    "leads_to": 'leads_to("name", "What must happen.", when=..., then=..., fair=(weak(an_action),))',
    "eventually": 'eventually("name", "What must happen.", then=..., fair=(weak(an_action),))',
    "at_most": (
        'at_most("name", "What it costs.", costs={an_action: 1}, bound=..., when=..., then=..., '
        "fair=(weak(an_action),))"
    ),
    "switch": 'switch(default=False, meaning="...")',
    "choice": 'choice(Kind.FIRST, meaning="...")',
    **dict.fromkeys(("shape", "capacity", "bound"), 'bound(2, low=0, high=4, meaning="..."), with its limits by name'),
}
"""Hints for calls that lack an argument, by name."""


def in_place_of(error: SyntaxError) -> str:
    """Return a hint for a file that Python cannot parse."""
    for sign, word in (("&&", "and"), ("||", "or")):
        if sign in (error.text or ""):
            return f"write `{word}` instead of `{sign}`"
    if isinstance(error, IndentationError):
        return "indent the line like those around it"
    if "Maybe you meant '=='" in error.msg or 'meant "=="' in error.msg:
        return "write `==` to compare"
    if error.msg.startswith("expected ':'"):
        return "end the line with a colon"
    return "correct the line so that Python can parse it"
