"""Kernels that do not depend on a machine: hashing, ordering by owner, insertion, looking up.

They are compiled once for all machines, the width of a row being that of the arrays they get. `explorers/native/llvm/`
translates this text; it also runs as plain Python, with numpy's numbers.
"""
# mypy: ignore-errors

from __future__ import annotations

import numpy as np
from fencepost.explorers.native.llvm.declare import helper, kernel, prefetch

OWNERS = 32
OWNER_SHIFT = 59
AHEAD = 8
"""How many successors ahead the state that one may equal is prefetched."""
FAR = 16
"""How many successors ahead the table is prefetched, and the successor itself."""


@helper
def hash_row(words, row):
    """Return a 64-bit hash of a row: every step is invertible for a fixed rest, so one changed word changes it."""
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
    """Write the hash of each row."""
    for row in range(words.shape[0]):
        hashes[row] = hash_row(words, row)


@kernel
def order_by_owner(hashes: U64s, count: I64, starts: I64s, order: U32s) -> None:
    """Write the successors' numbers sorted by owner, stable; `starts` gets where each owner's share begins."""
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


@kernel
def close(alive: U8s, first: I64, last: I64, ends: I64s) -> None:
    """Count the states first..last-1 without a successor: `ends` = [how many, the first of them]."""
    for row in range(last - first):
        if alive[row] == 0:
            ends[0] += 1
            if ends[1] < 0:
                ends[1] = first + row


@helper
def home(h, slots):
    """Return the first slot to try: the low half of the hash scaled to the table's size."""
    return ((h & np.uint64(0xFFFFFFFF)) * slots) >> np.uint64(32)


@helper
def tagged(h, index):
    """Return a table entry: 8 bits of the hash and the number of the state, plus one, in 24 bits."""
    return np.uint32((((h >> np.uint64(32)) & np.uint64(0xFF)) << np.uint64(24)) | np.uint64(index + 1))


@helper
def seen(table, h, slots):
    """Return the first slot, from home on, with the tag of this hash or with nothing."""
    tag = tagged(h, -1)
    slot = home(h, slots)
    while table[slot] != 0 and table[slot] & np.uint32(0xFF000000) != tag:
        slot += np.uint64(1)
        if slot == slots:
            slot = np.uint64(0)
    return slot


@kernel
def insert(
    words: U64sss, hashes: U64ss, parents: U32ss, order: U32ss, starts: I64ss, batches: I64, owner: I64, place: I64s, table: U32s,
    stored: U64ss, fingerprints: U64s, ancestors: U32s, counts: I64s, limit: I64, compact: I64,
) -> I64:  # fmt: skip
    """Insert one owner's share of the successors of `batches` batches, in order; return whether all were taken.

    `place` = [batch, position] says where to go on. `stored` holds the owner's rows (`compact`: only those of the new
    level), `fingerprints` its hashes (`compact` only), `ancestors` its parents, `counts` = [states, first row
    kept]. It stops when the table holds `limit` states, or when a batch has more successors than there is room for.
    """
    width = words.shape[2]
    slots = np.uint64(table.shape[0])
    known = counts[0]
    base = counts[1]
    room = ancestors.shape[0]
    kept = stored.shape[0]
    tag_bits = np.uint32(0xFF000000)
    index_bits = np.uint32(0x00FFFFFF)
    for batch in range(place[0], batches):
        first = max(starts[batch, owner], place[1])
        last = starts[batch, owner + 1]
        place[0] = batch
        place[1] = first
        if known + last - first > room or known - base + last - first > kept:
            counts[0] = known
            return False
        for position in range(first, last):
            if position + FAR < last:
                coming = order[batch, position + FAR]
                prefetch(table, home(hashes[batch, coming], slots))
                prefetch(words, batch, coming, 0)
                prefetch(words, batch, coming, width - 1)
            if position + AHEAD < last:
                entry = table[seen(table, hashes[batch, order[batch, position + AHEAD]], slots)]
                index = np.int64(entry & index_bits) - 1
                if entry != 0 and compact:
                    prefetch(fingerprints, index)
                elif entry != 0:
                    prefetch(stored, index, 0)
                    prefetch(stored, index, width - 1)
            n = order[batch, position]
            h = hashes[batch, n]
            tag = tagged(h, -1)
            slot = home(h, slots)
            found = False
            while table[slot] != 0:
                entry = table[slot]
                if entry & tag_bits == tag:
                    index = np.int64(entry & index_bits) - 1
                    if compact:
                        found = fingerprints[index] == h
                    else:
                        found = True
                        for word in range(width):
                            if stored[index, word] != words[batch, n, word]:
                                found = False
                                break
                    if found:
                        break
                slot += np.uint64(1)
                if slot == slots:
                    slot = np.uint64(0)
            if not found:
                if known >= limit:
                    counts[0] = known
                    place[1] = position
                    return False
                table[slot] = tagged(h, known)
                for word in range(width):
                    stored[known - base, word] = words[batch, n, word]
                if compact:
                    fingerprints[known] = h
                ancestors[known] = parents[batch, n]
                known += 1
        place[1] = 0
    counts[0] = known
    return True


@kernel
def rebuild(table: U32s, hashes: U64s, count: I64) -> None:
    """Enter the states 0..count-1, all different, into an empty table; `hashes` are theirs."""
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
    """Write the numbers of the states in order[first:last], `base` added; -1 for one that is not stored."""
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
