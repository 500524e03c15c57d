"""Every release that the driver knows, compared with the model; and how its text is made to fit a release."""

from collections.abc import Callable
from typing import Any

import pytest
from fencepost.kafka.conform.binding import BINDINGS
from fencepost.kafka.driver.releases import RELEASES, adapt_classes, select_lines

from tests.helpers.parameters import words
from tests.kafka.kafkas import conformed, on_kafka


def on_releases(*releases: str) -> Callable[[Callable[..., None]], pytest.MarkDecorator]:
    return lambda test: pytest.mark.long(on_kafka(pytest.mark.parametrize("release", releases)(test)))


def walked(release: str, walks: int, sizes: str, *more: str) -> dict[str, Any]:
    settings = [f"--set={item}" for item in words(sizes)]
    found = conformed("replication", "--kafka", release, "--walks", str(walks), *more, *settings)
    return {**found, **{item["name"]: item["executed"] for item in found["actions"]}}


@on_releases(*RELEASES)
def test_every_release_takes_every_transition_of_a_small_state_graph_as_the_model_does(release: str) -> None:
    found = conformed("replication", "--kafka", release, "--set", "crashes=0", "--set", "shrinks=0")
    assert found["kafka"] == release
    assert found["executed"] == found["transitions"] == 362


@on_releases(*RELEASES)
def test_brokers_of_every_release_crash_restart_and_elect_as_the_model_says(release: str) -> None:
    found = walked(release, 60, "clean_stops=1 elections=1 max_records=2 max_leader_epoch=4")
    assert found["compared"] > found["steps"] > 1000


@on_releases("4.1.2", "4.4.0")
def test_processes_that_follow_before_they_are_registered_do_as_the_model_says(release: str) -> None:
    sizes = "early_starts=2 crashes=2 clean_stops=1 lags=1 max_records=2 min_isr=2 metadata_lag=6 max_leader_epoch=4"
    found = walked(release, 60, sizes, "--depth", "50")
    assert (found["broker-starts"] > 50, found["leader-handles-late-fetch"] > 20) == (True, True)


@on_releases(*RELEASES)
def test_operators_of_every_release_move_replicas_as_the_model_says(release: str) -> None:
    """Two of four brokers have no replica at first, so that one reassignment replaces another in all ways."""
    moves = "brokers=4 movable=4 spare=2 reassignments=3 cancels=2"
    found = walked(release, 100, f"{moves} min_isr=2 metadata_lag=8 shrinks=0 max_leader_epoch=6")
    assert found["operator-reassigns-replicas"] > 200
    assert found["operator-cancels-reassignment"] > 100


@on_releases(*RELEASES)
def test_the_builder_of_every_release_makes_the_same_of_every_change_on_every_image(release: str) -> None:
    found = conformed("replication", "--kafka", release, "--changes")
    assert sum(item["compared"] for item in found["changes"]) > 12_000


def test_lines_are_kept_for_the_releases_that_they_are_marked_for() -> None:
    text = "one\ntwo,  // until 4.1\nthree,  // since 4.3\n"
    assert select_lines(text, "4.1.2") == "one\ntwo,  // until 4.1\n"
    between = "one  // since 3.8 until 3.9\n"
    assert [select_lines(between, version) for version in ("3.7.2", "3.9.2", "4.0.0")] == ["", between, ""]
    assert select_lines(text, "4.2.1") == "one\n"
    assert select_lines(text, "4.3.0-SNAPSHOT") == select_lines(text, "trunk") == "one\nthree,  // since 4.3\n"


def test_a_class_that_has_moved_is_named_where_it_is() -> None:
    classes = {
        "MemoryRecords": {"org.apache.kafka.common.record.internal"}, "Lost": {"one", "other"},
        "BlockingSend": {"kafka.server", "org.apache.kafka.server"},
    }  # fmt: skip
    text = "import {}.MemoryRecords; kafka.server.BlockingSend x; org.apache.kafka.gone.Lost y;"
    before, after = map(text.format, ("org.apache.kafka.common.record", "org.apache.kafka.common.record.internal"))
    assert adapt_classes(before, classes) == after


@on_releases("4.1.2", "4.4.0")
@pytest.mark.parametrize(
    ("protocol", "least"),
    [("tiers", 7_500), ("directory-moves", 5_500), ("broker-sessions", 1_500), ("topic-deltas", 400)],
)
def test_other_protocols_take_every_transition_as_the_model_does(protocol: str, least: int, release: str) -> None:
    bound = BINDINGS[protocol]
    assert {item.name for item in bound.machine.actions} == bound.follow.acts.keys() | bound.not_driven.keys()
    found = conformed(protocol, "--kafka", release)
    assert found["executed"] == found["transitions"] > least
    assert conformed(protocol, "--kafka", release, "--ablate")["verdict"] == "conforms"
