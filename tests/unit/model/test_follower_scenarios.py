"""Histories of consumers on followers, step by step, and replicas' answers, compared with a second implementation."""

from itertools import product
from typing import Any

import pytest
from fencepost.explorers.plain import search
from fencepost.invariants.protocols import protocol
from fencepost.model.consumers import log
from fencepost.model.consumers.answers import Reply, case_of, reply_to
from fencepost.model.consumers.state import Case, Doing
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


def test_ends_of_epochs_are_those_of_a_plain_search() -> None:
    for epochs in product((1, 2, 3), repeat=3):
        if list(epochs) != sorted(epochs):
            continue
        _, r = replica(0, 0, 3, epochs=3)
        r.epoch = 3
        for offset, epoch in enumerate(epochs):
            r.log[offset] = epoch
        for asked in (1, 2, 3):
            later = [offset for offset, epoch in enumerate(epochs) if epoch > asked]
            assert log.end_of_epoch(r, asked) == (later[0] if later else 3)
            known = [epoch for epoch in epochs if epoch <= asked]
            assert log.floor_epoch(r, asked) == (asked if asked == 3 or not known else known[-1])


def fetching(fetches: int, **constants: int) -> Story:
    """The leader has a record, and the follower takes that many answers."""
    story = Story("follower-reads", replicas=2, records=1, **constants).do("leader-appends")
    for answer in ("leader-answers-follower", "leader-answers-follower", "follower-waits-in-vain")[:fetches]:
        story.do(answer, follower=1).do("follower-appends", follower=1)
    return story


def lagging(**constants: int) -> Story:
    """The consumer has read the first record from the leader and goes to a follower that lacks it."""
    story = Story("follower-reads", replicas=2, records=2, design=NEWER, **constants)
    story.do("leader-appends").do("leader-shrinks-isr", follower=1).do("consumer-reads")
    return story.do("consumer-prefers-replica", replica=1)


def test_a_consumer_with_an_epoch_asks_the_leader_and_continues() -> None:
    story = lagging().do("consumer-finds-offset-out-of-range")
    assert story.state.consumer.doing == Doing.CHECKING
    story.do("consumer-finds-position-valid").do("consumer-gets-metadata", broker=0)
    assert (story.state.consumer.doing, story.state.consumer.position, story.state.consumer.preferred) == (0, 1, -1)


def test_a_consumer_without_an_epoch_skips_by_policy_latest_or_raises_an_error_unless_it_asks_the_leader() -> None:
    lost, behind = "consumer-finds-offset-out-of-range", "consumer-finds-offset-out-of-range; leader-appends"
    latest = lagging(position_epochs=0).play(f"{behind}; consumer-resets-to-latest").state.consumer
    assert (latest.position, list(latest.ghost_read)) == (2, [1, 0])
    assert lagging(position_epochs=0, policy=2).play(lost).state.consumer.doing == Doing.RAISED
    asks = lagging(position_epochs=0, without_epoch_asks=2).play(f"{behind}; consumer-reads")
    assert list(asks.state.consumer.ghost_read) == [1, 1]


def led_by_its_follower(**constants: int) -> Story:
    """The consumer has read a record and learns that the follower leads, which does not know that it is committed."""
    return fetching(1, design=NEWER, **constants).play(
        "leader-answers-follower 1; consumer-reads; controller-elects-leader 1; replica-learns 1; metadata-expires; "
        "consumer-gets-metadata 1"
    )


def test_a_clamped_end_makes_an_honest_consumer_go_back() -> None:
    assert led_by_its_follower().do("consumer-finds-truncation").state.consumer.position == 0


def test_a_guarded_leader_does_not_answer_until_it_knows_its_high_watermark() -> None:
    story = led_by_its_follower(epoch_end=3)
    assert not story.can("consumer-finds-truncation")
    assert not story.can("consumer-finds-position-valid")
    story.do("replica-learns", replica=0).do("leader-answers-follower", follower=0).do("consumer-finds-position-valid")
    assert story.state.consumer.position == 1


def test_a_follower_drops_what_the_leader_dropped_together_with_its_answer() -> None:
    story = fetching(2, retentions=1)
    story.play("retention-moves-log-start 0; follower-waits-in-vain 1; follower-appends 1")
    assert (story.state.replica[1].start, story.state.replica[1].high_watermark) == (1, 1)


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


def at_a_follower_that_retention_left(**constants: int) -> Story:
    """The consumer prefers a follower whose retention passes its position."""
    story = fetching(3, epochs=1, retentions=1, late_errors=1, **constants)
    return story.play("leader-prefers-replica 1; retention-moves-log-start 1")


@pytest.mark.parametrize(("known", "doing"), [(0, Doing.RESETTING), (1, Doing.FETCHING)])
def test_a_late_error_of_a_follower_is_taken_for_the_leaders_unless_its_sender_is_known(known: int, doing: int) -> None:
    """The error is under way when the preference expires."""
    story = at_a_follower_that_retention_left(policy=0, knows_who_answered=known)
    story.play("preferred-replica-refuses-late; preference-expires; consumer-gets-late-error")
    assert story.state.consumer.doing == doing


def test_no_second_fetch_goes_to_a_replica_whose_answer_is_under_way() -> None:
    story = at_a_follower_that_retention_left()
    assert story.can("consumer-finds-offset-out-of-range")
    assert not story.do("preferred-replica-refuses-late").can("consumer-finds-offset-out-of-range")


@pytest.mark.parametrize(("design", "preferred"), [(NEWER, -1), (IMPLEMENTED, 1)])
def test_metadata_without_a_new_leader_ends_a_preference_in_texts_and_not_in_code(design: int, preferred: int) -> None:
    story = Story("follower-reads", replicas=2, records=1, design=design, asks_for_metadata=0)
    story.do("leader-appends").do("leader-answers-follower", follower=1)
    story.do("leader-prefers-replica" if design == IMPLEMENTED else "consumer-prefers-replica", replica=1)
    story.do("leader-shrinks-isr", follower=1)
    if design != IMPLEMENTED:
        story.do("consumer-gets-metadata", broker=0)
    assert not story.can("consumer-gets-metadata", broker=0)
    assert story.state.consumer.preferred == preferred


def test_a_new_leader_ends_a_preference_in_the_code() -> None:
    story = Story("follower-reads", replicas=2, records=1)
    story.play(
        "leader-answers-follower 1; leader-prefers-replica 1; controller-elects-leader 1; replica-learns 1; "
        "metadata-expires; consumer-gets-metadata 1"
    )
    assert story.state.consumer.preferred == -1


def test_the_leader_chooses_by_the_log_start_of_the_last_fetch() -> None:
    story = fetching(3, retentions=1)
    story.do("retention-moves-log-start", replica=1)
    assert story.can("leader-prefers-replica", replica=1)
    story.do("follower-waits-in-vain", follower=1)
    assert not story.can("leader-prefers-replica", replica=1)


def test_the_leader_removes_a_follower_whose_last_fetch_it_has_not_seen() -> None:
    story = fetching(1)
    assert story.state.replica[1].end == story.state.replica[0].end
    assert story.can("leader-shrinks-isr", follower=1)
    story.do("leader-answers-follower", follower=1)
    assert not story.can("leader-shrinks-isr", follower=1)


@pytest.mark.parametrize(("told", "epoch"), [(0, 1), (1, 0)])
def test_the_epoch_that_comes_with_a_log_start_is_that_of_the_record_at_it_or_none(told: int, epoch: int) -> None:
    story = Story("follower-reads", replicas=2, records=2, epochs=1, retentions=1, policy=0, tells_epoch_before=told)
    story.do("leader-shrinks-isr", follower=1).do("leader-appends").do("leader-appends")
    story.do("retention-moves-log-start", replica=0)
    story.do("consumer-finds-offset-out-of-range").do("consumer-resets-to-earliest")
    assert (story.state.consumer.position, story.state.consumer.position_epoch) == (1, epoch)
