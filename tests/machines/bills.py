"""Bills are paid and refunded: a set, and what can be said of its members."""

from typing import Annotated

from fencepost.model.language import BitSet, Constants, Machine, Range, Record, action, always, bits, bound, require


class C(Constants):
    bills = bound(2, low=1, high=5, meaning="bills")


Bill = Annotated[int, Range(0, C.bills)]


class State(Record):
    paid: Annotated[int, BitSet(C.bills + 1)]


@action()
def initial(s: State, c: C) -> None:
    """Nothing is paid."""


@action(bill=Bill)
def pay(s: State, c: C, bill: int) -> None:
    require(bill > 0)
    require(not bits.contains(s.paid, bill))
    s.paid = bits.with_member(s.paid, bill)


@action(bill=Bill)
def refund(s: State, c: C, bill: int) -> None:
    """A payment is taken back."""
    require(bits.contains(s.paid, bill))
    s.paid = bits.without(s.paid, bill)


@always
def bill_0_is_not_paid(s: State, c: C) -> bool:
    return not bits.contains(s.paid, 0)


@always
def bill_3_is_not_paid(s: State, c: C) -> bool:
    return not bits.contains(s.paid, 3)


@always
def few_are_paid(s: State, c: C) -> bool:
    """Two bills are paid at the most."""
    return bits.size(s.paid) <= 2


MACHINE = Machine("bills", "bills are paid", State, C, initial, (pay, refund))
PROPERTIES = (bill_0_is_not_paid, bill_3_is_not_paid, few_are_paid)
