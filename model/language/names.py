"""Checks that reject names in a model that would be ambiguous or invalid elsewhere."""

from collections.abc import Iterable
from types import WrapperDescriptorType

from fencepost.model.language.errors import ModelError


def require_trace_name(what: str, name: str) -> None:
    """Raise ModelError for a name with a leading underscore, which is reserved for the language and for Python."""
    if name.startswith("_"):
        raise ModelError(
            f"{what} is named {name!r}, and names that begin with an underscore are reserved: use another name."
        )


def require_title(what: str, name: object) -> None:
    """Raise ModelError for a name that a trace or a command line cannot represent unchanged."""
    if not (isinstance(name, str) and name and name.isprintable() and name == " ".join(name.split())):
        raise ModelError(
            f"{what} is named {name!r}, which cannot be written in a trace: write one line of text, without "
            "leading, trailing or repeated blanks."
        )


def require_distinct_spellings(what: str, names: Iterable[str]) -> None:
    """Raise ModelError for names that look equal, or that a command line, JSON or a trace could not reproduce."""
    seen: dict[str, str] = {}
    for name in names:
        if not name.isidentifier():
            raise ModelError(f"{what}: {name!r} cannot be written in a trace: write a name such as STAND_BY.")
        shown = name.lower().replace("_", "-")
        if shown in seen:
            raise ModelError(f"{what}: {seen[shown]!r} and {name!r} both appear as {shown!r} in a trace: rename one.")
        seen[shown] = name


OPERATORS = {name for name, item in vars(int).items() if isinstance(item, WrapperDescriptorType)} - {
    "__getattribute__",
    "__hash__",
    "__repr__",
}


def own_operator(kind: type[int]) -> str:
    """Return an operator that a subclass of int overrides, or an empty string if it overrides none."""
    own = (base for base in kind.__mro__[: kind.__mro__.index(int)] if base.__module__ not in ("builtins", "enum"))
    return next((name for base in own for name in vars(base) if name in OPERATORS), "")


def require_usable_names(what: str, kind: type[int]) -> None:
    """Raise ModelError for a class whose numbers do not add or compare like whole numbers."""
    if name := own_operator(kind):
        raise ModelError(
            f"{what} defines {name}, but engines have only the operators of whole numbers: remove the definition."
        )
