"""The echo algorithm: a node explores a graph, and the answers of all nodes form a spanning tree.

This is `Echo` from the TLA+ examples, on a graph in which all nodes are neighbours. Messages are in a bag, so a node
receives them in any order. Node 0 begins.
"""

from enum import IntEnum
from typing import Annotated

from fencepost.model.language import (
    NONE,
    Array,
    Bag,
    BitSet,
    Constants,
    Index,
    InFlight,
    Machine,
    Per,
    Range,
    Record,
    Size,
    action,
    always,
    bits,
    require,
    shape,
    sometimes,
)


class C(Constants):
    nodes = shape(3, low=2, high=4, meaning="nodes, all of them neighbours")


Node = Annotated[int, Index(C.nodes)]
MaybeNode = Annotated[int, Index(C.nodes, none=True)]
Nodes = Annotated[int, BitSet(C.nodes)]


class At(IntEnum):
    STARTING = 0
    RECEIVING = 1
    ANSWERING = 2
    DONE = 3


class Message(Record):
    to: Node
    sender: Node
    is_answer: bool


class State(Record):
    at: Annotated[Array[At], Per(Node)]
    parent: Annotated[Array[MaybeNode], Per(Node)]
    children: Annotated[Array[Nodes], Per(Node)]
    received: Annotated[Array[Annotated[int, Range(0, C.nodes - 1)]], Per(Node)]
    messages: Annotated[Bag[Message], Size(4 * C.nodes)]


@action()
def initial(s: State, c: C) -> None:
    """No node has a parent."""
    for node in range(c.nodes):
        s.parent[node] = NONE


@action(node=Node)
def start(s: State, c: C, node: int) -> None:
    """A node starts; node 0 sends a message to all others."""
    require(s.at[node] == At.STARTING)
    s.at[node] = At.RECEIVING
    if node == 0:
        for other in range(1, c.nodes):
            s.messages.add(to=other, sender=node, is_answer=False)


@action(m=InFlight("messages"))
def receive(s: State, c: C, m: Message) -> None:
    """A node receives a message. The first one is forwarded to all others, and its sender becomes the parent; answers
    come from children.
    """
    node = m.to
    is_first = node != 0 and s.received[node] == 0
    require(s.at[node] == At.RECEIVING)
    require(s.received[node] < c.nodes - 1)
    s.messages.remove(m)
    s.received[node] += 1
    if is_first:
        s.parent[node] = m.sender
        for other in range(c.nodes):
            if other not in (node, m.sender):
                s.messages.add(to=other, sender=node, is_answer=False)
    if m.is_answer:
        s.children[node] = bits.with_member(s.children[node], m.sender)


@action(node=Node)
def has_all(s: State, c: C, node: int) -> None:
    """A node has received a message from every neighbour."""
    require(s.at[node] == At.RECEIVING)
    require(s.received[node] == c.nodes - 1)
    s.at[node] = At.ANSWERING


@action(node=Node)
def answer(s: State, c: C, node: int) -> None:
    """A node answers its parent, if it has one."""
    require(s.at[node] == At.ANSWERING)
    s.at[node] = At.DONE
    if node != 0:
        s.messages.add(to=s.parent[node], sender=node, is_answer=True)


@action()
def stay(s: State, c: C) -> None:
    """All nodes are done, and nothing changes any more."""
    require(all(at == At.DONE for at in s.at))


def root(s: State, c: C, node: int) -> int:
    """Return the first ancestor without a parent, following at most as many links as there are nodes."""
    ancestor = node
    for _ in range(c.nodes):
        if s.parent[ancestor] != NONE:
            ancestor = s.parent[ancestor]
    return ancestor


@always
def the_parents_make_a_tree(s: State, c: C) -> bool:
    """At the end, node 0 has no parent and is an ancestor of all other nodes."""
    return any(at != At.DONE for at in s.at) or (
        s.parent[0] == NONE and all(root(s, c, node) == 0 for node in range(c.nodes))
    )


@always
def children_have_their_parents(s: State, c: C) -> bool:
    """If a node has a child, the node is that child's parent."""
    return all(
        s.parent[child] == node
        for node in range(c.nodes)
        for child in range(c.nodes)
        if bits.contains(s.children[node], child)
    )


@always
def the_first_message_is_no_answer(s: State, c: C) -> bool:
    """A node receives answers only after it has sent messages."""
    return all(s.received[m.to] > 0 or m.to == 0 for m in s.messages if m.is_answer)


@sometimes
def the_tree_is_deep(s: State, c: C) -> bool:
    """All nodes are done, and some node is not a child of node 0."""
    return all(at == At.DONE for at in s.at) and any(s.parent[node] > 0 for node in range(c.nodes))


MACHINE = Machine(
    "echo", "Messages that form a spanning tree", State, C, initial, (start, receive, has_all, answer, stay)
)
PROPERTIES = (the_parents_make_a_tree, children_have_their_parents, the_first_message_is_no_answer, the_tree_is_deep)
