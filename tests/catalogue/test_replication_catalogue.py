"""Runs of the replication model: every bug has its twin, budgets have histories, and violations are as expected."""

from collections.abc import Callable
from typing import Any

import pytest
from fencepost.counterexamples.reader import read
from fencepost.counterexamples.trace import ARCHIVE
from fencepost.invariants import replication as properties
from fencepost.invariants.catalogue import entries, evidence, runs_of
from fencepost.model.cluster.machine import MACHINE
from fencepost.model.language.interpreter import Interpreter

pytestmark = pytest.mark.xdist_group("replication")

RUNS = tuple(run for run in runs_of("replication") if not run.properties)
EVIDENCE = [item for item in evidence().values() if any(case.run in RUNS for case in item.cases)]

ASKED_FOR = {
    "operator_reassigns_replicas": ("reassignment-ends", "hyp-10"),
    "operator_cancels_reassignment": ("added-member-is-taken-back", "hyp-10-cancelled"),
    "operator_raises_min_isr": ("raise-leaves-too-few", "hyp-11"),
    "operator_lowers_min_isr": ("lower-is-enough", "hyp-11-lowered"),
    "operator_turns_elr_off": ("stale-elr-elects", "hyp-14"),
    "broker_applies_configs": ("configs-are-published-apart", "hyp-11"),
    "broker_starts": ("fetch-without-epoch-counts", "hyp-15"),
    "follower_takes_late_answer": ("late-answer-cuts-a-log", "b49-kafka-18991"),
    "log_changes_under_answer": ("record-is-skipped", "hyp-19"),
    "log_directory_fails": ("offline-replica-leaves-the-isr", "hyp-18"),
    "controller_marks_directory_offline": ("offline-replica-leaves-the-isr", "hyp-16-failed"),
    "log_directory_is_taken_out": ("new-directory-is-assigned", "hyp-16"),
    "disk_is_replaced": ("new-directory-is-assigned", "hyp-17"),
    "leader_deletes_records": ("follower-takes-the-log-start", "hyp-22"),
    "broker_writes_log_start": ("crash-loses-the-log-start", "hyp-23"),
    "controller_assigns_directory": ("new-directory-is-assigned", "hyp-17"),
}
"""Actions that happen only with a budget: a witness, and an archived history."""


def test_a_run_of_a_version_that_fails_says_why_and_has_a_twin_that_holds() -> None:
    for run in RUNS:
        if run.version and run.violated:
            assert run.why, run.name
            assert any(other.version == run.version and not other.violated for other in RUNS), run.name


def test_hypotheses_and_bugs_that_are_found_have_a_trace() -> None:
    for item in EVIDENCE:
        found = [case for case in item.cases if case.expect == "violated"]
        if entries()[item.entry].kind in ("bug", "hypothesis") and found:
            assert any(case.run.trace for case in found) or item.entry == "B26", item.entry


@pytest.mark.parametrize("action", ASKED_FOR)
def test_an_action_that_is_asked_for_has_a_witness_and_a_history_that_a_property_catches(action: str) -> None:
    witness, slug = ASKED_FOR[action]
    assert any(witness in run.properties and witness not in run.unreached for run in runs_of("replication"))
    (run,) = (run for run in RUNS if f"replication-{slug}.trace" in run.trace.values())
    trace = read(ARCHIVE / f"replication-{slug}.trace").trace
    assert trace.prop is not None
    assert trace.prop.name in run.violated
    assert action in {step.action.name for step in trace.steps}


def changed(change: Callable[[Any], None]) -> tuple[Interpreter, Any]:
    """Return the initial state of two brokers with a change made by hand."""
    plain = Interpreter(MACHINE, MACHINE.set_constants({"brokers": 2}))
    state = plain.schema.restore(plain.initial_states()[0])
    change(state)
    return plain, state


def test_two_leaders_in_one_epoch_are_seen() -> None:
    def change(s: Any) -> None:
        s.newest = 1
        s.image[1] = s.image[0]
        s.image[1].leader = 1
        s.replica[1].applied = 1

    plain, state = changed(change)
    assert not properties.one_leader_per_epoch.function(state, plain.constants)


def test_a_high_watermark_that_falls_is_seen() -> None:
    def change(s: Any) -> None:
        s.replica[0].high_watermark = 1

    plain, before = changed(change)
    _, after = changed(lambda _: None)
    assert not properties.leader_high_watermark_never_falls.function(before, after, plain.constants)


def test_an_outdated_request_that_is_applied_is_seen() -> None:
    def change(s: Any) -> None:
        s.image[0].leader_epoch = 1
        s.alter_partitions.add(leader=0, leader_epoch=0, isr=1)

    plain, before = changed(change)
    (request,) = before.alter_partitions
    assert not properties.applied_requests_are_current.function(before, before, plain.constants, request)
