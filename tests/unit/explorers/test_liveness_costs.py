"""The least cost is that of a way: values for which everything has happened already have none."""

from __future__ import annotations

from dataclasses import replace

import fencepost.api as f
import pytest
from fencepost.model.language import weak

from tests.machines import waiting_rooms as rooms

FAIR = replace(rooms.done, eventual=replace(rooms.done.behaviour, fair=(weak(rooms.go, each="r"),)))


@pytest.mark.parametrize("engine", ["plain", "native"])
@pytest.mark.parametrize(("n", "worst", "best"), [(1, 0, 0), (2, 3, 1), (3, 6, 1)])
def test_the_least_cost_is_the_least_over_all_ways_of_all_values(engine: str, n: int, worst: int, best: int) -> None:
    cost = f.check(rooms.MACHINE, (FAIR,), engine=engine, n=n).properties[0].cost
    assert cost is not None
    assert (cost.worst, cost.best) == (worst, best)
