"""Walks over a graph kept as rows: what is reached, components, and which of them are fair. All linear in the edges.

A graph of N states and E edges is `offsets` (N + 1), `targets` (E) and `classes` (E): the edges out of state v
are those from offsets[v] to offsets[v + 1]. A class says of an edge which promises of fairness it is part of
(`masks`, as bits in W words) and whether it is `allowed` at all. `group` is -1 outside of what is looked at; only
edges inside one group count.

`calls.py` gives the kernels working room. `explorers/native/llvm/` translates this text.
"""
# mypy: ignore-errors

from __future__ import annotations

import numpy as np
from fencepost.explorers.native.llvm.declare import kernel

FAIR, BROKEN, UNFAIR = 0, 1, 2


@kernel
def intern(codes: I64s, done: I64, out: I32s, keys: I64s, numbers: I32s, known: I64s, counts: I64s) -> None:
    """Number codes densely in the order of their first appearance, from place `done` on, until the table is half full.

    `keys` and `numbers` are a table with open addressing, its length a power of two, `keys` -1 where it is empty;
    `known` gets the codes by number. `counts` = [how many codes are known, how many were numbered].
    """
    last = np.uint64(len(keys) - 1)
    for n in range(done, len(codes)):
        slot = ((np.uint64(codes[n]) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(24)) & last
        while keys[slot] != codes[n] and keys[slot] != -1:
            slot = (slot + np.uint64(1)) & last
        if keys[slot] == -1:
            if 2 * (counts[0] + 1) > len(keys):
                counts[1] = n
                return
            keys[slot] = codes[n]
            numbers[slot] = counts[0]
            known[counts[0]] = codes[n]
            counts[0] += 1
        out[n] = numbers[slot]
    counts[1] = len(codes)


@kernel
def by_source(parents: U32s, first: I64, count: I64, degrees: I64s, starts: I64s, place: I64s) -> None:
    """Write how many of `count` successors each state has, and each one's place in a stable order by state."""
    for n in range(len(degrees)):
        degrees[n] = 0
    for n in range(count):
        degrees[parents[n] - first] += 1
    starts[0] = 0
    for n in range(len(degrees)):
        starts[n + 1] = starts[n] + degrees[n]
    for n in range(count):
        state = parents[n] - first
        place[n] = starts[state]
        starts[state] += 1


@kernel
def reach(
    offsets: I64s, targets: I32s, classes: I32s, allowed: U8s, marks: U8s, masks: U64ss, group: I32s, enabled: U64ss,
    queue: I32s, count: I64,
) -> I64:  # fmt: skip
    """Find the region: from the `count` states in `queue`, through allowed edges and states without `then`.

    `group` falls to 0 inside; `enabled` gets the promises that a state's allowed edges to other states are part of. The
    region is left in `queue`; its size is returned.
    """
    words = masks.shape[1]
    head = 0
    while head < count:
        v = queue[head]
        head += 1
        for e in range(offsets[v], offsets[v + 1]):
            k, t = classes[e], targets[e]
            if not allowed[k]:
                continue
            if t != v:
                for w in range(words):
                    enabled[v, w] |= masks[k, w]
            if marks[t] & 2 == 0 and group[t] < 0:
                group[t] = 0
                queue[count] = t
                count += 1
    return count


@kernel
def components(
    offsets: I64s, targets: I32s, classes: I32s, allowed: U8s, nodes: I32s, group: I32s, component: I32s, order: I32s,
    low: I32s, frames: I32s, cursor: I64s, stack: I32s,
) -> I64:  # fmt: skip
    """Write the strongly connected component of each node, numbered so that every edge leads
    to one that is not greater.

    Tarjan's algorithm with a stack of its own. `order` is working room for all states, `low`, `frames`, `cursor`
    and `stack` for all nodes.
    """
    total = len(nodes)
    for n in range(total):
        order[nodes[n]] = 0
        component[nodes[n]] = -1
    counter, top, found = 0, 0, 0
    for n in range(total):
        root = nodes[n]
        if order[root] != 0:
            continue
        depth = 0
        frames[0], cursor[0] = root, offsets[root]
        counter += 1
        order[root] = counter
        low[counter - 1] = counter
        stack[top] = root
        top += 1
        while depth >= 0:
            v = frames[depth]
            e = cursor[depth]
            mine = order[v] - 1
            if e < offsets[v + 1]:
                cursor[depth] = e + 1
                t = targets[e]
                if group[t] != group[v] or not allowed[classes[e]]:
                    continue
                if order[t] == 0:
                    depth += 1
                    frames[depth], cursor[depth] = t, offsets[t]
                    counter += 1
                    order[t] = counter
                    low[counter - 1] = counter
                    stack[top] = t
                    top += 1
                elif component[t] < 0 and order[t] < low[mine]:
                    low[mine] = order[t]
                continue
            if low[mine] == order[v]:
                while True:
                    top -= 1
                    component[stack[top]] = found
                    if stack[top] == v:
                        break
                found += 1
            depth -= 1
            if depth >= 0:
                above = order[frames[depth]] - 1
                low[above] = min(low[above], low[mine])
    return found


@kernel
def promises(
    offsets: I64s, targets: I32s, classes: I32s, allowed: U8s, masks: U64ss, nodes: I32s, component: I32s, group: I32s,
    enabled: U64ss, strong: U64s, found: I64, fair: I32s, first: I64,
    happens: U64ss, somewhere: U64ss, everywhere: U64ss, verdicts: U8s,
) -> I64:  # fmt: skip
    """Judge components: write to `fair` the number (from `first` on) of those that keep every promise,
    and to `group` what is left.

    Of a component that breaks a strong promise the states that do not enable it are left, as a group of their own; they
    are moved to the front of `nodes`, and how many they are is returned. All others are left by -1. `happens` and
    `somewhere` are zero for each component, `everywhere` is all bits, `verdicts` are FAIR.
    """
    words = masks.shape[1]
    for n in range(len(nodes)):
        v = nodes[n]
        own = component[v]
        for w in range(words):
            somewhere[own, w] |= enabled[v, w]
            everywhere[own, w] &= enabled[v, w]
        for e in range(offsets[v], offsets[v + 1]):
            t = targets[e]
            if t != v and group[t] == group[v] and component[t] == own and allowed[classes[e]]:
                for w in range(words):
                    happens[own, w] |= masks[classes[e], w]
    for own in range(found):
        for w in range(words):
            if somewhere[own, w] & strong[w] & ~happens[own, w]:
                verdicts[own] = BROKEN
        if verdicts[own] == FAIR:
            for w in range(words):
                if everywhere[own, w] & ~happens[own, w]:
                    verdicts[own] = UNFAIR
    left = 0
    for n in range(len(nodes)):
        v = nodes[n]
        own = component[v]
        stays = verdicts[own] == BROKEN
        for w in range(words):
            if enabled[v, w] & somewhere[own, w] & strong[w] & ~happens[own, w]:
                stays = False
        if verdicts[own] == FAIR:
            fair[v] = first + own
        group[v] = own if stays else -1
        if stays:
            nodes[left] = v
            left += 1
    return left
