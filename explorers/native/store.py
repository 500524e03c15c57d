"""Where the states of a search live, and where it stands: one partition per owner, each with rows,
parents and a table of its own.

An owner is chosen by the top bits of a state's hash. Only one worker at a time touches a partition, so there are no
locks, and what a partition holds depends only on the order of its successors: never on the number of workers.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from fencepost.explorers.native.kernels import (
    ANCESTORS,
    BASE,
    DONE,
    EXPANDED,
    FACTS,
    FINGERPRINTS,
    KEPT,
    KNOWN,
    LEFT,
    LIMIT,
    OWNERS,
    RING,
    ROOM,
    SLOTS,
    STORED,
    TABLE,
)
from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    from fencepost.explorers.native.compile import Kernels

MOST_STATES = (1 << 24) - 2
"""States that one partition can number; the table keeps 24 bits for them."""
FILL = 0.8
GROWTH = 1.5
SMALL = 1 << 15
"""Slots up to which a table is doubled: it still fits a core's cache, and every growth costs as much as it holds."""
FIRST_SLOTS = 1 << 11
FIRST_ROWS = 1 << 15
"""Rows are reserved well ahead: the operating system gives memory only to pages that are written."""
ROW_GROWTH = 4

HUGE = 1 << 21
"""Bytes of a huge page, which large arrays use if the system has them: fewer misses, faster clearing."""
_ADVICE = getattr(mmap, "MADV_HUGEPAGE", None)

WORD = 8
"""Bytes of a word, of which rows are made."""
BESIDE = 24
"""Bytes of a successor beside its row: its hash, its parent, its place in the order, and that in a worker's queue."""
BATCH = 512
"""States expanded into one buffer: their successors still fit a core's cache when they are inserted."""
ROUND = 32
"""Batches expanded before their successors are inserted."""
MOST_BYTES = 1 << 33
"""Bytes reserved for a round's successors; if states may have very many, rounds and batches are smaller."""


def reserved(count: int, dtype: np.dtype[Any] | type[Any]) -> np.ndarray[Any, Any]:
    """Return an array whose memory is given by the system when it is written."""
    size = count * np.dtype(dtype).itemsize
    if size < 2 * HUGE or _ADVICE is None:
        return np.empty(count, dtype)
    memory = mmap.mmap(-1, size + HUGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with contextlib.suppress(OSError):  # a kernel without huge pages
        memory.madvise(_ADVICE)
    skipped = -ctypes.addressof(ctypes.c_char.from_buffer(memory)) % HUGE
    return np.frombuffer(memory, dtype, count, skipped)


@dataclass
class Progress:
    """Progress of a running search."""

    distinct: int
    generated: int
    depth: int
    frontier: int
    expanded: int
    seconds: float
    levels: list[int]


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
    counting: int = 0
    """The bounds that the current level counts, as bits."""
    deadlocks: int = 0
    deadlock: int = -1
    initial: int = 0
    found: dict[str, int] = field(default_factory=dict)
    """For each decided property the state, as owner + number * OWNERS, that decides it; for steps the state before."""
    seconds: float = 0.0


def sizes(row: np.dtype[Any], most_successors: int, batch: int, batches: int) -> tuple[int, int]:
    """Return the states of a batch and the batches of a round, at most these: the successors of all have to have room.

    A round has fewer batches first, since the order of states depends on the size of batches only.
    """
    each = max(1, most_successors) * (row.itemsize + BESIDE)
    batches = max(1, min(batches, MOST_BYTES // (each * batch)))
    return max(1, min(batch, MOST_BYTES // (each * batches))), batches


class Buffers:
    """Room for the successors of `batches` batches of states: arrays of shape (batches, room, ...).

    Raise UsageError where the system does not give so much memory.
    """

    def __init__(self, row: np.dtype[Any], batches: int, room: int) -> None:
        try:
            self.rows = reserved(batches * room, row).reshape(batches, room)
            self.hashes = np.empty((batches, room), np.uint64)
            self.parents = np.empty((batches, room), np.uint32)
            self.order = np.empty((batches, room), np.uint32)
        except (MemoryError, OSError) as error:
            raise UsageError(
                f"there is no memory for {batches * room:,} successors of {row.itemsize} bytes, which a round of the "
                "search may have. Give the parameters of actions smaller domains, or ask with `engine='plain'`."
            ) from error
        self.words = self.rows.view(np.uint64).reshape(batches, room, row.itemsize // WORD)
        self.starts = np.zeros((batches, OWNERS + 1), np.int64)

    def flat(self) -> tuple[np.ndarray[Any, Any], ...]:
        """Return words, hashes and parents of all batches as one, and what says whose they are."""
        words = self.words.reshape(-1, self.words.shape[2])
        return words, self.hashes.reshape(-1), self.parents.reshape(-1), self.order, self.starts

    def new_queue(self) -> np.ndarray[Any, Any]:
        return np.empty(RING + self.hashes.size, np.int64)

    @cached_property
    def queue(self) -> np.ndarray[Any, Any]:
        """Such room, for one who works alone."""
        return self.new_queue()


class TooManyStates(Exception):  # noqa: N818 (a limit, not an error)
    """A partition ran out of numbers for its states."""


class Partition:
    """The states of one owner.

    Exact mode keeps every row. Compact mode keeps a 64-bit fingerprint of every state, and the rows of two levels:
    `rows` those of the level being expanded (from number `base`), `fresh` those of the next (from `fresh_base`).
    """

    def __init__(
        self, kernels: Kernels, row: np.dtype[Any], *, compact: bool, facts: np.ndarray[Any, Any] | None = None
    ) -> None:
        self.kernels, self.compact = kernels, compact
        self.dtype = row
        self.facts = np.zeros(FACTS, np.int64) if facts is None else facts
        """Where the arrays are and how they are filled, as the kernel that inserts reads it."""
        self.table = np.zeros(FIRST_SLOTS, np.uint32)
        self.parents = np.empty(FIRST_ROWS, np.uint32)
        self.hashes = np.empty(FIRST_ROWS if compact else 0, np.uint64)
        self.rows = np.empty(0 if compact else FIRST_ROWS, self.dtype)
        self.fresh = np.empty(FIRST_ROWS if compact else 0, self.dtype)
        self.base = 0
        self._bind()

    @property
    def count(self) -> int:
        return int(self.facts[KNOWN])

    @property
    def fresh_base(self) -> int:
        """Number of the first row in the array that new states go to."""
        return int(self.facts[BASE])

    @property
    def bytes(self) -> int:
        """Memory in use, without room that was reserved and never touched."""
        per_state = self.parents.itemsize + (self.hashes.itemsize if self.compact else self.dtype.itemsize)
        levels = (
            (self.fresh_base - self.base + self.count - self.fresh_base) * self.dtype.itemsize if self.compact else 0
        )
        return self.count * per_state + self.table.nbytes + levels

    def row(self, number: int) -> Any:
        """Return the row of a state; in compact mode only of the two newest levels."""
        if not self.compact:
            return self.rows[number]
        return self.fresh[number - self.fresh_base] if number >= self.fresh_base else self.rows[number - self.base]

    def new_rows(self) -> np.ndarray[Any, Any]:
        """Return the array that holds new states, and in compact mode only those."""
        return self.fresh if self.compact else self.rows

    def next_level(self) -> None:
        if self.compact:
            self.rows, self.fresh = self.fresh[: self.count - self.fresh_base], np.empty(FIRST_ROWS, self.dtype)
            self.base = self.fresh_base
            self.facts[BASE] = self.count
            self._bind()

    def make_room(self) -> None:
        """Make room for what was left when inserting stopped."""
        if self.count >= MOST_STATES:
            raise TooManyStates
        if self.count >= int(len(self.table) * FILL):
            self._grow_table()
        self._reserve(int(self.facts[LEFT]))

    def content(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return the data of a checkpoint; `shapes` has its form before there is any."""
        found: dict[str, np.ndarray[Any, Any]] = {"parents": self.parents[: self.count]}
        if self.compact:
            found["hashes"] = self.hashes[: self.count]
            found["rows"] = self.rows[: self.fresh_base - self.base]
            found["fresh"] = self.fresh[: self.count - self.fresh_base]
        else:
            found["rows"] = self.rows[: self.count]
        return found

    def shapes(self, count: int, base: int, fresh_base: int) -> dict[str, tuple[np.dtype[Any], int]]:
        """Return type and length of each array of a checkpoint with these counts."""
        found: dict[str, tuple[np.dtype[Any], int]] = {"parents": (self.parents.dtype, count)}
        if self.compact:
            found["hashes"] = (self.hashes.dtype, count)
            found["rows"] = (self.dtype, fresh_base - base)
            found["fresh"] = (self.dtype, count - fresh_base)
        else:
            found["rows"] = (self.dtype, count)
        return found

    def restore(self, arrays: dict[str, np.ndarray[Any, Any]], count: int, base: int, fresh_base: int) -> None:
        self.parents = arrays["parents"]
        self.rows = arrays["rows"]
        if self.compact:
            self.hashes, self.fresh = arrays["hashes"], arrays["fresh"]
        self.facts[[KNOWN, BASE, DONE]] = count, fresh_base, 0
        self.base = base
        self._bind()
        self.rebuild()

    def rebuild(self, slots: int = 0) -> None:
        """Make a table for the states that are there."""
        self.table = np.zeros(max(slots, int(self.count / FILL * GROWTH), FIRST_SLOTS), np.uint32)
        self.kernels.module.rebuild(self.table, self.all_hashes(), self.count)
        self._bind()

    def all_hashes(self) -> np.ndarray[Any, Any]:
        """Return the hashes of all states, kept or computed."""
        if self.compact:
            return self.hashes
        hashes = np.empty(self.count, np.uint64)
        self.kernels.module.hash_rows(self._stored[: self.count], hashes)
        return hashes

    def _grow_table(self) -> None:
        slots = len(self.table)
        self.rebuild(2 * slots if slots < SMALL else int(slots * GROWTH))

    def _reserve(self, more: int) -> None:
        """Make room for `more` states: memory that is reserved but not written costs nothing."""
        wanted = self.count + more
        if wanted > len(self.parents):
            size = max(wanted, ROW_GROWTH * len(self.parents))
            self.parents = _grown(self.parents, size, self.count)
            if self.compact:
                self.hashes = _grown(self.hashes, size, self.count)
            else:
                self.rows = _grown(self.rows, size, self.count)
            self._bind()
        if self.compact and wanted - self.fresh_base > len(self.fresh):
            self.fresh = _grown(
                self.fresh, max(wanted - self.fresh_base, ROW_GROWTH * len(self.fresh)), self.count - self.fresh_base
            )
            self._bind()

    def _bind(self) -> None:
        target = self.new_rows()
        self._stored = target.view(np.uint64).reshape(len(target), self.dtype.itemsize // WORD)
        facts = self.facts
        facts[LIMIT] = min(int(len(self.table) * FILL), MOST_STATES)
        facts[[TABLE, SLOTS]] = _address(self.table), len(self.table)
        facts[[STORED, KEPT]] = _address(self._stored), len(target)
        facts[EXPANDED] = _address(self.rows) if self.compact else facts[STORED]
        facts[[FINGERPRINTS, ANCESTORS, ROOM]] = _address(self.hashes), _address(self.parents), len(self.parents)


def _grown(array: np.ndarray[Any, Any], size: int, used: int) -> np.ndarray[Any, Any]:
    larger = reserved(size, array.dtype)
    larger[:used].view(np.uint8)[:] = array[:used].view(np.uint8)
    return larger


def _address(array: np.ndarray[Any, Any]) -> int:
    return array.ctypes.data
