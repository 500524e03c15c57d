"""A server that hands out numbered leases: it stops for want of numbers, or for want of will."""

from typing import Annotated

from fencepost.model.language import Constants, Machine, Range, Record, action, bound, leads_to, require, switch, weak


class C(Constants):
    tokens = bound(2, low=1, high=4, meaning="leases in all")
    willing = switch(default=True, meaning="the server serves whoever waits")


class State(Record):
    waits: bool
    last: Annotated[int, Range(0, C.tokens)]


@action()
def initial(s: State, c: C) -> None:
    """Nobody waits."""


@action()
def ask(s: State, c: C) -> None:
    """Somebody asks."""
    require(not s.waits)
    s.waits = True


@action()
def serve(s: State, c: C) -> None:
    """The server gives the next lease."""
    require(s.waits)
    require(c.willing)
    require(s.last < c.tokens, bound=C.tokens)
    s.last += 1
    s.waits = False


def waiting(s: State, c: C) -> bool:
    """Somebody waits."""
    return s.waits


def served(s: State, c: C) -> bool:
    """Nobody waits."""
    return not s.waits


is_served = leads_to("is-served", "Who asks is served.", when=waiting, then=served, fair=(weak(serve), weak(ask)))
MACHINE = Machine("rationed", "a server that hands out leases", State, C, initial, (ask, serve))
PROPERTIES = (is_served,)
