"""What must happen in the end in replication: no case that holds is about nothing, and bugs fail where their twins hold."""

from __future__ import annotations

import pytest
from fencepost.explorers.judge import judge
from fencepost.explorers.verdict import Options
from fencepost.invariants.runs.replication_liveness import EVIDENCE, RUNS

pytestmark = pytest.mark.xdist_group("replication")

SMALL = 60_000
CASES = [case for item in EVIDENCE for case in item.cases]


@pytest.mark.parametrize("run", [run for run in RUNS if (run.distinct or 0) < SMALL], ids=lambda run: run.name)
def test_a_run_finds_what_is_pinned_and_no_case_of_it_is_vacuous(run: object) -> None:
    (chosen,) = (item for item in RUNS if item is run)
    judgement = judge(chosen, Options(workers=1))
    assert judgement.differences == ()
    told = {case.prop for case in CASES if case.run is chosen and case.expect == "holds"}
    assert not [item.name for item in judgement.result.properties if item.name in told and item.note]


def test_every_property_of_whole_behaviours_is_evidence_of_something() -> None:
    decided = {case.prop for case in CASES}
    asked = {name for run in RUNS for name in run.properties}
    assert asked == decided
