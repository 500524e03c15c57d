"""Where a search on Spark stands, between two levels; written in one step after each."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

from fencepost.explorers import sealed
from fencepost.explorers.native.checkpoint import question, refuse_other_question
from fencepost.explorers.spark.store import DamagedError
from fencepost.explorers.verdict import refuse_replacing
from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    from fencepost.explorers.native.search import Search
    from fencepost.explorers.spark.store import Store

FORMAT = 2
NAME = "spark.json"
LARGEST = 1 << 62
MOST_PARTITIONS = 1 << 20
State = list[int]
"""[level, partition, number inside the partition]"""


@dataclass
class Manifest:
    """All of a search that is not in its blocks."""

    partitions: int
    base: int
    """The first level that has a block; it holds all states of the levels up to it."""
    level: int
    """The newest level, which is expanded next."""
    levels: list[int]
    """States of each level, from the first."""
    initial: int
    fired: list[int]
    refused: list[int]
    blocks: list[list[list[int]]]
    """For each level from `base`, and each partition, the bytes and the checksum of its block."""
    deadlocks: int = 0
    deadlock: State | None = None
    found: dict[str, State] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def distinct(self) -> int:
        """States reached."""
        return sum(self.levels)

    @property
    def generated(self) -> int:
        """Initial states plus successors computed, with repetition."""
        return self.initial + sum(self.fired)

    @property
    def depth(self) -> int:
        """Levels that have states."""
        return sum(1 for count in self.levels if count)


def save(store: Store, manifest: Manifest, native: Search) -> None:
    """Write the manifest."""
    store.write(NAME, sealed.sealed({"format": FORMAT, "question": question(native), "manifest": asdict(manifest)}))


def refuse_another(store: Store) -> None:
    """Raise UsageError if the folder keeps a search already, which a new one would overwrite."""
    if store.exists(NAME):
        refuse_replacing(store.url)


def load(store: Store, native: Search) -> Manifest:
    """Return the manifest of a search that asked the same; raise UsageError if there is none that fits."""
    where = f"{store.url}/{NAME}"
    if not store.exists(NAME):
        raise UsageError(
            f"there is no checkpoint of the spark engine in {store.url}: run once with --checkpoint {store.url}."
        )
    try:
        found = sealed.object_in(store.read(NAME, sealed.MOST))
        if found.get("format") != FORMAT:
            raise UsageError(
                f"{where}: the checkpoint has format {str(found.get('format'))[:20]}, and this version of Fencepost reads format "
                f"{FORMAT}. Start afresh without --resume, or continue with the version that wrote it."
            )
        stored = sealed.unsealed(found)
        _need(set(stored) == {"format", "question", "manifest"} and isinstance(stored["question"], dict))
    except sealed.BrokenSealError:
        raise _damaged(where) from None
    refuse_other_question(store.url, stored["question"], question(native))
    try:
        manifest = _checked(stored["manifest"], native)
    except sealed.BrokenSealError:
        raise _damaged(where) from None
    _look_at_blocks(store, manifest, native)
    store.remove(range(manifest.level + 1, manifest.level + 2))
    return manifest


def _damaged(where: str) -> DamagedError:
    return DamagedError(f"{where}: the manifest of the checkpoint is damaged. Start afresh without --resume.")


def _checked(data: Any, native: Search) -> Manifest:
    """Return the manifest if everything in it can be; raise BrokenSealError if not."""
    _need(isinstance(data, dict) and set(data) == {item.name for item in fields(Manifest)})
    found = Manifest(**data)
    _need(all(_whole(number) for number in (found.partitions, found.base, found.level, found.initial, found.deadlocks)))
    _need(1 <= found.partitions <= MOST_PARTITIONS and 1 <= found.base <= found.level)
    _numbers(found.levels, found.level)
    _need(all(found.levels[:-1]) and found.levels[0] <= found.initial)
    _numbers(found.fired, len(native.machine.actions))
    _numbers(found.refused, native.kernels.source.counters)
    _need(found.generated >= found.distinct >= found.deadlocks)
    _need(isinstance(found.blocks, list) and len(found.blocks) == found.level - found.base + 1)
    for level in found.blocks:
        _need(isinstance(level, list) and len(level) == found.partitions)
        for block in level:
            _numbers(block, 2)
    _need(isinstance(found.found, dict) and set(found.found) <= {item.name for item in native.properties})
    for state in [*found.found.values(), *([] if found.deadlock is None else [found.deadlock])]:
        _numbers(state, 3)
        _need(1 <= state[0] <= found.level and state[1] < found.partitions)
    _need((found.deadlock is None) == (found.deadlocks == 0))
    _need(type(found.seconds) in (int, float) and math.isfinite(found.seconds) and found.seconds >= 0)
    return found


def _look_at_blocks(store: Store, manifest: Manifest, native: Search) -> None:
    """Raise DamagedError for the first block that is not the one that the manifest means."""
    ends = [[0] * native.owners for _ in range(manifest.partitions)]
    for level, blocks in enumerate(manifest.blocks, manifest.base):
        total = 0
        for partition, (size, checksum) in enumerate(blocks):
            head = store.read_head(level, partition)
            fits = (head.level, head.partition, head.size, head.checksum) == (level, partition, size, checksum)
            if not fits or head.itemsize != native.layout.dtype.itemsize or head.firsts != ends[partition]:
                raise store.damaged(level, partition)
            ends[partition] = [first + share for first, share in zip(head.firsts, head.shares, strict=True)]
            total += sum(head.shares)
        if total != sum(manifest.levels[:level] if level == manifest.base else manifest.levels[level - 1 : level]):
            raise store.damaged(level, 0)


def _whole(value: object) -> bool:
    return type(value) is int and 0 <= value < LARGEST


def _numbers(values: object, length: int) -> None:
    _need(isinstance(values, list) and len(values) == length and all(map(_whole, values)))


def _need(holds: bool) -> None:  # noqa: FBT001 (a condition, like an assertion's)
    if not holds:
        raise sealed.BrokenSealError
