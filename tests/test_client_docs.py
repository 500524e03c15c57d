"""The pages on the client models say what the catalogue says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fencepost.pages.tables import CLIENT_PAGES, with_tables

DOCS = Path(__file__).parent.parent / "docs"


@pytest.mark.parametrize("name", CLIENT_PAGES)
def test_tables_are_those_of_the_catalogue(name: str) -> None:
    """If not: `python -m fencepost.pages.tables docs`."""
    text = (DOCS / name).read_text()
    assert with_tables(text, name) == text


@pytest.mark.parametrize("name", CLIENT_PAGES)
def test_links_lead_somewhere(name: str) -> None:
    page = DOCS / name
    links = re.findall(r"\]\(([^)#:]+)\)", page.read_text())
    assert links
    assert [link for link in links if not (page.parent / link).is_file()] == []


@pytest.mark.parametrize("name", CLIENT_PAGES)
def test_the_hand_written_text_quotes_no_counts(name: str) -> None:
    """Counts stand in the tables only, where they cannot go stale."""
    text = re.sub(r"<!-- cases .*?<!-- end -->", "", (DOCS / name).read_text(), flags=re.DOTALL)
    assert re.findall(r"\d,\d{3}|\d+ (?:states|steps)\b", text) == []
