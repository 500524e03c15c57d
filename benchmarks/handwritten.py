"""Breadth-first search of Kip320 (hachikuji/kafka-specification) in plain Python, for speed.

The benchmarks use it as a yardstick, and the tests as an oracle. It shares no code with the rest of the project. Three
techniques make the search fast:

- A state is one int that contains the fields side by side, and the visited states are one set.
- An action is computed once for each combination of values that it reads, and stored as the bits that it flips. It can
  read only declared fields: any other field causes a KeyError, not a wrong count.
- Each level is grouped by leader and epoch, which rules out most actions for a whole group.

Here, brokers, epochs and record ids count from 1, so that 0 can mean NONE, "no epoch yet" or "unwritten". The
specification's nextLeaderEpoch is not stored, because it follows from `quorum_epoch`. The specification's set of
LeaderAndIsr requests is an array by epoch here, because the controller sends one request per epoch.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from typing import NamedTuple, TypeVar

T = TypeVar("T")
Field = str | tuple[str, int] | tuple[str, int, int]
Fields = dict[Field, int]
Layout = dict[Field, tuple[int, int]]
Instance = tuple[Callable[..., Iterator[Fields]], tuple[int, ...], tuple[Field, ...]]

NONE = 0


class Result(NamedTuple):
    """The result of a search. `depth` is the number of levels; the initial state is on level 1."""

    distinct: int
    generated: int
    depth: int
    weak_isr_holds: bool
    strong_isr_holds: bool


class Constants(NamedTuple):
    brokers: range
    log_size: int
    max_records: int
    epochs: range


def search(replicas: int, log_size: int, max_records: int, max_leader_epoch: int) -> Result:
    """Visit every reachable state of Kip320 and check its invariants on each.

    `generated` counts the initial state and all successors, including duplicates and self loops. Raises RuntimeError if
    the quorum's leader leaves its ISR, which Kip320 excludes.
    """
    c = Constants(range(1, replicas + 1), log_size, max_records, range(1, max_leader_epoch + 2))
    layout = _layout(c)

    @cache
    def stepper(instance: Instance) -> tuple[int, Callable[[int], list[int]]]:
        action, brokers, reads = instance

        def flips(s: Fields) -> list[int]:
            changes = action(s, c, *brokers)
            return [sum((s[f] ^ new) << layout[f][0] for f, new in to.items()) for to in changes]

        return _remember(layout, reads, flips)

    roles = ["quorum_epoch", "quorum_leader", *_each(("leader", "leader_epoch"), *c.brokers)]
    roles_mask, plan = _remember(layout, roles, lambda s: [stepper(i) for i in _possible(s, c)])
    shared = ["quorum_leader", "quorum_isr", *_log(c, *c.brokers)]
    owns = [[*shared, *_each(("leader", "isr", "high_watermark"), leader)] for leader in c.brokers]
    judges = [partial(_invariants, c=c, leader=leader) for leader in c.brokers]
    checks = [_remember(layout, *of_leader) for of_leader in zip(owns, judges, strict=True)]
    held = {(True, True)}
    level = visited = {_isr(c.brokers) << layout["quorum_isr"][0]}
    generated = 1
    depth = 0
    while level:
        depth += 1
        for mask, holds in checks:
            held.update(map(holds, {state & mask for state in level}))
        groups: defaultdict[int, list[int]] = defaultdict(list)
        for state in level:
            groups[state & roles_mask].append(state)
        successors: list[int] = []
        for view, group in groups.items():
            for mask, flips in plan(view):
                successors += [state ^ flip for state in group for flip in flips(state & mask)]
        generated += len(successors)
        level = set(successors) - visited
        visited |= level
    weak, strong = map(all, zip(*held, strict=True))
    return Result(len(visited), generated, depth, weak, strong)


def _layout(c: Constants) -> Layout:
    """Return each field's shift and mask. All fields are as wide as the widest one."""
    fields = [*_log(c, *c.brokers), *_each(("high_watermark", "leader_epoch"), *c.brokers)]
    fields += [*_each(("leader", "isr"), *c.brokers), "records", "quorum_epoch", "quorum_leader"]
    fields += ["quorum_isr", *_each(("request_leader", "request_isr"), *c.epochs)]
    largest_record = c.max_records * (len(c.epochs) + 1) + len(c.epochs)
    width = max(c.log_size, _isr(c.brokers), largest_record).bit_length()
    return {field: (index * width, (1 << width) - 1) for index, field in enumerate(fields)}


def _remember(layout: Layout, reads: Iterable[Field], compute: Callable[[Fields], T]) -> tuple[int, Callable[[int], T]]:
    """Return a mask, and `compute` as a cached function of masked states."""
    places = {field: layout[field] for field in reads}
    mask = sum(size << shift for shift, size in places.values())
    return mask, cache(lambda view: compute({f: view >> shift & size for f, (shift, size) in places.items()}))


def _each(names: Iterable[str], *numbers: int) -> list[Field]:
    return [(name, number) for name in names for number in numbers]


def _log(c: Constants, *brokers: int) -> list[Field]:
    records: list[Field] = [("record", broker, o) for broker in brokers for o in range(c.log_size)]
    return records + _each(["end"], *brokers)


def _possible(s: Fields, c: Constants) -> Iterator[Instance]:
    """Yield each action that the roles allow, with its brokers and the fields that it reads or changes."""
    epoch = s["quorum_epoch"]
    if epoch < len(c.epochs):
        request = _each(("request_leader", "request_isr"), epoch + 1)
        yield _controller_update, (), ("quorum_epoch", "quorum_leader", "quorum_isr", *request)
    for leader in c.brokers:
        leader_epoch = s["leader_epoch", leader]
        local = _each(("leader", "leader_epoch", "isr"), leader)
        newer = _each(("request_leader", "request_isr"), *range(leader_epoch + 1, epoch + 1))
        yield _become_leader, (leader,), ("quorum_epoch", *local, *newer)
        ends = _each(("leader", "leader_epoch", "end"), *c.brokers)
        own = _each(("isr", "high_watermark"), leader)
        yield _increment_high_watermark, (leader,), (*own, *ends)
        if s["leader", leader] == leader:
            yield _write, (leader,), ("records", ("leader_epoch", leader), *_log(c, leader))
            for follower in set(c.brokers) - {leader}:
                yield from _possible_with(s, c, leader, follower)


def _possible_with(s: Fields, c: Constants, leader: int, follower: int) -> Iterator[Instance]:
    pair = (leader, follower)
    logs = _log(c, leader, follower)
    roles = _each(("leader", "leader_epoch"), leader, follower)
    epoch = s["leader_epoch", leader]
    if s["quorum_leader"] == leader and s["quorum_epoch"] == epoch:
        own = [*_each(("isr", "high_watermark"), leader), *_log(c, leader)]
        yield _shrink_or_expand_isr, pair, ("quorum_isr", ("end", follower), *roles, *own)
    if _same_epoch(s, leader, follower):
        yield _fetch, pair, (*logs, *_each(["high_watermark"], leader, follower))
    elif s["leader_epoch", follower] < epoch:
        request = _each(("request_leader", "request_isr"), epoch)
        own = _each(("isr", "high_watermark"), follower)
        yield _become_follower, pair, (*logs, *roles, *request, *own)


def _isr(brokers: Iterable[int]) -> int:
    return sum(1 << broker - 1 for broker in brokers)


def _members(isr: int, c: Constants) -> list[int]:
    return [broker for broker in c.brokers if isr >> broker - 1 & 1]


def _same_epoch(s: Fields, leader: int, follower: int) -> bool:
    roles = s["leader", leader] == leader == s["leader", follower]
    return roles and s["leader_epoch", leader] == s["leader_epoch", follower]


def _same_record(s: Fields, one: int, other: int, offset: int) -> bool:
    return s["record", one, offset] == s["record", other, offset] != 0


def _controller_update(s: Fields, c: Constants) -> Iterator[Fields]:
    """ControllerElectLeader and ControllerShrinkIsr."""
    leader, isr, epoch = s["quorum_leader"], s["quorum_isr"], s["quorum_epoch"] + 1
    others = [broker for broker in _members(isr, c) if broker != leader]
    updates = [(broker, isr) for broker in others]
    updates += [(leader, isr - _isr([broker])) for broker in others]
    if leader != NONE:
        updates.append((NONE, _isr(others) or isr))
    for to in updates:
        quorum: Fields = {"quorum_epoch": epoch, "quorum_leader": to[0], "quorum_isr": to[1]}
        yield quorum | {("request_leader", epoch): to[0], ("request_isr", epoch): to[1]}


def _obey(s: Fields, broker: int, epoch: int) -> Fields:
    leader, isr = s["request_leader", epoch], s["request_isr", epoch]
    return {("leader_epoch", broker): epoch, ("leader", broker): leader, ("isr", broker): isr}


def _become_leader(s: Fields, _: Constants, leader: int) -> Iterator[Fields]:
    for epoch in range(s["leader_epoch", leader] + 1, s["quorum_epoch"] + 1):
        if s["request_leader", epoch] == leader:
            yield _obey(s, leader, epoch)


def _write(s: Fields, c: Constants, leader: int) -> Iterator[Fields]:
    count, end = s["records"] + 1, s["end", leader]
    if count <= c.max_records and end < c.log_size:
        record = count * (len(c.epochs) + 1) + s["leader_epoch", leader]
        yield {"records": count, ("record", leader, end): record, ("end", leader): end + 1}


def _increment_high_watermark(s: Fields, c: Constants, leader: int) -> Iterator[Fields]:
    """FencedLeaderIncHighWatermark; a replica with an empty ISR need not presume leadership."""
    hw = s["high_watermark", leader]
    isr = _members(s["isr", leader], c)
    if s["end", leader] > hw and all(_same_epoch(s, leader, f) and s["end", f] > hw for f in isr):
        yield {("high_watermark", leader): hw + 1}


def _shrink_or_expand_isr(s: Fields, c: Constants, leader: int, follower: int) -> Iterator[Fields]:
    """FencedLeaderShrinkIsr and FencedLeaderExpandIsr, for a leader that is the quorum's.

    No leader adds itself to its ISR, because by LeaderInIsrOrNone, it never leaves the ISR.
    """
    isr, hw, end = s["isr", leader], s["high_watermark", leader], s["end", leader]
    if follower in _members(isr, c):
        allowed = not _same_epoch(s, leader, follower) or s["end", follower] < end
    else:
        epoch = s["record", leader, hw] % (len(c.epochs) + 1) if hw < end else NONE
        own_epoch_reached = hw == end or epoch == s["leader_epoch", leader]
        caught_up = _same_epoch(s, leader, follower) and s["end", follower] >= hw
        allowed = caught_up and own_epoch_reached
    if allowed:
        yield dict.fromkeys((("isr", leader), "quorum_isr"), isr ^ _isr([follower]))


def _become_follower(s: Fields, c: Constants, leader: int, follower: int) -> Iterator[Fields]:
    """FencedBecomeFollowerAndTruncate, by the request with the leader's own epoch."""
    epoch = s["leader_epoch", leader]
    if s["request_leader", epoch] == leader:
        matching = [o for o in range(s["end", leader]) if _same_record(s, leader, follower, o)]
        end = matching[-1] + 1 if matching else 0
        hw = min(end, s["high_watermark", follower])
        dropped: Fields = {("record", follower, o): 0 for o in range(end, c.log_size)}
        kept: Fields = {("end", follower): end, ("high_watermark", follower): hw}
        yield dropped | kept | _obey(s, follower, epoch)


def _fetch(s: Fields, _: Constants, leader: int, follower: int) -> Iterator[Fields]:
    """FencedFollowerFetch, within one leader epoch."""
    end = s["end", follower]
    if end < s["end", leader]:
        hw = min(end + 1, s["high_watermark", leader])
        copied: Fields = {("record", follower, end): s["record", leader, end]}
        yield copied | {("end", follower): end + 1, ("high_watermark", follower): hw}


def _invariants(s: Fields, c: Constants, leader: int) -> tuple[bool, bool]:
    quorum_isr = _members(s["quorum_isr"], c)
    if s["quorum_leader"] not in {NONE, *quorum_isr}:
        msg = f"LeaderInIsrOrNone fails in {s}, which Kip320 excludes: this search has a bug"
        raise RuntimeError(msg)
    offsets = range(s["high_watermark", leader] if s["leader", leader] == leader else 0)

    def replicated(isr: list[int]) -> bool:
        return all(_same_record(s, leader, broker, o) for broker in isr for o in offsets)

    return replicated(_members(s["isr", leader], c)), replicated(quorum_isr)
