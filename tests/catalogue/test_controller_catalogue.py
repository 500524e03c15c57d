"""The catalogue's runs of fail-over: nothing is vacuous, everything is pinned, every trace has its run."""

import pytest
from fencepost.invariants.catalogue import Profile, entries, runs_of
from fencepost.invariants.protocols import protocol

from tests.catalogue.archive import evidence_on, fired_in

NAME = "controller-failover"
RUNS = runs_of(NAME)
SAFETY = {item.name for item in protocol(NAME).properties if item.kind in ("always", "step")}
WITNESSES = {item.name for item in protocol(NAME).every_property if item.kind == "sometimes"}
SMALL = (
    "3 controllers, a restart and lost writes",
    "3 controllers, a request sent again",
    "two decisions, no records",
    "three epochs, elected again",
)
"""Runs of some seconds, which together with the one for what only a bug reaches take every action."""


def test_every_property_fails_in_some_run_and_holds_in_another() -> None:
    whole = SAFETY | {item.name for item in protocol(NAME).on_request if item.kind.over_behaviours}
    assert {prop for run in RUNS for prop in run.violated} == whole
    for prop in whole:
        judged = [run for run in RUNS if prop in run.properties or (prop in SAFETY and not run.properties)]
        assert any(prop not in run.violated for run in judged), prop


def test_every_witness_is_reached_by_a_run_that_keeps_all_properties() -> None:
    usual = {item.name for item in protocol(NAME).properties}
    kept = [run for run in RUNS if not run.violated and run.profile != Profile.FULL]
    judged = {prop for run in kept for prop in run.properties or usual - set(run.unreached)}
    assert judged >= WITNESSES


def test_every_run_that_fails_has_a_twin_that_holds_but_for_its_switch() -> None:
    switches = {"answers_after_commit", "brokers_apply", "catches_up_before_deciding", "reverts_uncommitted"}
    switches |= {"commits_beyond_epoch_start", "fences_deposed_controllers", "refuses_unknown_epochs"}
    switches |= {"channel_never_goes_back", "asks_again_after_failover"}
    sound = [dict(run.constants) for run in RUNS if not run.violated]
    broken = [dict(run.constants) for run in RUNS if run.violated and "HYP-8" not in run.title]
    assert {name for constants in broken for name in constants} >= switches
    for constants in broken:
        assert len(switches & constants.keys()) == 1, constants
        assert {name: value for name, value in constants.items() if name not in switches} in sound, constants


def test_what_is_broken_has_a_run_that_fails() -> None:
    for item in evidence_on(NAME):
        found = {case.expect for case in item.cases}
        assert "violated" in found or entries()[item.entry].kind != "bug", item.entry


@pytest.mark.long
def test_small_runs_find_what_is_pinned_and_no_action_is_dead() -> None:
    fired = fired_in(run for run in RUNS if run.title in SMALL)
    assert {label for label, count in fired.items() if not count} == {"broker-loads-metadata-anew"}
