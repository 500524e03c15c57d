"""Runs of fail-over: each violating run has a twin that holds."""

from fencepost.invariants.catalogue import runs_of

RUNS = runs_of("controller-failover")


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
