"""The model and Kafka's own classes, step by step: a small part of it, on one release."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fencepost.counterexamples.replay import replay
from fencepost.invariants.protocols import protocol
from fencepost.kafka.conform.binding import BINDINGS, QUORUM, REPLICATION
from fencepost.kafka.conform.changes import ChangesReport, conform_changes
from fencepost.kafka.conform.guards import Sight, VariantTrials, try_refusals
from fencepost.kafka.conform.histories import HistoriesOutcome, HistoriesReport, shorten, write_differences
from fencepost.kafka.driver.ablation import read_sizes
from fencepost.kafka.driver.process import Driver
from fencepost.kafka.driver.releases import RELEASES, adapt_classes, release, select_lines
from fencepost.kafka.quorum import guards as quorum
from fencepost.kafka.quorum.mapping import RELEASES as QUORUM_RELEASES
from fencepost.kafka.replication.brokers import Brokers
from fencepost.kafka.replication.guards import GROUNDS
from fencepost.kafka.replication.mapping import reset

from benchmarks.figures.conformance import COVERS
from tests.helpers.commands import data_of, fencepost, refused
from tests.helpers.parameters import words
from tests.helpers.places import ARCHIVE
from tests.kafka.kafkas import KAFKA, conformed, on_kafka
from tests.kafka.test_conformance_fields import interpreter

pytestmark = [on_kafka, pytest.mark.xdist_group("kafka")]
IMAGES = read_sizes(
    "brokers=2 movable=2 reassignments=2 cancels=1 fences=2 elections=1 "
    "crashes=0 shrinks=0 min_isr=2 max_records=0 metadata_lag=1"
)
FENCES = ["--set", "crashes=0", "--set", "shrinks=0"]
MOVES = "movable=3 spare=1 reassignments=2 cancels=1 metadata_lag=6 crashes=0 shrinks=0"


@pytest.fixture(scope="module")
def driver() -> Iterator[Driver]:
    with Driver(release(KAFKA)) as found:
        yield found


def test_kafka_takes_every_transition_of_a_small_state_graph_as_the_model_does() -> None:
    found = conformed("replication", "--kafka", KAFKA, *FENCES)
    assert (found["verdict"], found["states"], found["differences"]) == ("conforms", 203, [])
    assert found["executed"] == found["transitions"] == 362
    controller = {f"controller-{acts}" for acts in ("fences-broker", "unfences-broker", "applies-alter-partition")}
    leader = {f"leader-{acts}" for acts in ("appends", "handles-fetch", "learns-change-applied")}
    brokers = {"broker-applies-metadata", "follower-appends"}
    assert {item["name"] for item in found["actions"]} >= controller | leader | brokers


def covered(version: str, sizes: str) -> tuple[int, dict[str, int]]:
    found = conformed("replication", "--kafka", version, *(f"--set={item}" for item in words(sizes)))
    assert found["executed"] == found["transitions"]
    return found["transitions"], {item["name"]: item["executed"] for item in found["actions"]}


@pytest.mark.long
@pytest.mark.parametrize(("version", "transitions"), [("3.9.0", 1885), (KAFKA, 1858), ("4.4.0", 1858)])
def test_answers_of_an_earlier_epoch_are_taken_or_ignored_as_the_model_says(version: str, transitions: int) -> None:
    sizes = "initial_leader=1 late_answers=1 crashes=0 shrinks=0 elections=2 max_leader_epoch=3"
    count, executed = covered(version, sizes)
    assert count == transitions
    assert executed["follower-ignores-late-answer"] > 20
    assert (executed.get("follower-takes-late-answer", 0) > 0) == (version == "3.9.0")


@pytest.mark.long
@pytest.mark.parametrize("version", [KAFKA, "4.4.0"])
@pytest.mark.parametrize(
    "sizes",
    [COVERS["a disk is replaced, two clean stops"], COVERS["a log directory fails or is taken out, a clean stop"]],
)
def test_log_directories_fail_and_are_replaced_as_the_model_says(version: str, sizes: str) -> None:
    count, executed = covered(version, sizes)
    assert count > 1_000
    assert executed["controller-assigns-directory"] > 20


@pytest.mark.long
@pytest.mark.parametrize("version", [KAFKA, "4.4.0"])
def test_logs_start_above_0_as_the_model_says(version: str) -> None:
    count, executed = covered(version, COVERS["records are deleted, a crash, a shrink"])
    assert count > 10_000
    assert min(executed[name] for name in ("leader-deletes-records", "broker-writes-log-start")) > 100
    assert executed["follower-is-out-of-range"] > 10


@pytest.mark.parametrize(
    ("walks", "sizes", "executed"),
    [
        ("40", "clean_stops=1 elections=1 max_records=2 max_leader_epoch=4",
            "broker-crashes broker-registers controller-begins-shutdown controller-elects-preferred"),
        ("30", f"{MOVES} fences=1 max_leader_epoch=5",
            "operator-reassigns-replicas operator-cancels-reassignment follower-appends"),
    ],
    ids=["brokers crash, restart and elect", "operators move replicas"],
)  # fmt: skip
def test_walks_of_kafka_are_as_the_model_says(walks: str, sizes: str, executed: str) -> None:
    settings = [f"--set={item}" for item in words(sizes)]
    found = conformed("replication", "--kafka", KAFKA, "--walks", walks, *settings)
    assert {item["name"] for item in found["actions"]} >= {*words(executed)}


def changed(**rules: int) -> ChangesReport:
    machine = protocol("replication").machine
    base = machine.set_constants({**dict(machine.version("kafka-4.1").values), **rules})
    return conform_changes(release(KAFKA), machine, base, lambda _: None, IMAGES)


def test_kafkas_builder_makes_the_same_of_every_change_on_every_image() -> None:
    found = changed()
    assert found.verdict == "conforms", found.data()["changes"][0]["departures"]
    (compared,) = found.compared
    assert (compared.images, compared.changes, compared.idle) == (52, 402, 66)


def test_a_rule_that_is_another_one_differs_on_some_image() -> None:
    found = changed(elr_within_replicas=1)
    assert found.verdict == "differs"
    first = found.compared[0].departures[0]
    assert first.model is not None
    assert first.kafka is not None
    assert first.kafka.elr & ~first.kafka.replicas, "Kafka keeps a replica that was removed"


@pytest.mark.parametrize("name", ["hyp-10-cancelled", "hyp-1-loss", "hyp-3-kafka-4.1"])
def test_a_finding_happens_on_kafkas_classes(name: str) -> None:
    found = conformed("replication", "--kafka", KAFKA, "--trace", str(ARCHIVE / f"replication-{name}.trace"))
    assert (found["verdict"], found["differences"]) == ("conforms", [])
    assert found["finding"].endswith(" is violated at the end")


def test_a_trace_of_a_bug_that_kafka_has_not_any_more_is_refused() -> None:
    trace = str(ARCHIVE / "replication-b09-kip-903.trace")
    message = refused("conform", "replication", "--kafka", KAFKA, "--trace", trace)
    assert "the model rejects under Kafka's rules" in message


def test_a_driver_whose_starter_is_gone_ends_and_leaves_no_files(driver: Driver) -> None:
    with Driver(driver.release) as found:
        folder, process = Path(found._folder.name), found._process
        found.ask(reset(REPLICATION.machine.set_constants({"brokers": 2, "elr": 1})))
        assert any(folder.iterdir())
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(30) == 0
        assert not folder.exists()


def test_a_model_with_another_rule_differs_and_the_shortest_history_replays(driver: Driver, tmp_path: Path) -> None:
    found = interpreter(waits_for_joining=0)  # Kafka counts followers as caught up; this model does not
    execution = Brokers(driver, found)
    initial = found.initial_states()[0]
    difference = execution.run(initial, [])
    assert difference is not None
    assert difference.rows == (("replica[0].recent", "{}", "{1}"),)
    short = shorten(execution, initial, difference)
    outcome = HistoriesOutcome(differences={short.kind: short})
    outcome.times[short.kind] += 1
    report = HistoriesReport(REPLICATION, release(KAFKA), found.constants, outcome)
    assert report.verdict == "differs"
    write_differences(report, tmp_path)
    (path,) = tmp_path.iterdir()
    assert replay(path).trace.finding == f"Kafka {KAFKA} deviates from the model"
    assert replace(replay(path).trace, steps=()).steps == short.steps


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


MACHINE = REPLICATION.machine
BASE = MACHINE.set_constants(dict(MACHINE.version("kafka-4.1").values))
NODES = QUORUM.as_built("kafka-4.1", QUORUM.machine.set_constants({}))


@on_kafka
@pytest.mark.xdist_group("kafka")
def test_checks_that_are_taken_out_of_the_model_are_noticed() -> None:
    names = (
        "controller-applies-alter-partition 6", "leader-requests-shrink", "leader-learns-change-applied", "maximal_isr",
        "epochless",
    )  # fmt: skip
    rows = VariantTrials(REPLICATION, release(KAFKA), BASE).only(names).look(GROUNDS[:2])
    assert {row.variant.name: str(row.sight) for row in rows} == {
        "controller-applies-alter-partition 6": "noticed", "leader-requests-shrink 5": "noticed",
        "leader-requests-shrink 6": "noticed", "leader-learns-change-applied 2": "noticed",
        "maximal_isr=off": "noticed", "epochless_fetches=ineligible": "noticed", "epochless_fetches=refused": "noticed",
    }  # fmt: skip
    assert rows[0].shown is not None
    assert rows[0].shown.why == "INVALID_UPDATE_VERSION"


@on_kafka
@pytest.mark.xdist_group("kafka")
def test_what_the_model_refuses_kafka_refuses_or_does_nothing() -> None:
    found = try_refusals(REPLICATION, release(KAFKA), BASE, 120, 1, grounds=GROUNDS[:1])
    assert found.forbidden == []
    assert found.tries > 60
    answers = {answer for _, answer in found.answers}
    assert answers >= {
        "INVALID_UPDATE_VERSION", "FENCED_LEADER_EPOCH", "UNKNOWN_LEADER_EPOCH", "NOT_LEADER_OR_FOLLOWER", "no effect",
    }  # fmt: skip


@on_kafka
@pytest.mark.xdist_group("kafka")
def test_a_comparison_that_sees_nothing_is_caught() -> None:
    """The model's own rule is tried as if it were another one: nothing can tell the two apart, so nothing is
    noticed."""
    blind = BASE.__class__(**{**BASE.values, "maximal_isr": 0})
    (row,) = VariantTrials(REPLICATION, release(KAFKA), blind).only(["maximal_isr"]).look(GROUNDS[:1])
    assert row.variant.name == "maximal_isr=on"
    assert row.sight in (Sight.UNNOTICED, Sight.DEPARTS)
    assert not row.is_well


@pytest.mark.parametrize(
    ("words", "said"),
    [("--ablate --set brokers=2", "leave out"), ("--changes --walks 3", "--changes chooses its own images")],
)
def test_tries_and_changes_choose_their_own_constants(words: str, said: str) -> None:
    assert said in refused("conform", "replication", "--kafka", KAFKA, *words.split())


@on_kafka
@pytest.mark.xdist_group("kafka")
def test_checks_of_the_raft_client_that_are_taken_out_of_the_model_are_noticed() -> None:
    names = ("quorum-elects", "leader-appends 1", "compares_high_watermarks")
    rows = VariantTrials(QUORUM, release(KAFKA, None, QUORUM.harness), NODES).only(names).look(quorum.GROUNDS[:1])
    seen = {row.variant.name: (row.sight, row.shown.why if row.shown else "") for row in rows}
    assert seen == {
        "quorum-elects 3": (Sight.NOWHERE, ""),  # there is no observer
        "quorum-elects 4": (Sight.NOTICED, "it is not elected"),
        "quorum-elects 6": (Sight.NOTICED, "it is not elected"),
        "quorum-elects 8": (Sight.NOTICED, "it is not elected"),
        "leader-appends 1": (Sight.NOTICED, "NOT_LEADER"),
        "compares_high_watermarks=off": (Sight.NOTICED, ""),
    }


RUNS = [("replication", min(RELEASES)), ("replication", max(RELEASES)), ("quorum", max(QUORUM_RELEASES))]
"""The others take minutes each: `python -m benchmarks.figures.conformance seen` has all."""


@pytest.mark.long
@on_kafka
@pytest.mark.parametrize(("protocol", "version"), RUNS)
def test_every_check_and_rule_that_is_driven_is_noticed(protocol: str, version: str) -> None:
    made = fencepost("conform", protocol, "--kafka", version, "--ablate", "--refusals", "1000", "--json")
    found = data_of(made)
    assert made.exit_code == 0, [item for item in found["ablated"] if item["seen"] != "noticed"]
    assert found["noticed"] >= 0.95 * found["drivable"]
    assert found["refusals"]["forbidden"] == []
