"""The catalogue's runs of fetching from followers: nothing is vacuous, everything is pinned, every trace has its
run."""

import pytest
from fencepost.api.asking.targets import Question, source_of
from fencepost.explorers.verdict import Options
from fencepost.invariants.catalogue import entries, runs_of
from fencepost.invariants.protocols import protocol
from fencepost.site.tables import every_cell

from tests.catalogue.archive import evidence_on, fired_in

NAMES = ("follower-reads", "watermark-propagation")
RUNS = runs_of(*NAMES)
AT_ONCE = {"follower-reads": {"waits-until-known"}, "watermark-propagation": set[str]()}
"""What no switch breaks: a new leader waits for first fetches, and these never wait."""
SMALL = 30_000
"""Distinct states up to which a run is explored here; `fencepost check --profile ci` explores all."""


@pytest.mark.parametrize("name", NAMES)
def test_every_property_fails_in_some_run_and_holds_in_another(name: str) -> None:
    safety = {item.name for item in protocol(name).every_property if item.kind in ("always", "step")}
    own = [run for run in RUNS if run.protocol == name]
    assert {prop for run in own for prop in run.violated} & safety == safety
    for prop in safety:
        judged = [run for run in own if prop in run.properties or not run.properties]
        assert any(prop not in run.violated for run in judged), prop


def test_what_is_judged_on_request_is_compiled_where_it_is_asked_for() -> None:
    found = protocol("follower-reads")
    question = Question(found, found.machine.set_constants({}), found.select(("leaders-know-first", "case-waits")))
    source = source_of(question, Options())
    compiled = {item.name for item in (*source.state_properties, *source.step_properties)}
    assert {"leaders-know-first", "case-waits"} <= compiled


@pytest.mark.parametrize("name", NAMES)
def test_what_happens_in_the_end_fails_in_some_run_and_holds_in_another(name: str) -> None:
    over_behaviours = {item.name for item in protocol(name).on_request if item.kind.over_behaviours}
    own = [run for run in RUNS if run.protocol == name]
    assert {prop for run in own for prop in run.violated} & over_behaviours == over_behaviours - AT_ONCE[name]
    for prop in over_behaviours:
        assert any(prop in run.properties and prop not in run.violated for run in own), prop


@pytest.mark.parametrize("name", NAMES)
def test_every_witness_is_reached_by_some_run(name: str) -> None:
    witnesses = {item.name for item in protocol(name).every_property if item.kind == "sometimes"}
    for prop in witnesses:
        judged = [run for run in RUNS if run.protocol == name and (prop in run.properties or not run.properties)]
        assert any(prop not in run.unreached for run in judged), prop


def test_what_is_broken_has_a_run_that_fails() -> None:
    for item in evidence_on(*NAMES):
        found = {case.expect for case in item.cases}
        if item.verdict == "broken" or entries()[item.entry].kind == "bug":
            assert "violated" in found, item.entry


def test_every_cell_says_what_may_happen_and_has_a_history_of_the_worst() -> None:
    cells = every_cell()
    asked = {(cell.version, cell.policy, cell.case, cell.epochs) for cell in cells}
    assert len(asked) == len(cells) == 4 * 3 * 3 + 2 * 3 * 3
    for cell in cells:
        assert list(cell.run.trace) == [f"case-{cell.outcomes[0]}"]


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_small_runs_find_what_is_pinned_and_no_action_is_dead(name: str) -> None:
    own = [run for run in RUNS if run.protocol == name and (run.distinct or 0) <= SMALL]
    fired = fired_in(run for run in own if not run.properties or name != "follower-reads")
    assert {label for label, count in fired.items() if not count} == DEAD[name]


DEAD: dict[str, set[str]] = {"follower-reads": {"controller-elects-uncleanly"}, "watermark-propagation": set()}
"""Actions that only larger runs take: unclean elections."""
