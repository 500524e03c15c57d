"""Ways through a graph kept as rows (`kernels`): shortest, dearest and cheapest ones. All linear in the edges but for one heap."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Any

import numpy as np
from numba import njit

Array = np.ndarray[Any, Any]


@njit(cache=True, nogil=True)
def with_room(items: Array, count: int) -> Array:
    """Return the array, or a longer copy of it where its first `count` items leave no room for one more."""
    if count < len(items):
        return items
    longer = np.empty(2 * count + 16, items.dtype)
    longer[:count] = items
    return longer


@njit(cache=True, nogil=True)
def depths(parents: Array, wanted: Array, depth: Array) -> None:
    """Write how many steps each wanted state is from its initial state along `parents` (-1 before the first)."""
    trail = np.empty(1 << 16, np.int64)
    for n in range(len(wanted)):
        v, steps = np.int64(wanted[n]), 0
        while v >= 0 and depth[v] < 0:
            trail = with_room(trail, steps)
            trail[steps] = v
            steps += 1
            v = parents[v]
        level = depth[v] if v >= 0 else -1
        for k in range(steps - 1, -1, -1):
            level += 1
            depth[trail[k]] = level


@njit(cache=True, nogil=True)
def stems(
    offsets: Array,
    targets: Array,
    classes: Array,
    allowed: Array,
    inside: Array,
    begins: Array,
    depth: Array,
    distance: Array,
    via: Array,
) -> None:
    """Write the fewest steps to each state inside from an initial state and through one of `begins`, and the edge that led there.

    `begins` are in the order of their `depth`; `via` is -1 for one that is the beginning itself.
    """
    frontier, following = np.empty(0, np.int32), np.empty(16, np.int32)
    taken, size, level = 0, 0, 0
    while taken < len(begins) or size:
        if size == 0:
            level = max(level, depth[begins[taken]])
        while taken < len(begins) and depth[begins[taken]] <= level:
            v = begins[taken]
            taken += 1
            if distance[v] < 0:
                distance[v] = level
                via[v] = -1
                frontier = with_room(frontier, size)
                frontier[size] = v
                size += 1
        count = 0
        for n in range(size):
            v = frontier[n]
            for e in range(offsets[v], offsets[v + 1]):
                t = targets[e]
                if inside[t] < 0 or distance[t] >= 0 or not allowed[classes[e]]:
                    continue
                distance[t] = level + 1
                via[t] = e
                following = with_room(following, count)
                following[count] = t
                count += 1
        frontier, following = following, np.empty(max(16, count), np.int32)
        size = count
        level += 1


@njit(cache=True, nogil=True)
def walk(
    offsets: Array, targets: Array, classes: Array, allowed: Array, part: Array, start: int, goal: int, masks: Array, enabled: Array,
    pending: Array, weak: Array, via: Array,
) -> int:  # fmt: skip
    """Find the fewest edges inside a part from `start` that end at `goal`, or (goal -1) keep one of the `pending` promises.

    A promise is kept by an edge that is part of it, a weak one also by a state that does not enable it. Returns the last edge;
    `via` leads back from its source. -1 if there is none.
    """
    own = part[start]
    via[:] = -2
    via[start] = -1
    queue = np.empty(1024, np.int32)
    queue[0] = start
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
                if pending[w] & (masks[classes[e], w] | (weak[w] & ~enabled[t, w])):
                    done = True
            if done:
                return e
            if via[t] == -2:
                via[t] = e
                queue = with_room(queue, count)
                queue[count] = t
                count += 1
    return -1


@njit(cache=True, nogil=True)
def spin(
    offsets: Array, targets: Array, classes: Array, allowed: Array, nodes: Array, component: Array, inside: Array, costs: Array, by_edge: Array,
    distance: Array,
) -> int:  # fmt: skip
    """Return the edge with a cost inside a component that is nearest to an initial state; -1 if there is none."""
    best, nearest = -1, np.int64(1) << 62
    for n in range(len(nodes)):
        v = nodes[n]
        for e in range(offsets[v], offsets[v + 1]):
            t = targets[e]
            if inside[t] < 0 or component[t] != component[v] or not allowed[classes[e]]:
                continue
            cost = by_edge[e] if len(by_edge) else costs[classes[e]]
            if cost > 0 and distance[v] < nearest:
                best, nearest = e, np.int64(distance[v])
    return best


@njit(cache=True, nogil=True)
def dearest(
    offsets: Array, targets: Array, classes: Array, allowed: Array, marks: Array, nodes: Array, component: Array, costs: Array, by_edge: Array,
    worst: Array,
) -> None:  # fmt: skip
    """Write for each component what the dearest way from it to `then` costs, -1 where there is none.

    `nodes` are ordered by component, so that a component comes after those that it leads to. Inside of one nothing costs.
    """
    for n in range(len(nodes)):
        v = nodes[n]
        own = component[v]
        for e in range(offsets[v], offsets[v + 1]):
            t = targets[e]
            if not allowed[classes[e]]:
                continue
            cost = by_edge[e] if len(by_edge) else costs[classes[e]]
            rest = 0 if marks[t] & 2 else worst[component[t]]
            if rest >= 0 and (marks[t] & 2 or component[t] != own):
                worst[own] = max(worst[own], cost + rest)


@njit(cache=True, nogil=True)
def dear_way(
    offsets: Array, targets: Array, classes: Array, allowed: Array, marks: Array, component: Array, costs: Array, by_edge: Array, worst: Array,
    start: int, via: Array,
) -> int:  # fmt: skip
    """Find the fewest edges from `start` to `then` that cost as much as the dearest way; return the last one."""
    via[:] = -2
    via[start] = -1
    queue = np.empty(1024, np.int32)
    queue[0] = start
    head, count = 0, 1
    while head < count:
        v = queue[head]
        head += 1
        for e in range(offsets[v], offsets[v + 1]):
            t = targets[e]
            if not allowed[classes[e]]:
                continue
            cost = by_edge[e] if len(by_edge) else costs[classes[e]]
            rest = 0 if marks[t] & 2 else worst[component[t]]
            if rest < 0 or cost + rest != worst[component[v]]:
                continue
            if marks[t] & 2:
                return e
            if via[t] == -2:
                via[t] = e
                queue = with_room(queue, count)
                queue[count] = t
                count += 1
    return -1


@njit(cache=True, nogil=True)
def cheapest(
    offsets: Array, targets: Array, classes: Array, allowed: Array, marks: Array, begins: Array, costs: Array, by_edge: Array
) -> int:
    """Return the least that a way from one of `begins` to `then` costs (Dijkstra); -1 if there is none."""
    done = np.zeros(len(offsets) - 1, np.uint8)
    heap = [(np.int64(0), np.int64(-1))]
    heap.pop()
    for n in range(len(begins)):
        heappush(heap, (np.int64(0), np.int64(begins[n])))
    best = np.int64(-1)
    while heap:
        spent, v = heappop(heap)
        if 0 <= best <= spent:
            break
        if done[v]:
            continue
        done[v] = 1
        for e in range(offsets[v], offsets[v + 1]):
            t = targets[e]
            if not allowed[classes[e]]:
                continue
            cost = spent + (by_edge[e] if len(by_edge) else costs[classes[e]])
            if marks[t] & 2:
                if best < 0 or cost < best:
                    best = cost
            elif not done[t] and (best < 0 or cost < best):
                heappush(heap, (np.int64(cost), np.int64(t)))
    return int(best)
