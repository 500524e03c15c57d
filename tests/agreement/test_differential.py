"""Compiled code does what the plain semantics does: every successor, every guard that refuses, every property.

Random walks, and in each state on the way both engines are asked for everything. That they would be caught is tested
too.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from fencepost.explorers.native.compile import load, lowered
from fencepost.explorers.program.ir.nodes import Binary, Compare, Numbers, Order, Store
from fencepost.explorers.program.ir.program import rebuilt
from fencepost.explorers.program.ir.translate import translate
from fencepost.explorers.search import search
from fencepost.explorers.verdict import Options
from fencepost.invariants.protocols import PROTOCOLS
from fencepost.model.language.errors import MismatchError

from tests.helpers.engines import Engines
from tests.helpers.parameters import few, sized
from tests.machines import LINEAGE, async_isr, finite_replicated_log, id_sequence, mailbox

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fencepost.explorers.native.compile import Kernels
    from fencepost.explorers.program.ir.nodes import Node
    from fencepost.model.language import Machine, Property

    Change = Callable[[Node], Node]

PARTS = [pytest.param(3, id="a third"), pytest.param(1, id="whole", marks=pytest.mark.long)]
"""How much of each walk is walked."""
SMALL = {item.MACHINE.name: item for item in (id_sequence, finite_replicated_log, async_isr, mailbox)}
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
    (
        "replication",
        sized("movable=3 spare=1 reassignments=3 cancels=2 fences=2 min_isr=2 elr=1 completion=2 max_leader_epoch=8"),
        2_000,
    ),
    (
        "replication",
        sized("movable=2 reassignments=4 cancels=2 removal_opens_epoch=0 unclean_election=1 max_leader_epoch=8"),
        1_000,
    ),
    ("replication", {"raises": 2, "lowers": 1, "elr": 1, "shrinks": 2, "fences": 2, "max_leader_epoch": 8}, 1_000),
    (
        "replication",
        {"elr_disables": 1, "elr": 1, "min_isr": 2, "crashes": 2, "fences": 3, "max_leader_epoch": 8},
        1_000,
    ),
    (
        "replication",
        sized("brokers=2 early_starts=2 epochless_fetches=1 crashes=3 initial_isr=1 max_leader_epoch=8"),
        500,
    ),
    (
        "replication",
        sized("raises=1 lowers=2 min_isr=2 elr=1 publishing=1 elr_judged_by=2 fences=3 max_leader_epoch=8"),
        1_000,
    ),
    (
        "replication",
        sized("raises=1 lowers=1 elr=1 publishing=2 answers_carry_min_isr=1 elr_judged_by=1 max_leader_epoch=8"),
        1_000,
    ),
    (
        "metadata-reads",
        {"clients": 2, "forwarded_writes": 1, "foreign_contexts": 1, "restarts": 1, "offsets": 2},
        2_000,
    ),
    ("metadata-reads", {"one_store": 0, "exports": 1, "component_reads": 1, "check_first": 1, "token_read": 1}, 2_000),
    (
        "metadata-reads",
        {"token_read": 2, "component_reads": 1, "direct_writes": 1, "unlisted_requests": 1, "old_nodes": 1},
        1_000,
    ),
    (
        "metadata-reads",
        sized("in_order=1 rejects_late=1 unlisted_requests=1 restarts=1 restart_catches_up=0 foreign_contexts=1"),
        1_000,
    ),
    ("metadata-reads", {"atomic_store": 0, "resets": 1, "rebuilds": 1, "wrong_contexts": 1, "node_choice": 1}, 1_000),
    (
        "leader-discovery",
        {"partitions": 2, "partial_refresh": 1, "replica_lags": 1, "changes": 4, "restarts": 1},
        2_000,
    ),
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
    (
        "follower-reads",
        {"replicas": 3, "fetch_from": 3, "high_watermark_before_truncation": 1, "answers_in_flight": 0},
        1_000,
    ),
    (
        "follower-reads",
        sized("replicas=2 records=2 retentions=1 policy=0 late_errors=1 tells_epoch_before=1 compares_epochs=1"),
        1_000,
    ),
    ("watermark-propagation", {"records": 3, "losses": 1, "consumer": 1}, 500),
    ("unclean-recovery", {"max_records": 3, "crashes": 3, "fences": 2, "rule": 5}, 500),
    ("controller-failover", {"max_epoch": 3, "resends": 1, "crashes": 1, "flush_lags": 1, "initial_isr": 1}, 1_000),
    (
        "controller-failover",
        {"brokers_apply": 1, "catches_up_before_deciding": 0, "fences_deposed_controllers": 0},
        1_000,
    ),
    ("controller-failover", {"max_epoch": 4, "decisions": 4, "fences": 2, "records_per_fetch": 1, "resends": 2}, 1_000),
    ("quorum", {"nodes": 3, "voters": 3, "late_fetches": 1, "restarts": 1, "disk_losses": 1, "flush_lags": 1}, 1_500),
    (
        "quorum",
        {"nodes": 3, "voters": 3, "real_votes": 1, "restarts": 1, "removals": 1, "records_per_answer": 1},
        1_500,
    ),
    (
        "quorum",
        {"nodes": 3, "voters": 3, "snapshots": 2, "snapshot_epochs_compared": 0, "late_fetches": 1, "restarts": 1},
        1_000,
    ),
    (
        "quorum",
        {"nodes": 3, "voters": 3, "snapshots": 1, "logs_start_with_snapshots": 0, "snapshots_hold_committed": 0},
        600,
    ),
    ("quorum", {"nodes": 3, "voters": 2, "losses": 1, "counts_answers": 1, "version_18": 3, "brokers_apply": 1}, 1_500),
    (
        "quorum",
        {"nodes": 3, "voters": 2, "max_epoch": 1, "clock": 1, "no_op_interval": 4, "no_ops": 3, "losses": 1},
        1_500,
    ),
]


def machine_of(name: str) -> tuple[Machine, tuple[Property, ...]]:
    if name in SMALL:
        return SMALL[name].MACHINE, SMALL[name].PROPERTIES
    return PROTOCOLS[name].machine, PROTOCOLS[name].properties


def test_the_walks_have_more_than_100_000_steps() -> None:
    assert sum(steps for _, _, steps in WALKS) > 100_000


@pytest.mark.parametrize(
    ("name", "values", "steps"),
    few(
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
        4,
    ),
)
@pytest.mark.parametrize("part", PARTS)
def test_engines_agree_on_every_state_of_a_random_walk(
    name: str, values: Mapping[str, int], steps: int, part: int
) -> None:
    machine, properties = machine_of(name)
    assert Engines(machine, values, properties).walk(steps // part, seed=steps) > 1


@pytest.mark.xdist_group("mailbox-")
def test_engines_agree_without_normalize() -> None:
    machine, properties = machine_of("mailbox")
    assert Engines(machine, {}, properties, normalize=False).walk(2_000, seed=1) > 1


def another_order(before: Order, after: Order) -> Change:
    """Compare by another order, wherever the first comparison of a guard or a property is by this one."""

    def change(node: Node) -> Node:
        if isinstance(node, Compare) and node.rest[0][0] is before:
            return replace(node, rest=((after, node.rest[0][1]), *node.rest[1:]))
        return node

    return change


def no_rounds(node: Node) -> Node:
    """Let loops over numbers end before they begin."""
    return replace(node, stop=node.start) if isinstance(node, Numbers) else node


def no_change(node: Node) -> Node:
    """Store a sum without its second part."""
    if isinstance(node, Store) and isinstance(node.value, Binary):
        return replace(node, value=node.value.left)
    return node


PLANTED: dict[str, tuple[str, Change]] = {
    "a guard that lets more through": ("finite-replicated-log", another_order(Order.LESS, Order.AT_MOST)),
    "a guard that lets less through": ("finite-replicated-log", another_order(Order.AT_MOST, Order.LESS)),
    "a loop that ends early": ("finite-replicated-log", no_rounds),
    "an effect that stores another value": ("id-sequence", no_change),
    "a property that judges otherwise": ("id-sequence", another_order(Order.AT_MOST, Order.LESS)),
}


def planted(name: str, change: Change) -> Kernels:
    """Return the kernels of a machine whose typed program is changed."""
    machine, properties = machine_of(name)
    program = translate(machine, properties)
    changed = 0

    def anywhere(node: Node) -> Node:
        nonlocal changed
        after = change(rebuilt(node, anywhere))
        changed += after is not node
        return after

    functions = [replace(item, body=tuple(map(anywhere, item.body))) for item in program.functions]
    assert changed
    return load(lowered(replace(program, functions=tuple(functions)), machine.set_constants({}), normalize=True))


@pytest.mark.parametrize("difference", PLANTED.values(), ids=PLANTED)
def test_a_planted_difference_is_caught(difference: tuple[str, Change]) -> None:
    machine, properties = machine_of(difference[0])
    with pytest.raises(AssertionError, match=r"^the engines differ in \("):
        Engines(machine, {}, properties, kernels=planted(*difference)).walk(500, seed=1)


def test_a_trace_that_the_plain_semantics_cannot_take_is_never_shown() -> None:
    machine, properties = machine_of("id-sequence")
    wrong = planted(*PLANTED["an effect that stores another value"])
    with pytest.raises(MismatchError) as caught:
        search(machine, machine.set_constants({}), properties, Options(workers=1, deadlock=True), kernels=wrong)
    assert "plain semantics" in str(caught.value)


def test_a_property_that_the_plain_semantics_judges_otherwise_is_never_shown() -> None:
    machine, properties = machine_of("id-sequence")
    wrong = planted(*PLANTED["a property that judges otherwise"])
    with pytest.raises(MismatchError) as caught:
        search(machine, machine.set_constants({}), properties, Options(workers=1), kernels=wrong)
    assert str(caught.value) == (
        "property 'ids-are-bounded': the engine and the plain semantics judge the last state differently."
    )
