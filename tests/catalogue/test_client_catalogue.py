"""The catalogue's runs of the client models: nothing is vacuous, everything is pinned, every trace has its run."""

import pytest
from fencepost.counterexamples.replay import replay
from fencepost.counterexamples.trace import ARCHIVE
from fencepost.invariants.catalogue import Profile, entries, runs_of
from fencepost.invariants.protocols import protocol

from tests.catalogue.archive import archived, evidence_on, fired_in

NAMES = ("metadata-reads", "leader-discovery", "hints-and-tokens")
RUNS = runs_of(*NAMES)
NO_VARIANT: set[str] = set()
"""Properties that no switch breaks."""
SMALL = 130_000
"""Distinct states up to which a run is explored here; `fencepost check --profile ci` explores all."""
SMALL_GRAPH = 20_000
"""The same, where behaviours are judged."""


@pytest.mark.parametrize("name", NAMES)
def test_every_property_fails_in_some_run_and_holds_in_another(name: str) -> None:
    safety = {item.name for item in protocol(name).properties if item.kind in ("always", "step")}
    own = [run for run in RUNS if run.protocol == name and not run.properties]
    assert {prop for run in own for prop in run.violated} == safety - NO_VARIANT
    assert all(any(prop not in run.violated for run in own) for prop in safety)


@pytest.mark.parametrize("name", NAMES)
def test_every_witness_is_reached_by_some_run(name: str) -> None:
    witnesses = {item.name for item in protocol(name).properties if item.kind == "sometimes"}
    own = [run for run in RUNS if run.protocol == name and not run.properties]
    assert {prop for run in own for prop in witnesses - set(run.unreached)} == witnesses


def test_what_is_broken_has_a_run_that_fails_and_one_that_holds() -> None:
    for item in evidence_on(*NAMES):
        found = {case.expect for case in item.cases}
        kind = entries()[item.entry].kind
        if kind != "claim" and (item.verdict in ("broken", "confirmed") or kind == "bug"):
            assert found >= {"violated", "holds"}, item.entry


@pytest.mark.parametrize("file", sorted(archived("leader-discovery")))
def test_no_history_of_leader_discovery_needs_a_request_that_overtakes_another_at_one_broker(file: str) -> None:
    """Kafka's connections keep an order, the model's do not: each history is one of both."""
    trace = replay(ARCHIVE / file).trace
    plain, loop = trace.interpreter(), trace.steps[trace.loop :] if trace.loop is not None else ()
    waiting: list[tuple[str, str]] = []
    answered: list[tuple[str, str]] = []
    for step in (*trace.steps, *loop):
        action, _, rest = plain.show(step).partition(" ")
        if action in SENT:
            waiting.append((SENT[action], rest.partition("broker=")[2].split()[0]))
        for place, done in ((ANSWERED, waiting), (RECEIVED, answered)):
            if action in place:
                first = next(item for item in done if item[0] == place[action])
                assert not any(item[1] == first[1] for item in done[: done.index(first)]), plain.show(step)
                done.remove(first)
                if place is ANSWERED:
                    answered.append(first)
        if action == "broker-stops":
            waiting = [item for item in waiting if item[1] != rest.partition("broker=")[2].split()[0]]


SENT = {
    "client-sends-request": "request",
    "client-refreshes": "refresh",
    "client-refreshes-one-topic": "refresh",
    "client-bootstraps-again": "refresh",
}
ANSWERED = {
    "broker-answers-request": "request",
    "broker-answers-after-reassignment": "request",
    "broker-answers-refresh": "refresh",
}
RECEIVED = {"client-receives-response": "request", "client-applies-metadata": "refresh"}
"""By action: which of the two requests is sent, answered, received."""


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_small_runs_find_what_is_pinned_and_no_action_is_dead(name: str) -> None:
    own = [run for run in RUNS if run.protocol == name and run.profile is not Profile.FULL]
    fired = fired_in(run for run in own if (run.distinct or 0) <= (SMALL_GRAPH if run.properties else SMALL))
    assert {label for label, count in fired.items() if not count} == DEAD[name]


DEAD: dict[str, set[str]] = {
    "metadata-reads": set(),
    "leader-discovery": set(),
    "hints-and-tokens": {"replica-follows"},
}
"""Actions that only larger runs take: replicas that lag."""
