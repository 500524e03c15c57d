"""Operators' questions about a version: its findings, their repairs, and the meaning of the question."""

import json
import re

import pytest
from fencepost.api.asking.targets import ask
from fencepost.api.topics.evidence import of_kind, standing_of
from fencepost.api.topics.version_notes import version_notes
from fencepost.invariants.figures.store import FOLDER
from fencepost.invariants.protocols import PROTOCOLS
from fencepost.model.cluster.constants import C
from fencepost.model.cluster.machine import MACHINE
from fencepost.model.language.errors import UsageError

from tests.helpers.commands import data_of, fencepost
from tests.helpers.parameters import words
from tests.helpers.places import DOCS

SMALL = words("--set brokers=2 --set max_leader_epoch=0 --set crashes=0 --set fences=0 --set shrinks=0")
PAGE = DOCS / "kafka" / "losing-data.md"


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


@pytest.mark.long
def test_a_patch_that_differs_from_its_line_has_rules_of_its_own() -> None:
    for line in ("kafka-3.9", "kafka-4.0"):
        early, late = MACHINE.version(f"{line}.0"), MACHINE.version(f"{line}.2")
        assert late == MACHINE.version(line)
        changed = {name: value for name, value in early.values.items() if late.values.get(name) != value}
        assert changed == {"answers_match_epoch": 0, "later_epochs_skipped": 0}
        assert MACHINE.version(f"{line}.0-repaired").values["answers_match_epoch"] == 0
    assert MACHINE.version("kafka-3.7").values["answers_match_epoch"] == 0
    with pytest.raises(UsageError, match="this patch is not known"):
        MACHINE.version("kafka-3.9.1")
    for name in ("kafka-3.9.0", "kafka-4.0.0-repaired"):
        made = fencepost("check", "replication", "--version", name, *SMALL, "--json")
        assert any(f"{name} " in note for note in data_of(made)["notes"])


@pytest.mark.long
def test_an_answer_about_a_version_says_what_it_rests_on_and_what_it_contains() -> None:
    notes = data_of(fencepost("check", "replication", "--version", "kafka-4.1", *SMALL, "--json"))["notes"]
    assert notes[0].startswith("2 brokers, min.insync.replicas 1; brokers crash 0 times in total, and a crash loses")
    assert "(from the sources of 4.1.2)" in notes[2]
    assert notes[3].startswith("kafka-4.1 contains HYP-1, until ")
    assert "`--version kafka-4.1-repaired` checks a model with these findings fixed" in notes[3]
    assert notes[4] == (
        "kafka-4.1 also contains HYP-8 (with resends=1), HYP-15 (with early_starts=1), HYP-19 (with "
        "records_read_late=on) and HYP-20 (with divergence_judged_apart=on), which the model cannot fix."
    )
    outside = ", ".join(f"HYP-{number}" for number in (13, 21, *range(24, 33), 34, 35, 36, 37, 38))
    assert notes[5].startswith(f"Kafka 4.1 also has {outside}: these findings were observed on clusters, not in ")
    assert not any("may come from the conjecture HYP-1" in note for note in notes)
    whole = data_of(fencepost("check", "replication", "--version", "kafka-4.1-repaired", *SMALL, "--json"))["notes"]
    assert whole[2].startswith("kafka-4.1-repaired is kafka-4.1 with these repairs: HYP-1 (")
    assert not any("-repaired contains" in note for note in whole)
    assert whole[3].startswith("kafka-4.1-repaired still contains HYP-8 (with resends=1), HYP-15")
    assert "2 brokers" not in data_of(fencepost("check", "replication", *SMALL, "--json"))["notes"][0]


def test_a_patch_is_its_release_only_if_it_was_read_and_an_unknown_version_is_told_of_the_repaired_ones() -> None:
    for name in ("4.1.2", "4.1.2-repaired", "4.0.2"):
        assert MACHINE.version(f"kafka-{name}").name == re.sub(r"\.\d+(-|$)", r"\1", f"kafka-{name}")
    with pytest.raises(UsageError, match=r"patch is not known.* 'kafka-4.0' for the rules of 4.0.2"):
        MACHINE.version("kafka-4.0.1")
    with pytest.raises(UsageError, match="each also as NAME-repaired"):
        MACHINE.version("kafka-9")


def test_the_page_says_in_short_what_the_figures_say() -> None:
    figures = json.loads((FOLDER / "versions.json").read_text())["losses"]["rows"]
    lost = {isr: [row["version"] for row in figures if row["min_isr"] == isr and row["front"]] for isr in (1, 2)}
    assert lost == {1: [item.name for item in MACHINE.versions if item.name != "kafka-3.5"], 2: []}
    assert not any(row["unknown"] for row in figures)
    assert all(any("crashes" not in item["faults"] for item in row["front"]) for row in figures if row["front"])
    assert all(row["least"] is not None for row in json.loads((FOLDER / "faults.json").read_text())["2"]["grid"])
    assert "min ISR 1, every release since 3.7 lost a record even without a crash" in " ".join(PAGE.read_text().split())


def test_every_version_says_which_source_its_verdict_rests_on() -> None:
    for found in PROTOCOLS.values():
        for version in found.machine.versions:
            notes = " ".join(version_notes(ask(found, version=version.name)))
            assert version.sentence in notes, (found.name, version.name)
            assert found.machine.terms is None or re.search(r"\(.*(sources|classes)\b", notes)


@pytest.mark.long
def test_an_answer_says_which_finding_a_violation_needs_and_what_crashes_alone_do() -> None:
    small = words("--set max_leader_epoch=0 --set crashes=0 --set fences=0 --set brokers=2 --set min_isr=2")
    notes = data_of(fencepost("check", "replication", "--version", "kafka-4.1", *small, "--json"))["notes"]
    [told] = [note for note in notes if "prevents the shortest history" in note]
    assert re.match("Fixing HYP-3 prevents the shortest history that violates .*maximal-isr-covers-requests", told)
    assert (
        "The measured crashes apply to one record on 2 brokers, with ELR and without unclean elections, in a model "
        "that has all fixes and in which every crash loses the log: min ISR 1: can be lost with 1 crash; min ISR 2: "
        "survives 1 crash, can be lost with 2 (docs/kafka/losing-data.md)."
    ) in notes
    whole = data_of(fencepost("check", "replication", "--version", "kafka-4.1-repaired", *small, "--json"))
    assert whole["verdict"] != "violated"
    assert not any("prevents" in note for note in whole["notes"])
    assert "repairing HYP-27 prevents" in fencepost(*words("check directory-moves --version kafka-4.4")).stdout


def test_findings_that_no_model_has_are_entries_and_break_what_they_name() -> None:
    words = {entry.id: standing_of(entry).text for entry in of_kind("guarantee")}
    seen = "seen on clusters running 4.4.0, and with Kafka's classes in 4.3.1 and 4.4.0"
    assert f"HYP-16 (in kafka-4.3 and kafka-4.4; {seen}; repair: " in words["G-S2"]
    assert "; violated before by HYP-17 (in kafka-4.0 to kafka-4.2; seen on clusters running 4." in words["G-S2"]
    assert "HYP-18 (in kafka-" in words["G-L6"]
    for name in ("hyp-13", "HYP-16", "HYP-17", "HYP-18"):
        text = " ".join(fencepost("guarantees", name).stdout.split())
        assert "; seen on clusters running " in text
        assert "). To avoid it: " in text
    assert "To avoid it" not in fencepost("guarantees", "HYP-5").stdout


@pytest.mark.long
def test_text_and_json_of_guarantees_have_where_they_stand() -> None:
    text = " ".join(fencepost("guarantees", "K951-S3").stdout.split())
    assert "violated by a conjecture that was not observed on real Kafka: HYP-7 (not seen on real Kafka)." in text
    known = {item["id"]: item for item in data_of(fencepost("guarantees", "--json"))["guarantees"]}
    assert known["K951-S3"]["standing"] == "conjecture"
    [found] = known["K951-S3"]["findings"]
    assert found == {"id": "HYP-7", "repair": None, "versions": [], "classes": [], "clusters": []}
    [found] = known["G-S6b"]["findings"]
    assert (found["id"], found["repair"]) == ("HYP-10", "a broker whose replica is removed leaves the ELR")
    assert (found["versions"][0], "4.1.2" in found["classes"], "4.1.2" in found["clusters"]) == (
        "kafka-4.1",
        True,
        True,
    )
