"""Every action of data replication, of the quorum and of recovery matters; every cell of fetching from followers has a
history; each violating run of fail-over has a twin that holds.
"""

import pytest
from fencepost.counterexamples.reader import read
from fencepost.counterexamples.trace import ARCHIVE
from fencepost.invariants.catalogue import runs_of
from fencepost.invariants.figures.store import load
from fencepost.invariants.protocols import protocol
from fencepost.site.tables import every_cell

UNCAUGHT: dict[str, dict[str, str]] = {
    "replication": {
        "controller-refuses-alter-partition": (
            "a request that must be refused is refused at once, where states are merged"
        ),
        "follower-ignores-late-answer": "it changes nothing but that the answer is gone",
        "late-answer-is-lost": "losing an answer is never taking it",
        "broker-expires-records": "a record that was deleted on purpose is not lost",
        "log-directory-returns": "what comes back is whole, and its broker is treated as after a crash",
    },
    "quorum": {
        "leader-handles-late-fetch": "a late fetch says less than one that came before; no matrix has any",
        "removed-leader-resigns": "it only stops; no matrix has removals",
        "voter-hears-nothing": "it only stops following; no matrix has pre-votes",
    },
    "unclean-recovery": {},
}
"""Actions in no such history, and why that is right."""


def in_violations(name: str) -> set[str]:
    """Return the actions of archived histories that violate a property."""
    traces = (read(file).trace for file in ARCHIVE.glob(f"{name}-*.trace"))
    return {
        step.action.name.replace("_", "-")
        for trace in traces
        if str(trace.verdict) == "violated"
        for step in trace.steps
    }


def in_matrices(name: str) -> set[str]:
    """Return the actions with a guard that protects a property, and those in measured histories that violate one."""
    rows = [row for base in load(f"matrices/{name}").get("bases", ()) for row in base["rows"] if row.get("broken")]
    return {row["row"].rpartition(" ")[0] for row in rows} | {
        step.partition(" ")[0] for row in rows for step in row.get("steps", ())
    }


@pytest.mark.parametrize("name", UNCAUGHT)
def test_every_action_is_part_of_a_violation_or_keeps_a_property(name: str) -> None:
    actions = {item.name.replace("_", "-") for item in protocol(name).machine.actions}
    caught = in_violations(name) | in_matrices(name)
    assert actions - caught == set(UNCAUGHT[name])


def test_every_cell_says_what_may_happen_and_has_a_history_of_the_worst() -> None:
    cells = every_cell()
    asked = {(cell.version, cell.policy, cell.case, cell.epochs) for cell in cells}
    assert len(asked) == len(cells) == 4 * 3 * 3 + 2 * 3 * 3
    for cell in cells:
        assert list(cell.run.trace) == [f"case-{cell.outcomes[0]}"]


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
