"""The symbolic engine does what the plain semantics does: refusing guards, successors, properties.

Each state of a random walk enters the walk as plain values, and some as values of z3's variables. Planted differences
show that they are caught.
"""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.agreement.test_differential import PARTS, machine_of
from tests.helpers.parameters import few
from tests.helpers.symbols import Symbols
from tests.machines import LINEAGE, faulty

WALKS: list[tuple[str, dict[str, int], int, int]] = [
    *((name, {"replicas": 2}, 60, 4) for name in LINEAGE),
    ("kip320", {"replicas": 2, "log_size": 1, "max_records": 3, "max_leader_epoch": 1}, 100, 6),
    ("kip320", {"replicas": 3}, 30, 1),
    ("id-sequence", {}, 50, 5),
    ("finite-replicated-log", {}, 500, 50),
    ("finite-replicated-log", {"log_size": 1, "records": 5}, 100, 20),
    ("mailbox", {"requests": 2}, 300, 20),
    ("mailbox", {"resends": 0, "deduplicate": 0, "losses": 3}, 100, 10),
    ("replication", {"brokers": 2, "initial_isr": 1}, 40, 2),
    ("replication", {"brokers": 2, "shrinks": 1, "elr": 1, "min_isr": 2}, 20, 0),
    ("replication",
        {"brokers": 2, "movable": 2, "reassignments": 3, "cancels": 1, "elr": 1, "min_isr": 2, "completion": 2}, 20, 0),
]  # fmt: skip
"""(machine, constants, steps with plain values, steps with variables)"""


def title(walk: tuple[str, Mapping[str, int], int, int]) -> str:
    return f"{walk[0]} {'/'.join(map(str, walk[1].values()))}"


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("walk", few(WALKS, 3), ids=title)
def test_engines_agree_on_every_state_of_a_random_walk(walk: tuple[str, dict[str, int], int, int], part: int) -> None:
    name, values, folded, solved = walk
    symbols = Symbols(*_with_values(name, values))
    assert symbols.walk(folded // part, seed=folded, solve=False) > 1
    if solved:
        assert symbols.walk(-(-solved // part), seed=solved, solve=True) >= 1


@pytest.mark.parametrize("name", few([*LINEAGE, "finite-replicated-log", "mailbox", "replication"], 4))
def test_guards_and_checks_of_an_action_cover_and_partition_all_states(name: str) -> None:
    values = {"replicas": 2} if name in LINEAGE else {"brokers": 2} if name == "replication" else {}
    assert Symbols(*_with_values(name, values)).uncovered() == []


def _with_values(name: str, values: dict[str, int]) -> tuple[Any, dict[str, int], Any]:
    machine, properties = machine_of(name)
    return machine, values, properties


OUTSIDE_OF_ACTIONS = {
    item
    for item in faulty.Fault
    if item.name.startswith(("STATE_", "WITNESS_", "STEP_", "NORMALIZE_", "INITIAL_", "SHIFT_TOO", "PRODUCT"))
}
"""Faults of properties, of `normalize` and of the initial state, and of numbers that only compiled code cannot hold."""


FAULTS = [item for item in faulty.Fault if item not in OUTSIDE_OF_ACTIONS]


@pytest.mark.parametrize("fault", few(FAULTS, 3), ids=lambda item: item.name.lower())
@pytest.mark.parametrize("solve", [False, True], ids=["folded", "solved"])
def test_a_step_that_the_plain_semantics_refuses_as_an_error_is_cut_and_never_dropped(
    fault: faulty.Fault, solve: bool
) -> None:
    symbols = Symbols(faulty.MACHINE, {"fault": fault})
    (first,) = symbols.compare(symbols.plain.initial_states()[0], solve=solve)
    (second,) = symbols.compare(first, solve=solve)
    steps = [step for item in faulty.MACHINE.actions for step in symbols.plain.steps(item, second)]
    outcomes = [(symbols.solved if solve else symbols.folded)(second, step) for step in steps]
    assert outcomes == [symbols.ask_plain(second, step) for step in steps]
    assert any(outcome.cut for outcome in outcomes) is (fault is not faulty.Fault.NOTHING)
