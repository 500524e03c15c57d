"""Copies of a treasure that crashes, floods and drills take away: the fewest faults that lose it can be counted by
hand."""

from typing import Annotated

from fencepost.model.language import *


class C(Constants):
    copies = bound(3, low=1, high=3, meaning="copies at the start")
    crashes = bound(3, low=0, high=4, meaning="crashes, each of which loses a copy")
    floods = bound(2, low=0, high=3, meaning="floods, each of which loses up to two copies")
    drills = bound(1, low=0, high=2, meaning="drills, which lose nothing")
    repairs = switch(default=False, meaning="the last copy is copied again")


Place = Annotated[int, Index(3)]


class Budget(Record):
    crashes: Annotated[int, Range(0, C.crashes)]
    floods: Annotated[int, Range(0, C.floods)]
    drills: Annotated[int, Range(0, C.drills)]


class Vault(Record):
    copies: Annotated[int, BitSet(3)]
    budget: Budget


@action()
def initial(s: Vault, c: C) -> None:
    s.copies = bits.everyone(c.copies)
    s.budget.crashes = c.crashes
    s.budget.floods = c.floods
    s.budget.drills = c.drills


@action(place=Place)
def crash(s: Vault, c: C, place: int) -> None:
    require(s.budget.crashes > 0)
    require(bits.contains(s.copies, place))
    s.copies = bits.without(s.copies, place)
    s.budget.crashes -= 1


@action(place=Place, other=Place)
def flood(s: Vault, c: C, place: int, other: int) -> None:
    """Two copies are lost at once, or one if there are no more."""
    require(s.budget.floods > 0)
    require(bits.contains(s.copies, place))
    require(bits.contains(s.copies, other))
    s.copies = bits.without(bits.without(s.copies, place), other)
    s.budget.floods -= 1


@action()
def drill(s: Vault, c: C) -> None:
    require(s.budget.drills > 0)
    s.budget.drills -= 1


@action(place=Place)
def repair(s: Vault, c: C, place: int) -> None:
    require(c.repairs)
    require(bits.size(s.copies) == 1)
    require(not bits.contains(s.copies, place))
    s.copies = bits.with_member(s.copies, place)


@always
def a_copy_is_left(s: Vault, c: C) -> bool:
    return s.copies != 0


@step()
def no_two_are_lost_at_once(before: Vault, after: Vault, c: C) -> bool:
    return bits.size(after.copies) >= bits.size(before.copies) - 1


@sometimes
def one_copy_is_left(s: Vault, c: C) -> bool:
    return bits.size(s.copies) == 1


def refuse(c: C) -> str | None:
    """Say why these constants make no sense together."""
    return "more drills than copies: set drills lower" if c.drills > c.copies else None


MACHINE = Machine("vault", "copies of a treasure, and what takes them away", Vault, C, initial,
    (crash, flood, drill, repair), refuse=refuse)  # fmt: skip

PROPERTIES = (a_copy_is_left, no_two_are_lost_at_once, one_copy_is_left)
