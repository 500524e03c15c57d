"""What the replication model does not settle, and why not."""

from __future__ import annotations

from fencepost.invariants.catalogue import Evidence

_GAPS = {
    "B06": "It needs a consumer that reads from the follower, and comes with the consumers. The replica's side of it is in the runs "
    "of G-S9.",
    "B24": "It comes with the consumers.",
    "B33": "Outside: topic ids and the ZooKeeper tools that overwrite them are not modelled.",
}

EVIDENCE: tuple[Evidence, ...] = tuple(Evidence(entry, (), gap=why) for entry, why in _GAPS.items())
