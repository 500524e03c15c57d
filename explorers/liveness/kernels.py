"""Graph kernels: reachability, fair strongly connected components, and shortest, most expensive and cheapest paths.

Every kernel is linear in the number of edges, except `cheapest`, which uses a heap.

A graph of N states and E edges consists of `offsets` (N + 1), `targets` (E) and `classes` (E). The edges of state v are
numbered offsets[v] to offsets[v + 1] - 1. An edge's class determines which fairness constraints it satisfies (`masks`,
as bits in W words) and whether it is `allowed`. States whose `group` is -1 are not examined; only edges between two
states of the same group count. Graphs and constraints are passed as addresses of arrays.

`calls.py` provides working memory: `queue` and `trail` have room for all states. `explorers/native/llvm/` compiles this
file's source.
"""
# mypy: ignore-errors

from __future__ import annotations

import numpy as np
from fencepost.explorers.native.llvm.types import helper, i32s, i64s, kernel, u8s, u64s, u64ss

FAIR, BROKEN, UNFAIR = 0, 1, 2
FAR = 1 << 62
MOST_COST = 0x7FFFFFFFFFFFFFFF
"""The largest 64-bit number, which also stands for all larger costs."""
OFFSETS, TARGETS, CLASSES, ALLOWED, MARKS, COSTS, BY_EDGE, PRICED = 0, 1, 2, 3, 4, 5, 6, 7
"""Positions of arguments: the addresses of a graph's arrays and, last, the number of edges that have a cost."""
MASKS, ENABLED, STRONG, HAPPENS, SOMEWHERE, EVERYWHERE, VERDICTS, FIRST, WORDS = 0, 1, 2, 3, 4, 5, 6, 7, 8
"""Positions of arguments: the addresses of arrays for fairness constraints, the first component's number (FIRST), and
the number of words (WORDS).
"""


@kernel
def intern(codes: I64s, done: I64, out: I32s, keys: I64s, numbers: I32s, known: I64s, counts: I64s) -> None:
    """Number the codes in order of first appearance, starting at position `done`, until the table is half full.

    `keys` and `numbers` form an open-addressing table whose length is a power of two; empty slots have the key -1.
    `known` receives the code for each number. `counts` = [number of distinct codes, number of codes processed].
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
    """Write each state's number of successors, and the position of each successor in a stable sort by source state."""
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
def reach(graph: I64s, masks: U64ss, group: I32s, enabled: U64ss, queue: I32s, count: I64) -> I64:
    """Compute the region: the states reachable by allowed edges from the `count` states in `queue` before `then` holds.

    `group` becomes 0 inside the region. For each state, `enabled` receives the constraints that its allowed edges to
    other states satisfy. On return, `queue` contains the region. Returns the region's size.
    """
    offsets, targets, classes = i64s(graph[OFFSETS], 0), i32s(graph[TARGETS], 0), i32s(graph[CLASSES], 0)
    allowed, marks = u8s(graph[ALLOWED], 0), u8s(graph[MARKS], 0)
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
def components(graph: I64s, nodes: I32s, group: I32s, component: I32s, order: I32s, room: I32ss, cursor: I64s) -> I64:
    """Number the strongly connected components of the nodes, so that no edge leads to a greater number.

    The kernel is Tarjan's algorithm with an explicit stack. `order` is working memory for all states; `cursor` and the
    three rows of `room` are working memory for all nodes.
    """
    offsets, targets, classes = i64s(graph[OFFSETS], 0), i32s(graph[TARGETS], 0), i32s(graph[CLASSES], 0)
    allowed = u8s(graph[ALLOWED], 0)
    low, frames, stack = room[0], room[1], room[2]
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
def promises(graph: I64s, judging: I64s, nodes: I32s, component: I32s, group: I32s, found: I64, fair: I32s) -> I64:
    """Find fair components: write their numbers to `fair`, and prepare `group` for the next round.

    If a component violates a strong constraint, its states in which the constraint is disabled form a new group. The
    states of new groups are moved to the front of `nodes`, and the number of these states is returned. The group of all
    other states becomes -1. On entry, `happens` and `somewhere` are zero for each component, and `everywhere` has all
    bits set. `verdicts` contains FAIR for fair components.
    """
    offsets, targets, classes = i64s(graph[OFFSETS], 0), i32s(graph[TARGETS], 0), i32s(graph[CLASSES], 0)
    words = judging[WORDS]
    allowed, strong, verdicts = u8s(graph[ALLOWED], 0), u64s(judging[STRONG], 0), u8s(judging[VERDICTS], 0)
    masks, enabled = u64ss(judging[MASKS], 0, words), u64ss(judging[ENABLED], 0, words)
    happens, somewhere = u64ss(judging[HAPPENS], 0, words), u64ss(judging[SOMEWHERE], 0, words)
    everywhere = u64ss(judging[EVERYWHERE], 0, words)
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
            fair[v] = judging[FIRST] + own
        group[v] = own if stays else -1
        if stays:
            nodes[left] = v
            left += 1
    return left


@helper
def total(cost, rest):
    return MOST_COST if cost > MOST_COST - rest else cost + rest


@kernel
def depths(parents: I32s, wanted: I32s, depth: I32s, trail: I32s) -> None:
    """Write each requested state's distance from an initial state, following `parents` (-1 for an initial state)."""
    for n in range(len(wanted)):
        v, steps = wanted[n], 0
        while v >= 0 and depth[v] < 0:
            trail[steps] = v
            steps += 1
            v = parents[v]
        level = depth[v] if v >= 0 else -1
        for k in range(steps - 1, -1, -1):
            level += 1
            depth[trail[k]] = level


@kernel
def stems(
    graph: I64s, inside: I32s, begins: I32s, depth: I32s, distance: I32s, via: I64s, queue: I32s
) -> None:
    """Write a shortest path from an initial state, through one of `begins`, to each state inside the region. `distance`
    receives each path's length, and `via` its last edge (-1 for states of `begins`). `begins` is sorted by `depth`.
    """
    offsets, targets, classes = i64s(graph[OFFSETS], 0), i32s(graph[TARGETS], 0), i32s(graph[CLASSES], 0)
    allowed = u8s(graph[ALLOWED], 0)
    taken, head, tail, level = 0, 0, 0, 0
    while taken < len(begins) or head < tail:
        if head == tail:
            level = max(level, depth[begins[taken]])
        while taken < len(begins) and depth[begins[taken]] <= level:
            begin = begins[taken]
            taken += 1
            if distance[begin] < 0:
                distance[begin] = level
                via[begin] = -1
                queue[tail] = begin
                tail += 1
        last = tail
        for n in range(head, last):
            v = queue[n]
            for e in range(offsets[v], offsets[v + 1]):
                t = targets[e]
                if inside[t] < 0 or distance[t] >= 0 or not allowed[classes[e]]:
                    continue
                distance[t] = level + 1
                via[t] = e
                queue[tail] = t
                tail += 1
        head = last
        level += 1


@kernel
def walk(graph: I64s, part: I32s, masks: U64ss, enabled: U64ss, pending: U64ss, via: I64s, queue: I32s) -> I64:
    """Find a shortest walk inside a component from queue[0] to queue[1] or, if queue[1] is -1, to a pending constraint.

    `pending` has one row for all pending constraints and one row for the weak ones. An edge satisfies the constraints
    in its mask; a state satisfies the weak constraints that are disabled in it. Returns the last edge, or -1 if no walk
    exists; `via` leads back from that edge's source.
    """
    offsets, targets, classes = i64s(graph[OFFSETS], 0), i32s(graph[TARGETS], 0), i32s(graph[CLASSES], 0)
    allowed = u8s(graph[ALLOWED], 0)
    start, goal = queue[0], queue[1]
    own = part[start]
    via[:] = -2
    via[start] = -1
    head, count = 0, 1
    while head < count:
        v = queue[head]
        head += 1
        for e in range(offsets[v], offsets[v + 1]):
            t = targets[e]
            if part[t] != own or t == v or not allowed[classes[e]]:
                continue
            done = t == goal
            for w in range(masks.shape[1]):
                if pending[0, w] & (masks[classes[e], w] | (pending[1, w] & ~enabled[t, w])):
                    done = True
            if done:
                return e
            if via[t] == -2:
                via[t] = e
                queue[count] = t
                count += 1
    return -1


@kernel
def spin(graph: I64s, nodes: I32s, component: I32s, inside: I32s, distance: I32s) -> I64:
    """Return the edge nearest to an initial state among those with a cost inside a component, or -1 if none exists."""
    offsets, targets, classes = i64s(graph[OFFSETS], 0), i32s(graph[TARGETS], 0), i32s(graph[CLASSES], 0)
    allowed, costs, by_edge = u8s(graph[ALLOWED], 0), i64s(graph[COSTS], 0), i64s(graph[BY_EDGE], 0)
    priced = graph[PRICED]
    best, nearest = -1, FAR
    for n in range(len(nodes)):
        v = nodes[n]
        for e in range(offsets[v], offsets[v + 1]):
            t = targets[e]
            if inside[t] < 0 or component[t] != component[v] or not allowed[classes[e]]:
                continue
            cost = by_edge[e] if priced else costs[classes[e]]
            if cost > 0 and distance[v] < nearest:
                best, nearest = e, distance[v]
    return best


@kernel
def dearest(graph: I64s, nodes: I32s, component: I32s, worst: I64s) -> None:
    """Write, for each component, the cost of the most expensive path to `then`, or -1 if there is no path. `nodes` is
    sorted so that a component comes after its successors. No edge inside a component has a cost.
    """
    offsets, targets, classes = i64s(graph[OFFSETS], 0), i32s(graph[TARGETS], 0), i32s(graph[CLASSES], 0)
    allowed, costs, by_edge = u8s(graph[ALLOWED], 0), i64s(graph[COSTS], 0), i64s(graph[BY_EDGE], 0)
    priced = graph[PRICED]
    marks = u8s(graph[MARKS], 0)
    for n in range(len(nodes)):
        v = nodes[n]
        own = component[v]
        for e in range(offsets[v], offsets[v + 1]):
            t = targets[e]
            if not allowed[classes[e]]:
                continue
            cost = by_edge[e] if priced else costs[classes[e]]
            rest = 0 if marks[t] & 2 else worst[component[t]]
            if rest >= 0 and (marks[t] & 2 or component[t] != own):
                worst[own] = max(worst[own], total(cost, rest))


@kernel
def dear_way(graph: I64s, component: I32s, worst: I64s, start: I64, via: I64s, queue: I32s) -> I64:
    """Find the shortest of the most expensive paths from `start` to `then`; return its last edge."""
    offsets, targets, classes = i64s(graph[OFFSETS], 0), i32s(graph[TARGETS], 0), i32s(graph[CLASSES], 0)
    allowed, costs, by_edge = u8s(graph[ALLOWED], 0), i64s(graph[COSTS], 0), i64s(graph[BY_EDGE], 0)
    priced = graph[PRICED]
    marks = u8s(graph[MARKS], 0)
    via[:] = -2
    via[start] = -1
    queue[0] = start
    head, count = 0, 1
    while head < count:
        v = queue[head]
        head += 1
        for e in range(offsets[v], offsets[v + 1]):
            t = targets[e]
            if not allowed[classes[e]]:
                continue
            cost = by_edge[e] if priced else costs[classes[e]]
            rest = 0 if marks[t] & 2 else worst[component[t]]
            if rest < 0 or total(cost, rest) != worst[component[v]]:
                continue
            if marks[t] & 2:
                return e
            if via[t] == -2:
                via[t] = e
                queue[count] = t
                count += 1
    return -1


@helper
def push(spent, states, count, cost, state):
    at = count
    while at > 0 and spent[(at - 1) >> 1] > cost:
        spent[at] = spent[(at - 1) >> 1]
        states[at] = states[(at - 1) >> 1]
        at = (at - 1) >> 1
    spent[at] = cost
    states[at] = state


@helper
def pop(spent, states, count):
    cost, state = spent[count - 1], states[count - 1]
    at, below = 0, 1
    while below < count - 1:
        if below + 1 < count - 1 and spent[below + 1] < spent[below]:
            below += 1
        if spent[below] >= cost:
            break
        spent[at] = spent[below]
        states[at] = states[below]
        at = below
        below = 2 * at + 1
    spent[at] = cost
    states[at] = state


@kernel
def cheapest(graph: I64s, begins: I32s, done: U8s, spent: I64s, states: I32s) -> I64:
    """Return the lowest cost of a path from one of `begins` to `then` (Dijkstra's algorithm), or -1 if none exists.
    On entry, `done` is zero for all states. `spent` and `states` form a heap with room for `begins` and all edges.
    """
    offsets, targets, classes = i64s(graph[OFFSETS], 0), i32s(graph[TARGETS], 0), i32s(graph[CLASSES], 0)
    allowed, costs, by_edge = u8s(graph[ALLOWED], 0), i64s(graph[COSTS], 0), i64s(graph[BY_EDGE], 0)
    priced = graph[PRICED]
    marks = u8s(graph[MARKS], 0)
    count = 0
    for n in range(len(begins)):
        push(spent, states, count, 0, begins[n])
        count += 1
    best = -1
    while count > 0:
        paid, v = spent[0], states[0]
        pop(spent, states, count)
        count -= 1
        if 0 <= best <= paid:
            break
        if done[v]:
            continue
        done[v] = 1
        for e in range(offsets[v], offsets[v + 1]):
            t = targets[e]
            if not allowed[classes[e]]:
                continue
            cost = total(by_edge[e] if priced else costs[classes[e]], paid)
            if marks[t] & 2:
                if best < 0 or cost < best:
                    best = cost
            elif not done[t] and (best < 0 or cost < best):
                push(spent, states, count, cost, t)
                count += 1
    return best
