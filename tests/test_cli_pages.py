"""`fencepost guarantees`: the catalogue as data and as pages that are never stale."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from fencepost.api.evidence import groups
from fencepost.counterexamples.trace import ARCHIVE
from fencepost.invariants.catalogue import entries, evidence, status
from fencepost.invariants.runs import lineage
from fencepost.pages.build import pages

from tests.commands import fencepost

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

ROOT = ARCHIVE.parent.parent


def guarantees(*args: str) -> Result:
    """Run the command in this process."""
    return fencepost("guarantees", *args)


@pytest.fixture(scope="module")
def data() -> dict[str, Any]:
    """The catalogue as JSON."""
    found: dict[str, Any] = json.loads(guarantees("--json").stdout)
    return found


def test_json_has_every_entry_once_under_its_kind(data: dict[str, Any]) -> None:
    assert data["format"] == 1
    ids = [item["id"] for kind in ("guarantees", "bugs", "questions", "hypotheses", "claims") for item in data[kind]]
    assert Counter(ids) == Counter(list(entries()))


def test_json_of_a_guarantee_has_the_keys_of_the_contract(data: dict[str, Any]) -> None:
    found = next(item for item in data["guarantees"] if item["id"] == "LIN-1")
    assert (found["kind"], found["status"], found["source"]) == ("always", "holds", "hachikuji/kafka-specification, WeakIsr")
    assert {"sentence", "cases"} < found.keys()
    case = next(item for item in found["cases"] if item["expect"] == "violated")
    assert case == {
        "protocol": "kip320-first-try",
        "version": None,
        "constants": {"replicas": 3, "log_size": 2, "max_records": 2, "max_leader_epoch": 2},
        "engine": "native",
        "property": "weak-isr",
        "expect": "violated",
        "length": 12,
        "distinct": 1437076,
        "depth": 28,
        "profile": "quick",
        "trace": "counterexamples/archive/kip320-first-try-weak-isr.trace",
    }


def test_json_of_bugs_questions_and_hypotheses_has_their_own_words(data: dict[str, Any]) -> None:
    assert next(item for item in data["bugs"] if item["id"] == "B01")["reference"] == "KIP-101"
    assert all("answer" in item for item in data["questions"])
    assert all(item["verdict"] in ("confirmed", "refuted", "open") for item in data["hypotheses"])


def test_written_pages_are_fresh_until_somebody_edits_them(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    assert guarantees("--check", str(folder)).exit_code == 1
    written = "".join(f"wrote {folder}/{name}.md\n" for name in ("guarantees", "coverage", "checks"))
    assert guarantees("--write", str(folder)).stdout == written
    fresh = guarantees("--check", str(folder))
    assert (fresh.exit_code, fresh.stdout) == (0, "")
    (folder / "coverage.md").write_text("edited")
    stale = guarantees("--check", str(folder))
    assert stale.stdout == f"stale: {folder}/coverage.md\n`fencepost guarantees --write {folder}` writes them anew.\n"
    assert stale.exit_code == 1


def test_check_looks_into_docs_unless_told_otherwise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert guarantees("--check").stdout.startswith("stale: docs/guarantees.md\nstale: docs/coverage.md\n")


def test_pages_are_the_same_every_time() -> None:
    assert pages() == pages()


def test_the_page_of_guarantees_shows_all_evidence() -> None:
    text = pages()["guarantees.md"]
    for name in evidence():
        assert f"### {name}\n" in text or entries()[name].kind == "claim"
    assert (
        "| kip320-first-try | replicas=3 log_size=2 max_records=2 max_leader_epoch=2 | weak-isr | violated | 12 | 1,437,076 | 28 |"
        " [kip320-first-try-weak-isr.trace](../counterexamples/archive/kip320-first-try-weak-isr.trace) |\n"
    ) in text


def test_every_trace_that_a_page_links_to_exists() -> None:
    links = re.findall(r"\(\.\./(.*?)\)", pages()["guarantees.md"])
    assert links
    assert [link for link in links if not (ROOT / link).is_file()] == []


def test_the_page_of_guarantees_compares_the_lineage_with_tlc() -> None:
    table = pages()["guarantees.md"].split("## The lineage, against TLC")[1]
    assert table.count("\n| ") == len(lineage.RUNS) + 2
    assert "| kip279 | replicas=3 log_size=2 max_records=2 max_leader_epoch=1 | 60,106 | 22 | holds | violated, 12 |\n" in table


def test_coverage_has_every_entry_under_its_heading_with_a_verdict_or_open() -> None:
    text = pages()["coverage.md"]
    for title, ids in groups().items():
        part = text.split(f"\n## {title}\n")[1].split("\n## ")[0]
        assert re.findall(r"^\| ([A-Z]\S*) \|", part, re.MULTILINE) == list(ids)
    assert [name for ids in groups().values() for name in ids] == list(entries())
    assert "| LIN-1 | always |" in text
    assert "| `weak-isr` on kip320, kip320-first-try | holds |\n" in text


def test_the_counts_of_coverage_add_up() -> None:
    total = re.search(r"\*\*all\*\* \| (.*) \|\n", pages()["coverage.md"])
    assert total
    numbers = [int(number) for number in re.findall(r"\d+", total[1])]
    still_open = sum(status(entry) == "open" for entry in entries().values())
    assert numbers[0] == sum(numbers[1:]) == len(entries())
    assert numbers[3] == still_open


def test_without_options_what_is_settled_is_shown_and_what_is_open_is_counted() -> None:
    page = guarantees().stdout
    assert page.startswith("LIN-1  holds  A replica that believes to lead")
    assert "  kip320-first-try 3/2/2/2  weak-isr  violated: shortest trace 12 states\n" in page
    assert "`fencepost check` runs a selection of these" in page
