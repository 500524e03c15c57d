"""Histories of consumers on followers, step by step, and replicas' answers, compared with a second implementation."""

from typing import Any

import pytest
from fencepost.explorers.plain import search
from fencepost.invariants.protocols import protocol
from fencepost.model.consumers.answers import Reply, case_of, reply_to
from fencepost.model.consumers.state import Case
from fencepost.model.controllers.state import Status
from fencepost.model.language.interpreter import Interpreter

from tests.helpers.stories import Story

MACHINE = protocol("follower-reads").machine
OLDER, NEWER, IMPLEMENTED = 0, 1, 2


def replica(start: int, high_watermark: int, end: int, received: int = 0, **constants: int) -> tuple[Any, Any]:
    """Return the constants and a replica whose log has records of epoch 1 from `start` to `end`."""
    values = MACHINE.set_constants({"records": 4, **constants})
    plain = Interpreter(MACHINE, values)
    state: Any = plain.schema.restore(plain.initial_states()[0])
    r = state.replica[0]
    r.start, r.end, r.high_watermark, r.received = start, end, high_watermark, received
    for offset in range(start, end):
        r.log[offset] = 1
    return values, r


CASES = [
    # start, high watermark, end, received, offset; what the older text, the newer one and the code answer
    (0, 2, 3, 2, 1, Case.READABLE, (Reply.RECORDS, Reply.RECORDS, Reply.RECORDS)),
    (0, 2, 3, 2, 2, Case.TAIL, (Reply.EMPTY, Reply.EMPTY, Reply.EMPTY)),
    (0, 2, 3, 2, 3, Case.UNCOMMITTED, (Reply.EMPTY, Reply.OFFSET_NOT_AVAILABLE, Reply.EMPTY)),
    (0, 2, 2, 4, 3, Case.UNAVAILABLE, (Reply.OUT_OF_RANGE, Reply.OFFSET_NOT_AVAILABLE, Reply.OUT_OF_RANGE)),
    (1, 2, 3, 2, 0, Case.TOO_SMALL, (Reply.OUT_OF_RANGE, Reply.OUT_OF_RANGE, Reply.OUT_OF_RANGE)),
    (0, 2, 2, 2, 3, Case.TOO_LARGE, (Reply.OUT_OF_RANGE, Reply.OUT_OF_RANGE, Reply.OUT_OF_RANGE)),
]


@pytest.mark.parametrize(("start", "high_watermark", "end", "received", "offset", "case", "replies"), CASES)
def test_each_design_answers_each_case_as_its_text_says(
    start: int, high_watermark: int, end: int, received: int, offset: int, case: Case, replies: tuple[Reply, ...]
) -> None:
    for design, expected in zip((OLDER, NEWER, IMPLEMENTED), replies, strict=True):
        c, r = replica(start, high_watermark, end, received, design=design)
        assert reply_to(c, r, leads=False, offset=offset) == expected
    c, r = replica(start, high_watermark, end, received, design=NEWER)
    assert case_of(c, r, offset) == case
    if case is Case.UNAVAILABLE:
        c, r = replica(start, high_watermark, end, received, design=NEWER, keeps_received=1)
        assert case_of(c, r, offset) == Case.TOO_LARGE, "case 4, without what was received"


def broken_with(**constants: int) -> frozenset[str]:
    """Return the violated properties in the newer text with two replicas and one record."""
    found = protocol("follower-reads")
    values = found.machine.set_constants({"replicas": 2, "records": 1, "design": NEWER, **constants})
    judged = search(found.machine, values, found.properties).properties
    return frozenset(item.name for item in judged if item.verdict == "violated")


@pytest.mark.long
def test_unasked_metadata_reaches_the_same_verdicts_and_merged_answers_hide_only_a_false_truncation() -> None:
    """It takes an old answer after an error."""
    usual = broken_with()
    assert broken_with(asks_for_metadata=0) == usual != frozenset()
    assert usual - broken_with(answers_in_flight=0) == {"spurious-errors-are-recognized"}


NAME = "controller-failover"
SAFETY = tuple(item for item in protocol(NAME).properties if item.kind == "always")


def story(**constants: int) -> Story:
    return Story(NAME, **constants)


def broken(told: Story) -> set[str]:
    return {item.name for item in SAFETY if not told.plain.holds(item, told.key)}


def commit(told: Story, leader: int) -> Story:
    """Let controller 2 fetch the leader's records and confirm them."""
    return told.play(f"voter-fetches 2 {leader} 1; voter-fetches 2 {leader} 1")


def apply(told: Story, broker: int, controller: int) -> Story:
    end = told.state.node[controller].high_watermark
    return told.do("broker-applies-metadata", broker=broker, controller=controller, end=end)


def asked(**constants: int) -> Story:
    """Return a history in which the leader requests its follower, which starts outside the ISR, for the ISR."""
    return story(initial_isr=1, **constants).play("follower-fetches 1 0; leader-sends-request 0 0")


def test_a_late_request_is_still_acted_on_and_its_copy_refused() -> None:
    told = asked(resends=1).do("leader-asks-again", leader=0).do("controller-handles-late-request")
    told.do("leader-sends-request", leader=0, controller=0).do("controller-refuses-alter-partition", leader=0)
    assert told.state.broker[0].request.status == Status.HANDLED
    apply(commit(told, leader=0), 0, 0)
    assert told.state.broker[0].isr == 3
    assert not broken(told)
