"""The states of one Spark partition, in files that every Python process of an executor maps into memory.

Spark may run a task in any of an executor's Python processes, so a single process cannot hold a partition. A mapped
partition is a folder with the partition's rows and hash tables, which the processes map and share. If a mapped
partition is missing, outdated, or incomplete because a task died while writing, it is rebuilt from stored levels.
"""

import json
import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from fencepost.explorers.native import packed
from fencepost.explorers.native.compile import Kernels
from fencepost.explorers.native.layout import Layout
from fencepost.explorers.native.llvm.libraries import address_of
from fencepost.explorers.native.store import FILL, GROWTH, MOST_STATES, TooManyStates
from fencepost.explorers.running.files import lock_folder, write_file

FIRST_ROWS = 1 << 12
FIRST_SLOTS = 1 << 12
STATE = "state.json"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock a mapped partition, so that a second attempt at a task waits until the first attempt ends."""
    folder.mkdir(parents=True, exist_ok=True)
    held = lock_folder(folder)
    assert held is not None
    with held:
        yield


class MappedPartition:
    """A partition's rows and tables, as arrays of shape (owners, capacity): one share for each of the `OWNERS` owners.
    Use a mapped partition only inside `locked`. `counts` is each owner's number of states.
    """

    def __init__(self, kernels: Kernels, layout: Layout, folder: Path) -> None:
        self.kernels, self.folder = kernels, folder
        self.owners = packed.OWNERS
        self.dtype, self.words = layout.dtype, layout.words
        self.counts = np.zeros(self.owners, np.int64)
        self.level = 0
        """The last level stored completely in the mapped partition, or 0."""
        self.rows: np.ndarray[Any, Any]
        self.tables: np.ndarray[Any, Any]
        self._history: dict[int, list[int]] = {}

    def open(self, level: int, counts: list[int]) -> bool:
        try:
            state = json.loads((self.folder / STATE).read_text())
        except (OSError, ValueError):
            return False
        if state["level"] < level or state["counts"].get(str(level)) != counts:
            return False
        self.rows = self._mapped("rows", self.dtype, state["room"])
        self.tables = self._mapped("tables", np.dtype(np.uint32), state["slots"])
        self.counts[:] = counts
        self._history = {int(number): found for number, found in state["counts"].items() if int(number) <= level}
        self.level = level
        self.mark(dirty=True)
        if state["dirty"] or state["level"] != level:
            self._rebuild(self.tables.shape[1])  # an earlier attempt left entries
        return True

    def create(self) -> None:
        for file in self.folder.iterdir():
            file.unlink()
        self.rows = self._made("rows", self.dtype, FIRST_ROWS)
        self.tables = self._made("tables", np.dtype(np.uint32), FIRST_SLOTS)
        self.counts[:] = 0
        self._history = {}
        self.level = 0
        self.mark(dirty=True)

    def mark(self, *, dirty: bool) -> None:
        state = {
            "level": self.level,
            "counts": self._history,
            "room": self.rows.shape[1],
            "slots": self.tables.shape[1],
            "dirty": dirty,
        }
        write_file(self.folder / STATE, json.dumps(state).encode(), lasting=False)

    def close_level(self, level: int) -> None:
        self.level = level
        self._history[level] = self.counts.tolist()
        self.mark(dirty=False)

    def put(self, rows: np.ndarray[Any, Any], shares: list[int]) -> None:
        """Append new states, sorted by owner. `shares` is the number of states for each owner."""
        self._reserve(max(count + share for count, share in zip(self.counts.tolist(), shares, strict=True)))
        begin = 0
        for owner, share in enumerate(shares):
            first = int(self.counts[owner])
            self.rows[owner, first : first + share] = rows[begin : begin + share]
            self.counts[owner] += share
            begin += share

    def index(self) -> None:
        self._rebuild(max(self.tables.shape[1], int(int(self.counts.max()) / FILL * GROWTH)))

    def insert(self, rows: np.ndarray[Any, Any], hashes: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
        """Insert successors in order; return, for each owner, the positions of the new successors. `rows` and `hashes`
        (uint64) have shape (n,).
        """
        module, total = self.kernels.module, len(rows)
        words = rows.view(np.uint64).reshape(total, self.words)
        positions = np.arange(total, dtype=np.uint32)
        order, starts = np.empty((1, total), np.uint32), np.zeros((1, self.owners + 1), np.int64)
        module.order_by_owner(hashes, total, starts[0], order[0])
        queue, place, shared = np.empty(packed.RING + total, np.int64), np.ones(2, np.int64), np.ones(1, np.int64)
        found = []
        for owner in range(self.owners):
            share = int(starts[0, owner + 1] - starts[0, owner])
            before = int(self.counts[owner])
            self._reserve(before + share)
            ancestors, facts = np.empty(before + share, np.uint32), np.zeros((1, packed.FACTS), np.int64)
            facts[0, [packed.KNOWN, packed.ANCESTORS, packed.ROOM]] = before, address_of(ancestors), len(ancestors)
            while True:
                place[0] = owner
                stored, table = self._stored(owner), self.tables[owner]
                facts[0, [packed.STORED, packed.KEPT]] = address_of(stored), len(stored)
                facts[0, [packed.TABLE, packed.SLOTS]] = address_of(table), len(table)
                facts[0, packed.LIMIT] = min(int(len(table) * FILL), MOST_STATES)
                stopped = module.insert(
                    words, hashes, positions, order, starts, facts, owner, place, shared, queue, False
                )
                self.counts[owner] = facts[0, packed.KNOWN]
                if stopped < 0:
                    break
                if self.counts[owner] >= MOST_STATES:
                    raise TooManyStates("a partition has too many states to number")
                self._rebuild(int(len(table) * GROWTH))
            found.append(ancestors[before : int(self.counts[owner])])
        return found

    def of(self, owner: int, first: int) -> np.ndarray[Any, Any]:
        return self.rows[owner, first : int(self.counts[owner])]

    def _stored(self, owner: int) -> np.ndarray[Any, Any]:
        words: np.ndarray[Any, Any] = self.rows[owner].view(np.uint64).reshape(-1, self.words)
        return words

    def _reserve(self, wanted: int) -> None:
        room = self.rows.shape[1]
        if wanted <= room:
            return
        old = self.rows
        self.rows = self._made("rows", self.dtype, max(wanted, 2 * room))
        for owner, count in enumerate(self.counts.tolist()):
            self.rows[owner, :count].view(np.uint8)[:] = old[owner, :count].view(np.uint8)
        self.mark(dirty=True)
        self._path("rows", room).unlink()

    def _rebuild(self, slots: int) -> None:
        before = self.tables.shape[1]
        self.tables = self._made("tables", np.dtype(np.uint32), slots)
        for owner, count in enumerate(self.counts.tolist()):
            hashes = np.empty(count, np.uint64)
            self.kernels.module.hash_rows(self._stored(owner)[:count], hashes)
            self.kernels.module.rebuild(self.tables[owner], hashes, count)
        if slots != before:
            self.mark(dirty=True)
            self._path("tables", before).unlink()

    def _path(self, name: str, room: int) -> Path:
        return self.folder / f"{name}-{room}"

    def _made(self, name: str, dtype: np.dtype[Any], room: int) -> np.ndarray[Any, Any]:
        path = self._path(name, room)
        path.unlink(missing_ok=True)
        with path.open("wb") as file:
            file.truncate(self.owners * room * dtype.itemsize)
        return self._mapped(name, dtype, room)

    def _mapped(self, name: str, dtype: np.dtype[Any], room: int) -> np.ndarray[Any, Any]:
        with self._path(name, room).open("r+b") as file:
            memory = mmap.mmap(file.fileno(), self.owners * room * dtype.itemsize)
        return np.frombuffer(memory, dtype).reshape(self.owners, room)
