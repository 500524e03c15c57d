"""Variables of one name in two clauses: each explanation gives the value of its own."""

from typing import Annotated

from fencepost.model.language import *

Few = Annotated[int, Range(0, 3)]
Row = Annotated[Array[Few], Size(3)]


class C(Constants):
    n = bound(3, low=0, high=6, meaning="steps")


class State(Record):
    a: Row
    b: Row
    k: Few


@action()
def initial(s: State, c: C) -> None:
    """Begin with zeros."""


@action()
def go(s: State, c: C) -> None:
    """Raise one number of each."""
    require(s.k < c.n)
    s.k += 1
    s.a[1] = s.k
    s.b[2] = s.k


@action(v=Range(0, 2))
def stuck(s: State, c: C, v: int) -> None:
    """Wait for a row that is never so small."""
    require(all(s.a[i] < v - 5 for i in range(3)) or all(s.b[i] < v - 5 for i in range(2, 3)))
    s.k = 0


@always
def either(s: State, c: C) -> bool:
    """One of both rows is small."""
    return all(s.a[i] < 3 for i in range(3)) or all(s.b[i] < 3 for i in range(3))


MACHINE = Machine("namesakes", "variables of one name", State, C, initial, (go, stuck))
PROPERTIES = (either,)
