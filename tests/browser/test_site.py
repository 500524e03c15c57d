"""The whole site: built from this clone, its links followed, its numbers compared with the figures, looked at in a
browser.

`tox -e site` builds it, and runs this; FENCEPOST_SITE names one that is built already.
"""

import json
import os
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from fencepost.api.topics.advice_words import headline
from fencepost.api.topics.advising import advise
from fencepost.api.topics.measured import cells
from fencepost.counterexamples.browser.book import stories
from fencepost.counterexamples.browser.links import read as read_link
from fencepost.counterexamples.browser.session import Session
from fencepost.counterexamples.browser.setting import set_up
from fencepost.counterexamples.browser.view import VIOLATED
from fencepost.counterexamples.reader import read
from fencepost.counterexamples.trace import ARCHIVE
from fencepost.explorers.program.removal import guards
from fencepost.invariants.catalogue import entries, runs
from fencepost.invariants.protocols import PROTOCOLS
from fencepost.site.places import of_action, of_entry, of_guard, of_property, of_run, of_trace, rendered

from tests.browser.browser import MARKS, Tab, browser, served, width_of  # noqa: F401 (a fixture)
from tests.helpers.places import ROOT

pytest.importorskip("material", reason="pip install 'fencepost[site]'")
pytestmark = [*MARKS, pytest.mark.long]

MOST_BYTES = 60_000_000
WIDTHS, SCHEMES = (390, 820, 1440), ("light", "dark")
SCRIPTED = ("explore/index.html", "settings.html")
"""Pages on which what follows `#` is read by a script."""
PAGES = (
    "index.html", "settings.html", "kafka/losing-data.html", "protocols/replication.html", "runs/replication.html",
    "traces.html", "guarantees/kip-903.html", "kafka/findings.html", "checks/replication.html",
    "traces/replication-b09-kip-903.html",
)  # fmt: skip


ADDRESSES = {"href", "src", "data", "poster", "action"}


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.anchors: set[str] = set()
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value is None:
                continue
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value)
            elif name in ADDRESSES:
                self.links.add(value)
                if tag not in ("a", "form"):
                    self.loaded.add(value)


def broken(folder: Path, *, scripted: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield every broken link with its page; anchors on `scripted` pages are not checked."""
    pages = {file: Page(file.read_text("utf-8")) for file in sorted(folder.rglob("*.html"))}
    for file, page in pages.items():
        for link in sorted(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            to = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            to = to / "index.html" if to.is_dir() else to
            place = to.relative_to(folder.resolve()).as_posix() if to.is_relative_to(folder.resolve()) else ""
            anchor = unquote(parts.fragment)
            if not to.is_file() or not place:
                yield f"{file.relative_to(folder)}: {link}"
            elif anchor and to in pages and place not in scripted and anchor not in pages[to].anchors:
                yield f"{file.relative_to(folder)}: {link} (no such anchor)"


def from_elsewhere(folder: Path) -> Iterator[str]:
    """Yield every foreign address that a page would load by itself."""
    for file in sorted(folder.rglob("*.html")):
        for link in sorted(Page(file.read_text("utf-8")).loaded):
            if urlsplit(link).netloc:
                yield f"{file.relative_to(folder)}: {link}"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if ready := os.environ.get("FENCEPOST_SITE"):
        return Path(ready)
    from fencepost.site.build import build_site

    folder = tmp_path_factory.mktemp("built") / "site"
    build_site(folder, ROOT / "docs")
    return folder


@pytest.fixture(scope="module")
def texts(site: Path) -> dict[str, str]:
    return {file.relative_to(site).as_posix(): file.read_text("utf-8") for file in site.rglob("*.html")}


def test_the_site_is_small_enough(site: Path) -> None:
    assert sum(file.stat().st_size for file in site.rglob("*") if file.is_file()) <= MOST_BYTES


def test_every_link_leads_somewhere(site: Path) -> None:
    assert list(broken(site, scripted=SCRIPTED)) == []


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    assert list(from_elsewhere(site)) == []
    styles = [file.read_text("utf-8") for file in site.rglob("*.css")]
    foreign = re.compile(r"url\(['\"]?(?:https?:)?//[^)]*|@import[^;]*//[^;]*")
    assert [found for text in styles for found in foreign.findall(text)] == []


def test_everything_has_its_place(texts: dict[str, str]) -> None:
    places = [of_entry(name) for name in entries()] + [of_run(run) for run in runs()]
    for name, found in PROTOCOLS.items():
        places += [of_action(name, item.label) for item in found.machine.actions]
        places += [of_guard(name, item.name) for item in guards(found.machine)]
        places += [of_property(name, item.name) for item in found.every_property]
    there = {f"{page}#{anchor}" for page, text in texts.items() for anchor in Page(text).anchors}
    assert [place for place in places if rendered(place, "index.md") not in there] == []


def test_every_trace_has_a_page_of_its_length_that_opens_in_the_explorer(texts: dict[str, str]) -> None:
    for file in ARCHIVE.glob("*.trace"):
        text = texts[of_trace(file.name)]
        assert f'href="../explore/index.html#trace={file.stem}"' in text
        assert f"{len(read(file).trace.steps) + 1} state" in text


def test_every_link_into_the_explorer_opens_and_a_history_ends_in_a_violation(texts: dict[str, str]) -> None:
    mark = "explore/index.html#"
    links = {link.partition(mark)[2] for text in texts.values() for link in Page(text).links if mark in link}
    traces = {link for link in links if link.startswith("trace=")}
    assert traces == {f"trace={file.stem}" for file in ARCHIVE.glob("*.trace")}
    told = {link for link in links if link.startswith("story=")}
    assert told == {f"story={story.name}" for story in stories()}
    histories = {link for link in links - traces if "steps=" in link}
    assert len(histories) > 120
    wrong = {}
    for link in histories:
        found = json.loads(Session().answer(json.dumps({"ask": "open", "link": f"#{link}"})))
        last = found.get("views", [{}])[-1].get("properties", ())
        if found.get("error") or found["stopped"] or VIOLATED not in {item["status"] for item in last}:
            wrong[link] = found.get("error") or found["stopped"] or "nothing is violated in the end"
    for link in links - traces - told - histories:
        assert set_up(read_link(f"#{link}")).protocol.name in PROTOCOLS
    assert wrong == {}


# -- in a browser


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    with served(site) as made:
        yield made


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_pages_fit_complain_of_nothing_and_ask_for_nothing_elsewhere(
    browser: Any, address: str, width: int, scheme: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    opened = Tab(browser, address, viewport={"width": width, "height": 900}, color_scheme=scheme)
    shots = Path(os.environ.get("FENCEPOST_SHOTS") or tmp_path_factory.getbasetemp())
    for page in PAGES:
        opened.page.goto(address + page)
        opened.page.wait_for_load_state("networkidle")
        opened.page.screenshot(path=shots / f"{page.replace('/', '-').removesuffix('.html')}-{width}-{scheme}.png")
        assert width_of(opened.page) <= width, page
    assert opened.said + opened.elsewhere(address) == []
    opened.context.close()


def test_settings_are_chosen_and_shown_and_kept_in_the_address(browser: Any, address: str) -> None:
    opened = Tab(browser, address + "settings.html")
    page = opened.page
    outcome_shown, unknown = page.locator(".answer:visible .outcome"), page.locator(".answer:visible .unknown")
    assert outcome_shown.inner_text() == headline(advise(3, 2).data)
    page.select_option("#choose-kafka", "3.9")
    for _ in range(2):
        assert page.locator("#choose-elr").input_value() == "off"
        assert page.locator("#choose-elr").is_disabled()
        assert "which were added in 4.0" in page.locator("#impossible").inner_text()
        assert outcome_shown.inner_text() == headline(advise(3, 2, kafka="3.9").data)
        assert page.locator(".answer:visible summary a").filter(has_text=re.compile("^HYP-2$")).count() == 1
        page.reload()
    page.select_option("#choose-kafka", "4.1")
    assert page.locator("#choose-elr").is_enabled()
    page.select_option("#choose-replicas", "5")
    assert "RF 5 is not measured" in unknown.inner_text()
    page.select_option("#choose-acks", "1")
    assert "acks=1 is not modelled" in unknown.inner_text()
    assert opened.said + opened.elsewhere(address) == []


def test_without_a_script_the_measured_table_is_there(browser: Any, address: str) -> None:
    opened = Tab(browser, address + "settings.html", java_script_enabled=False)
    assert opened.page.locator("#choose:visible").count() == 0
    assert opened.page.locator("#answers .answer:visible").count() == 0
    assert opened.page.locator("noscript tr:visible").count() == 1 + len(cells(2)) + len(cells(3))


def test_search_finds_an_action_by_the_keyboard_alone(browser: Any, address: str) -> None:
    opened = Tab(browser, address + "index.html")
    page = opened.page
    page.keyboard.press("/")
    page.keyboard.insert_text("controller-fences-broke")  # a query that ends in `-` is an error on the console
    page.keyboard.type("r")
    first = page.locator(".md-search-result__link").first
    first.wait_for()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"protocols/|checks/|runs/|replication"))
    assert opened.said + opened.elsewhere(address) == []


def test_everything_on_a_page_can_be_reached_by_the_keyboard_and_has_a_name(browser: Any, address: str) -> None:
    opened = Tab(browser, address, viewport={"width": 1440, "height": 900})
    for name in ("index.html", "settings.html", "guarantees/kip-903.html"):
        opened.page.goto(address + name)
        nameless = opened.page.evaluate(
            """() => [...document.querySelectorAll("a[href], button, select, input, summary")]
                .filter(it => it.checkVisibility() && !(it.innerText || it.getAttribute("aria-label") || it.title
                    || it.labels?.length || it.querySelector("img[alt]"))).map(it => it.outerHTML.slice(0, 200))"""
        )
        assert nameless == [], name
        assert opened.page.evaluate("document.documentElement.lang") == "en"
        opened.page.keyboard.press("Tab")
        assert opened.page.evaluate("document.activeElement.classList.contains('md-skip')"), name
