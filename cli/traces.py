"""The one place where the command line meets counterexamples: make a trace of a finding, and print it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.cli.failures import write_text

if TYPE_CHECKING:
    from pathlib import Path as File

    from fencepost.counterexamples.trace import Trace
    from fencepost.explorers.verdict import Path, PropertyResult, Result
    from fencepost.invariants.protocols import Protocol


def make_trace(found: Protocol, result: Result, prop: str | None, *, version: str = "", normalize: bool = True) -> Trace:
    """Return the trace of a property's path; of the deadlock if `prop` is None."""
    from fencepost.counterexamples.trace import trace_of

    source = found.machine.source
    why = next((item.sentence for item in found.properties if item.name == prop), "")
    return trace_of(
        result, prop, source=source, why=why, version=version, normalize=normalize, lookup=lambda _: found
    )


def show_trace(trace: Trace, path: Path) -> str:
    """Return a trace for people: numbered steps, each with only what it changed."""
    from fencepost.counterexamples.states import states_text

    return states_text(trace, path)


def write_trace(trace: Trace, path: Path, file: File) -> None:
    """Write a trace file; raise UsageError if it cannot be written."""
    from fencepost.counterexamples.states import states_text

    write_text(file, trace.head() + states_text(trace, path))


def archived(name: str) -> str:
    """Return the archived trace of this file name as the repository names it, or an empty string if there is none."""
    from fencepost.counterexamples.trace import ARCHIVE

    return f"counterexamples/archive/{name}" if (ARCHIVE / name).is_file() else ""


def first_violation(result: Result) -> PropertyResult | None:
    """Return the violated property with the shortest trace, the first in order among equals."""
    violated = [item for item in result.properties if item.verdict == "violated" and item.path is not None]
    return min(violated, key=lambda item: item.path.length if item.path else 0, default=None)
