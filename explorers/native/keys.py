"""Storage of states as keys (see `packed.py`): the nodes of rows, and a table of keys for each partition."""

from collections.abc import Callable
from typing import Any

import numpy as np
from fencepost.explorers.native import packed
from fencepost.explorers.native.llvm.libraries import address_of, reserved
from fencepost.explorers.native.nodes import INDEX, INDEX_SLOTS, NODE_BITS, NODE_COUNT, NODE_ROOM, NODES, TREE
from fencepost.model.language.errors import MismatchError

Array = np.ndarray[Any, Any]

MOST_KEYS = (1 << 27) - 2
"""Maximum number of states in a partition, because a parent's number and owner share 32 bits."""
MOST_NODES = (1 << 31) - 2
FILL = 0.9
"""Maximum load factor of a table. Free slots cost memory, but too few free slots cost time."""
GROWTH = 1.125
FIRST_SLOTS = 1 << 10
SMALL = 1 << 15
"""Number of slots up to which tables grow by doubling."""
NODE_FILL = 0.8
NODE_GROWTH = 1.25
LEAST_BITS = 16
"""Minimum number of bits for a node's number, because a key's home depends on 32 bits of two node numbers."""
ENTERED = 1
TOGETHER = 256
"""Number of successors whose nodes are looked up together; their data fits in a fast cache."""
OPENED = 512
"""Number of rows decoded together."""


class Trees:
    def __init__(self, module: Any, words: int) -> None:
        self.module, self.words = module, words
        self.facts = np.zeros((2, TREE), np.int64)
        self.steps = steps_of(words)
        self.remembers = 1
        """Number of partitions whose lists of keys are cached."""
        self._listed: list[tuple[object, int, Array]] = []
        self.nodes = [np.empty(0, np.uint64)] * 2
        self.index = [np.empty(0, np.uint32)] * 2
        for half in range(2):
            self._grow(half)

    def room(self) -> Array:
        return np.empty((2 * len(self.steps), OPENED), np.uint64)

    @property
    def bits(self) -> tuple[int, int]:
        left, right = (max(LEAST_BITS, int(count).bit_length()) for count in self.facts[:, NODE_COUNT])
        return left, right

    @property
    def bytes(self) -> int:
        return int(sum(8 * self.facts[:, NODE_COUNT])) + sum(item.nbytes for item in self.index)

    def add(self, words: Array, keys: Array) -> None:
        """Replace the missing keys (n,) with the keys of these rows (n, words), and add new nodes."""
        first = 0
        while (first := self._key(words, keys, first, adds=True)) >= 0:
            for half in range(2):
                if self.facts[half, NODE_COUNT] == self.facts[half, NODE_ROOM]:
                    self._grow(half)

    def keys(self, words: Array) -> Array:
        keys = missing(len(words))
        self._key(words, keys, 0, adds=False)
        return keys

    def rows(self, keys: Array) -> Array:
        words = np.empty((len(keys), self.words), np.uint64)
        self.module.open_keys(self.facts, self.steps, keys, address_of(words), self.room())
        return words

    def remembered(self, owner: object, count: int, listed: Callable[[int], Array]) -> Array:
        for kept, many, keys in self._listed:
            if kept is owner and many == count:
                return keys
        keys = listed(count)
        self._listed = [*self._listed, (owner, count, keys)][-self.remembers :]
        return keys

    def _key(self, words: Array, keys: Array, first: int, *, adds: bool) -> int:
        now = np.empty((len(self.steps), 1), np.int64)
        return int(self.module.key_rows(self.facts, self.steps, words, keys, first, now, adds))

    def _grow(self, half: int) -> None:
        facts = self.facts[half]
        slots = max(FIRST_SLOTS, int(len(self.index[half]) * (NODE_GROWTH if len(self.index[half]) > SMALL else 2)))
        room = min(int(slots * NODE_FILL), MOST_NODES)
        nodes = reserved(room, np.uint64)
        nodes[: facts[NODE_COUNT]] = self.nodes[half][: facts[NODE_COUNT]]
        self.nodes[half], self.index[half] = nodes, np.zeros(slots, np.uint32)
        facts[[NODES, NODE_ROOM]] = address_of(nodes), room
        facts[[INDEX, INDEX_SLOTS, NODE_BITS]] = address_of(self.index[half]), slots, (room + 1).bit_length()
        self.module.index_nodes(facts)


def missing(count: int) -> Array:
    return np.full(count, packed.MISSING, np.uint64)


def steps_of(words: int) -> Array:
    """Return (tree, first, second) for each node of a row's first half, and then of its second half. If `second` is -1,
    `first` is a word; otherwise both numbers are earlier nodes. The last node of each half is the root.
    """
    found: list[tuple[int, int, int]] = []

    def make(half: int, first: int, last: int) -> int:
        if last - first == 1:
            found.append((half, first, -1))
        else:
            middle = first + (last - first + 1 - half) // 2  # of three words, the two at one end form a pair
            one = make(half, first, middle)
            found.append((half, one, make(half, middle, last)))
        return len(found) - 1

    make(0, 0, words // 2)
    make(1, words // 2, words)
    return np.array(found, np.int64)


class KeyTable:
    """A table that maps a partition's keys to state numbers. Without trees, the keys are fingerprints."""

    def __init__(self, module: Any, facts: Array, trees: Trees | None, states: int = 0) -> None:
        self.module, self.facts, self.trees = module, facts, trees
        facts[[packed.FIRST_LEFTS, packed.FIRST_RIGHTS]] = self._bits()
        self._make(max(FIRST_SLOTS, int(states / FILL * GROWTH)))

    @property
    def nbytes(self) -> int:
        return int(self.table.nbytes + self.numbers.nbytes)

    def listed(self, count: int) -> Array:
        keys = np.empty(count, np.uint64)
        self.module.list_keys(self.facts, keys)
        return keys

    def find(self, keys: Array) -> Array:
        found = np.empty(len(keys), np.int64)
        self.module.find_keys(self.facts, keys, found)
        return found

    def enter(self, keys: Array) -> None:
        """Insert the keys of states, some of which may be stored already; raise MismatchError if two keys are equal."""
        while (found := self.module.enter_keys(self.facts, keys)) != ENTERED:
            if found:
                raise MismatchError("two stored states of a search are equal. Please report this.")
            self.grow()

    def fit(self) -> None:
        if (self.facts[packed.LEFTS], self.facts[packed.RIGHTS]) != self._bits():
            self._widen(int(self.facts[packed.SLOTS]))

    def grow(self) -> None:
        slots = int(self.facts[packed.SLOTS])
        self._widen(2 * slots if slots < SMALL else int(slots * GROWTH))

    def _widen(self, slots: int) -> None:
        old, before = self.facts.copy(), (self.table, self.numbers)
        self._make(slots)
        while not self.module.widen(old, self.facts):
            slots = int(slots * GROWTH)
            self._make(slots)
        del before

    def _make(self, slots: int) -> None:
        """Create an empty table. An entry stores only those bits of a key that are not determined by the entry's slot.
        An entry is at most `REACH` slots after its key's home.
        """
        lefts, rights = self._bits()
        size = lefts + rights or packed.FINGERPRINT_BITS
        open_bits = (((packed.REACH + 2) << size) // slots + (1 << (size - 31))).bit_length()
        limit = min(int(slots * FILL), MOST_KEYS)
        width, number_bits = open_bits + 2, limit.bit_length()
        places = slots + packed.REACH + 1
        self.table, self.numbers = (np.zeros(places * bits // 64 + 2, np.uint64) for bits in (width, number_bits))
        facts = self.facts
        facts[packed.LEFTS], facts[packed.RIGHTS], facts[packed.SIZE] = lefts, rights, size
        facts[packed.SLOTS], facts[packed.LIMIT] = slots, limit
        facts[[packed.TABLE, packed.WIDTH]] = address_of(self.table), width
        facts[[packed.NUMBERS, packed.NUMBER_BITS]] = address_of(self.numbers), number_bits

    def _bits(self) -> tuple[int, int]:
        return self.trees.bits if self.trees else (0, 0)
