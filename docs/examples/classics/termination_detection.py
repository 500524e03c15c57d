"""Termination detection on a ring, by Dijkstra, Feijen and van Gasteren (EWD 840).

Node 0 sends a white token around the ring. If a node has activated another one that the token has already passed, it
makes the token black; a round with a black token is inconclusive. Initially, any nodes may be active, nodes may have
any colour, and the token may be anywhere: `initial` has a parameter for each of these choices.
"""

from typing import Annotated

from fencepost.model.language import (
    BitSet,
    Constants,
    Index,
    Machine,
    Record,
    action,
    always,
    bits,
    leads_to,
    require,
    shape,
    sometimes,
    switch,
    weak,
)


class C(Constants):
    nodes = shape(3, low=2, high=5, meaning="nodes on the ring")
    blackens = switch(default=True, meaning="a node that activates a later one becomes black")


Node = Annotated[int, Index(C.nodes)]
Nodes = Annotated[int, BitSet(C.nodes)]


class State(Record):
    active: Nodes
    black: Nodes
    token: Node
    token_is_black: bool


@action(active=Nodes, black=Nodes, token=Node)
def initial(s: State, c: C, active: int, black: int, token: int) -> None:
    """The token is black; everything else is arbitrary."""
    s.active = active
    s.black = black
    s.token = token
    s.token_is_black = True


@action()
def initiate_probe(s: State, c: C) -> None:
    """Node 0 begins a round if the last one was inconclusive: it becomes white and sends a white token to the last
    node.
    """
    require(s.token == 0)
    require(s.token_is_black or bits.contains(s.black, 0))
    s.token = c.nodes - 1
    s.token_is_black = False
    s.black = bits.without(s.black, 0)


@action()
def pass_token(s: State, c: C) -> None:
    """A node other than node 0 passes the token on once the node is passive, or immediately if the round is
    inconclusive. The node becomes white.
    """
    node = s.token
    is_black = bits.contains(s.black, node)
    require(node > 0)
    require(not bits.contains(s.active, node) or is_black or s.token_is_black)
    s.token = node - 1
    s.token_is_black = s.token_is_black or is_black
    s.black = bits.without(s.black, node)


@action(node=Node, other=Node)
def activate(s: State, c: C, node: int, other: int) -> None:
    """An active node activates another one, and becomes black if that one comes later: the token may have passed it."""
    require(bits.contains(s.active, node))
    require(other != node)
    s.active = bits.with_member(s.active, other)
    if other > node and c.blackens:
        s.black = bits.with_member(s.black, node)


@action(node=Node)
def deactivate(s: State, c: C, node: int) -> None:
    """An active node becomes passive."""
    require(bits.contains(s.active, node))
    s.active = bits.without(s.active, node)


def is_detected(s: State) -> bool:
    """Return whether node 0 detects that all nodes have terminated."""
    return s.token == 0 and not s.token_is_black and not bits.contains(s.black, 0) and not bits.contains(s.active, 0)


@always
def what_is_detected_is_so(s: State, c: C) -> bool:
    """If node 0 detects termination, no node is active; violated if `blackens` is off."""
    return s.active == 0 or not is_detected(s)


@always
def dijkstras_invariant(s: State, c: C) -> bool:
    """All nodes that the token has passed are passive, unless the token or a node still ahead of it is black."""
    return (
        all(not bits.contains(s.active, node) for node in range(s.token + 1, c.nodes))
        or any(bits.contains(s.black, node) for node in range(s.token + 1))
        or s.token_is_black
    )


@sometimes
def termination_is_detected(s: State, c: C) -> bool:
    """Node 0 detects termination."""
    return is_detected(s)


def has_terminated(s: State, c: C) -> bool:
    return s.active == 0


def has_detected(s: State, c: C) -> bool:
    return is_detected(s)


termination_is_found = leads_to(
    "termination-is-found",
    "Once all nodes are passive, node 0 eventually detects this, unless a node holds the token forever.",
    when=has_terminated,
    then=has_detected,
    fair=(weak(initiate_probe, pass_token),),
)

MACHINE = Machine(
    "termination-detection",
    "A token on a ring that detects when all nodes have terminated",
    State,
    C,
    initial,
    (initiate_probe, pass_token, activate, deactivate),
)
PROPERTIES = (what_is_detected_is_so, dijkstras_invariant, termination_is_detected, termination_is_found)
