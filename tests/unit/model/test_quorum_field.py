"""K1166-S4: the field HighWatermark, which brokers are to ignore, changes nothing in data replication between them."""

from typing import Annotated, Any

import pytest
from fencepost.invariants.replication import PROPERTIES
from fencepost.model.cluster.leader import leader_handles_fetch, leader_reports_divergence
from fencepost.model.cluster.machine import MACHINE
from fencepost.model.cluster.state import Broker, C
from fencepost.model.language import Machine, Range, action

from tests.helpers.parameters import few
from tests.helpers.search import Search

Field = Annotated[int, Range(0, C.max_records + 2)]
"""A high watermark, one more for unknown (-1), one more for absent (2**63 - 1): actions never try NONE."""


def carrying(base: Any, *, heeds: bool) -> Any:
    """Return the action with a field in the fetch that it handles; a leader that `heeds` it notes no log end beyond
    it."""

    @action(leader=Broker, follower=Broker, high_watermark=Field)
    def handles(s: Any, c: Any, leader: int, follower: int, high_watermark: int) -> None:
        """The leader handles a fetch with any value of the field."""
        base(s, c, leader, follower)
        if heeds:
            known = s.replica[leader].follower[follower]
            known.end = min(known.end, high_watermark)

    return handles.named(base.name)


def with_field(*, heeds: bool) -> Machine:
    """Return data replication with a high watermark in every fetch."""
    return MACHINE.replacing(
        name="replication-with-field",
        sentence="data replication in which fetches carry a high watermark",
        leader_handles_fetch=carrying(leader_handles_fetch, heeds=heeds),
        leader_reports_divergence=carrying(leader_reports_divergence, heeds=heeds),
    )


def seen(machine: Machine, constants: dict[str, int]) -> tuple[Any, ...]:
    values = {"brokers": 2, "max_records": 1, "initial_isr": 1, "max_leader_epoch": 1, **constants}
    search = Search(machine, values, tuple(item for item in PROPERTIES if item.on is None))
    states = {state for level in search.levels() for state in level}
    return states, search.found.depth, search.found.violated, search.found.reached


@pytest.mark.parametrize(
    "constants", few([{"crashes": 0, "fences": 0, "shrinks": 0}, {"crashes": 0, "fences": 1, "elections": 1}], 2)
)
def test_data_replication_is_the_same_for_every_value_of_the_field(constants: dict[str, int]) -> None:
    assert seen(MACHINE, constants) == seen(with_field(heeds=False), constants)


def test_a_leader_that_heeds_the_field_would_be_told_apart() -> None:
    constants = {"crashes": 0, "fences": 0, "shrinks": 0}
    assert seen(MACHINE, constants) != seen(with_field(heeds=True), constants)
