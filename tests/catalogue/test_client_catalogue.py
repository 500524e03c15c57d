"""Archived histories of leader discovery are also possible on connections that keep an order."""

import pytest
from fencepost.counterexamples.replay import replay
from fencepost.counterexamples.trace import ARCHIVE

from tests.catalogue.archive import archived


@pytest.mark.parametrize("file", sorted(archived("leader-discovery")))
def test_no_history_of_leader_discovery_needs_a_request_that_overtakes_another_at_one_broker(file: str) -> None:
    """Kafka's connections keep an order, the model's do not: each history is possible with both."""
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
"""By action: the request that is sent, answered or received."""
