"""A counter with a switch under which it comes sooner, and only on the way, to what must never be."""

from typing import Annotated

from fencepost.model.language import *


class C(Constants):
    fast = switch(default=False, meaning="two at a time")
    careful = switch(default=False, meaning="it stops before two")
    wild = switch(default=False, meaning="the count leaves its domain")
    end = bound(6, low=1, high=6, meaning="the last number")


class State(Record):
    number: Annotated[int, Range(0, 9)]


@action()
def initial(s: State, c: C) -> None:
    """Begin at zero."""


@action()
def count(s: State, c: C) -> None:
    """Count."""
    require(s.number < c.end)
    require(not (c.careful and s.number == 1))
    s.number += 2 if c.fast else 20 if c.wild and s.number == 1 else 1


@always
def never_two(s: State, c: C) -> bool:
    """The number is never 2."""
    return s.number != 2


@step()
def never_to_two(before: State, after: State, c: C) -> bool:
    """No step leads to 2."""
    return after.number != 2


@sometimes
def six(s: State, c: C) -> bool:
    """The number is 6."""
    return s.number == 6


MACHINE = Machine("hurried", "a counter that can hurry", State, C, initial, (count,))
PROPERTIES = (never_two, never_to_two, six)
