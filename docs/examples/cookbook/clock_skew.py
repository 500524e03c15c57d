"""Leases and clock skew: the lease holder and the server each count the ticks since the grant on their own clock.

The server's clock may be at most `skew` ticks ahead of the holder's, so the server waits that much longer than the
lease before it gives the lease to another client. If the server waits only for `C.lease`, `check` finds the bug.
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
    """Return whether the holder uses the lease: it has not expired on the holder's own clock."""
    return s.holder_clock < c.lease


def is_free(s: State, c: C) -> bool:
    """Return whether the server may give the lease to another client: lease and skew have passed on its own clock."""
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
    """The server's clock ticks, but never gets more than the skew ahead of the holder's."""
    require(not is_free(s, c))
    require(s.server_clock < s.holder_clock + c.skew)
    s.server_clock += 1


@always
def nobody_else_gets_it(s: State, c: C) -> bool:
    """The server does not give the lease to another client while the holder uses it."""
    return not (is_used(s, c) and is_free(s, c))


@sometimes
def it_gets_free(s: State, c: C) -> bool:
    """The lease expires, and another client may get it."""
    return is_free(s, c)


MACHINE = Machine("clock-skew", "A lease under two clocks", State, C, initial, (holder_ticks, server_ticks))
PROPERTIES = (nobody_else_gets_it, it_gets_free)
