"""Every action of data replication, of the quorum and of recovery matters: a violating history takes it, or needs one
of its guards.
"""

import pytest
from fencepost.counterexamples.reader import read
from fencepost.counterexamples.trace import ARCHIVE
from fencepost.invariants.figures.store import load
from fencepost.invariants.protocols import protocol

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
