"""Source lines and names from a model's file, for use in messages: the line of a field, the alias of a domain."""

import linecache
import os
import re
import sys
import typing
from collections.abc import Mapping, Sequence
from typing import Annotated, NamedTuple

from fencepost.model.language.domains import Index, Linear, domain_of


class OwnNames(NamedTuple):
    """A module's name for numbered things, and the number of these things."""

    alias: str = "Broker"
    many: str = "C.brokers"

    @property
    def one(self) -> str:
        """Return the singular name of a thing, such as `broker`."""
        return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", self.alias).lower()


def own_names(module: Mapping[str, object]) -> OwnNames:
    """Return a module's alias for numbered things, or an example if the module has no such alias."""
    aliases = ((name, domain_of(item)) for name, item in module.items() if typing.get_origin(item) is Annotated)
    found = ((name, domain) for name, domain in aliases if isinstance(domain, Index) and domain.low == 0)
    return next((OwnNames(name, as_declared(domain.count)) for name, domain in found), OwnNames())


def alias_for(module: Mapping[str, object], parameter: str) -> str:
    """Return the alias in a module that is named like a parameter, or `...`."""
    wanted = parameter.replace("_", "").lower()
    known = (name for name, item in module.items() if name.lower() == wanted and typing.get_origin(item) is Annotated)
    return next(known, "...")


def as_declared(number: Linear | int) -> str:
    """Return a sum of constants in the form of a declaration."""
    return number.source().strip("()").replace("c.", "C.") if isinstance(number, Linear) else str(number)


def in_class(module: str, owner: str, name: str, said: str) -> str:
    """Return a message about a class or a name in its body, with the location if the source is available."""
    if "^" in said:
        return said  # a field of a nested record
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    found = at_line(file, [rf"\s*class {owner}\b", *([rf"\s+{name}\s*[:=]"] if name else [])], said)
    future = "from __future__ import annotations"
    return (at_line(file, [future], said) if found and future in said else found) or said


def at_line(file: str, wanted: Sequence[str] | int, said: str) -> str:
    """Return a message with the file, the line and carets, or an empty string if the line cannot be found.

    A line is given by its number or by patterns: each pattern matches the first line after the previous match.
    """
    linecache.checkcache(file)
    lines = linecache.getlines(file)
    number = wanted - 1 if isinstance(wanted, int) else 0
    for pattern in wanted if not isinstance(wanted, int) else ():
        number = next(
            (number + place for place, line in enumerate(lines[number:]) if re.match(pattern, line)), len(lines)
        )
    if not number < len(lines):
        return ""
    line = lines[number].strip()
    return f"{path_shown(file)}:{number + 1}: {said}\n  {line}\n  {'^' * len(line)}"


def path_shown(file: str) -> str:
    """Return a file's path, relative to the working folder if the file is inside it."""
    path = os.path.relpath(file)
    return file if path.startswith("..") else path
