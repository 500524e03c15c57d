"""Sets without a greatest member, as made by --unbounded, gain and lose members like plain sets."""

import random
from typing import Any

import pytest
import z3
from fencepost.api.answers.proof_report import ProveResult
from fencepost.api.calls.prove import explain
from fencepost.cli.views.console import Display
from fencepost.explorers.symbolic.proof import Settings, prove
from fencepost.explorers.symbolic.terms import boolean, choose, endless_members, equal, member, with_member
from fencepost.explorers.verdict import Verdict
from fencepost.invariants.protocols import Protocol
from fencepost.model.language import Action, bits
from fencepost.model.language.errors import DomainError, ModelError

from tests.agreement.test_proofs_of_errors import WAYS, proved
from tests.helpers.written import module_of

bills = module_of("""
class C(Constants):
    bills = bound(2, low=1, high=5, meaning="bills")
Bill = Annotated[int, Range(0, C.bills)]
class State(Record):
    paid: Annotated[int, BitSet(C.bills + 1)]
@action(bill=Bill)
def pay(s, c, bill):
    require(bill > 0)
    require(not bits.contains(s.paid, bill))
    s.paid = bits.with_member(s.paid, bill)
@action(bill=Bill)
def refund(s, c, bill):
    require(bits.contains(s.paid, bill))
    s.paid = bits.without(s.paid, bill)
@always
def bill_0_is_not_paid(s, c):
    return not bits.contains(s.paid, 0)
@always
def bill_3_is_not_paid(s, c):
    return not bits.contains(s.paid, 3)
@always
def few_are_paid(s, c):
    return bits.size(s.paid) <= 2
@action(bill=Bill)
def pay_the_one_before(s, c, bill):
    s.paid = bits.with_member(s.paid, bill - 1)
@action(bill=Bill)
def refund_the_one_before(s, c, bill):
    s.paid = bits.without(s.paid, bill - 1)
@always
def nothing_changes_without_it(s, c):
    return bits.without(s.paid, -1) == s.paid
@always
def anything(s, c):
    return True
MACHINE = Machine("bills", "bills are paid", State, C, initial, (pay, refund))
""")
MACHINE = bills.MACHINE
ANY = Settings({"bills": None})


def test_what_holds_for_any_member_is_proved() -> None:
    assert prove(MACHINE, MACHINE.set_constants({}), (bills.bill_0_is_not_paid,), ANY).verdict is Verdict.PROVED


def test_what_a_larger_set_breaks_is_shown_as_a_step_that_the_plain_semantics_takes() -> None:
    constants = MACHINE.set_constants({})
    assert prove(MACHINE, constants, (bills.bill_3_is_not_paid,), Settings()).verdict is Verdict.PROVED
    proof = prove(MACHINE, constants, (bills.bill_3_is_not_paid,), ANY)
    assert proof.verdict is Verdict.UNDETERMINED
    found = Protocol(MACHINE, (bills.bill_3_is_not_paid,))
    report = explain(ProveResult(found, constants, (bills.bill_3_is_not_paid,), ANY, proof), 0.0, Display(quiet=True))
    assert report.proof.pair is not None
    assert (report.proof.pair.args, report.proof.pair.after) == ((3,), (1 << 3,))


def test_the_size_of_such_a_set_is_refused_with_its_line() -> None:
    with pytest.raises(ModelError) as caught:
        prove(MACHINE, MACHINE.set_constants({}), (bills.few_are_paid,), ANY)
    assert "the symbolic engine has no term for" in str(caught.value)


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("wrong", [bills.pay_the_one_before, bills.refund_the_one_before], ids=lambda item: item.name)
def test_a_negative_member_of_such_a_set_is_the_error_that_it_is_in_plain_sets(
    wrong: Action, way: dict[str, Any]
) -> None:
    made = MACHINE.replacing(name="bills", sentence="one action is another", pay=wrong)
    with pytest.raises(DomainError, match="negative shift count"):
        proved(made, bills.anything, lifted={"bills": None}, **way)


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_a_property_that_asks_for_a_negative_member_is_not_proved(way: dict[str, Any]) -> None:
    with pytest.raises(DomainError, match="negative shift count"):
        proved(MACHINE, bills.nothing_changes_without_it, lifted={"bills": None}, **way)


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
