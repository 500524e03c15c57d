"""The matrix of `fencepost ablate` in a real browser: a cell opens its counterexample, which closes again.

`tox -e reports` installs the driver; the browser is the system's Chromium, or FENCEPOST_CHROMIUM.
"""

from pathlib import Path
from typing import Any

import pytest

from tests.browser.browser import MARKS, Tab, browser, stands_out, width_of  # noqa: F401 (a fixture)
from tests.helpers.commands import data_of, fencepost
from tests.helpers.places import MACHINES

PLANTED = MACHINES / "planted.py"
pytestmark = MARKS


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("matrix") / "matrix.html"
    data_of(fencepost("ablate", str(PLANTED), "--json", "--quiet", "--workers", "1", "--html", str(made)))
    return made


def opened(browser: Any, file: Path, mark: str = "", **options: Any) -> Any:
    return Tab(browser, f"{file.as_uri()}{mark}", **options).page


def cell(page: Any, row: str, prop: str) -> Any:
    heads = page.locator("thead th").all_inner_texts()
    return page.locator("tbody tr", has=page.locator(f"th:text-is('{row}')")).locator("th, td").nth(heads.index(prop))


def test_a_cell_opens_its_own_counterexample(browser: Any, file: Path) -> None:
    page = opened(browser, file)
    assert page.locator("div.trace:visible").count() == 0
    found = cell(page, "enter 1a", "nobody-walks-through-a-shut-door")
    assert found.inner_text() == "3"
    found.locator("a").click()
    shown = page.locator("div.trace:visible")
    assert shown.count() == 1
    title = "planted without guard enter 1a: nobody-walks-through-a-shut-door is violated"
    assert shown.locator("h2").inner_text() == title
    assert shown.locator("li").all_inner_texts() == ["sell", "enter guest=1"]
    assert "nobody-walks-through-a-shut-door is violated: 3 states" in shown.locator("pre").inner_text()


@pytest.mark.parametrize("way", ["escape", "link", "beside", "back"])
def test_a_counterexample_closes_and_leaves_the_table_where_it_was(way: str, browser: Any, file: Path) -> None:
    page = opened(browser, file, viewport={"width": 1200, "height": 500})
    found = cell(page, "enter 1a", "nobody-walks-through-a-shut-door")
    found.scroll_into_view_if_needed()
    found.locator("a").click()
    assert page.locator("div.trace:visible").count() == 1
    if way == "escape":
        page.keyboard.press("Escape")
    elif way == "link":
        page.locator("div.trace:visible .close").click()
    elif way == "beside":
        page.mouse.click(8, 250)
    else:
        page.go_back()
    assert page.locator("div.trace:visible").count() == 0
    assert 0 <= round(found.bounding_box()["y"]) <= 500


def test_every_number_opens_one_counterexample_without_errors_or_requests(browser: Any, file: Path) -> None:
    tab = Tab(browser, file.as_uri())
    page = tab.page
    links = page.locator("td.cell a").all()
    assert len(links) == page.locator("div.trace").count() > 5
    for link in links:
        link.click()
        assert page.locator("div.trace:visible").count() == 1
        assert page.locator("div.trace:visible li").count() == int(link.text_content()) - 1
        page.keyboard.press("Escape")
    assert (tab.asked, tab.said) == ([file.as_uri()], [])
