"""What lasts: nobody leads, one replica alone is in sync, or fewer than min ISR are; from the change that begins it to the one that ends it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fencepost.kafka.audit.findings import SORTS, Found
from fencepost.kafka.audit.history import NO_LEADER, Brokers, Core
from fencepost.kafka.audit.words import seconds, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fencepost.kafka.audit.findings import Severity

LONG = 60_000
"""Milliseconds below min ISR from which on that is more than a restart."""


class Spell(NamedTuple):
    """Something that has begun: where, with which members of the ISR, and with which min ISR."""

    offset: int
    time: int
    isr: Brokers
    min_isr: int


class Spells:
    """What lasts of one partition. While nobody leads nothing is acknowledged: then only that is said."""

    def __init__(self) -> None:
        self._open: dict[str, Spell] = {}

    def watch(self, core: Core, min_isr: int, offset: int, time: int) -> Iterator[Found]:
        """Yield what ends with a change, and note what begins."""
        now = _going_on(core, min_isr)
        for sort, spell in tuple(self._open.items()):
            if sort not in now or (sort == "last-replica" and spell.isr != core.isr):
                yield self._end(sort, offset, time, "")
        for sort in now:
            self._open.setdefault(sort, Spell(offset, time, core.isr, min_isr))

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


def _told(sort: str, spell: Spell, lasted: str) -> str:
    if sort == "offline":
        return f"nobody led for {lasted}"
    if sort == "under-min-isr":
        return f"the ISR had {len(spell.isr)} of min ISR {spell.min_isr} at first, and too few for {lasted}"
    told = f"{shown(spell.isr)} alone was in sync for {lasted}; min ISR {spell.min_isr}"
    if spell.min_isr > 1:
        return f"{told}, so acks=all was refused: on its disk alone is what acks=0 or 1 wrote meanwhile"
    return f"{told}: what was acknowledged meanwhile, with acks=all too, is on its disk alone"
