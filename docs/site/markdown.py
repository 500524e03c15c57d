"""The writer of Markdown: tables, and the text of a page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

Row = list[str]
Table = tuple[Row, Iterable[Row]]
"""The head of a table, and its rows."""
Figures = dict[str, Any]
"""A row as it was measured."""
Column = str | Callable[[Figures], str]
"""A format of a row's figures, or a function that makes a cell of them."""
_NUMBER = re.compile(r"\**[\d.,]*\**")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table; columns of numbers are set to the right."""
    found = list(rows)
    columns = list(zip(*found, strict=True)) or [("-",)] * len(head)
    yield row(head)
    yield row(["--:" if all(map(_NUMBER.fullmatch, column)) else "---" for column in columns])
    yield from map(row, found)


def row(cells: Sequence[str]) -> str:
    """Return a row of a table."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def number(value: int | None) -> str:
    """Return a number with commas; nothing for None."""
    return "" if value is None else f"{value:,}"


def text_of(lines: Iterable[str]) -> str:
    """Return lines as the text of a page."""
    return "\n".join(lines).rstrip("\n") + "\n"


def table_of(rows: Iterable[Figures], columns: dict[str, Column]) -> Table:
    """Return a table of rows with these columns, by their titles."""
    return list(columns), (
        [made.format(**row) if isinstance(made, str) else made(row) for made in columns.values()] for row in rows
    )
