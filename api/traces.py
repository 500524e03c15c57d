"""The one place where the command line meets counterexamples: make a trace of a finding, and print it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from fencepost.invariants.catalogue import values_of
from fencepost.invariants.protocols import protocol

if TYPE_CHECKING:
    from pathlib import Path as File

    from fencepost.counterexamples.trace import Trace
    from fencepost.explorers.verdict import Path, PropertyResult, Result
    from fencepost.invariants.catalogue import Run
    from fencepost.invariants.protocols import Protocol
    from fencepost.model.language.constants import Constants
    from fencepost.model.language.errors import DomainError
    from rich.console import Console, RenderableType


WIDTH = 100
"""Columns of a page that does not go to a terminal: what fits a build's log and a mail."""


def make_trace(
    found: Protocol,
    result: Result,
    prop: str | None,
    *,
    version: str = "",
    normalize: bool = True,
    title: str = "",
    told: bool = True,
) -> Trace:
    """Return the trace of a property's path, or of the deadlock if `prop` is None; `told` adds source and reason."""
    from fencepost.counterexamples.trace import trace_of

    source = found.machine.source if told else ""
    why = next((item.sentence for item in found.properties if told and item.name == prop), "")
    return trace_of(
        result, prop, title=title, source=source, why=why, version=version, normalize=normalize, lookup=lambda _: found
    )


def culprits_of(found: Protocol, result: Result, *, normalize: bool) -> dict[str, str]:
    """Return for each violated property the values for which it is: `leader=1, offset=0`; empty where none decides."""
    from fencepost.counterexamples.culprit import culprit

    told = {}
    for item in result.properties:
        if item.path is not None and item.verdict == "violated":
            trace = make_trace(found, result, item.name, normalize=normalize, told=False)
            told[item.name] = trace.args_told or str(culprit(trace, item.path) or "")
    return told


def finding(trace: Trace, path: Path) -> str:
    """Return what a trace shows with the values for which it does."""
    from fencepost.counterexamples.culprit import violated_for

    return violated_for(trace, path)


def diagram_of(found: Protocol, result: Result, prop: str, *, normalize: bool) -> str:
    """Return the sequence diagram of a property's trace as Mermaid text; empty if it has none."""
    from fencepost.counterexamples.render import render
    from fencepost.counterexamples.replay import follow

    if result.of(prop).path is None:
        return ""
    return render("mermaid", follow(make_trace(found, result, prop, normalize=normalize)))


def trace_of_path(
    found: Protocol, constants: Constants, prop: str, path: Path, *, version: str = "", normalize: bool = True
) -> Trace:
    """Return the trace of a property's path, with the source and the reason that belong to it."""
    from fencepost.counterexamples.trace import trace_of_path as made

    why = next((item.sentence for item in found.properties if item.name == prop), "")
    return made(found, constants, prop, path, source=found.machine.source, why=why, version=version, normalize=normalize)


def way_of(found: Protocol, constants: Constants, error: DomainError, *, normalize: bool) -> str:
    """Return the state in which a model left a domain, and the steps that lead there; empty if the error tells no state."""
    from fencepost.counterexamples.history import way_text
    from fencepost.counterexamples.trace import Trace
    from fencepost.explorers.verdict import Path

    if not error.states:
        return ""
    trace = Trace(found.name, found, constants, None, error.steps, normalize=normalize)
    return way_text(trace, Path(error.states[0], error.steps, error.states))


def bare(console: Console, content: RenderableType) -> str:
    """Return what Rich lays out as text, without the blanks that it fills lines with."""
    with console.capture() as caught:
        console.print(content)
    return "".join(f"{line.rstrip()}\n" for line in caught.get().splitlines())


def trace_text(trace: Trace, path: Path) -> str:
    """Return what `print_trace` prints, without colours, for a file."""
    from fencepost.counterexamples.text import render
    from rich.console import Console

    return bare(Console(width=WIDTH, no_color=True, force_terminal=False, highlight=False), render(trace, path))


def write_trace(trace: Trace, file: File) -> None:
    """Write a trace file; raise UsageError if it cannot be written."""
    from fencepost.counterexamples.replay import write

    write(file, trace)


def archived(run: Run, prop: str) -> str:
    """Return the archived trace for a violation in a run as the repository names it; empty if there is none.

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


def to_be_written(result: Result) -> PropertyResult | None:
    """Return the property whose trace `--trace` writes: the first violation's, or else the first worst case."""
    worst = (item for item in result.properties if item.cost is not None and item.path is not None)
    return first_violation(result) or next(worst, None)


def first_violation(result: Result) -> PropertyResult | None:
    """Return the violated property with the shortest trace, the first in order among equals."""
    violated = [item for item in result.properties if item.verdict == "violated" and item.path is not None]
    return min(violated, key=lambda item: item.path.length if item.path else 0, default=None)
