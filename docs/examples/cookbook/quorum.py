"""Quorums: votes are a set, and a majority is a condition on the size of the set."""

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
    require,
    shape,
    sometimes,
)


class C(Constants):
    nodes = shape(3, low=1, high=5, meaning="nodes")


Node = Annotated[int, Index(C.nodes)]
Nodes = Annotated[int, BitSet(C.nodes)]


class State(Record):
    voted: Annotated[Array[bool], Per(Node)]
    votes: Annotated[Array[Nodes], Per(Node)]
    leaders: Nodes


@action()
def initial(s: State, c: C) -> None:
    """No node has voted."""


@action(node=Node, candidate=Node)
def vote(s: State, c: C, node: int, candidate: int) -> None:
    """A node votes. Each node votes only once."""
    require(not s.voted[node])
    s.voted[node] = True
    s.votes[candidate] = bits.with_member(s.votes[candidate], node)


@action(node=Node)
def lead(s: State, c: C, node: int) -> None:
    """A node with more than half of the votes becomes the leader."""
    require(2 * bits.size(s.votes[node]) > c.nodes)
    require(node not in s.leaders)
    s.leaders = bits.with_member(s.leaders, node)


@always
def one_leads(s: State, c: C) -> bool:
    """At most one node leads, since any two majorities share a node, which votes only once."""
    return bits.size(s.leaders) <= 1


@sometimes(node=Node)
def somebody_leads(s: State, c: C, node: int) -> bool:
    """A node is elected."""
    return node in s.leaders


MACHINE = Machine("quorum", "An election by majority", State, C, initial, (vote, lead))
PROPERTIES = (one_leads, somebody_leads)
