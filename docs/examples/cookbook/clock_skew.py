"""Leases and clock skew: each side counts ticks of its own, and their clocks may differ by so many ticks at most."""

from typing import Annotated

from fencepost.model.language import Constants, Machine, Range, Record, action, always, bound, require, sometimes


class C(Constants):
    lease = bound(3, low=1, high=5, meaning="ticks that a lease lasts for its holder")
    skew = bound(1, low=0, high=3, meaning="ticks by which the clocks may differ")


class State(Record):
    held: bool
    holder_left: Annotated[int, Range(0, C.lease)]
    server_left: Annotated[int, Range(0, C.lease + C.skew)]
    free: bool


@action()
def initial(s: State, c: C) -> None:
    """A lease is granted: the server waits longer than the holder uses it."""
    s.held = True
    s.holder_left = c.lease
    s.server_left = c.lease + c.skew


@action()
def holder_ticks(s: State, c: C) -> None:
    """The holder's clock goes on, but not further than the skew behind the server's."""
    require(s.holder_left > 0)
    s.holder_left -= 1
    s.held = s.holder_left > 0


@action()
def server_ticks(s: State, c: C) -> None:
    """The server's clock goes on, but not further than the skew before the holder's."""
    require(s.server_left > 0)
    require(c.lease + c.skew - s.server_left < c.lease - s.holder_left + c.skew)
    s.server_left -= 1
    s.free = s.server_left == 0


@always
def nobody_else_gets_it(s: State, c: C) -> bool:
    """While it is held, the server does not give it away."""
    return not (s.held and s.free)


@sometimes
def it_gets_free(s: State, c: C) -> bool:
    """The lease runs out."""
    return s.free


MACHINE = Machine("clock-skew", "A lease under two clocks", State, C, initial, (holder_ticks, server_ticks))
PROPERTIES = (nobody_else_gets_it, it_gets_free)
