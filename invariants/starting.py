"""Witnesses on processes that follow before they are registered: that their fetches count."""

from fencepost.model.cluster.constants import C
from fencepost.model.cluster.state import State, leads, newest
from fencepost.model.language import NONE, bits, sometimes
from fencepost.model.language.actions import properties_in


@sometimes
def fetch_without_epoch_counts(s: State, c: C) -> bool:
    """A leader knows the log end of a process that is not registered."""
    return any(
        leads(s, leader)
        and s.replica[follower].early != 0
        and s.replica[leader].follower[follower].end != NONE
        and s.replica[leader].follower[follower].broker_epoch == NONE
        for leader in range(c.brokers)
        for follower in range(c.brokers)
    )


@sometimes
def unregistered_process_joins(before: State, after: State, c: C) -> bool:
    """A replica joins the ISR whose process is not registered: the registration is of the one before."""
    joined = newest(after).isr & ~newest(before).isr
    return any(bits.contains(joined, broker) and before.replica[broker].early != 0 for broker in range(c.brokers))


PROPERTIES = properties_in(globals())
