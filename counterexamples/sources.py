"""Where things are written: the line of an action or a property, and the entries of the catalogue that promise it."""

from __future__ import annotations

import inspect
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fencepost.invariants.catalogue import entries, evidence, values_of
from fencepost.invariants.protocols import protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from fencepost.counterexamples.trace import Trace
    from fencepost.invariants.catalogue import Entry
    from fencepost.model.language.actions import Property

PROMISES = ("always", "step", "leads-to", "bound")
"""The kinds of entries that promise something."""


class Place(NamedTuple):
    """A line of a file; the line is counted from 1."""

    file: Path
    line: int

    @property
    def shown(self) -> str:
        """The place as messages name it: from the folder where the user is, or else the end of the path."""
        return f"{near(self.file)}:{self.line}"


def near(file: Path) -> str:
    """Return a path from the folder where the user is, if the file is in it."""
    return file.relative_to(Path.cwd()).as_posix() if file.is_relative_to(Path.cwd()) else file.as_posix()


@cache
def place_of(function: Callable[..., Any]) -> Place:
    """Return where a function is defined: the line of its `def`, below the decorators, or that of a lambda."""
    lines, first = inspect.getsourcelines(function)
    offset = next((number for number, line in enumerate(lines) if line.lstrip().startswith("def ")), 0)
    return Place(Path(function.__code__.co_filename), first + offset)


def promises(prop: Property) -> tuple[Entry, ...]:
    """Return the guarantees that a property says it is, or else those that are settled by runs which judge it."""
    known = entries()
    said = re.findall(r"[A-Za-z0-9-]+", (prop.text or inspect.getdoc(prop.function) or "").partition(":")[0])
    named = tuple(known[word] for word in said if word in known)
    return named or tuple(known[entry] for judged, entry in _judged() if judged is prop and known[entry].kind in PROMISES)


@cache
def _judged() -> tuple[tuple[Property, str], ...]:
    """Return every property that a run judges with the id of the entry that the run settles, each pair once."""
    found = {}
    for item in evidence().values():
        for case in item.cases:
            prop = protocol(case.run.protocol).select((case.prop,))[0]
            found[id(prop), item.entry] = prop, item.entry
    return tuple(found.values())


def known_as(trace: Trace) -> tuple[Entry, ...]:
    """Return the bugs and hypotheses whose runs expect this violation under the same constants."""
    if trace.prop is None:
        return ()
    machine, found = trace.protocol.machine, []
    for item in evidence().values():
        entry = entries()[item.entry]
        for case in item.cases if entry.kind in ("bug", "hypothesis") else ():
            expected = (case.run.protocol, case.prop, case.expect) == (machine.name, trace.prop.name, "violated")
            if expected and entry not in found and machine.set_constants(values_of(case.run)) == trace.constants:
                found.append(entry)
    return tuple(found)
