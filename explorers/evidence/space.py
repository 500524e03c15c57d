"""A finished search as arrays: numbered states, depths, steps, and observations."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from fencepost.explorers.native.blame import blame
from fencepost.explorers.native.compile import NO_PARENT, load, source_of
from fencepost.explorers.native.layout import layout_of
from fencepost.explorers.native.lower.machine import write_look
from fencepost.explorers.native.lower.module import Module
from fencepost.explorers.native.search import Search
from fencepost.explorers.paths import budgets
from fencepost.explorers.program.ir.program import every_field
from fencepost.explorers.program.ir.translate import translate
from fencepost.model.language.actions import Property
from fencepost.model.language.constants import Constants
from fencepost.model.language.errors import MismatchError, UsageError, nearest
from fencepost.model.language.records import ArrayOf, BagOf, Nested, Record, fields

Array = np.ndarray[Any, Any]


class Space:
    """The N states of a complete and exact search, sorted by owner. `firsts` says for each state whether it is initial,
    and `depths` contains its depth, which is 1 for initial states.
    """

    def __init__(self, search: Search) -> None:
        self.search = search
        counts = [part.count for part in search.partitions]
        self.bases = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
        self.states = int(self.bases[-1])
        self.rows = np.concatenate([part.read() for part in search.partitions])
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
        owner = int(np.searchsorted(self.bases, state, side="right")) - 1
        return owner + (state - int(self.bases[owner])) * self.search.owners

    def steps(self) -> tuple[Array, Array]:
        """Return all steps grouped by source state: offsets (N + 1) and targets (one per step, with duplicates)."""
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
        """Return a hash of each state's successors (N), with other constants or with some guards turned off.

        `off` contains the mask slots of the guards to turn off. If the successors of a state differ between two
        machines, so do the hashes, except with probability 2^-64.
        """
        checks = self.search.kernels.checks(constants or self.search.constants)
        checks[list(off)] = 1
        found = np.zeros(self.states, np.uint64)
        c = self.search.c if constants is None else self.search.kernels.constants(constants)
        for source, _, hashed in self._expanded(checks, c):
            np.add.at(found, source, hashed | np.uint64(1))
        return found

    def _expanded(self, checks: Array, c: Array) -> Iterator[tuple[Array, Array, Array]]:
        search = self.search
        worker, buffers = replace(search._worker(), checks=checks), search._buffers
        for first in range(0, self.states, search.batch):
            count = worker.expand(search.module, self.rows, (first, min(first + search.batch, self.states)), c, buffers)
            yield (
                buffers.parents[0][:count].astype(np.int64) // search.owners,
                buffers.words[0][:count],
                buffers.hashes[0][:count],
            )

    def _sorted(self) -> tuple[Array, Array]:
        hashes = np.concatenate([part.all_hashes() for part in self.search.partitions])
        order = np.argsort(hashes, kind="stable")
        return order, hashes[order]

    def _found(self, order: Array, hashes: Array, words: Array, wanted: Array) -> Array:
        place = np.searchsorted(hashes, wanted)
        known = self.rows.view(np.uint64).reshape(self.states, -1)
        found = order[np.minimum(place, self.states - 1)]
        missing = (known[found] != words).any(axis=1)
        while missing.any():  # two states have the same hash
            place[missing] += 1
            if (place >= self.states).any() or (hashes[place[missing]] != wanted[missing]).any():
                raise MismatchError("a successor is not among the states that the search reached. Please report this.")
            found = order[place]
            missing = (known[found] != words).any(axis=1)
        return found


OWN = ("budget",)
"""Fields that describe what may still happen, as opposed to what has happened."""


def everything(state: type[Record]) -> tuple[str, ...]:
    """Return all fields of the protocol's state except fault budgets and ghost variables."""
    return tuple(
        path
        for path in leaves_of(state)
        if path not in budgets(state) and not any(name in OWN or name.startswith("ghost_") for name in path.split("."))
    )


def lengths_of(state: type[Record], values: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(kind.length.value(values) for kind in every_field(state) if isinstance(kind, ArrayOf))


def choose_fields(state: type[Record], named: tuple[str, ...]) -> tuple[str, ...]:
    leaves = list(leaves_of(state))
    found: list[str] = []
    for name in named:
        wanted = name.replace("-", "_")
        under = [path for path in leaves if path == wanted or path.startswith(f"{wanted}.")]
        if not under:
            known = sorted({path[:end] for path in leaves for end in _ends(path)})
            raise UsageError(
                f"the state has no field {name!r}.{nearest(wanted, known)} The fields are: {', '.join(known)}."
            )
        found += under
    return tuple(dict.fromkeys(found))


def _ends(path: str) -> list[int]:
    return [place for place, letter in enumerate(path) if letter == "."] + [len(path)]


def leaves_of(record: type[Record], above: str = "") -> Iterator[str]:
    for name, field in fields(record):
        inner = field.record if isinstance(field, Nested | BagOf) else None
        if isinstance(field, ArrayOf) and isinstance(field.element, Nested):
            inner = field.element.record
        if isinstance(field, BagOf) or inner is None:
            yield f"{above}{name}"
        else:
            yield from leaves_of(inner, f"{above}{name}.")


def observe_fields(space: Space, paths: tuple[str, ...]) -> Array:
    columns = []
    states = space.search.layout.unpack(space.rows)
    for path in paths:
        column = states
        for name in path.split("."):
            column = column[name]
        columns.append(_bytes(column))
    return _joined(columns, space.states)


def _bytes(column: Array) -> Array:
    flat = np.ascontiguousarray(column)
    return flat.view(np.uint8).reshape(len(column), -1) if len(column) else np.zeros((0, 1), np.uint8)


def _joined(columns: list[Array], states: int) -> Array:
    matrix = np.ascontiguousarray(np.hstack(columns)) if columns else np.zeros((states, 1), np.uint8)
    return matrix.view(np.dtype((np.void, matrix.shape[1]))).ravel()


def observe_views(space: Space, views: tuple[Property, ...]) -> Array:
    search = space.search
    module = Module(translate(search.machine, views), layout_of(search.machine.state, search.constants))
    write_look(module, views)
    kernels = load(source_of(module))
    checks = kernels.checks(search.constants)
    seen = np.zeros((space.states, len(views)), np.int64)
    kernels.module.look(checks, space.rows, 0, space.states, kernels.constants(search.constants), seen)
    if checks[0]:
        key = search.layout.decode(space.rows[int(checks[1])])
        for view in views:
            search.plain.holds(view, key)
        blame(search, int(checks[0]))
    return _joined([_bytes(seen)], space.states)
