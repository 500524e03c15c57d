"""What the replication model does not settle, and why not."""

from __future__ import annotations

from fencepost.invariants.catalogue import Evidence

_GAPS = {
    "B06": "It needs a consumer that reads from the follower, and comes with the consumers. The replica's side of it is in the runs "
    "of G-S9.",
    "B24": "It comes with the consumers.",
    "B08": "The step is not in the model: answers of an earlier epoch are dropped as a new epoch begins, and no fetcher forgets a "
    "partition.",
    "B15": "It needs the ZooKeeper mode, in which leaders do not read the controller's log: here metadata settles every change (G-L5).",
    "B18": "The step is not in the model: a broker that shuts down applies metadata like any other (G-L7), and clients come with KIP-951.",
    "B33": "Outside: topic ids and the ZooKeeper tools that overwrite them are not modelled.",
}

EVIDENCE: tuple[Evidence, ...] = tuple(Evidence(entry, (), gap=why) for entry, why in _GAPS.items())
