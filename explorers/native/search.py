"""Breadth-first search at native speed, partitioned by owner, the same for any number of workers.

Each level is cut into batches of states. A batch is expanded into a buffer and its successors ordered by owner; after a
round of batches every owner inserts its share, in the order of the batches. Rounds have a fixed size, so the order in
which states enter a partition, and with it every number and every trace, is the same on every run.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np
from fencepost.explorers.interrupts import Signals
from fencepost.explorers.native.compile import NO_PARENT, Kernels, count_bounds, still_counted
from fencepost.explorers.native.generate import generate
from fencepost.explorers.native.kernels import OWNERS
from fencepost.explorers.native.outcome import blame, explain, result_of, way_to
from fencepost.explorers.native.store import BATCH, ROUND, Buffers, Partition, Position, Progress, TooManyStates
from fencepost.explorers.native.tiers import Tiers, begin
from fencepost.explorers.native.worker_pool import Worker, WorkerPool, processors
from fencepost.explorers.verdict import VIOLATED, Options, Result, deep_enough, enough_states, out_of_memory, out_of_time
from fencepost.model.language.actions import Kind
from fencepost.model.language.errors import MismatchError, UsageError
from fencepost.model.language.interpreter import Interpreter

if TYPE_CHECKING:
    from collections.abc import Callable

    from fencepost.explorers.verdict import Compiled
    from fencepost.model.language.actions import Property
    from fencepost.model.language.constants import Constants
    from fencepost.model.language.machine import Machine

UNDECIDED = 1 << 62


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
        self.kernels = kernels or begin(generate(machine, constants, properties, normalize=options.normalize))
        self.kernels.must_judge(properties)
        self.tell = tell
        self.module = self.kernels.module
        self.tiers = Tiers(self.kernels)
        self.owners = OWNERS
        self.plain = Interpreter(machine, constants, normalize=options.normalize)
        self.layout = self.kernels.layout(constants)
        self.c = self.kernels.constants(constants)
        self.partitions = [Partition(self.kernels, self.layout.dtype, compact=options.compact) for _ in range(self.owners)]
        self.position = Position()
        self.before_judging: tuple[list[int], dict[str, int]] | None = None
        """What was judged before a search was stopped inside a level: a resumed one judges the level as a whole."""
        self.stop_asked = ""
        self.pause_at: int | None = None
        """States in a level at which the search pauses before it is expanded, for another engine to go on; None: never."""
        self.paused = False
        self.workers = options.workers or processors()
        self.pool = WorkerPool([self._worker() for _ in range(self.workers)])
        self._buffers = Buffers(self.layout.dtype, ROUND, BATCH * self.kernels.source.most_successors)
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
        with self.pool, Signals(self._ask):
            if self.position.levels:
                self._count_bounds(self.position.counting)
            else:
                self._begin()
            try:
                why = self._levels(began)
            except TooManyStates:
                why = "more states than a search on one machine can number"
            self.position.seconds = earlier + time.perf_counter() - began
        if why and self.options.checkpoint:
            from fencepost.explorers.native.checkpoint import save

            save(self)
        try:
            return result_of(self, why)
        except MismatchError as error:
            if not self.options.resume:
                raise
            raise UsageError(
                f"the checkpoint in {self.options.checkpoint} holds what no search of this model finds: {error} "
                "Start afresh without --resume."
            ) from error

    def _begin(self) -> None:
        keys = self.plain.initial_states()
        rows = self.layout.encode(keys, self.constants)
        buffers = Buffers(self.layout.dtype, 1, len(rows))
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
            if self.options.stop_on_violation and self._violated():
                return VIOLATED
            if self.options.max_depth is not None and self.position.depth >= self.options.max_depth:
                return deep_enough(self.options.max_depth)
            if self.pause_at is not None and self.position.levels[-1] >= self.pause_at:
                self.paused = True
                return f"a level has {self.position.levels[-1]:,} states"
            why = self._expand_level(began)
            if why:
                return why
            grown = self.distinct - sum(self.position.levels)
            if not grown:
                return ""
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
        self._count_bounds(still_counted(self.kernels.source, self.refused()))

    def _count_bounds(self, bounds: int) -> None:
        self.position.counting = bounds
        for worker in self.pool.workers:
            count_bounds(self.kernels.source, worker.checks, bounds)

    def _expand_level(self, began: float) -> str:
        batches = self._cut()
        rounds = [batches[first : first + ROUND] for first in range(0, len(batches), ROUND)]
        for number in range(self.position.next_round, len(rounds)):
            why = self._limit(time.perf_counter() - began)
            if why:
                self.before_judging = (list(self.position.judged), dict(self.position.found))
                self._judge()
                return why
            self._change_over()
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

    def _change_over(self) -> None:
        """Go on with optimized code, if it is there by now; while it is made, one worker makes room for that."""
        self.kernels = self.tiers.after(self.position.levels)
        self.module = self.kernels.module
        self.pool.resting = int(self.tiers.waits and 1 < self.workers >= processors())

    def _round(self, pieces: list[tuple[int, int, int]]) -> None:
        steps = self.kernels.source.step_properties
        self._found[:] = self._open(steps)
        states = sum(last - first for _, first, last in pieces)
        self.pool.share(len(pieces), lambda worker, n: self._expand(worker, n, *pieces[n]), states)
        for (owner, _, _), found in zip(pieces, self._found, strict=False):
            self._note(steps, found, owner, self.partitions[owner].base)
        self.pool.share(
            self.owners,
            lambda _, owner: self.partitions[owner].insert(self._buffers, len(pieces), owner),
            states,
        )

    def _expand(self, worker: Worker, batch: int, owner: int, first: int, last: int) -> None:
        part, buffers, found = self.partitions[owner], self._buffers, self._found[batch]
        base = part.base
        worker.ends[1] = -1
        worker.alive[: last - first] = 0
        count = self.module.expand(
            worker.checks, part.rows, first - base, last - base, owner + base * self.owners, self.c,
            buffers.rows[batch], buffers.hashes[batch], buffers.parents[batch], 0,
            worker.fired, worker.refused, found, worker.alive,
        )  # fmt: skip
        self.module.close(worker.alive, first - base, last - base, worker.ends)
        if worker.checks[0]:
            for at in range(first, last):
                explain(self, part.rows[at - base], lambda at=at: way_to(self, owner + at * self.owners))  # type: ignore[misc]
            blame(self, int(worker.checks[0]))
        if worker.ends[1] >= 0:
            end = owner + (int(worker.ends[1]) + base) * self.owners
            with self._lock:
                key = (self.position.depth, end % self.owners, end)
                if self.position.deadlock < 0 or key < self._deadlock_key:
                    self.position.deadlock, self._deadlock_key = end, key
        self.module.order_by_owner(buffers.hashes[batch], count, buffers.starts[batch], buffers.order[batch])

    _lock = threading.Lock()
    _deadlock_key: tuple[int, int, int] = (0, 0, 0)

    # -- properties

    def _judge(self) -> None:
        """Evaluate the state properties on every state that they have not seen."""
        state_properties = self.kernels.source.state_properties
        results = np.tile(self._open(state_properties), (self.owners, 1))
        bases = [0] * self.owners
        self.pool.share(
            self.owners,
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
            at = int(worker.checks[1])
            explain(self, rows[at], lambda: way_to(self, owner + (at + base) * self.owners))
            blame(self, int(worker.checks[0]))
        self.position.judged[owner] = last

    def _open(self, properties: tuple[Property, ...]) -> np.ndarray[Any, Any]:
        """Return for each property UNDECIDED, or -1 where it is not asked for or no further state can decide it first."""
        waiting = {item.name for item in self.properties} - set(self.position.found)
        return np.array([UNDECIDED if item.name in waiting else -1 for item in properties] or [-1], np.int64)

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
            return out_of_time(options.budget)
        if options.max_states is not None and self.distinct >= options.max_states:
            return enough_states(options.max_states)
        if options.memory is not None and self.store_bytes + self._slack > options.memory:
            return out_of_memory(options.memory)
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
        return self.position.initial + sum(self.fired())

    @property
    def compiled(self) -> tuple[Compiled, ...]:
        """The code that was used, in this order."""
        return tuple(item.compiled for item in self.tiers.used)

    @property
    def store_bytes(self) -> int:
        """Memory of all partitions."""
        return sum(part.bytes for part in self.partitions)

    def fired(self) -> list[int]:
        """How often each action happened."""
        earlier = self.position.fired or [0] * len(self.machine.actions)
        return [first + sum(int(w.fired[n]) for w in self.pool.workers) for n, first in enumerate(earlier)]

    def refused(self) -> list[int]:
        """How often each guard refused first; then what was counted of bounds."""
        earlier = self.position.refused or [0] * self.kernels.source.counters
        return [first + sum(int(w.refused[n]) for w in self.pool.workers) for n, first in enumerate(earlier)]

    def deadlocks(self) -> int:
        """States without a successor."""
        return self.position.deadlocks + sum(int(worker.ends[0]) for worker in self.pool.workers)

    def settle(self) -> Position:
        """Move the workers' counts into the position and return it, for a checkpoint."""
        position = self.position
        position.fired, position.refused, position.deadlocks = self.fired(), self.refused(), self.deadlocks()
        for worker in self.pool.workers:
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

    def _ask(self, why: str) -> bool:
        """Ask to stop after the round; return whether this is the first time."""
        first = not self.stop_asked
        self.stop_asked = self.stop_asked or why
        return first

    def _worker(self) -> Worker:
        source = self.kernels.source
        return Worker(
            self.kernels.checks(self.constants),
            np.zeros(len(self.machine.actions), np.int64),
            np.zeros(max(1, source.counters), np.int64),
            np.zeros(2, np.int64),
            np.zeros(BATCH, np.uint8),
        )


def refuse_compact_behaviours(properties: tuple[Property, ...], options: Options) -> None:
    """Raise UsageError for properties of whole behaviours in a search that keeps no states."""
    for item in properties:
        if item.kind.over_behaviours and options.compact:
            raise UsageError(
                f"property {item.name!r} is about whole behaviours, which are judged on the graph of all states, and "
                "--compact keeps no states: leave it out, or name other properties with --property."
            )


def search(
    machine: Machine,
    constants: Constants,
    properties: tuple[Property, ...] = (),
    options: Options | None = None,
    *,
    kernels: Kernels | Callable[[], Kernels] | None = None,
    tell: Callable[[Progress], None] | None = None,
) -> Result:
    """Explore every reachable state of a machine and judge the properties; a function for `kernels` is called if nothing is refused."""
    options = options or Options()
    of_states = tuple(item for item in properties if not item.kind.over_behaviours)
    of_behaviours = tuple(item for item in properties if item.kind.over_behaviours)
    refuse_compact_behaviours(properties, options)
    if options.resume and options.checkpoint:
        from fencepost.explorers.native.checkpoint import look_at_question

        look_at_question(machine, constants, properties, options)
    made = Search(machine, constants, of_states, options, kernels=kernels() if callable(kernels) else kernels, tell=tell)
    began = time.perf_counter()
    result = made.run()
    if not of_behaviours:
        return result
    from fencepost.explorers.liveness.engine import Engine

    return Engine(made, of_behaviours, began).judge(result, properties)
