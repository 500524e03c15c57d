"""Fail-overs of the active controller, step by step: the need for each rule, and a good end for brokers."""

from fencepost.invariants.protocols import protocol
from fencepost.model.controllers.state import Status

from tests.helpers.stories import Story

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
