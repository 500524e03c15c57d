"""Does the comparison with Kafka see? Kafka's checks taken out of the models, and what they refuse, on one release."""

import pytest
from fencepost.kafka.conform.binding import QUORUM, REPLICATION
from fencepost.kafka.conform.guards import Sight, VariantTrials, try_refusals
from fencepost.kafka.driver.releases import RELEASES, release
from fencepost.kafka.quorum import guards as quorum
from fencepost.kafka.quorum.mapping import RELEASES as QUORUM_RELEASES
from fencepost.kafka.replication.guards import GROUNDS

from tests.helpers.commands import data_of, fencepost, refused
from tests.kafka.kafkas import KAFKA, on_kafka

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
