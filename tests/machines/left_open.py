"""An endless array that is asked for whether some element has a value: z3 leaves that question in its models."""

from typing import Annotated

from fencepost.model.language import *


class C(Constants):
    n = capacity(2, low=1, high=5, meaning="the largest number", room=3)
    h = bound(1, low=0, high=5, meaning="the last element")


class State(Record):
    x: Annotated[int, Range(0, 2 * C.n)]
    y: Annotated[int, Range(0, C.n)]
    a: Annotated[Array[Annotated[int, Range(0, 2)]], Size(C.h + 1)]


@action()
def initial(s: State, c: C) -> None:
    """Begin with zeros."""


@action(v=Range(0, C.h))
def change(s: State, c: C, v: int) -> None:
    """Raise a number where some element is the parameter."""
    require(s.x < c.n)
    s.y = max(0, min(3, (3 if s.y >= 0 else s.y))) if any(s.a[i] == v for i in range(c.h + 1)) else s.y
    s.x = 0


@step()
def rises(before: State, after: State, c: C) -> bool:
    """The number does not sink; it may leave its domain."""
    return after.y >= before.y or after.x > 0


MACHINE = Machine("left_open", "a question that z3 leaves in its models", State, C, initial, (change,))
PROPERTIES = (rises,)
