"""Where results go: stdout, in colours if it is a terminal that wants them."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

from fencepost.explorers.verdict import Verdict

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

WIDTH = 100
"""Columns of a page that does not go to a terminal: what fits a build's log and a mail."""
_STYLES = {
    Verdict.HOLDS: "green",
    Verdict.PROVED: "green",
    Verdict.VIOLATED: "red",
    Verdict.UNREACHED: "yellow",
    Verdict.UNDETERMINED: "yellow",
    Verdict.NOT_FOUND: "yellow",
}


def results() -> Console:
    """Return the console for results. Rich reads NO_COLOR itself."""
    from rich.console import Console

    fixed = None if sys.stdout.isatty() or os.environ.get("COLUMNS") else WIDTH
    return Console(file=sys.stdout, highlight=False, markup=False, emoji=False, width=fixed)


def print_json(data: dict[str, Any]) -> None:
    """Print one JSON object on stdout."""
    sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False) + "\n")


def print_lines(console: Console, *lines: Text | str, indent: int = 0) -> None:
    """Print paragraphs, each wrapped to the width, all lines of it indented alike."""
    from rich.padding import Padding

    for line in lines:
        console.print(Padding(line, (0, 0, 0, indent)) if indent else line)


def styled(text: str, style: str) -> Text:
    """Return a piece of text in a style."""
    from rich.text import Text

    return Text(text, style=style)


def heading(text: str) -> Text:
    """Return the heading of a part of a page."""
    return styled(text, "bold")


def verdict_text(verdict: Verdict) -> Text:
    """Return a verdict in its colour."""
    return styled(str(verdict), f"bold {_STYLES[verdict]}")


def counted(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun: `1 state`, `12 states`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
