"""Leader election on a ring, by Chang and Roberts: numbers go around the ring, and a node drops those above its own.

The messages in flight to a node are a set of numbers, stored in one word. This is `ChangRoberts` from the TLA+
examples, where node n has the number n. Any set of nodes may begin; `initial` has this set as its parameter.
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
    """The nodes that begin are candidates; the others have already lost."""
    s.begins = begins
    for node in range(c.nodes):
        s.hope[node] = Hope.CANDIDATE if bits.contains(begins, node) else Hope.LOST


@action(node=Node)
def start(s: State, c: C, node: int) -> None:
    """A node starts, and sends its number if it is a candidate."""
    require(not s.started[node])
    s.started[node] = True
    if bits.contains(s.begins, node):
        s.inbox[after(c, node)] = bits.with_member(s.inbox[after(c, node)], node)


@action(node=Node, number=Node)
def receive(s: State, c: C, node: int, number: int) -> None:
    """A node that has lost forwards every number. A candidate forwards a smaller number and loses; if it receives its
    own number, it becomes the leader.
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
    """The winner has the smallest number of the nodes that began, and all other nodes have lost."""
    return all(
        bits.contains(s.begins, winner)
        and all(s.hope[other] == Hope.LOST for other in range(c.nodes) if other != winner)
        and all(not bits.contains(s.begins, other) for other in range(winner))
        for winner in range(c.nodes)
        if s.hope[winner] == Hope.WON
    )


@sometimes
def the_last_node_wins(s: State, c: C) -> bool:
    """The node with the largest number wins, because no other node begins."""
    return s.hope[c.nodes - 1] == Hope.WON


def has_candidates(s: State, c: C) -> bool:
    return any(hope == Hope.CANDIDATE for hope in s.hope)


def has_leader(s: State, c: C) -> bool:
    return any(hope == Hope.WON for hope in s.hope)


somebody_wins = leads_to(
    "somebody-wins",
    "If there are candidates, there is eventually a leader, unless a node stops forever.",
    when=has_candidates,
    then=has_leader,
    fair=(weak(start, receive, each="node"),),
)

MACHINE = Machine("ring-election", "Nodes on a ring that elect a leader", State, C, initial, (start, receive))
PROPERTIES = (the_first_wins_and_all_know, the_last_node_wins, somebody_wins)
