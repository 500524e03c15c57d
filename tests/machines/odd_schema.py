"""The state that all of them share, and initial states with something in every place."""

from typing import Annotated

from fencepost.model.language import *

BIG = (1 << 62) - 1


class C(Constants):
    n = shape(3, low=1, high=4, meaning="elements")
    k = bound(2, low=0, high=3, meaning="anything")


Small = Annotated[int, Range(-9, 9)]
Maybe = Annotated[int, Index(C.n, none=True)]


class Pair(Record):
    a: Small
    b: Small


class Holder(Record):
    pair: Pair
    arr: Annotated[Array[Small], Size(2)]


class Message(Record):
    x: Small
    flag: bool
    members: Annotated[int, BitSet(3)]


class Letter(Record):
    pairs: Annotated[Array[Pair], Size(2)]
    to: Maybe


class State(Record):
    pc: Annotated[int, Range(0, 3)]
    out: Annotated[int, Range(-100000, 100000)]
    wide: Annotated[int, Range(-BIG, BIG)]
    x: Small
    y: Small
    i: Maybe
    flag: bool
    members: Annotated[int, BitSet(4)]
    arr: Annotated[Array[Small], Size(C.n)]
    brr: Annotated[Array[Small], Size(C.n)]
    h: Annotated[Array[Holder], Size(2)]
    box: Annotated[Bag[Message], Size(3)]
    post: Annotated[Bag[Letter], Size(2)]


def bump(s: State) -> int:
    s.x += 1
    return s.x


def first_of(s: State) -> int:
    """Return the message that a loop comes to first."""
    for m in s.box:
        return m.x
    return -9


@action(start=Range(0, 5))
def initial(s: State, c: C, start: int) -> None:
    """Begin with zeros, or with something in every place."""
    s.x = start - 2
    s.y = 2 - start
    s.i = start % 4 - 1
    s.flag = start % 2 == 1
    s.members = start * 3
    for k in range(c.n):
        s.arr[k] = (start * (k + 2)) % 5 - 1
        s.brr[k] = start - k
    s.h[0].pair.a = start
    s.h[0].arr[1] = 1
    s.h[1].pair.b = -start
    s.h[1].arr[0] = 5 - start
    if start > 1:
        s.box.add(x=2, flag=start > 3, members=start)
        s.box.add(x=start - 3, members=5)
    if start > 3:
        s.box.add(x=2, flag=True, members=start)
    if start % 3 == 2:
        first = s.post.add(to=1)
        first.pairs[0].b = start
        first.pairs[1].a = 1
        second = s.post.add(to=start % 2)
        second.pairs[0].b = 3


PARAMETERS = {"v": Range(0, 2), "w": Range(-1, 2), "j": Index(C.n), "ms": BitSet(2), "on": bool}
RECEIVED = {"m": InFlight("box"), "other": InFlight("box"), "letter": InFlight("post")}
