"""Cross-check of a finished search against the plain semantics, on a sample of the search's states.

A seed determines the sample, which is drawn uniformly from the states that a native search expanded. For each sampled
state, the compiled code must agree with the plain semantics: the stored row decodes to the same state, both compute the
same successors, and both count the same number of refused steps for each guard. All successors must be in the search's
table, every property that the search did not decide must hold, and each sampled state must be initial or a successor of
its stored parent. In a search with symmetry, exchanging two interchangeable values must change nothing. Only stored
states are sampled, so a state that the search missed is noticed only if it is a successor of a sampled state.
"""

import random
import time
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from fencepost.explorers.native.compile import NO_PARENT
from fencepost.explorers.native.expansion import hash_rows
from fencepost.explorers.native.search import Search
from fencepost.explorers.native.store import Partition
from fencepost.explorers.program.subset.program import check, guards_of
from fencepost.explorers.running.interrupts import Signals, Stoppable
from fencepost.explorers.verdict import CrossCheck, CrossCheckError, Result
from fencepost.model.language.actions import Kind
from fencepost.model.language.errors import DisabledError, MismatchError
from fencepost.model.language.interpreter import Path, Transition
from fencepost.model.language.records import Key

Array = np.ndarray[Any, Any]

LEAST_SECONDS = 0.1
SHARE = 0.1
"""Default time for the sample, as a fraction of the search's time (but at least LEAST_SECONDS)."""
AIM = 0.9
"""The sample is planned to take this fraction of the allowed time, because expanding later states may take longer."""
BY_GUARD = 1.0
"""Minimum allowed time, in seconds, for counting refused steps by guard, because the model must be checked first."""
FIRST_CHUNK = 4
CHUNK = 256


class Stored(Protocol):
    """Access to the stored states that a search expanded. Implementations choose the type of state identifiers."""

    expanded: int
    first_chunk: int
    """Number of states in the first chunk, which is used to estimate the time per state."""

    @property
    def decided(self) -> Collection[str]:
        """Return the names of the properties that the search decided."""

    def state(self, number: int) -> Any:
        """Return the identifier of the state with this number, which is less than `expanded`."""

    def keys(self, states: Sequence[Any]) -> list[Key]:
        """Return the keys of the states."""

    def are_stored(self, states: Sequence[Any], rows: Array) -> list[bool]:
        """Return, for each state, whether its stored row equals the given row."""

    def find(self, rows: Array, hashes: Array) -> Array:
        """Return, for each row, whether the search stored it."""

    def parents(self, states: Sequence[Any]) -> list[Key | None] | None:
        """Return the stored parents, with None for initial states; return None if `keys` has already checked them."""

    def way_to(self, state: Any) -> Path:
        """Return a path from an initial state to a stored state."""


def cross_check(
    search: Search, result: Result, count: int | None = None, seed: int = 1, stored: Stored | None = None
) -> CrossCheck:
    """Expand a sample of the stored states with the plain semantics; raise CrossCheckError at the first difference.

    `count` is the size of the sample, or None if the allowed time determines the size. Unless `stored` is given, the
    states come from the search's partitions.
    """
    began = time.perf_counter()
    allowed = max(LEAST_SECONDS, SHARE * result.seconds)
    stored = Partitions(search, complete=result.complete) if stored is None else stored
    checker = _Checker(search, stored, by_guard=count is not None or allowed >= BY_GUARD)
    wanted = stored.expanded if count is None else min(count, stored.expanded)
    drawn = draw(stored.expanded, seed)
    done, size, ready = 0, stored.first_chunk, time.perf_counter()
    asked = Stoppable()

    with Signals(asked.ask):
        while done < wanted and size and not asked.stop_asked:
            chunk = [next(drawn) for _ in range(min(size, wanted - done))]
            checker.check([stored.state(number) for number in chunk])
            done += len(chunk)
            now = time.perf_counter()
            left = (AIM * allowed - (now - began)) / ((now - ready) / done)
            size = CHUNK if count is not None else min(CHUNK, max(0, int(left / 2)))
    return CrossCheck(done, stored.expanded)


def draw(total: int, seed: int) -> Iterator[int]:
    """Yield the numbers below `total` in random order. Memory is used only for the numbers already drawn."""
    chosen = random.Random(seed)  # noqa: S311 (a sample)
    moved: dict[int, int] = {}
    for left in range(total, 0, -1):
        at = chosen.randrange(left)
        yield moved.get(at, at)
        moved[at] = moved.pop(left - 1, left - 1)


class Partitions:
    first_chunk = FIRST_CHUNK

    def __init__(self, search: Search, *, complete: bool) -> None:
        self.search, self.decided = search, search.position.found
        position = search.position
        done = [part.count for part in search.partitions] if complete else position.starts or [0] * search.owners
        self.ends = np.cumsum(done)
        self.expanded = int(self.ends[-1])

    def state(self, number: int) -> int:
        owner = int(np.searchsorted(self.ends, number, side="right"))
        before = int(self.ends[owner - 1]) if owner else 0
        return owner + (number - before) * self.search.owners

    def _of(self, state: int) -> tuple[Partition, int]:
        return self.search.partitions[state % self.search.owners], state // self.search.owners

    def keys(self, states: Sequence[int]) -> list[Key]:
        if self.search.options.compact:  # only fingerprints are stored: the plain semantics follows paths
            try:
                return [self.search.plain.canonical(self.way_to(state).states[-1]) for state in states]
            except MismatchError as error:
                raise CrossCheckError(str(error), None) from error
        return [self.search.layout.decode(row) for row in self._rows(states)]

    def _rows(self, states: Sequence[int]) -> Array:
        numbers, rows = np.array(states, np.int64), np.empty(len(states), self.search.layout.dtype)
        for owner in sorted({state % self.search.owners for state in states}):
            mine = numbers % self.search.owners == owner
            rows[mine] = self.search.partitions[owner].read(numbers[mine] // self.search.owners)
        return rows

    def are_stored(self, states: Sequence[int], rows: Array) -> list[bool]:
        if self.search.options.compact:
            hashes, places = hash_rows(self.search.module, rows), map(self._of, states)
            return [bool(h == part.all_hashes()[number]) for h, (part, number) in zip(hashes, places, strict=True)]
        same: list[bool] = (self._rows(states)["words"] == rows["words"]).all(axis=1).tolist()
        return same

    def find(self, rows: Array, hashes: Array) -> Array:
        search = self.search
        words = rows.view(np.uint64).reshape(len(rows), -1)
        order, starts = np.empty(len(rows), np.uint32), np.zeros(search.owners + 1, np.int64)
        found = np.full(len(rows), -1, np.int64)
        search.module.order_by_owner(hashes, len(rows), starts, order)
        for owner, part in enumerate(search.partitions):
            part.find(words, hashes, order[starts[owner] : starts[owner + 1]], found)
        return found >= 0

    def parents(self, states: Sequence[int]) -> list[Key | None] | None:
        if self.search.options.compact:
            return None
        above = [int(part.parents[number]) for part, number in map(self._of, states)]
        keys = iter(self.keys([parent for parent in above if parent != NO_PARENT]))
        return [None if parent == NO_PARENT else next(keys) for parent in above]

    def way_to(self, state: int) -> Path:
        return self.search.way_to(state)


class _Checker:
    def __init__(self, search: Search, stored: Stored, *, by_guard: bool) -> None:
        self.search, self.stored, self.plain = search, stored, search.plain
        self.guards = guards_of(check(search.machine, search.properties)) if by_guard else None
        self.worker = search._worker()
        self.firsts = set(self.plain.initial_states())
        self.open = [item for item in search.properties if item.name not in stored.decided]

    def check(self, states: Sequence[Any]) -> None:
        for first in range(0, len(states), self.search.batch):
            self._check(states[first : first + self.search.batch])

    def _check(self, states: Sequence[Any]) -> None:
        keys = self.stored.keys(states)
        rows = self.search.layout.encode(keys)
        for state, same in zip(states, self.stored.are_stored(states, rows), strict=True):
            self._require(same, state, "the stored row decodes to a different state")
        fired, refused, native = self._expand(rows)
        steps, refusals = [], Counter[tuple[str, int]]()
        for state, key in zip(states, keys, strict=True):
            steps.append(self._steps(key, refusals))
            self._judge(state, key, steps[-1])
            self._rename(state, key, steps[-1])
        after = self.search.layout.encode([item.after for found in steps for item in found])
        hashes = hash_rows(self.search.module, after)
        stored = self.stored.find(after, hashes) if len(after) else np.zeros(0, bool)
        at = 0
        for state, found, theirs in zip(states, steps, native, strict=True):
            ours = Counter(hashes[at : at + len(found)].tolist())
            self._require(
                ours == theirs,
                state,
                f"the plain semantics finds {len(found)} steps and the compiled code finds "
                f"{theirs.total()}, or their steps lead to different states",
            )
            missing = [item for item, known in zip(found, stored[at : at + len(found)], strict=True) if not known]
            self._require(not missing, state, "a successor was never stored", missing)
            at += len(found)
        for state, key, parent in zip(states, keys, self.stored.parents(states) or [], strict=False):
            self._require(self._leads(parent, key), state, "no step leads from the stored parent to the state")
        taken = Counter(item.step.action.name for found in steps for item in found)
        self._require(
            +Counter(fired) == taken,
            states[0],
            f"the engines disagree on the number of steps of an action in one of {len(states)} states",
        )
        self._require(
            +Counter(refused) == refusals,
            states[0],
            f"the engines disagree on the number of refusals of a guard in one of {len(states)} states",
        )

    def _steps(self, key: Key, refusals: Counter[tuple[str, int]]) -> list[Transition]:
        found = []
        for item in self.search.machine.actions:
            for _, outcome in self.plain.attempts(item, key):
                if isinstance(outcome, Transition):
                    found.append(outcome)
                elif isinstance(outcome, DisabledError):
                    refusals[item.name, self.guards.refused(item, outcome) if self.guards else 0] += 1
        return found

    def _expand(self, rows: Array) -> tuple[dict[str, int], Counter[tuple[str, int]], list[Counter[int]]]:
        """Return the counts of steps and refusals from compiled code, and the hashes of each row's successors."""
        search, worker, buffers = self.search, self.worker, self.search._buffers
        worker.fired[:] = 0
        worker.refused[:] = 0
        count = worker.expand(search.module, rows, (0, len(rows)), search.c, buffers)
        found: list[Counter[int]] = [Counter() for _ in rows]
        sources = buffers.parents[0][:count] // search.owners
        for source, hashed in zip(sources.tolist(), buffers.hashes[0][:count].tolist(), strict=True):
            found[source][hashed] += 1
        refusals, numbers = Counter[tuple[str, int]](), Counter[str]()
        for (action, _), refused in zip(search.kernels.source.guards, worker.refused.tolist(), strict=False):
            refusals[action, numbers[action] if self.guards else 0] += refused
            numbers[action] += 1
        fired = {item.name: count for item, count in zip(search.machine.actions, worker.fired.tolist(), strict=True)}
        return fired, refusals, found

    def _leads(self, parent: Key | None, key: Key) -> bool:
        if parent is None:
            return key in self.firsts
        return any(item.after == key for item in self.plain.transitions(parent))

    def _judge(self, state: Any, key: Key, steps: list[Transition]) -> None:
        """Check that neither a state nor a step from it decides a property that the search left undecided."""
        for item in self.open:
            wanted = item.kind is Kind.SOMETIMES
            decided = (
                any(
                    (item.on is None or item.on.name == step.step.action.name)
                    and self.plain.holds_step(item, key, step) is wanted
                    for step in steps
                )
                if item.over_steps
                else self.plain.holds(item, key) is wanted
            )
            said = "reached" if wanted else "violated"
            self._require(
                not decided,
                state,
                f"under the plain semantics, {item.name} is {said} here, but the search did not report it",
            )

    def _rename(self, state: Any, key: Key, steps: list[Transition]) -> None:
        """Check that exchanging two interchangeable values changes neither the steps nor the values of properties."""
        symmetry = self.plain.symmetry
        if symmetry is None:
            return
        for n in range(symmetry.count - 1):
            other = symmetry.renamed(key, (*range(n), n + 1, n, *range(n + 2, symmetry.count)))
            alike = self._seen(other, self._steps(other, Counter())) == self._seen(key, steps)
            self._require(alike, state, f"exchanging the interchangeable values {n} and {n + 1} has an effect")

    def _seen(self, key: Key, steps: list[Transition]) -> list[Any]:
        judged = [item for item in self.search.properties if not item.kind.over_behaviours]
        return [Counter(step.after for step in steps)] + [
            Counter(self.plain.holds_step(item, key, step) for step in steps)
            if item.over_steps
            else self.plain.holds(item, key)
            for item in judged
        ]

    def _require(
        self,
        agreed: bool,  # noqa: FBT001
        state: Any,
        what: str,
        missing: list[Transition] | None = None,
    ) -> None:
        if agreed:
            return
        if missing:
            what += f" ({self.plain.show(missing[0].step)})"
        try:
            path = self.stored.way_to(state)
        except MismatchError as error:
            what, path = f"{what}; {error}", None
        raise CrossCheckError(f"the engines disagree about a stored state: {what}. Please report this.", path)
