"""Lines and tables that fit any terminal without breaking a name or a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fencepost.counterexamples.folding import cut
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console, ConsoleOptions, RenderableType

GAP = 2
HANG = 2


@dataclass(frozen=True)
class Folded:
    """A line that is folded between changes, words or fields of a message, never inside them."""

    text: Text

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """Yield the lines, those after the first indented."""
        for start, end in cut(self.text.plain, options.max_width, options.max_width - HANG):
            part = self.text[start:end]
            part.rstrip()
            yield Text.assemble(" " * HANG if start else "", part)


@dataclass(frozen=True)
class Sheet:
    """A table whose titles fold between words if it then fits, or else it is shown in pieces of whole columns.

    Each piece starts with the first column.
    """

    header: Sequence[str]
    rows: Sequence[tuple[Sequence[Text], str]]
    """The cells of each row, and its style."""
    header_style: str = ""

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """Yield the pieces."""
        for columns, widths in _pieces(self.widths(whole=True), self.widths(whole=False), options.max_width):
            table = Table(box=None, padding=(0, GAP, 0, 0), header_style=self.header_style, pad_edge=False)
            for place, width in zip(columns, widths, strict=True):
                table.add_column(Text(self.header[place]), overflow="fold", width=width, vertical="bottom")
            for cells, style in self.rows:
                table.add_row(*(cells[place] for place in columns), style=style)
            yield table

    def widths(self, *, whole: bool) -> list[int]:
        """Return how wide each column must be for its values, and for its title or for each word of it."""
        return [
            max(
                *(len(word) for word in ([title] if whole else title.split())),
                *(cells[place].cell_len for cells, _ in self.rows),
            )
            for place, title in enumerate(self.header)
        ]


def _pieces(whole: list[int], least: list[int], room: int) -> Iterator[tuple[list[int], list[int]]]:
    """Yield columns that fit side by side, with their widths."""
    every = list(range(len(whole)))
    gaps = GAP * (len(whole) - 1)
    if sum(whole) + gaps > room >= sum(least) + gaps:
        yield every, least
        return
    start = 1
    while start < len(whole):
        end = start + 1
        while end < len(whole) and whole[0] + sum(GAP + width for width in whole[start : end + 1]) <= room:
            end += 1
        columns = [0, *every[start:end]]
        widths = [whole[place] for place in columns]
        widths[-1] = max(1, min(widths[-1], room - sum(GAP + width for width in widths[:-1])))
        yield columns, widths
        start = end
