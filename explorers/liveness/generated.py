"""The graph of a finished search, and the compiled code that builds it: step numbers and predicates. One compiled
module contains the machine's actions. This module takes a long time to compile, but works for all properties. A second
module contains the properties.
"""

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from fencepost.explorers.liveness import calls
from fencepost.explorers.liveness.behaviours import Rows
from fencepost.explorers.liveness.calls import TransitionIds, hashed_ids_of, transition_ids_of
from fencepost.explorers.native.blame import blame, explain
from fencepost.explorers.native.compile import (
    NO_PARENT,
    Kernels,
    Shapes,
    Source,
    Watching,
    begin,
    compile_watched,
    source_of,
)
from fencepost.explorers.native.expansion import Expansion, Worker, WorkerPool, hash_rows
from fencepost.explorers.native.layout import layout_of
from fencepost.explorers.native.lower.actions import Wanted
from fencepost.explorers.native.lower.machine import write_expand, write_marks
from fencepost.explorers.native.lower.module import Module
from fencepost.explorers.native.packed import OWNERS
from fencepost.explorers.native.store import BATCH, Buffers, sizes
from fencepost.explorers.program.ir.translate import translate
from fencepost.invariants.protocols import PROTOCOLS
from fencepost.model.language.actions import Property
from fencepost.model.language.constants import Constants
from fencepost.model.language.errors import MismatchError
from fencepost.model.language.machine import Machine
from fencepost.model.language.records import Key


@dataclass(frozen=True)
class Compiled:
    steps: Kernels
    predicates: Kernels
    codes: TransitionIds
    seconds: float


def family(machine: Machine, properties: tuple[Property, ...]) -> tuple[Property, ...]:
    """Return the properties to compile together: all properties of a built-in protocol, otherwise the given ones."""
    known = PROTOCOLS.get(machine.name)
    if known is None or known.machine is not machine:
        return properties
    every = tuple(item for item in known.every_property if item.kind.over_behaviours)
    return every if all(item in every for item in properties) else properties


_WRITTEN: Shapes[tuple[Source, Source, TransitionIds]] = Shapes()


def sources(
    machine: Machine, constants: Constants, properties: tuple[Property, ...], *, normalize: bool
) -> tuple[Source, Source, TransitionIds]:
    properties = family(machine, properties)

    def write() -> tuple[Source, Source, TransitionIds]:
        layout = layout_of(machine.state, constants)
        codes = transition_ids_of(machine, properties, layout)
        program = translate(machine, properties)
        steps = Module(program, layout)
        write_expand(steps, Wanted(program.normalize if normalize else None, (), code=codes.value))
        predicates = Module(program, layout)
        write_marks(predicates, properties)
        return source_of(steps), source_of(predicates), codes

    return _WRITTEN.get(machine, constants, properties, (normalize,), write)


def prepare(
    machine: Machine, constants: Constants, properties: tuple[Property, ...], watch: Watching, *, normalize: bool
) -> None:
    steps, predicates, _ = sources(machine, constants, properties, normalize=normalize)
    for what, source in (("the graph", steps), ("the conditions", predicates)):
        compile_watched(f"{what} of {machine.name}", constants, source, watch, begins=True)


def compiled(
    machine: Machine,
    constants: Constants,
    properties: tuple[Property, ...],
    *,
    normalize: bool,
    searched: float = math.inf,
) -> Compiled:
    began = time.perf_counter()
    steps, predicates, codes = sources(machine, constants, properties, normalize=normalize)
    return Compiled(begin(steps, searched), begin(predicates, searched), codes, time.perf_counter() - began)


Array = np.ndarray[Any, Any]
FIRST_SLOTS = 1 << 12


class Graph:
    def __init__(self, search: Expansion, compiled: Compiled, pause: Callable[[], None]) -> None:
        self.search, self.steps, self.pause = search, compiled.steps, pause
        if search.trees is not None:
            search.trees.remembers = search.owners
        counts = [part.count for part in search.partitions]
        self.bases = np.concatenate(([0], np.cumsum(counts)))
        self.c = self.steps.constants(search.constants)
        edges = search.generated - search.position.initial
        self.offsets = np.zeros(int(self.bases[-1]) + 1, np.int64)
        self.targets, self.classes = np.empty(edges, np.int32), np.empty(edges, np.int32)
        self.codes = np.zeros(FIRST_SLOTS, np.int64)
        self._known, self._edges = 0, 0
        self._table()
        batches, room = search._buffers.rows.shape
        self._code = np.empty((batches, room), np.int64)
        self._found = np.empty((batches, room), np.int64)
        self._degrees, self._place = np.zeros(search.batch, np.int64), np.empty(room, np.int64)
        self._count = [0] * batches

    def build(self) -> Rows:
        search = self.search
        pieces = [
            (owner, first, min(first + search.batch, part.count))
            for owner, part in enumerate(search.partitions)
            for first in range(0, part.count, search.batch)
        ]
        with WorkerPool([self._worker() for _ in range(search.workers)]) as pool:
            for start in range(0, len(pieces), search.batches):
                self.pause()
                taken = pieces[start : start + search.batches]
                states = sum(last - first for _, first, last in taken)

                def expand(worker: Worker, n: int, taken: list[tuple[int, int, int]] = taken) -> None:
                    self._expand(worker, n, *taken[n])

                pool.share(len(taken), expand, states)
                for number, piece in enumerate(taken):
                    self._append(number, *piece)
        if self._edges != len(self.targets):
            raise MismatchError(
                f"the search took {len(self.targets)} steps, but its graph has {self._edges} edges. Please report this."
            )
        self.codes = self.codes[: self._known].copy()
        return Rows(self.offsets, self.targets, self.classes)

    def _expand(self, worker: Worker, batch: int, owner: int, first: int, last: int) -> None:
        search, buffers, module = self.search, self.search._buffers, self.steps.module
        part = search.partitions[owner]
        rows = part.read(slice(first, last))
        count = worker.expand(module, rows, (0, len(rows)), self.c, buffers, batch=batch, codes=(self._code[batch],))
        if worker.checks[0]:
            explain(search, rows, search.position.found)
            blame(search, int(worker.checks[0]))
        hashes, order, starts = buffers.hashes[batch], buffers.order[batch], buffers.starts[batch]
        module.order_by_owner(hashes, count, starts, order)
        for other, there in enumerate(search.partitions):
            if starts[other] < starts[other + 1]:
                chosen, base = order[starts[other] : starts[other + 1]], int(self.bases[other])
                there.find(buffers.words[batch], hashes, chosen, self._found[batch], base)
        self._count[batch] = count

    def _append(self, batch: int, owner: int, first: int, last: int) -> None:
        count = self._count[batch]
        degrees, place = self._degrees[: last - first], self._place[:count]
        parents = self.search._buffers.parents[batch, :count] // np.uint32(self.search.owners)
        calls.by_source(parents, 0, count, degrees, place)
        state, edge = int(self.bases[owner]) + first, self._edges
        self.offsets[state + 1 : state + 1 + len(degrees)] = edge + np.cumsum(degrees)
        found = self._found[batch, :count]
        if count and found.min() < 0:
            raise MismatchError(
                "a state of the finished search has a successor that the search never reached. Please report this."
            )
        numbers = np.empty(count, np.int32)
        done = 0
        while done < count:
            self._known, done = calls.intern(
                self._code[batch, :count], done, numbers, self._keys, self._numbers, self.codes, self._known
            )
            if done < count:
                self.codes = np.concatenate((self.codes, np.zeros_like(self.codes)))
                self._table()
        self.targets[edge + place] = found
        self.classes[edge + place] = numbers
        self._edges += count

    def _table(self) -> None:
        self._keys, self._numbers = np.full(2 * len(self.codes), -1, np.int64), np.zeros(2 * len(self.codes), np.int32)
        again, known = np.empty(self._known, np.int32), self.codes[: self._known]
        calls.intern(known, 0, again, self._keys, self._numbers, self.codes.copy(), 0)

    def _worker(self) -> Worker:
        checks, guards = self.steps.checks(self.search.constants), len(self.steps.source.guards)
        return Worker.alone(checks, len(self.search.machine.actions), guards, self.search.batch)

    # -- states

    def state(self, number: int) -> Key:
        owner = int(np.searchsorted(self.bases, number, side="right")) - 1
        return self.search.layout.decode(self.search.partitions[owner].row(number - int(self.bases[owner])))

    def in_search(self, number: int) -> int:
        owner = int(np.searchsorted(self.bases, number, side="right")) - 1
        return owner + (number - int(self.bases[owner])) * self.search.owners

    def parents(self) -> Array:
        """Return, for each state, the state from which the search first reached it, or -1 for an initial state."""
        found = np.empty(int(self.bases[-1]), np.int32)
        for owner, part in enumerate(self.search.partitions):
            raw = part.parents[: part.count]
            parents = self.bases[raw % self.search.owners] + raw // self.search.owners
            found[self.bases[owner] : self.bases[owner + 1]] = np.where(raw == NO_PARENT, -1, parents)
        return found

    def gather(self, numbers: Array) -> Array:
        rows = np.empty(len(numbers), self.search.layout.dtype)
        owners = np.searchsorted(self.bases, numbers, side="right") - 1
        for owner in np.unique(owners):
            chosen = owners == owner
            rows[chosen] = self.search.partitions[owner].read(numbers[chosen] - self.bases[owner])
        return rows


MIXED = np.uint64(0x9E3779B97F4A7C15)
"""Factor for a successor's hash and its step's number; it gives a step and its reverse different hashes."""


def digest_of(
    machine: Machine, constants: Constants, kernels: Kernels, names: tuple[str, ...], blocks: Iterable[Array],
    normalize: bool,  # noqa: FBT001 (as a search has it)
) -> int:  # fmt: skip
    """Return the sum, modulo 2^64, of the hashes of all states and of all steps that these actions take."""
    some = replace(machine, actions=tuple(machine.action(name) for name in names))
    steps = _numbered(some, constants, normalize=normalize) if names else kernels
    source, total = steps.source, 0
    for rows in blocks:
        total += int(hash_rows(kernels.module, rows).sum(dtype=np.uint64))
        batch, _ = sizes(rows.dtype, source.most_successors, BATCH, 1)
        room = batch * source.most_successors
        buffers, codes, c = Buffers(rows.dtype, 1, room), np.zeros(room, np.int64), steps.constants(constants)
        worker = Worker.alone(steps.checks(constants), len(names), source.counters, batch)
        for first in range(0, len(rows) if names else 0, batch):
            own = np.ascontiguousarray(rows[first : first + batch])
            count = worker.expand(steps.module, own, (0, len(own)), c, buffers, codes=(codes,))
            before = hash_rows(kernels.module, own)[buffers.parents[0][:count] // OWNERS]
            after = (buffers.hashes[0][:count] ^ (codes[:count].view(np.uint64) * MIXED)) * MIXED
            total += int((before * ((after ^ (after >> np.uint64(31))) * MIXED)).sum(dtype=np.uint64))
    return total % 2**64


def _numbered(machine: Machine, constants: Constants, *, normalize: bool) -> Kernels:
    layout, program = layout_of(machine.state, constants), translate(machine, ())
    module = Module(program, layout)
    ids = hashed_ids_of(machine, layout)
    write_expand(module, Wanted(program.normalize if normalize else None, (), code=ids.value))
    return begin(source_of(module), 0)
