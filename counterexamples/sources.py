"""Where things are written: the line of an action or a property, and the entries of the catalogue that promise it."""

from __future__ import annotations

import inspect
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fencepost.invariants.catalogue import entries, evidence
from fencepost.invariants.protocols import protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from fencepost.counterexamples.trace import Trace
    from fencepost.invariants.catalogue import Entry

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
    """Return where a function is defined: the line of its `def`, below the decorators."""
    lines, first = inspect.getsourcelines(function)
    offset = next(number for number, line in enumerate(lines) if line.lstrip().startswith("def "))
    return Place(Path(function.__code__.co_filename), first + offset)


@cache
def promises(predicate: Callable[..., bool]) -> tuple[Entry, ...]:
    """Return the guarantees that a predicate says it is, or else those that are settled by runs which judge it."""
    known = entries()
    said = re.findall(r"[A-Za-z0-9-]+", (inspect.getdoc(predicate) or "").partition(":")[0])
    named = tuple(known[word] for word in said if word in known)
    if named:
        return named
    judged = {
        item.entry
        for item in evidence().values()
        for case in item.cases
        if protocol(case.run.protocol).select((case.prop,))[0].function is predicate
    }
    return tuple(entry for entry in known.values() if entry.id in judged and entry.kind in PROMISES)


def known_as(trace: Trace) -> tuple[Entry, ...]:
    """Return the bugs and hypotheses whose runs expect this violation under the same constants."""
    if trace.prop is None:
        return ()
    machine, found = trace.protocol.machine, []
    for item in evidence().values():
        entry = entries()[item.entry]
        for case in item.cases if entry.kind in ("bug", "hypothesis") else ():
            run = case.run
            if (run.protocol, case.prop, case.expect) == (machine.name, trace.prop.name, "violated"):
                base = machine.version(run.version).values if run.version else {}
                if machine.set_constants({**base, **run.constants}) == trace.constants and entry not in found:
                    found.append(entry)
    return tuple(found)
