"""Pages are short, their links resolve, and what they show is in the figures, one row a line."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from fencepost.api.topics.matrices import BASES, best_of, histories, history, history_of_faults, measured
from fencepost.invariants.figures.store import FOLDER, load, text_of
from fencepost.invariants.protocols import PROTOCOLS
from fencepost.model.language.errors import UsageError
from fencepost.site import protocols
from fencepost.site.places import of_guard
from fencepost.site.stale import SIZES, crashes_measured, refuted
from fencepost.site.tables import MARK, command_of, with_tables

from tests.docs.built_pages import built
from tests.helpers.commands import data_of, fencepost
from tests.helpers.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path

DOCS = ROOT / "docs"
WRITTEN = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted(DOCS.rglob("*.md"))]
BY_HAND = [file.relative_to(DOCS).as_posix() for file in sorted(DOCS.rglob("*.md")) if MARK in file.read_text()]
ALL_WORDS, LINES_OF_A_PAGE, ROW, BYTES_OF_FIGURES = 64_000, 700, 300, 2_000_000


def names(paths: list[Path]) -> list[str]:
    return [path.relative_to(ROOT).as_posix() for path in paths]


# -- sizes


def test_pages_are_short_enough_to_be_read() -> None:
    assert sum(len(page.read_text().split()) for page in WRITTEN) <= ALL_WORDS
    lines = {name: len((ROOT / name).read_text().splitlines()) for name in names(WRITTEN)}
    assert [name for name, count in lines.items() if count > LINES_OF_A_PAGE] == []


@pytest.mark.parametrize("page", WRITTEN[2:], ids=names(WRITTEN[2:]))
def test_no_row_of_a_table_is_too_wide_to_read(page: Path) -> None:
    assert [line[:80] for line in page.read_text().splitlines() if line.startswith("| ") and len(line) > ROW] == []


def test_figures_are_small_and_have_one_row_a_line() -> None:
    files = sorted(FOLDER.rglob("*.json"))
    assert sum(file.stat().st_size for file in files) <= BYTES_OF_FIGURES
    for file in files:
        text = file.read_text()
        assert text == text_of(json.loads(text)) + "\n", file.name


def test_figures_whose_names_are_numbers_are_read_again() -> None:
    assert json.loads(text_of({"partitions": {4: {"seconds": 1}, 64: {"seconds": 2}}})) == {
        "partitions": {"4": {"seconds": 1}, "64": {"seconds": 2}}
    }


def test_a_changed_row_is_a_diff_of_one_line() -> None:
    before = load("matrices/kip320")
    after = json.loads(json.dumps(before))
    after["bases"][0]["rows"][3]["purpose"] = "needed"
    lines = zip(text_of(before).splitlines(), text_of(after).splitlines(), strict=True)
    assert sum(one != other for one, other in lines) == 1


# -- links


def targets(text: str) -> list[str]:
    """Return what a page links to: in place, and below a table."""
    plain = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"\]\(([^)\s]+)\)", plain) + re.findall(r"^\[[^\]]+\]: (\S+)$", plain, re.MULTILINE)


def anchors(text: str) -> set[str]:
    """Return what a link to a page may name: its headings as GitHub names them, and its own anchors."""
    plain = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    titles = re.findall(r"^#+ (.*)$", plain, re.MULTILINE)
    made = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
    return made | set(re.findall(r'<a id="([^"]+)">', plain))


@pytest.mark.parametrize("page", WRITTEN, ids=names(WRITTEN))
def test_every_link_leads_somewhere(page: Path) -> None:
    text = page.read_text()
    lost = []
    for target in targets(text):
        if target.startswith(("http://", "https://", "mailto:")):
            continue
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        if not file.exists() or (anchor and anchor not in anchors(file.read_text())):
            lost.append(target)
    assert lost == []


def test_every_page_is_reached_from_the_readme() -> None:
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop().resolve()
        if page in reached or page.suffix != ".md" or not page.is_file():
            continue
        reached.add(page)
        waiting += [
            page.parent / target.partition("#")[0] for target in targets(page.read_text()) if "://" not in target
        ]
    assert [name for name in names(WRITTEN) if (ROOT / name).resolve() not in reached] == []


# -- pages written by hand


@pytest.mark.parametrize("name", BY_HAND)
def test_in_the_place_of_a_table_stands_its_command_or_the_table_itself(name: str) -> None:
    places = re.compile(rf"{MARK}([^\n]*) -->\n\n(.*?)\n\n<!-- end -->", re.DOTALL)
    text = (DOCS / name).read_text()
    made = places.findall(with_tables(text, name))
    for (which, stands), (_, table) in zip(places.findall(text), made, strict=True):
        assert stands == table or f"`{command_of(which)}`" in stands


@pytest.mark.parametrize("name", [name for name in BY_HAND if name != "use/spark.md"])
def test_the_hand_written_text_quotes_no_counts(name: str) -> None:
    """Counts stand in the tables only, where they cannot go stale."""
    text = re.sub(rf"{MARK}.*?<!-- end -->", "", (DOCS / name).read_text(), flags=re.DOTALL)
    assert re.findall(r"\d,\d{3}|\d+ (?:states|steps)\b", text) == []


# -- histories


def test_no_verdict_of_stale_figures_is_refuted() -> None:
    assert list(refuted()) == []


@pytest.mark.parametrize("name", list(BASES))
def test_every_measured_history_replays_and_shows_its_violation(name: str) -> None:
    found = list(histories(measured()[name]))
    assert found
    for row, base in found:
        made = history(name, (row, base))
        first, length = next(iter(row["broken"].items()))
        assert made.trace.prop is not None
        assert (made.trace.prop.name, made.path.length, made.verdict) == (first, length, "violated")


@pytest.mark.parametrize("replicas", list(SIZES))
def test_every_history_of_a_fault_table_replays(replicas: str) -> None:
    data = crashes_measured()[replicas]
    found = [(point, item) for point in data["grid"] for item in point["front"]]
    assert found
    for point, item in found:
        assert history_of_faults(data, point, item).path.length == item["length"]


def test_a_history_that_the_model_refuses_is_an_error() -> None:
    row, base = next(histories(measured()["kip320"]))
    with pytest.raises(UsageError):
        history("kip320", ({**row, "steps": row["steps"][1:]}, base))


@pytest.mark.parametrize("name", list(BASES))
def test_each_needed_row_has_a_history(name: str) -> None:
    for row, _ in best_of(measured()[name]).values():
        assert ("steps" in row) == bool(row["broken"])


def test_a_row_is_shown_in_full_with_its_history(tmp_path: Path) -> None:
    file = tmp_path / "row.trace"
    shown = fencepost("vacuity", "kip320", "--row", "become-leader 2", "--trace", str(file))
    assert shown.exit_code == 0
    assert "s.request[epoch].leader == leader" in shown.stdout
    assert "9 become-leader" not in shown.stdout
    assert " 9 leader-increase-high-watermark leader=0" in shown.stdout
    assert fencepost("replay", str(file)).exit_code == 0
    data = data_of(fencepost("vacuity", "kip320", "--row", "become-leader 2", "--json"))
    assert data["rows"][0]["broken"] == {"weak-isr": 10, "strong-isr": 10}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--row", "become-leader 2"), "a row is one of one measured protocol"),
        (("kip101", "--row", "become-leader 2"), "a row is one of one measured protocol"),
        (("kip320", "--row", "become-leader 9"), "no row 'become-leader 9' was measured of kip320. Did you mean"),
        (("kip320", "--trace", "x.trace"), "--trace was given without --row"),
        (("kip320", "--row", "follower-fetch 1", "--trace", "/nowhere/x.trace"), "/nowhere"),
    ],
)
def test_a_row_that_does_not_exist_is_refused(words: tuple[str, ...], says: str) -> None:
    found = fencepost("vacuity", *words)
    assert found.exit_code == 2
    assert says in " ".join(found.stderr.split())


def test_an_entry_is_shown_with_every_run_and_all_its_constants() -> None:
    shown = fencepost("guarantees", "lin-1")
    assert shown.exit_code == 0
    text = " ".join(shown.stdout.split())
    assert "kip320-first-try 3/2/2/2 weak-isr violated: shortest trace 12 states" in text
    assert "replicas=3 log_size=2 max_records=2 max_leader_epoch=2" in text
    unknown = fencepost("guarantees", "LIN-9")
    assert unknown.exit_code == 2
    assert "there is no entry 'LIN-9'. Did you mean" in unknown.stderr


def test_the_pages_on_checks_have_every_guard_of_the_measured_protocols() -> None:
    made = built()
    for name, data in measured().items():
        assert f"](../protocols/{name}.md#actions)" in made[f"checks/{name}.md"]
        text = "\n".join(protocols.page(PROTOCOLS[name]))
        assert all(f"### {item.label}\n\n{item.sentence}\n" in text for item in PROTOCOLS[name].machine.actions)
        guarded = [found for found, _ in best_of(data).values() if found["kind"] == "guard"]
        assert guarded
        assert all(of_guard(name, found["row"]).partition("#")[2] in text for found in guarded)
