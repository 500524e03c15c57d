"""A walk on a graph that constants draw: what liveness is judged on, and compared with an oracle, by the thousand.

Node n has a step of kind k to every node in the set `k<n>`; both marks are sets of nodes. Whoever draws the graph also
chooses what is fair.
"""

from typing import Annotated

from fencepost.model.language import *

NODES = 5


def drawn(meaning: str) -> int:
    return bound(0, low=0, high=(1 << NODES) - 1, meaning=meaning)


class C(Constants):
    starts = bound(1, low=1, high=(1 << NODES) - 1, meaning="initial nodes")
    when = drawn("nodes that the property starts from")
    then = drawn("nodes that it wants")
    a0, a1, a2, a3, a4 = (drawn(f"steps a from node {n}") for n in range(NODES))
    b0, b1, b2, b3, b4 = (drawn(f"steps b from node {n}") for n in range(NODES))
    d0, d1, d2, d3, d4 = (drawn(f"steps d from node {n}") for n in range(NODES))


Node = Annotated[int, Range(0, NODES - 1)]


class Token(Record):
    at: Annotated[int, Index(NODES)]


class State(Record):
    at: Node
    tokens: Annotated[Bag[Token], Size(1)]


def edges_a(c: C, node: int) -> int:
    return c.a0 if node == 0 else c.a1 if node == 1 else c.a2 if node == 2 else c.a3 if node == 3 else c.a4


def edges_b(c: C, node: int) -> int:
    return c.b0 if node == 0 else c.b1 if node == 1 else c.b2 if node == 2 else c.b3 if node == 3 else c.b4


def edges_d(c: C, node: int) -> int:
    return c.d0 if node == 0 else c.d1 if node == 1 else c.d2 if node == 2 else c.d3 if node == 3 else c.d4


@action(node=Node)
def initial(s: State, c: C, node: int) -> None:
    require(bits.contains(c.starts, node))
    s.at = node
    s.tokens.add(at=node)


@action(to=Node)
def a(s: State, c: C, to: int) -> None:
    require(bits.contains(edges_a(c, s.at), to))
    s.at = to
    for m in s.tokens:
        s.tokens.remove(m)
    s.tokens.add(at=to)


@action(to=Node)
def b(s: State, c: C, to: int) -> None:
    require(bits.contains(edges_b(c, s.at), to))
    s.at = to
    for m in s.tokens:
        s.tokens.remove(m)
    s.tokens.add(at=to)


@action(m=InFlight("tokens"), to=Node)
def d(s: State, c: C, m: Token, to: int) -> None:
    require(bits.contains(edges_d(c, m.at), to))
    s.at = to
    s.tokens.remove(m)
    s.tokens.add(at=to)


def when(s: State, c: C) -> bool:
    """The walk is at a node that the property starts from."""
    return bits.contains(c.when, s.at)


def then(s: State, c: C) -> bool:
    """The walk is at a node that the property wants."""
    return bits.contains(c.then, s.at)


def sets_out(s: State, c: C, node: int) -> bool:
    """The walk is at a node that the property starts from, whatever the node is that it wants."""
    return bits.contains(c.when, s.at)


def is_at(s: State, c: C, node: int) -> bool:
    return s.at == node


MACHINE = Machine("maze", "a walk on a graph that constants draw", State, C, initial, (a, b, d))
