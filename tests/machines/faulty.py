"""A machine that ticks three times and goes wrong at the second tick, each time in another way: `fault` says how.

All faults share one machine, so that the native engine compiles it once.
"""

from enum import IntEnum
from typing import Annotated

from fencepost.model.language import *

WHEN = 2
"""The tick at which the fault shows."""


Fault = IntEnum(
    "Fault",
    """
    NOTHING VALUE VALUE_BELOW VALUE_200 VALUE_256 VALUE_SHIFTED VALUE_ADDED ELEMENT NESTED FLAG ENUM MESSAGE
    FILLED_MESSAGE READ_NONE READ_ABOVE READ_BELOW READ_BEYOND_CAPACITY STORE_NONE STORE_ABOVE RECORD_NONE
    HELPER_NONE LOOP_ABOVE RAISED_LOOP_VARIABLE FOLD_ABOVE SHADOWED_VARIABLE START_UNUSED START_OF_NOTHING
    START_IN_ZIP SHIFT_BELOW SHIFT_TOO_FAR PRODUCT_TOO_LARGE BAG_FULL BAG_ABSENT GUARD_NONE GUARD_ABOVE GUARD_SHIFT
    GUARD_HELPER GUARD_START LOCAL_BEFORE_GUARD STATE_PROPERTY_NONE STATE_PROPERTY_ABOVE STATE_PROPERTY_SHIFT
    WITNESS_NONE STEP_PROPERTY_NONE STEP_PROPERTY_ABOVE NORMALIZE_VALUE NORMALIZE_NONE INITIAL_VALUE
    """,
    start=0,
)


class Mood(IntEnum):
    CALM = 0
    BUSY = 1


class C(Constants):
    fault = choice(Fault.NOTHING, meaning="what goes wrong at the second tick")
    length = capacity(2, low=1, high=6, room=4, meaning="elements of the short array")


Small = Annotated[int, Range(0, 3)]


class Entry(Record):
    id: Small


class Message(Record):
    number: Small
    extra: Annotated[Array[Small], Size(2)]


class State(Record):
    ticks: Small
    maybe: Annotated[int, Range(NONE, 2)]
    three: Small
    hundred: Annotated[int, Range(0, 100)]
    flag: bool
    mood: Mood
    values: Annotated[Array[Small], Size(3)]
    short: Annotated[Array[Small], Size(C.length)]
    entry: Annotated[Array[Entry], Size(2)]
    box: Annotated[Bag[Message], Size(2)]


def shows(s: State, c: C, fault: int) -> bool:
    return c.fault == fault and s.ticks == WHEN


def value_at(s: State, index: int) -> int:
    return s.values[index]


@action()
def initial(s: State, c: C) -> None:
    s.maybe = NONE
    s.three = 3
    s.box.add(number=1)
    if c.fault == Fault.INITIAL_VALUE:
        s.hundred = 101


@action()
def tick(s: State, c: C) -> None:
    require(s.ticks < 3)
    s.ticks += 1


@action()
def store(s: State, c: C) -> None:
    require(s.ticks == WHEN)
    if c.fault == Fault.VALUE:
        s.three = s.three + 1
    if c.fault == Fault.VALUE_BELOW:
        s.hundred = -1
    if c.fault == Fault.VALUE_200:
        s.hundred = 200
    if c.fault == Fault.VALUE_256:
        s.hundred = 256
    if c.fault == Fault.VALUE_SHIFTED:
        s.hundred = 1 << 3 * s.three
    if c.fault == Fault.VALUE_ADDED:
        s.hundred += 256
    if c.fault == Fault.ELEMENT:
        s.values[1] = 4
    if c.fault == Fault.NESTED:
        s.entry[1].id = s.three + 1
    if c.fault == Fault.FLAG:
        s.flag = s.three  # type: ignore[assignment]  # the fault
    if c.fault == Fault.ENUM:
        s.mood = 2  # type: ignore[assignment]  # the fault
    if c.fault == Fault.MESSAGE:
        s.box.add(number=s.three + 1)
    if c.fault == Fault.FILLED_MESSAGE:
        m = s.box.add(number=1)
        m.extra[1] = 4


@action()
def index(s: State, c: C) -> None:
    require(s.ticks == WHEN)
    found = 0
    if c.fault == Fault.READ_NONE:
        found = s.values[s.maybe]
    if c.fault == Fault.READ_ABOVE:
        found = s.values[s.three]
    if c.fault == Fault.READ_BELOW:
        found = s.values[s.maybe - s.three]
    if c.fault == Fault.READ_BEYOND_CAPACITY:
        found = s.short[c.length]
    if c.fault == Fault.STORE_NONE:
        s.values[s.maybe] = 1
    if c.fault == Fault.STORE_ABOVE:
        s.values[s.three] = 1
    if c.fault == Fault.RECORD_NONE:
        s.entry[s.maybe].id = 1
    if c.fault == Fault.HELPER_NONE:
        found = value_at(s, s.maybe)
    if c.fault == Fault.SHIFT_BELOW:
        found = 1 << s.maybe
    if c.fault == Fault.SHIFT_TOO_FAR:
        found = 1 << 30 * s.three >> 30 * s.three
    if c.fault == Fault.PRODUCT_TOO_LARGE:
        large = 1 << 20 * s.three
        found = large * large >> 40 * s.three
    s.flag = found == 1


@action()
def loop(s: State, c: C) -> None:
    require(s.ticks == WHEN)
    found = 0
    if c.fault == Fault.LOOP_ABOVE:
        for i in range(s.three + 1):
            found += s.values[i]
    if c.fault == Fault.RAISED_LOOP_VARIABLE:
        for i in range(3):
            for _ in range(2):
                found += s.values[i]
                i += 1  # noqa: PLW2901 (the fault)
    if c.fault == Fault.FOLD_ABOVE:
        found = sum(s.values[i] for i in range(4))
    if c.fault == Fault.SHADOWED_VARIABLE:
        for i in range(3):
            found += s.values[i] + sum(s.values[i] for i in range(1, 4))
    if c.fault == Fault.START_UNUSED:
        found = sum(x for _, x in enumerate(s.values, s.values[s.three]))
    if c.fault == Fault.START_OF_NOTHING:
        found = sum(i for i, _ in enumerate(range(0), s.values[s.three]))
    if c.fault == Fault.START_IN_ZIP:
        found = sum(x + y for x, (_, y) in zip(s.values, enumerate(s.short, s.values[s.three])))  # noqa: B905
    s.flag = found > 0


@action()
def overfill(s: State, c: C) -> None:
    require(shows(s, c, Fault.BAG_FULL))
    for _ in range(2):
        s.box.add(number=2)


@action(m=InFlight("box"))
def remove_twice(s: State, c: C, m: Message) -> None:
    require(shows(s, c, Fault.BAG_ABSENT))
    s.box.remove(m)
    s.box.remove(m)


@action(i=Range(0, 4))
def guard(s: State, c: C, i: int) -> None:
    require(not shows(s, c, Fault.GUARD_NONE) or s.values[s.maybe] == 0)
    require(not shows(s, c, Fault.GUARD_ABOVE) or s.values[i] == 0)
    require(not shows(s, c, Fault.GUARD_SHIFT) or 1 << s.maybe == 0)
    require(not shows(s, c, Fault.GUARD_HELPER) or value_at(s, i) == 0)
    require(not shows(s, c, Fault.GUARD_START) or all(x < 4 for _, x in enumerate(s.values, s.values[i])))
    require(s.ticks > 3)
    s.flag = True


@action()
def local(s: State, c: C) -> None:
    found = s.values[s.maybe if shows(s, c, Fault.LOCAL_BEFORE_GUARD) else 0]
    require(s.ticks > 3)
    s.flag = found == 0


def clear_flag(s: State, c: C) -> None:
    s.flag = False
    if shows(s, c, Fault.NORMALIZE_VALUE):
        s.hundred = 256
    if shows(s, c, Fault.NORMALIZE_NONE):
        s.values[s.maybe] = 0


@always
def reads_well(s: State, c: C) -> bool:
    if shows(s, c, Fault.STATE_PROPERTY_NONE):
        return s.values[s.maybe] == 0
    if shows(s, c, Fault.STATE_PROPERTY_ABOVE):
        return all(s.values[i] == 0 for i in range(4))
    if shows(s, c, Fault.STATE_PROPERTY_SHIFT):
        return bits.only(s.maybe) == 0
    return True


@sometimes
def is_seen(s: State, c: C) -> bool:
    return shows(s, c, Fault.WITNESS_NONE) and s.entry[s.maybe].id == 1


@step(on=tick)
def ticks_well(before: State, after: State, c: C) -> bool:
    if shows(before, c, Fault.STEP_PROPERTY_NONE):
        return after.values[after.maybe] == 0
    return not shows(before, c, Fault.STEP_PROPERTY_ABOVE) or before.values[before.three] == 0


MACHINE = Machine("faulty", "a clock that goes wrong at its second tick", State, C, initial,
    (tick, store, index, loop, overfill, remove_twice, guard, local), normalize=clear_flag)  # fmt: skip

PROPERTIES = (reads_well, is_seen, ticks_well)
