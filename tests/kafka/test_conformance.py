"""The model and Kafka's own classes, step by step: a small part of it, on one release."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fencepost.counterexamples.replay import replay
from fencepost.invariants.protocols import protocol
from fencepost.kafka.conform.binding import REPLICATION
from fencepost.kafka.conform.changes import ChangesReport, conform_changes
from fencepost.kafka.conform.histories import HistoriesOutcome, HistoriesReport, shorten, write_differences
from fencepost.kafka.driver.ablation import read_sizes
from fencepost.kafka.driver.process import Driver
from fencepost.kafka.driver.releases import release
from fencepost.kafka.replication.brokers import Brokers
from fencepost.kafka.replication.mapping import reset

from benchmarks.figures.conformance import COVERS
from tests.helpers.commands import refused
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
