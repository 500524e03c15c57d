"""Liveness of replication: no case holds vacuously, and bugs are violated where their twins hold."""

from typing import Any

import pytest
from fencepost.explorers.search import judge
from fencepost.explorers.verdict import Options
from fencepost.invariants import replication_liveness
from fencepost.invariants.catalogue import evidence, runs_of, values_of
from fencepost.model.cluster.machine import MACHINE
from fencepost.model.language.interpreter import Interpreter

from tests.helpers.parameters import few

pytestmark = pytest.mark.xdist_group("replication")

SMALL = 60_000
RUNS = tuple(run for run in runs_of("replication") if run.properties)
CASES = [case for item in evidence().values() for case in item.cases if case.run in RUNS]


@pytest.mark.parametrize("run", few([run for run in RUNS if (run.distinct or 0) < SMALL], 6), ids=lambda run: run.name)
def test_a_run_finds_what_is_pinned_and_no_case_of_it_is_vacuous(run: object) -> None:
    (chosen,) = (item for item in RUNS if item is run)
    result, differences = judge(chosen, Options(workers=1))
    assert differences == ()
    told = {case.prop for case in CASES if case.run is chosen and case.expect == "holds"}
    assert not [item.name for item in result.properties if item.name in told and item.note]


def steps(title: str) -> set[tuple[Any, Any]]:
    """Return every step of a run with one record, as pairs of keys."""
    (run,) = (run for run in RUNS if run.title == title)
    plain = Interpreter(MACHINE, MACHINE.set_constants({**values_of(run), "max_records": 1}))
    found: set[tuple[Any, Any]] = set()
    ahead = list(plain.initial_states())
    seen = set(ahead)
    while ahead:
        state = ahead.pop()
        for taken in plain.transitions(state):
            found.add((state, taken.after))
            if taken.after not in seen:
                seen.add(taken.after)
                ahead.append(taken.after)
    return found


def test_data_replication_takes_the_same_steps_whatever_fetches_report() -> None:
    """K1166-S4: brokers ignore the field HighWatermark; if leaders heeded it, steps would differ."""
    ignored = [steps(f"2 brokers, fetches report {reports}") for reports in ("absent", "own", "unknown")]
    assert ignored[0] == ignored[1] == ignored[2]
    assert all(
        steps(f"2 brokers, the field counts and is {reports}") != ignored[0] for reports in ("absent", "unknown")
    )


def test_every_property_of_whole_behaviours_is_evidence_of_something() -> None:
    decided = {case.prop for case in CASES}
    behaviours = {item.name for item in replication_liveness.PROPERTIES if item.kind.over_behaviours}
    asked = {name for run in RUNS for name in run.properties if name in behaviours}
    assert asked == decided & behaviours
