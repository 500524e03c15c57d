"""Sets whose greatest member --unbounded leaves open: members come and go as in plain sets, and no more is claimed of them."""

from __future__ import annotations

import random
from typing import Any

import pytest
import z3
from fencepost.api.proof_report import ProveResult
from fencepost.api.proving import explain
from fencepost.cli.views.display import Display
from fencepost.explorers.symbolic.proof import Settings, prove
from fencepost.explorers.symbolic.terms import boolean, choose, endless_members, equal, member, with_member
from fencepost.explorers.verdict import Verdict
from fencepost.invariants.protocols import Protocol
from fencepost.model.language import bits
from fencepost.model.language.errors import ModelError

from tests.machines.bills import MACHINE, bill_0_is_not_paid, bill_3_is_not_paid, few_are_paid

ANY = Settings({"bills": None})


def test_what_holds_for_any_member_is_proved() -> None:
    assert prove(MACHINE, MACHINE.set_constants({}), (bill_0_is_not_paid,), ANY).verdict is Verdict.PROVED


def test_what_a_larger_set_breaks_is_shown_as_a_step_that_the_plain_semantics_takes() -> None:
    constants = MACHINE.set_constants({})
    assert prove(MACHINE, constants, (bill_3_is_not_paid,), Settings()).verdict is Verdict.PROVED
    proof = prove(MACHINE, constants, (bill_3_is_not_paid,), ANY)
    assert proof.verdict is Verdict.UNDETERMINED
    found = Protocol(MACHINE, (bill_3_is_not_paid,))
    report = explain(ProveResult(found, constants, (bill_3_is_not_paid,), ANY, proof), 0.0, Display(quiet=True))
    assert report.proof.pair is not None
    assert report.proof.pair.args == (3,)
    assert report.proof.pair.after == (1 << 3,)


def test_the_size_of_such_a_set_is_refused_with_its_line() -> None:
    with pytest.raises(ModelError) as caught:
        prove(MACHINE, MACHINE.set_constants({}), (few_are_paid,), ANY)
    assert "the symbolic engine has no term for" in str(caught.value)


def holds(flag: Any) -> bool:
    solver = z3.Solver()
    solver.add(z3.Not(boolean(flag)))
    return bool(solver.check() == z3.unsat)


def test_members_come_and_go_as_in_plain_sets() -> None:
    draw = random.Random(5)  # noqa: S311 (no secret)
    plain, made = 0b101, endless_members(0b101)
    for _ in range(40):
        item, on, other = draw.randrange(70), draw.random() < 0.7, draw.randrange(70)
        plain = bits.with_member(plain, item) if on else bits.without(plain, item)
        made = with_member(made, item, on=on)
        assert holds(equal(made, plain))
        assert holds(member(made, other)) is bits.contains(plain, other)
        assert not holds(equal(made, plain ^ (1 << other)))
    assert not holds(member(made, -1))
    assert holds(equal(choose(z3.Bool("either"), made, plain), plain))
