"""Time, which is represented by the remaining ticks of every delay. States contain no absolute times."""

from fencepost.model.language import NONE, action, require
from fencepost.model.quorum.broker import applicable_end
from fencepost.model.quorum.constants import C
from fencepost.model.quorum.state import State, is_everyone_connected


def is_urgent(s: State, c: C, node: int) -> bool:
    """Return whether a message, a timeout or the application of records is due before the next tick."""
    n = s.node[node]
    return (n.leader != NONE and n.fetch.remaining == 0) or n.applied < applicable_end(s, c, node)


@action()
def time_passes(s: State, c: C) -> None:
    """One tick passes, unless an event is due. The interval of NoOp records begins once every node is connected."""
    require(c.clock)
    require(not any(is_urgent(s, c, node) for node in range(c.nodes)))
    require(c.no_op_interval == 0 or s.no_op_due > 0)
    for n in s.node:
        if n.leader != NONE:
            n.fetch.remaining -= 1
    if s.no_op_due > 0 and is_everyone_connected(s, c):
        s.no_op_due -= 1
