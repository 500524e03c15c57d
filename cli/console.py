"""Where results go: stdout, in colours if it is a terminal that wants them."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

from fencepost.explorers.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console
    from rich.text import Text

GAP = 2
"""Blanks between two columns."""
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


def print_lines(console: Console, *lines: Text | str, indent: int = 0, hanging: int = 0) -> None:
    """Print paragraphs wrapped to the width, indented; lines after the first of a paragraph by `hanging` more."""
    from rich.text import Text

    for line in lines:
        text = line if isinstance(line, Text) else Text(line)
        first = text.wrap(console, max(20, console.width - indent))[0]
        _print_bare(console, first, indent)
        rest = text[len(first.plain) :]
        rest = rest[len(rest.plain) - len(rest.plain.lstrip()) :]
        for piece in rest.wrap(console, max(20, console.width - indent - hanging)) if rest.plain else ():
            _print_bare(console, piece, indent + hanging)


def print_rows(console: Console, rows: Sequence[Sequence[Text | str]], *, indent: int = 0) -> None:
    """Print rows of columns, each as wide as its widest cell; the last column wraps under itself."""
    from rich.text import Text

    cells = [[item if isinstance(item, Text) else Text(item) for item in row] for row in rows]
    widths = [max(item.cell_len for item in column) for column in zip(*cells, strict=True)][:-1]
    for row in cells:
        head = Text()
        for item, width in zip(row, widths, strict=False):
            head += item
            head += Text(" " * (width - item.cell_len + GAP))
        print_lines(console, head + row[-1], indent=indent, hanging=head.cell_len)


def _print_bare(console: Console, line: Text, indent: int) -> None:
    """Print one line without blanks at its end."""
    line.rstrip()
    if line.plain:
        line.pad_left(indent)
    console.print(line, soft_wrap=True)


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
