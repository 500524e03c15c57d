"""Fail-overs of the active controller, step by step: the need for each rule, and a good end for brokers."""

from fencepost.invariants.protocols import protocol
from fencepost.model.controllers.state import Reply, Status

from tests.helpers.stories import Story

NAME = "controller-failover"
SAFETY = tuple(item for item in protocol(NAME).properties if item.kind == "always")
ALONE_NO_MORE, BY_FIRST_TWO = 0b110, 0b011
"""Electors: controllers 1 and 2, so that 0 still believes to lead, or 0 and 1, so that it gives up."""


def story(**constants: int) -> Story:
    return Story(NAME, **constants)


def broken(told: Story) -> set[str]:
    return {item.name for item in SAFETY if not told.plain.holds(item, told.key)}


def elect(told: Story, candidate: int, electors: int = ALONE_NO_MORE) -> Story:
    told.do("quorum-elects-controller", candidate=candidate, electors=electors)
    return commit(told, leader=candidate)


def commit(told: Story, leader: int) -> Story:
    """Let controller 2 fetch the leader's records and confirm them."""
    return told.play(f"voter-fetches 2 {leader} 1; voter-fetches 2 {leader} 1")


def apply(told: Story, broker: int, controller: int) -> Story:
    end = told.state.node[controller].high_watermark
    return told.do("broker-applies-metadata", broker=broker, controller=controller, end=end)


def asked(**constants: int) -> Story:
    """Return a history in which the leader requests its follower, which starts outside the ISR, for the ISR."""
    return story(initial_isr=1, **constants).play("follower-fetches 1 0; leader-sends-request 0 0")


def test_an_answer_waits_until_the_change_is_committed() -> None:
    told = asked().do("controller-applies-alter-partition", leader=0)
    assert told.state.broker[0].request.status == Status.HANDLED
    assert not told.can("controller-answers", leader=0)
    commit(told, leader=0).do("controller-answers", leader=0).do("leader-handles-answer", leader=0)
    assert (told.state.broker[0].isr, told.state.broker[0].partition_epoch, told.state.broker[0].proposed) == (3, 1, 0)


def test_a_refusal_waits_for_what_it_was_made_from() -> None:
    told = asked().do("controller-fences-broker", controller=0, broker=1)
    told.do("controller-finds-replica-ineligible", leader=0)
    assert told.state.broker[0].request.status == Status.HANDLED
    commit(told, leader=0).do("controller-answers", leader=0).do("leader-handles-answer", leader=0)
    assert told.state.broker[0].proposed == 0


def test_a_leader_whose_controller_is_deposed_asks_the_next_one() -> None:
    told = asked().do("controller-applies-alter-partition", leader=0)
    elect(told, 1).do("controller-learns-of-leader", controller=0, leader=1)
    assert told.state.broker[0].request.status == Status.UNSENT
    told.do("leader-sends-request", leader=0, controller=1).do("controller-applies-alter-partition", leader=0)
    commit(told, leader=1).do("controller-answers", leader=0).do("leader-handles-answer", leader=0)
    assert told.state.broker[0].isr == 3
    assert not broken(told)


def test_a_change_that_the_next_controller_inherits_is_refused_when_asked_again_and_comes_by_metadata() -> None:
    told = asked().play("controller-applies-alter-partition 0; voter-fetches 1 0 1")
    elect(told, 1, BY_FIRST_TWO).do("leader-sends-request", leader=0, controller=1)
    told.do("controller-refuses-alter-partition", leader=0)
    assert told.state.broker[0].request.reply == Reply.REFUSED
    assert not told.can("leader-handles-answer", leader=0)
    apply(told, 0, 1)
    assert (told.state.broker[0].isr, told.state.broker[0].proposed, told.state.broker[0].request.status) == (3, 0, 0)
    assert not broken(told)


def test_a_deposed_controller_reverts_what_was_not_committed_and_its_log_is_cut() -> None:
    told = elect(story(), 1).do("controller-fences-broker", controller=0, broker=0)
    assert told.state.node[0].memory.leader == 1
    told.do("controller-learns-of-leader", controller=0, leader=1)
    assert told.state.node[0].memory.leader == 0
    told.play("voter-fetches 0 1 1; voter-fetches 0 1 1")
    assert [item.epoch for item in told.state.node[0].log][:3] == [1, 2, 0]
    assert not broken(told)


def test_a_late_request_is_still_acted_on_and_its_copy_refused() -> None:
    told = asked(resends=1).do("leader-asks-again", leader=0).do("controller-handles-late-request")
    told.do("leader-sends-request", leader=0, controller=0).do("controller-refuses-alter-partition", leader=0)
    assert told.state.broker[0].request.status == Status.HANDLED
    apply(commit(told, leader=0), 0, 0)
    assert told.state.broker[0].isr == 3
    assert not broken(told)


def test_a_restarted_leader_may_lose_what_nobody_confirmed_and_not_more() -> None:
    told = story(crashes=1, flush_lags=1).do("controller-fences-broker", controller=0, broker=1)
    commit(told, leader=0).do("controller-unfences-broker", controller=0, broker=1)
    assert {item.step.args for item in told.can("controller-restarts", controller=0)} == {(0, 2), (0, 3)}
    node = told.do("controller-restarts", controller=0, end=2).state.node[0]
    assert (node.leads, node.end, node.memory.partition_epoch) == (False, 2, 0)
