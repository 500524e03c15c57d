"""Parcels that a careless modeller sends: everything runs and every property holds, and nearly nothing of it says
anything."""

from enum import IntEnum
from typing import Annotated

from fencepost.model.language import *


class C(Constants):
    people = shape(2, low=1, high=3, meaning="people")
    losses = bound(1, low=0, high=2, meaning="parcels that may be lost")
    returns = bound(1, low=0, high=2, meaning="parcels that may be returned")
    patience = bound(3, low=0, high=9, meaning="days until somebody complains")


Person = Annotated[int, Index(C.people)]


class Kind(IntEnum):
    GIFT = 0
    BILL = 1


class Parcel(Record):
    to: Person
    kind: Kind


class Complaint(Record):
    by: Person


class Budget(Record):
    losses: Annotated[int, Range(0, C.losses)]
    returns: Annotated[int, Range(0, C.returns)]


class State(Record):
    sent: Annotated[int, Range(0, 2)]
    lost: Annotated[int, Range(0, 2)]
    budget: Budget
    post: Annotated[Bag[Parcel], Size(2)]
    complaints: Annotated[Bag[Complaint], Size(1)]


@action()
def initial(s: State, c: C) -> None:
    """Nothing was sent."""
    s.sent = 0
    s.budget.losses = c.losses
    s.budget.returns = c.returns


@action(to=Person)
def sends(s: State, c: C, to: int) -> None:
    """Somebody is sent a gift."""
    require(s.sent < 2)
    s.sent += 1
    s.post.add(to=to, kind=Kind.GIFT)


@action(m=InFlight("post"))
def loses(s: State, c: C, m: Parcel) -> None:
    """A parcel is lost, as often as there are parcels: the budget is not spent."""
    require(s.budget.losses > 0)
    s.lost += 1
    s.post.remove(m)


@action(by=Person)
def complains(s: State, c: C, by: int) -> None:
    """Somebody complains about more losses than there can be."""
    require(s.lost > 2)
    s.complaints.add(by=by)


@action(m=InFlight("post"))
def arrives(s: State, c: C, m: Parcel) -> None:
    """A parcel arrives: nobody has listed it."""
    s.post.remove(m)


@always
def bills_go_to_the_first(s: State, c: C) -> bool:
    """Bills are sent to the first person; there is none."""
    return all(m.to == 0 for m in s.post if m.kind == Kind.BILL)


@always
def complaints_are_alone(s: State, c: C) -> bool:
    """Nobody else complains; nobody does."""
    for m in s.complaints:  # noqa: SIM110 (a loop is another way to say it)
        if m.by != 0:
            return False
    return True


@always
def gifts_go_to_somebody(s: State, c: C) -> bool:
    """What is in the post has an address."""
    return all(m.to < c.people for m in s.post if m.kind == Kind.GIFT)


@step(on=complains)
def complaints_lower_nothing(before: State, after: State, c: C, by: int) -> bool:
    """A complaint leaves what was sent."""
    return before.sent == after.sent


@sometimes
def nothing_was_sent(s: State, c: C) -> bool:
    """Nothing was sent, which is how it begins."""
    return s.sent == 0


@sometimes
def post_is_empty(s: State, c: C) -> bool:
    """Nothing is on its way: at first, and again when everything is lost."""
    return len(s.post) == 0


@always
def forgotten(s: State, c: C) -> bool:
    """What is lost was sent."""
    return s.lost <= s.sent


def three_lost(s: State, c: C) -> bool:
    return s.lost == 3


def one_lost(s: State, c: C) -> bool:
    return s.lost == 1


def none_in_the_post(s: State, c: C) -> bool:
    return len(s.post) == 0


THIRD = leads_to(
    "the-third-is-the-last",
    "After the third loss the post is empty.",
    when=three_lost,
    then=none_in_the_post,
    fair=(weak(loses),),
)
EMPTIES = leads_to(
    "the-post-empties",
    "After a loss the post is empty in the end.",
    when=one_lost,
    then=none_in_the_post,
    fair=(weak(loses),),
)

MACHINE = Machine("careless", "Parcels that may be lost", State, C, initial, (sends, loses, complains))
PROPERTIES = (
    bills_go_to_the_first,
    complaints_are_alone,
    gifts_go_to_somebody,
    complaints_lower_nothing,
    nothing_was_sent,
    post_is_empty,
    THIRD,
    EMPTIES,
)
