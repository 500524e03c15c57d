"""Exhaustive breadth-first search on Spark. The native engine searches the first, small levels.

Each level is one job. A partition expands its share of the level (a block of the store) and sends each successor to the
partition that owns it. It stores the new successors that it receives as a block of the next level. Between jobs, all
of the search's data is in the store and the manifest. Spark's lineage is never longer than one level. If an executor is
lost, its replacement rebuilds the mapped partitions from the blocks; a new driver continues from the manifest.
"""

from __future__ import annotations

import pickle
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np
from fencepost.explorers import verdict
from fencepost.explorers.cross_check import cross_check
from fencepost.explorers.native.blame import blame, explain
from fencepost.explorers.native.compile import NO_PARENT, Kernels
from fencepost.explorers.native.expansion import still_counted
from fencepost.explorers.native.search import Search
from fencepost.explorers.native.store import Progress
from fencepost.explorers.paths import with_late_faults
from fencepost.explorers.running.interrupts import Signals
from fencepost.explorers.search import digested
from fencepost.explorers.spark import work as tasks
from fencepost.explorers.spark.session import Exchange, first_cause
from fencepost.explorers.spark.store import (
    NO_ANCESTOR,
    SOURCE_SHIFT,
    Block,
    Manifest,
    State,
    Store,
    load_manifest,
    refuse_another,
    save_manifest,
)
from fencepost.explorers.spark.work import Ask, Looked, Origin, Received, Work
from fencepost.model.language.actions import Kind, Property
from fencepost.model.language.constants import Constants
from fencepost.model.language.errors import DomainError, MismatchError, UsageError
from fencepost.model.language.interpreter import Path
from fencepost.model.language.machine import Machine
from fencepost.model.language.records import Key

if TYPE_CHECKING:
    from pyspark import SparkContext


@dataclass
class Explore:
    machine: Machine
    constants: Constants
    properties: tuple[Property, ...]
    options: verdict.Options
    origin: Origin
    kernels: Kernels
    partitions: int
    handover: int
    tell: Callable[[Progress], None] | None = None
    summed: verdict.Summed | None = None
    """Actions whose steps go into the digest of a complete search, or None if no digest is requested."""

    def run(self, start: Callable[[], AbstractContextManager[SparkContext]]) -> verdict.Result:
        """Search until every state is reached or a limit stops the search. Spark starts at the first large level."""
        _require_kinds(self.properties)
        temporary = "" if self.options.checkpoint else tempfile.mkdtemp(prefix="fencepost-levels-")
        store = Store(self.options.checkpoint or temporary)
        try:
            return self._run(start, store)
        finally:
            if temporary:
                shutil.rmtree(temporary, ignore_errors=True)

    def _run(self, start: Callable[[], AbstractContextManager[SparkContext]], store: Store) -> verdict.Result:
        native = Search(
            self.machine, self.constants, self.properties,
            replace(self.options, checkpoint=None, resume=False, memory=None),
            kernels=self.kernels, tell=self.tell,
        )  # fmt: skip
        manifest = None
        if self.options.resume:
            manifest = load_manifest(store, native)
        else:
            refuse_another(store)
            native.pause_at = self.handover
            result = native.run()
            if not native.paused:
                if self.options.cross_check != 0 and not result.problems:
                    result = replace(result, cross_check=cross_check(native, result, self.options.cross_check))
                result = digested(native, result, self.summed)
                note = "no level of the search was large enough for Spark, so the whole search ran on the driver"
                if self.options.checkpoint and not result.complete:
                    note = f"{note}, and no checkpoint was written"
                return replace(result, engine="spark", notes=(*result.notes, note))
        with start() as context:
            if manifest is None:
                manifest = hand_over(native, store, self.partitions or 2 * context.defaultParallelism)
                save_manifest(store, manifest, native)
            run = uuid4().hex[:12]
            try:
                with Signals(native.ask):
                    exchange = Exchange(context, manifest.partitions)
                    earlier = manifest.level if self.options.resume else 0
                    work = Work(
                        self.origin, run, store.url, manifest.partitions, manifest.level, manifest.base, (),
                        earlier=earlier,
                    )  # fmt: skip
                    why = self._levels(exchange, work, manifest, native)
            except DomainError as error:
                if not self._violated(manifest):
                    raise
                result = result_of(native, store, manifest, verdict.LEFT, context.defaultParallelism)
                return replace(result, problems=(verdict.model_error(error),))
            except UsageError as error:
                if not self._violated(manifest):
                    raise
                why = verdict.Reason(str(error).rstrip("."), verdict.Cause.ERROR)
            finally:
                _clean(context, run)
            result = result_of(native, store, manifest, why, context.defaultParallelism)
            if self.summed and not why and (names := self.summed(result)) is not None:
                numbers = context.parallelize(range(work.partitions), work.partitions)
                sums = numbers.map(partial(tasks.digest, replace(work, level=manifest.level), names)).collect()
                result = replace(result, digest=sum(sums) % 2**64)
            if self.options.cross_check != 0 and verdict.cause_of(why) is not verdict.Cause.ERROR:
                blocks = _Blocks(context, work, native, manifest)
                result = replace(
                    result, cross_check=cross_check(native, result, self.options.cross_check, stored=blocks)
                )
        return replace(result, kept=bool(why and self.options.checkpoint))

    def _levels(self, exchange: Exchange, work: Work, manifest: Manifest, native: Search) -> str:
        store, began = Store(work.store), time.perf_counter() - manifest.seconds
        earlier = manifest.seconds if self.options.resume else 0.0
        advanced = not self.options.resume  # so repeated runs with a small budget finish
        while manifest.levels[-1]:
            why = self._limit(manifest, native, time.perf_counter() - began - earlier if advanced else 0.0)
            if why:
                return why
            advanced = True
            waiting = tuple(item.name for item in self.properties if item.name not in manifest.found)
            counting = still_counted(native.kernels.source, manifest.refused)
            now = replace(work, level=manifest.level, waiting=waiting, counting=counting)
            answers = self._level(exchange, now)
            manifest.seconds = time.perf_counter() - began
            self._take(manifest, answers, native)
            save_manifest(store, manifest, native)
            if self.tell is not None:
                frontier, seconds, levels = manifest.levels[-1], manifest.seconds, manifest.levels
                self.tell(Progress(manifest.distinct, manifest.generated, manifest.depth, frontier, 0, seconds, levels))
        manifest.levels.pop()
        return ""

    def _level(self, exchange: Exchange, work: Work) -> list[Received]:
        try:
            answers = exchange.run(partial(tasks.send, work), partial(tasks.receive, work))
            return [pickle.loads(answer) for answer in answers]  # noqa: S301 (from our own tasks)
        except Exception as error:
            kept = "`checkpoint=DIR` would have saved the search up to that level."
            if self.options.checkpoint:
                kept = f"The search up to that level is saved in {work.store}; `resume=True` continues from there."
            raise UsageError(f"a Spark job failed at level {work.level}: {first_cause(str(error))} {kept}") from error

    def _take(self, manifest: Manifest, answers: list[Received], native: Search) -> None:
        """Add a level's results to the manifest. If an error occurred in a partition, raise the error."""
        for answer in answers:
            if answer.message or answer.expanded.message:
                raise UsageError(answer.expanded.message or answer.message)
        for share in (*(answer.expanded for answer in answers), *answers):
            if share.code:
                explain(native, np.frombuffer(share.failed, native.layout.dtype), {*manifest.found, *share.decided})
                blame(native, share.code)
        if sorted(answer.partition for answer in answers) != list(range(manifest.partitions)):
            raise MismatchError("some partitions returned no result for a level of the search on Spark.")
        for answer in answers:
            expanded = answer.expanded
            manifest.fired = [one + other for one, other in zip(manifest.fired, expanded.fired, strict=True)]
            manifest.refused = [one + other for one, other in zip(manifest.refused, expanded.refused, strict=True)]
            manifest.deadlocks += expanded.ends
            if expanded.end >= 0 and manifest.deadlock is None:
                manifest.deadlock = [manifest.level, answer.partition, expanded.end]
            for name, state in expanded.found.items():
                manifest.found.setdefault(name, [manifest.level, answer.partition, state])
        manifest.level += 1
        for answer in answers:
            for name, state in answer.found.items():
                manifest.found.setdefault(name, [manifest.level, answer.partition, state])
        manifest.levels.append(sum(answer.fresh for answer in answers))
        manifest.blocks.append([list(answer.block) for answer in sorted(answers, key=lambda answer: answer.partition)])

    def _violated(self, manifest: Manifest) -> bool:
        return any(item.kind is not Kind.SOMETIMES and item.name in manifest.found for item in self.properties)

    def _limit(self, manifest: Manifest, native: Search, seconds: float) -> str:
        options = self.options
        if options.stop_on_violation and self._violated(manifest):
            return verdict.VIOLATED
        if options.max_depth is not None and manifest.level >= options.max_depth:
            return verdict.deep_enough(options.max_depth)
        return native.limit(seconds, manifest.distinct)


def _require_kinds(properties: tuple[Property, ...]) -> None:
    """Raise UsageError for properties that need the whole state graph, which no single process holds."""
    far = [item.name for item in properties if item.kind not in (Kind.ALWAYS, Kind.STEP, Kind.SOMETIMES)]
    near = [item.name for item in properties if item.name not in far]
    if far:
        others = f" or name others: `only={near[:3]}`" if near else ""
        instead = f"use the native engine{others}"
        raise UsageError(
            f"the spark engine checks states and steps, but not whole behaviours ({', '.join(far)}): {instead}."
        )


def _clean(context: SparkContext, run: str) -> None:
    def clean(numbers: Iterator[int]) -> Iterator[Any]:
        del numbers
        shutil.rmtree(tasks.partition_folders(run), ignore_errors=True)
        return iter(())

    shutil.rmtree(tasks.partition_folders(run), ignore_errors=True)
    with suppress(Exception):  # a cluster manager removes such scratch files with the executor
        context.parallelize(range(context.defaultParallelism), context.defaultParallelism).mapPartitions(clean).count()


Array = np.ndarray[Any, Any]


def hand_over(native: Search, store: Store, partitions: int) -> Manifest:
    """Write two blocks per partition for a search stopped between levels: all earlier levels, and the newest level."""
    position = native.settle()
    to = [tasks.targets(part.all_hashes()[: part.count], partitions) for part in native.partitions]
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
    """Return, for each state of an owner, its position among the states that go to the same partition."""
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
    rows = np.concatenate([part.read(numbers) for part, numbers in zip(native.partitions, chosen, strict=True)])
    parents = np.concatenate([part.parents[numbers] for part, numbers in zip(native.partitions, chosen, strict=True)])
    ancestors = np.full(len(parents), NO_ANCESTOR, np.uint64)
    for owner in range(native.owners):
        mine = np.flatnonzero((parents != NO_PARENT) & (parents % native.owners == owner))
        ancestors[mine] = identities[owner][parents[mine] // native.owners]
    return Block(level, partition, tuple(firsts), tuple(len(numbers) for numbers in chosen), rows, ancestors)


REMEMBERED = 8
"""Number of blocks kept in memory while traces are rebuilt."""


def result_of(native: Search, store: Store, manifest: Manifest, why: str, workers: int) -> verdict.Result:
    trails = _Trails(native, store, manifest)
    deadlock = None
    if native.options.deadlock and manifest.deadlock is not None:
        deadlock = native.plain.retrace(trails.to(manifest.deadlock))
    return native.answer(
        why,
        manifest.fired,
        manifest.refused,
        engine="spark",
        workers=workers,
        distinct=manifest.distinct,
        generated=manifest.generated,
        depth=manifest.depth,
        seconds=manifest.seconds,
        properties=tuple(_property(native, trails, manifest, item, complete=not why) for item in native.properties),
        deadlocks=manifest.deadlocks,
        deadlock=deadlock,
        store_bytes=manifest.distinct * (native.layout.dtype.itemsize + 8),
        compiled=native.compiled[-1:],
        levels=tuple(manifest.levels),
        symmetry=native.plain.alike,
    )


def _property(
    native: Search, trails: _Trails, manifest: Manifest, item: Property, *, complete: bool
) -> verdict.PropertyResult:
    state = manifest.found.get(item.name)
    path = None
    if state is not None:
        path = native.plain.decided(native.plain.retrace(trails.to(state)), item)
        path = with_late_faults(native.plain.exact, path, item)
    return verdict.judged(item, path, complete=complete)


class _Trails:
    def __init__(self, native: Search, store: Store, manifest: Manifest) -> None:
        self.native, self.store, self.base = native, store, manifest.base
        dtype = native.layout.dtype

        @lru_cache(REMEMBERED)
        def block(level: int, partition: int) -> Block:
            return store.read_block(level, partition, dtype)

        self.block = block

    def to(self, state: State) -> list[Key]:
        level, partition, number = state
        keys: list[Key] = []
        while True:
            level, block = self._holding(level, partition, number)
            place = block.place(number)
            keys.append(self.native.layout.decode(block.rows[place]))
            ancestor = int(block.ancestors[place])
            if ancestor == NO_ANCESTOR:
                return keys[::-1]
            partition, number = ancestor >> SOURCE_SHIFT, ancestor & ((1 << SOURCE_SHIFT) - 1)
            level = max(self.base, level - 1)

    def _holding(self, level: int, partition: int, number: int) -> tuple[int, Block]:
        for candidate in range(level, self.base - 1, -1):
            block = self.block(candidate, partition)
            owner, local = number % len(block.firsts), number // len(block.firsts)
            if local >= block.firsts[owner]:
                return candidate, block
        raise self.store.damaged(level, partition)


class _Blocks:
    """The expanded states of a search on Spark, for the cross-check. Each partition looks up states in its blocks."""

    first_chunk = 64

    def __init__(self, context: SparkContext, work: Work, native: Search, manifest: Manifest) -> None:
        self.context, self.native, self.decided = context, native, manifest.found
        self.work = replace(work, level=manifest.level)
        self.trails = _Trails(native, Store(work.store), manifest)
        levels = range(manifest.base, manifest.level)
        self.heads = [
            self.trails.store.read_head(level, number) for level in levels for number in range(work.partitions)
        ]
        self.ends = np.cumsum([0] + [sum(head.shares) for head in self.heads])
        self.expanded = int(self.ends[-1])
        self.known: dict[tuple[int, ...], tuple[bytes, int]] = {}

    def state(self, number: int) -> tuple[int, ...]:
        place = int(np.searchsorted(self.ends, number, side="right")) - 1
        head, left = self.heads[place], number - int(self.ends[place])
        owner = int(np.searchsorted(np.cumsum(head.shares), left, side="right"))
        local = head.firsts[owner] + left - sum(head.shares[:owner])
        return head.level, head.partition, owner + local * len(head.shares)

    def keys(self, states: Sequence[tuple[int, ...]]) -> list[Key]:
        asks: list[Ask] = [([], []) for _ in range(self.work.partitions)]
        for level, number, state in states:
            asks[number][0].append((level, state))
        for (level, number, state), found in zip(
            sorted(states, key=lambda item: item[1]),
            (item for rows, _ in self._look(asks) for item in rows),
            strict=True,
        ):
            self.known[level, number, state] = found
        rows = np.frombuffer(b"".join(self.known[state][0] for state in states), self.native.layout.dtype)
        return [self.native.layout.decode(row) for row in rows]

    def are_stored(self, states: Sequence[tuple[int, ...]], rows: Array) -> list[bool]:
        return [self.known[state][0] == row.tobytes() for state, row in zip(states, rows, strict=True)]

    def find(self, rows: Array, hashes: Array) -> Array:
        asks: list[Ask] = [([], []) for _ in range(self.work.partitions)]
        to = tasks.targets(hashes, self.work.partitions)
        for number, row in zip(to.tolist(), rows, strict=True):
            asks[number][1].append(row.tobytes())
        answers = [iter(found) for _, found in self._look(asks)]
        return np.array([next(answers[number]) for number in to.tolist()], bool)

    def parents(self, states: Sequence[tuple[int, ...]]) -> list[Key | None]:
        above = {
            state: (max(self.work.base, state[0] - 1), found >> SOURCE_SHIFT, found & ((1 << SOURCE_SHIFT) - 1))
            for state in states
            if (found := self.known[state][1]) != NO_ANCESTOR
        }
        keys = dict(zip(above, self.keys(list(above.values())), strict=True)) if above else {}
        return [keys.get(state) for state in states]

    def way_to(self, state: tuple[int, ...]) -> Path:
        return self.native.plain.retrace(self.trails.to(list(state)))

    def _look(self, asks: list[Ask]) -> list[Looked]:
        try:
            numbers = self.context.parallelize(range(len(asks)), len(asks))
            answers: list[Looked] = numbers.map(partial(tasks.look, self.work, asks)).collect()
        except Exception as error:
            raise UsageError(
                f"a Spark job failed while states were cross-checked: {first_cause(str(error))}"
            ) from error
        return answers
