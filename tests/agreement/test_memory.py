"""Machines whose code once read or wrote outside of states, searched in a separate process that must not crash."""

import gc
import json
import os
import subprocess
import sys
import typing
import weakref
from pathlib import Path

import pytest
from fencepost.explorers.paths import budgets
from fencepost.explorers.plain import search as plain
from fencepost.explorers.search import search as native
from fencepost.explorers.verdict import Options
from fencepost.model.language.errors import FencepostError, ModelError

from tests.helpers.places import ROOT
from tests.helpers.written import machine_of
from tests.random_machines.drawing import numbered
from tests.random_machines.engines import load

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
    """Return the outcome of an engine's search for each machine."""
    found = []
    for machine, properties in map(machine_of, MACHINES.values()):
        try:
            search = SEARCHES[name](machine, machine.set_constants({}), properties, Options(workers=1))
            found.append(f"{search.distinct} states")
        except FencepostError as error:
            found.append(str(error))
    return found


def test_compiled_code_reads_and_writes_nothing_but_states() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from tests.agreement.test_memory import *; print(json.dumps(said('native')))"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
        timeout=300,
    )
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
    budgets.cache_clear()
    for forget in typing._cleanups:
        forget()
    gc.collect()  # this frees classes of rows and channels, and their identities
    gc.collect()
    assert len(classes) > 3
    assert [item() for item in classes if item() is not None] == []
