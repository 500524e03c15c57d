"""Random machines: the symbolic engine has the successors, guards, errors and predicates of the plain semantics."""

from __future__ import annotations

import pytest
from fencepost.explorers.symbolic import expressions, terms
from fencepost.model.language.ir.nodes import BinaryOp
from fencepost.testing.random_machines.choices import Choices
from fencepost.testing.random_machines.machines import machine_text

from tests.random_machines.engines import compare_symbolic, with_folder

SEEDS = 8
ask = with_folder(compare_symbolic)


@pytest.mark.parametrize("first", range(0, SEEDS, 4))
def test_a_random_machine_means_the_same_to_the_symbolic_engine(first: int) -> None:
    found = {seed: ask(machine_text(Choices(seed=seed))) for seed in range(first, first + 4)}
    assert {seed: how for seed, how in found.items() if how} == {}
    assert sum(how is None for how in found.values()) <= 1, "most of what is drawn is in the language"


def test_a_shift_by_a_huge_number_needs_no_memory() -> None:
    huge = 2**62 - 1
    assert (terms.shift_right(5, huge), terms.shift_right(-5, huge), terms.shift_left(0, huge)) == (0, -1, 0)


def test_a_planted_defect_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(expressions._OPERATORS, BinaryOp.SUBTRACT, terms.plus)
    assert any(ask(machine_text(Choices(seed=seed))) for seed in range(8))
