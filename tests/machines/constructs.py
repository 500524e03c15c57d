"""A machine that uses every construct of the language, on negative numbers too: what engines are most likely to differ
in.

Its constants make domains and arrays of odd sizes: bounds that grow while a constant falls, parameters without values,
enums with NONE. Its names are those that generated code would like to have for itself.
"""

from enum import IntEnum
from typing import Annotated

from fencepost.model.language import (
    Array,
    Bag,
    BitSet,
    Constants,
    Index,
    InFlight,
    Machine,
    Per,
    Range,
    Record,
    Size,
    action,
    always,
    bits,
    bound,
    capacity,
    require,
    shape,
    sometimes,
    step,
)
from fencepost.model.language import require as must


class C(Constants):
    """Sizes."""

    things = shape(3, low=1, high=4, meaning="things")
    room = capacity(2, low=1, high=6, room=4, meaning="elements of a thing")
    first = bound(195, low=0, high=200, meaning="first number that is drawn")
    last = bound(200, low=0, high=200, meaning="last number that is drawn")
    least = bound(
        0, low=0, high=2, meaning="one more than the least number that is added: with 0 that is NONE, no choice"
    )


class Mood(IntEnum):
    """A mood, or none."""

    NONE = -1
    CALM = 0
    BUSY = 1


Thing = Annotated[int, Index(C.things)]
Number = Annotated[int, Range(-4, 4)]
Drawn = Annotated[int, Range(0, 100 + C.last - C.first)]
Out = Annotated[int, Range(-5000, 5000)]


class Pair(Record):
    """Two numbers."""

    a: Number
    b: Number


class Holder(Record):
    """A pair and an array whose length is a constant of the run."""

    pair: Pair
    number: Annotated[Array[Number], Size(C.room)]


class Message(Record):
    """A message."""

    thing: Thing
    number: Number


class State(Record):
    """Numbers to compute with, and what came out."""

    x: Number
    y: Number
    flag: bool
    mood: Mood
    drawn: Drawn
    byte: Annotated[int, Range(-128, 127)]
    members: Annotated[int, BitSet(5)]
    holder: Annotated[Array[Holder], Per(Thing)]
    spare: Pair
    box: Annotated[Bag[Message], Size(3)]
    out: Annotated[Array[Out], Size(5)]


def larger(s: State, thing: int, other: int) -> Holder:
    """Return one of two records."""
    if s.holder[thing].pair.a > s.holder[other].pair.a:
        return s.holder[thing]
    return s.holder[other]


def sign(x: int) -> int:
    """Return -1, 0 or 1, by early returns."""
    if x < 0:
        return -1
    if x == 0:
        return 0
    return 1


def either(x: int, y: int) -> int:
    """Return the first that is not 0."""
    return x or y


@action()
def initial(s: State, c: C) -> None:
    """Everything is zero."""


@action(n=Number, row=Range(-2, 2))
def take(s: State, c: C, n: int, row: int) -> None:
    """Numbers are taken."""
    number = n + row
    require(-4 <= number <= 4)
    s.x = n
    s.y = number
    s.flag = n > row
    for out in range(5):
        s.out[out] = 0


@action()
def logic(s: State, c: C) -> None:
    """And, or, not, conditions as numbers."""
    x, y = s.x, s.y
    s.out[0] = x and y
    s.out[1] = (x or y) + 10 * (s.flag and x) + 100 * (x > y > 0)
    s.out[2] = (not x) + (x > y) + (y > x) * 10 - (x == y) + 1000 * ((x > 0) == s.flag)
    s.out[3] = either(x, y) + (1 if x in (1, y, 3) else 0) + 10 * (y not in (x, -1)) + bool(x) + int(y > 0)
    s.out[4] = -(x > y) + (x < y < 3) * 3 + (x != y != s.flag) + (x if s.flag else y > 0) + max(x, s.flag, y > 0)


@action(n=Range(C.least - 1, 3))
def extremes(s: State, c: C, n: int) -> None:
    """The least and the greatest numbers of a byte."""
    s.byte = -128 if s.byte == 127 else max(-128, min(127, 2 * s.byte + 43 * n))
    s.out[0] = abs(s.byte)
    s.out[1] = -s.byte
    s.out[2] = ~s.byte + (s.byte << 2) - (s.byte >> 1)
    s.out[3] = s.byte * 2 - abs(s.byte) * 3 + min(s.byte, 0) - max(s.byte, 1)
    s.out[4] = (s.byte ^ 255) + (s.byte | 256) + s.byte // 3 + s.byte % 5


@action()
def arithmetic(s: State, c: C) -> None:
    """Every operator."""
    x, y = s.x, s.y
    a, b = x, y
    a, b = b, a
    s.out[0] = x // 3 + 10 * (y % 3) + 100 * ((x - y) // 2) + a - b
    s.out[1] = (x ^ y) + (x | y) * 10 + (x & y) * 100 + ~x + +y
    s.out[2] = (x << 2) + (y >> 1) * 100 + (1 << (y & 3)) + (x >> abs(y)) + (-100 >> 2 * abs(y) * abs(y) * abs(y))
    s.out[3] = x * y + min(x, y, 1) + 10 * max(x, y) + 100 * abs(x - y) + sign(x) * 1000
    s.out[4] %= 100
    s.out[4] -= 3
    s.out[4] *= 2
    s.out[4] //= 5
    s.out[4] %= 7
    s.out[4] ^= x
    s.out[4] <<= 1


@action()
def folds(s: State, c: C) -> None:
    """Generators, loops, breaks."""
    by = sum(v for h in s.holder for v in h.number if v > 0)
    s.out[0] = (
        by + 100 * all(h.pair.a <= s.x for h in s.holder) + 200 * any(v == s.y for h in s.holder for v in h.number)
    )
    s.out[1] = sum(1 for i in range(c.things) if any(s.holder[j].pair.a == i for j in range(i + 1)))
    found = 0
    for i in range(c.things):
        if s.holder[i].pair.b < 0:
            continue
        found += i + 1
        if found > 3:
            break
    s.out[2] = found
    at = s.flag
    if s.x > 0:
        at = s.x  # type: ignore[assignment]  # a flag is a number too
    s.out[3] = at + ~s.flag + bits.size(s.members) + 10 * bits.contains(s.members, s.x) + len(s.holder) + len(s.box)
    put = 0
    for i in range(2, c.room + 2):
        put = 10 * put + s.holder[0].number[i - 2]
    s.out[4] = put % 5000


@action(number=Thing, last=Thing)
def records(s: State, c: C, number: int, last: int) -> None:
    """References to records, and copies of them."""
    first, found = s.holder[number], larger(s, number, last)
    chosen = first if s.flag else s.holder[last]
    require(number != last or s.flag)
    require(number <= last or not s.flag)
    chosen.pair.a = s.x
    found.pair.b = s.y
    s.spare = chosen.pair
    s.holder[last].pair = s.spare
    s.holder[number].number[c.room - 1] = s.x
    s.members = bits.with_member(bits.without(s.members, last), number)
    s.flag = not s.flag


@action(drawn=Range(C.first, C.last))
def draw(s: State, c: C, drawn: int) -> None:
    """A number is drawn; there may be none."""
    require(drawn % 4 == s.y % 2)
    s.drawn = 100 + drawn - c.first


@action(i=Thing)
def search(s: State, c: C, i: int) -> None:
    """Guards after swaps, loops and branches; a guard by another name."""
    a, b = s.x, s.y
    a, b = b, a
    must(a <= b or s.flag)
    found = -1
    for j in range(c.things):
        if s.holder[j].pair.a == a and found < 0:
            found = j
    require(found <= i)
    if s.flag:  # noqa: SIM108 (a branch before a guard)
        least = min(i, found)
    else:
        least = i
    require(least < 2)
    s.out[0] = 100 * a + 10 * found + least
    s.flag = found < 0


@action(mood=Mood, members=BitSet(2))
def change(s: State, c: C, mood: Mood, members: int) -> None:
    """The mood changes; NONE is no choice."""
    require(mood != s.mood)
    s.mood = Mood.NONE if mood == Mood.CALM else mood
    s.members = members | s.members & ~3


@action(alive=Thing)
def send(s: State, c: C, alive: int) -> None:
    """Messages are sent, in any order."""
    require(len(s.box) < 2)
    first = s.box.add(thing=alive, number=s.x)
    s.box.add(thing=c.things - 1 - alive, number=s.y)
    if s.flag:
        first.number = 1


@action(m=InFlight("box"), out=Range(0, 1))
def receive(s: State, c: C, m: Message, out: int) -> None:
    """A message is received, and its equals change."""
    require(m.number == s.x or out == 1)
    s.box.remove(m)
    s.x = m.number
    for hashes in s.box:
        if hashes.number == m.number and out == 1:
            hashes.number = -4


@action(m=InFlight("box"))
def throw_away(s: State, c: C, m: Message) -> None:
    """All messages to a thing are thrown away."""
    n = m.thing
    require(s.holder[n].pair.a >= 0)
    for words in s.box:
        if words.thing == n:
            s.box.remove(words)
    if s.flag:
        for parents in s.box:
            if parents.number > 0:
                s.box.add(thing=n, number=-1)
                break


@always
def drawn_is_even_or_not(s: State, c: C) -> bool:
    """Anything may hold."""
    return s.drawn % 2 == 0 or s.x < 4 or s.y < 4


@step(on=records)
def copies_are_equal(before: State, after: State, c: C, number: int, last: int) -> bool:
    """The copy has what the last one has."""
    return after.spare.a == after.holder[last].pair.a and after.spare.b == after.holder[last].pair.b


@sometimes
def everything_differs(before: State, after: State, c: C) -> bool:
    """Much changes in one step."""
    return all(before.out[i] != after.out[i] for i in range(len(after.out)))


MACHINE = Machine(
    name="constructs",
    sentence="every construct of the language",
    state=State,
    constants=C,
    initial=initial,
    actions=(take, logic, extremes, arithmetic, folds, records, draw, search, change, send, receive, throw_away),
)

PROPERTIES = (drawn_is_even_or_not, copies_are_equal, everything_differs)
