"""The model of the metadata quorum and Kafka's own KafkaRaftClient, step by step."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from fencepost.conformance.binding import QUORUM
from fencepost.conformance.driver import Driver
from fencepost.conformance.kafka import release
from fencepost.conformance.quorum.mapping import ACTIONS, AS_BUILT, FIELDS, NOT_COMPARED, NOT_DRIVEN, RELEASES, rules
from fencepost.conformance.quorum.nodes import Nodes
from fencepost.conformance.walking import walks
from fencepost.model.language import NONE
from fencepost.model.language.errors import DisabledError
from fencepost.model.language.interpreter import Interpreter, Step
from fencepost.model.language.records import fields
from fencepost.model.quorum.state import Fetch, Node, Role, State

from tests.commands import data_of, fencepost
from tests.kafkas import KAFKA, on_kafka

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.xdist_group("kafka")
ARCHIVE = Path(__file__).parent.parent / "counterexamples" / "archive"
ONE_EPOCH = ["--set", "max_epoch=1"]
WIDE = {"nodes": 4, "max_epoch": 3, "max_records": 2, "restarts": 1, "losses": 1, "late_fetches": 1, "no_ops": 1}
TRIED = ("leader_appends", "leader_handles_fetch", "follower_appends", "follower_truncates")
UNSEEN = {
    "leader_always_counted": "no leader removes itself here",
    "lone_voter_resigns": "there is more than one voter here",
    "timeout_answers_anew": "with the completion of all parked fetches an answer of its arrival is never an old one",
}


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
    assert named == (FIELDS.keys() | NOT_COMPARED.keys()) - {"node.fetch of a parked fetch"}


@on_kafka
def test_nodes_of_kafka_take_every_transition_of_an_epoch_as_the_model_does() -> None:
    made = fencepost("conform", "quorum", "--kafka", KAFKA, *ONE_EPOCH, "--set", "max_records=0", "--json")
    found = data_of(made)
    assert made.exit_code == 0, found["differences"]
    assert found["verdict"] == "conforms"
    assert found["executed"] == found["transitions"] > 100


@on_kafka
def test_nodes_of_kafka_elect_diverge_and_truncate_as_the_model_says(driver: Driver) -> None:
    plain = interpreter(KAFKA)
    execution = Nodes(driver, plain)
    for history in walks(plain, 15, 40, 1):
        assert execution.run(plain.initial_states()[0], history) is None
    assert execution.tally.actions.keys() >= {"quorum-elects", "node-learns-leader", "leader-handles-fetch", "follower-appends"}


@on_kafka
def test_what_a_leader_refuses_in_the_model_kafka_refuses_too(driver: Driver) -> None:
    assert refusals(driver, 20) > 10


def is_about_something_else(execution: Nodes, name: str, step: Step) -> bool:
    """Say whether the model refuses a write for want of a budget, or an answer whose leader is gone: that tells of the next one."""
    if name.startswith("leader_handles"):
        return False
    told = execution.seen.state["nodes"][step.args[0]]
    return bool(told["role"] == Role.LEADER if name == "leader_appends" else told["leader"] == NONE)


def steps_refused(plain: Interpreter, execution: Nodes) -> list[Step]:
    """Return steps that the model refuses where Kafka is, but not for want of a budget."""
    found = []
    for name in TRIED:
        for step in plain.steps(plain.machine.action(name), execution.at):
            if is_about_something_else(execution, name, step):
                continue
            try:
                plain.apply(execution.at, step)
            except DisabledError:
                found.append(step)
    return found


def refusals(driver: Driver, number: int) -> int:
    """Try at the end of walks what the model refuses, and return how often a class of Kafka refused it."""
    plain = interpreter(driver.release.version)
    execution, refused = Nodes(driver, plain), 0
    for history in walks(plain, number, 20, 2):
        before = execution.tally.aside.total()
        assert execution.run(plain.initial_states()[0], history) is None
        if execution.tally.aside.total() > before:
            continue
        for step in steps_refused(plain, execution):
            refused += execution.ask(execution.line(step)) == "refused"
            if execution.compare((step,), execution.at) is not None:
                others = (item.after for item in plain.transitions(execution.at))
                assert any(execution.compare((step,), after) is None for after in others), step
                break
    return refused


@on_kafka
def test_a_release_without_a_test_jar_is_refused() -> None:
    made = fencepost("conform", "quorum", "--kafka", "4.4.0")
    assert made.exit_code == 2
    assert "Kafka 4.4.0 has no test jar of kafka-raft." in made.stderr


@on_kafka
def test_ablation_is_refused_for_the_quorum() -> None:
    made = fencepost("conform", "quorum", "--kafka", KAFKA, "--ablate")
    assert made.exit_code == 2
    assert "--ablate and --refusals are for `replication`" in made.stderr


@pytest.mark.long
@on_kafka
@pytest.mark.parametrize("version", RELEASES)
def test_every_release_with_a_test_jar_of_its_raft_client_does_as_the_model_does(version: str) -> None:
    made = fencepost("conform", "quorum", "--kafka", version, *ONE_EPOCH, "--json")
    found = data_of(made)
    assert made.exit_code == 0, found["differences"]
    assert found["executed"] == found["transitions"]
    with Driver(release(version, None, QUORUM.harness)) as driver:
        plain = interpreter(version)
        execution = Nodes(driver, plain)
        for history in walks(plain, 300, 40, 3):
            assert execution.run(plain.initial_states()[0], history) is None
        assert refusals(driver, 60) > 50


@pytest.mark.long
@on_kafka
@pytest.mark.parametrize("name", sorted(AS_BUILT.keys() - {"check_quorum"}))  # pre-votes need it
def test_a_rule_of_the_quorum_that_is_turned_is_noticed(name: str, driver: Driver) -> None:
    usual = int(interpreter(KAFKA).constants.values[name])
    for value in {0, 1, 2} - {usual} if name in ("completes_on_high_watermark", "reports") else {int(not usual)}:
        plain = interpreter(KAFKA, **{name: value})
        execution = Nodes(driver, plain)
        found = (execution.run(plain.initial_states()[0], history) for history in walks(plain, 500, 40, 4))
        assert (next((item for item in found if item is not None), None) is None) == (name in UNSEEN), name


@pytest.mark.long
@on_kafka
@pytest.mark.parametrize("path", sorted(ARCHIVE.glob("quorum-*.trace")), ids=lambda path: path.stem)
def test_an_archived_history_of_the_quorum_ends_on_kafka_as_in_the_model_or_is_refused(path: Path) -> None:
    made = fencepost("conform", "quorum", "--kafka", KAFKA, "--trace", str(path), "--json")
    assert made.exit_code in (0, 2), made.stdout
