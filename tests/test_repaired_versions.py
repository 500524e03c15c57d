"""What an operator asks of a version: what it contains, what closes that, and what the question means."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from fencepost.figures.store import FOLDER
from fencepost.model.cluster.constants import C
from fencepost.model.cluster.machine import MACHINE
from fencepost.model.language.errors import UsageError

from tests.commands import data_of, fencepost

SMALL = ["--set", "brokers=2", "--set", "max_leader_epoch=0", "--set", "crashes=0", "--set", "fences=0", "--set", "shrinks=0"]
PAGE = Path(__file__).parent.parent / "docs" / "losing-data.md"


@pytest.mark.parametrize("version", [item.name for item in MACHINE.versions])
def test_a_repaired_version_lacks_nothing_and_is_as_its_version_else(version: str) -> None:
    plain, repaired = MACHINE.version(version), MACHINE.version(f"{version}-repaired")
    missing = MACHINE.missing(plain.values)
    assert {"HYP-1", "HYP-3", "HYP-9"} <= {item.finding for item in missing}
    assert MACHINE.missing(repaired.values) == ()
    changed = {name for item in missing for name in item.values}
    assert {**plain.values, **{name: repaired.values[name] for name in changed}} == repaired.values
    assert all(item.finding in repaired.sentence for item in missing)
    assert MACHINE.refuse is not None
    assert MACHINE.refuse(C(**repaired.values)) is None


def test_a_finding_counts_where_a_version_needs_its_repair() -> None:
    found = {item.name: {repair.finding for repair in MACHINE.missing(item.values)} for item in MACHINE.versions}
    assert ("HYP-2" in found["kafka-3.9"], "HYP-2" in found["kafka-4.0"]) == (True, False)
    assert ("HYP-10" in found["kafka-4.0"], "HYP-10" in found["kafka-4.1"]) == (False, True)


def test_an_answer_about_a_version_says_what_it_rests_on_and_what_it_contains() -> None:
    notes = data_of(fencepost("check", "replication", "--version", "kafka-4.1", *SMALL, "--json"))["notes"]
    assert notes[0].startswith("2 brokers, min.insync.replicas 1; brokers crash 0 times in all, and a crash loses the log of")
    assert "(4.1.2: sources)" in notes[2]
    assert notes[3].startswith("It contains HYP-1, until ")
    assert "`--version kafka-4.1-repaired` asks the same" in notes[3]
    assert not any("may come from the conjecture HYP-1" in note for note in notes)
    whole = data_of(fencepost("check", "replication", "--version", "kafka-4.1-repaired", *SMALL, "--json"))["notes"]
    assert whole[2].startswith("kafka-4.1-repaired is kafka-4.1, with this repaired: HYP-1 (")
    assert not any("It contains" in note for note in whole)
    assert "2 brokers" not in data_of(fencepost("check", "replication", *SMALL, "--json"))["notes"][0]


def test_an_unknown_version_is_told_of_the_repaired_ones() -> None:
    with pytest.raises(UsageError, match="each also as NAME-repaired"):
        MACHINE.version("kafka-9")


def test_the_page_says_what_the_fault_table_says() -> None:
    rows = json.loads((FOLDER / "faults.json").read_text())["3"]["grid"]
    least = {tuple(row["setting"].values()): row["least"] for row in rows}
    for isr, *cells in re.findall(r"^\| (\d) \| (.*?) \| (.*?) \| (.*?) \|$", PAGE.read_text(), re.MULTILINE):
        told = [int((re.search(r"lost with(?:out any)? ?(\d*)", cell) or [0, 0])[1] or 0) for cell in cells]
        assert told == [least[int(isr), False, False], least[int(isr), True, False], least[int(isr), True, True]], isr
