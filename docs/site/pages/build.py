"""All pages that are built: from the catalogue, the models and the figures alone, so a page that differs from it is stale."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.site.pages import checks, coverage, guarantees
from fencepost.site.pages.markdown import text_of
from fencepost.site.pages.tables import MARK, with_tables

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

OWN = ("checks/", "guarantees/")
"""The folders of which every page is built."""
HISTORIES = {
    "findings/hyp-10.html": "replication-hyp-10-cancelled.trace",
    "findings/hyp-11.html": "replication-hyp-11.trace",
}
"""Pages that show a history step by step, and its archived trace: `fencepost show --format html`, without trying something else."""


def whole_pages() -> dict[str, str]:
    """Return the text of every page that is built as a whole, by its path."""
    made = {**guarantees.pages(), "coverage.md": coverage.page(), **checks.pages()}
    return {name: text_of(lines) for name, lines in made.items()}


def pages(folder: Path | None = None) -> dict[str, str]:
    """Return the text of every built page by its path, and of the pages in the folder whose tables are built."""
    made = whole_pages()
    if folder is not None:
        for file in sorted(folder.rglob("*.md")):
            name, text = file.relative_to(folder).as_posix(), file.read_text("utf-8")
            if name not in made and MARK in text and not name.startswith(OWN):
                made[name] = with_tables(text, name)
        made |= {name: _history(trace) for name, trace in HISTORIES.items() if (folder / name).is_file()}
    return made


def left_over(folder: Path, made: Mapping[str, str]) -> list[str]:
    """Return the pages in folders of which every page is built, that are not built any more."""
    there = (file.relative_to(folder).as_posix() for part in OWN for file in sorted((folder / part).rglob("*.md")))
    return [name for name in there if name not in made]


def _history(file: str) -> str:
    """Return the page of an archived trace."""
    from fencepost.counterexamples.render.html import render
    from fencepost.counterexamples.replay import replay
    from fencepost.counterexamples.trace import ARCHIVE

    return render(replay(ARCHIVE / file))
