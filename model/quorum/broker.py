"""Brokers as observers, which apply committed records to their metadata. Modelled on MetadataLoader."""

from fencepost.model.language import action, require
from fencepost.model.quorum.constants import Applied, C
from fencepost.model.quorum.state import Id, State


def applicable_end(s: State, c: C, node: int) -> int:
    """Return how many records a broker may apply. In Kafka, these are the records below its high watermark."""
    n = s.node[node]
    if node < c.voters or n.failed or c.brokers_apply == Applied.NONE:
        return 0
    return n.end if c.brokers_apply == Applied.FETCHED else max(n.high_watermark, 0)


@action(node=Id)
def broker_applies_metadata(s: State, c: C, node: int) -> None:
    """A broker applies the records that its raft client returns, and then serves the new metadata."""
    require(s.node[node].applied < applicable_end(s, c, node))
    s.node[node].applied = applicable_end(s, c, node)
