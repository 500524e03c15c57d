"""Exact storage of a large search: each row becomes a pair of numbers, and only a few of their bits are stored.

The words of a row are the leaves of two binary trees, one over each half. A node is a word, or the pair of its
children's numbers. Each distinct node is stored once and has a number, so two rows are equal if and only if their two
roots have equal numbers. The pair of the roots' numbers is the state's *key*. All partitions share the nodes. During
expansion, workers only look nodes up; between rounds, one worker inserts the missing nodes in order. Node numbers do
not depend on the number of workers, and no locks are needed.

A partition's keys are stored in a table, sorted by an invertible scrambling of their bits. The first bits of a key
determine its *home*. A key is stored in its home or at most `REACH` slots later, after all smaller keys, so a given
slot has at most `REACH` possible homes. Only the remaining bits are stored, together with one bit for the order, and
one bit that is always set because an all-zero slot is free. A parallel array contains the states' numbers. When a table
grows, it is copied in order.

Fingerprints are stored as keys too, but without nodes. The kernels in `kernels.py` call this module's functions.
"""
# mypy: ignore-errors

from __future__ import annotations

import numpy as np
from fencepost.explorers.native.llvm.types import helper, kernel, prefetch, u32s, u64s, u64ss

OWNERS = 32
OWNER_BITS, OWNER_SHIFT = 5, 59
AHEAD = 8
"""Keys are looked up, and states that may be equal are prefetched, this many successors in advance."""
FAR = 16
"""The table and the successor are prefetched this many successors in advance."""
FARTHEST = 48
"""Hashes are prefetched this many successors in advance."""
RING = 16
"""Number of slots that are looked up in advance and held at the front of a queue."""
KNOWN, BASE, LIMIT, TABLE, SLOTS, STORED, KEPT = 0, 1, 2, 3, 4, 5, 6
ANCESTORS, ROOM, DONE, LEFT, EXPANDED = 7, 8, 9, 10, 11
"""Indices of data about an owner that `insert` reads: the number of states, the first stored row, the number of states
that the table may hold, the addresses and lengths of the table, the rows and the parents, the number of successors
after which `insert` stopped, the number of remaining successors, and the address of the current level's rows.
"""
LEFTS, RIGHTS, FIRST_LEFTS, FIRST_RIGHTS, SIZE = 12, 13, 14, 15, 16
"""Indices of the data about a partition that stores states as keys: the number of bits in each of a key's two numbers,
now and when the search began to use keys. If these numbers are all 0, keys are fingerprints.
"""
WIDTH, NUMBERS, NUMBER_BITS = 17, 18, 19
FACTS = 20
"""Indices of three numbers: the bits per table slot, the address of the state numbers, and the bits per number."""
REACH = 64
"""A key may be stored up to `REACH` slots after its home."""
MISSING = 0xFFFFFFFFFFFFFFFF
"""Key of a row that contains an unknown node."""
TOPS = 0xFFFFFFFFFFFFFFFE
"""Key of a row in which only root nodes are unknown."""
FINGERPRINT_BITS = 59
"""Number of bits of a fingerprint, excluding the bits that determine the owner."""


@helper
def ones(bits):
    return np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(64 - bits)


@helper
def field(words, at, bits):
    word, shift = at >> 6, at & 63
    above = (words[word + 1] << np.uint64(1)) << np.uint64(63 - shift)
    return ((words[word] >> np.uint64(shift)) | above) & ones(bits)


@helper
def set_field(words, at, bits, value):
    word, shift = at >> 6, at & 63
    words[word] = (words[word] & ~(ones(bits) << np.uint64(shift))) | (value << np.uint64(shift))
    if shift + bits > 64:
        above = np.uint64(64 - shift)
        words[word + 1] = (words[word + 1] & ~(ones(bits) >> above)) | (value >> above)


@helper
def push(words, first, free, bits, value):
    """Shift the fields between bits `first` and `free` up by one field width, and write a value at `first`."""
    low, high = first >> 6, (free + bits - 1) >> 6
    before = (np.uint64(1) << np.uint64(first & 63)) - np.uint64(1)
    moved = (np.uint64(2) << np.uint64((free + bits - 1) & 63)) - np.uint64(1)
    head, tail = words[low] & before, words[high] & ~moved
    for back in range(high - low):
        word = high - back
        words[word] = (words[word] << np.uint64(bits)) | (words[word - 1] >> np.uint64(64 - bits))
    words[low] = words[low] << np.uint64(bits)
    words[high] = (words[high] & moved) | tail
    words[low] = (words[low] & ~before) | head
    set_field(words, first, bits, value)


# -- keys and their places


@helper
def scrambled(bits, size):
    """Return a random-looking number of `size` bits; different inputs give different numbers."""
    half, mask = np.uint64((size + 1) >> 1), ones(size)
    mixed = ((bits ^ (bits >> half)) * np.uint64(0xD6E8FEB86659FD93)) & mask
    return ((mixed ^ (mixed >> half)) * np.uint64(0xC4CEB9FE1A85EC53)) & mask


@helper
def unscrambled(bits, size):
    half, mask = np.uint64((size + 1) >> 1), ones(size)
    mixed = (bits * np.uint64(UNDO_LAST)) & mask
    mixed = ((mixed ^ (mixed >> half)) * np.uint64(UNDO_FIRST)) & mask
    return mixed ^ (mixed >> half)


UNDO_FIRST, UNDO_LAST = 0xCFEE444D8B59A89B, 0x9CB4B2F8129337DB
"""Inverse of the multiplications in `scrambled`, modulo 2**64."""


@helper
def placed(key, lefts, rights, first_lefts, first_rights):
    """Return the bits of a key that determine its slot. Later bits are appended, so that the order is stable."""
    if lefts == 0:
        return key & ones(FINGERPRINT_BITS)
    left, right = key & np.uint64(0xFFFFFFFF), key >> np.uint64(32)
    low = ((left & ones(first_lefts)) << np.uint64(first_rights)) | (right & ones(first_rights))
    bits = scrambled(low, first_lefts + first_rights) << np.uint64(lefts - first_lefts)
    bits = (bits | (left >> np.uint64(first_lefts))) << np.uint64(rights - first_rights)
    return bits | (right >> np.uint64(first_rights))


@helper
def unplaced(bits, lefts, rights, first_lefts, first_rights):
    if lefts == 0:
        return bits
    more_left, more_right = lefts - first_lefts, rights - first_rights
    right = (bits & ((np.uint64(1) << np.uint64(more_right)) - np.uint64(1))) << np.uint64(first_rights)
    bits = bits >> np.uint64(more_right)
    left = (bits & ((np.uint64(1) << np.uint64(more_left)) - np.uint64(1))) << np.uint64(first_lefts)
    low = unscrambled(bits >> np.uint64(more_left), first_lefts + first_rights)
    left, right = left | (low >> np.uint64(first_rights)), right | (low & ones(first_rights))
    return left | (right << np.uint64(32))


@helper
def home_of(bits, size, slots):
    """Return the home of a key of `size` bits: its first 32 bits, scaled to the table's size."""
    return np.int64(((bits >> np.uint64(size - 32)) * np.uint64(slots)) >> np.uint64(32))


@helper
def whole(entry, slot, size, slots, width):
    """Return all bits of the key in a slot: the greatest key with the stored bits that this slot can contain."""
    most = ((np.uint64(min(slot + 1, slots)) << np.uint64(32)) + np.uint64(slots - 1)) // np.uint64(slots)
    return greatest(entry, most, size, width)


@helper
def greatest(entry, first, size, width):
    """Return the greatest key with these last bits that is below every key whose first 32 bits are `first`."""
    most = (first << np.uint64(size - 32)) - np.uint64(1)
    return most - ((most - entry) & ones(width - 1))


@helper
def sought(table, bits, size, slots, width):
    """Return a key's slot, or the first slot that is free or contains a greater key."""
    kept = ones(width - 1)
    slot = home_of(bits, size, slots)
    at = slot * width
    entry = field(table, at, width)
    while entry != np.uint64(0):
        ahead = (entry - bits) & kept
        if ahead <= kept >> np.uint64(1):  # the key itself, or a greater key
            break
        at += width
        slot += 1
        entry = field(table, at, width)
    return slot


@helper
def is_at(table, bits, slot, width):
    entry = field(table, slot * width, width)
    return entry != np.uint64(0) and (entry ^ bits) << np.uint64(65 - width) == np.uint64(0)


@helper
def enter(part, bits, slot, number):
    """Insert a key into the slot that `sought` returned. Return False if a key would end up too far from its home."""
    slots, size, width, number_bits = part[SLOTS], part[SIZE], part[WIDTH], part[NUMBER_BITS]
    table, numbers = u64s(part[TABLE], 0), u64s(part[NUMBERS], 0)
    home = home_of(bits, size, slots)
    free = slot
    while field(table, free * width, width) != np.uint64(0):
        free += 1
    if free >= slots + REACH or slot - home >= REACH:
        return False
    for moved in range(max(slot, home + REACH - 1), free):
        entry = whole(field(table, moved * width, width), moved, size, slots, width)
        if moved + 1 - home_of(entry, size, slots) >= REACH:
            return False
    flag = np.uint64(1) << np.uint64(width - 1)
    push(table, slot * width, free * width, width, (bits & ones(width - 1)) | flag)
    push(numbers, slot * number_bits, free * number_bits, number_bits, np.uint64(number))
    return True


# -- the states of a partition


@helper
def is_new(part, key):
    """Return whether the table lacks a key; if so, prefetch the memory for the key's number."""
    slots, size, width = part[SLOTS], part[SIZE], part[WIDTH]
    table, numbers = u64s(part[TABLE], 0), u64s(part[NUMBERS], 0)
    bits = placed(key, part[LEFTS], part[RIGHTS], part[FIRST_LEFTS], part[FIRST_RIGHTS])
    slot = sought(table, bits, size, slots, width)
    if is_at(table, bits, slot, width):
        return 0
    word = slot * part[NUMBER_BITS] >> 6
    prefetch(numbers, word)
    prefetch(numbers, word + 8)
    return 1


@helper
def put_keys(words, keys, parents, size, part, queue):
    position, known, base, limit = part[DONE], part[KNOWN], part[BASE], part[LIMIT]
    part[LEFT] = size - position
    if known + size - position > part[ROOM] or known - base + size - position > part[KEPT]:
        return False
    slots, bits, width = part[SLOTS], part[SIZE], part[WIDTH]
    lefts, rights, first_lefts, first_rights = part[LEFTS], part[RIGHTS], part[FIRST_LEFTS], part[FIRST_RIGHTS]
    table = u64s(part[TABLE], 0)
    stored = u64ss(part[STORED], part[KEPT], words.shape[1])
    ancestors = u32s(part[ANCESTORS], part[ROOM])
    for ahead in range(position, min(position + FARTHEST, size)):
        prefetch(keys, queue[RING + ahead])
    for ahead in range(position, min(position + AHEAD, size)):
        queue[ahead % RING] = is_new(part, keys[queue[RING + ahead]])
    for at in range(position, size):
        if at + FARTHEST < size:
            prefetch(keys, queue[RING + at + FARTHEST])
        if at + FAR < size:
            far = placed(keys[queue[RING + at + FAR]], lefts, rights, first_lefts, first_rights)
            prefetch(table, home_of(far, bits, slots) * width >> 6)
        if at + AHEAD < size:
            queue[(at + AHEAD) % RING] = is_new(part, keys[queue[RING + at + AHEAD]])
        if queue[at % RING] != 0:
            n = queue[RING + at]
            key = placed(keys[n], lefts, rights, first_lefts, first_rights)
            slot = sought(table, key, bits, slots, width)
            if not is_at(table, key, slot, width):  # an equal key may have been inserted in the meantime
                if known >= limit or not enter(part, key, slot, known):
                    part[KNOWN] = known
                    part[LIMIT] = known
                    part[DONE] = at
                    part[LEFT] = size - at
                    return False
                for word in range(words.shape[1]):
                    stored[known - base, word] = words[n, word]
                ancestors[known] = parents[n]
                known += 1
    part[KNOWN] = known
    part[DONE] = 0
    return True


# -- as kernels


@kernel
def widen(old: I64s, new: I64s) -> I64:
    """Copy a partition's states in order into a larger table, or one with wider keys; return whether all states fit."""
    slots, size, width, number_bits = old[SLOTS], old[SIZE], old[WIDTH], old[NUMBER_BITS]
    table, numbers = u64s(old[TABLE], 0), u64s(old[NUMBERS], 0)
    new_slots, new_size, new_width = new[SLOTS], new[SIZE], new[WIDTH]
    wide, names = u64s(new[TABLE], 0), u64s(new[NUMBERS], 0)
    free = np.int64(0)
    # (slot + 1) * 2**32 / slots, which `whole` needs, is computed incrementally, because divisions are slow
    all_slots, whole_part, rest = np.uint64(slots), np.uint64(0), np.uint64(0)
    each = (np.uint64(1) << np.uint64(32)) // all_slots
    each_rest = (np.uint64(1) << np.uint64(32)) - each * all_slots
    for slot in range(slots + REACH):
        if slot < slots:
            whole_part += each
            rest += each_rest
            if rest >= all_slots:
                rest -= all_slots
                whole_part += np.uint64(1)
        entry = field(table, slot * width, width)
        if entry != np.uint64(0):
            bits = greatest(entry, whole_part + np.uint64(rest != np.uint64(0)), size, width)
            if size != new_size:
                key = unplaced(bits, old[LEFTS], old[RIGHTS], old[FIRST_LEFTS], old[FIRST_RIGHTS])
                bits = placed(key, new[LEFTS], new[RIGHTS], new[FIRST_LEFTS], new[FIRST_RIGHTS])
            home_ = home_of(bits, new_size, new_slots)
            free = max(free, home_)
            if free - home_ >= REACH:
                return 0
            flag = np.uint64(1) << np.uint64(new_width - 1)
            set_field(wide, free * new_width, new_width, (bits & (flag - np.uint64(1))) | flag)
            number = field(numbers, slot * number_bits, number_bits)
            set_field(names, free * new[NUMBER_BITS], new[NUMBER_BITS], number)
            free += 1
    return 1


@kernel
def list_keys(part: I64s, keys: U64s) -> None:
    slots, size, width, number_bits = part[SLOTS], part[SIZE], part[WIDTH], part[NUMBER_BITS]
    table, numbers = u64s(part[TABLE], 0), u64s(part[NUMBERS], 0)
    for slot in range(slots + REACH):
        entry = field(table, slot * width, width)
        if entry != np.uint64(0):
            bits = whole(entry, slot, size, slots, width)
            key = unplaced(bits, part[LEFTS], part[RIGHTS], part[FIRST_LEFTS], part[FIRST_RIGHTS])
            keys[field(numbers, slot * number_bits, number_bits)] = key


@kernel
def enter_keys(part: I64s, keys: U64s) -> I64:
    """Insert the keys of states, starting with the first state whose key is not in the table. Return 1 if all keys were
    inserted, 0 if there was too little room, and 2 if two keys are equal.
    """
    slots, size, width = part[SLOTS], part[SIZE], part[WIDTH]
    table = u64s(part[TABLE], 0)
    for number in range(part[KNOWN], keys.shape[0]):
        bits = placed(keys[number], part[LEFTS], part[RIGHTS], part[FIRST_LEFTS], part[FIRST_RIGHTS])
        slot = sought(table, bits, size, slots, width)
        if is_at(table, bits, slot, width):
            return 2
        if number >= part[LIMIT] or not enter(part, bits, slot, number):
            return 0
        part[KNOWN] = number + 1
    return 1


@kernel
def find_keys(part: I64s, keys: U64s, out: I64s) -> None:
    """Write the number of each key's state, or -1 if the state is not stored."""
    slots, size, width, number_bits = part[SLOTS], part[SIZE], part[WIDTH], part[NUMBER_BITS]
    table, numbers = u64s(part[TABLE], 0), u64s(part[NUMBERS], 0)
    for n in range(keys.shape[0]):
        out[n] = -1
        if part[LEFTS] == 0 or keys[n] != np.uint64(MISSING):
            bits = placed(keys[n], part[LEFTS], part[RIGHTS], part[FIRST_LEFTS], part[FIRST_RIGHTS])
            slot = sought(table, bits, size, slots, width)
            if is_at(table, bits, slot, width):
                out[n] = np.int64(field(numbers, slot * number_bits, number_bits))
