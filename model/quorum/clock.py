"""Time: what is remaining of every delay, lowered by one tick at a time. Absolute time is nowhere in the state."""

from fencepost.model.language import NONE, action, require
from fencepost.model.quorum import log
from fencepost.model.quorum.constants import C
from fencepost.model.quorum.state import State, is_everyone_connected

FIRST_RECORD = 1
"""The record of the controller from whose commit delays are measured."""


def is_urgent(s: State, c: C, node: int) -> bool:
    """Say whether a message or a timeout of this node is due now: it happens before time goes on."""
    n = s.node[node]
    return n.leader != NONE and n.fetch.remaining == 0


def is_waiting(s: State, c: C, node: int) -> bool:
    """Say whether the node follows a leader that has committed the first record, and does not know that it did."""
    n = s.node[node]
    if n.leader == NONE:
        return False
    l = s.node[n.leader]
    offset = log.offset_of(l, FIRST_RECORD)
    return offset != NONE and n.high_watermark <= offset < l.high_watermark


@action()
def time_passes(s: State, c: C) -> None:
    """One tick passes, unless something is due. NoOp records come at their interval once every node is connected."""
    require(c.clock)
    require(not any(is_urgent(s, c, node) for node in range(c.nodes)))
    require(c.no_op_interval == 0 or s.no_op_due > 0)
    for n in s.node:
        if n.leader != NONE:
            n.fetch.remaining -= 1
    if s.no_op_due > 0 and is_everyone_connected(s, c):
        s.no_op_due -= 1
    if c.longest_delay > 0:
        is_anyone_waiting = any(is_waiting(s, c, node) for node in range(c.nodes))
        s.ghost_delay = min(s.ghost_delay + 1, c.longest_delay + 1) if is_anyone_waiting else 0
