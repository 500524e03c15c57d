"""Parametrized tests: a model of several sizes, a hand-written state, and an expected failure."""

import fencepost.api as f
import pytest
from quorum import MACHINE, PROPERTIES


@pytest.mark.parametrize("nodes", [1, 2, 3])
def test_one_leads_among_any_number_of_nodes(fencepost, nodes: int) -> None:
    fencepost.check(MACHINE, PROPERTIES, nodes=nodes)


@pytest.mark.parametrize(("votes", "refused"), [(0b001, True), (0b011, False), (0b111, False)])
def test_a_majority_leads(votes: int, refused: bool) -> None:
    hand = f.in_hand(MACHINE, PROPERTIES, nodes=3)
    state = hand.state(votes=[votes, 0, 0])
    assert bool(hand.why_not(state, "lead", node=0)) == refused
