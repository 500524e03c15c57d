"""What the replication model does not settle, and why not."""

from __future__ import annotations

from fencepost.invariants.catalogue import Evidence

_LIVENESS = "Liveness: waits for the liveness explorer."

_GAPS = {
    "B06": "It needs a consumer that reads from the follower, and comes with the consumers. The replica's side of it is in the runs "
    "of G-S9.",
    "B24": "It comes with the consumers.",
    "B08": _LIVENESS + " Answers of an earlier epoch are dropped in the model, so its fetcher cannot lose a partition.",
    "B15": _LIVENESS + " It needs the ZooKeeper mode, in which leaders do not read the controller's log.",
    "B17": "It needs time: how long a replica counts as caught up.",
    "B18": _LIVENESS + " A broker that shuts down reads metadata in the model.",
    "B23": "It needs time, and a rate of joining and leaving.",
    "B33": "Outside: topic ids and the ZooKeeper tools that overwrite them are not modelled.",
    **{f"G-L{number}": _LIVENESS for number in range(1, 9)},
    "KIP903-L1": _LIVENESS,
}

EVIDENCE: tuple[Evidence, ...] = tuple(Evidence(entry, (), gap=why) for entry, why in _GAPS.items())
