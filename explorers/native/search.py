"""Breadth-first search at native speed, partitioned by owner, the same for any number of workers.

Each level is cut into batches of states. A batch is expanded into a buffer and its successors ordered by owner; after a
round of batches every owner inserts its share, in the order of the batches. Rounds have a fixed size, so the order in
which states enter a partition, and with it every number and every trace, is the same on every run.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from fencepost.explorers.interrupts import Signals
from fencepost.explorers.native.compile import NO_PARENT, Kernels, count_bounds, still_counted
from fencepost.explorers.native.generate import generate
from fencepost.explorers.native.kernels import (
    BASE,
    DEAD,
    END,
    EXPANDED,
    FACTS,
    FIRST,
    KNOWN,
    LAST,
    NUMBER,
    OWNERS,
    PIECE,
    ROWS,
    STORED,
)
from fencepost.explorers.native.lower.shape import ERROR, STATE
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


class Calls(NamedTuple):
    """The calls of one worker, and the module whose code they run."""

    module: Any
    expand: Callable[[], int]
    insert: Callable[[], int]


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
        self.facts = np.zeros((OWNERS, FACTS), np.int64)
        self.partitions = [
            Partition(self.kernels, self.layout.dtype, compact=options.compact, facts=facts) for facts in self.facts
        ]
        self.position = Position()
        self.before_judging: tuple[list[int], dict[str, int]] | None = None
        """What was judged before a search was stopped inside a level: a resumed one judges the level as a whole."""
        self.stop_asked = ""
        self.pause_at: int | None = None
        """States in a level at which the search pauses before it is expanded, for another engine to go on; None: never."""
        self.paused = False
        self.workers = options.workers or processors()
        self._buffers = Buffers(self.layout.dtype, ROUND, BATCH * self.kernels.source.most_successors)
        self.pool = WorkerPool([self._worker() for _ in range(self.workers)])
        self.tasks = np.zeros(2, np.int64)
        """The next of the tasks that workers share, which they count up, each in its compiled code; and how many pieces there are."""
        self._pieces = np.zeros((ROUND, PIECE), np.int64)
        self._calls: dict[int, Calls] = {}
        self.fatal = self.watched = np.array([ERROR], np.int64)
        """Places of the check array: after a piece expanding stops where a watched one is not 0, and that is an error at a fatal one."""
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
        pieces = self._cut()
        rounds = [pieces[first : first + ROUND] for first in range(0, len(pieces), ROUND)]
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

    def _cut(self) -> np.ndarray[Any, Any]:
        """Return the level as lines of `PIECE` numbers: small pieces of one owner, in order."""
        found = []
        for owner, (first, last) in enumerate(zip(self.position.starts, self.position.ends, strict=True)):
            base = self.partitions[owner].base
            found += [
                (0, start, min(start + BATCH, last - base), owner + base * self.owners, 0, -1)
                for start in range(first - base, last - base, BATCH)
            ]
        return np.array(found, np.int64).reshape(-1, PIECE)

    def _change_over(self) -> None:
        """Go on with optimized code, if it is there by now; while it is made, one worker makes room for that."""
        self.kernels = self.tiers.after(self.position.levels)
        self.module = self.kernels.module
        self.pool.resting = int(self.tiers.waits and 1 < self.workers >= processors())

    def _round(self, pieces: np.ndarray[Any, Any]) -> None:
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
        self._share(lambda worker: self._insert(worker, len(pieces)), states)

    def _share(self, work: Callable[[Worker], None], states: int) -> None:
        """Have workers take tasks until there are no more."""
        self.tasks[0] = 0
        self.pool.each(work, states)

    def _call(self, worker: Worker) -> Calls:
        """Return the calls of the kernels in which a worker spends its time. They are kept, since small levels take less time than making one does."""
        made = self._calls.get(id(worker))
        if made is None or made.module is not self.module:
            module, buffers = self.module, self._buffers
            expand = module.expand_pieces.bound(
                module.expand, worker.checks, self._pieces, self.c, buffers.words, buffers.hashes, buffers.parents, buffers.order,
                buffers.starts, worker.fired, worker.refused, self._found, worker.alive, self.tasks, self.watched,
            )  # fmt: skip
            insert = module.insert.bound(
                *buffers.flat(), self.facts, 0, worker.place, self.tasks, worker.queue, self.options.compact
            )
            made = self._calls[id(worker)] = Calls(module, expand, insert)
        return made

    def _expand(self, worker: Worker, failed: list[tuple[int, Worker]]) -> None:
        """Expand pieces as long as there are any, or until one fails: those before it are with other workers."""
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
        """Do what a watched place of the check array asks for, after a piece of an owner."""

    def _blame(self, worker: Worker, piece: np.ndarray[Any, Any]) -> None:
        """Raise the error of a check that failed in a piece of the level."""
        first = int(piece[NUMBER])
        rows = self.partitions[first % self.owners].rows
        for at in range(int(piece[FIRST]), int(piece[LAST])):
            explain(self, rows[at], lambda at=at: way_to(self, first + at * self.owners))  # type: ignore[misc]
        blame(self, int(next(code for code in worker.checks[self.fatal] if code)))

    def _take_ends(self, pieces: np.ndarray[Any, Any]) -> None:
        """Count the states without a successor, and keep the first: pieces come in the order of owners and numbers."""
        self.position.deadlocks += int(pieces[:, DEAD].sum())
        if self.position.deadlock < 0:
            first = pieces[np.flatnonzero(pieces[:, DEAD])[0]]
            self.position.deadlock = int(first[NUMBER] + first[END] * self.owners)

    def _insert(self, worker: Worker, batches: int) -> None:
        """Insert successors of owners as long as there are any."""
        insert = self._call(worker).insert
        worker.place[:] = -1, batches
        while (owner := insert()) >= 0:
            self.partitions[owner].make_room()

    # -- properties

    def _judge(self) -> None:
        """Evaluate the state properties on every state that they have not seen."""
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
            explain(self, part.row(at + base), lambda: way_to(self, owner + (at + base) * self.owners))
            blame(self, int(worker.checks[ERROR]))
        self.position.judged = last.tolist()
        for owner in np.flatnonzero((results != waiting).any(axis=1)).tolist():
            self._note(state_properties, results[owner], owner, int(bases[owner]))

    def _judge_owners(
        self, worker: Worker, lines: np.ndarray[Any, Any], found: np.ndarray[Any, Any], failed: list[tuple[int, Worker]]
    ) -> None:
        number = self.module.judge_pieces(self.module.judge, worker.checks, lines, self.c, found, self.tasks)
        if number >= 0:
            failed.append((number, worker))

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
        return self.position.deadlocks

    def settle(self) -> Position:
        """Move the workers' counts into the position and return it, for a checkpoint."""
        position = self.position
        position.fired, position.refused = self.fired(), self.refused()
        for worker in self.pool.workers:
            worker.fired[:] = 0
            worker.refused[:] = 0
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
            np.zeros(BATCH, np.uint8),
            np.zeros(2, np.int64),
            self._buffers.new_queue(),
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
