"""Tickets, with planted flaws: guards of every purpose, an action that is never taken, a property that nothing can
violate."""

from typing import Annotated

from fencepost.model.language import *


class C(Constants):
    tickets = bound(3, low=1, high=9, meaning="tickets that can be sold")
    seats = bound(2, low=1, high=9, meaning="seats")
    strict = switch(default=True, meaning="the door lets nobody in without a seat")
    painted = switch(default=False, meaning="the walls are painted: nothing depends on it")


class Hall(Record):
    sold: Annotated[int, Range(0, C.tickets)]
    inside: Annotated[int, Range(0, C.tickets)]
    door: bool
    openings: Annotated[int, Range(0, 2)]
    lamp: bool


@action()
def initial(s: Hall, c: C) -> None:
    """The hall is empty, its door is shut, and it can be opened twice."""
    s.openings = 2


@action()
def sell(s: Hall, c: C) -> None:
    require(s.sold < c.tickets)
    require(s.sold <= c.tickets)
    s.sold += 1


@action()
def open_door(s: Hall, c: C) -> None:
    require(s.openings > 0)
    require(not s.door)
    s.door = True
    s.openings -= 1


@action()
def shut_door(s: Hall, c: C) -> None:
    require(s.door)
    s.door = False


@action(guest=Range(1, C.tickets))
def enter(s: Hall, c: C, guest: int) -> None:
    require(s.door and guest <= s.sold)
    require(guest == s.inside + 1)
    require(guest > s.inside)
    require(s.inside < c.seats or not c.strict)
    s.inside += 1


@action()
def switch_lamp(s: Hall, c: C) -> None:
    require(s.door)
    s.lamp = not s.lamp


@action()
def burn_down(s: Hall, c: C) -> None:
    """The hall burns down: never, for more guests would have to be inside than tickets were sold."""
    require(s.inside > s.sold)
    s.sold = 0
    s.inside = 0


@always
def guests_have_seats(s: Hall, c: C) -> bool:
    return s.inside <= c.seats


@always
def guests_have_tickets(s: Hall, c: C) -> bool:
    return s.inside <= s.sold


@step()
def nobody_walks_through_a_shut_door(before: Hall, after: Hall, c: C) -> bool:
    """Guests come in only while the door is open."""
    return after.inside <= before.inside or before.door


@always
def tickets_are_counted(s: Hall, c: C) -> bool:
    """Vacuous: a count is never below zero."""
    return s.sold >= 0


@sometimes
def hall_is_full(s: Hall, c: C) -> bool:
    return s.inside == c.seats


MACHINE = Machine("planted", "a hall with tickets, and flaws to be found", Hall, C, initial,
    (sell, open_door, shut_door, enter, switch_lamp, burn_down))  # fmt: skip

PROPERTIES = (
    guests_have_seats, guests_have_tickets, nobody_walks_through_a_shut_door, tickets_are_counted, hall_is_full,
)  # fmt: skip

PURPOSES = {
    "sell 1": "bound", "sell 2": "not-exercised", "open-door 1": "bound", "open-door 2": "same-states",
    "shut-door 1": "same-states", "enter 1": "needed", "enter 1a": "needed", "enter 1b": "needed",
    "enter 2": "same-states", "enter 3": "implied", "enter 4": "needed", "switch-lamp 1": "nothing-broke",
    "burn-down 1": "same-states", "strict=off": "needed", "painted=on": "same-states",
}  # fmt: skip
"""What each guard and each switch is for."""
