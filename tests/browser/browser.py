"""A headless Chromium for the tests of pages; without its driver they are skipped at import."""

import os
import shutil
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fencepost.counterexamples.browser.serving import HOST, server

driver = pytest.importorskip("playwright.sync_api", reason="the driver of browsers is missing: run `tox -e reports`")
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
BROWSER = os.environ.get("FENCEPOST_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
MARKS = [
    pytest.mark.skipif(BROWSER is None, reason="no Chromium was found: install it, or set FENCEPOST_CHROMIUM"),
    pytest.mark.xdist_group("browser"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with driver.sync_playwright() as play:
        started = play.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield started
        started.close()


@contextmanager
def served(folder: Path) -> Iterator[str]:
    with server(folder) as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield f"http://{HOST}:{made.server_port}/"
        made.shutdown()


class Tab:
    """An open page, with its requests and console errors."""

    def __init__(self, browser: Any, address: str, **options: Any) -> None:
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.asked: list[str] = []
        self.said: list[str] = []
        self.context.on("request", lambda request: self.asked.append(request.url))
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("response", lambda it: self.said.append(f"{it.status} {it.url}") if it.status >= 400 else None)
        self.page.goto(address)

    def elsewhere(self, address: str) -> list[str]:
        return [url for url in self.asked if not url.startswith((address, "data:", "blob:"))]


def stands_out(page: Any, selectors: Iterable[str], behind: str) -> None:
    """Assert that text contrasts with what is behind it; `behind` shows if nothing else has a colour."""
    for selector in selectors:
        ratio = page.locator(selector).first.evaluate(CONTRAST, behind)
        assert ratio >= 4.5, (selector, ratio)


def width_of(page: Any) -> int:
    found: int = page.evaluate("document.documentElement.scrollWidth")
    return found


CONTRAST = """(item, page) => {
  const numbers = text => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
  let back = item, found = [0, 0, 0, 0];
  while (back && found.length === 4 && found[3] === 0) {
    found = numbers(getComputedStyle(back).backgroundColor);
    back = back.parentElement;
  }
  if (found.length === 4 && found[3] === 0)
    found = numbers(getComputedStyle(document.querySelector(page)).backgroundColor);
  const [a, b] = [light(numbers(getComputedStyle(item).color)), light(found)].sort((x, y) => y - x);
  return (a + .05) / (b + .05);
}"""
