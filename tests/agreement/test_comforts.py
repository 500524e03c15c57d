"""Constructs that stand for simpler ones mean the same on every engine."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fencepost.explorers.plain import search as plain
from fencepost.explorers.search import search as native
from fencepost.explorers.verdict import Options, Verdict

from tests.helpers.compared import Comparison
from tests.helpers.symbols import Symbols
from tests.machines.comforts import ACTIONS, MACHINE, PROPERTIES, C

SMALL = C(servers=1)
STATES = 8
"""States that are compared on the typed program and the symbolic engine, at most."""


def test_every_construct_is_seen_by_the_native_engine_as_by_the_plain_one() -> None:
    one, other = (search(MACHINE, SMALL, PROPERTIES, Options(workers=1)) for search in (plain, native))
    assert (one.distinct, one.generated, one.fired) == (other.distinct, other.generated, other.fired)
    assert (
        [item.verdict for item in one.properties] == [item.verdict for item in other.properties] == [Verdict.HOLDS] * 7
    )
    assert native(MACHINE, SMALL, PROPERTIES, Options(workers=1, compact=True)).distinct == one.distinct


@pytest.mark.parametrize("sizes", [{"most": 1}, {"servers": 3, "room": 1}], ids=str)
def test_every_construct_is_seen_by_the_typed_program_as_by_the_plain_engine(sizes: dict[str, int]) -> None:
    found = Comparison(MACHINE, C(**sizes), PROPERTIES).run(STATES)
    assert (found.states, found.errors, found.numbers) == (STATES, [], 0)


@pytest.mark.parametrize("name", [item.name for item in ACTIONS])
def test_every_construct_is_seen_by_the_symbolic_engine_as_by_the_plain_one(name: str) -> None:
    first, *_ = (item for item in ACTIONS if item.name == name)
    grows = ACTIONS[0]
    sends = next(item for item in ACTIONS if item.name == "sends")
    machine = replace(MACHINE, actions=tuple(dict.fromkeys((first, grows, sends))))
    symbols = Symbols(machine, {"most": 1, "room": 1}, PROPERTIES)
    states, known = list(symbols.plain.initial_states())[-1:], 0
    while known < len(states) and known < 3:
        states += [after for after in symbols.compare(states[known], solve=False) if after not in states]
        known += 1
    assert known == 3
