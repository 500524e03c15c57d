"""Tasks of a distributed search: expanding a level, and receiving successors.

A task may run several times, on several executors or on one mapped partition. A task reads only blocks of the store,
and processes successors in the order of their senders, so that every run has the same result. An executor finds the
machine by the protocol's name, or loads it from the source of a user's file.
"""

import gc
import os
import pickle
import stat
import struct
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np
from fencepost.explorers.liveness.generated import digest_of
from fencepost.explorers.model_files import Files, load_sent
from fencepost.explorers.native.checkpoint import are_states
from fencepost.explorers.native.compile import Kernels, generate, load
from fencepost.explorers.native.expansion import UNDECIDED, Worker, count_bounds, hash_rows, insert
from fencepost.explorers.native.layout import Layout
from fencepost.explorers.native.packed import OWNERS
from fencepost.explorers.native.store import BATCH, Buffers, Partition, sizes
from fencepost.explorers.spark.mapped_partition import MappedPartition, locked
from fencepost.explorers.spark.store import SOURCE_SHIFT, Block, Store
from fencepost.invariants.protocols import Protocol, protocol
from fencepost.model.language.actions import Property
from fencepost.model.language.constants import Constants
from fencepost.model.language.errors import UsageError
from fencepost.model.language.machine import Machine


@dataclass(frozen=True)
class Origin:
    """A machine and its constants, in a form that can be sent and compared."""

    name: str
    files: Files
    values: tuple[tuple[str, int], ...]
    properties: tuple[str, ...]
    """Names of the properties to check; empty means all. Without symmetry, all default properties are compiled."""
    normalize: bool
    symmetry: bool = False

    def protocol(self) -> Protocol:
        return _found(self)

    def machine(self) -> Machine:
        return _found(self).machine

    def constants(self) -> Constants:
        return self.machine().set_constants(dict(self.values))

    def kernels(self) -> Kernels:
        return _kernels(self)


@cache
def _kernels(origin: Origin) -> Kernels:
    found = _found(origin)
    asked = found.select(origin.properties)
    chosen = asked if origin.symmetry else found.compiled_with(asked)  # other properties may distinguish values
    flags = {"normalize": origin.normalize, "symmetry": origin.symmetry}
    made = load(generate(found.machine, origin.constants(), chosen, **flags))
    gc.freeze()  # PySpark collects garbage after every task and would scan all of this
    return made


@cache
def _found(origin: Origin) -> Protocol:
    if not origin.files:
        return protocol(origin.name)
    module = load_sent(origin.files)
    return Protocol(cast("Machine", module.MACHINE), tuple(module.PROPERTIES))


LARGEST = 48 << 20
"""Maximum size, in bytes, of a block to send; it limits a task's buffer for each receiver."""
_STATES, _COUNTS = 1, 2
_FRAME = struct.Struct("<BxxxIQ")
_PARTITION_SHIFT = np.uint64(40)
_PARTITION_MASK = np.uint64(0xFFFFF)
"""Bits of the hash that determine a partition; the owner, the slot and the tag depend on other bits."""


@dataclass(frozen=True)
class Work:
    origin: Origin
    run: str
    store: str
    partitions: int
    level: int
    """The level that is expanded."""
    base: int
    waiting: tuple[str, ...]
    counting: int = 0
    earlier: int = 0
    """The last level that an earlier run wrote. Rows up to this level are checked before compiled code reads them."""


@dataclass(kw_only=True)
class Share:
    found: dict[str, int] = field(default_factory=dict)
    """For each decided property, the number of the first state that decides it or begins the deciding step."""
    failed: bytes = b""
    """Rows of the states in which a check failed."""
    decided: tuple[str, ...] = ()
    """Properties decided before the first state in which a check failed."""
    code: int = 0
    message: str = ""
    """Why a task failed, if the user can fix the cause."""


@dataclass
class Expanded(Share):
    fired: list[int] = field(default_factory=list)
    refused: list[int] = field(default_factory=list)
    ends: int = 0
    end: int = -1
    """Number of the first state without a successor, or -1."""


@dataclass
class Received(Share):
    partition: int
    fresh: int = 0
    block: tuple[int, int] = (0, 0)
    received: int = 0
    expanded: Expanded = field(default_factory=Expanded)


Ask = tuple[list[tuple[int, int]], list[bytes]]
"""States of a partition (each as the last level that may contain it, and its number), and rows to look up."""
Looked = tuple[list[tuple[bytes, int]], list[bool]]
"""Answer to an `Ask`: each state's row and ancestor, and whether each row is stored."""


def targets(hashes: np.ndarray[Any, Any], partitions: int) -> np.ndarray[Any, Any]:
    return (((hashes >> _PARTITION_SHIFT) & _PARTITION_MASK) % np.uint64(partitions)).astype(np.int64)


def send(work: Work, number: int) -> Iterator[tuple[int, bytes]]:
    """Expand a partition's share of the level; yield blocks of successors, each with its receiver."""
    kernels = work.origin.kernels()
    outbox = _Outbox(kernels, kernels.layout(work.origin.constants()), work.partitions, number)
    try:
        block = _block(work, outbox.layout, Store(work.store), work.level, number)
        yield from _expand(work, kernels, block, outbox)
        yield from outbox.rest()
    except UsageError as error:
        outbox.counts.message = str(error)
    yield number, _FRAME.pack(_COUNTS, number, 0) + pickle.dumps(outbox.counts)


class _Outbox:
    """Successors to be sent, grouped by receiver, without duplicates."""

    def __init__(self, kernels: Kernels, layout: Layout, partitions: int, sender: int) -> None:
        self.kernels, self.layout, self.sender = kernels, layout, sender
        self.boxes: list[Partition | None] = [None] * partitions
        self.room = max(1, LARGEST // layout.dtype.itemsize)
        self.counts = Expanded()

    def add(self, buffers: Buffers, count: int) -> Iterator[tuple[int, bytes]]:
        to = targets(buffers.hashes[0, :count], len(self.boxes))
        buffers.order[0, :count] = np.argsort(
            to.astype(np.uint16 if len(self.boxes) < 1 << 16 else np.uint32), kind="stable"
        )
        buffers.starts[0, 1:] = np.cumsum(np.bincount(to, minlength=len(self.boxes)))
        for target in np.flatnonzero(np.diff(buffers.starts[0])).tolist():
            box = self.boxes[target] = self.boxes[target] or Partition(self.kernels, self.layout.dtype, compact=False)
            insert(box, buffers, 1, target)
            if box.count >= self.room:
                yield self._close(target)

    def rest(self) -> Iterator[tuple[int, bytes]]:
        for target, box in enumerate(self.boxes):
            if box is not None:
                yield self._close(target)

    def _close(self, target: int) -> tuple[int, bytes]:
        box = self.boxes[target]
        assert box is not None
        self.boxes[target] = None
        head = _FRAME.pack(_STATES, self.sender, box.count)
        return target, b"".join(
            (head, box.rows[: box.count].view(np.uint8).data, box.parents[: box.count].view(np.uint8).data)
        )


def _expand(work: Work, kernels: Kernels, block: Block, outbox: _Outbox) -> Iterator[tuple[int, bytes]]:
    module, source, constants = kernels.module, kernels.source, work.origin.constants()
    steps, counts = source.step_properties, outbox.counts
    c, checks = kernels.constants(constants), kernels.checks(constants)
    count_bounds(source, checks, work.counting)
    batch, _ = sizes(outbox.layout.dtype, source.most_successors, BATCH, 1)
    worker = Worker.alone(checks, len(work.origin.machine().actions), source.counters, batch)
    ends = np.zeros(2, np.int64)
    buffers = Buffers(outbox.layout.dtype, 1, batch * source.most_successors)
    buffers.starts = np.zeros((1, len(outbox.boxes) + 1), np.int64)  # one array, because partitions cache calls with it
    begin = 0
    for owner, (first, share) in enumerate(zip(block.firsts, block.shares, strict=True)):
        rows = np.ascontiguousarray(block.rows[begin : begin + share])
        begin += share
        found = np.array([UNDECIDED if item.name in work.waiting else -1 for item in steps] or [-1], np.int64)
        worker.found, ends[1] = found, -1
        for start in range(0, share, batch):
            last = min(start + batch, share)
            worker.alive[: last - start] = 0
            count = worker.expand(module, rows, (start, last), c, buffers, number=owner + first * OWNERS)
            module.close(worker.alive, start, last, ends)
            if checks[0]:
                counts.failed, counts.code = rows[start:last].tobytes(), int(checks[0])
                counts.decided = _decided_before(start, steps, found)
                return
            yield from outbox.add(buffers, count)
        if ends[1] >= 0:
            counts.end = _least(counts.end, owner + (first + int(ends[1])) * OWNERS)
        for item, row in zip(steps, found, strict=False):
            if 0 <= row < UNDECIDED:
                counts.found[item.name] = _least(counts.found.get(item.name, -1), owner + (first + int(row)) * OWNERS)
    counts.fired, counts.ends = worker.fired.tolist(), int(ends[0])
    counts.refused = worker.refused[: source.counters].tolist()


def _decided_before(row: int, properties: tuple[Property, ...], found: np.ndarray[Any, Any]) -> tuple[str, ...]:
    return tuple(item.name for item, first in zip(properties, found, strict=False) if 0 <= first < row)


def _least(one: int, other: int) -> int:
    """Return the smaller of two state numbers. -1 means no state."""
    return other if one < 0 else min(one, other)


def receive(work: Work, number: int, blocks: list[bytes]) -> bytes:
    try:
        return pickle.dumps(_receive(work, number, blocks))
    except UsageError as error:
        return pickle.dumps(Received(number, message=str(error)))


def _receive(work: Work, number: int, blocks: list[bytes]) -> Received:
    kernels = work.origin.kernels()
    layout = kernels.layout(work.origin.constants())
    dtype = layout.dtype
    frames = sorted((_FRAME.unpack_from(block), position) for position, block in enumerate(blocks))
    expanded = Expanded()
    rows, parents, senders = [], [], []
    for (kind, sender, count), position in frames:
        body = memoryview(blocks[position])[_FRAME.size :]
        if kind == _COUNTS:
            expanded = pickle.loads(body)  # noqa: S301 (from our own sender)
        else:
            rows.append(np.frombuffer(body, dtype, count))
            parents.append(np.frombuffer(body, np.uint32, count, count * dtype.itemsize))
            senders.append(np.full(count, sender, np.uint64))
    arrived = np.concatenate(rows) if rows else np.zeros(0, dtype)
    store = Store(work.store)
    _own(partition_folders(work.run))
    folder = partition_folders(work.run) / str(os.getppid()) / f"{number:05}"
    with locked(folder):
        mapped = _mapped(work, kernels, store, number, folder)
        firsts = mapped.counts.tolist()
        fresh = mapped.insert(arrived, hash_rows(kernels.module, arrived))
        mapped.close_level(work.level + 1)
        positions = np.concatenate(fresh)
        ancestors = np.zeros(0, np.uint64)
        if rows:
            origin = np.concatenate(senders) << np.uint64(SOURCE_SHIFT) | np.concatenate(parents)
            ancestors = origin[positions]
        answer = Received(number, len(positions), received=len(arrived), expanded=expanded)
        new = [mapped.of(owner, first) for owner, first in enumerate(firsts)]
        _judge(work, kernels, new, firsts, answer)
        block = Block(
            work.level + 1, number, tuple(firsts), tuple(len(item) for item in fresh), np.concatenate(new), ancestors
        )
        answer.block = store.write_block(block)
    return answer


def look(work: Work, asks: Sequence[Ask], number: int) -> Looked:
    states, wanted = asks[number]
    kernels = work.origin.kernels()
    layout, store = kernels.layout(work.origin.constants()), Store(work.store)
    picked: dict[int, tuple[bytes, int]] = {}
    known = np.sort(hash_rows(kernels.module, np.frombuffer(b"".join(wanted), layout.dtype)))
    there, sought = set[bytes](), set(wanted)
    for level in range(work.level, work.base - 1, -1):
        waiting = [
            (place, state) for place, (most, state) in enumerate(states) if most >= level and place not in picked
        ]
        if not waiting and there == sought:
            continue
        block = _block(work, layout, store, level, number)
        for place, state in waiting:
            owner, local = state % OWNERS, state // OWNERS
            if block.firsts[owner] <= local < block.ends[owner]:
                at = block.place(state)
                picked[place] = block.rows[at].tobytes(), int(block.ancestors[at])
        if wanted and len(block.rows):
            hashes = hash_rows(kernels.module, block.rows)
            near = known[np.minimum(np.searchsorted(known, hashes), len(known) - 1)] == hashes
            there |= {row.tobytes() for row in block.rows[near]} & sought
    if len(picked) < len(states):
        raise store.damaged(work.base, number)
    return [picked[place] for place in range(len(states))], [row in there for row in wanted]


def digest(work: Work, names: tuple[str, ...], number: int) -> int:
    kernels, constants = work.origin.kernels(), work.origin.constants()
    layout, store, machine = kernels.layout(constants), Store(work.store), work.origin.machine()
    levels = (_block(work, layout, store, level, number).rows for level in range(work.base, work.level + 1))
    return digest_of(machine, constants, kernels, names, levels, work.origin.normalize)


def _block(work: Work, layout: Layout, store: Store, level: int, number: int) -> Block:
    block = store.read_block(level, number, layout.dtype)
    if level <= work.earlier and not are_states(block.rows, layout, work.origin.constants().values):
        raise store.damaged(level, number)
    return block


def _mapped(work: Work, kernels: Kernels, store: Store, number: int, folder: Path) -> MappedPartition:
    layout = kernels.layout(work.origin.constants())
    mapped = MappedPartition(kernels, layout, folder)
    newest = _block(work, layout, store, work.level, number)
    if mapped.open(work.level, newest.ends):
        return mapped
    mapped.create()
    for level in range(work.base, work.level + 1):
        block = newest if level == work.level else _block(work, layout, store, level, number)
        mapped.put(block.rows, list(block.shares))
    mapped.index()
    mapped.close_level(work.level)
    mapped.mark(dirty=True)
    return mapped


def _judge(work: Work, kernels: Kernels, new: list[np.ndarray[Any, Any]], firsts: list[int], answer: Received) -> None:
    constants = work.origin.constants()
    c, checks = kernels.constants(constants), kernels.checks(constants)
    properties = kernels.source.state_properties
    for owner, rows in enumerate(new):
        found = np.array([UNDECIDED if item.name in work.waiting else -1 for item in properties] or [-1], np.int64)
        kernels.module.judge(checks, rows, 0, len(rows), c, found)
        if checks[0]:
            answer.failed, answer.code = rows[int(checks[1])].tobytes(), int(checks[0])
            answer.decided = _decided_before(int(checks[1]), properties, found)
            return
        for item, row in zip(properties, found, strict=False):
            if 0 <= row < UNDECIDED:
                answer.found[item.name] = _least(
                    answer.found.get(item.name, -1), owner + (firsts[owner] + int(row)) * len(new)
                )


def _own(folder: Path) -> None:
    folder.mkdir(0o700, parents=True, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise UsageError(
            f"other users can write to {folder}: name another scratch folder with `conf='spark.local.dir=FOLDER'`."
        )


def partition_folders(run: str) -> Path:
    named = os.environ.get("LOCAL_DIRS") or os.environ.get("SPARK_LOCAL_DIRS") or tempfile.gettempdir()
    return Path(named.split(",")[0]) / f"fencepost-{run}"
