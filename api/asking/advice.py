"""Advice on what to write instead where the file of a model does not run: by the names that people try first."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fencepost.model import language
from fencepost.model.language.errors import nearest

if TYPE_CHECKING:
    from fencepost.model.language.errors import FencepostError


def told(error: BaseException) -> BaseException:
    """Return an error of a file without the paths of this machine."""
    if isinstance(error, ImportError) and error.path and error.path in str(error):
        said = str(error).replace(f" ({error.path})", "")
        return type(error)(said).with_traceback(error.__traceback__)
    if isinstance(error, TypeError):
        return type(error)(_as_called(str(error))).with_traceback(error.__traceback__)
    return error


def _as_called(said: str) -> str:
    """Return Python's message on a call of a class, without `__init__` and without counting the object."""
    if ".__init__()" not in said:
        return said
    one_less = re.compile(r"takes (\d+) positional arguments? but (\d+)")
    counted = one_less.sub(lambda found: f"takes {int(found[1]) - 1} by position but {int(found[2]) - 1}", said)
    return counted.replace(".__init__()", "()")


def instead_of(error: BaseException) -> str:
    """Return the advice for a model file that does not run."""
    found = re.search(r"name '(\w+)'", str(error))
    word = found[1] if found else ""
    known = language.__all__
    if isinstance(error, NameError) and word in known:
        return f"Import it: from fencepost.model.language import {word}."
    if isinstance(error, NameError) and word == "c":
        return (
            "Where a model is declared, write C.name: the class declares the constants, and c has their values in a "
            "run."
        )
    if isinstance(error, NameError):
        return INSTEAD.get(word, "Define it above, or import it.")
    if isinstance(error, ImportError) and error.name == language.__name__ and word:
        return f"The language has no such name.{nearest(word, known)}"
    if isinstance(error, ImportError) and word in known:
        return f"Import it from the language: from fencepost.model.language import {word}."
    if isinstance(error, TypeError) and "'meaning'" in str(error):
        return 'Every constant says what it means: write bound(2, low=0, high=4, meaning="...").'
    called = re.match(r"(\w+)(?:\.__init__)?\(\) (missing|takes|got)", str(error))
    if isinstance(error, TypeError) and called and called[1] in CALLS:
        return f"Write {CALLS[called[1]]}."
    return "The file must run before its model can be read."


def against(error: FencepostError) -> str:
    """Return the advice against an error in a step of a model, empty if its message has it already."""
    return next((advice for sign, advice in OUTSIDE.items() if sign in str(error)), "")


OUTSIDE = {
    "is out of its domain": "Guard the step with require(...), or give the field a larger domain.",
    "NONE used as an index": "Guard the step with require(... != NONE), or ask for NONE with `if`, before it is used.",
    "is outside the array": "Guard the step with require(...), or make the array longer.",
    "there is no message": "Guard the step with require(...), or ask with `if`, before it is used.",
    "is empty": "Guard the step with require(len(...) > 0).",
}
"""Advice against an error in a step, by words of its message."""

INSTEAD = {
    "Enum": "Members of an enum are numbers: write `from enum import IntEnum`, and a class that subclasses IntEnum.",
    "dataclass": "Write a class that subclasses Record, without @dataclass.",
    "Annotated": "Import it: from typing import Annotated.",
    "IntEnum": "Import it: from enum import IntEnum.",
    **dict.fromkeys(("Optional", "typing"), "NONE is a value of a domain: write Annotated[int, Index(n, none=True)]."),
    **dict.fromkeys(("List", "Tuple"), "Write Annotated[Array[element], Size(n)], of a fixed length."),
    "Dict": "Write an array with an element for each key: Annotated[Array[value], Per(Key)].",
    "Set": "Write Annotated[int, BitSet(n)], a set of n numbered things.",
}
"""Advice on a name that is not defined in a model file."""

CALLS = {
    "Range": "Range(low, high), with both ends, such as Range(0, 3)",
    "Index": "Index(n), the number of things, which count from 0; NONE too with none=True",
    "BitSet": "BitSet(n), the number of things",
    "Size": "Size(n), one length",
    "Per": "Per(Alias), an alias of an Index",
    "InFlight": 'InFlight("bag"), the name of a bag of the state',
    "Machine": 'Machine("name", "What it is.", State, C, initial, (an_action, another))',
    "leads_to": 'leads_to("name", "What must come.", when=..., then=..., fair=(weak(an_action),))',
    "eventually": 'eventually("name", "What must come.", then=..., fair=(weak(an_action),))',
    "at_most": (
        'at_most("name", "What it costs.", costs={an_action: 1}, bound=..., when=..., then=..., '
        "fair=(weak(an_action),))"
    ),
    "switch": 'switch(default=False, meaning="...")',
    "choice": 'choice(Kind.FIRST, meaning="...")',
    **dict.fromkeys(("shape", "capacity", "bound"), 'bound(2, low=0, high=4, meaning="..."), with its ends by name'),
}
"""Advice on a call of the language that lacks an argument."""


def in_place_of(error: SyntaxError) -> str:
    """Return the advice for a file that Python cannot parse."""
    for sign, word in (("&&", "and"), ("||", "or")):
        if sign in (error.text or ""):
            return f"write `{word}` in the place of `{sign}`"
    if isinstance(error, IndentationError):
        return "indent the line as those around it"
    if "Maybe you meant '=='" in error.msg or 'meant "=="' in error.msg:
        return "write `==` to compare"
    if error.msg.startswith("expected ':'"):
        return "end the line with a colon"
    return "write what Python can read there"
