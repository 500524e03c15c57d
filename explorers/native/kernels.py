"""Kernels that do not depend on a machine: hashing, sorting by owner, insertion and lookup.

The kernels are compiled only once, because they read the width of a row from their array arguments.
`explorers/native/llvm/` compiles this file's source, which also runs as plain Python with numpy numbers.
"""
# mypy: ignore-errors

from __future__ import annotations

import numpy as np
from fencepost.explorers.native.llvm.types import helper, kernel, prefetch, take, u32s, u64s, u64ss
from fencepost.explorers.native.nodes import key_successors, opened_rows
from fencepost.explorers.native.packed import (
    AHEAD, ANCESTORS, DONE, FAR, FARTHEST, KEPT, KNOWN, LEFT, LIMIT, OWNER_SHIFT, OWNERS, RING, ROOM, SLOTS, STORED,
    TABLE, put_keys,
)  # fmt: skip

ROWS, FIRST, LAST, NUMBER, DEAD, END = 0, 1, 2, 3, 4, 5
PIECE = 6
"""Number of entries in a row of `pieces`."""


@helper
def hash_row(words, row):
    """Return a row's 64-bit hash. Each step is invertible, so changing one word always changes the hash."""
    h = np.uint64(0x9E3779B97F4A7C15)
    for word in range(words.shape[1]):
        h = (h ^ words[row, word]) * np.uint64(0xD6E8FEB86659FD93)
        h ^= h >> np.uint64(32)
    h *= np.uint64(0xFF51AFD7ED558CCD)
    h ^= h >> np.uint64(29)
    h *= np.uint64(0xC4CEB9FE1A85EC53)
    return h ^ (h >> np.uint64(32))


@kernel
def hash_rows(words: U64ss, hashes: U64s) -> None:
    for row in range(words.shape[0]):
        hashes[row] = hash_row(words, row)


@kernel
def order_by_owner(hashes: U64s, count: I64, starts: I64s, order: U32s) -> None:
    """Write the successors' numbers, stably sorted by owner. `starts` receives each owner's first position."""
    for owner in range(OWNERS + 1):
        starts[owner] = 0
    for n in range(count):
        starts[(hashes[n] >> np.uint64(OWNER_SHIFT)) + np.uint64(1)] += 1
    for owner in range(OWNERS):
        starts[owner + 1] += starts[owner]
    for n in range(count):
        owner = np.int64(hashes[n] >> np.uint64(OWNER_SHIFT))
        order[starts[owner]] = n
        starts[owner] += 1
    for owner in range(OWNERS, 0, -1):
        starts[owner] = starts[owner - 1]
    starts[0] = 0


@helper
def count_ends(alive, first, last, ends, at):
    for row in range(last - first):
        if alive[row] == 0:
            ends[at] += 1
            if ends[at + 1] < 0:
                ends[at + 1] = first + row


@kernel
def close(alive: U8s, first: I64, last: I64, ends: I64s) -> None:
    """Count the states first..last-1 that have no successor; write the count and the first such state to `ends`."""
    count_ends(alive, first, last, ends, 0)


@helper
def home(h, slots):
    """Return the first slot to probe: the low half of the hash, scaled to the table's size."""
    return ((h & np.uint64(0xFFFFFFFF)) * slots) >> np.uint64(32)


@helper
def tagged(h, index):
    """Return a table entry: 8 bits of the hash, and the state's number plus one in 24 bits."""
    return np.uint32((((h >> np.uint64(32)) & np.uint64(0xFF)) << np.uint64(24)) | np.uint64(index + 1))


@helper
def seen(table, h, slots):
    """Return the first slot, starting at the home slot, that is empty or has the tag of this hash."""
    tag = tagged(h, -1)
    slot = home(h, slots)
    while table[slot] != 0 and table[slot] & np.uint32(0xFF000000) != tag:
        slot += np.uint64(1)
        if slot == slots:
            slot = np.uint64(0)
    return slot


@helper
def look(table, stored, h, slots):
    """Return the slot at which the search for a state continues, and prefetch the stored state that may equal it."""
    slot = seen(table, h, slots)
    index = np.int64(table[slot] & np.uint32(0x00FFFFFF)) - 1
    prefetch(stored, index, 0)
    prefetch(stored, index, stored.shape[1] - 1)
    return np.int64(slot)


@helper
def line_up(order, starts, batches, owner, queue):
    """Write the positions of an owner's successors in all batches, in batch order; return the number of successors."""
    size = 0
    for batch in range(batches):
        for position in range(starts[batch, owner], starts[batch, owner + 1]):
            queue[RING + size] = batch * order.shape[1] + order[batch, position]
            size += 1
    return size


@helper
def put(words, hashes, parents, size, part, queue):
    """Insert the queued successors; return whether every successor was inserted."""
    width = words.shape[1]
    position, known, limit = part[DONE], part[KNOWN], part[LIMIT]
    part[LEFT] = size - position
    if known + size - position > part[ROOM] or known + size - position > part[KEPT]:
        return False
    slots = np.uint64(part[SLOTS])
    table = u32s(part[TABLE], part[SLOTS])
    stored = u64ss(part[STORED], part[KEPT], width)
    ancestors = u32s(part[ANCESTORS], part[ROOM])
    for ahead in range(position, min(position + FARTHEST, size)):
        prefetch(hashes, queue[RING + ahead])
    for ahead in range(position, min(position + FAR, size)):
        prefetch(table, home(hashes[queue[RING + ahead]], slots))
    for ahead in range(position, min(position + AHEAD, size)):
        queue[ahead % RING] = look(table, stored, hashes[queue[RING + ahead]], slots)
    for at in range(position, size):
        if at + FARTHEST < size:
            prefetch(hashes, queue[RING + at + FARTHEST])
        if at + FAR < size:
            coming = queue[RING + at + FAR]
            prefetch(table, home(hashes[coming], slots))
            prefetch(words, coming, 0)
            prefetch(words, coming, width - 1)
            prefetch(parents, coming)
        if at + AHEAD < size:
            far = hashes[queue[RING + at + AHEAD]]
            queue[(at + AHEAD) % RING] = look(table, stored, far, slots)
        n = queue[RING + at]
        tag = tagged(hashes[n], -1)
        slot = np.uint64(queue[at % RING])
        fresh = True
        while table[slot] != 0:
            entry = table[slot]
            if entry & np.uint32(0xFF000000) == tag:
                index = np.int64(entry & np.uint32(0x00FFFFFF)) - 1
                difference = np.uint64(0)
                for word in range(width):
                    difference |= stored[index, word] ^ words[n, word]
                if difference == np.uint64(0):
                    fresh = False
                    break
            slot += np.uint64(1)
            if slot == slots:
                slot = np.uint64(0)
        if fresh:
            if known >= limit:
                part[KNOWN] = known
                part[DONE] = at
                part[LEFT] = size - at
                return False
            table[slot] = tagged(hashes[n], known)
            for word in range(width):
                stored[known, word] = words[n, word]
            ancestors[known] = parents[n]
            known += 1
    part[KNOWN] = known
    part[DONE] = 0
    return True


@kernel
def insert(
    words: U64ss, hashes: U64s, parents: U32s, order: U32ss, starts: I64ss, parts: I64ss, first: I64, place: I64s,
    tasks: I64s, queue: I64s, keyed: I64,
) -> I64:  # fmt: skip
    """Insert each owner's successors from some batches, in order.

    Return the first owner whose partition needs more room, or -1 if none does.

    `parts` has a row for each owner, beginning with `first`: the addresses and sizes of the arrays with the owner's
    states. `place` = [owner to continue with, or -1; number of batches]. Further owners are taken from `tasks`, a
    counter that several callers may share. If `keyed`, `hashes` contains the keys that identify states, and only the
    words of the new level are stored. `queue` is working memory.
    """
    owner = place[0]
    if owner < 0:
        owner = first + take(tasks)
    while owner < first + parts.shape[0]:
        size = line_up(order, starts, place[1], owner, queue)
        if keyed:
            taken = put_keys(words, hashes, parents, size, parts[owner - first], queue)
        else:
            taken = put(words, hashes, parents, size, parts[owner - first], queue)
        if not taken:
            place[0] = owner
            return owner
        owner = first + take(tasks)
    place[0] = -1
    return -1


@kernel
def expand_pieces(
    expand: Expand, e: Checks, pieces: I64ss, c: Constants, words: U64sss, hashes: U64ss, parents: U32ss, order: U32ss,
    starts: I64ss, fired: I64s, refused: I64s, found: I64ss, alive: U8s, tasks: I64s, watched: I64s,
    trees: I64ss, steps: I64ss, opened_to: I64, opened: U64ss, now: I64ss,
) -> I64:  # fmt: skip
    """Expand batches of a level, each into its own buffer, and sort their successors by owner.

    A batch specifies the position of its rows, the range to expand, and the state numbers. The kernel adds the number
    of rows without a successor, and the first such row, to the batch. `tasks` = [next batch, number of batches] may be
    shared by several callers. With `trees`, states are stored as keys, so they are first decoded to rows, and the
    hashes of successors are replaced by keys. Return the number of a batch after which one of the `watched` positions
    of `e` is nonzero, or -1 if there is none.
    """
    n = take(tasks)
    while n < tasks[1]:
        first, last = pieces[n, FIRST], pieces[n, LAST]
        for row in range(last - first):
            alive[row] = 0
        rows = pieces[n, ROWS]
        if trees.shape[0] > 0:
            rows = opened_rows(trees, steps, rows, first, last, opened_to, opened)
        count = expand(
            e, u64s(rows, 0), first, last, pieces[n, NUMBER], c, words[n], hashes[n], parents[n], 0,
            fired, refused, found[n], alive,
        )  # fmt: skip
        count_ends(alive, first, last, pieces[n], DEAD)
        order_by_owner(hashes[n], count, starts[n], order[n])
        if trees.shape[0] > 0:
            number = pieces[n, NUMBER] + first * OWNERS
            key_successors(trees, steps, words[n], hashes[n], parents[n], count, opened, number, now)
        for place in range(watched.shape[0]):
            if e[watched[place]] != 0:
                return n
        n = take(tasks)
    return -1


@kernel
def judge_pieces(
    judge: Judge, e: Checks, pieces: I64ss, c: Constants, found: I64ss, tasks: I64s,
    trees: I64ss, steps: I64ss, opened_to: I64, opened: U64ss,
) -> I64:  # fmt: skip
    """Check the properties of states in batches, as in `expand_pieces`. Return the number of a batch with a failed
    check, or -1 if no check failed.
    """
    n = take(tasks)
    while n < pieces.shape[0]:
        first, last = pieces[n, FIRST], pieces[n, LAST]
        many = opened.shape[1] if trees.shape[0] > 0 else last - first
        while first < last:
            some, rows = min(first + many, last), pieces[n, ROWS]
            if trees.shape[0] > 0:
                rows = opened_rows(trees, steps, rows, first, some, opened_to, opened)
            judge(e, u64s(rows, 0), first, some, c, found[n])
            if e[0] != 0:
                return n
            first = some
        n = take(tasks)
    return -1


@kernel
def rebuild(table: U32s, hashes: U64s, count: I64) -> None:
    """Insert the distinct states 0..count-1, with these `hashes`, into an empty table."""
    slots = np.uint64(table.shape[0])
    for index in range(count):
        if index + FAR < count:
            prefetch(table, home(hashes[index + FAR], slots))
        slot = home(hashes[index], slots)
        while table[slot] != 0:
            slot += np.uint64(1)
            if slot == slots:
                slot = np.uint64(0)
        table[slot] = tagged(hashes[index], index)


@kernel
def find(
    words: U64ss, hashes: U64s, order: U32s, first: I64, last: I64, table: U32s, stored: U64ss, out: I64s, base: I64
) -> None:
    """Write the number, plus `base`, of each state in order[first:last], or -1 if the state is not stored."""
    slots = np.uint64(table.shape[0])
    for position in range(first, last):
        if position + AHEAD < last:
            prefetch(table, home(hashes[order[position + AHEAD]], slots))
        n = order[position]
        tag = tagged(hashes[n], -1)
        slot = home(hashes[n], slots)
        out[n] = -1
        while table[slot] != 0:
            entry = table[slot]
            if entry & np.uint32(0xFF000000) == tag:
                index = np.int64(entry & np.uint32(0x00FFFFFF)) - 1
                same = True
                for word in range(words.shape[1]):
                    if stored[index, word] != words[n, word]:
                        same = False
                        break
                if same:
                    out[n] = base + index
                    break
            slot += np.uint64(1)
            if slot == slots:
                slot = np.uint64(0)

