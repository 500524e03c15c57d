"""Cross-check of a finished search: some of its stored states, expanded once more by the plain semantics.

A sample of the states that a native search expanded is drawn uniformly, by a seed. For each of them the plain
semantics, which is the definition, must agree with the compiled code: the row reads back as the same state; every step
leads to the same successor, and the successors are in the search's table; the same guards refuse, as often; properties
that the search did not decide hold here too; and the parent that the search stored has a step to it, up to an initial
state. What the sample excludes is a statement about stored states only: states that a search never stored are seen
where a stored one leads to them.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
from fencepost.explorers.native.compile import NO_PARENT
from fencepost.explorers.program.subset.program import check, guards_of
from fencepost.explorers.running.interrupts import Signals
from fencepost.explorers.verdict import CrossCheck, CrossCheckError
from fencepost.model.language.actions import Kind
from fencepost.model.language.errors import DisabledError, MismatchError
from fencepost.model.language.interpreter import Transition

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fencepost.explorers.native.search import Search
    from fencepost.explorers.verdict import Result
    from fencepost.model.language.actions import Property
    from fencepost.model.language.records import Key

Array = np.ndarray[Any, Any]

LEAST_SECONDS = 0.2
SHARE = 0.1
"""By default as many states as fit into this share of the search's time, or into the least
seconds, whichever is more.
"""
BY_GUARD = 1.0
"""Seconds from which on refusals are counted by guard, which takes reading the model's text; else by action."""
FIRST_CHUNK = 4
CHUNK = 256


def cross_check(search: Search, result: Result, count: int | None = None, seed: int = 1) -> CrossCheck:
    """Expand a sample of the stored states by the plain semantics; raise CrossCheckError where
    it differs from the search.

    `result` is the search's. `count` is the number of states; None: as many as the allowance of time has room for.
    """
    began = time.perf_counter()
    allowed = max(LEAST_SECONDS, SHARE * result.seconds)
    checker = _Checker(search, complete=result.complete, by_guard=count is not None or allowed >= BY_GUARD)
    wanted = checker.expanded if count is None else min(count, checker.expanded)
    drawn = draw(checker.expanded, seed)
    done, size, ready = 0, FIRST_CHUNK, time.perf_counter()
    asked_to_stop: list[str] = []

    def ask(why: str) -> bool:
        asked_to_stop.append(why)
        return len(asked_to_stop) == 1

    with Signals(ask):
        while done < wanted and size and not asked_to_stop:
            chunk = [next(drawn) for _ in range(min(size, wanted - done))]
            checker.check([checker.place(number) for number in chunk])
            done += len(chunk)
            now = time.perf_counter()
            left = (allowed - (now - began)) / ((now - ready) / done)
            size = CHUNK if count is not None else min(CHUNK, max(0, int(left)))
    return CrossCheck(done, checker.expanded)


def draw(total: int, seed: int) -> Iterator[int]:
    """Yield the numbers below `total` in a random order, with the memory of those that were drawn only."""
    chosen = random.Random(seed)  # noqa: S311 (a sample)
    moved: dict[int, int] = {}
    for left in range(total, 0, -1):
        at = chosen.randrange(left)
        yield moved.get(at, at)
        moved[at] = moved.pop(left - 1, left - 1)


class _Checker:
    """The states that a search expanded, and both ways to expand them."""

    def __init__(self, search: Search, *, complete: bool, by_guard: bool) -> None:
        self.search = search
        position = search.position
        done = [part.count for part in search.partitions] if complete else position.starts or [0] * search.owners
        self.ends = np.cumsum(done)
        self.expanded = int(self.ends[-1])
        self.plain = search.plain
        self.guards = guards_of(check(search.machine, search.properties)) if by_guard else None
        self.worker = search._worker()
        self.firsts = set(self.plain.initial_states())
        found = search.position.found
        self.open = [item for item in search.properties if item.name not in found]

    def place(self, number: int) -> int:
        """Return an expanded state, counted over all owners, as the search numbers it."""
        owner = int(np.searchsorted(self.ends, number, side="right"))
        before = int(self.ends[owner - 1]) if owner else 0
        return owner + (number - before) * self.search.owners

    def check(self, states: Sequence[int]) -> None:
        """Compare these states; the search's own code expands them as one batch, the plain semantics one by one."""
        for first in range(0, len(states), self.search.batch):
            self._check(states[first : first + self.search.batch])

    def _check(self, states: Sequence[int]) -> None:
        search = self.search
        keys = [self._key(state) for state in states]
        rows = search.layout.encode(keys)
        for state, row in zip(states, rows, strict=True):
            self._require(self._is_stored(state, row), state, "its row reads back as another state")
        fired, refused, native = self._expand(rows)
        steps, refusals = [], Counter[tuple[str, int]]()
        for state, key in zip(states, keys, strict=True):
            steps.append(self._steps(key, refusals))
            self._judge(state, key, steps[-1])
        hashes, stored = self._find([item.after for found in steps for item in found])
        at = 0
        for state, key, found, theirs in zip(states, keys, steps, native, strict=True):
            ours = Counter(hashes[at : at + len(found)].tolist())
            self._require(
                ours == theirs,
                state,
                f"the plain semantics takes {len(found)} steps and the compiled code "
                f"{theirs.total()}, or they lead elsewhere",
            )
            missing = [item for item, known in zip(found, stored[at : at + len(found)], strict=True) if not known]
            self._require(not missing, state, "a successor was never stored", missing)
            at += len(found)
            self._require(self._has_parent(state, key), state, "its stored parent has no step to it")
        several = f"in one of {len(states)} states from here on the engines count"
        taken = Counter(item.step.action.name for found in steps for item in found)
        self._require(+Counter(fired) == taken, states[0], f"{several} the steps of an action differently")
        self._require(+Counter(refused) == refusals, states[0], f"{several} the refusals of a guard differently")

    def _steps(self, key: Key, refusals: Counter[tuple[str, int]]) -> list[Transition]:
        """Return the steps out of a state by the plain semantics, and count its refusals by action and guard."""
        found = []
        for item in self.search.machine.actions:
            for _, outcome in self.plain.attempts(item, key):
                if isinstance(outcome, Transition):
                    found.append(outcome)
                elif isinstance(outcome, DisabledError):
                    refusals[item.name, self.guards.refused(item, outcome) if self.guards else 0] += 1
        return found

    def _key(self, state: int) -> Key:
        """Return a stored state; where only fingerprints are kept, the plain semantics walks to it."""
        if self.search.options.compact:
            try:
                return self.search.way_to(state).states[-1]
            except MismatchError as error:
                raise CrossCheckError(str(error), None) from error
        part = self.search.partitions[state % self.search.owners]
        return self.search.layout.decode(part.rows[state // self.search.owners])

    def _is_stored(self, state: int, row: Any) -> bool:
        part, number = self.search.partitions[state % self.search.owners], state // self.search.owners
        if self.search.options.compact:
            return bool(self._hashes(np.array([row]))[0] == part.hashes[number])
        return bool((part.rows[number]["words"] == row["words"]).all())

    def _expand(self, rows: Array) -> tuple[dict[str, int], Counter[tuple[str, int]], list[Counter[int]]]:
        """Return what the compiled code counts of steps and refusals, and the hashes of each row's successors."""
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

    def _hashes(self, rows: Array) -> Array:
        hashes = np.empty(len(rows), np.uint64)
        self.search.module.hash_rows(rows.view(np.uint64).reshape(len(rows), -1), hashes)
        return hashes

    def _find(self, keys: list[Key]) -> tuple[Array, Array]:
        """Return the hashes of states, and whether each is stored."""
        search = self.search
        rows = search.layout.encode(keys)
        if not keys:
            return np.zeros(0, np.uint64), np.zeros(0, bool)
        words, hashes = rows.view(np.uint64).reshape(len(rows), -1), self._hashes(rows)
        order, starts = np.empty(len(rows), np.uint32), np.zeros(search.owners + 1, np.int64)
        found = np.full(len(rows), -1, np.int64)
        search.module.order_by_owner(hashes, len(rows), starts, order)
        for owner, part in enumerate(search.partitions):
            mine = order[starts[owner] : starts[owner + 1]]
            if search.options.compact:
                found[mine] = np.where(np.isin(hashes[mine], part.hashes[: part.count]), 0, -1)
            elif len(mine):
                search.module.find(
                    words, hashes, order, int(starts[owner]), int(starts[owner + 1]), part.table, part._stored, found, 0
                )
        return hashes, found >= 0

    def _has_parent(self, state: int, key: Key) -> bool:
        """Say whether a state is initial, or its stored parent leads to it by the plain semantics."""
        search = self.search
        if search.options.compact:
            return True  # the way to it was walked
        part = search.partitions[state % search.owners]
        parent = int(part.parents[state // search.owners])
        if parent == NO_PARENT:
            return key in self.firsts
        before = search.layout.decode(search.partitions[parent % search.owners].rows[parent // search.owners])
        return any(item.after == key for item in self.plain.transitions(before))

    def _judge(self, state: int, key: Key, steps: list[Transition]) -> None:
        """Compare the properties that the search left undecided: none may be decided in this
        state, or by a step out of it.
        """
        for item in self.open:
            wanted = item.kind is Kind.SOMETIMES
            decided = (
                any(self._applies(item, step) and self.plain.holds_step(item, key, step) is wanted for step in steps)
                if item.over_steps
                else self.plain.holds(item, key) is wanted
            )
            said = "reached" if wanted else "violated"
            self._require(
                not decided, state, f"by the plain semantics {item.name} is {said} here, which the search did not see"
            )

    @staticmethod
    def _applies(item: Property, step: Transition) -> bool:
        return item.on is None or item.on.name == step.step.action.name

    def _require(
        self,
        agreed: bool,  # noqa: FBT001
        state: int,
        what: str,
        missing: list[Transition] | None = None,
    ) -> None:
        if agreed:
            return
        if missing:
            what += f" ({self.plain.show(missing[0].step)})"
        try:
            path = self.search.way_to(state)
        except MismatchError as error:
            what, path = f"{what}; {error}", None
        raise CrossCheckError(f"the engines disagree about a stored state: {what}. Please report this.", path)
