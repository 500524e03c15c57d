"""Prisoners and two switches: a puzzle in which one prisoner counts until all have been in the room.

This is Lamport's `Prisoners`. A prisoner who is brought into the room must flip one of two switches. Every prisoner
except the counter moves switch A up on two visits that find it down; the counter moves it down and counts. Prisoner 0
is the counter.
"""

from typing import Annotated

from fencepost.model.language import (
    Array,
    Constants,
    Index,
    Machine,
    Per,
    Range,
    Record,
    action,
    always,
    bound,
    eventually,
    require,
    shape,
    sometimes,
    weak,
)


class C(Constants):
    prisoners = shape(4, low=2, high=6, meaning="prisoners, including the counter")
    times = bound(2, low=1, high=2, meaning="times that each prisoner moves switch A up")


Prisoner = Annotated[int, Index(C.prisoners)]


class State(Record):
    a_is_up: bool
    b_is_up: bool
    moved: Annotated[Array[Annotated[int, Range(0, C.times)]], Per(Prisoner)]
    count: Annotated[int, Range(0, 2 * C.prisoners - 1)]


@action(a_is_up=bool, b_is_up=bool)
def initial(s: State, c: C, a_is_up: bool, b_is_up: bool) -> None:
    """The initial positions of the switches are arbitrary."""
    s.a_is_up = a_is_up
    s.b_is_up = b_is_up


@action(prisoner=Prisoner)
def visit(s: State, c: C, prisoner: int) -> None:
    """A prisoner moves switch A up if allowed, and otherwise flips switch B."""
    require(prisoner != 0)
    if not s.a_is_up and s.moved[prisoner] < c.times:
        s.a_is_up = True
        s.moved[prisoner] += 1
    else:
        s.b_is_up = not s.b_is_up


@action()
def visit_of_the_counter(s: State, c: C) -> None:
    """If switch A is up, the counter moves it down and counts; otherwise, it flips switch B."""
    if s.a_is_up:
        s.a_is_up = False
        s.count += 1
    else:
        s.b_is_up = not s.b_is_up


def is_done(s: State, c: C) -> bool:
    """The counter declares that all have been in the room."""
    return s.count == c.times * (c.prisoners - 1)


@always
def all_have_been_there(s: State, c: C) -> bool:
    """The counter declares that all have been there only if they have; violated if each moves the switch only once."""
    return not is_done(s, c) or all(s.moved[prisoner] > 0 for prisoner in range(1, c.prisoners))


@always
def the_count_is_close(s: State, c: C) -> bool:
    """The count is the number of times that switch A was moved up, minus one if it is still up, plus one if it was up
    initially.
    """
    seen = sum(s.moved[prisoner] for prisoner in range(1, c.prisoners)) - s.a_is_up
    return s.count in (seen, seen + 1)


@sometimes
def the_first_move_was_not_ours(s: State, c: C) -> bool:
    """The counter counts a switch that was up initially."""
    return s.count > sum(s.moved[prisoner] for prisoner in range(1, c.prisoners))


they_go_free = eventually(
    "they-go-free",
    "The counter eventually makes the declaration, if no prisoner is kept out of the room forever.",
    then=is_done,
    fair=(weak(visit, each="prisoner"), weak(visit_of_the_counter)),
)

MACHINE = Machine(
    "prisoners", "Prisoners who count each other with a switch", State, C, initial, (visit, visit_of_the_counter)
)
PROPERTIES = (all_have_been_there, the_count_is_close, the_first_move_was_not_ours, they_go_free)
