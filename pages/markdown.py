"""Tables in Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: Iterable[int] = ()) -> Iterator[str]:
    """Yield the lines of a table; the columns at the places in `numbers` are set to the right."""
    right = set(numbers)
    yield "| " + " | ".join(head) + " |"
    yield "| " + " | ".join("--:" if place in right else "---" for place in range(len(head))) + " |"
    for row in rows:
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"
