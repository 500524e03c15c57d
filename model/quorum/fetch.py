"""A follower's fetch: its version, the high watermark that it reports, and its arrival."""

from fencepost.model.language import NONE, bits
from fencepost.model.quorum import log
from fencepost.model.quorum.constants import C, Report
from fencepost.model.quorum.state import Fetch, Phase, State, follows


def speaks_version_18(c: C, node: int) -> bool:
    """Return whether the node supports Fetch version 18."""
    return bits.contains(c.version_18, node)


def is_finalized(s: State, c: C, node: int) -> bool:
    """Return whether a metadata version with Fetch version 18 is finalized in the committed part of the node's log."""
    if c.finalizing_record == 0:
        return True
    n = s.node[node]
    offset = log.offset_of(n, c.finalizing_record)
    return offset != NONE and offset < n.high_watermark


def sends_field(s: State, c: C, follower: int) -> bool:
    """Return whether the follower's fetch contains HighWatermark, which requires a finalized version 18 on both nodes.

    A consumer never sets the field.
    """
    f = s.node[follower]
    return (
        f.leader != NONE
        and speaks_version_18(c, follower)
        and speaks_version_18(c, f.leader)
        and is_finalized(s, c, follower)
        and not (c.consumer and follower == c.nodes - 1)
    )


def absent(s: State) -> int:
    """Return the leader's value for a missing field: greater than any offset, like 2**63 - 1 in Kafka."""
    return len(s.ghost_committed) + 1


def reported_high_watermark(s: State, c: C, follower: int) -> int:
    """Return the HighWatermark field of the follower's fetch: an offset, -1 (NONE) for unknown, or `absent`.

    While the fetch is in flight, the field is computed from the follower's state.
    """
    f = s.node[follower]
    if not sends_field(s, c, follower):
        return absent(s)
    if c.reports == Report.ZERO:
        return 0
    return f.received if c.reports == Report.RECEIVED else f.high_watermark


def is_sent(s: State, leader: int, follower: int) -> bool:
    """Return whether a fetch from the follower is in flight to this leader."""
    return follows(s, follower, leader) and s.node[follower].fetch.phase == Phase.SENT


def arrived(c: C, fetch: Fetch) -> bool:
    """Return whether a message may be received: it is due, or the model has no clock."""
    return not c.clock or c.early_delivery or fetch.remaining == 0
