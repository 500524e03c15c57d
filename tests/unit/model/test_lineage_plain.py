"""The plain semantics reproduces TLC's results for the published models and for the smaller specifications."""

from itertools import product
from typing import Any

import pytest
from fencepost.explorers.program.subset.program import check
from fencepost.invariants import lineage
from fencepost.model.language import Machine, Property
from fencepost.model.language.records import Schema
from fencepost.model.lineage import base, kip101, kip279, kip320, kip320_first_try, truncate_to_hwm

from tests.helpers.search import explore
from tests.machines import finite_replicated_log, id_sequence, mailbox

MODELS = {module.MACHINE.name: module.MACHINE for module in (truncate_to_hwm, kip101, kip279, kip320_first_try, kip320)}
SMALL = (id_sequence, finite_replicated_log, mailbox)
WITNESSES = {"committed-on-all-replicas", "follower-truncates", "leader-changes", "isr-grows-back"}


def sizes(replicas: int, log_size: int, max_records: int, max_leader_epoch: int) -> dict[str, int]:
    """Return the constants in the order in which TLC's table writes them."""
    return {
        "replicas": replicas,
        "log_size": log_size,
        "max_records": max_records,
        "max_leader_epoch": max_leader_epoch,
    }


@pytest.mark.parametrize(
    ("machine", "properties"),
    [
        *((machine, lineage.PROPERTIES) for machine in MODELS.values()),
        *((module.MACHINE, module.PROPERTIES) for module in SMALL),
    ],
    ids=lambda item: getattr(item, "name", ""),
)
def test_machines_are_inside_the_modelling_language(machine: Machine, properties: tuple[Property, ...]) -> None:
    program = check(machine, properties)
    assert list(program.actions) == [item.name for item in machine.actions]


@pytest.mark.parametrize("machine", MODELS.values(), ids=MODELS)
def test_every_action_says_what_it_does(machine: Machine) -> None:
    assert all(item.sentence.endswith(".") for item in machine.actions)


@pytest.mark.parametrize(
    ("name", "distinct", "depth", "violated"),
    [
        ("truncate-to-hwm", 1251, 16, {"weak-isr": 9, "strong-isr": 10}),
        ("kip101", 1177, 15, {}),
        ("kip279", 1177, 15, {}),
        ("kip320-first-try", 1165, 15, {}),
        ("kip320", 957, 15, {}),
    ],
)
def test_two_replicas_and_two_epochs_give_the_states_that_tlc_counts(
    name: str, distinct: int, depth: int, violated: dict[str, int]
) -> None:
    found = explore(MODELS[name], sizes(2, 2, 2, 1), lineage.PROPERTIES)
    assert (found.distinct, found.depth, found.violated) == (distinct, depth, violated)
    assert set(found.reached) == WITNESSES
    assert all(found.fired.values()), found.fired


# Counted by a transcription of the specification into sets and tuples, action by action, from every state.
EDGES = {
    "one replica": (sizes(1, 1, 3, 2), (23, 23, 23, 23, 23)),
    "one epoch": (sizes(2, 2, 5, 0), (95, 95, 95, 95, 93)),
    "no records": (sizes(2, 2, 0, 1), (85, 85, 85, 85, 65)),
    "one slot, more records": (sizes(2, 1, 3, 1), (401, 389, 389, 397, 325)),
    "three replicas, one epoch": (sizes(3, 1, 2, 0), (280, 280, 280, 280, 271)),
}


@pytest.mark.parametrize(("constants", "counts"), EDGES.values(), ids=EDGES)
def test_odd_sizes_give_the_states_of_the_specification(constants: dict[str, int], counts: tuple[int, ...]) -> None:
    assert tuple(explore(machine, constants).distinct for machine in MODELS.values()) == counts


Log = tuple[tuple[int, int], ...]
"""Records as (id, epoch)."""


def all_logs(longest: int) -> list[Log]:
    """Return every log of two record ids and three epochs that is at most this long."""
    records = list(product(range(2), range(3)))
    return [log for length in range(longest + 1) for log in product(records, repeat=length)]


SCHEMA = Schema(base.State, base.C(**sizes(2, 2, 2, 2)))


def two_replicas(leader: Log, follower: Log, high_watermark: int) -> tuple[Any, Any]:
    state = SCHEMA.new()
    for replica, log in zip(state.replica, (leader, follower), strict=True):
        for record, epoch in log:
            base.append(replica, record, epoch)
    state.replica[1].high_watermark = high_watermark
    return state.replica[0], state.replica[1]


def test_the_last_matching_end_is_that_of_kip279_for_all_logs() -> None:
    for leader, follower in product(all_logs(2), repeat=2):
        matching = {offset for offset, (a, b) in enumerate(zip(leader, follower, strict=False)) if a == b}
        expected = max(matching) + 1 if matching else 0
        assert base.last_matching_end(*two_replicas(leader, follower, 0)) == expected, (leader, follower)


def test_the_truncation_offset_is_that_of_kip101_for_all_logs() -> None:
    for leader, follower in product(all_logs(2), repeat=2):
        for high_watermark in range(len(follower) + 1):
            if not follower:
                expected = 0
            elif leader and leader[-1][1] == follower[-1][1]:
                expected = len(leader)
            else:
                later = {offset for offset, (_, epoch) in enumerate(leader) if epoch > follower[-1][1]}
                expected = min(later) if later else high_watermark
            l, f = two_replicas(leader, follower, high_watermark)
            assert kip101.truncation_offset(l, f) == expected, (leader, follower, high_watermark)
