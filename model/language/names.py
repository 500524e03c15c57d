"""Names that a model gives: what they may not be, because it would mean something else somewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.model.language.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Iterable


def look_at_name(what: str, name: str) -> None:
    """Raise ModelError for a name that begins with an underscore: such names are the language's own, and Python's."""
    if name.startswith("_"):
        raise ModelError(f"{what} is named {name!r}, and names that begin with an underscore are taken: use another name.")


def look_at_spellings(what: str, names: Iterable[str]) -> None:
    """Raise ModelError for two names that read the same on the command line, in JSON and in traces."""
    seen: dict[str, str] = {}
    for name in names:
        shown = name.lower().replace("_", "-")
        if shown in seen:
            raise ModelError(f"{what}: {seen[shown]!r} and {name!r} both read {shown!r} in a trace: rename one.")
        seen[shown] = name
