"""The page of a trace in a real browser: clicked through, stepped through by keys, dark and light, wide and narrow.

`tox -e reports` installs the driver; the browser is the system's Chromium, or FENCEPOST_CHROMIUM.
"""

from pathlib import Path
from typing import Any

import pytest
from fencepost.api import replay as replayed
from fencepost.counterexamples.reader import read
from fencepost.counterexamples.render import render
from fencepost.counterexamples.replay import follow
from fencepost.counterexamples.trace import ARCHIVE

from tests.browser.browser import MARKS, Tab, browser, stands_out, width_of  # noqa: F401 (a fixture)

pytestmark = MARKS


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder, found = tmp_path_factory.mktemp("pages"), {}
    for name in ("replication-b09-kip-903", "kip101-weak-isr"):
        found[name] = folder / f"{name}.html"
        file = read(ARCHIVE / f"{name}.trace")
        found[name].write_text(render("html", follow(file.trace, file)), encoding="utf-8")
    return found


class Opened(Tab):
    def __init__(self, browser: Any, file: Path, mark: str = "", **options: Any) -> None:
        super().__init__(browser, f"{file.as_uri()}{mark}", **options)

    def shown(self) -> list[str]:
        return [" ".join(item.inner_text().split()) for item in self.page.locator(".scene:visible h2").all()]

    def text(self, selector: str) -> str:
        return " ".join(self.page.locator(f".scene:visible {selector}").inner_text().split())

    def card(self, party: str) -> str:
        return self.text(f".card[data-party='{party}']")


def test_the_page_asks_only_for_itself_and_reports_no_error(browser: Any, pages: dict[str, Path]) -> None:
    for file in pages.values():
        opened = Opened(browser, file)
        for _ in range(20):
            opened.page.keyboard.press("ArrowRight")
        assert opened.asked == [file.as_uri()]
        assert opened.said == []


def test_arrow_keys_go_through_all_steps_and_stop_at_the_ends(browser: Any, pages: dict[str, Path]) -> None:
    opened = Opened(browser, pages["kip101-weak-isr"])
    assert opened.shown() == ["initial"]
    opened.page.keyboard.press("ArrowLeft")
    assert opened.shown() == ["initial"]
    seen = []
    for _ in range(12):
        opened.page.keyboard.press("ArrowRight")
        seen += opened.shown()
    assert seen[0] == "1 controller-elect-leader leader=0"
    assert seen[10] == seen[11] == "11 become-follower-and-truncate leader=0 follower=1 epoch=2"
    assert opened.page.locator("#where").inner_text() == "step 11 of 11"
    assert opened.page.locator("#next").is_disabled()
    opened.page.keyboard.press("Home")
    assert opened.shown() == ["initial"]
    opened.page.keyboard.press("End")
    opened.page.keyboard.press("k")
    assert opened.shown() == ["10 controller-elect-leader leader=0"]


def test_the_last_step_shows_the_dropped_records_and_who_violates(browser: Any, pages: dict[str, Path]) -> None:
    opened = Opened(browser, pages["kip101-weak-isr"], "#step-11")
    dropped = opened.page.locator(".scene:visible .card[data-party='broker 1'] .entry.dropped")
    assert dropped.count() == 2
    assert "line-through" in dropped.first.evaluate("item => getComputedStyle(item).textDecorationLine")
    kept = opened.page.locator(".scene:visible .card[data-party='broker 0'] .entry")
    assert [item.inner_text().split() for item in kept.all()] == [["0", "0", "epoch", "0"]]
    assert "leader epoch 1 → 2" in opened.card("broker 1")
    verdict = opened.page.locator(".scene:visible .verdict").inner_text()
    assert verdict == "weak-isr is violated for leader=0, member=1, offset=0"


def test_clicking_a_step_of_the_diagram_shows_it_and_dims_later_ones(browser: Any, pages: dict[str, Path]) -> None:
    opened = Opened(browser, pages["replication-b09-kip-903"])
    opened.page.locator("svg .row[data-step='1'] text").first.click()
    assert opened.shown() == ["1 leader-handles-fetch leader=0 follower=1"]
    assert opened.page.url.endswith("#step-1")
    assert "{} → {0,1}" in opened.card("broker 0")
    assert opened.page.locator("svg .row.future").count() == 6
    assert opened.page.locator("svg .row.current").get_attribute("data-step") == "1"
    assert "SENT AlterPartition 1 {status=sent," in opened.text(".messages")
    opened.page.locator("#next").click()
    assert opened.shown() == ["2 broker-crashes broker=1 kept=0"]
    assert "IN FLIGHT AlterPartition 1" in opened.text(".messages")
    opened.page.locator("#last").click()
    assert opened.shown() == ["7 controller-applies-alter-partition m=AlterPartition 1"]
    assert opened.text(".messages").startswith("RECEIVED AlterPartition 1 {status=sent,leader=0,")
    opened.page.locator("#first").click()
    assert opened.shown() == ["initial"]


def test_a_link_to_a_step_opens_it_and_changing_the_link_follows(browser: Any, pages: dict[str, Path]) -> None:
    opened = Opened(browser, pages["replication-b09-kip-903"], "#step-5")
    assert opened.shown() == ["5 broker-applies-metadata broker=0 index=1"]
    opened.page.evaluate("location.hash = '#step-2'")
    opened.page.wait_for_function("document.querySelector('#where').textContent.startsWith('step 2')")
    assert opened.shown() == ["2 broker-crashes broker=1 kept=0"]


def test_without_a_script_every_step_is_shown(browser: Any, pages: dict[str, Path]) -> None:
    opened = Opened(browser, pages["kip101-weak-isr"], java_script_enabled=False)
    assert len(opened.page.locator(".scene:visible").all()) == 12
    assert not opened.page.locator(".controls").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_in_light_and_dark(scheme: str, browser: Any, pages: dict[str, Path]) -> None:
    opened = Opened(browser, pages["kip101-weak-isr"], "#step-11", color_scheme=scheme)
    texts = ("p .quiet", ".verdict", ".card dt", ".new", ".old")
    entries = (".entry.same .record", ".entry.same .offset", ".entry.dropped .record")
    stands_out(opened.page, ("h1", "#where", *(f".scene:visible {text}" for text in (*texts, *entries))), "body")
    light = opened.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(251, 250, 247)"
    assert light is (scheme == "light")


def test_from_any_step_something_else_is_tried_inside_the_file(browser: Any, tmp_path: Path) -> None:
    file = tmp_path / "explored.html"
    file.write_text(replayed(ARCHIVE / "kip101-weak-isr.trace").render("html"), encoding="utf-8")
    opened = Opened(browser, file, "#step-10")
    page = opened.page
    page.locator("#explore-from").click()
    assert page.locator("#explore-title").inner_text().startswith("10 ")
    page.locator("#explore-enabled button.step").last.click()
    assert page.locator("#explore-where").inner_text().startswith("step 11")
    assert "11 " in page.locator("#explore-title").inner_text()
    page.locator("#explore-enabled button.step").last.click()
    assert "This file ends here" in page.locator("#explore-enabled").inner_text()
    for _ in range(2):
        page.locator("#explore-undo").click()
    assert page.locator("#explore-where").inner_text() == "step 10"
    assert page.locator("#explore-refused details").count() > 0
    assert opened.asked == [file.as_uri()]
    assert opened.said == []
