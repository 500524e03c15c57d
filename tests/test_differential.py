"""Compiled code does what the plain semantics does: every successor, every guard that refuses, every property.

Random walks, and in each state on the way both engines are asked for everything. That they would be caught is tested too.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from fencepost.explorers.native.compile import load
from fencepost.explorers.native.generate import generate
from fencepost.explorers.native.search import search
from fencepost.explorers.verdict import Options
from fencepost.invariants.protocols import PROTOCOLS
from fencepost.model.language.errors import MismatchError

from tests.carriers import Carriers
from tests.machines import LINEAGE, async_isr, constructs, finite_replicated_log, id_sequence, mailbox

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fencepost.explorers.native.compile import Kernels
    from fencepost.model.language import Machine, Property

SMALL = {item.MACHINE.name: item for item in (id_sequence, finite_replicated_log, async_isr, mailbox, constructs)}
WALKS: list[tuple[str, dict[str, int], int]] = [
    *((name, {"replicas": 2}, 8_000) for name in LINEAGE),
    *((name, {"replicas": 3}, 4_000) for name in LINEAGE),
    *((name, {"replicas": 2, "log_size": 1, "max_records": 3, "max_leader_epoch": 1}, 4_000) for name in LINEAGE),
    ("id-sequence", {}, 500),
    ("id-sequence", {"max_id": 400}, 1_500),
    ("finite-replicated-log", {}, 4_000),
    ("finite-replicated-log", {"log_size": 1, "records": 5}, 4_000),
    ("async-isr", {}, 4_000),
    ("async-isr", {"max_version": 1, "max_offset": 5}, 4_000),
    ("async-isr", {"replicas": 3}, 4_000),
    ("mailbox", {}, 5_000),
    ("mailbox", {"requests": 3, "resends": 1, "losses": 0, "resend": 1}, 5_000),
    ("mailbox", {"resends": 0, "deduplicate": 0, "losses": 3}, 5_000),
    ("replication", {"brokers": 2, "initial_isr": 1}, 2_000),
    ("replication", {"brokers": 2, "initial_isr": 2, "max_records": 1, "shrinks": 0, "elections": 1}, 1_000),
    ("metadata-reads", {"clients": 2, "forwarded_writes": 1, "foreign_contexts": 1, "restarts": 1, "offsets": 2}, 2_000),
    ("metadata-reads", {"one_store": 0, "exports": 1, "component_reads": 1, "check_first": 1, "token_read": 1}, 2_000),
    (
        "metadata-reads",
        {"token_read": 2, "component_reads": 1, "direct_writes": 1, "unlisted_requests": 1, "old_nodes": 1},
        1_000,
    ),
    (
        "metadata-reads",
        {
            "in_order": 1,
            "rejects_late": 1,
            "unlisted_requests": 1,
            "restarts": 1,
            "restart_catches_up": 0,
            "foreign_contexts": 1,
        },
        1_000,
    ),
    ("metadata-reads", {"atomic_store": 0, "resets": 1, "rebuilds": 1, "wrong_contexts": 1, "node_choice": 1}, 1_000),
    ("leader-discovery", {"partitions": 2, "partial_refresh": 1, "replica_lags": 1, "changes": 4, "restarts": 1}, 2_000),
    ("hints-and-tokens", {"recreations": 1, "replica_lags": 1, "old_brokers": 1}, 1_000),
    ("hints-and-tokens", {"recreations": 1, "one_image": 1, "rejects_late": 1, "hints_by_token": 1}, 1_000),
    ("hints-and-tokens", {"in_order": 1, "check_first": 1, "rejects_late": 1}, 1_000),
    ("leader-discovery", {"consumer": 1, "recreations": 1, "old_brokers": 1, "late_broker": 1}, 1_000),
    (
        "follower-reads",
        {"replicas": 2, "records": 2, "retentions": 2, "epochs": 3, "unclean_elections": 1, "design": 1, "stops": 1},
        2_000,
    ),
    (
        "follower-reads",
        {"replicas": 3, "retentions": 2, "design": 0, "policy": 0, "asks_end_offsets": 1, "watched_case": 3},
        1_000,
    ),
    ("follower-reads", {"replicas": 3, "fetch_from": 3, "high_watermark_before_truncation": 1, "answers_in_flight": 0}, 1_000),
    (
        "follower-reads",
        {
            "replicas": 2,
            "records": 2,
            "retentions": 1,
            "policy": 0,
            "late_errors": 1,
            "tells_epoch_before": 1,
            "compares_epochs": 1,
        },
        1_000,
    ),
    ("watermark-propagation", {"records": 3, "losses": 1, "consumer": 1}, 500),
    ("controller-failover", {"max_epoch": 3, "resends": 1, "crashes": 1, "flush_lags": 1, "initial_isr": 1}, 1_000),
    ("controller-failover", {"brokers_apply": 1, "catches_up_before_deciding": 0, "fences_deposed_controllers": 0}, 1_000),
    ("controller-failover", {"max_epoch": 4, "decisions": 4, "fences": 2, "records_per_fetch": 1, "resends": 2}, 1_000),
    ("quorum", {"nodes": 3, "voters": 3, "late_fetches": 1, "restarts": 1, "disk_losses": 1, "flush_lags": 1}, 1_500),
    ("quorum", {"nodes": 3, "voters": 3, "real_votes": 1, "restarts": 1, "removals": 1, "records_per_answer": 1}, 1_500),
    ("quorum", {"nodes": 3, "voters": 2, "losses": 1, "counts_answers": 1, "version_18": 3, "brokers_apply": 1}, 1_500),
    ("quorum", {"nodes": 3, "voters": 2, "max_epoch": 1, "clock": 1, "no_op_interval": 4, "no_ops": 3, "losses": 1}, 1_500),
    ("constructs", {}, 1_000),
    ("constructs", {"room": 1, "first": 110, "last": 10, "least": 2}, 600),
    ("constructs", {"room": 4, "first": 40, "last": 200}, 400),
]


def machine_of(name: str) -> tuple[Machine, tuple[Property, ...]]:
    if name in SMALL:
        return SMALL[name].MACHINE, SMALL[name].PROPERTIES
    return PROTOCOLS[name].machine, PROTOCOLS[name].properties


def test_the_walks_have_more_than_100_000_steps() -> None:
    assert sum(steps for _, _, steps in WALKS) > 100_000


@pytest.mark.parametrize(
    ("name", "values", "steps"),
    [
        pytest.param(
            *walk,
            id=f"{walk[0]} {'/'.join(map(str, walk[1].values()))}",
            marks=pytest.mark.xdist_group(
                walk[0]
                if walk[0] in ("replication", "quorum", "controller-failover")
                else f"{walk[0]}-{walk[1].get('replicas', '')}"
            ),
        )
        for walk in WALKS
    ],
)
def test_carriers_agree_on_every_state_of_a_random_walk(name: str, values: Mapping[str, int], steps: int) -> None:
    machine, properties = machine_of(name)
    assert Carriers(machine, values, properties).walk(steps, seed=steps) > 1


@pytest.mark.xdist_group("mailbox-")
def test_carriers_agree_without_normalize() -> None:
    machine, properties = machine_of("mailbox")
    assert Carriers(machine, {}, properties, normalize=False).walk(2_000, seed=1) > 1


PLANTED = {
    "a guard that lets more through": ("finite-replicated-log", "if (b.end < a.end):", "if (b.end <= a.end):"),
    "a guard that lets less through": ("finite-replicated-log", "if (offset <= log.end):", "if (offset < log.end):"),
    "a loop that ends early": ("finite-replicated-log", "for dropped in range(offset, log.end):", "for dropped in range(0):"),
    "an effect that stores another value": ("id-sequence", "_put(_e, (id + 1), ", "_put(_e, (id + (id < 2)), "),
    "a property that judges otherwise": ("id-sequence", "(0 <= s.next_id <= ", "(1 <= s.next_id <= "),
    "a refusal that is not counted": ("id-sequence", "    _r0 += 1\n", "    _r0 += 2\n"),
}


def planted(name: str, old: str, new: str) -> Kernels:
    """Return the kernels of a machine with one piece of their text changed."""
    machine, properties = machine_of(name)
    constants = machine.set_constants({})
    source = generate(machine, constants, properties, normalize=True)
    assert old in source.text
    return load(replace(source, text=source.text.replace(old, new)))


@pytest.mark.parametrize("difference", PLANTED.values(), ids=PLANTED)
def test_a_planted_difference_is_caught(difference: tuple[str, str, str]) -> None:
    machine, properties = machine_of(difference[0])
    with pytest.raises(AssertionError, match=r"^the carriers differ in \("):
        Carriers(machine, {}, properties, kernels=planted(*difference)).walk(500, seed=1)


def test_a_trace_that_the_plain_carrier_cannot_take_is_never_shown() -> None:
    machine, properties = machine_of("id-sequence")
    wrong = planted(*PLANTED["an effect that stores another value"])
    with pytest.raises(MismatchError) as caught:
        search(machine, machine.set_constants({}), properties, Options(workers=1, deadlock=True), kernels=wrong)
    assert "plain semantics" in str(caught.value)


def test_a_property_that_the_plain_carrier_judges_otherwise_is_never_shown() -> None:
    machine, properties = machine_of("id-sequence")
    wrong = planted(*PLANTED["a property that judges otherwise"])
    with pytest.raises(MismatchError) as caught:
        search(machine, machine.set_constants({}), properties, Options(workers=1), kernels=wrong)
    assert str(caught.value) == (
        "property 'ids-are-bounded': the engine and the plain semantics judge the last state differently."
    )
