"""The states of a search, and the workers that expand, insert and check states in compiled code.

Each level is split into batches of states. Each batch is expanded into a buffer, and the successors in the buffer are
sorted by owner. After a round of batches, every owner inserts its successors in batch order. The number of batches per
round is fixed, so states enter a partition in the same order on every run, and numbers and traces are reproducible.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import Any, NamedTuple, Self

import numpy as np
from fencepost.explorers.native.blame import blame, explain
from fencepost.explorers.native.compile import NO_PARENT, Kernels, Run, Source
from fencepost.explorers.native.kernels import DEAD, END, FIRST, LAST, NUMBER, PIECE, ROWS
from fencepost.explorers.native.keys import OPENED, TOGETHER, Trees
from fencepost.explorers.native.llvm.libraries import address_of
from fencepost.explorers.native.lower.shape import ERROR, STATE
from fencepost.explorers.native.nodes import LINES, TREE
from fencepost.explorers.native.packed import BASE, EXPANDED, FACTS, KNOWN, OWNERS, STORED
from fencepost.explorers.native.store import BATCH, ROUND, Buffers, Partition, Position, Progress, TooManyStates, sizes
from fencepost.explorers.paths import with_late_faults
from fencepost.explorers.verdict import ENOUGH, Options
from fencepost.model.language.actions import Property
from fencepost.model.language.constants import Constants
from fencepost.model.language.errors import MismatchError
from fencepost.model.language.interpreter import Interpreter, Path
from fencepost.model.language.machine import Machine
from fencepost.model.language.records import Key
from fencepost.model.language.symmetry import Symmetry

UNDECIDED = 1 << 62
LARGE = 1 << 23
"""Number of states above which a search stores keys instead of rows, which are faster but larger."""
WORTH_SHARING = 2048
"""Minimum number of states to share among several workers, because waking another worker takes time."""


@dataclass
class Worker:
    checks: np.ndarray[Any, Any]
    fired: np.ndarray[Any, Any]
    refused: np.ndarray[Any, Any]
    alive: np.ndarray[Any, Any]
    place: np.ndarray[Any, Any]
    queue: np.ndarray[Any, Any]
    found: np.ndarray[Any, Any]
    """The row that decides each step property, or -1 if the property is not checked."""
    opened: np.ndarray[Any, Any] | None = None

    @classmethod
    def alone(cls, checks: np.ndarray[Any, Any], actions: int, counters: int, batch: int) -> Self:
        fired, refused, nothing = (np.zeros(size, np.int64) for size in (actions, max(1, counters), 1))
        return cls(checks, fired, refused, np.zeros(batch, np.uint8), nothing, nothing, nothing - 1)

    def expand(
        self, module: Any, rows: np.ndarray[Any, Any], piece: tuple[int, int], c: Any, buffers: Buffers, *,
        batch: int = 0, number: int = 0, codes: tuple[np.ndarray[Any, Any], ...] = (),
    ) -> int:  # fmt: skip
        """Write the successors of rows `piece[0]` to `piece[1] - 1` into a batch of the buffers; return how many.

        `number` is the parent number of row 0; it increases by OWNERS from row to row. If the module numbers steps,
        `codes` has room for each step's number.
        """
        return int(
            module.expand(
                self.checks, rows, *piece, number, c, buffers.rows[batch], buffers.hashes[batch],
                buffers.parents[batch], *codes, 0, self.fired, self.refused, self.found, self.alive,
            )
        )  # fmt: skip


class WorkerPool:
    def __init__(self, workers: list[Worker]) -> None:
        self.workers = workers
        self.resting = 0
        """Number of workers that currently take no tasks: the last ones in the list."""
        self._threads: list[Thread] = []
        self._asked: list[SimpleQueue[Callable[[], None] | None]] = [SimpleQueue() for _ in workers[1:]]
        self._ended: SimpleQueue[BaseException | None] = SimpleQueue()

    def __enter__(self) -> Self:
        self._threads = [Thread(target=_serve, args=(asked, self._ended), daemon=True) for asked in self._asked]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        for asked in self._asked:
            asked.put(None)
        for thread in self._threads:
            thread.join()
        self._threads = []

    def share(self, tasks: int, work: Callable[[Worker, int], None], states: int) -> None:
        """Run tasks 0 to tasks - 1, each on a free worker. If several tasks fail, the error of the first is raised."""
        queue = iter(range(tasks))
        failed: dict[int, Exception] = {}

        def drain(worker: Worker) -> None:
            while not failed:
                task = next(queue, None)
                if task is None:
                    return
                try:
                    work(worker, task)
                except Exception as error:  # noqa: BLE001 (raised below)
                    failed[task] = error

        self.each(drain, states if tasks > 1 else 0)
        if failed:
            raise failed[min(failed)]

    def each(self, work: Callable[[Worker], None], states: int) -> None:
        """Run `work` on every worker, or on a single worker if there are few states."""
        taking = self.workers[: len(self.workers) - self.resting]
        if not self._threads or states < WORTH_SHARING:
            taking = taking[:1]
        for asked, worker in zip(self._asked, taking[1:], strict=False):
            asked.put(partial(work, worker))
        try:
            work(taking[0])
        finally:
            errors = [self._ended.get() for _ in taking[1:]]
        for error in errors:
            if error is not None:
                raise error


def _serve(asked: SimpleQueue[Callable[[], None] | None], ended: SimpleQueue[BaseException | None]) -> None:
    """Run the requested work in order. A queue wakes a thread faster than an executor's futures do."""
    while (work := asked.get()) is not None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 (raised by who asked)
            ended.put(error)
        else:
            ended.put(None)


def processors() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


class Calls(NamedTuple):
    module: Any
    trees: Trees | None
    expand: Callable[[], int]
    insert: Callable[[], int]


class Expansion:
    large = LARGE

    def __init__(
        self,
        machine: Machine,
        constants: Constants,
        properties: tuple[Property, ...],
        options: Options,
        kernels: Kernels,
        run: Run,
    ) -> None:
        self.machine, self.constants, self.properties, self.options = machine, constants, properties, options
        self.kernels, self.module = kernels, kernels.module
        self.layout, self.c, self._checks = run
        self.owners = OWNERS
        symmetry = Symmetry(machine, constants) if options.symmetry else None
        self.plain = Interpreter(machine, constants, normalize=options.normalize, symmetry=symmetry)
        self.facts = np.zeros((OWNERS, FACTS), np.int64)
        kept = partial(Partition, kernels, self.layout.dtype, compact=options.compact, spill=options.spill)
        self.partitions = [kept(facts=facts, owner=owner) for owner, facts in enumerate(self.facts)]
        self.trees: Trees | None = None
        self.position = Position()
        self.before_judging: tuple[list[int], dict[str, int]] | None = None
        """Decisions from before the level in which a search was stopped. A resumed search checks that level again."""
        self.workers = options.workers or processors()
        most = kernels.source.most_successors
        self.batch, self.batches = sizes(self.layout.dtype, most, BATCH, ROUND)
        """Number of states per batch, and number of batches per round."""
        self._buffers = Buffers(self.layout.dtype, self.batches, self.batch * most)
        self.pool = WorkerPool([self._worker() for _ in range(self.workers)])
        self.tasks = np.zeros(2, np.int64)
        """Index of the next shared task, and the number of tasks. Workers increment the index in compiled code."""
        self._pieces = np.zeros((self.batches, PIECE), np.int64)
        self._calls: dict[int, Calls] = {}
        self.fatal = self.watched = np.array([ERROR], np.int64)
        """Indices in the check array. A failed watched check stops the expansion; a failed fatal check is an error."""
        self._found = np.zeros((self.batches, max(1, len(kernels.source.step_properties))), np.int64)

    # -- states

    def begin(self) -> None:
        keys = self.plain.initial_states()
        rows = self.layout.encode(keys)
        buffers = Buffers(self.layout.dtype, 1, len(rows))
        buffers.rows[0] = rows
        buffers.parents[:] = NO_PARENT
        self.module.hash_rows(buffers.words[0], buffers.hashes[0])
        self.module.order_by_owner(buffers.hashes[0], len(rows), buffers.starts[0], buffers.order[0])
        for owner, part in enumerate(self.partitions):
            insert(part, buffers, 1, owner)
        self.position.initial = len(keys)
        self.position.judged = [0] * self.owners
        self.position.levels = [self.distinct]

    def open_level(self) -> None:
        position = self.position
        position.starts = position.ends or [0] * self.owners
        position.ends = [part.count for part in self.partitions]
        position.next_round = 0
        trees = None if self.trees else self.new_trees(self.distinct)
        for owner, part in enumerate(self.partitions):
            if trees is None:
                part.next_level()
            else:
                self.pack(trees, owner)
        if trees is not None:
            self.use(trees)
        self.count_bounds(still_counted(self.kernels.source, self.refused()))

    def new_trees(self, states: int) -> Trees | None:
        large = states >= self.large and not self.options.compact and self.layout.words > 1
        return Trees(self.module, self.layout.words) if large else None

    def pack(self, trees: Trees, owner: int) -> None:
        self.partitions[owner].pack(trees, self.position.starts[owner], self.position.ends[owner])

    def use(self, trees: Trees) -> None:
        self.trees = trees

        def fit(_: Worker, owner: int) -> None:
            keys = self.partitions[owner].keys
            assert keys is not None
            keys.fit()

        self.pool.share(self.owners, fit, self.distinct)

    def count_bounds(self, bounds: int) -> None:
        self.position.counting = bounds
        for worker in self.pool.workers:
            count_bounds(self.kernels.source, worker.checks, bounds)

    def change_to(self, kernels: Kernels) -> None:
        """Switch to other code that uses the same rows. The caller must ensure that no kernel is running."""
        if kernels.source is not self.kernels.source:
            self._checks = kernels.checks(self.constants)
            for worker in self.pool.workers:
                worker.checks = self._checks.copy()
                count_bounds(kernels.source, worker.checks, self.position.counting)
        self.kernels, self.module = kernels, kernels.module

    def rounds(self) -> list[np.ndarray[Any, Any]]:
        """Return the level's batches as rows of `PIECE` numbers, grouped into rounds."""
        found = []
        for owner, (first, last) in enumerate(zip(self.position.starts, self.position.ends, strict=True)):
            base = self.partitions[owner].base
            found += [
                (0, start, min(start + self.batch, last - base), owner + base * self.owners, 0, -1)
                for start in range(first - base, last - base, self.batch)
            ]
        pieces = np.array(found, np.int64).reshape(-1, PIECE)
        return [pieces[first : first + self.batches] for first in range(0, len(pieces), self.batches)]

    def round(self, pieces: np.ndarray[Any, Any]) -> None:
        before = replace(self.settle())
        steps = self.kernels.source.step_properties
        waiting = self._open(steps)
        self._found[:] = waiting
        owners = pieces[:, NUMBER] % self.owners
        self._pieces[: len(pieces)] = pieces
        pieces = self._pieces[: len(pieces)]
        pieces[:, ROWS] = self.facts[owners, EXPANDED]
        states = int(pieces[:, LAST].sum() - pieces[:, FIRST].sum())
        failed: list[tuple[int, Worker]] = []
        self.tasks[1] = len(pieces)
        self._share(lambda worker: self._expand(worker, failed), states if len(pieces) > 1 else 0)
        if failed:
            number, worker = min(failed, key=lambda item: item[0])
            self._blame(worker, pieces[number])
        if pieces[:, DEAD].any():
            self._take_ends(pieces)
        for piece in np.flatnonzero((self._found[: len(pieces)] != waiting).any(axis=1)).tolist():
            owner = int(owners[piece])
            self._note(steps, self._found[piece], owner, self.partitions[owner].base)
        if self.trees is not None:
            self._add_nodes(self.trees, len(pieces))
        try:
            self._share(lambda worker: self._insert(worker, len(pieces)), states)
        except TooManyStates:  # whoever continues the search repeats this round
            now = self.settle()
            for name in ("fired", "refused", "deadlock", "deadlocks"):
                setattr(now, name, getattr(before, name))
            raise

    def _add_nodes(self, trees: Trees, batches: int) -> None:
        buffers, before = self._buffers, trees.bits
        for words, keys, starts in zip(buffers.words[:batches], buffers.hashes, buffers.starts, strict=False):
            count = int(starts[-1])
            trees.add(words[:count], keys[:count])
        if trees.bits != before:
            self.use(trees)

    def _share(self, work: Callable[[Worker], None], states: int) -> None:
        self.tasks[0] = 0
        self.pool.each(work, states)

    def _call(self, worker: Worker) -> Calls:
        """Return a worker's kernel calls, cached because creating them takes longer than expanding a small level."""
        made = self._calls.get(id(worker))
        if made is None or made.module is not self.module or made.trees is not self.trees:
            module, buffers = self.module, self._buffers
            words, hashes, *others = buffers.flat()
            if self.trees is not None:
                words = hashes.reshape(-1, 1)
            expand = module.expand_pieces.bound(
                module.expand, worker.checks, self._pieces, self.c,
                buffers.words, buffers.hashes, buffers.parents, buffers.order, buffers.starts,
                worker.fired, worker.refused, self._found, worker.alive, self.tasks, self.watched,
                *(room := self._room(worker)), np.empty((len(room[1]) + LINES, TOGETHER), np.int64),
            )  # fmt: skip
            keyed = self.options.compact or self.trees is not None
            insert = module.insert.bound(
                words, hashes, *others, self.facts, 0, worker.place, self.tasks, worker.queue, keyed
            )
            made = self._calls[id(worker)] = Calls(module, self.trees, expand, insert)
        return made

    def _room(self, worker: Worker) -> tuple[Any, ...]:
        if self.trees is None:
            return np.empty((0, TREE), np.int64), np.empty((0, 3), np.int64), 0, np.empty((0, 0), np.uint64)
        if worker.opened is None:
            worker.opened = np.empty((OPENED, self.layout.words), np.uint64)
        return self.trees.facts, self.trees.steps, address_of(worker.opened), self.trees.room()

    def _expand(self, worker: Worker, failed: list[tuple[int, Worker]]) -> None:
        """Expand batches until all are taken or one fails. If one fails, all batches before it have been taken."""
        expand = self._call(worker).expand
        while True:
            number = expand()
            if number < 0:
                return
            if worker.checks[self.fatal].any():
                failed.append((number, worker))
                return
            self._expanded(worker, int(self._pieces[number, NUMBER]) % self.owners)

    def _expanded(self, worker: Worker, owner: int) -> None:
        """Handle a failed check (a nonzero `watched` position) after a batch of an owner's states."""

    def _blame(self, worker: Worker, piece: np.ndarray[Any, Any]) -> None:
        first = int(piece[NUMBER])
        begin = int(piece[FIRST])
        part = self.partitions[first % self.owners]
        rows = (part.row(part.base + at) for at in range(begin, int(piece[LAST])))
        explain(self, rows, self.position.found, lambda at: self.way_to(first + (begin + at) * self.owners))
        blame(self, int(next(code for code in worker.checks[self.fatal] if code)))

    def _take_ends(self, pieces: np.ndarray[Any, Any]) -> None:
        self.position.deadlocks += int(pieces[:, DEAD].sum())
        if self.position.deadlock < 0:
            first = pieces[np.flatnonzero(pieces[:, DEAD])[0]]
            self.position.deadlock = int(first[NUMBER] + first[END] * self.owners)

    def _insert(self, worker: Worker, batches: int) -> None:
        insert = self._call(worker).insert
        worker.place[:] = -1, batches
        while (owner := insert()) >= 0:
            self.partitions[owner].make_room()

    # -- properties

    def judge(self) -> None:
        state_properties = self.kernels.source.state_properties
        waiting = self._open(state_properties)
        results = np.tile(waiting, (self.owners, 1))
        lines, facts = np.zeros((self.owners, PIECE), np.int64), self.facts
        first, last = np.array(self.position.judged), facts[:, KNOWN]
        fresh = first >= facts[:, BASE]
        bases = np.where(fresh, facts[:, BASE], [part.base for part in self.partitions])
        lines[:, ROWS] = np.where(fresh, facts[:, STORED], facts[:, EXPANDED])
        lines[:, FIRST], lines[:, LAST] = first - bases, last - bases
        failed: list[tuple[int, Worker]] = []
        self._share(lambda worker: self._judge_owners(worker, lines, results, failed), int((last - first).sum()))
        if failed:
            owner, worker = min(failed, key=lambda item: item[0])
            at, base, part = int(worker.checks[STATE]), int(bases[owner]), self.partitions[owner]
            before = {item.name for item, row in zip(state_properties, results[owner], strict=False) if 0 <= row < at}
            decided = before | set(self.position.found)
            explain(self, [part.row(at + base)], decided, lambda _: self.way_to(owner + (at + base) * self.owners))
            blame(self, int(worker.checks[ERROR]))
        self.position.judged = last.tolist()
        for owner in np.flatnonzero((results != waiting).any(axis=1)).tolist():
            self._note(state_properties, results[owner], owner, int(bases[owner]))

    def _judge_owners(
        self, worker: Worker, lines: np.ndarray[Any, Any], found: np.ndarray[Any, Any], failed: list[tuple[int, Worker]]
    ) -> None:
        number = self.module.judge_pieces(
            self.module.judge, worker.checks, lines, self.c, found, self.tasks, *self._room(worker)
        )
        if number >= 0:
            failed.append((number, worker))

    def _open(self, properties: tuple[Property, ...]) -> np.ndarray[Any, Any]:
        waiting = {item.name for item in self.properties} - set(self.position.found)
        return np.array([UNDECIDED if item.name in waiting else -1 for item in properties] or [-1], np.int64)

    def _note(self, properties: tuple[Property, ...], found: np.ndarray[Any, Any], owner: int, base: int) -> None:
        """Record the first states that decide properties. Calls must be ordered by owner and state number."""
        for item, number in zip(properties, found, strict=False):
            if 0 <= number < UNDECIDED and item.name not in self.position.found:
                self.position.found[item.name] = owner + (int(number) + base) * self.owners

    # -- histories

    def trail(self, state: int) -> list[Any]:
        chain: list[int] = []
        while state != NO_PARENT:
            chain.append(state)
            if len(chain) > self.position.depth + 1:
                raise MismatchError("the parents of a state form a cycle.")
            state = int(self.partitions[state % self.owners].parents[state // self.owners])
        places = [(self.partitions[item % self.owners], item // self.owners) for item in reversed(chain)]
        if self.options.compact:
            return [part.all_hashes()[number] for part, number in places]
        return [self.layout.decode(part.row(number)) for part, number in places]

    @property
    def seen(self) -> Callable[[Key], object] | None:
        return self._fingerprint if self.options.compact else None

    def _fingerprint(self, key: Key) -> Any:
        return hash_rows(self.module, self.layout.encode([key]))[0]

    def way_to(self, state: int, prop: Property | None = None) -> Path:
        path = self.plain.retrace(self.trail(state), self.seen)
        return path if prop is None else with_late_faults(self.plain.exact, self.plain.decided(path, prop), prop)

    # -- counts

    @property
    def slack(self) -> int:
        """Return how much memory another round may need for its buffers and for a copy of the largest table."""
        return max(3 * part.table_bytes for part in self.partitions) + ROUND * BATCH * 4 * self.layout.dtype.itemsize

    @property
    def distinct(self) -> int:
        return int(self.facts[:, KNOWN].sum())

    @property
    def generated(self) -> int:
        return self.position.initial + sum(self.fired())

    @property
    def store_bytes(self) -> int:
        return sum(part.bytes for part in self.partitions) + (self.trees.bytes if self.trees else 0)

    @property
    def spilled_bytes(self) -> int:
        return sum(part.spilled_bytes for part in self.partitions)

    def fired(self) -> list[int]:
        return _added(self.position.fired, [worker.fired for worker in self.pool.workers], len(self.machine.actions))

    def refused(self) -> list[int]:
        """Return how often each guard was the first to refuse a step, followed by the counters for bounds."""
        counters = self.kernels.source.counters
        return _added(self.position.refused, [worker.refused for worker in self.pool.workers], counters)

    def deadlocks(self) -> int:
        return self.position.deadlocks

    def settle(self) -> Position:
        position = self.position
        position.fired, position.refused = self.fired(), self.refused()
        for worker in self.pool.workers:
            worker.fired[:] = 0
            worker.refused[:] = 0
        return position

    def progress(self, seconds: float, share: float) -> Progress:
        frontier, levels = self.position.levels[-1], self.position.levels
        expanded = int(frontier * share)
        return Progress(self.distinct, self.generated, self.position.depth, frontier, expanded, seconds, levels)

    def _worker(self) -> Worker:
        source = self.kernels.source
        worker = Worker.alone(self._checks.copy(), len(self.machine.actions), source.counters, self.batch)
        worker.place, worker.queue = np.zeros(2, np.int64), self._buffers.new_queue()
        worker.found = np.full(max(1, len(source.step_properties)), -1, np.int64)
        return worker


def _added(earlier: list[int], now: list[np.ndarray[Any, Any]], size: int) -> list[int]:
    total = sum(now[1:], now[0])[:size]
    counts: list[int] = (total + earlier if earlier else total).tolist()
    return counts


def hash_rows(module: Any, rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    hashes = np.empty(len(rows), np.uint64)
    if len(rows):
        module.hash_rows(np.ascontiguousarray(rows).view(np.uint64).reshape(len(rows), -1), hashes)
    return hashes


def insert(part: Partition, buffers: Buffers, batches: int, owner: int) -> None:
    arrays, parts = buffers.flat(), part.facts.reshape(1, FACTS)
    place, shared = np.array([owner, batches]), np.ones(1, np.int64)
    while part.kernels.module.insert(*arrays, parts, owner, place, shared, buffers.queue, part.compact) >= 0:
        part.make_room()


def still_counted(source: Source, counters: Sequence[int]) -> int:
    states = counters[len(source.guards) : len(source.guards) + len(source.bounds)]
    return sum(1 << place for place, count in enumerate(states) if count < ENOUGH)


def count_bounds(source: Source, checks: np.ndarray[Any, Any], bounds: int) -> None:
    """Choose the bounds to count. The array of refusals needs room for `source.counters`."""
    if source.counting is not None:
        checks[source.counting] = bounds
