"""Does the comparison with Kafka see? Kafka's checks taken out of the model, and what the model refuses, on one release."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from fencepost.conformance.guards import BOUNDS, KAFKAS, PHYSICAL, SHADOWED, UNSEEN, Whose, whose
from fencepost.conformance.kafka import RELEASES, Release, release
from fencepost.conformance.mapping import ACTIONS, NOT_DRIVEN
from fencepost.conformance.noticed import Noticed
from fencepost.conformance.refusals import try_refusals
from fencepost.conformance.seeing import GROUNDS, Seeing, Sight, rows_of
from fencepost.invariants.protocols import protocol
from fencepost.model.language.errors import UsageError
from fencepost.model.language.removal import guards

from tests.commands import data_of, fencepost
from tests.kafkas import KAFKA, on_kafka

MACHINE = protocol("replication").machine
BASE = MACHINE.set_constants(dict(MACHINE.version("kafka-4.1").values))
SOME = Release(KAFKA, "kafka-4.1", Path(), Path())
EVERY = [guard for guard in guards(MACHINE) if not guard.part]


def test_every_guard_is_a_check_of_kafka_physical_or_a_bound() -> None:
    found = {guard.name: whose(guard) for guard in EVERY}
    assert set(found.values()) == set(Whose)
    assert all(found[guard.name] is Whose.BOUND for guard in EVERY if guard.action.replace("-", "_") in NOT_DRIVEN)


def test_no_guard_is_classified_that_does_not_exist() -> None:
    known = {(guard.action, guard.condition) for guard in EVERY}
    assert {*KAFKAS, *PHYSICAL, *BOUNDS} <= known
    assert len({*KAFKAS, *PHYSICAL, *BOUNDS}) == len(KAFKAS) + len(PHYSICAL) + len(BOUNDS)
    assert set(SHADOWED) <= set(KAFKAS)
    assert {action.replace("-", "_") for action, _ in KAFKAS} <= set(ACTIONS)


def test_a_guard_that_nobody_has_classified_is_named() -> None:
    changed = replace(EVERY[0], condition="s.moon == FULL")
    with pytest.raises(UsageError, match=r"the guard `broker-crashes 1` .* is not classified"):
        whose(changed)


def test_reasons_name_rules_that_exist() -> None:
    names = {row.variant.name for row in rows_of(MACHINE, BASE)}
    for name in UNSEEN:
        assert any(known in (name, *[item for item in names if item.startswith(f"{name}=")]) for known in names), name


def test_a_row_that_was_not_noticed_and_has_no_reason_fails_the_run() -> None:
    row = next(item for item in rows_of(MACHINE, BASE) if not item.why)
    hidden = next(item for item in rows_of(MACHINE, BASE) if item.why)
    assert row.sight is hidden.sight is Sight.NOWHERE
    assert Noticed(SOME, MACHINE, [hidden]).verdict == "conforms"
    assert Noticed(SOME, MACHINE, [hidden, row]).verdict == "differs"


@on_kafka
@pytest.mark.xdist_group("kafka")
def test_checks_that_are_taken_out_of_the_model_are_noticed() -> None:
    names = ("controller-applies-alter-partition 6", "leader-requests-shrink", "leader-learns-change-applied", "maximal_isr")
    rows = Seeing(release(KAFKA), MACHINE, BASE).only(names).look(GROUNDS[:1])
    assert {row.variant.name: str(row.sight) for row in rows} == {
        "controller-applies-alter-partition 6": "noticed",
        "leader-requests-shrink 5": "noticed",
        "leader-requests-shrink 6": "noticed",
        "leader-learns-change-applied 2": "noticed",
        "maximal_isr=off": "noticed",
    }
    assert rows[0].shown is not None
    assert rows[0].shown.why == "INVALID_UPDATE_VERSION"


@on_kafka
@pytest.mark.xdist_group("kafka")
def test_what_the_model_refuses_kafka_refuses_or_does_nothing() -> None:
    found = try_refusals(release(KAFKA), MACHINE, BASE, 120, 1, grounds=GROUNDS[:1])
    assert found.forbidden == []
    assert found.tries > 60
    answers = {answer for _, answer in found.answers}
    assert answers >= {
        "INVALID_UPDATE_VERSION",
        "FENCED_LEADER_EPOCH",
        "UNKNOWN_LEADER_EPOCH",
        "NOT_LEADER_OR_FOLLOWER",
        "no effect",
    }


@on_kafka
@pytest.mark.xdist_group("kafka")
def test_a_comparison_that_sees_nothing_is_caught() -> None:
    """The model's own rule is tried as if it were another one: nothing can tell the two apart, so nothing is noticed."""
    seeing = Seeing(release(KAFKA), MACHINE, BASE.__class__(**{**BASE.values, "maximal_isr": 0})).only(["maximal_isr"])
    (row,) = seeing.look(GROUNDS[:1])
    assert row.variant.name == "maximal_isr=on"
    assert row.sight in (Sight.UNNOTICED, Sight.DEPARTS)
    assert not row.is_well


def test_tries_choose_their_own_constants() -> None:
    found = fencepost("conform", "replication", "--kafka", KAFKA, "--ablate", "--set", "brokers=2")
    assert found.exit_code == 2
    assert "leave out" in found.stderr


def test_changes_choose_their_own_constants() -> None:
    found = fencepost("conform", "replication", "--kafka", KAFKA, "--changes", "--walks", "3")
    assert found.exit_code == 2
    assert "--changes chooses its images" in found.stderr


@pytest.mark.long
@on_kafka
@pytest.mark.parametrize("version", RELEASES)
def test_every_check_and_rule_that_is_driven_is_noticed_on_every_release(version: str) -> None:
    made = fencepost("conform", "replication", "--kafka", version, "--ablate", "--refusals", "1000", "--json")
    found = data_of(made)
    assert made.exit_code == 0, [item for item in found["ablated"] if item["seen"] != "noticed"]
    assert found["noticed"] >= 0.95 * found["drivable"]
    assert found["refusals"]["forbidden"] == []
