"""Machines whose code once read or wrote where no state is: each is searched in a process of its own, which must not
be ended."""

import gc
import os
import subprocess
import sys
import typing
import weakref
from pathlib import Path
from typing import Annotated

import pytest
from fencepost.explorers.paths import _budgets
from fencepost.explorers.plain import search as plain
from fencepost.explorers.search import search as native
from fencepost.explorers.verdict import Options
from fencepost.model.language import (
    Array,
    Bag,
    Constants,
    Machine,
    Range,
    Record,
    Size,
    action,
    always,
    capacity,
    require,
    shape,
)
from fencepost.model.language.errors import FencepostError, ModelError

from tests.helpers.places import ROOT
from tests.random_machines.drawing import numbered
from tests.random_machines.engines import load

Large = Annotated[int, Range(0, 10**12)]


class C(Constants):
    """A size that is small, and may be much greater."""

    room = capacity(2, low=1, high=20_000, meaning="rows")


class Row(Record):
    """Many numbers."""

    v: Annotated[int, Range(0, 3)]
    items: Annotated[Array[Large], Size(1000)]


class Rows(Record):
    """Rows, and how many are in use."""

    n: Annotated[int, Range(0, C.room)]
    rows: Annotated[Array[Row], Size(C.room)]


@action()
def all_in_use(s: Rows, c: C) -> None:
    """Every row is in use."""
    s.n = c.room


@action()
def counts(s: Rows, c: C) -> None:
    """Looks at every row that is in use."""
    require(all(s.rows[i].v == 0 for i in range(s.n)))
    s.rows[0].v = 1


@action()
def counts_down(s: Rows, c: C) -> None:
    """Looks at them from the last to the first."""
    require(all(s.rows[c.room - 1 - i].v == 0 for i in range(s.n)))
    s.rows[0].v = 1


class Few(Constants):
    """A size that may be 0."""

    room = shape(0, low=0, high=3, meaning="links")


class Link(Record):
    """Where to go: there is one place only."""

    to: Annotated[int, Range(0, 0)]


class Place(Record):
    """A place with room for much."""

    items: Annotated[Array[Large], Size(4250)]


class Places(Record):
    """Links, a number that may be taken for one, and places."""

    links: Annotated[Array[Link], Size(Few.room)]
    other: Annotated[int, Range(-128, 100)]
    at: Annotated[int, Range(0, 3)]
    places: Annotated[Array[Place], Size(1)]
    box: Annotated[Bag[Link], Size(Few.room)]


@action()
def begins(s: Places, c: Few) -> None:
    """The number is far from every place."""
    s.other = -128


@action()
def follows(s: Places, c: Few) -> None:
    """Goes where a link says that is not there."""
    s.places[s.links[s.at].to].items[s.at] = 5


@action()
def sends(s: Places, c: Few) -> None:
    """Goes where a message says that there is no room for."""
    m = s.box.add(to=0)
    s.places[m.to].items[s.at] = 5


class Small(Constants):
    """Nothing."""


class Long(Record):
    """A state of 96 thousand bytes."""

    at: Annotated[int, Range(0, 3)]
    items: Annotated[Array[Large], Size(12_000)]


class TooLong(Record):
    """A state of 400 thousand bytes."""

    at: Annotated[int, Range(0, 3)]
    items: Annotated[Array[Large], Size(50_000)]


@action()
def starts(s: Long, c: Small) -> None:
    """At the first number."""


@action()
def goes_on(s: Long, c: Small) -> None:
    """The next number, if those before are small."""
    require(s.at < 3)
    require(s.items[s.at] < 9)
    s.items[s.at + 1] = s.at
    s.at += 1


@always
def is_small(s: Long, c: Small) -> bool:
    """The number is small."""
    return s.items[s.at] < 3


@action()
def starts_long(s: TooLong, c: Small) -> None:
    """At the first number."""


@action()
def goes_on_long(s: TooLong, c: Small) -> None:
    """The next number."""
    require(s.at < 3)
    s.at += 1


MACHINES = {
    "a large state": Machine("a-large-state", "A large state", Long, Small, starts, (goes_on,)),
    "no links": Machine("no-links", "No links", Places, Few, begins, (follows,)),
    "no messages": Machine("no-messages", "No messages", Places, Few, begins, (sends,)),
    "rows in use": Machine("rows-in-use", "Rows in use", Rows, C, all_in_use, (counts,)),
    "rows from the last": Machine("rows-from-the-last", "Rows from the last", Rows, C, all_in_use, (counts_down,)),
}


PROPERTIES = {"a large state": (is_small,)}
SEARCHES = {"native": native, "plain": plain}


def said(search: str, name: str) -> str:
    """Say what a search comes to."""
    machine = MACHINES[name]
    asked = PROPERTIES.get(name, ())
    try:
        return f"{SEARCHES[search](machine, machine.set_constants({}), asked, Options(workers=1)).distinct} states"
    except FencepostError as error:
        return str(error)


def alone(name: str) -> str:
    """Say what the native search comes to in a process of its own."""
    root = str(ROOT)
    done = subprocess.run(
        [sys.executable, "-c", f"from tests.agreement.test_memory import said; print(said('native', {name!r}))"],
        capture_output=True,
        text=True,
        cwd=root,
        env={**os.environ, "PYTHONPATH": root},
        check=False,
    )
    return done.stdout.strip() or f"ended with {done.returncode}: {done.stderr}"


@pytest.mark.parametrize("name", MACHINES)
def test_compiled_code_reads_and_writes_nothing_but_states(name: str) -> None:
    assert alone(name) == said("plain", name)


def test_a_state_that_is_too_large_for_compiled_code_is_refused() -> None:
    machine = Machine("too-large", "A state that is too large", TooLong, Small, starts_long, (goes_on_long,))
    with pytest.raises(ModelError) as caught:
        native(machine, machine.set_constants({}), (), Options(workers=1))
    assert str(caught.value) == (
        "protocol 'too-large': a state takes 400,008 bytes in memory, and compiled code has room for 349,525. "
        "Give its arrays and bags fewer elements, or write `engine='plain'`."
    )


def test_a_machine_that_nobody_has_any_more_is_freed(tmp_path: Path) -> None:
    def records() -> list[weakref.ref[type]]:
        machine, properties = load(numbered(37), tmp_path)
        plain(machine, machine.set_constants({}), properties[:1], Options(max_states=20))
        module = sys.modules.pop(machine.state.__module__)
        return [
            weakref.ref(item)
            for item in vars(module).values()
            if isinstance(item, type) and item.__module__ == module.__name__
        ]

    classes = records()
    _budgets.cache_clear()
    for forget in typing._cleanups:
        forget()
    gc.collect()  # classes of rows and channels go, and with them what they are known by
    gc.collect()
    assert len(classes) > 3
    assert [item() for item in classes if item() is not None] == []
