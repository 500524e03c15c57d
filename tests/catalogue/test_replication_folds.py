"""The parts that `normalize` forgets cannot be observed: the runs of the catalogue with two brokers, and the smallest
with three, have the same results without it.
"""

from dataclasses import replace
from functools import cache

import pytest
from _pytest.mark import ParameterSet
from fencepost.explorers.search import search
from fencepost.explorers.verdict import Options, Result
from fencepost.invariants.catalogue import Run, runs_of, values_of
from fencepost.invariants.replication import PROPERTIES
from fencepost.model.cluster.constants import C
from fencepost.model.cluster.machine import MACHINE
from fencepost.model.cluster.network import leave_fetch_behind
from fencepost.model.cluster.state import Broker, State, has_process
from fencepost.model.language import Machine, action, require

from tests.helpers.parameters import few

pytestmark = pytest.mark.xdist_group("replication-folds")
"""Two compiled machines, shared by all of these tests."""

RUNS = tuple(run for run in runs_of("replication") if not run.properties)
ROOM = {"metadata_lag": 12, "alter_partitions": 4, "late_fetches": 2}
"""Capacities that suffice without dropping an image or a message, so that one compilation serves all."""
FITS = {2: 27_000, 3: 17_000}
"""State limits of runs in the catalogue, by brokers: without normalizing, some of these have ten times as many."""
ONE_STEP_LONGER = {"joining-replica-has-committed"}
"""With late answers, the leader of this history waits for an answer that `normalize` drops once it has no effect;
without it that is a separate step."""
SHORT = 4_000
"""State limit of runs that are tested on every change; the others are `long`."""


def configurations() -> dict[str, Run]:
    """Return the runs with two and three brokers, one of those that differ only in their versions' names."""
    found: dict[tuple[tuple[str, int], ...], Run] = {}
    for run in RUNS:
        values = values_of(run)
        if values["max_records"] <= 2 and (run.distinct or 0) <= FITS.get(values["brokers"], -1):
            found.setdefault(tuple(sorted(values.items())), run)
    return {run.name: run for run in found.values()}


def each() -> list[ParameterSet]:
    """Return the names of the configurations; the large ones are marked."""
    is_long = {name: (run.distinct or 0) > SHORT for name, run in configurations().items()}
    return [pytest.param(name, marks=[pytest.mark.long] * large) for name, large in is_long.items()]


@cache
def explored(name: str, *, normalize: bool) -> Result:
    constants = MACHINE.set_constants({**values_of(configurations()[name]), **ROOM})
    result = search(MACHINE, constants, PROPERTIES, Options(workers=1, normalize=normalize))
    assert result.complete
    return result


def judged(result: Result) -> dict[str, tuple[str, int]]:
    return {item.name: (str(item.verdict), item.path.length if item.path else 0) for item in result.properties}


@pytest.mark.long
@pytest.mark.parametrize("name", few(each(), 8))
def test_verdicts_and_lengths_are_the_same_without_normalizing(name: str) -> None:
    folded, whole = explored(name, normalize=True), explored(name, normalize=False)
    assert folded.distinct <= whole.distinct
    longer = ONE_STEP_LONGER if "late_answers" in values_of(configurations()[name]) else set()
    expected = {
        prop: (verdict, length + (prop in longer and verdict == "violated"))
        for prop, (verdict, length) in judged(folded).items()
    }
    assert judged(whole) == expected


@pytest.mark.long
@pytest.mark.parametrize("name", few(each(), 8))
def test_known_gap_a_longer_window_of_images_finds_some_traces_that_are_one_state_shorter(name: str) -> None:
    pinned = configurations()[name].violated
    violated = [item for item in explored(name, normalize=True).properties if item.verdict == "violated"]
    found = {item.name: item.path.length for item in violated if item.path}
    assert set(found) == set(pinned)
    assert all(found[prop] in (length, length - 1) for prop, length in pinned.items())


@action(broker=Broker)
def follower_reconnects(s: State, c: C, broker: int) -> None:
    """A running follower's fetch is handled only after the follower has fetched again, or has entered another epoch."""
    require(has_process(s, broker) and s.replica[broker].early == 0)
    leave_fetch_behind(s, c, broker)


RECONNECTING = replace(MACHINE, name="reconnecting", actions=(*MACHINE.actions, follower_reconnects))
SMALL = [name for name, it in configurations().items() if values_of(it)["brokers"] == 2 and (it.distinct or 0) <= SHORT]


def verdicts(machine: Machine, name: str, **values: int) -> dict[str, str]:
    constants = machine.set_constants({**values_of(configurations()[name]), **ROOM, "late_fetches": 1, **values})
    result = search(machine, constants, PROPERTIES, Options(workers=1))
    assert result.complete
    return {item.name: str(item.verdict) for item in result.properties}


@pytest.mark.long
@pytest.mark.parametrize("name", SMALL)
def test_a_fetch_that_is_handled_after_a_reconnect_changes_no_verdict(name: str) -> None:
    assert verdicts(RECONNECTING, name) == verdicts(MACHINE, name)


@pytest.mark.long
def test_such_a_fetch_lowers_the_high_watermark_of_a_leader_that_may_lower_it() -> None:
    name, prop = "replication 2 brokers, one fence", "leader-high-watermark-never-falls"
    found = [verdicts(machine, name, high_watermark_only_rises=0)[prop] for machine in (MACHINE, RECONNECTING)]
    assert found == ["holds", "violated"]
