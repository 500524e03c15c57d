"""Constructs that no engine knows: each of them stands for simpler ones. An action for each, which counts what it
sees."""

from enum import IntEnum
from typing import Annotated

from fencepost.model.language import (
    NONE,
    Array,
    BitSet,
    Channel,
    Constants,
    Index,
    Machine,
    Per,
    Range,
    Record,
    Size,
    action,
    always,
    bits,
    bound,
    capacity,
    choose,
    largest,
    require,
    shape,
    smallest,
    sometimes,
    step,
)


class Phase(IntEnum):
    """What a server does."""

    IDLE = 0
    BUSY = 1
    GONE = 2


class C(Constants):
    """Sizes."""

    servers = shape(2, low=1, high=3, meaning="servers")
    room = capacity(2, low=1, high=3, meaning="messages in a channel")
    most = bound(2, low=0, high=3, meaning="the largest number")


AT_WORK = (Phase.IDLE, Phase.BUSY)
SOME = frozenset({0, 2})
Server = Annotated[int, Index(C.servers)]
MaybeServer = Annotated[int, Index(C.servers, none=True)]
Servers = Annotated[int, BitSet(C.servers)]
Number = Annotated[int, Range(0, C.most)]


class Inner(Record):
    """A record in a record."""

    low: Number
    flag: bool


class Replica(Record):
    """What a server has."""

    end: Number
    phase: Phase
    inner: Inner
    log: Annotated[Array[Number], Size(C.room)]


class Message(Record):
    """What servers send."""

    number: Number
    sender: MaybeServer


class State(Record):
    """The whole state."""

    replica: Annotated[Array[Replica], Per(Server)]
    isr: Servers
    sets: Annotated[Array[Servers], Per(Server)]
    table: Annotated[Array[Annotated[Array[Number], Per(Server)]], Per(Server)]
    channel: Annotated[Array[Annotated[Channel[Message], Size(C.room)]], Per(Server)]
    ends: Annotated[Array[Number], Per(Server)]
    seen: Annotated[int, Range(0, 5)]
    steps: Annotated[int, Range(0, 3)]
    widest: Annotated[
        Array[Annotated[int, Range(0, largest(C.most, C.room - 1) + 1)]], Size(smallest(C.servers, C.room))
    ]


@action(isr=Servers)
def initial(s: State, c: C, isr: int) -> None:
    """Begin with any set."""
    s.isr = isr
    s.sets[0] = isr


def go(s: State, seen: int) -> None:
    """Note what was seen."""
    s.seen = max(0, min(5, seen))
    s.steps += 1


def extremes(s: State, c: C) -> tuple[int, int]:
    """Return the least and the greatest end."""
    if c.most == 0:
        return 0, 0
    return min(r.end for r in s.replica), max(r.end for r in s.replica)


def again(s: State, c: C) -> tuple[int, int]:
    """Return the same."""
    return extremes(s, c)


def first_and(s: State, c: C, number: int) -> tuple[Replica, int]:
    """Return a record of the state, and a number."""
    return s.replica[number], number + 1


@action(server=Server)
def grows(s: State, c: C, server: int) -> None:
    """Something is different."""
    require(s.steps < 3)
    require(s.replica[server].end < c.most)
    s.replica[server].end += 1
    s.ends[server] = s.replica[server].end
    for place, _ in enumerate(s.replica[server].log):
        if place < s.replica[server].end:
            s.replica[server].log[place] = s.replica[server].end
    s.steps += 1


@action(server=Server)
def greatest(s: State, c: C, server: int) -> None:
    """The greatest and the least of generators and arrays."""
    require(s.steps < 3)
    require(max(r.end for r in s.replica) >= min(s.ends))
    require(max((r.end for r in s.replica if r.inner.flag), default=1) > 0)
    high = max((x * y for x in s.ends for y in range(x) if y != server), default=server)
    low = min(s.ends[place] + sum(s.ends) for place in range(c.servers))
    go(s, high + low + max(s.ends) * any(s.ends))


@action(server=Server)
def reset(s: State, c: C, server: int) -> None:
    """Records that are written out, stored and compared."""
    require(s.steps < 3)
    require(s.replica[server] != Replica())
    old = s.replica[server].end
    s.replica[server] = Replica(inner=Inner(low=old), phase=Phase.BUSY)
    go(s, 2 if s.replica[server] == Replica(phase=Phase.BUSY, inner=Inner(low=old)) else 0)


@action(server=Server, other=Server)
def copies(s: State, c: C, server: int, other: int) -> None:
    """Records and arrays that are compared."""
    require(s.steps < 3)
    require(server != other and s.replica[server] != s.replica[other])
    same = s.replica[server].log == s.replica[other].log
    s.replica[server].inner = s.replica[other].inner
    s.replica[server] = Replica(end=s.replica[other].end, inner=Inner(flag=True))
    go(s, 1 + same + (s.replica[server].inner == s.replica[other].inner))


@action()
def numbered(s: State, c: C) -> None:
    """Loops over enumerate, zip and reversed."""
    require(s.steps < 3)
    found = 0
    for place, (r, end) in enumerate(zip(s.replica, s.ends, strict=True), 1):
        found += place * (r.end == end)
        r.inner.flag = True
    for end in reversed(s.ends):
        found = found * 2 + end
    for number in range(c.servers - 1, -1, -1):
        if number == 1:
            continue
        found += number
    for number in reversed(range(1, c.most)):
        found += number
    for number in range(0, 5, 2):
        found -= number
    go(s, found)


@action(server=Server)
def folded(s: State, c: C, server: int) -> None:
    """The same in generators."""
    require(s.steps < 3)
    require(all(end == r.end or place == server for place, (end, r) in enumerate(zip(s.ends, s.replica))))  # noqa: B905
    first = sum(place * end for place, end in enumerate(reversed(s.ends)) if end)
    second = sum(1 for a, b in zip(s.ends, reversed(s.ends), strict=False) if a == b)
    third = max((row[0] + number for number, row in enumerate(s.table) if row[server] < 2), default=0)
    go(s, first + second + third)


@action(server=Server)
def several(s: State, c: C, server: int) -> None:
    """Helpers that return tuples."""
    require(s.steps < 3)
    low, high = again(s, c)
    require(low < high)
    r, number = first_and(s, c, server)
    high, low = extremes(s, c)
    r.inner.low = low
    go(s, high + number)


@action(server=Server)
def members(s: State, c: C, server: int) -> None:
    """What `in` looks through."""
    require(s.steps < 3)
    require(server in s.isr and NONE not in s.isr)
    require(s.replica[server].phase in AT_WORK)
    found = (
        (s.ends[server] in SOME) + (s.ends[server] not in range(1, c.most)) + (c.most in s.ends) + (server in {0, 1})
    )
    s.isr = bits.without(s.isr, server)
    for other, inside in enumerate(s.sets):
        if bits.contains(inside, server) and other not in s.sets[server]:
            found += 1
            s.sets[other] = inside & ~(1 << server)
    go(s, found)


@action(server=Server, other=Server)
def tabulates(s: State, c: C, server: int, other: int) -> None:
    """Arrays of arrays."""
    require(s.steps < 3)
    require(s.table[server][other] < c.most and len(s.table[server]) == len(s.table))
    row = s.table[server]
    row[other] += 1
    for place, line in enumerate(s.table):
        if place != server:
            line[other] = max(line)
    go(s, sum(sum(line) for line in s.table) + (s.table[0] == s.table[server]))


@action(sender=Server, to=Server)
def sends(s: State, c: C, sender: int, to: int) -> None:
    """A channel takes a message."""
    require(s.steps < 3)
    require(len(s.channel[to]) < c.room)
    m = s.channel[to].add(sender=sender)
    m.number = s.replica[sender].end
    go(s, len(s.channel[to]))


@action(to=Server)
def receives(s: State, c: C, to: int) -> None:
    """The first message of a channel is received."""
    require(s.steps < 3)
    channel = s.channel[to]
    require(len(channel) > 0 and channel[0].sender != NONE)
    number = channel[0].number
    before = sum(m.number + 1 for m in channel)
    channel.popleft()
    rest = 0
    for place, m in enumerate(channel):
        rest += place + m.number
    go(s, number + before - rest)


@action(to=Server)
def cuts(s: State, c: C, to: int) -> None:
    """All that is in a channel is lost."""
    require(s.steps < 3)
    require(any(m.number > 0 for m in s.channel[to]) or len(s.channel[to]) == c.room)
    s.channel[to].clear()
    go(s, 0)


@action(server=Server)
def draws(s: State, c: C, server: int) -> None:
    """A value is drawn in the middle, and another one after a write."""
    require(s.steps < 3)
    sender = choose(MaybeServer)
    require(sender >= server)
    s.ends[server] = 0
    phase = choose(Phase)
    s.replica[sender].phase = phase
    s.widest[0] = max(c.most, c.room - 1) + 1
    go(s, len(s.widest))


@always(server=Server, phase=Phase)
def no_end_is_beyond(s: State, c: C, server: int, phase: int) -> bool:
    """A server that does something has an end below the most."""
    return s.replica[server].phase != phase or s.replica[server].end <= c.most


@step(members=Servers)
def sets_only_shrink(before: State, after: State, c: C, members: int) -> bool:
    """What is in a set was in it."""
    return after.isr & members <= before.isr & members


@step(on=draws, limit=Range(smallest(C.most, 0), largest(C.most, 1)))
def draws_are_bounded(before: State, after: State, c: C, server: int, sender: int, phase: int, limit: int) -> bool:
    """The end of a server that draws is below every limit."""
    return after.ends[server] <= limit and after.replica[sender].phase == phase


@sometimes(server=Server)
def some_server_is_gone(s: State, c: C, server: int) -> bool:
    """A server leaves."""
    return s.replica[server].phase == Phase.GONE


@always
def rows_are_bounded(s: State, c: C) -> bool:
    """No number is above the most."""
    return max(max(row) for row in s.table) <= c.most


@always
def in_order(s: State, c: C) -> bool:
    """Messages of a channel have senders."""
    return all(m.sender in range(c.servers) for channel in s.channel for m in channel)


@sometimes
def a_replica_is_cleared(s: State, c: C) -> bool:
    """All but the first is as it was in the beginning."""
    return s.steps == 3 and s.replica[0] != Replica() and Replica(end=1) != s.replica[0]


ACTIONS = (grows, greatest, reset, copies, numbered, folded, several, members, tabulates, sends, receives, cuts, draws)
MACHINE = Machine("comforts", "Constructs that stand for others", State, C, initial, ACTIONS)
PROPERTIES = (
    rows_are_bounded,
    in_order,
    a_replica_is_cleared,
    no_end_is_beyond,
    sets_only_shrink,
    draws_are_bounded,
    some_server_is_gone,
)
