"""A partition as the records of the log make it, after Kafka's PartitionRegistration, and conditions that last."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from fencepost.kafka.audit.findings import SORTS, Found
from fencepost.kafka.formatting import seconds, show_brokers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fencepost.kafka.audit.findings import Severity


NO_LEADER = -1
SAME_LEADER = -2
"""The leader in a change that leaves the leader and its epoch as they are."""
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


class PartitionChange(NamedTuple):
    """Changes of a record; None for what stays. `leader` is SAME_LEADER if it stays."""

    replicas: Brokers | None
    isr: Brokers | None
    removing: Brokers | None
    adding: Brokers | None
    leader: int
    recovering: int | None
    elr: Brokers | None
    last_known: Brokers | None
    assigns: bool = False
    """Whether it names directories: a broker has assigned its replica to one."""


CLEARED = PartitionChange(None, None, None, None, SAME_LEADER, None, (), ())
"""The effect of a ClearElrRecord on a partition that has something to forget
(ReplicationControlManager.removeTopicElrs)."""


def brokers(found: Any) -> Brokers | None:
    """Return brokers as a record lists them."""
    return None if found is None else tuple(found)


@lru_cache(maxsize=1 << 17)
def change_of(text: str) -> PartitionChange:
    """Return the changes of a PartitionChangeRecord, by its fields without the partition's name."""
    found = json.loads(text)
    recovering = found.get("leaderRecoveryState", -1)
    return PartitionChange(
        brokers(found.get("replicas")),
        brokers(found.get("isr")),
        brokers(found.get("removingReplicas")),
        brokers(found.get("addingReplicas")),
        found.get("leader", SAME_LEADER),
        None if recovering == -1 else recovering,
        brokers(found.get("eligibleLeaderReplicas")),
        brokers(found.get("lastKnownElr")),
        found.get("directories") is not None,
    )


def read_partition(text: str) -> tuple[Core, int, int]:
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


def merge_change(core: Core, change: PartitionChange) -> Core:
    """Return a partition after a change (PartitionRegistration.merge); naming a leader opens a leader epoch."""
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


LONG = 60_000
"""Milliseconds below min ISR from which on that is more than a restart."""


class Condition(NamedTuple):
    """Something that has begun: where, with which members of the ISR, and with which min ISR."""

    offset: int
    time: int
    isr: Brokers
    min_isr: int


class Conditions:
    """Conditions of one partition. Without a leader nothing is acknowledged: then only that is reported."""

    def __init__(self) -> None:
        self._open: dict[str, Condition] = {}

    def watch(self, core: Core, min_isr: int, offset: int, time: int) -> Iterator[Found]:
        """Yield the conditions that end with a change, and note those that begin."""
        now = _going_on(core, min_isr)
        for sort, spell in tuple(self._open.items()):
            if sort not in now or (sort == "last-replica" and spell.isr != core.isr):
                yield self._end(sort, offset, time, "")
        for sort in now:
            self._open.setdefault(sort, Condition(offset, time, core.isr, min_isr))

    def close(self, offset: int, time: int, why: str) -> Iterator[Found]:
        """Yield everything that goes on, since the history ends."""
        for sort in tuple(self._open):
            yield self._end(sort, offset, time, f", {why}")

    def _end(self, sort: str, end: int, time: int, why: str) -> Found:
        spell = self._open.pop(sort)
        lasted = time - spell.time
        text = _told(sort, spell, f"{seconds(lasted)}{why}")
        long = sort == "under-min-isr" and lasted > LONG
        brokers = spell.isr if sort == "last-replica" else ()
        severity: Severity = "medium" if long else SORTS[sort].severity
        return Found(sort, severity, spell.offset, spell.time, max(end, spell.offset), lasted, brokers, text)


def _going_on(core: Core, min_isr: int) -> tuple[str, ...]:
    if core.leader == NO_LEADER:
        return ("offline",)
    alone = ("last-replica",) if len(core.replicas) > 1 and len(core.isr) == 1 else ()
    under = ("under-min-isr",) if len(core.isr) < min(min_isr, len(core.replicas)) else ()
    return (*alone, *under)


def _told(sort: str, spell: Condition, lasted: str) -> str:
    if sort == "offline":
        return f"no leader for {lasted}"
    if sort == "under-min-isr":
        return f"the ISR had {len(spell.isr)} of min ISR {spell.min_isr} at first, and too few for {lasted}"
    told = f"{show_brokers(spell.isr)} alone was in sync for {lasted}; min ISR {spell.min_isr}"
    if spell.min_isr > 1:
        return f"{told}, so acks=all was refused: only its disk has what acks=0 or 1 wrote then"
    return f"{told}: what was acknowledged meanwhile, with acks=all too, is on its disk alone"
