"""A finished search as arrays: states numbered densely, their depths, and the steps between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from fencepost.explorers.native.compile import NO_PARENT
from fencepost.model.language.errors import MismatchError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fencepost.explorers.native.search import Search
    from fencepost.model.language.constants import Constants

Array = np.ndarray[Any, Any]


class Space:
    """The states of a complete and exact search, those of owner 0 first: N of them.

    `depths` (N) counts states from an initial one, which has 1; `firsts` (N) says which states are initial.
    """

    def __init__(self, search: Search) -> None:
        self.search = search
        counts = [part.count for part in search.partitions]
        self.bases = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
        self.states = int(self.bases[-1])
        self.rows = np.concatenate([part.rows[: part.count] for part in search.partitions])
        parents = np.concatenate([part.parents[: part.count] for part in search.partitions])
        known = parents != NO_PARENT
        self.parents = np.full(self.states, -1, np.int64)
        self.parents[known] = self.bases[parents[known] % search.owners] + parents[known] // search.owners
        self.firsts = ~known
        self.depths = np.ones(self.states, np.int32)
        above = self.parents.copy()
        while (above >= 0).any():
            self.depths[above >= 0] += 1
            above[above >= 0] = self.parents[above[above >= 0]]

    def number(self, state: int) -> int:
        """Return a state as the search numbers it."""
        owner = int(np.searchsorted(self.bases, state, side="right")) - 1
        return owner + (state - int(self.bases[owner])) * self.search.owners

    def steps(self) -> tuple[Array, Array]:
        """Return all steps by source: offsets (N + 1) and targets (one for each step), with repetition."""
        orders, hashes = self._sorted()
        sources, targets = [], []
        for source, words, hashed in self._expanded(self.search._worker().checks, self.search.c):
            sources.append(source)
            targets.append(self._found(orders, hashes, words, hashed))
        source, target = (np.concatenate(item) if item else np.zeros(0, np.int64) for item in (sources, targets))
        order = np.argsort(source, kind="stable")
        offsets = np.concatenate(([0], np.cumsum(np.bincount(source, minlength=self.states))))
        return offsets.astype(np.int64), target[order]

    def following(self, constants: Constants | None = None, off: Iterable[int] = ()) -> Array:
        """Return for each state a number (N) that stands for all its successors: under other constants,
        or with guards turned off.

        `off` are slots of guards of a machine that was compiled with masks. Where two machines differ in a state's
        successors, the numbers differ but for a chance of one in 2^64.
        """
        checks = self.search.kernels.checks(constants or self.search.constants)
        checks[list(off)] = 1
        found = np.zeros(self.states, np.uint64)
        c = self.search.c if constants is None else self.search.kernels.constants(constants)
        for source, _, hashed in self._expanded(checks, c):
            np.add.at(found, source, hashed | np.uint64(1))
        return found

    def _expanded(self, checks: Array, c: Array) -> Iterator[tuple[Array, Array, Array]]:
        """Yield of each batch of states its steps: their sources, and the words and hashes of their targets."""
        search = self.search
        worker, buffers = search._worker(), search._buffers
        nothing = np.full(max(1, len(search.kernels.source.step_properties)), -1, np.int64)
        for first in range(0, self.states, search.batch):
            count = search.module.expand(
                checks, self.rows, first, min(first + search.batch, self.states), 0, c,
                buffers.rows[0], buffers.hashes[0], buffers.parents[0], 0,
                worker.fired, worker.refused, nothing, worker.alive,
            )  # fmt: skip
            yield (
                buffers.parents[0][:count].astype(np.int64) // search.owners,
                buffers.words[0][:count],
                buffers.hashes[0][:count],
            )

    def _sorted(self) -> tuple[Array, Array]:
        """Return the states in the order of their hashes, and the hashes in order."""
        hashes = np.concatenate([part.all_hashes() for part in self.search.partitions])
        order = np.argsort(hashes, kind="stable")
        return order, hashes[order]

    def _found(self, order: Array, hashes: Array, words: Array, wanted: Array) -> Array:
        """Return the numbers of states that are given by their rows and hashes."""
        place = np.searchsorted(hashes, wanted)
        known = self.rows.view(np.uint64).reshape(self.states, -1)
        found = order[np.minimum(place, self.states - 1)]
        missing = (known[found] != words).any(axis=1)
        while missing.any():  # two states with one hash
            place[missing] += 1
            if (place >= self.states).any() or (hashes[place[missing]] != wanted[missing]).any():
                raise MismatchError("a successor is not among the states that the search reached. Please report this.")
            found = order[place]
            missing = (known[found] != words).any(axis=1)
        return found
