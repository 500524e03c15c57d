"""What a search on Spark found, as a result: verdicts, and traces rebuilt from the stored ancestors."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from fencepost.explorers.native.search import bounds_reached
from fencepost.explorers.paths import with_late_faults
from fencepost.explorers.spark.store import NO_ANCESTOR, SOURCE_SHIFT, Block
from fencepost.explorers.verdict import GuardCount, PropertyResult, Result, Verdict
from fencepost.model.language.actions import Kind
from fencepost.model.language.errors import MismatchError

if TYPE_CHECKING:
    from fencepost.explorers.native.search import Search
    from fencepost.explorers.spark.manifest import Manifest, State
    from fencepost.explorers.spark.store import Store
    from fencepost.model.language.actions import Property
    from fencepost.model.language.records import Key

REMEMBERED = 8
"""Blocks that are kept in memory while traces are rebuilt."""


def result_of(native: Search, store: Store, manifest: Manifest, why: str, workers: int) -> Result:
    """Return what was found, and why the search stopped, if it did."""
    trails = _Trails(native, store, manifest)
    deadlock = None
    if native.options.deadlock and manifest.deadlock is not None:
        deadlock = native.plain.retrace(trails.to(manifest.deadlock))
    return Result(
        protocol=native.machine.name,
        constants=native.constants.shown,
        engine="spark",
        workers=workers,
        complete=not why,
        why_stopped=why,
        distinct=manifest.distinct,
        generated=manifest.generated,
        depth=manifest.depth,
        seconds=manifest.seconds,
        properties=tuple(_property(native, trails, manifest, item, complete=not why) for item in native.properties),
        fired={item.label: count for item, count in zip(native.machine.actions, manifest.fired, strict=True)},
        guards=tuple(
            GuardCount(action.replace("_", "-"), text, count)
            for (action, text), count in zip(native.kernels.source.guards, manifest.refused, strict=False)
        ),
        bounds=bounds_reached(native.kernels.source, native.constants, manifest.refused),
        deadlocks=manifest.deadlocks,
        deadlock=deadlock,
        store_bytes=manifest.distinct * (native.layout.dtype.itemsize + 8),
        compiled=native.compiled[-1:],
        levels=tuple(manifest.levels),
    )


def _property(native: Search, trails: _Trails, manifest: Manifest, item: Property, *, complete: bool) -> PropertyResult:
    state = manifest.found.get(item.name)
    if state is None:
        decided = Verdict.UNREACHED if item.kind is Kind.SOMETIMES else Verdict.HOLDS
        return PropertyResult(item.name, item.kind, decided if complete else Verdict.UNDETERMINED)
    path = native.plain.decided(native.plain.retrace(trails.to(state)), item)
    path = with_late_faults(native.plain, path, item)
    return PropertyResult(
        item.name, item.kind, Verdict.HOLDS if item.kind is Kind.SOMETIMES else Verdict.VIOLATED, path
    )


class _Trails:
    """Ways from an initial state, followed backwards through the blocks."""

    def __init__(self, native: Search, store: Store, manifest: Manifest) -> None:
        self.native, self.store, self.base = native, store, manifest.base
        dtype = native.layout.dtype

        @lru_cache(REMEMBERED)
        def block(level: int, partition: int) -> Block:
            return store.read_block(level, partition, dtype)

        self.block = block

    def to(self, state: State) -> list[Key]:
        """Return the states on the way to a state, the initial one first."""
        level, partition, number = state
        longest = level
        keys: list[Key] = []
        while len(keys) <= longest:
            level, block = self._holding(level, partition, number)
            try:
                place = block.place(number)
            except IndexError:
                raise self.store.damaged(level, partition) from None
            keys.append(self.native.layout.decode(block.rows[place]))
            ancestor = int(block.ancestors[place])
            if ancestor == NO_ANCESTOR:
                return keys[::-1]
            partition, number = ancestor >> SOURCE_SHIFT, ancestor & ((1 << SOURCE_SHIFT) - 1)
            level = max(self.base, level - 1)
        raise MismatchError("the ancestors of a state go round in a circle.")

    def _holding(self, level: int, partition: int, number: int) -> tuple[int, Block]:
        """Return the block that holds a state of `level` or of a level before it that shares its block."""
        for candidate in range(level, self.base - 1, -1):
            block = self.block(candidate, partition)
            owner, local = number % len(block.firsts), number // len(block.firsts)
            if local >= block.firsts[owner]:
                return candidate, block
        raise self.store.damaged(level, partition)
