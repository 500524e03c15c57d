"""Election of a leader on a ring, by Chang and Roberts:
numbers go around, and each node takes those out that are larger than its own.

The messages under way to a node are a set of numbers, so one word: `ChangRoberts` of the TLA+ examples, where node n
has the number n. Any nodes may begin; the parameter of `initial` says which.
"""

from enum import IntEnum
from typing import Annotated

from fencepost.model.language import (
    Array,
    BitSet,
    Constants,
    Index,
    Machine,
    Per,
    Record,
    action,
    always,
    bits,
    leads_to,
    require,
    shape,
    sometimes,
    weak,
)


class C(Constants):
    nodes = shape(3, low=2, high=6, meaning="nodes on the ring")


Node = Annotated[int, Index(C.nodes)]
Nodes = Annotated[int, BitSet(C.nodes)]


class Hope(IntEnum):
    CANDIDATE = 0
    LOST = 1
    WON = 2


class State(Record):
    begins: Nodes
    started: Annotated[Array[bool], Per(Node)]
    hope: Annotated[Array[Hope], Per(Node)]
    inbox: Annotated[Array[Nodes], Per(Node)]


def after(c: C, node: int) -> int:
    """Return the next node on the ring."""
    return node + 1 if node + 1 < c.nodes else 0


@action(begins=Nodes)
def initial(s: State, c: C, begins: int) -> None:
    """Those who begin are candidates; the others have lost already."""
    s.begins = begins
    for node in range(c.nodes):
        s.hope[node] = Hope.CANDIDATE if bits.contains(begins, node) else Hope.LOST


@action(node=Node)
def start(s: State, c: C, node: int) -> None:
    """A node starts, and sends its number if it is one of those who begin."""
    require(not s.started[node])
    s.started[node] = True
    if bits.contains(s.begins, node):
        s.inbox[after(c, node)] = bits.with_member(s.inbox[after(c, node)], node)


@action(node=Node, number=Node)
def receive(s: State, c: C, node: int, number: int) -> None:
    """A node passes on every number once it has lost,
    and smaller ones, by which it loses; its own makes it the leader.
    """
    require(s.started[node])
    require(bits.contains(s.inbox[node], number))
    passes_on = s.hope[node] == Hope.LOST or number < node
    wins = not passes_on and number == node
    s.inbox[node] = bits.without(s.inbox[node], number)
    if passes_on:
        s.hope[node] = Hope.LOST
        s.inbox[after(c, node)] = bits.with_member(s.inbox[after(c, node)], number)
    if wins:
        s.hope[node] = Hope.WON


@always
def the_first_wins_and_all_know(s: State, c: C) -> bool:
    """Whoever wins has begun, and has the least number of those who did; all others have lost by then."""
    return all(
        bits.contains(s.begins, winner)
        and all(s.hope[other] == Hope.LOST for other in range(c.nodes) if other != winner)
        and all(not bits.contains(s.begins, other) for other in range(winner))
        for winner in range(c.nodes)
        if s.hope[winner] == Hope.WON
    )


@sometimes
def the_last_node_wins(s: State, c: C) -> bool:
    """The node with the largest number wins, as it is the only one to begin."""
    return s.hope[c.nodes - 1] == Hope.WON


def has_candidates(s: State, c: C) -> bool:
    return any(hope == Hope.CANDIDATE for hope in s.hope)


def has_leader(s: State, c: C) -> bool:
    return any(hope == Hope.WON for hope in s.hope)


somebody_wins = leads_to(
    "somebody-wins",
    "Where there are candidates there is a leader in the end, if no node stops for ever.",
    when=has_candidates,
    then=has_leader,
    fair=(weak(start, receive, each="node"),),
)

MACHINE = Machine("ring-election", "Nodes on a ring that elect a leader", State, C, initial, (start, receive))
PROPERTIES = (the_first_wins_and_all_know, the_last_node_wins, somebody_wins)
