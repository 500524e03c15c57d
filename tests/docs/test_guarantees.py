"""`fencepost guarantees`: the catalogue as data, as tables and as pages."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import fencepost.api as f
import pytest
from click.testing import Result
from fencepost.api.calls.vacuity import family_of
from fencepost.api.topics.evidence import of_kind
from fencepost.counterexamples.trace import ARCHIVE
from fencepost.invariants.catalogue import entries, evidence, runs, sections, status
from fencepost.model.language.errors import UsageError
from fencepost.site import build
from fencepost.site.places import page_of
from fencepost.site.tables import with_tables

from tests.helpers.commands import data_of, fencepost

ROOT = ARCHIVE.parent.parent
pytestmark = [pytest.mark.xdist_group("guarantees"), pytest.mark.long]


def guarantees(*args: str) -> Result:
    return fencepost("guarantees", *args)


@pytest.fixture(scope="module")
def data() -> dict[str, Any]:
    return data_of(guarantees("--json"))


def test_json_has_every_entry_once_under_its_kind_with_its_own_words(data: dict[str, Any]) -> None:
    assert data["format"] == 1
    ids = [item["id"] for kind in ("guarantees", "bugs", "questions", "hypotheses", "claims") for item in data[kind]]
    assert Counter(ids) == Counter(list(entries()))
    assert next(item for item in data["bugs"] if item["id"] == "B01")["reference"] == "KIP-101"
    assert all("answer" in item for item in data["questions"])
    assert all(item["verdict"] in ("confirmed", "refuted", "open") for item in data["hypotheses"])


def test_json_of_a_guarantee_has_the_keys_of_the_contract(data: dict[str, Any]) -> None:
    found = next(item for item in data["guarantees"] if item["id"] == "LIN-1")
    said = {"kind": "always", "status": "holds", "source": "hachikuji/kafka-specification, WeakIsr"}
    assert said.items() <= found.items()
    assert {"sentence", "cases"} < found.keys()
    case = next(item for item in found["cases"] if item["expect"] == "violated")
    assert case == {
        "protocol": "kip320-first-try", "version": None,
        "constants": {"replicas": 3, "log_size": 2, "max_records": 2, "max_leader_epoch": 2}, "engine": "native",
        "property": "weak-isr", "expect": "violated", "length": 12, "distinct": 1437076, "depth": 28,
        "profile": "quick",
        "bounds_reached": [{"constant": name, "value": 2} for name in ("log_size", "max_records", "max_leader_epoch")],
        "trace": "counterexamples/archive/kip320-first-try-weak-isr.trace",
    }  # fmt: skip


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    return build.built()


@pytest.mark.parametrize("name", ["LIN-1", "bugs"])
def test_a_place_for_a_table_without_an_end_is_refused(name: str) -> None:
    for text in (f"<!-- cases {name} -->\n", f"<!-- cases {name} -->\n<!-- cases {name} -->\n<!-- end -->\n"):
        with pytest.raises(UsageError, match=r"own.md: a line `<!-- cases ... -->` has no line `<!-- end -->`"):
            with_tables(text, "own.md")


def test_a_table_is_printed_by_its_name_and_inserted_in_pages() -> None:
    text = with_tables("Before.\n\n<!-- cases LIN-1 -->\nold\n<!-- end -->\n\nAfter.\n", "findings/own.md")
    assert text.startswith("Before.\n\n<!-- cases LIN-1 -->\n\n| id | property |")
    assert "| LIN-1 | weak-isr | violated | kip320-first-try 3/2/2/2 | 12 | 1,437,076 |" in text
    assert "](../../counterexamples/archive/kip320-first-try-weak-isr.trace)" in text
    assert text.endswith("<!-- end -->\n\nAfter.\n")
    assert guarantees("--table", "LIN-1").stdout.startswith("| id | property |")


@pytest.mark.long
def test_the_pages_of_guarantees_show_all_evidence(made: dict[str, str]) -> None:
    text = "".join(page for name, page in made.items() if name.startswith("guarantees/"))
    for name in evidence():
        assert f"### {name}\n" in text or f"**{name}**, *" in text
    trace = "../../counterexamples/archive/kip320-first-try-weak-isr.trace"
    assert f"- `weak-isr` on kip320-first-try: violated in *3/2/2/2*, shortest 12 states ([trace]({trace}))\n" in text
    bounds = "below bounds that were reached: `log_size`, `max_records`, `max_leader_epoch`"
    assert f"- `weak-isr` on kip320: holds in 4 runs, up to 737,794 states, {bounds}\n" in text


def test_every_bug_is_on_one_page_with_what_brings_it_back(made: dict[str, str]) -> None:
    rows = made["guarantees/bugs.md"].partition("## Bugs restored by switches")[2].splitlines()
    assert {entry.id for entry in of_kind("bug")} == {line.split("|")[1].strip() for line in rows if "| B" in line}


def test_the_page_of_the_lineage_compares_it_with_tlc(made: dict[str, str]) -> None:
    table = made["guarantees/lineage.md"].split("## Compared with TLC")[1]
    assert table.count("\n| ") == sum(family_of(run.protocol) == "lineage" for run in runs()) + 2
    sizes = "replicas=3 log_size=2 max_records=2 max_leader_epoch=1"
    assert f"| kip279 | {sizes} | 60,106 | 22 | holds | violated, 12 |\n" in table


def test_coverage_has_every_entry_under_its_heading_with_a_verdict_or_open(made: dict[str, str]) -> None:
    text = made["coverage.md"]
    for title, ids in sections().items():
        (name,) = {page_of()[item] for item in ids}
        assert f"\n## {title}\n" in made[f"guarantees/{name}.md"]
        part = text.split(f"\n## {title}\n")[1].split("\n## ")[0]
        assert sorted(re.findall(r"\[([A-Z][^\]]*)\]\(", part)) == sorted(ids)
    assert [name for ids in sections().values() for name in ids] == list(entries())
    assert "- **Holds** (3): [LIN-1](guarantees/lineage.md#lin-1), " in text
    total, *counts = map(int, re.findall(r"\d+", text.partition("**all**")[2].partition("\n")[0]))
    assert total == sum(counts) == len(entries())
    assert counts[-1] == sum(status(entry) == "open" for entry in entries().values())


def test_without_options_what_is_settled_is_shown_and_what_is_open_is_counted() -> None:
    page = guarantees().stdout
    assert page.startswith("LIN-1  holds  A replica that believes it is the leader")
    assert "  kip320-first-try 3/2/2/2  weak-isr  violated: shortest trace 12 states\n" in page
    assert "`fencepost check` executes some of these" in page


def test_an_issue_or_a_proposal_finds_the_entries_that_name_it_and_is_refused_if_none_does() -> None:
    for name, entry in {"KAFKA-15221": "B10", "kip-903": "KIP903-S1", "PR 20716": "HYP-17", "HYP-16": "HYP-16"}.items():
        assert entry in [item.id for item in f.guarantees(name)]
    for name in ("KAFKA-1522", "KAFKA-99999", "HYP-99"):
        with pytest.raises(f.UsageError, match="there is no entry"):
            f.guarantees(name)


def test_an_entry_is_shown_with_every_run_and_the_constants_that_are_not_as_usual() -> None:
    text = " ".join(guarantees("lin-1").stdout.split())
    constants = "replicas=3 log_size=2 max_records=2 max_leader_epoch=2; 1,437,076 states, depth 28, profile quick"
    found = "weak-isr violated: shortest trace 12 states counterexamples/archive/kip320-first-try-weak-isr.trace"
    assert f"kip320-first-try 3/2/2/2 kip320-first-try with {constants} {found}" in text
    assert len(guarantees("HYP-10").stdout.splitlines()) < 200


# -- rows of the measured matrices


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
