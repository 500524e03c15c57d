"""Breadth-first search of Kip320 in plain Python with tuples and a set, the kind of program written in an afternoon.

A state is (replicas, records written, decisions, quorum). A replica is (log, high watermark, leader epoch, leader,
ISR), a log is a tuple of (record, epoch), decisions are (leader, ISR) by epoch, and the quorum is (epoch, leader, ISR).
"""

from collections.abc import Iterator
from typing import NamedTuple

NONE = -1
Log = tuple[tuple[int, int], ...]
Replica = tuple[Log, int, int, int, int]
Quorum = tuple[int, int, int]
State = tuple[tuple[Replica, ...], int, tuple[tuple[int, int], ...], Quorum]


class Result(NamedTuple):
    distinct: int
    generated: int
    depth: int
    weak_isr_holds: bool
    strong_isr_holds: bool


def search(replicas: int, log_size: int, max_records: int, max_leader_epoch: int) -> Result:
    empty: Replica = ((), 0, NONE, NONE, 0)
    first: State = ((empty,) * replicas, 0, (), (NONE, NONE, (1 << replicas) - 1))
    seen, level, generated, depth = {first}, [first], 1, 0
    weak = strong = True
    while level:
        depth += 1
        following: list[State] = []
        for state in level:
            weak, strong = weak and weak_isr(state), strong and strong_isr(state)
            for after in successors(state, log_size, max_records, max_leader_epoch):
                generated += 1
                if after not in seen:
                    seen.add(after)
                    following.append(after)
        level = following
    return Result(len(seen), generated, depth, weak, strong)


def weak_isr(state: State) -> bool:
    """Every presumed leader has the same entries below its high watermark as every member of the ISR that it knows."""
    return all(_shares(state[0], r, r[4]) for n, r in enumerate(state[0]) if r[3] == n and r[1])


def strong_isr(state: State) -> bool:
    """Every presumed leader has the same entries below its high watermark as every member of the quorum's ISR."""
    return all(_shares(state[0], r, state[3][2]) for n, r in enumerate(state[0]) if r[3] == n and r[1])


def _shares(replicas: tuple[Replica, ...], leader: Replica, members: int) -> bool:
    committed = leader[0][: leader[1]]
    if len(committed) < leader[1]:
        return not members
    return all(other[0][: leader[1]] == committed for n, other in enumerate(replicas) if members >> n & 1)


def successors(state: State, log_size: int, max_records: int, max_leader_epoch: int) -> Iterator[State]:
    replicas, written, decisions, (epoch, leader, isr) = state
    if len(decisions) <= max_leader_epoch:
        opened = len(decisions)
        for n in range(len(replicas)):
            if isr >> n & 1 and leader != n:
                yield replicas, written, (*decisions, (n, isr)), (opened, n, isr)
            if leader == n:
                left = isr if isr == 1 << n else isr & ~(1 << n)
                yield replicas, written, (*decisions, (NONE, left)), (opened, NONE, left)
            elif isr >> n & 1:
                left = isr & ~(1 << n)
                yield replicas, written, (*decisions, (leader, left)), (opened, leader, left)
    for n, (log, high, own_epoch, own_leader, own_isr) in enumerate(replicas):
        for news in range(own_epoch + 1, len(decisions)):
            chosen, chosen_isr = decisions[news]
            if chosen == n:
                changed = (log, high, news, n, chosen_isr)
                yield _with(replicas, n, changed), written, decisions, (epoch, leader, isr)
            elif chosen != NONE and replicas[chosen][3] == chosen and replicas[chosen][2] == news:
                end = _matching(log, replicas[chosen][0])
                changed = (log[:end], min(end, high), news, chosen, chosen_isr)
                yield _with(replicas, n, changed), written, decisions, (epoch, leader, isr)
        if high < len(log) and all(
            other[3] == n and other[2] == own_epoch and own_leader == n and len(other[0]) > high
            for m, other in enumerate(replicas)
            if own_isr >> m & 1
        ):
            changed = (log, high + 1, own_epoch, own_leader, own_isr)
            yield _with(replicas, n, changed), written, decisions, (epoch, leader, isr)
        if own_leader != n:
            continue
        if written < max_records and len(log) < log_size:
            changed = ((*log, (written, own_epoch)), high, own_epoch, n, own_isr)
            yield _with(replicas, n, changed), written + 1, decisions, (epoch, leader, isr)
        rules = leader == n and own_epoch == epoch
        reached = high == len(log) or (high < len(log) and log[high][1] == own_epoch)
        for m, (copy, _, f_epoch, f_leader, f_isr) in enumerate(replicas):
            follows = f_leader == n and f_epoch == own_epoch
            if follows and len(copy) < len(log):
                longer = (*copy, log[len(copy)])
                fetched = (longer, min(high, len(longer)), f_epoch, f_leader, f_isr)
                yield _with(replicas, m, fetched), written, decisions, (epoch, leader, isr)
            if not rules:
                continue
            if own_isr >> m & 1:
                if m != n and (not follows or len(copy) < len(log)):
                    yield _isr(state, n, own_isr & ~(1 << m))
            elif follows and len(copy) >= high and reached:
                yield _isr(state, n, own_isr | 1 << m)


def _with(replicas: tuple[Replica, ...], n: int, changed: Replica) -> tuple[Replica, ...]:
    return (*replicas[:n], changed, *replicas[n + 1 :])


def _isr(state: State, n: int, isr: int) -> State:
    replicas, written, decisions, (epoch, leader, _) = state
    log, high, own_epoch, own_leader, _ = replicas[n]
    return _with(replicas, n, (log, high, own_epoch, own_leader, isr)), written, decisions, (epoch, leader, isr)


def _matching(log: Log, other: Log) -> int:
    end = 0
    for offset in range(min(len(log), len(other))):
        if log[offset] == other[offset]:
            end = offset + 1
    return end
