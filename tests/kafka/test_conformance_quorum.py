"""The model of the metadata quorum and Kafka's own KafkaRaftClient, step by step."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fencepost.kafka.conform.binding import QUORUM
from fencepost.kafka.conform.guards import try_refusals
from fencepost.kafka.driver.process import Driver
from fencepost.kafka.driver.releases import release
from fencepost.kafka.driver.walks import walks
from fencepost.kafka.quorum.guards import GROUNDS
from fencepost.kafka.quorum.mapping import ACTIONS, FIELDS, NOT_COMPARED, NOT_DRIVEN, RELEASES, rules
from fencepost.kafka.quorum.nodes import Nodes
from fencepost.model.language.interpreter import Interpreter
from fencepost.model.language.records import fields
from fencepost.model.quorum.state import Fetch, Node, State

from tests.helpers.commands import fencepost, refused
from tests.helpers.places import ARCHIVE
from tests.kafka.kafkas import KAFKA, conformed, on_kafka

pytestmark = pytest.mark.xdist_group("kafka")
ONE_EPOCH = ["--set", "max_epoch=1"]
WIDE = {"nodes": 4, "max_epoch": 3, "max_records": 2, "restarts": 1, "losses": 1, "late_fetches": 1, "no_ops": 1}


def interpreter(version: str, **settings: int) -> Interpreter:
    machine = QUORUM.machine
    return Interpreter(machine, machine.set_constants({**rules(RELEASES[version]), **WIDE, **settings}))


@pytest.fixture(scope="module")
def driver() -> Iterator[Driver]:
    with Driver(release(KAFKA, None, QUORUM.harness)) as found:
        yield found


def test_every_action_and_every_field_of_the_quorum_is_mapped_or_left_out_for_a_reason() -> None:
    assert {item.name for item in QUORUM.machine.actions} == ACTIONS.keys() | NOT_DRIVEN.keys()
    named = {name for name, _ in fields(State)} - {"node"}
    named |= {f"node.{name}" for name, _ in fields(Node)} - {"node.fetch"}
    named |= {f"node.fetch.{name}" for name, _ in fields(Fetch)}
    assert named == (FIELDS.keys() | NOT_COMPARED.keys()) - {"node.fetch of a parked fetch", "node.log below its start"}


@on_kafka
@pytest.mark.parametrize(
    ("version", "more"),
    [
        (KAFKA, "listeners=on"),
        (KAFKA, "voters=2 fetch_timeouts=1 bootstrap=2"),
        pytest.param("4.3.1", "voters=2 fetch_timeouts=1 bootstrap=2", marks=pytest.mark.long),
    ],
)
def test_nodes_of_kafka_take_every_transition_of_an_epoch_as_the_model_does(version: str, more: str) -> None:
    sizes = [word for setting in ("max_records=0", *more.split()) for word in ("--set", setting)]
    found = conformed("quorum", "--kafka", version, *ONE_EPOCH, *sizes)
    assert found["verdict"] == "conforms"
    assert found["executed"] == found["transitions"] > 100


@on_kafka
def test_nodes_of_kafka_elect_diverge_and_truncate_as_the_model_says(driver: Driver) -> None:
    plain = interpreter(KAFKA)
    execution = Nodes(driver, plain)
    for history in walks(plain, 15, 40, 1):
        assert execution.run(plain.initial_states()[0], history) is None
    assert execution.tally.actions.keys() >= {
        "quorum-elects", "node-learns-leader", "leader-handles-fetch", "follower-appends",
    }  # fmt: skip


@on_kafka
def test_nodes_of_kafka_cut_their_logs_at_snapshots_and_load_those_of_others_as_the_model_says(driver: Driver) -> None:
    plain = interpreter(KAFKA, nodes=3, max_epoch=2, snapshots=2, max_records=1)
    execution = Nodes(driver, plain)
    for history in walks(plain, 25, 40, 1):
        assert execution.run(plain.initial_states()[0], history) is None
    assert execution.tally.actions.keys() >= {"node-takes-snapshot", "follower-loads-snapshot"}


@on_kafka
def test_what_the_model_of_the_quorum_refuses_kafka_refuses_or_does_nothing(driver: Driver) -> None:
    base = QUORUM.as_built("kafka-4.1", QUORUM.machine.set_constants({}))
    found = try_refusals(QUORUM, driver.release, base, 40, 1, grounds=GROUNDS[:1])
    assert found.forbidden == []
    assert found.tries > 10
    assert {answer for _, answer in found.answers} >= {"it is not elected", "NOT_LEADER", "no effect"}


@on_kafka
def test_a_release_without_a_test_jar_is_refused() -> None:
    assert "There is no test jar of kafka-raft for Kafka 4.4.0." in refused("conform", "quorum", "--kafka", "4.4.0")


@pytest.mark.long
@on_kafka
@pytest.mark.parametrize("version", RELEASES)
def test_every_release_with_a_test_jar_of_its_raft_client_does_as_the_model_does(version: str) -> None:
    found = conformed("quorum", "--kafka", version, *ONE_EPOCH)
    assert found["executed"] == found["transitions"]
    with Driver(release(version, None, QUORUM.harness)) as driver:
        plain = interpreter(version)
        execution = Nodes(driver, plain)
        for history in walks(plain, 300, 40, 3):
            assert execution.run(plain.initial_states()[0], history) is None


@pytest.mark.long
@on_kafka
@pytest.mark.parametrize("path", sorted(ARCHIVE.glob("quorum-*.trace")), ids=lambda path: path.stem)
def test_an_archived_history_of_the_quorum_ends_on_kafka_as_in_the_model_or_is_refused(path: Path) -> None:
    made = fencepost("conform", "quorum", "--kafka", KAFKA, "--trace", str(path), "--json")
    assert made.exit_code in (0, 2), made.stdout
