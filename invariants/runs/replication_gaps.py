"""What the replication model does not settle, and why not."""

from __future__ import annotations

from fencepost.invariants.catalogue import Evidence

_GAPS = {
    "B33": "Outside: topic ids and the ZooKeeper tools that overwrite them are not modelled.",
}

EVIDENCE: tuple[Evidence, ...] = tuple(Evidence(entry, (), gap=why) for entry, why in _GAPS.items())
