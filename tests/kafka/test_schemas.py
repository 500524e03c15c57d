"""Claims about schemas, versions and code paths: the registry's expectations, the measurements, and Kafka's own
classes.
"""

from typing import Any

import pytest
from fencepost.invariants.catalogue import entries, evidence, status
from fencepost.invariants.figures.store import load
from fencepost.kafka.driver.process import DriverError
from fencepost.kafka.driver.releases import RELEASES
from fencepost.kafka.schemas.classes import RAFT, Classes, jars_of
from fencepost.kafka.schemas.data_claims import CHECKS, measure_claims
from fencepost.kafka.schemas.quorum_claims import FIELD

from tests.helpers.commands import fencepost
from tests.kafka.kafkas import KAFKA, on_kafka

EXPECTED = {name: dict(found.classes) for name, found in evidence().items() if found.classes}


def verdicts() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for row in load("schemas")["rows"]:
        found.setdefault(row["entry"], {}).update(dict.fromkeys(row["kafka"].split(", "), row["verdict"]))
    return found


def test_every_entry_says_what_each_release_must_say_and_has_a_check_and_the_figures_agree() -> None:
    assert len(EXPECTED) == 42
    assert set(CHECKS) == set(EXPECTED) == set(verdicts())
    for name, expected in EXPECTED.items():
        assert list(expected) == list(RELEASES), name
        assert {release: verdicts()[name][release] for release in RELEASES} == expected, name


def test_an_entry_differs_if_any_release_does_and_is_not_built_if_none_has_it() -> None:
    by_entry = {name: status(entries()[name]) for name in EXPECTED}
    assert by_entry["SEED-1166-17"] == "holds"
    assert by_entry["SEED-903-17"] == by_entry["SEED-392-59"] == "broken"
    assert by_entry["SEED-TOKEN-8"] == "not-built"
    gaps = [name for name, entry in entries().items() if entry.kind == "claim" and status(entry) == "known-gap"]
    assert gaps == ["SEED-392-34", "SEED-392-37", "SEED-392-58"], "only rates or the extent of a text decide them"


def test_an_entry_is_shown_with_what_each_release_says() -> None:
    shown = " ".join(fencepost("guarantees", "SEED-1166-17").stdout.split())
    assert "SEED-1166-17 holds" in shown
    assert "Kafka 3.9.2, 4.0.2: not built" in shown
    assert "Kafka 4.1.2, 4.2.1, 4.3.1, 4.4.0: holds, int64 tag 1 from version 18 on" in shown


class Told(Classes):
    """Answers as a release could give them, without Java."""

    def __init__(self, answers: dict[str, dict[str, Any]]) -> None:
        self.answers = answers

    def tell(self, line: str) -> dict[str, Any]:
        return self.answers[line]


READ = {"bytes": 9, "read": "FetchPartition(partition=0, highWatermark=9223372036854775807)"}
EXPANSION = {
    f"callers kafka.cluster.Partition {name}": {"callers": [caller]}
    for name, caller in [
        ("prepareIsrExpand", "Partition.maybeExpandIsr"),
        ("maybeExpandIsr", "Partition.updateFollowerFetchState"),
        ("updateFollowerFetchState", "Partition.fetchRecords"),
    ]
}
TAGGED = {
    "fields FetchRequestData": {"17": {"x": "int32"}, "18": {"x": "int32", FIELD: "int64 tag 1"}},
    'trip FetchRequestData 17 {"topics": [{"partitions": [{"partition": 0, "highWatermark": 7}]}]}': READ,
}


@pytest.mark.parametrize(
    ("entry", "answers", "changed"),
    [
        ("SEED-903-1", EXPANSION, {"callers": ["Partition.maybeExpandIsr", "Partition.makeLeader"]}),
        ("SEED-1166-4", {f"code {RAFT} tryCompleteFetchRequest": {"refers": ["Isolation.UNCOMMITTED"]}},
            {"refers": ["Isolation.COMMITTED"]}),
        ("SEED-1166-17", TAGGED, {"17": {FIELD: "int64"}, "18": {FIELD: "int64"}}),
        ("SEED-1166-17", dict(reversed(TAGGED.items())),
            {"refused": "Attempted to write a non-default highWatermark at version 17"}),
    ],
)  # fmt: skip
def test_a_release_that_does_otherwise_differs(entry: str, answers: dict[str, Any], changed: dict[str, Any]) -> None:
    """The first answer is changed."""
    assert CHECKS[entry](Told(answers)).verdict == "holds"
    assert CHECKS[entry](Told({**answers, next(iter(answers)): changed})).verdict == "differs"


@on_kafka
@pytest.mark.xdist_group("kafka")
def test_one_release_has_the_schemas_that_its_claims_are_about() -> None:
    with Classes(jars_of(KAFKA)) as kafka:
        asked = {name: CHECKS[name](kafka) for name in ("SEED-1166-17", "SEED-903-13", "SEED-392-59", "SEED-TOKEN-8")}
        assert all(str(seen.verdict) == EXPECTED[name][KAFKA] for name, seen in asked.items())
        topics = [{"partitions": [{"newIsrWithEpochs": [{"brokerId": 2}]}]}]
        sent = kafka.trip("AlterPartitionRequestData", 2, topics=topics)
        assert sent.refused == "Attempted to write a non-default newIsrWithEpochs at version 2"
        with pytest.raises(DriverError, match=r"lacks .*NoSuchData, which the driver needs"):
            kafka.fields("NoSuchData")


@pytest.mark.long
@on_kafka
def test_every_release_says_what_was_recorded() -> None:
    assert measure_claims(RELEASES) == load("schemas")["rows"]
