"""The explorer in a real browser, over a local server: `tox -e site`. The page, its engine, links, traces, stories,
keys."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fencepost.counterexamples.browser.book import stories
from fencepost.counterexamples.trace import ARCHIVE
from fencepost.invariants.protocols import protocol

from tests.browser.browser import MARKS, Tab, browser, served, width_of  # noqa: F401 (a fixture)

pytestmark = [*MARKS, pytest.mark.long]
READY = "document.querySelector('#engine').textContent.includes('ready')"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    from fencepost.counterexamples.browser.page import write

    folder: Path = tmp_path_factory.mktemp("explorer")
    write(folder)
    with served(folder) as made:
        yield made


class Opened(Tab):
    def __init__(self, browser: Any, address: str, mark: str = "", **options: Any) -> None:
        self.address = address
        super().__init__(browser, f"{address}{mark}", **options)
        self.page.set_default_timeout(120_000)  # long traces take half a minute on a busy machine

    def ready(self) -> "Opened":
        """Wait until the engine answers."""
        self.page.wait_for_function(READY, timeout=60_000)
        return self

    def text(self, selector: str) -> str:
        found: str = self.page.locator(selector).first.inner_text()
        return found

    def until(self, words: str, selector: str = "#where") -> None:
        self.page.wait_for_function(
            "([at, words]) => document.querySelector(at).textContent.includes(words)", arg=[selector, words]
        )

    def close(self) -> None:
        """Close it and check that it reported no errors and made no foreign requests."""
        assert self.said == []
        assert self.elsewhere(self.address) == []
        self.context.close()


@pytest.fixture(scope="module")
def opened(browser: Any, address: str) -> Iterator[Opened]:
    """One page for the tests that ask for many states."""
    made = Opened(browser, address).ready()
    yield made
    made.close()


def test_the_first_click_is_answered_before_the_engine_is_there(browser: Any, address: str) -> None:
    made = Opened(browser, address)
    made.page.wait_for_selector("#tours a")
    assert made.page.locator("#tours a").all_inner_texts() == [story.title for story in stories()]
    assert made.page.locator("#ways").is_hidden()
    made.page.locator("#enabled button.step").first.click()
    made.until("step 1:")
    assert made.page.locator("#intro").is_hidden()
    assert "starting" in made.text("#engine")
    made.ready()
    made.page.locator("#enabled button.step").first.click()
    made.until("step 2:")
    made.close()


def test_a_story_is_told_and_left_while_the_engine_starts(browser: Any, address: str) -> None:
    made = Opened(browser, address, "#story=kip-903")
    made.page.wait_for_selector("#tell-next")
    for _ in range(12):
        made.page.locator("#tell-next").click()
    made.until("leader-has-committed is violated", "#told .verdict")
    made.ready()
    made.page.locator("#undo").click()
    made.page.locator("#enabled button.step[data-step^=broker-applies-metadata]").first.click()
    made.until("step 12:")
    assert made.page.locator("#error").is_hidden()
    made.close()


def test_every_archived_trace_loads_and_ends_in_its_violation(opened: Opened) -> None:
    wrong = []
    for kept in json.loads(opened.page.evaluate("fetch('catalog.json').then(found => found.text())"))["traces"]:
        opened.page.evaluate(f"location.hash = '#trace={kept['name']}&at=9999'")
        opened.until(f"step {kept['steps']}:" if kept["steps"] else "initial state")
        title = json.dumps(kept["title"])
        opened.page.wait_for_function(f"document.querySelector('#told h2')?.textContent === {title}")
        last = opened.text("#finding") if opened.page.locator("#finding").count() else ""
        if last != kept["finding"] or not opened.page.locator("#error").is_hidden():
            wrong.append((kept["name"], last))
        elif kept["verdict"] == "violated" and is_of_a_state(kept) and kept["property"] not in opened.text("#where"):
            wrong.append((kept["name"], opened.text("#where")))
    assert wrong == []


def is_of_a_state(kept: dict[str, Any]) -> bool:
    """Return whether the property of a trace is decided by its last state or step, not by the whole way."""
    return not protocol(kept["protocol"]).select((kept["property"],))[0].kind.over_behaviours


def test_a_permanent_link_reproduces_the_state_and_so_does_one_with_other_settings(browser: Any, address: str) -> None:
    made = Opened(browser, address, "#replication?version=kafka-4.1&brokers=2").ready()
    for number in range(1, 5):
        made.page.locator("#enabled button.step").nth(number % 3).click()
        made.until(f"step {number}:")
    other = Opened(browser, made.page.evaluate("location.href").partition("#")[0], made.page.evaluate("location.hash"))
    other.until("step 4:")
    bare = "[...document.querySelectorAll('#shown .card, #shown .messages')].map(item => item.textContent)"
    for shown in (bare, "document.querySelector('#where').innerText", "location.hash"):
        assert other.page.evaluate(shown) == made.page.evaluate(shown)
    assert other.page.locator("#version").input_value() == "kafka-4.1"
    made.close()
    other.close()


def test_undo_redo_and_branches_keep_every_way(opened: Opened) -> None:
    page = opened.page
    page.evaluate("location.hash = '#kip320'")
    page.wait_for_function("document.querySelector('#protocol').value === 'kip320'")
    page.locator("#enabled button.step").nth(0).click()
    opened.until("step 1:")
    first = opened.text("#where")
    page.keyboard.press("u")
    opened.until("the initial state")
    page.locator("#enabled button.step").nth(1).click()
    opened.until("step 1:")
    second = opened.text("#where")
    assert second != first
    assert page.locator("#history .branch").count() == 1
    page.locator("#history .branch").click()
    assert opened.text("#where") == first
    page.keyboard.press("Home")
    opened.until("the initial state")
    page.keyboard.press("r")
    assert opened.text("#where") == first


def test_without_a_guard_the_history_goes_on(opened: Opened) -> None:
    page = opened.page
    page.evaluate("location.hash = '#kip320?replicas=2'")
    page.wait_for_function("document.querySelector('#settings [name=replicas]')?.value === '2'")
    before = page.locator("#enabled button.step").count()
    page.locator("#refused details[data-action=follower-fetch] summary").click()
    guard = page.locator("#refused details[data-action=follower-fetch] button.remove").first
    guard.wait_for()
    name = guard.get_attribute("data-guard")
    guard.click()
    page.wait_for_selector("#removed button.back")
    opened.until(f"{name} is removed", "#notice")
    assert name in opened.text("#removed")
    assert page.locator("#enabled button.step").count() >= before
    assert f"removed={name.replace(' ', '+')}" in page.evaluate("location.hash")


def test_a_saved_trace_replays_and_is_read_back(opened: Opened, tmp_path: Path) -> None:
    from fencepost.counterexamples.replay import replay

    page = opened.page
    page.evaluate("location.hash = '#trace=kip101-weak-isr&at=99'")
    opened.until("Violated: weak-isr")
    with page.expect_download() as found:
        page.locator("#save").click()
    file = tmp_path / found.value.suggested_filename
    found.value.save_as(file)
    made = replay(file)
    assert made.trace.prop is not None
    assert made.trace.prop.name == "weak-isr"
    page.locator("#file").set_input_files(str(file))
    opened.until("weak-isr, by hand", "#told")
    opened.until("Violated: weak-isr")
    broken = tmp_path / "broken.trace"
    broken.write_text("format: 1\nnothing\n")
    page.locator("#file").set_input_files(str(broken))
    opened.until("the file ends in the header", "#error")


@pytest.mark.parametrize("story", list(stories()), ids=lambda story: story.name)
def test_a_story_is_told_to_its_violation_and_with_the_repair_to_its_end(story: Any, opened: Opened) -> None:
    page = opened.page
    page.evaluate(f"location.hash = '#story={story.name}'")
    opened.until(story.title, "#told")
    for _ in story.broken.link.steps:
        page.locator("#tell-next").click()
    opened.until(story.told["finding"], "#told .verdict")
    assert story.told["property"] in opened.text("#where")
    page.locator("#tell-other").click()
    for _ in story.way:
        page.locator("#tell-next").click()
    opened.until(story.data["repair"]["ending"][:40], "#told .verdict")
    assert story.told["property"] not in opened.text("#where")


def test_all_of_it_works_by_keys_alone(browser: Any, address: str) -> None:
    made = Opened(browser, address).ready()
    page = made.page
    page.wait_for_selector("#enabled button.step")
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.className") == "step":
            break
    page.keyboard.press("Enter")
    made.until("step 1:")
    assert page.evaluate("document.activeElement.id") == "state-title"
    for _ in range(120):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.closest('.refusal') !== null"):
            break
    page.keyboard.press("Enter")
    page.wait_for_selector("#refused .why")
    unreachable = "[...document.querySelectorAll('button, select, input')].filter(item => item.tabIndex < 0).length"
    assert page.evaluate(unreachable) == 0
    made.close()


def test_everything_to_use_has_a_name_and_news_are_announced(opened: Opened) -> None:
    nameless = opened.page.evaluate(
        "[...document.querySelectorAll('button, select, input')].filter(item => !(item.textContent.trim() || "
        "item.labels?.length || item.getAttribute('aria-label'))).map(item => item.outerHTML)"
    )
    assert nameless == []
    assert opened.page.locator("#where").get_attribute("aria-live") == "polite"
    assert opened.page.locator("main section:not([aria-labelledby])").count() == 0


@pytest.mark.parametrize("width", [1400, 800, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_its_window(width: int, scheme: str, browser: Any, address: str) -> None:
    window = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme}
    made = Opened(browser, address, "#story=kip-903&at=3", **window)
    made.until("step 3:")
    assert width_of(made.page) <= width
    made.close()


def test_the_names_of_traces_are_those_of_the_archive(opened: Opened) -> None:
    names = opened.page.locator("#trace option").evaluate_all("items => items.map(item => item.value).filter(Boolean)")
    assert sorted(names) == sorted(file.stem for file in ARCHIVE.glob("*.trace"))
    assert re.fullmatch(r"The engine is ready \(Python 3\.14\.\d+\)\.", opened.text("#engine"))
