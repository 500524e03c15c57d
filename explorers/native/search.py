"""Breadth-first search at native speed, partitioned by owner, the same for any number of workers.

Each level is cut into batches of states. A batch is expanded into a buffer and its successors ordered by owner; after a
round of batches every owner inserts its share, in the order of the batches. Rounds have a fixed size, so the order in
which states enter a partition, and with it every number and every trace, is the same on every run.
"""

from __future__ import annotations

import itertools
import resource
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from fencepost.explorers.native.compile import NO_PARENT, Kernels, compiled
from fencepost.explorers.native.store import Buffers, Partition, TooManyStates
from fencepost.explorers.paths import Found, confirm
from fencepost.explorers.verdict import GuardCount, Options, PropertyResult, Result, Verdict
from fencepost.model.language.actions import Kind
from fencepost.model.language.errors import DomainError, MismatchError
from fencepost.model.language.interpreter import Interpreter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fencepost.model.language.actions import Property
    from fencepost.model.language.constants import Constants
    from fencepost.model.language.machine import Machine
    from fencepost.model.language.records import Key

BATCH = 1024
"""States expanded into one buffer: their successors still fit a core's cache when they are inserted."""
WORTH_SHARING = 2048
UNDECIDED = 1 << 62
ROUND = 16
"""Batches expanded before their successors are inserted."""


@dataclass
class Progress:
    """What a search tells while it runs."""

    distinct: int
    generated: int
    depth: int
    frontier: int
    expanded: int
    seconds: float
    levels: list[int]


@dataclass
class Worker:
    """What one worker counts."""

    checks: np.ndarray[Any, Any]
    fired: np.ndarray[Any, Any]
    refused: np.ndarray[Any, Any]
    ends: np.ndarray[Any, Any]
    alive: np.ndarray[Any, Any]


@dataclass
class Position:
    """Where a search stands: all that a checkpoint has to keep beside the partitions."""

    depth: int = 1
    next_round: int = 0
    starts: list[int] = field(default_factory=list)
    """For each owner the number of the first state of the level that is being expanded."""
    ends: list[int] = field(default_factory=list)
    judged: list[int] = field(default_factory=list)
    """For each owner how many states the properties were evaluated on."""
    levels: list[int] = field(default_factory=list)
    fired: list[int] = field(default_factory=list)
    refused: list[int] = field(default_factory=list)
    deadlocks: int = 0
    deadlock: int = -1
    initial: int = 0
    found: dict[str, int] = field(default_factory=dict)
    """For each decided property the state, as owner + number * OWNERS, that decides it; for steps the state before."""
    seconds: float = 0.0


class Search:
    """One exhaustive search of a machine."""

    def __init__(
        self,
        machine: Machine,
        constants: Constants,
        properties: tuple[Property, ...],
        options: Options,
        *,
        kernels: Kernels | None = None,
        tell: Callable[[Progress], None] | None = None,
    ) -> None:
        self.machine, self.constants, self.properties, self.options = machine, constants, properties, options
        self.kernels = kernels or compiled(machine, constants, properties, normalize=options.normalize, compact=options.compact)
        self.tell = tell
        self.module = self.kernels.module
        self.owners = int(self.module.OWNERS)
        self.plain = Interpreter(machine, constants, normalize=options.normalize)
        self.layout = self.kernels.source.layout
        self.c = self.kernels.constants(constants)
        self.partitions = [Partition(self.kernels, compact=options.compact) for _ in range(self.owners)]
        self.position = Position()
        self.stop_asked = ""
        self.workers = options.workers or len(_processors())
        self._workers = [self._worker() for _ in range(self.workers)]
        self._buffers = Buffers(self.kernels, ROUND, BATCH * self.kernels.source.most_successors)
        self._found = np.zeros((ROUND, max(1, len(self.kernels.source.step_properties))), np.int64)

    # -- the search

    def run(self) -> Result:
        """Search until everything is reached, or until a limit; return what was found."""
        began = time.perf_counter()
        if self.options.resume:
            from fencepost.explorers.native.checkpoint import load

            load(self)
        earlier = self.position.seconds
        why = ""
        with ThreadPoolExecutor(self.workers) as pool, _Signals(self):
            self._pool = pool
            if not self.position.levels:
                self._begin()
            try:
                why = self._levels(began)
            except TooManyStates:
                why = "more states than a search on one machine can number"
            self.position.seconds = earlier + time.perf_counter() - began
        if why and self.options.checkpoint:
            from fencepost.explorers.native.checkpoint import save

            save(self)
        return self._result(why)

    def _begin(self) -> None:
        keys = self.plain.initial_states()
        rows = self.layout.encode(keys, self.constants)
        buffers = Buffers(self.kernels, 1, len(rows))
        buffers.rows[0] = rows
        buffers.parents[:] = NO_PARENT
        self.module.hash_rows(buffers.words[0], buffers.hashes[0])
        self.module.order_by_owner(buffers.hashes[0], len(rows), buffers.starts[0], buffers.order[0])
        for owner, part in enumerate(self.partitions):
            part.insert(buffers, 1, owner)
        self.position.initial = len(keys)
        self.position.judged = [0] * self.owners
        self.position.levels = [self.distinct]
        self._open_level()
        self._judge()

    def _levels(self, began: float) -> str:
        """Expand level after level; return why the search stopped, or an empty string."""
        while True:
            if self.options.max_depth is not None and self.position.depth >= self.options.max_depth:
                return f"the depth limit of {self.options.max_depth} was reached"
            why = self._expand_level(began)
            if why:
                return why
            grown = self.distinct - sum(self.position.levels)
            if not grown:
                return ""
            if self.options.stop_on_violation and self._violated():
                self.position.levels.append(grown)
                self.position.depth += 1
                self._open_level()
                return "a property is violated"
            self.position.levels.append(grown)
            self.position.depth += 1
            self._open_level()

    def _open_level(self) -> None:
        position = self.position
        position.starts = position.ends or [0] * self.owners
        position.ends = [part.count for part in self.partitions]
        position.next_round = 0
        for part in self.partitions:
            part.next_level()

    def _expand_level(self, began: float) -> str:
        batches = self._cut()
        rounds = [batches[first : first + ROUND] for first in range(0, len(batches), ROUND)]
        for number in range(self.position.next_round, len(rounds)):
            why = self._limit(time.perf_counter() - began)
            if why:
                self._judge()
                return why
            self._round(rounds[number])
            self.position.next_round = number + 1
            if self.tell is not None:
                self._report(time.perf_counter() - began, (number + 1) / len(rounds))
        self._judge()
        return ""

    def _cut(self) -> list[tuple[int, int, int]]:
        """Return the level as (owner, first, last): small pieces of one owner, in order."""
        found = []
        for owner in range(self.owners):
            first, last = self.position.starts[owner], self.position.ends[owner]
            found += [(owner, start, min(start + BATCH, last)) for start in range(first, last, BATCH)]
        return found

    def _round(self, pieces: list[tuple[int, int, int]]) -> None:
        steps = self.kernels.source.step_properties
        self._found[:] = self._open(steps)
        states = sum(last - first for _, first, last in pieces)
        self._share(list(range(len(pieces))), lambda worker, n: self._expand(worker, n, *pieces[n]), states)
        for (owner, _, _), found in zip(pieces, self._found, strict=False):
            self._note(steps, found, owner, self.partitions[owner].base)
        self._share(
            list(range(self.owners)),
            lambda _, owner: self.partitions[owner].insert(self._buffers, len(pieces), owner),
            states,
        )

    def _expand(self, worker: Worker, batch: int, owner: int, first: int, last: int) -> None:
        part, buffers, found = self.partitions[owner], self._buffers, self._found[batch]
        base = part.base
        worker.ends[1] = -1
        count = self.module.expand(
            worker.checks, part.rows, part.rows.view(np.uint64).reshape(-1, self.layout.words), first - base, last - base,
            owner + base * self.owners, self.c, buffers.rows[batch], buffers.words[batch], buffers.hashes[batch],
            buffers.parents[batch], worker.fired, worker.refused, found, worker.alive, worker.ends,
        )  # fmt: skip
        if worker.checks[0]:
            for row in part.rows[first - base : last - base]:
                self._explain(row)
            self._blame()
        if worker.ends[1] >= 0:
            end = owner + (int(worker.ends[1]) + base) * self.owners
            with self._lock:
                key = (self.position.depth, end % self.owners, end)
                if self.position.deadlock < 0 or key < self._deadlock_key:
                    self.position.deadlock, self._deadlock_key = end, key
        self.module.order_by_owner(buffers.hashes[batch], count, buffers.starts[batch], buffers.order[batch])

    _lock = threading.Lock()
    _deadlock_key: tuple[int, int, int] = (0, 0, 0)

    def _share(self, tasks: list[int], work: Callable[[Worker, int], None], states: int) -> None:
        """Do the tasks with all workers; each takes the next one when it is free. Few states are not worth a switch."""
        if self.workers == 1 or len(tasks) == 1 or states < WORTH_SHARING:
            for task in tasks:
                work(self._workers[0], task)
            return
        queue = iter(tasks)

        def drain(worker: Worker) -> None:
            for task in queue:
                work(worker, task)

        for future in [self._pool.submit(drain, worker) for worker in self._workers]:
            future.result()

    # -- properties

    def _judge(self) -> None:
        """Evaluate the state properties on every state that they have not seen."""
        state_properties = self.kernels.source.state_properties
        results = np.tile(self._open(state_properties), (self.owners, 1))
        bases = [0] * self.owners
        self._share(
            list(range(self.owners)),
            lambda worker, owner: self._judge_owner(worker, owner, results[owner], bases),
            self.distinct - sum(self.position.judged),
        )
        for owner in range(self.owners):
            self._note(state_properties, results[owner], owner, bases[owner])

    def _judge_owner(self, worker: Worker, owner: int, found: np.ndarray[Any, Any], bases: list[int]) -> None:
        part = self.partitions[owner]
        first, last = self.position.judged[owner], part.count
        if first == last:
            return
        rows = part.rows
        if self.options.compact:
            rows, bases[owner] = (part.fresh, part.fresh_base) if first >= part.fresh_base else (part.rows, part.base)
        base = bases[owner]
        self.module.judge(worker.checks, rows, first - base, last - base, self.c, found)
        if worker.checks[0]:
            self._explain(rows[worker.checks[1]])
            self._blame()
        self.position.judged[owner] = last

    def _open(self, properties: tuple[Property, ...]) -> np.ndarray[Any, Any]:
        """Return for each property UNDECIDED, or -1 where no further state can be the first to decide it."""
        return np.array([-1 if item.name in self.position.found else UNDECIDED for item in properties] or [-1], np.int64)

    def _note(self, properties: tuple[Property, ...], found: np.ndarray[Any, Any], owner: int, base: int) -> None:
        """Take over the first states that decide properties; called in the order of owners and numbers."""
        for item, number in zip(properties, found, strict=False):
            if 0 <= number < UNDECIDED and item.name not in self.position.found:
                self.position.found[item.name] = owner + (int(number) + base) * self.owners

    def _violated(self) -> bool:
        bad = {item.name for item in self.properties if item.kind is not Kind.SOMETIMES}
        return bool(bad & set(self.position.found))

    # -- limits

    def _limit(self, seconds: float) -> str:
        options = self.options
        if self.stop_asked:
            return self.stop_asked
        if options.budget is not None and seconds > options.budget:
            return f"the time budget of {options.budget:g} s ran out"
        if options.max_states is not None and self.distinct >= options.max_states:
            return f"the limit of {options.max_states:,} states was reached"
        if options.memory is not None and self.store_bytes + self._slack > options.memory:
            return f"the memory limit of {options.memory / 2**20:,.0f} MiB was reached"
        return ""

    @property
    def _slack(self) -> int:
        """Memory that one more round may add: its buffers, and the largest table while it is copied."""
        return max(3 * part.table.nbytes for part in self.partitions) + ROUND * BATCH * 4 * self.layout.dtype.itemsize

    @property
    def distinct(self) -> int:
        """States reached."""
        return sum(part.count for part in self.partitions)

    @property
    def generated(self) -> int:
        """Initial states plus successors computed, with repetition."""
        return self.position.initial + sum(self._fired())

    @property
    def store_bytes(self) -> int:
        """Memory of all partitions."""
        return sum(part.bytes for part in self.partitions)

    def _fired(self) -> list[int]:
        earlier = self.position.fired or [0] * len(self.machine.actions)
        return [first + sum(int(w.fired[n]) for w in self._workers) for n, first in enumerate(earlier)]

    def _refused(self) -> list[int]:
        earlier = self.position.refused or [0] * len(self.kernels.source.guards)
        return [first + sum(int(w.refused[n]) for w in self._workers) for n, first in enumerate(earlier)]

    def _deadlocks(self) -> int:
        return self.position.deadlocks + sum(int(worker.ends[0]) for worker in self._workers)

    def settle(self) -> Position:
        """Move the workers' counts into the position and return it, for a checkpoint."""
        position = self.position
        position.fired, position.refused, position.deadlocks = self._fired(), self._refused(), self._deadlocks()
        for worker in self._workers:
            worker.fired[:] = 0
            worker.refused[:] = 0
            worker.ends[0] = 0
        return position

    def _report(self, seconds: float, share: float) -> None:
        frontier = self.position.levels[-1]
        assert self.tell is not None
        self.tell(
            Progress(
                self.distinct,
                self.generated,
                self.position.depth,
                frontier,
                int(frontier * share),
                seconds,
                self.position.levels,
            )
        )

    # -- results

    def _explain(self, row: Any) -> None:
        """A check failed natively: let the strict carrier say what is wrong."""
        key = self.layout.decode(row, self.constants)
        for transition in self.plain.transitions(key):
            for prop in self.properties:
                if prop.over_steps:
                    self.plain.holds_step(prop, key, transition)
        for prop in self.properties:
            if not prop.over_steps:
                self.plain.holds(prop, key)

    def _blame(self) -> None:
        raise MismatchError(
            f"the native engine found a value out of its domain in protocol {self.machine.name!r}, the plain carrier did not. "
            "This is a defect of Fencepost: please report it with the model."
        )

    def _result(self, why: str) -> Result:
        complete = not why
        deadlock = None
        if self.options.deadlock and self.position.deadlock >= 0:
            deadlock = confirm(self.plain, self.trail(self.position.deadlock), Found(None))
        levels = list(self.position.levels)
        fired = self._fired()
        limits = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        return Result(
            protocol=self.machine.name,
            constants=self.constants.shown(),
            engine="native",
            workers=self.workers,
            complete=complete,
            why_stopped=why,
            distinct=self.distinct,
            generated=self.generated,
            depth=self.position.depth if complete or not self._partial() else self.position.depth + 1,
            seconds=self.position.seconds,
            properties=tuple(self._property_result(item, complete=complete) for item in self.properties),
            fired={item.label: count for item, count in zip(self.machine.actions, fired, strict=True)},
            guards=tuple(
                GuardCount(action.replace("_", "-"), text, count)
                for (action, text), count in zip(self.kernels.source.guards, self._refused(), strict=True)
            ),
            deadlocks=self._deadlocks(),
            deadlock=deadlock,
            store_bytes=self.store_bytes,
            peak_memory_bytes=limits,
            compile_seconds=self.kernels.seconds,
            levels=tuple(levels),
            omission=min(1.0, self.distinct**2 / 2.0**65) if self.options.compact else 0.0,
        )

    def _partial(self) -> bool:
        return self.distinct > sum(self.position.levels)

    def _property_result(self, item: Property, *, complete: bool) -> PropertyResult:
        state = self.position.found.get(item.name)
        if state is None:
            if item.kind is Kind.SOMETIMES:
                return PropertyResult(item.name, item.kind, Verdict.UNREACHED if complete else Verdict.UNDETERMINED)
            return PropertyResult(item.name, item.kind, Verdict.HOLDS if complete else Verdict.UNDETERMINED)
        path = confirm(self.plain, self.trail(state), Found(item))
        verdict = Verdict.HOLDS if item.kind is Kind.SOMETIMES else Verdict.VIOLATED
        return PropertyResult(item.name, item.kind, verdict, path)

    def trail(self, state: int) -> Iterator[Callable[[Key], bool]]:
        """Return, from the initial state on, how to recognise each state on the way to `state`."""
        chain: list[int] = []
        while state != NO_PARENT:
            chain.append(state)
            state = int(self.partitions[state % self.owners].parents[state // self.owners])
        return (self._recogniser(item) for item in reversed(chain))

    def _recogniser(self, state: int) -> Callable[[Key], bool]:
        owner, number = state % self.owners, state // self.owners
        part = self.partitions[owner]
        if not self.options.compact:
            key = self.layout.decode(part.rows[number], self.constants)
            return lambda candidate: candidate == key
        wanted = part.hashes[number]
        return lambda candidate: bool(self.hash_of(candidate) == wanted)

    def hash_of(self, key: Key) -> Any:
        """Return the fingerprint of a state."""
        row = self.layout.encode([key], self.constants)
        hashes = np.empty(1, np.uint64)
        self.module.hash_rows(row.view(np.uint64).reshape(1, -1), hashes)
        return hashes[0]

    # -- buffers

    def _worker(self) -> Worker:
        guards = max(1, len(self.kernels.source.guards))
        return Worker(
            self.kernels.checks(self.constants),
            np.zeros(len(self.machine.actions), np.int64),
            np.zeros(guards, np.int64),
            np.zeros(2, np.int64),
            np.zeros(BATCH, np.uint8),
        )


class _Signals:
    """While a search runs, SIGINT and SIGTERM ask it to stop after the round; a second one ends it at once."""

    def __init__(self, search: Search) -> None:
        self.search = search
        self.earlier: dict[int, Any] = {}

    def __enter__(self) -> None:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self.earlier[number] = signal.signal(number, self.ask)

    def __exit__(self, *error: object) -> None:
        for number, handler in self.earlier.items():
            signal.signal(number, handler)

    def ask(self, number: int, frame: object) -> None:
        """Ask the search to stop."""
        del frame
        if self.search.stop_asked:
            raise KeyboardInterrupt
        self.search.stop_asked = f"{signal.Signals(number).name} was received"


def _processors() -> range:
    import os

    affinity = getattr(os, "sched_getaffinity", None)
    return range(len(affinity(0)) if affinity else os.cpu_count() or 1)


def search(
    machine: Machine,
    constants: Constants,
    properties: tuple[Property, ...] = (),
    options: Options | None = None,
    *,
    kernels: Kernels | None = None,
    tell: Callable[[Progress], None] | None = None,
) -> Result:
    """Explore every reachable state of a machine and judge the properties."""
    return Search(machine, constants, properties, options or Options(), kernels=kernels, tell=tell).run()


__all__ = ["DomainError", "Search", "itertools", "search"]
