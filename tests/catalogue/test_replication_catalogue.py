"""The runs of the replication protocol: verdicts, behaviours, and histories that searches must find again."""

from collections.abc import Mapping
from typing import Any

import pytest
from fencepost.counterexamples.reader import read
from fencepost.counterexamples.trace import ARCHIVE
from fencepost.explorers.search import judge, search
from fencepost.explorers.verdict import Options, Result
from fencepost.invariants import replication as properties
from fencepost.invariants import replication_liveness
from fencepost.invariants.catalogue import entries, evidence, runs_of, values_of
from fencepost.invariants.replication import PROPERTIES
from fencepost.model.cluster.machine import MACHINE
from fencepost.model.cluster.state import Life, newest
from fencepost.model.language.interpreter import Interpreter

from tests.helpers.parameters import few, sized
from tests.helpers.stories import Story

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


def begun() -> tuple[Interpreter, Any]:
    """Return the initial state of two brokers, to be changed by hand."""
    plain = Interpreter(MACHINE, MACHINE.set_constants({"brokers": 2}))
    return plain, plain.schema.restore(plain.initial_states()[0])


def test_two_leaders_in_one_epoch_are_seen() -> None:
    plain, s = begun()
    s.newest = 1
    s.image[1] = s.image[0]
    s.image[1].leader = 1
    s.replica[1].applied = 1
    assert not properties.one_leader_per_epoch.function(s, plain.constants)


def test_a_high_watermark_that_falls_is_seen() -> None:
    (plain, before), (_, after) = begun(), begun()
    before.replica[0].high_watermark = 1
    assert not properties.leader_high_watermark_never_falls.function(before, after, plain.constants)


def test_an_outdated_request_that_is_applied_is_seen() -> None:
    plain, s = begun()
    s.image[0].leader_epoch = 1
    request = s.alter_partitions.add(leader=0, leader_epoch=0, isr=1)
    assert not properties.applied_requests_are_current.function(s, s, plain.constants, request)


SMALL = 60_000
LASTING = tuple(run for run in runs_of("replication") if run.properties)
CASES = [case for item in evidence().values() for case in item.cases if case.run in LASTING]


@pytest.mark.parametrize(
    "run", few([run for run in LASTING if (run.distinct or 0) < SMALL], 24), ids=lambda run: run.name
)
def test_a_run_finds_what_is_pinned_and_no_case_of_it_is_vacuous(run: object) -> None:
    (chosen,) = (item for item in LASTING if item is run)
    result, differences = judge(chosen, Options(workers=1))
    assert differences == ()
    told = {case.prop for case in CASES if case.run is chosen and case.expect == "holds"}
    assert not [item.name for item in result.properties if item.name in told and item.note]


def steps(title: str) -> set[tuple[Any, Any]]:
    """Return every step of a run with one record, as pairs of keys."""
    (run,) = (run for run in LASTING if run.title == title)
    plain = Interpreter(MACHINE, MACHINE.set_constants({**values_of(run), "max_records": 1}))
    found: set[tuple[Any, Any]] = set()
    seen = ahead = set(plain.initial_states())
    while ahead:
        taken = {(state, item.after) for state in ahead for item in plain.transitions(state)}
        ahead = {after for _, after in taken} - seen
        seen = seen | ahead
        found |= taken
    return found


@pytest.mark.long
def test_data_replication_takes_the_same_steps_whatever_fetches_report() -> None:
    """K1166-S4: brokers ignore the HighWatermark field; if leaders heeded it, steps would differ."""
    ignored = [steps(f"2 brokers, fetches report {reports}") for reports in ("absent", "own", "unknown")]
    assert ignored[0] == ignored[1] == ignored[2]
    for reports in ("absent", "unknown"):
        assert steps(f"2 brokers, the field counts and is {reports}") != ignored[0]


def test_every_property_of_whole_behaviours_is_evidence_of_something() -> None:
    decided = {case.prop for case in CASES}
    behaviours = {item.name for item in replication_liveness.PROPERTIES if item.kind.over_behaviours}
    asked = {name for run in LASTING for name in run.properties if name in behaviours}
    assert asked == decided & behaviours


KIP_903 = sized(
    "brokers=2 max_records=1 initial_isr=1 crashes=1 fences=1 shrinks=0 max_leader_epoch=2 fenced_before_registration=1"
)
"""Loss only outside the ISR, one crash and one fence; with two fences even the last member of the ISR can lose
records."""


def explore(constants: Mapping[str, int]) -> Result:
    result = search(MACHINE, MACHINE.set_constants(constants), PROPERTIES, Options(workers=1))
    assert result.complete
    return result


def violated(result: Result) -> dict[str, int]:
    """Return the steps of the shortest trace of each violated property."""
    return {item.name: item.path.length - 1 for item in result.properties if item.verdict == "violated" and item.path}


def test_kip_903_is_found_again_in_kafka_3_5_with_the_older_request() -> None:
    """The loss itself, with the rest of the code unchanged; the KIP's story may take 20 steps."""
    sizes = sized("brokers=2 max_records=1 initial_isr=1 crashes=1 fences=1 shrinks=0 max_leader_epoch=2")
    result = explore({**MACHINE.version("kafka-3.5").values, **sizes, "alter_partition_version": 2})
    assert violated(result)["joining-epoch-is-registered"] == 6
    assert violated(result)["leader-has-committed"] == 9


@pytest.mark.parametrize("normalize", [False, True])
def test_a_request_that_must_be_refused_is_refused_by_an_action_unless_normalizing_does_it(*, normalize: bool) -> None:
    """The one action that happens in no run of the catalogue: `normalize` does its work at once."""
    story = Story("replication", normalize=normalize, brokers=2, initial_isr=1)
    story.do("leader-handles-fetch", 0, 1).do("controller-fences-broker", 0)
    assert len(story.can("controller-refuses-alter-partition")) == (0 if normalize else 1)


def test_a_broker_that_shuts_down_is_never_unfenced() -> None:
    """BrokerHeartbeatManager.calculateNextBrokerState: a fenced broker that wants to shut down may do so at once."""
    story = Story("replication", brokers=2, initial_isr=1, crashes=0, clean_stops=1)
    story.do("controller-begins-shutdown", 0).do("controller-fences-broker", 0)
    assert not story.can("controller-unfences-broker")
    assert [item.step.args for item in story.can("broker-stops")] == [(0,)]


def test_a_broker_that_leads_nothing_may_shut_down_at_once_and_is_fenced() -> None:
    stopped = Story("replication", brokers=2, crashes=0, clean_stops=1).do("broker-stops").state
    image = newest(stopped)
    assert (image.leader, image.isr, image.fenced, image.partition_epoch) == (0, 0b01, 0b10, 1)
    assert (stopped.replica[1].life, stopped.budget.clean_stops) == (Life.STOPPED, 0)


def test_the_shortest_trace_of_kip_903_is_in_the_order_of_the_kip() -> None:
    """Caught up and the request sent, crash with loss, fenced, registered, unfenced, accepted."""
    result = explore({**KIP_903, "alter_partition_version": 2})
    (found,) = (item for item in result.properties if item.name == "joining-epoch-is-registered")
    assert found.path is not None
    told = [step.action.label for step in found.path.steps]
    story = (
        "broker-crashes", "controller-fences-broker", "broker-registers", "controller-unfences-broker",
        "controller-applies-alter-partition",
    )  # fmt: skip
    assert [name for name in told if name in story] == list(story)
    assert set(told) - set(story) <= {"leader-handles-fetch", "leader-handles-late-fetch", "broker-applies-metadata"}
