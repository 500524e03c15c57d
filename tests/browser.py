"""A headless Chromium for the tests that look at pages; without its driver they are skipped where this is imported."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

driver = pytest.importorskip("playwright.sync_api", reason="the driver of browsers is missing: run `tox -e reports`")
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
BROWSER = os.environ.get("FENCEPOST_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
MARKS = [
    pytest.mark.skipif(BROWSER is None, reason="no Chromium was found: install it, or set FENCEPOST_CHROMIUM"),
    pytest.mark.xdist_group("browser"),
]


@contextmanager
def chromium() -> Iterator[Any]:
    """Start the browser, and end it."""
    with driver.sync_playwright() as play:
        started = play.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield started
        started.close()


class Tab:
    """A page that is open, with what it asked for and what it complained of."""

    def __init__(self, browser: Any, address: str, **options: Any) -> None:
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.asked: list[str] = []
        self.said: list[str] = []
        self.context.on("request", lambda request: self.asked.append(request.url))
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.goto(address)
