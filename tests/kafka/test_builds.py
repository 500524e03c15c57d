"""Two builds of Kafka compared: edits that change nothing are no difference, and a lost condition is found."""

import json
import time
from collections import Counter
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from fencepost.cli.builds.sarif import compare_sarif
from fencepost.kafka.conform import suite as suites
from fencepost.kafka.conform.binding import REPLICATION
from fencepost.kafka.conform.builds import BuildsReport, ChangedMethod, changed_methods, compare_builds
from fencepost.kafka.conform.suite import History
from fencepost.kafka.driver.releases import Release, release

from benchmarks.figures.builds import CHANGES, REFACTORINGS, Editor, editor
from tests.helpers.commands import refused
from tests.kafka.kafkas import KAFKA, on_kafka

SAME = ("other line numbers", "other constants first", "no debugging information", "methods the other way round")
"""Refactorings that leave every method as it is."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Editor:
    return editor(tmp_path_factory.mktemp("editor"))


@on_kafka
@pytest.mark.xdist_group("kafka")
@pytest.mark.parametrize("name", SAME)
def test_a_class_that_is_compiled_otherwise_has_the_same_methods(name: str, made: Editor, tmp_path: Path) -> None:
    source = release(KAFKA)
    assert changed_methods(source, replace(source, jars=made.jars(source, REFACTORINGS[name], tmp_path))) == []


@on_kafka
@pytest.mark.xdist_group("kafka")
def test_a_method_that_changed_has_its_lines_and_what_one_side_alone_names(made: Editor, tmp_path: Path) -> None:
    source = release(KAFKA)
    edit = CHANGES["the leader asks for brokers that shut down"]
    (method,) = changed_methods(source, replace(source, jars=made.jars(source, edit, tmp_path)))
    assert (method.name, method.change, method.only_a) == ("isReplicaIsrEligible", "changed", ("isBrokerShuttingDown",))
    assert method.lines_a
    assert "only A uses isBrokerShuttingDown" in method.shown


@pytest.mark.long
@on_kafka
@pytest.mark.parametrize("name", ["the leader asks for brokers that shut down", "both conditions of a pull request"])
def test_a_condition_that_is_gone_is_found(name: str, made: Editor, tmp_path: Path) -> None:
    source = release(KAFKA)
    build = replace(source, jars=made.jars(source, CHANGES[name], tmp_path))
    found = compare_builds(REPLICATION, (source, build), ("A", "B"), lambda _: None)
    assert (found.verdict, found.departure and found.departure.model) == ("differs", "A agrees with the model")


@pytest.mark.long
@on_kafka
def test_lines_that_no_history_executes_are_named_where_the_builds_do_the_same(made: Editor, tmp_path: Path) -> None:
    source = release(KAFKA)
    build = replace(source, jars=made.jars(source, CHANGES["the epoch of a shrink"], tmp_path))
    found = compare_builds(REPLICATION, (source, build), ("A", "B"), lambda _: None)
    assert (found.verdict, found.departure) == ("not-exercised", None)
    [unseen] = found.unseen
    assert unseen.partition(" ")[0].endswith(".triggerLeaderEpochBumpForIsrShrinkIfNeeded")


@pytest.mark.long
@on_kafka
@pytest.mark.parametrize(
    ("name", "verdict", "lines"),
    [("the leader of a request", "not-exercised", {1267}), ("a method that is moved", "same", set())],
)
def test_a_one_way_condition_is_named(name: str, verdict: str, lines: set[int], made: Editor, tmp_path: Path) -> None:
    source = release(KAFKA)
    build = replace(source, jars=made.jars(source, {**CHANGES, **REFACTORINGS}[name], tmp_path))
    found = compare_builds(REPLICATION, (source, build), ("A", "B"), lambda _: None)
    assert found.verdict == verdict
    assert lines <= {item["line"] for item in found.one_way if "a" in item["sides"]}
    assert bool(found.one_way) == bool(lines)


def test_code_scanning_gets_each_change_that_was_not_exercised_at_its_lines() -> None:
    changed = partial(ChangedMethod, "kafka.cluster.Partition", "changed", code=True)
    methods = [changed(name, "()V", "Partition.scala", (4,), (5, 7)) for name in ("missed", "seen")]
    key = methods[1].key
    ways = {"method": key, "line": 7, "condition": "ifeq after isFenced", "went": "never jumps", "sides": ["b"]}
    source = Release("4.1.2", "kafka-4.1", Path(), Path())
    report = BuildsReport(REPLICATION, source, source, ("A", "B"), methods, {key}, unseen={key: (5,)}, one_way=[ways])
    report.driven = {"kafka.cluster.Partition"}
    assert report.verdict == "not-exercised"
    assert any("1 condition of kafka.cluster.Partition.seen" in line for line in report.summary())
    results = json.loads(compare_sarif(report.data()))["runs"][0]["results"]
    places = [item["locations"][0]["physicalLocation"] for item in results]
    assert [item["ruleId"] for item in results] == ["not-exercised", "not-exercised", "one-way"]
    assert [place["region"]["startLine"] for place in places] == [5, 5, 7]
    assert {place["artifactLocation"]["uri"] for place in places} == {"kafka/cluster/Partition.scala"}


def test_histories_are_kept_and_the_next_start_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def made(_: object, driver: object, constants: object, place: int, found: Counter[str], *, wide: bool) -> list[Any]:
        asked.append(place)
        if asked == [0, 1, 2]:
            raise KeyboardInterrupt
        assert found["a check"] == place
        found["a check"] += 1
        return [History(place, False, (), (f"{wide}",))]

    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path))
    (tmp_path / "kafka" / "4.1.2").mkdir(parents=True)
    monkeypatch.setattr(suites, "Driver", nullcontext)
    monkeypatch.setattr(suites, "_made", made)
    source, every = Release("4.1.2", "kafka-4.1", Path(), Path()), len(suites.grounds(REPLICATION, "kafka-4.1"))
    with pytest.raises(KeyboardInterrupt):
        suites.suite(REPLICATION, source, lambda _: None)
    assert [item.ground for item in suites.suite(REPLICATION, source, lambda _: None, time.monotonic())] == [0, 1]
    assert len(suites.suite(REPLICATION, source, lambda _: None)) == every
    assert asked == [0, 1, 2, *range(2, every)]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "there is nothing to compare"),
        (["--kafka", "4.1.2"], "a comparison needs two builds"),
        (["kip320", "--kafka", "4.1.2"], "compare two models, or two builds"),
        (["--jars", "/no", "--jars", "/nor"], "which is not a folder"),
        (["kip320", "--sarif", "s.json"], "applies to two builds"),
    ],
)
def test_what_is_no_pair_is_refused_with_one_message(words: list[str], said: str) -> None:
    assert said in refused("compare", *words)
