"""From the native search to Spark: its states, cut into partitions, become the first blocks of the store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from fencepost.explorers.native.compile import NO_PARENT
from fencepost.explorers.spark.manifest import Manifest
from fencepost.explorers.spark.store import NO_ANCESTOR, SOURCE_SHIFT, Block
from fencepost.explorers.spark.work import targets

if TYPE_CHECKING:
    from fencepost.explorers.native.search import Search
    from fencepost.explorers.spark.store import Store

Array = np.ndarray[Any, Any]


def hand_over(native: Search, store: Store, partitions: int) -> Manifest:
    """Write the blocks of a search that stands between two levels: one for all earlier levels, one for the newest."""
    position = native.settle()
    to = [targets(part.all_hashes()[: part.count], partitions) for part in native.partitions]
    places = [_places(found, partitions) for found in to]
    owners = native.owners
    identities = [
        (found.astype(np.uint64) << np.uint64(SOURCE_SHIFT)) | (place * owners + owner).astype(np.uint64)
        for owner, (found, place) in enumerate(zip(to, places, strict=True))
    ]
    level = position.depth
    base = max(1, level - 1)
    blocks: list[list[list[int]]] = [[] for _ in range(base, level + 1)]
    for partition in range(partitions):
        chosen = [np.flatnonzero(found == partition) for found in to]
        earlier = [numbers[numbers < start] for numbers, start in zip(chosen, position.starts, strict=True)]
        newest = [numbers[numbers >= start] for numbers, start in zip(chosen, position.starts, strict=True)]
        firsts = [len(numbers) for numbers in earlier]
        if base < level:
            blocks[0].append(
                list(store.write_block(_block(native, base, partition, [0] * owners, earlier, identities)))
            )
        blocks[-1].append(list(store.write_block(_block(native, level, partition, firsts, newest, identities))))
    manifest = Manifest(
        partitions=partitions,
        base=base,
        level=level,
        levels=list(position.levels),
        initial=position.initial,
        fired=list(position.fired),
        refused=list(position.refused),
        blocks=blocks,
        deadlocks=position.deadlocks,
        seconds=position.seconds,
    )
    manifest.found = {name: _state(state, level, owners, identities) for name, state in position.found.items()}
    if position.deadlock >= 0:
        manifest.deadlock = _state(position.deadlock, level, owners, identities)
    return manifest


def _places(to: Array, partitions: int) -> Array:
    """Return for each state of an owner its number among those that go to the same partition."""
    order = np.argsort(to, kind="stable")
    sizes = np.bincount(to, minlength=partitions)
    places = np.empty(len(to), np.int64)
    places[order] = np.arange(len(to)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return places


def _state(state: int, level: int, owners: int, identities: list[Array]) -> list[int]:
    identity = int(identities[state % owners][state // owners])
    return [level, identity >> SOURCE_SHIFT, identity & ((1 << SOURCE_SHIFT) - 1)]


def _block(
    native: Search, level: int, partition: int, firsts: list[int], chosen: list[Array], identities: list[Array]
) -> Block:
    rows = np.concatenate([part.rows[numbers] for part, numbers in zip(native.partitions, chosen, strict=True)])
    parents = np.concatenate([part.parents[numbers] for part, numbers in zip(native.partitions, chosen, strict=True)])
    ancestors = np.full(len(parents), NO_ANCESTOR, np.uint64)
    for owner in range(native.owners):
        mine = np.flatnonzero((parents != NO_PARENT) & (parents % native.owners == owner))
        ancestors[mine] = identities[owner][parents[mine] // native.owners]
    return Block(level, partition, tuple(firsts), tuple(len(numbers) for numbers in chosen), rows, ancestors)
