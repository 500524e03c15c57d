"""The states and the progress of a search: one partition for each owner, with its parents and its table.

A table contains rows or, in a large search, keys (`packed.py`); both give the same results. If a search spills, it
stores parents in files that are accessed sequentially and, if states are keys, unexpanded levels too.

The top bits of a state's hash determine its owner. Only one worker at a time uses a partition, so no locks are needed.
A partition's content depends only on the order of its successors, not on the number of workers.
"""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from fencepost.explorers.native import packed
from fencepost.explorers.native.compile import Kernels
from fencepost.explorers.native.keys import MOST_KEYS, KeyTable, Trees, missing
from fencepost.explorers.native.llvm.libraries import address_of, reserved, spilled, unload
from fencepost.model.language.errors import UsageError

MOST_STATES = (1 << 24) - 2
"""Maximum number of states in one partition. A table slot has 24 bits for a state's number."""
FILL = 0.8
GROWTH = 1.5
SMALL = 1 << 15
"""Number of slots up to which tables grow by doubling, because small tables fit in a core's cache. Growing a table
costs time in proportion to its content.
"""
FIRST_SLOTS = 1 << 11
FIRST_ROWS = 1 << 15
"""Initial capacity in rows. It can be large, because the system allocates a page only when it is first written."""
ROW_GROWTH = 4
SPILL_GROWTH = 2
"""Growth factor of arrays in files; it is small because files immediately take up their full size on disk."""

WORD = 8
BESIDE = 24
"""Bytes per successor in addition to the row: hash, parent, and positions in the order and in a worker's queue."""
BATCH = 512
"""Number of states to expand into one buffer; their successors must fit in a core's cache during insertion."""
ROUND = 32
"""Number of batches expanded before their successors are inserted."""
MOST_BYTES = 1 << 33
"""Maximum size in bytes of a round's successors, which limits rounds and batches."""


ALL = slice(None)


@dataclass
class Progress:
    distinct: int
    generated: int
    depth: int
    frontier: int
    expanded: int
    seconds: float
    levels: list[int]


@dataclass
class Position:
    depth: int = 1
    next_round: int = 0
    starts: list[int] = field(default_factory=list)
    """The number of each owner's first state in the level being expanded."""
    ends: list[int] = field(default_factory=list)
    judged: list[int] = field(default_factory=list)
    levels: list[int] = field(default_factory=list)
    fired: list[int] = field(default_factory=list)
    refused: list[int] = field(default_factory=list)
    counting: int = 0
    """Bit mask of the bounds that are counted in the current level."""
    deadlocks: int = 0
    deadlock: int = -1
    initial: int = 0
    found: dict[str, int] = field(default_factory=dict)
    """For each decided property, the state that decides it or begins the deciding step: owner + number * OWNERS."""
    seconds: float = 0.0


def sizes(row: np.dtype[Any], most_successors: int, batch: int, batches: int) -> tuple[int, int]:
    """Return the number of states per batch and of batches per round that fit in memory, at most `batch` and
    `batches`. The number of batches is reduced before their size, because the order of states depends only on the size.
    """
    each = max(1, most_successors) * (row.itemsize + BESIDE)
    batches = max(1, min(batches, MOST_BYTES // (each * batch)))
    return max(1, min(batch, MOST_BYTES // (each * batches))), batches


class Buffers:
    """Space for the successors of `batches` batches of states: arrays of shape (batches, room, ...). Raise UsageError
    if the system does not have enough memory.
    """

    def __init__(self, row: np.dtype[Any], batches: int, room: int) -> None:
        try:
            kinds: list[Any] = [row, np.uint64, np.uint32, np.uint32]
            self.rows, self.hashes, self.parents, self.order = (  # small pages, because little of each batch is written
                reserved(batches * room, kind, huge=False).reshape(batches, room) for kind in kinds
            )
        except (MemoryError, OSError) as error:
            raise UsageError(
                f"a round of the search may have {batches * room:,} successors of {row.itemsize} bytes, which do not "
                "fit in memory. Give the parameters of actions smaller domains, or use `engine='plain'`."
            ) from error
        self.words = self.rows.view(np.uint64).reshape(batches, room, row.itemsize // WORD)
        self.starts = np.zeros((batches, packed.OWNERS + 1), np.int64)

    def flat(self) -> tuple[np.ndarray[Any, Any], ...]:
        words = self.words.reshape(-1, self.words.shape[2])
        return words, self.hashes.reshape(-1), self.parents.reshape(-1), self.order, self.starts

    def new_queue(self) -> np.ndarray[Any, Any]:
        return np.empty(packed.RING + self.hashes.size, np.int64)

    @cached_property
    def queue(self) -> np.ndarray[Any, Any]:
        return self.new_queue()


class TooManyStates(Exception):  # noqa: N818 (a limit, not an error)
    """Error for a partition that has run out of state numbers or disk space."""


class Partition:
    """The states of one owner.

    Initially, exact mode stores every row in `rows`. If states are keys (in compact mode, and after `pack`), `rows`
    contains only the level being expanded (from number `base`), and `fresh` contains the next level (from
    `fresh_base`). In compact mode, `rows` and `fresh` contain rows; otherwise, both contain keys that the trees decode.
    """

    def __init__(
        self,
        kernels: Kernels,
        row: np.dtype[Any],
        *,
        compact: bool,
        facts: np.ndarray[Any, Any] | None = None,
        owner: int = 0,
        spill: str | None = None,
    ) -> None:
        self.kernels, self.compact, self.owner = kernels, compact, owner
        self.spill = Path(spill) if spill else None
        self.dtype = row
        self.facts = np.zeros(packed.FACTS, np.int64) if facts is None else facts
        """Addresses and fill levels of the arrays, in the form that the insertion kernel reads."""
        self.trees: Trees | None = None
        self.keys = KeyTable(kernels.module, self.facts, None) if compact else None
        self.table = np.zeros(0 if compact else FIRST_SLOTS, np.uint32)
        self.parents = np.empty(FIRST_ROWS, np.uint32)
        self.rows = np.empty(0 if compact else FIRST_ROWS, self.dtype)
        self.fresh = np.empty(FIRST_ROWS if compact else 0, self.dtype)
        self.base = 0
        self._bind()

    @property
    def count(self) -> int:
        return int(self.facts[packed.KNOWN])

    @property
    def fresh_base(self) -> int:
        return int(self.facts[packed.BASE])

    @property
    def levels(self) -> tuple[int, int]:
        """Return the first state number of each level that compact mode keeps, or 0 in exact mode."""
        return (self.base, self.fresh_base) if self.compact else (0, 0)

    @property
    def table_bytes(self) -> int:
        return self.keys.nbytes if self.keys else self.table.nbytes

    @property
    def bytes(self) -> int:
        """Return the number of bytes in use; memory that is reserved but was never written does not count."""
        rows = self.count - self.base if self.keys else self.count
        return self.count * self.parents.itemsize + rows * self.rows.itemsize + self.table_bytes

    @property
    def spilled_bytes(self) -> int:
        if not self.spill:
            return 0
        return self.bytes - self.table_bytes - (0 if self.keys else self.count * self.rows.itemsize)

    def read(self, numbers: slice | np.ndarray[Any, Any] = ALL) -> np.ndarray[Any, Any]:
        """Return the rows (n,) of the given states, or of all states. Compact mode does not support this."""
        if self.trees is None:
            return self.rows[: self.count][numbers]
        return self.trees.rows(self.all_keys()[numbers]).view(self.dtype).reshape(-1)

    def row(self, number: int) -> Any:
        """Return the row of a state. In compact mode, the state must belong to one of the two newest levels."""
        if not self.compact:
            return self.read(slice(number, number + 1))[0]
        return self.fresh[number - self.fresh_base] if number >= self.fresh_base else self.rows[number - self.base]

    def all_keys(self) -> np.ndarray[Any, Any]:
        assert self.keys is not None
        if self.trees is None:
            return self.keys.listed(self.count)
        return self.trees.remembered(self, self.count, self.keys.listed)

    def all_hashes(self) -> np.ndarray[Any, Any]:
        if self.compact:
            return self.all_keys() | np.uint64(self.owner << packed.OWNER_SHIFT)
        rows, hashes = self.read(), np.empty(self.count, np.uint64)
        self.kernels.module.hash_rows(self._words(rows), hashes)
        return hashes

    def find(
        self, words: np.ndarray[Any, Any], hashes: np.ndarray[Any, Any], chosen: np.ndarray[Any, Any],
        out: np.ndarray[Any, Any], base: int = 0,
    ) -> None:  # fmt: skip
        """Write the state's number, plus `base`, for each `chosen` row, or -1 if the state is not stored."""
        if self.keys is None:
            self.kernels.module.find(words, hashes, chosen, 0, len(chosen), self.table, self._stored, out, base)
        else:
            keys = self.trees.keys(words[chosen]) if self.trees else hashes[chosen]
            found = self.keys.find(keys)
            out[chosen] = np.where(found < 0, -1, found + base)

    def next_level(self) -> None:
        if self.keys:
            self.rows, self.fresh = self.fresh[: self.count - self.fresh_base], np.empty(FIRST_ROWS, self.rows.dtype)
            self.base = self.fresh_base
            self.facts[packed.BASE] = self.count
            self._bind()
        unload(self.parents)

    def make_room(self) -> None:
        if self.count >= (MOST_KEYS if self.keys else MOST_STATES):
            raise TooManyStates("there are too many states for a search on one machine")
        if self.count >= self.facts[packed.LIMIT]:
            if self.keys:
                self.keys.grow()
            else:
                slots = len(self.table)
                self.rebuild(2 * slots if slots < SMALL else int(slots * GROWTH))
        self._reserve(int(self.facts[packed.LEFT]))

    def pack(self, trees: Trees, base: int, fresh_base: int) -> None:
        """Switch to keys. The level being expanded begins with state `base`; the next one begins with `fresh_base`."""
        keys = missing(self.count)
        trees.add(self._stored[: self.count], keys)
        self.trees, self.base, self.table = trees, base, self.table[:0]
        self.rows, self.fresh = keys[base:fresh_base].copy(), keys[fresh_base:].copy()
        self.keys = KeyTable(self.kernels.module, self.facts, trees, self.count)
        self.facts[[packed.KNOWN, packed.BASE, packed.DONE]] = 0, fresh_base, 0
        self.keys.enter(keys)
        self._bind()

    def content(self) -> dict[str, np.ndarray[Any, Any]]:
        parents = self.parents[: self.count]
        if not self.compact:
            return {"parents": parents, "rows": self.read()}
        rows, fresh = self.rows[: self.fresh_base - self.base], self.fresh[: self.count - self.fresh_base]
        return {"parents": parents, "hashes": self.all_hashes(), "rows": rows, "fresh": fresh}

    def shapes(self, count: int, base: int, fresh_base: int) -> dict[str, tuple[np.dtype[Any], int]]:
        parents = self.parents.dtype, count
        if not self.compact:
            return {"parents": parents, "rows": (self.dtype, count)}
        rows, fresh = (self.dtype, fresh_base - base), (self.dtype, count - fresh_base)
        return {"parents": parents, "hashes": (np.dtype(np.uint64), count), "rows": rows, "fresh": fresh}

    def restore(self, arrays: dict[str, np.ndarray[Any, Any]], count: int, base: int, fresh_base: int) -> None:
        self.parents = arrays["parents"]
        if self.spill:
            self.parents = self._grown(self.parents, count, count)
        self.rows = arrays["rows"]
        self.facts[[packed.KNOWN, packed.BASE, packed.DONE]] = count, fresh_base, 0
        self.base = base
        if self.compact:
            self.fresh = arrays["fresh"]
            self.keys = KeyTable(self.kernels.module, self.facts, None, count)
            self.facts[packed.KNOWN] = 0
            self.keys.enter(arrays["hashes"])
            self._bind()
        else:
            self._bind()
            self.rebuild(0)

    def rebuild(self, slots: int) -> None:
        self.table = np.zeros(max(slots, int(self.count / FILL * GROWTH), FIRST_SLOTS), np.uint32)
        self.kernels.module.rebuild(self.table, self.all_hashes(), self.count)
        self._bind()

    def _reserve(self, more: int) -> None:
        wanted = self.count + more
        if wanted > len(self.parents):
            self.parents = self._grown(self.parents, wanted, self.count)
        if not self.keys and wanted > len(self.rows):
            self.rows = self._grown(self.rows, wanted, self.count)
        if self.keys and wanted - self.fresh_base > len(self.fresh):
            self.fresh = self._grown(self.fresh, wanted - self.fresh_base, self.count - self.fresh_base)
        self._bind()

    def _grown(self, array: np.ndarray[Any, Any], wanted: int, used: int) -> np.ndarray[Any, Any]:
        """Return a larger copy of an array, in a file if the search spills and states are keys."""
        size = max(1, wanted, (SPILL_GROWTH if self.spill else ROW_GROWTH) * len(array))  # files cannot be empty
        larger: np.ndarray[Any, Any]
        if self.spill and (self.keys or array is self.parents):
            try:
                larger = spilled(size, array.dtype, self.spill)
            except OSError as error:
                raise TooManyStates(f"there is no space left in {self.spill}: {error.strerror}") from error
        else:
            larger = reserved(size, array.dtype)
        larger[:used].view(np.uint8)[:] = array[:used].view(np.uint8)
        return larger

    def _words(self, rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        words: np.ndarray[Any, Any] = rows.view(np.uint64).reshape(len(rows), rows.dtype.itemsize // WORD)
        return words

    def _bind(self) -> None:
        facts = self.facts
        self._stored = self._words(self.fresh if self.keys else self.rows)
        facts[[packed.STORED, packed.KEPT]] = address_of(self._stored), len(self._stored)
        facts[packed.EXPANDED] = address_of(self.rows)
        facts[[packed.ANCESTORS, packed.ROOM]] = address_of(self.parents), len(self.parents)
        if not self.keys:
            facts[packed.LIMIT] = min(int(len(self.table) * FILL), MOST_STATES)
            facts[[packed.TABLE, packed.SLOTS]] = address_of(self.table), len(self.table)
