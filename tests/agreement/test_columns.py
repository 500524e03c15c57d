"""Conditions of sixteen states at once: a part that one state does not evaluate raises no error in any of them."""

import json
import os
import subprocess
import sys

import pytest
from fencepost.explorers.plain import search as plain
from fencepost.explorers.search import search as native
from fencepost.explorers.verdict import Options, Result
from fencepost.model.language.errors import FencepostError, ModelError

from tests.helpers.places import ROOT
from tests.helpers.questions import found
from tests.helpers.written import machine_of

PLACES = """
class C(Constants):
    room = capacity(4, low=1, high=5, meaning="elements")
class State(Record):
    items: Annotated[Array[Annotated[int, Range(0, 3)]], Size(C.room)]
    at: Annotated[int, Range(0, C.room)]
    hops: Annotated[int, Range(0, 9)]
@action(step=Index(C.room))
def goes_on(s, c, step):
    require(s.hops < 9)
    require(s.at < c.room and s.items[s.at] < 3)
    require(s.at + step >= c.room or s.items[s.at + step] < 3)
    s.items[s.at] += 1
    s.at = min(c.room, s.at + step)
    s.hops += 1
@action()
def returns(s, c):
    require(all(s.items[n] <= 3 for n in range(c.room)) and (s.at == c.room or s.items[s.at] == 3))
    require(s.at)
    s.at = 0
@always
def is_small(s, c):
    return s.at == c.room or s.items[s.at] <= 3
@sometimes
def is_full(s, c):
    return s.at < c.room and any(s.items[s.at] == 3 and s.items[n] > 1 for n in range(s.at + 1, c.room))
"""
READS_BEHIND = """
@always
def reads_behind(s, c):
    return s.hops < 3 or s.items[s.at] >= 0
"""
LENGTHS = """
class Row(Record):
    pair: Annotated[Array[Annotated[int, Range(0, 1)]], Size(2)]
class State(Record):
    rows: Annotated[Array[Row], Size(3)]
    at: Annotated[int, Range(0, 9)]
@action()
def initial(s, c):
    s.at = 7
@action()
def measures(s, c):
    require(len(s.rows[s.at].pair) == 2)
"""
ENDS = """
class State(Record):
    a: Annotated[int, Range(0, 100)]
    b: Annotated[int, Range(-5, 3)]
    top: Annotated[int, Range(0, 128)]
@action(b=Range(-5, 3))
def grows(s, c, b):
    require(s.a < 100 and s.top < 128)
    s.a += 20
    s.b = b
    s.top = 28 + s.a
@always
def sum_is_small(s, c):
    return (s.a & s.b) + 100 <= 150
@sometimes
def is_top(s, c):
    return s.top > 127
"""
"""Numbers at the ends of lanes of eight bits, and a sum beyond them."""
SENT = """
class C(Constants):
    room = capacity(3, low=0, high=4, meaning="notes")
class Note(Record):
    about: Annotated[int, Range(0, 2)]
class State(Record):
    notes: Annotated[Bag[Note], Size(C.room)]
    seen: Annotated[Array[Annotated[int, Range(0, 1)]], Size(2)]
    at: Annotated[int, Range(0, 2)]
@action(about=Index(3))
def sends(s, c, about):
    require(len(s.notes) < c.room)
    s.notes.add(about=about)
@action()
def moves(s, c):
    require(s.at < 2 and not any(m.about == s.at and s.seen[m.about] == 1 for m in s.notes))
    s.seen[s.at] = 1
    s.at += 1
@always
def notes_are_of_what_is_ahead(s, c):
    return all(m.about >= s.at or any(s.seen[n] == 1 for n in range(m.about, s.at)) for m in s.notes)
@sometimes
def all_alike(s, c):
    return len(s.notes) == c.room and all(m.about == s.at for m in s.notes)
"""
READS_SENT = """
@always
def reads_what_is_sent(s, c):
    return all(s.seen[m.about] <= 1 for m in s.notes)
"""


def agree(text: str, **values: int) -> Result:
    machine, properties = machine_of(text)
    constants, options = machine.set_constants(values), Options(workers=1)
    one, other = (search(machine, constants, properties, options) for search in (native, plain))
    assert found(one) == found(other)
    return one


@pytest.mark.parametrize("room", [1, 2, 4, 5])
def test_what_a_part_protects_is_protected_in_every_lane(room: int) -> None:
    agree(PLACES, room=room)


@pytest.mark.parametrize("room", [0, 1, 4])
def test_messages_in_flight_are_read_in_the_lanes_that_have_them(room: int) -> None:
    agree(SENT, room=room)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (PLACES + READS_BEHIND,
            "property 'reads-behind': State.items: index 4 is outside the array: the array has 4 elements"),
        (SENT + READS_SENT,
            "property 'reads-what-is-sent': State.seen: index 2 is outside the array: the array has 2 elements"),
        (LENGTHS, "measures: State.rows: index 7 is outside the array: the array has 3 elements"),
    ],
    ids=["an element", "what is sent", "a length that is known"],
)  # fmt: skip
def test_a_part_that_nothing_protects_fails_as_it_does_in_one_state(text: str, error: str) -> None:
    machine, properties = machine_of(text)
    for search in (native, plain):
        with pytest.raises(FencepostError) as caught:
            search(machine, machine.set_constants({}), properties[2:], Options(workers=1))
        assert str(caught.value) == f"{error}, numbered from 0."


def test_numbers_at_the_ends_of_lanes_have_lanes_that_are_wide_enough() -> None:
    assert [item.verdict for item in agree(ENDS).properties] == ["violated", "holds"]


LARGE = "Large = Annotated[int, Range(0, 10**12)]\n"
ROWS = f"""{LARGE}
class C(Constants):
    room = capacity(2, low=1, high=20_000, meaning="rows")
class Row(Record):
    v: Annotated[int, Range(0, 3)]
    items: Annotated[Array[Large], Size(1000)]
class State(Record):
    n: Annotated[int, Range(0, C.room)]
    rows: Annotated[Array[Row], Size(C.room)]
@action()
def initial(s, c):
    s.n = c.room
@action()
def counts(s, c):
    require(all(s.rows[i].v == 0 for i in range(s.n)))
    s.rows[0].v = 1
"""
LINKS = f"""{LARGE}
class C(Constants):
    room = shape(0, low=0, high=3, meaning="links")
class Link(Record):
    to: Annotated[int, Range(0, 0)]
class Place(Record):
    items: Annotated[Array[Large], Size(4250)]
class State(Record):
    links: Annotated[Array[Link], Size(C.room)]
    other: Annotated[int, Range(-128, 100)]
    at: Annotated[int, Range(0, 3)]
    places: Annotated[Array[Place], Size(1)]
    box: Annotated[Bag[Link], Size(C.room)]
@action()
def initial(s, c):
    s.other = -128
@action()
def follows(s, c):
    s.places[s.links[s.at].to].items[s.at] = 5
"""
LONG = f"""{LARGE}
class State(Record):
    at: Annotated[int, Range(0, 3)]
    items: Annotated[Array[Large], Size(12_000)]
@action()
def goes_on(s, c):
    require(s.at < 3)
    require(s.items[s.at] < 9)
    s.items[s.at + 1] = s.at
    s.at += 1
@always
def is_small(s, c):
    return s.items[s.at] < 3
"""
MACHINES = {
    "a large state": LONG,
    "no links": LINKS,
    "no messages": LINKS.replace("s.places[s.links[s.at].to]", "m = s.box.add(to=0)\n    s.places[m.to]"),
    "rows in use": ROWS,
    "rows from the last": ROWS.replace("s.rows[i].v == 0", "s.rows[c.room - 1 - i].v == 0"),
}
SEARCHES = {"native": native, "plain": plain}


def said(name: str) -> list[str]:
    found = []
    for machine, properties in map(machine_of, MACHINES.values()):
        try:
            search = SEARCHES[name](machine, machine.set_constants({}), properties, Options(workers=1))
            found.append(f"{search.distinct} states")
        except FencepostError as error:
            found.append(str(error))
    return found


@pytest.mark.long
def test_compiled_code_reads_and_writes_nothing_but_states() -> None:
    code = "from tests.agreement.test_columns import *; print(json.dumps(said('native')))"
    own = {**os.environ, "PYTHONPATH": str(ROOT)}
    asked = [sys.executable, "-c", code]
    done = subprocess.run(asked, capture_output=True, text=True, cwd=ROOT, env=own, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == said("plain")


def test_a_state_that_is_too_large_for_compiled_code_is_refused() -> None:
    machine, _ = machine_of(LONG.replace("12_000", "50_000"))
    with pytest.raises(ModelError) as caught:
        native(machine, machine.set_constants({}), (), Options(workers=1))
    assert str(caught.value) == (
        "protocol 'machine': a state takes 400,008 bytes in memory, but compiled code has room for only 349,525. "
        "Give its arrays and bags fewer elements, or write `engine='plain'`."
    )
