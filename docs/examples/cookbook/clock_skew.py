"""Leases and clock skew: holder and server count the ticks since the grant, each on its own clock.

The server's clock may be ahead of the holder's by `skew` ticks at most. So the server waits that much longer than the
lease before it gives the lease to somebody else. A server that waits for `C.lease` alone is found out: try it.
"""

from typing import Annotated

from fencepost.model.language import Constants, Machine, Range, Record, action, always, bound, require, sometimes


class C(Constants):
    lease = bound(3, low=1, high=5, meaning="ticks for which the holder may use the lease")
    skew = bound(1, low=0, high=3, meaning="ticks by which the server's clock may be ahead of the holder's")


class State(Record):
    holder_clock: Annotated[int, Range(0, C.lease)]
    server_clock: Annotated[int, Range(0, C.lease + C.skew)]


def is_used(s: State, c: C) -> bool:
    """Return whether the holder takes the lease for its own: by its clock there is time left."""
    return s.holder_clock < c.lease


def is_free(s: State, c: C) -> bool:
    """Return whether the server may give the lease to another client: its clock is past the lease and the skew."""
    return s.server_clock == c.lease + c.skew


@action()
def initial(s: State, c: C) -> None:
    """The lease has just been granted: both clocks are at 0."""


@action()
def holder_ticks(s: State, c: C) -> None:
    """The holder's clock ticks."""
    require(is_used(s, c))
    s.holder_clock += 1


@action()
def server_ticks(s: State, c: C) -> None:
    """The server's clock ticks: it is never ahead of the holder's by more than the skew."""
    require(not is_free(s, c))
    require(s.server_clock < s.holder_clock + c.skew)
    s.server_clock += 1


@always
def nobody_else_gets_it(s: State, c: C) -> bool:
    """While the holder uses the lease, the server does not give it away."""
    return not (is_used(s, c) and is_free(s, c))


@sometimes
def it_gets_free(s: State, c: C) -> bool:
    """The lease runs out, and somebody else may have it."""
    return is_free(s, c)


MACHINE = Machine("clock-skew", "A lease under two clocks", State, C, initial, (holder_ticks, server_ticks))
PROPERTIES = (nobody_else_gets_it, it_gets_free)
