"""The nodes of rows: encoding a row as a pair of node numbers, and decoding it. `packed.py` explains nodes."""
# mypy: ignore-errors

from __future__ import annotations

import numpy as np
from fencepost.explorers.native.llvm.types import helper, kernel, prefetch, u32s, u64s, u64ss
from fencepost.explorers.native.packed import MISSING, OWNER_BITS, TOPS, ones

NODES_AHEAD = 16
"""Index slots are prefetched this many nodes before they are used."""
NODES, NODE_ROOM, NODE_COUNT, INDEX, INDEX_SLOTS, NODE_BITS = 0, 1, 2, 3, 4, 5
TREE = 6
"""Number of values that describe one of the two trees: the address, the capacity and the number of the nodes, the
address and the length of the index, and the number of bits that an index entry uses for a node's number plus one. The
other bits of an index entry contain part of the node's hash.
"""
LINES = 6

@helper
def node_of(tree, value, adds):
    """Return a node's number, or -1 if the node is missing and cannot be added."""
    index, nodes = u32s(tree[INDEX], tree[INDEX_SLOTS]), u64s(tree[NODES], tree[NODE_ROOM])
    slots, bits, h = np.uint64(tree[INDEX_SLOTS]), np.uint64(tree[NODE_BITS]), node_hash(value)
    slot = first_slot(h, slots)
    tag = (h & np.uint64(0xFFFFFFFF)) >> bits
    while index[slot] != 0:
        if np.uint64(index[slot]) >> bits == tag:
            number = np.int64(np.uint64(index[slot]) & ones(tree[NODE_BITS])) - 1
            if nodes[number] == value:
                return number
        slot += np.uint64(1)
        if slot == slots:
            slot = np.uint64(0)
    if not adds or tree[NODE_COUNT] >= tree[NODE_ROOM]:
        return -1
    added = tree[NODE_COUNT]
    nodes[added] = value
    index[slot] = np.uint32((tag << bits) | np.uint64(added + 1))
    tree[NODE_COUNT] = added + 1
    return added


@helper
def first_slot(h, slots):
    """Return the index slot at which the lookup of a node with hash `h` begins."""
    return ((h >> np.uint64(32)) * slots) >> np.uint64(32)


@helper
def prefetch_node(tree, value):
    prefetch(u32s(tree[INDEX], tree[INDEX_SLOTS]), first_slot(node_hash(value), np.uint64(tree[INDEX_SLOTS])))


@helper
def node_hash(value):
    h = (value ^ (value >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    h = (h ^ (h >> np.uint64(32))) * np.uint64(0xFF51AFD7ED558CCD)
    return h ^ (h >> np.uint64(32))


@helper
def width_of(steps):
    return (steps.shape[0] + 2) >> 1


@helper
def open_rows(trees, steps, keys, first, last, words, opened):
    """Decode the rows of keys first..last-1. `opened` receives the numbers of each step's nodes, then their values."""
    top = steps.shape[0] - 1
    left = top_left(steps)
    for row in range(last - first):
        opened[left, row] = keys[first + row] & np.uint64(0xFFFFFFFF)
        opened[top, row] = keys[first + row] >> np.uint64(32)
    for back in range(top + 1):
        step = top - back
        one, other = steps[step, 1], steps[step, 2]
        nodes = u64s(trees[steps[step, 0], NODES], trees[steps[step, 0], NODE_ROOM])
        for row in range(last - first):
            value = nodes[opened[step, row]]
            opened[top + 1 + step, row] = value
            if other < 0:
                words[row, one] = value
            else:
                opened[one, row] = value & np.uint64(0xFFFFFFFF)
                opened[other, row] = value >> np.uint64(32)


@helper
def top_left(steps):
    return 2 * (width_of(steps) >> 1) - 2


@helper
def value_of(steps, step, words, n, now, at):
    """Return the value of a step's node: a word of row `n`, or the pair of the children's numbers."""
    one, other = steps[step, 1], steps[step, 2]
    if other < 0:
        return words[n, one]
    return np.uint64(now[one, at]) | (np.uint64(now[other, at]) << np.uint64(32))


@helper
def key_of(trees, steps, words, n, now, adds):
    """Return the key of a row, or MISSING if a node is unknown and cannot be added."""
    for step in range(steps.shape[0]):
        number = node_of(trees[steps[step, 0]], value_of(steps, step, words, n, now, 0), adds)
        if number < 0:
            return np.uint64(MISSING)
        now[step, 0] = number
    return np.uint64(now[top_left(steps), 0]) | (np.uint64(now[steps.shape[0] - 1, 0]) << np.uint64(32))


@helper
def key_successors(trees, steps, words, keys, parents, count, opened, number, now):
    """Replace the hashes of successors with keys, reusing the nodes of the parents, which are `opened`.

    A parent's number is `number` plus OWNERS times the parent's position in `opened`. `now` is working memory: a row
    for each step, and `LINES` more. Nodes that differ from the parent's are looked up for many successors at a time,
    because each lookup waits for memory twice. If only the roots of the two trees are unknown, the key becomes TOPS.
    The values of the two roots then replace the row's first two words, so adding the roots takes only two lookups.
    """
    many, tops = now.shape[1], steps.shape[0]
    parent, waiting, slots, known, values, lower = tops, tops + 1, tops + 2, tops + 3, tops + 4, tops + 5
    left_top = top_left(steps)
    first = np.int64(0)
    while first < count:
        some = min(many, count - first)
        for at in range(some):
            now[parent, at] = (np.int64(parents[first + at]) - number) >> OWNER_BITS
            now[known, at] = 1
            now[lower, at] = 1
        for step in range(tops):
            left = np.int64(0)
            tree = trees[steps[step, 0]]
            index, nodes = u32s(tree[INDEX], tree[INDEX_SLOTS]), u64s(tree[NODES], tree[NODE_ROOM])
            size, bits, number_bits = np.uint64(tree[INDEX_SLOTS]), np.uint64(tree[NODE_BITS]), ones(tree[NODE_BITS])
            for at in range(some):
                row = now[parent, at]
                value = value_of(steps, step, words, first + at, now, at)
                now[step, at] = np.int64(opened[step, row])
                now[waiting, left] = at
                now[values, left] = np.int64(value)
                left += np.int64(value != opened[tops + step, row])
            for place in range(left):
                slot = first_slot(node_hash(np.uint64(now[values, place])), size)
                now[slots, place] = np.int64(slot)
                prefetch(index, slot)
            for place in range(left):
                slot = np.uint64(now[slots, place])
                tag = (node_hash(np.uint64(now[values, place])) & np.uint64(0xFFFFFFFF)) >> bits
                while index[slot] != 0 and np.uint64(index[slot]) >> bits != tag:
                    slot += np.uint64(1)
                    if slot == size:
                        slot = np.uint64(0)
                now[slots, place] = np.int64(slot)
                prefetch(nodes, np.int64(np.uint64(index[slot]) & number_bits) - 1)
            for place in range(left):
                at = now[waiting, place]
                value, slot = np.uint64(now[values, place]), np.uint64(now[slots, place])
                found = np.int64(np.uint64(index[slot]) & number_bits) - 1
                if found < 0 or nodes[found] != value:
                    found = node_of(tree, value, False)
                now[step, at] = max(found, 0)
                now[known, at] = now[known, at] & (found >= 0)
                if step != left_top and step != tops - 1:
                    now[lower, at] = now[lower, at] & (found >= 0)
        for at in range(some):
            key = np.uint64(now[left_top, at]) | (np.uint64(now[tops - 1, at]) << np.uint64(32))
            keys[first + at] = key
            if now[known, at] == 0:
                keys[first + at] = np.uint64(MISSING)
                if now[lower, at] != 0:
                    topmost = value_of(steps, left_top, words, first + at, now, at)
                    words[first + at, 1] = value_of(steps, tops - 1, words, first + at, now, at)
                    words[first + at, 0] = topmost
                    keys[first + at] = np.uint64(TOPS)
        first += some


@helper
def opened_rows(trees, steps, keys, first, last, rows, opened):
    """Decode the keys first..last-1 to rows at an address; return the address at which row 0 would be."""
    width = width_of(steps)
    open_rows(trees, steps, u64s(keys, last), first, last, u64ss(rows, last - first, width), opened)
    return rows - 8 * width * first


@kernel
def open_keys(trees: I64ss, steps: I64ss, keys: U64s, rows: I64, opened: U64ss) -> None:
    """Decode keys to rows at an address. `opened` is working memory, two rows for each step."""
    width, first = width_of(steps), np.int64(0)
    while first < keys.shape[0]:
        some = min(first + opened.shape[1], keys.shape[0])
        open_rows(trees, steps, keys, first, some, u64ss(rows + 8 * width * first, some - first, width), opened)
        first = some


@kernel
def key_rows(
    trees: I64ss, steps: I64ss, words: U64ss, keys: U64s, first: I64, now: I64ss, adds: I64
) -> I64:
    """Write the missing keys of rows, from row `first` on, and add new nodes if `adds` is true. Return the first row
    with a node that did not fit, or -1 if all keys are written.
    """
    for n in range(first, keys.shape[0]):
        if n + NODES_AHEAD < keys.shape[0] and keys[n + NODES_AHEAD] == np.uint64(TOPS):
            prefetch_node(trees[0], words[n + NODES_AHEAD, 0])
            prefetch_node(trees[1], words[n + NODES_AHEAD, 1])
        if keys[n] == np.uint64(MISSING):
            keys[n] = key_of(trees, steps, words, n, now, adds)
            if adds and keys[n] == np.uint64(MISSING):
                return n
        elif keys[n] == np.uint64(TOPS):
            left = node_of(trees[0], words[n, 0], adds)
            right = node_of(trees[1], words[n, 1], adds)
            if left < 0 or right < 0:
                return n
            keys[n] = np.uint64(left) | (np.uint64(right) << np.uint64(32))
    return -1


@kernel
def index_nodes(tree: I64s) -> None:
    nodes, index = u64s(tree[NODES], tree[NODE_ROOM]), u32s(tree[INDEX], tree[INDEX_SLOTS])
    slots, bits = np.uint64(tree[INDEX_SLOTS]), np.uint64(tree[NODE_BITS])
    for number in range(tree[NODE_COUNT]):
        if number + NODES_AHEAD < tree[NODE_COUNT]:
            prefetch_node(tree, nodes[number + NODES_AHEAD])
        h = node_hash(nodes[number])
        slot = first_slot(h, slots)
        while index[slot] != 0:
            slot += np.uint64(1)
            if slot == slots:
                slot = np.uint64(0)
        tag = (h & np.uint64(0xFFFFFFFF)) >> bits
        index[slot] = np.uint32((tag << bits) | np.uint64(number + 1))
