"""Random machines: the symbolic engine has the successors, guards, errors and predicates of the plain semantics."""

from pathlib import Path

import pytest
import z3
from fencepost.api.calls.prove import prove
from fencepost.explorers.program.ir.nodes import BinaryOp
from fencepost.explorers.symbolic import expressions, terms
from fencepost.explorers.symbolic.places import _is_quantified
from fencepost.explorers.verdict import Verdict
from fencepost.invariants.protocols import Protocol
from fencepost.model.language import Machine, Property
from fencepost.model.language.errors import DomainError

from tests.helpers.blocks import whole
from tests.helpers.parameters import few
from tests.helpers.written import HEAD
from tests.random_machines.case import Case
from tests.random_machines.drawing import numbered
from tests.random_machines.engines import compare_symbolic, load, with_folder
from tests.random_machines.proofs import proof

SEEDS = 8
PROVED = (4, 25, 50)
"""Small machines with a property that is proved, violated, or undetermined."""
ask = with_folder(compare_symbolic)
SHIFTED = HEAD + whole("""
class State(Record):
    x: Annotated[int, Range(0, 3)]
@action()
def go(s, c):
    require(s.x < 2)
    s.x += 1
@always
def fine(s, c):
    return s.x < 3 or (1 << (BY)) > 0
""")


@pytest.mark.parametrize("first", few(range(0, SEEDS, 4), 2))
def test_a_random_machine_means_the_same_to_the_symbolic_engine(first: int) -> None:
    found = {seed: ask(numbered(seed)) for seed in range(first, first + 4)}
    assert {seed: how for seed, how in found.items() if how} == {}
    assert sum(how is None for how in found.values()) <= 1, "most of what is drawn is in the language"


def test_what_is_proved_of_a_random_machine_is_what_the_plain_search_says() -> None:
    said = set()

    def differs(machine: Machine, properties: tuple[Property, ...]) -> str:
        case = Case(machine, properties, machine.set_constants({}), 0)
        how = proof(case)
        said.update(case.notes & set(Verdict))
        return how

    assert {seed: how for seed in PROVED if (how := with_folder(differs)(numbered(seed)))} == {}
    assert said >= {Verdict.PROVED, Verdict.VIOLATED, Verdict.NOT_FOUND}


def test_a_shift_by_a_huge_number_needs_no_memory() -> None:
    huge = 2**62 - 1
    assert (terms.shift_right(5, huge), terms.shift_right(-5, huge), terms.shift_left(0, huge)) == (0, -1, 0)


@pytest.mark.parametrize("name", ["s.x", "any.1"])
def test_parts_that_stand_in_an_index_many_times_over_are_looked_at_once(name: str) -> None:
    index = z3.Int(name)
    for _ in range(5_000):
        index += index
    assert _is_quantified(index) == (name == "any.1")


@pytest.mark.parametrize("by", ["4611686018427387903 + s.x", "s.x - 9"])
def test_a_shift_by_one_of_several_huge_numbers_is_an_error(by: str, tmp_path: Path) -> None:
    machine, properties = load(SHIFTED.replace("BY", by), tmp_path)
    assert prove(Protocol(machine, properties), cache=False, workers=1).verdict is Verdict.PROVED
    machine, properties = load(SHIFTED.replace("BY", by).replace("s.x < 2", "s.x < 3"), tmp_path)
    with pytest.raises(DomainError):
        prove(Protocol(machine, properties), cache=False, workers=1, depth=4)


def test_a_planted_defect_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(expressions._OPERATORS, BinaryOp.SUBTRACT, terms.plus)
    assert any(ask(numbered(seed)) for seed in range(8))
