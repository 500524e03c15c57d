"""Ways through a graph kept as rows (`kernels`): shortest, most expensive and cheapest ones. All linear in
the edges but for one heap.

`calls.py` gives the kernels working room: `queue` and `trail` hold all states.
`explorers/native/llvm/` translates this text.
"""
# mypy: ignore-errors

from __future__ import annotations

from fencepost.explorers.native.llvm.declare import helper, kernel

FAR = 1 << 62
MOST_COST = 0x7FFFFFFFFFFFFFFF
"""The end of 64 bits: it stands for every cost that is as large or larger."""


@helper
def total(cost, rest):
    """Return the sum of two costs, MOST_COST where it is larger."""
    return MOST_COST if cost > MOST_COST - rest else cost + rest


@kernel
def depths(parents: I32s, wanted: I32s, depth: I32s, trail: I32s) -> None:
    """Write how many steps each wanted state is from its initial state along `parents` (-1 before the first)."""
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
    offsets: I64s, targets: I32s, classes: I32s, allowed: U8s,
    inside: I32s, begins: I32s, depth: I32s, distance: I32s, via: I64s, queue: I32s,
) -> None:  # fmt: skip
    """Write the fewest steps to each state inside from an initial state and through one of `begins`,
    and the edge that led there.

    `begins` are in the order of their `depth`; `via` is -1 for one that is the beginning itself.
    """
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
def walk(
    offsets: I64s, targets: I32s, classes: I32s, allowed: U8s, part: I32s, start: I64, goal: I64, masks: U64ss,
    enabled: U64ss, pending: U64s, weak: U64s, via: I64s, queue: I32s,
) -> I64:  # fmt: skip
    """Find the fewest edges inside a part from `start` that end at `goal`, or (goal -1) keep one
    of the `pending` promises.

    A promise is kept by an edge that is part of it, a weak one also by a state that does not enable it. Returns the
    last edge; `via` leads back from its source. -1 if there is none.
    """
    own = part[start]
    via[:] = -2
    via[start] = -1
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
                queue[count] = t
                count += 1
    return -1


@kernel
def spin(
    offsets: I64s, targets: I32s, classes: I32s, allowed: U8s, nodes: I32s, component: I32s, inside: I32s, costs: I64s,
    by_edge: I64s, distance: I32s,
) -> I64:  # fmt: skip
    """Return the edge with a cost inside a component that is nearest to an initial state; -1 if there is none."""
    best, nearest = -1, FAR
    for n in range(len(nodes)):
        v = nodes[n]
        for e in range(offsets[v], offsets[v + 1]):
            t = targets[e]
            if inside[t] < 0 or component[t] != component[v] or not allowed[classes[e]]:
                continue
            cost = by_edge[e] if len(by_edge) else costs[classes[e]]
            if cost > 0 and distance[v] < nearest:
                best, nearest = e, distance[v]
    return best


@kernel
def dearest(
    offsets: I64s, targets: I32s, classes: I32s, allowed: U8s, marks: U8s, nodes: I32s, component: I32s, costs: I64s,
    by_edge: I64s, worst: I64s,
) -> None:  # fmt: skip
    """Write for each component what the most expensive path from it to `then` costs, -1 where there is none.

    `nodes` are ordered by component, so that a component comes after those that it leads to.
    Inside of one nothing costs.
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
                worst[own] = max(worst[own], total(cost, rest))


@kernel
def dear_way(
    offsets: I64s, targets: I32s, classes: I32s, allowed: U8s, marks: U8s, component: I32s, costs: I64s,
    by_edge: I64s, worst: I64s, start: I64, via: I64s, queue: I32s,
) -> I64:  # fmt: skip
    """Find the fewest edges from `start` to `then` among the most expensive paths; return the last one."""
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
            cost = by_edge[e] if len(by_edge) else costs[classes[e]]
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
    """Put a state into a heap of `count`, ordered by what was spent."""
    at = count
    while at > 0 and spent[(at - 1) >> 1] > cost:
        spent[at] = spent[(at - 1) >> 1]
        states[at] = states[(at - 1) >> 1]
        at = (at - 1) >> 1
    spent[at] = cost
    states[at] = state


@helper
def pop(spent, states, count):
    """Take the first state out of a heap of `count`: the last one sinks from its place."""
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
def cheapest(
    offsets: I64s, targets: I32s, classes: I32s, allowed: U8s, marks: U8s, begins: I32s, costs: I64s,
    by_edge: I64s, done: U8s, spent: I64s, states: I32s,
) -> I64:  # fmt: skip
    """Return the least that a way from one of `begins` to `then` costs (Dijkstra); -1 if there is none.

    `done` is zero for all states; `spent` and `states` are a heap, with room for all of `begins` and all edges.
    """
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
            cost = total(by_edge[e] if len(by_edge) else costs[classes[e]], paid)
            if marks[t] & 2:
                if best < 0 or cost < best:
                    best = cost
            elif not done[t] and (best < 0 or cost < best):
                push(spent, states, count, cost, t)
                count += 1
    return best
