"""Traces of paths, as text and in files, and those that are archived for runs of the catalogue."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from fencepost.invariants.catalogue import values_of
from fencepost.invariants.protocols import protocol

if TYPE_CHECKING:
    from fencepost.counterexamples.trace import Trace
    from fencepost.invariants.catalogue import Run
    from fencepost.invariants.protocols import Protocol
    from fencepost.model.language.constants import Constants
    from fencepost.model.language.errors import DomainError
    from fencepost.model.language.interpreter import Path
    from rich.console import Console, RenderableType


WIDTH = 100
"""Columns of a page that does not go to a terminal: what fits a build's log and a mail."""


def trace_of_path(found: Protocol, constants: Constants, prop: str | None, path: Path, **more: Any) -> Trace:
    """Return the trace of a property's path, with its source and its reason; `more` as in `counterexamples.trace`."""
    from fencepost.counterexamples.trace import trace_of_path as made

    why = next((item.sentence for item in found.properties if item.name == prop), "")
    return made(found, constants, prop, path, **{"source": found.machine.source, "why": why, **more})


def way_of(found: Protocol, constants: Constants, error: DomainError, *, normalize: bool) -> str:
    """Return the state in which a model left a domain, with the steps to it; empty if the error has no state."""
    from fencepost.counterexamples.history import way_text
    from fencepost.counterexamples.trace import Trace
    from fencepost.model.language.interpreter import Path

    if not error.states:
        return ""
    trace = Trace(found.name, found, constants, None, error.steps, normalize=normalize)
    return way_text(trace, Path(error.states[0], error.steps, error.states))


def bare(console: Console, content: RenderableType) -> str:
    """Return Rich's layout as text, without the blanks that it fills lines with."""
    with console.capture() as caught:
        console.print(content)
    return "".join(f"{line.rstrip()}\n" for line in caught.get().splitlines())


def trace_text(trace: Trace, path: Path) -> str:
    """Return the output of `print_trace`, without colours, for a file."""
    from fencepost.counterexamples.text import render
    from rich.console import Console

    return bare(Console(width=WIDTH, no_color=True, force_terminal=False, highlight=False), render(trace, path))


def archived(run: Run, prop: str) -> str:
    """Return the archived trace for a violation in a run as the repository names it; empty without one.

    The archive has one trace for each protocol and property: it belongs to the run only if the constants are the same.
    """
    from fencepost.counterexamples.trace import ARCHIVE

    name = run.traces.get(prop, "")
    if not name or not (ARCHIVE / name).is_file():
        return ""
    same = _constants_in(name) == protocol(run.protocol).machine.set_constants(values_of(run))
    return f"counterexamples/archive/{name}" if same else ""


@cache
def _constants_in(name: str) -> Constants:
    """Return the constants of an archived trace; each file is read once."""
    from fencepost.counterexamples.reader import read
    from fencepost.counterexamples.trace import ARCHIVE

    return read(ARCHIVE / name).trace.constants
