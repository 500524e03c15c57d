"""Variables of one name in two clauses, in a helper and in its caller: each explanation gives the value of its own."""

from typing import Annotated

from fencepost.model.language import (
    Array,
    Constants,
    Machine,
    Range,
    Record,
    Size,
    action,
    always,
    bound,
    require,
)

Few = Annotated[int, Range(0, 3)]
Row = Annotated[Array[Few], Size(3)]


class C(Constants):
    """How often something happens."""

    n = bound(3, low=0, high=6, meaning="steps")


class State(Record):
    """Two rows, and a square."""

    a: Row
    b: Row
    m: Annotated[Array[Row], Size(3)]
    k: Few


def row(s: State, c: C, t: int) -> bool:
    """Say whether a row is small."""
    return all(s.m[t][i] < 2 for i in range(3))


def at(s: State, c: C, i: int) -> bool:
    """Say whether a number of the second row is small."""
    return s.b[i] < 3


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
    s.m[0][2] = s.k


@action(v=Range(0, 2))
def stuck(s: State, c: C, v: int) -> None:
    """Wait for a row that is never so small."""
    require(all(s.a[i] < v - 5 for i in range(3)) or all(s.b[i] < v - 5 for i in range(2, 3)))
    s.k = 0


@always
def either(s: State, c: C) -> bool:
    """One of both rows is small."""
    return all(s.a[i] < 3 for i in range(3)) or all(s.b[i] < 3 for i in range(3))


@always
def rows(s: State, c: C) -> bool:
    """All rows are small."""
    return all(row(s, c, i) for i in range(3))


@always
def beside(s: State, c: C) -> bool:
    """Some number is small, or the one after it."""
    return all(s.a[i] < 3 for i in range(3)) or all(at(s, c, i + 1) for i in range(2))


@always
def late(s: State, c: C) -> bool:
    """The first row is small; what happens at three has no part in it."""
    known = s.a[1]
    if known > 1:
        return False
    if s.k == 3:
        known = 0
    return True


MACHINE = Machine("namesakes", "variables of one name", State, C, initial, (go, stuck))
PROPERTIES = (either, rows, beside, late)
