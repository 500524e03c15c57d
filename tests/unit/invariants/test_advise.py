"""The effect of settings on records: only from the measured tables, and never reported as safe where nothing was
searched.
"""

import re
import sys
from itertools import product
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from fencepost.api.topics import measured
from fencepost.api.topics.advising import advise, notes, patches_read, versions
from fencepost.api.topics.applying import findings_of, measured_on
from fencepost.api.topics.measured import cells
from fencepost.invariants.catalogue import evidence
from fencepost.invariants.figures.store import load
from fencepost.site.figures import crashes_in_short

from tests.helpers.commands import data_of, fencepost, refused
from tests.helpers.places import ROOT


def said(*args: str) -> dict[str, Any]:
    return data_of(fencepost("advise", *args, "--json"))


@pytest.mark.parametrize("replicas", ["2", "3"])
def test_every_cell_of_the_table_is_given_as_it_was_measured(replicas: str) -> None:
    for point in load("faults")[replicas]["grid"]:
        setting = {name: point["setting"][name] for name in ("min_isr", "elr", "unclean_election")}
        made = advise(int(replicas), **setting)
        crashes = made.to_dict()["crashes"]
        assert crashes is not None
        assert made.decided
        assert {name: crashes[name] for name in ("least", "front", "states")}.items() <= point.items()


def test_the_page_on_losing_data_says_the_same() -> None:
    head, rows = crashes_in_short()
    text = (ROOT / "docs" / "kafka" / "losing-data.md").read_text()
    assert all(f"| {' | '.join(row)} |" in text for row in rows)
    assert head[2] == "with ELR"
    assert f"| {advise(3, 2, elr=True).to_dict()['crashes']['outcome']} |" in text


@pytest.mark.parametrize("args", ["--replicas 5", "--replicas 2 --min-isr 3", "--acks 1", "--acks 0", "--replicas 1"])
def test_settings_that_were_not_searched_are_not_answered(args: str) -> None:
    done = fencepost("advise", *args.split())
    assert done.exit_code == 3
    assert re.search("not (measured|modelled)", done.stdout.partition("\n")[0].lower())
    assert not re.search("safe|survives|^[^ ].*  loses", done.stdout, re.MULTILINE)
    found = said(*args.split())
    assert (found["searched"], found["crashes"]) == (False, None)
    assert found["why"]


def test_a_search_that_did_not_end_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    unknown = [{"faults": {"crashes": 3}, "why": "max-states"}]
    point = {**cells(3)[0], "undetermined": True, "least": None, "unknown": unknown}
    monkeypatch.setattr(measured, "cells", lambda _: [point])
    done = fencepost("advise", "-v", "--elr", "off")
    assert (done.exit_code, "not decided" in done.stdout) == (3, True)


def test_what_a_release_as_it_is_loses_is_said_where_it_was_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"version": "kafka-4.1", "min_isr": 2, "least": 3, "most": {"crashes": 2}, "unknown": [], "states": 7}
    found = {**row, "front": [{"faults": {"crashes": 1, "fences": 2}, "length": 9}]}
    known = {**load("versions"), "losses": {"rows": [found, {**row, "min_isr": 1, "least": None, "front": []}]}}
    monkeypatch.setattr(measured, "load", lambda name: known if name == "versions" else load(name))
    asked = ("--replicas", "2", "--kafka", "4.1", "--min-isr")
    assert said(*asked, "2")["released"]["outcome"] == "lost with 1 crash, 2 fences"
    assert said(*asked, "1")["released"]["outcome"] == "kept with up to 2 crashes"
    for other in ("--elr off", "--unclean-election on", "--acks 1"):
        assert said(*asked, "2", *other.split())["released"] is None
    shown = " ".join(fencepost("advise", "-v", "--replicas", "3", "--kafka", "4.1", "--min-isr", "2").stdout.split())
    assert "can be lost with 1 broker crash and 2 expired broker sessions (with 2 brokers only;" in shown
    assert "not searched with these settings" in fencepost("advise", "-v", "--min-isr", "2", "--elr", "off").stdout


def test_changes_are_those_after_which_more_crashes_are_survived() -> None:
    found = said("--min-isr", "2", "--elr", "off")
    shown = {(item["setting"], item["value"]): item["least"] for item in found["changes"]}
    assert found["crashes"]["least"] == 1
    assert shown == {("elr", True): 2}
    assert [item["value"] for item in said("--min-isr", "2")["changes"]] == [3]
    assert [item["setting"] for item in said("--min-isr", "2", "--acks", "1")["changes"]] == ["acks"]


@pytest.mark.long
def test_changes_cost_no_more_than_they_bring_and_the_best_comes_first() -> None:
    for replicas, min_isr, elr, unclean in product((1, 2, 3, 4, 5), (1, 2, 3, 4, 5), (True, False), (True, False)):
        found = advise(replicas, min_isr, elr=elr, unclean_election=unclean).to_dict()["changes"]
        ranks = [99 if item["least"] is None else item["least"] for item in found]
        assert ranks == sorted(ranks, reverse=True)
        for item in found:
            stops = item["writes_go_on_with_brokers_down"] == 0 and min_isr < replicas
            assert not stops or (item["least"] or 99) > 1
            assert item["writes_go_on_with_brokers_down"] >= 0 or min_isr > replicas
    changes = said("--min-isr", "2", "--unclean-election", "on")["changes"]
    assert [item["setting"] for item in changes] == ["unclean_election"]
    changes = said("--replicas", "2", "--min-isr", "3")["changes"]
    assert [(item["setting"], item["value"]) for item in changes] == [("min_isr", 2)]


@pytest.mark.parametrize("version", versions())
def test_findings_are_those_that_the_measured_verdicts_have(version: str) -> None:
    has_elr = version >= "kafka-4.1"
    assert measured_on(version, elr=has_elr) == version
    rows = load("versions")["findings"]
    violated = {row["entry"] for row in rows if row["by"].get(version, {}).get("verdict") == "violated"}
    on_clusters = {name for name, known in evidence().items() if known.releases}
    assert {item["id"] for item in findings_of(version, 2, elr=has_elr)} - on_clusters == violated - on_clusters


def test_the_shortest_history_is_written_as_a_trace_that_replays(tmp_path: Path) -> None:
    file = tmp_path / "loss.trace"
    assert fencepost("advise", "--replicas", "2", "--trace", str(file)).exit_code == 0
    assert fencepost("replay", str(file)).exit_code == 0


# -- a cluster that is asked


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Replace confluent-kafka by a library that answers with one topic; return its settings."""
    values = {"min.insync.replicas": "2", "unclean.leader.election.enable": "true"}
    partitions = {0: SimpleNamespace(replicas=[1, 2, 3]), 1: SimpleNamespace(replicas=[1, 2])}

    def client(given: dict[str, Any]) -> SimpleNamespace:
        values["asked"] = given["bootstrap.servers"]
        return SimpleNamespace(list_topics=list_topics, describe_configs=describe_configs)

    def list_topics(timeout: float) -> SimpleNamespace:
        assert timeout > 0
        topics = dict.fromkeys(("orders", "pay", "__state"), SimpleNamespace(error=None, partitions=partitions))
        return SimpleNamespace(topics=topics, brokers={1: 0, 2: 0, 3: 0})

    def describe_configs(resources: list[Any], request_timeout: float) -> dict[Any, SimpleNamespace]:
        assert request_timeout > 0
        return {item: SimpleNamespace(result=result) for item in resources}

    def result(timeout: float) -> dict[str, SimpleNamespace]:
        assert timeout > 0
        return {name: SimpleNamespace(value=value) for name, value in values.items()}

    package, admin = ModuleType("confluent_kafka"), ModuleType("confluent_kafka.admin")
    package.KafkaException = type("KafkaException", (Exception,), {})
    package.__spec__ = SimpleNamespace()
    admin.AdminClient, admin.ConfigResource = client, Mock(side_effect=lambda kind, name: (kind, name))
    monkeypatch.setitem(sys.modules, "confluent_kafka", package)
    monkeypatch.setitem(sys.modules, "confluent_kafka.admin", admin)
    return values


def test_settings_are_read_from_a_cluster(cluster: dict[str, Any]) -> None:
    found = said("--bootstrap-server", "host:9092", "--topic", "orders", "--kafka", "4.1")
    assert cluster["asked"] == "host:9092"
    assert found["read_from"] == {"bootstrap_server": "host:9092", "topic": "orders"}
    assert {"replicas": 2, "min_isr": 2, "unclean_election": True}.items() <= found["settings"].items()


def test_every_topic_of_a_cluster_is_read_and_topics_that_are_alike_are_answered_once(cluster: dict[str, Any]) -> None:
    found = said("--bootstrap-server", "host:9092", "--kafka", "4.1")
    assert cluster["asked"] == "host:9092"
    (topics,) = found["topics"]
    assert (topics["names"], topics["settings"]["brokers"]) == (["orders", "pay"], 3)


def test_topics_are_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "topics"
    file.write_text("orders 3 2\npay 3 2  # the same\nlogs 2 1 unclean\n")
    found = said("--topics", str(file), "--kafka", "4.1.2", "--brokers", "3")["topics"]
    assert [item["names"] for item in found] == [["orders", "pay"], ["logs"]]
    assert found[1]["settings"]["unclean_election"] is True
    shown = fencepost("advise", "--topics", str(file), "--kafka", "4.1.2").stdout
    heads = [line[:10] for line in shown.split("\n")]
    assert heads == ["Yes: 11 of", "  orders, ", "Yes: 2 of ", "  logs", "`-v` shows", ""]
    file.write_text("orders three 2\n")
    assert "write NAME REPLICAS MIN_ISR" in fencepost("advise", "--topics", str(file)).stderr
    file.write_text("orders 3 2\norders 2 1\n")
    assert ":2: topic orders is listed twice" in fencepost("advise", "--topics", str(file)).stderr


def test_a_topic_that_is_not_there_and_a_setting_that_is_not_said_are_refused(cluster: dict[str, Any]) -> None:
    done = fencepost("advise", "--bootstrap-server", "h:1", "--topic", "other")
    assert (done.exit_code, done.stderr) == (2, "fencepost: h:1 has no topic 'other': name an existing topic.\n")
    del cluster["min.insync.replicas"]
    assert "did not return min.insync.replicas" in refused("advise", "--bootstrap-server", "h:1", "--topic", "orders")


def test_without_the_library_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert "pip install 'fencepost[advise]'" in refused("advise", "--bootstrap-server", "h:1", "--topic", "t")


def told_of(kafka: str, **settings: Any) -> str:
    made = advise(3, 2, kafka=kafka, **settings)
    return " ".join(notes(made.settings, made.to_dict()))


def test_a_patch_that_was_not_read_is_named() -> None:
    assert patches_read("kafka-3.9") == ["3.9.2"]
    assert patches_read("kafka-4.0") == ["4.0.2"]
    assert "Kafka 3.9.1 was not measured, and this answer applies to 3.9.2." in told_of("3.9.1")
    assert "Kafka 3.9.0 is as kafka-3.9, but followers can lose committed records" in told_of("3.9.0")
    assert "was not measured" not in told_of("3.9.2")
    assert "Statements about Kafka 3.9 apply to 3.9.2: other patch releases may differ." in told_of("kafka-3.9")
    shown = advise(3, 2, kafka="3.9.0").to_dict()["settings"]
    assert (shown["kafka"], shown["release"], shown["read"]) == ("kafka-3.9", "3.9.0", ["3.9.2"])
