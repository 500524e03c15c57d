"""The pages of the documentation, built once in each process, for tests that change nothing of what they are built
from."""

from __future__ import annotations

from functools import cache

import pytest
from fencepost.site import pages


@cache
def built() -> dict[str, str]:
    """Return the pages; do not change them."""
    return pages.whole_pages()


@pytest.fixture
def built_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands in this process write these pages, and compare with them."""
    made = built()
    monkeypatch.setattr(pages, "whole_pages", lambda: dict(made))
