"""A partition as the records of the log make it, after Kafka's PartitionRegistration."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any, NamedTuple

NO_LEADER = -1
SAME_LEADER = -2
"""What a change of a partition says for its leader if that stays as it is, and so does the leader epoch."""
RECOVERING = 1
Brokers = tuple[int, ...]


class Core(NamedTuple):
    """A partition without its epochs."""

    replicas: Brokers
    isr: Brokers
    removing: Brokers
    adding: Brokers
    leader: int
    recovering: int
    elr: Brokers
    last_known: Brokers


class Change(NamedTuple):
    """What a record changes; None for what stays. `leader` is SAME_LEADER if it stays."""

    replicas: Brokers | None
    isr: Brokers | None
    removing: Brokers | None
    adding: Brokers | None
    leader: int
    recovering: int | None
    elr: Brokers | None
    last_known: Brokers | None


CLEARED = Change(None, None, None, None, SAME_LEADER, None, (), ())
"""What a ClearElrRecord does to a partition that has something to forget (ReplicationControlManager.removeTopicElrs)."""


def brokers(found: Any) -> Brokers | None:
    """Return brokers as a record lists them."""
    return None if found is None else tuple(found)


@lru_cache(maxsize=1 << 17)
def change_of(text: str) -> Change:
    """Return what a PartitionChangeRecord changes, by its fields without the partition's name."""
    found = json.loads(text)
    recovering = found.get("leaderRecoveryState", -1)
    return Change(
        brokers(found.get("replicas")),
        brokers(found.get("isr")),
        brokers(found.get("removingReplicas")),
        brokers(found.get("addingReplicas")),
        found.get("leader", SAME_LEADER),
        None if recovering == -1 else recovering,
        brokers(found.get("eligibleLeaderReplicas")),
        brokers(found.get("lastKnownElr")),
    )


def created(text: str) -> tuple[Core, int, int]:
    """Return a partition as a PartitionRecord has it, with its leader epoch and its partition epoch."""
    found = json.loads(text)
    core = Core(
        tuple(found["replicas"]),
        tuple(found["isr"]),
        tuple(found.get("removingReplicas") or ()),
        tuple(found.get("addingReplicas") or ()),
        found["leader"],
        found.get("leaderRecoveryState", 0),
        tuple(found.get("eligibleLeaderReplicas") or ()),
        tuple(found.get("lastKnownElr") or ()),
    )
    return core, found["leaderEpoch"], found["partitionEpoch"]


def merged(core: Core, change: Change) -> Core:
    """Return a partition after a change (PartitionRegistration.merge). Its leader epoch rises if the change names a leader."""
    return Core(
        core.replicas if change.replicas is None else change.replicas,
        core.isr if change.isr is None else change.isr,
        core.removing if change.removing is None else change.removing,
        core.adding if change.adding is None else change.adding,
        core.leader if change.leader == SAME_LEADER else change.leader,
        core.recovering if change.recovering is None else change.recovering,
        core.elr if change.elr is None else change.elr,
        core.last_known if change.last_known is None else change.last_known,
    )
