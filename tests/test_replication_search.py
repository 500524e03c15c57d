"""What the replication model reaches at small sizes, and that what it forgets cannot be observed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from fencepost.explorers.plain import PlainSearch
from fencepost.explorers.verdict import Options
from fencepost.invariants.replication import PROPERTIES
from fencepost.model.cluster.constants import EpochSource
from fencepost.model.cluster.machine import MACHINE
from fencepost.model.language.subset import check

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fencepost.explorers.verdict import Result

KIP_903 = {
    "brokers": 2,
    "max_records": 1,
    "initial_isr": 1,
    "crashes": 1,
    "fences": 1,
    "shrinks": 0,
    "max_leader_epoch": 2,
    "fenced_before_registration": 1,
}
"""Loss only outside the ISR, one crash and one fence: with two fences the last member of the ISR can lose records too."""


def explore(constants: Mapping[str, int], *, normalize: bool = True) -> Result:
    """Search a configuration to the end on the plain carrier."""
    result = PlainSearch(MACHINE, MACHINE.set_constants(constants), PROPERTIES, Options(normalize=normalize)).run()
    assert result.complete
    return result


def violated(result: Result) -> dict[str, int]:
    """Return the steps of the shortest trace of each violated property."""
    return {item.name: item.path.length - 1 for item in result.properties if item.verdict == "violated" and item.path}


def judged(result: Result) -> dict[str, tuple[str, int]]:
    """Return verdict and trace length of each property."""
    return {item.name: (str(item.verdict), item.path.length if item.path else 0) for item in result.properties}


def test_the_model_is_within_the_language() -> None:
    """Every action, helper and property passes the subset checker."""
    check(MACHINE, PROPERTIES)


def test_with_broker_epochs_no_rebooted_replica_joins_too_early() -> None:
    """KIP-903: no property fails in the whole space, and every witness is in it."""
    result = explore(KIP_903)
    assert (result.distinct, result.depth) == (3372, 16)
    assert {item.verdict for item in result.properties} == {"holds"}


@pytest.mark.parametrize(
    ("switches", "expected"),
    [
        ({"alter_partition_version": 2}, {"joining-epoch-is-registered": 7, "joining-replica-has-committed": 10}),
        ({"atomic_expansion": 0}, {"joining-replica-has-committed": 12}),
        (
            {"broker_epoch_from": EpochSource.CACHE, "fetch_carries_broker_epoch": 0},
            {"joining-replica-has-committed": 10},
        ),
        ({"leader_broker_epoch_check": 0, "leader_eligibility_check": 0}, {}),
    ],
    ids=["no-broker-epochs", "KAFKA-15221", "epoch-from-cache", "no-check-at-the-leader"],
)
def test_each_part_of_kip_903_but_the_leaders_check_is_needed(switches: dict[str, int], expected: dict[str, int]) -> None:
    """KIP-903: without the controller's check, or with an epoch from elsewhere, a replica joins without committed records."""
    found = violated(explore({**KIP_903, **switches}))
    assert {name: found[name] for name in expected} == expected
    assert bool(found) is bool(expected)


@pytest.mark.parametrize(
    "constants",
    [
        {**KIP_903, "fences": 0},
        {"brokers": 2, "initial_isr": 2, "crashes": 0, "fences": 1, "shrinks": 1},
        {"brokers": 2, "initial_isr": 1, "crashes": 0, "fences": 1, "shrinks": 0, "resends": 1},
    ],
    ids=["crash", "shrink", "resend"],
)
def test_normalizing_changes_no_verdict_and_no_length(constants: dict[str, int]) -> None:
    """What is forgotten cannot be observed; the window must be long enough for a run that drops nothing."""
    roomy = {**constants, "metadata_lag": 12, "alter_partitions": 6, "late_fetches": 2}
    with_it, without = explore(roomy), explore(roomy, normalize=False)
    assert with_it.distinct < without.distinct
    assert judged(with_it) == judged(without)
