"""Whole machines that engines may get wrong: every comparison that is made of random machines is made of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.random_machines.case import Case
from tests.random_machines.comparisons import ALWAYS, SOMETIMES
from tests.random_machines.engines import compare_typed, load

HEAD = '''"""A machine."""

from typing import Annotated

from fencepost.model.language import (
    NONE, Array, Bag, BitSet, Channel, Constants, InFlight, Index, Machine, Range, Record, Size, action, always, at_most, bits, bound,
    capacity, eventually, leads_to, require, shape, sometimes, step, strong, weak,
)


class C(Constants):
    three = shape(3, low=1, high=3, meaning="three")
    none = bound(0, low=0, high=2, meaning="none")


'''
FILE = Path(__file__).parent / "oddities" / "whole.txt"
CASES = dict(block.split("\n", 1) for block in re.split(r"^== ", FILE.read_text(), flags=re.MULTILINE)[1:])
ASKED = ALWAYS | {name: ask for name, (_, ask) in SOMETIMES.items()}


@pytest.mark.parametrize("text", CASES.values(), ids=CASES)
def test_every_engine_says_of_a_hard_machine_what_the_plain_semantics_says(text: str, tmp_path: Path) -> None:
    machine, properties = load(HEAD + text, tmp_path)
    for seed in range(3):  # which guards are turned off
        case = Case(machine, properties, machine.set_constants({}), seed)
        found = {name: ask(case) for name, ask in ASKED.items() if seed == 0 or name == "masks"}
        assert {name: how for name, how in found.items() if how} == {}
    assert not compare_typed(machine, properties)
