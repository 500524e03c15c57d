"""The rules of the quorum model one by one, and histories step by step."""

from itertools import product

import pytest
from fencepost.model.language import NONE
from fencepost.model.language.interpreter import Interpreter
from fencepost.model.quorum import leader
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
