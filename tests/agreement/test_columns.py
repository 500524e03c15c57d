"""Conditions of sixteen states at once: what one state does not evaluate raises no error in any of them."""

import re
from typing import Annotated

import pytest
from fencepost.explorers.native.compile import generate
from fencepost.explorers.plain import search as plain
from fencepost.explorers.search import search as native
from fencepost.explorers.verdict import Options, Result
from fencepost.invariants.protocols import PROTOCOLS
from fencepost.model.language import (
    Array,
    Constants,
    Index,
    Machine,
    Property,
    Range,
    Record,
    Size,
    action,
    always,
    capacity,
    require,
    sometimes,
)
from fencepost.model.language.errors import FencepostError


class C(Constants):
    """Sizes."""

    room = capacity(4, low=1, high=5, meaning="elements")


class State(Record):
    """Numbers, and a place that may lie behind them."""

    items: Annotated[Array[Annotated[int, Range(0, 3)]], Size(C.room)]
    at: Annotated[int, Range(0, C.room)]
    hops: Annotated[int, Range(0, 9)]


Item = Annotated[int, Index(C.room)]


@action()
def initial(s: State, c: C) -> None:
    """The first place."""
    s.at = 0


@action(step=Item)
def goes_on(s: State, c: C, step: int) -> None:
    """The place moves, as long as it is inside and its number is small."""
    require(s.hops < 9)
    require(s.at < c.room and s.items[s.at] < 3)
    require(s.at + step >= c.room or s.items[s.at + step] < 3)
    s.items[s.at] += 1
    s.at = min(c.room, s.at + step)
    s.hops += 1


@action()
def returns(s: State, c: C) -> None:
    """The place moves back from behind the last number."""
    require(all(s.items[n] <= 3 for n in range(c.room)) and (s.at == c.room or s.items[s.at] == 3))
    require(s.at)
    s.at = 0


@always
def is_small(s: State, c: C) -> bool:
    """A number at the place is at most 3."""
    return s.at == c.room or s.items[s.at] <= 3


@sometimes
def is_full(s: State, c: C) -> bool:
    """Behind the place all is as it was: asked of no place but those inside."""
    return s.at < c.room and any(s.items[s.at] == 3 and s.items[n] > 1 for n in range(s.at + 1, c.room))


@always
def reads_behind(s: State, c: C) -> bool:
    """Reads what is not there."""
    return s.hops < 3 or s.items[s.at] >= 0


MACHINE = Machine("side-by-side", "Places beside each other", State, C, initial, (goes_on, returns))


def agree(machine: Machine, properties: tuple[Property, ...], **values: int) -> Result:
    """Search natively and plainly, compare what both found, and return it."""
    constants = machine.set_constants(values)
    found, expected = (search(machine, constants, properties, Options(workers=1)) for search in (native, plain))
    assert (found.distinct, found.generated, found.depth) == (expected.distinct, expected.generated, expected.depth)
    assert (found.fired, found.guards) == (expected.fired, expected.guards)
    assert [(item.name, item.verdict) for item in found.properties] == [
        (item.name, item.verdict) for item in expected.properties
    ]
    return found


def errors(machine: Machine, properties: tuple[Property, ...] = (), **values: int) -> set[str]:
    """Return the errors that the native and the plain search end with."""
    found = set()
    for search in (native, plain):
        with pytest.raises(FencepostError) as error:
            search(machine, machine.set_constants(values), properties, Options(workers=1))
        found.add(str(error.value))
    return found


@pytest.mark.parametrize("room", [1, 2, 4, 5])
def test_what_a_part_protects_is_protected_in_every_lane(room: int) -> None:
    agree(MACHINE, (is_small, is_full), room=room)


def test_a_part_that_nothing_protects_fails_as_it_does_in_one_state() -> None:
    assert errors(MACHINE, (reads_behind,), room=2) == {
        "property 'reads-behind': State.items: index 2 is outside the array: it has 2 elements, numbered from 0."
    }


class Row(Record):
    """Two numbers."""

    pair: Annotated[Array[Annotated[int, Range(0, 1)]], Size(2)]


class Table(Record):
    """Rows, and a place behind them."""

    rows: Annotated[Array[Row], Size(3)]
    at: Annotated[int, Range(0, 9)]


@action()
def lays(s: Table, c: C) -> None:
    """The place is behind the rows."""
    s.at = 7


@action()
def measures(s: Table, c: C) -> None:
    """Asks for a length that is known, of a row that is not there."""
    require(len(s.rows[s.at].pair) == 2)


def test_a_length_that_is_known_is_asked_of_an_array_that_is_there() -> None:
    machine = Machine("lengths", "Lengths of rows", Table, C, lays, (measures,))
    assert errors(machine) == {
        "measures: Table.rows: index 7 is outside the array: it has 3 elements, numbered from 0."
    }


class Count(Record):
    """A number that grows."""

    a: Annotated[int, Range(0, 9)]


def changes_a_local(s: Count) -> int:
    """Change a local on one way only, and return it on both."""
    found = 0
    if s.a == 7:
        found += 1
        return found
    return found


@action()
def is_empty(s: Count, c: C) -> None:
    """The number is 0."""
    s.a = 0


@action()
def grows(s: Count, c: C) -> None:
    """The number grows where the local has not changed."""
    require(changes_a_local(s) == 0)
    s.a += 1


@always
def is_not_seven(s: Count, c: C) -> bool:
    """The local never changes."""
    return changes_a_local(s) == 0


@sometimes
def is_two(s: Count, c: C) -> bool:
    """The local is as it was where the number is 2."""
    return s.a == 2 and changes_a_local(s) == 0


def test_what_one_way_assigns_is_not_seen_on_the_other() -> None:
    machine = Machine("two-ways", "A local that changes on one of two ways", Count, C, is_empty, (grows,))
    found = agree(machine, (is_not_seven, is_two))
    assert found.distinct == 8
    assert [item.verdict for item in found.properties] == ["violated", "holds"]


def test_guards_of_the_lineage_are_evaluated_side_by_side() -> None:
    found = PROTOCOLS["kip320"]
    text = generate(found.machine, found.machine.set_constants({}), found.properties, normalize=True).text
    bodies = re.findall(r"^define internal i64 @\w+\.action\.\d+\(.*?^}", text, re.DOTALL | re.MULTILINE)
    assert len(bodies) == len(found.machine.actions)
    assert all("<16 x i1>" in body for body in bodies)
