"""A trace on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.cli.views.console import print_bare

if TYPE_CHECKING:
    from fencepost.counterexamples.trace import Trace
    from fencepost.model.language.interpreter import Path
    from rich.console import Console


def print_trace(console: Console, trace: Trace, path: Path) -> None:
    """Print a trace for people: numbered steps, each with only what it changed."""
    from fencepost.counterexamples.text import render

    print_bare(console, render(trace, path))
