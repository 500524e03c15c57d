"""The rules of the quorum model one by one, and histories step by step."""

from itertools import product

import pytest
from fencepost.model.language import NONE
from fencepost.model.language.interpreter import Interpreter
from fencepost.model.quorum import leader
from fencepost.model.quorum.fetch import absent, reported_high_watermark
from fencepost.model.quorum.machine import MACHINE
from fencepost.model.quorum.state import Phase

from tests.helpers import stories

PAIR = {"nodes": 3, "voters": 2, "max_epoch": 1}


class Story(stories.Story):
    def __init__(self, **constants: int) -> None:
        super().__init__("quorum", **constants)

    def round_trip(self, follower: int) -> "Story":
        """A follower's fetch is answered at once, and the answer arrives."""
        return self.do("leader-handles-fetch", 0, follower).do("follower-appends", follower)

    def phase(self, node: int) -> Phase:
        return Phase(self.state.node[node].fetch.phase)


def connected(**constants: int) -> Story:
    """Nodes 1 and 2 follow node 0, have its first record and know that it is committed."""
    story = Story(**{**PAIR, **constants}).do("node-learns-leader", 1, 0).do("node-learns-leader", 2, 0)
    story.round_trip(1).do("leader-handles-fetch", 0, 1)
    if story.phase(1) is Phase.PARKED:
        story.do("parked-fetch-times-out", 1)
    story.do("follower-appends", 1)
    return story.round_trip(2)


@pytest.mark.parametrize("voters", [2, 3, 4, 5])
def test_the_high_watermark_is_the_median_of_the_voters_log_ends_rounded_down(voters: int) -> None:
    """Kafka sorts the log ends in descending order and takes the one at index V / 2."""
    sizes = {"nodes": 5, "voters": voters, "max_epoch": 1, "max_records": 2}
    plain = Interpreter(MACHINE, MACHINE.set_constants(sizes))
    for ends in product((NONE, 0, 1, 2), repeat=voters - 1):
        state = plain.schema.restore(plain.initial_states()[0])
        state.node[0].end = 2
        for node, end in enumerate(ends, 1):
            state.node[0].known_end[node] = end
        sorted_ends = sorted((2, *ends), reverse=True)
        assert leader.majority_end(state, plain.constants, 0) == sorted_ends[voters // 2]


PARKING = {
    "knows nothing": (1, NONE, False), "is behind": (1, 0, False), "is current": (1, 1, True), "is ahead": (0, 1, True),
    "is ahead of a leader that knows nothing": (NONE, 1, True), "and the leader know nothing": (NONE, NONE, True),
}  # fmt: skip


@pytest.mark.parametrize(("known", "remote", "parks"), PARKING.values(), ids=PARKING)
def test_a_replica_is_parked_unless_its_leader_knows_more(known: int, remote: int, *, parks: bool) -> None:
    story = Story(**PAIR).do("node-learns-leader", 2, 0)
    state, constants = story.state, story.plain.constants
    state.node[2].log[0].epoch = 1
    state.node[2].end = 1
    state.node[0].high_watermark, state.node[2].high_watermark = known, remote
    assert leader.may_park(state, constants, 0, 2) == parks


@pytest.mark.parametrize(("version_18", "carried"), [(7, True), (6, False), (3, False), (1, False), (0, False)])
def test_the_field_needs_both_ends_to_know_version_18(version_18: int, *, carried: bool) -> None:
    story = Story(**PAIR, version_18=version_18).do("node-learns-leader", 2, 0)
    state = story.state
    assert (reported_high_watermark(state, story.plain.constants, 2) != absent(state)) == carried
    assert absent(state) > len(state.node[0].log), "a missing field reads as more than any offset"


def test_a_leader_does_not_commit_what_it_has_not_added_to() -> None:
    """KAFKA-12619: a majority that holds everything up to the start of the epoch, and not its first record, commits
    nothing."""
    for beyond, expected in ((1, NONE), (0, 1)):
        sizes = {"nodes": 3, "voters": 3, "commits_beyond_epoch_start": beyond}
        plain = Interpreter(MACHINE, MACHINE.set_constants(sizes))
        state = plain.schema.restore(plain.initial_states()[0])
        node = state.node[0]
        node.epoch, node.epoch_start, node.end = 2, 1, 2
        node.log[1].epoch = 2
        node.known_end[1] = 1
        leader.advance_high_watermark(state, plain.constants, 0)
        assert node.high_watermark == expected


def test_a_node_stops_rather_than_give_up_what_it_knows_to_be_committed() -> None:
    story = connected(nodes=3, voters=2, restarts=0)
    state, constants = story.state, story.plain.constants
    state.node[2].log[0].epoch = 1
    state.node[0].log[0].epoch = 1
    fetch = state.node[2].fetch
    fetch.phase, fetch.diverging, fetch.end = Phase.ANSWERED, True, 0
    MACHINE.action("follower-truncates")(state, constants, 2)
    assert state.node[2].failed
    assert state.node[2].end == 1
