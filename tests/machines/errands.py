"""Errands that a few people run: a small machine with bounds of every kind, some of which cut off steps and some of
which do not."""

from typing import Annotated

from fencepost.model.language import *


class C(Constants):
    people = shape(2, low=1, high=3, meaning="people")
    errands = bound(2, low=0, high=4, meaning="errands in all")
    days = bound(2, low=0, high=4, meaning="days in all")
    notes = capacity(1, low=1, high=3, meaning="notes on the board")
    holidays = bound(0, low=0, high=2, meaning="days off")
    spare = bound(1, low=0, high=2, meaning="errands that nobody can run")
    steps = capacity(2, low=1, high=4, meaning="steps of the stairs, of which each day takes one")


Person = Annotated[int, Index(C.people)]


class Note(Record):
    by: Person


class State(Record):
    ran: Annotated[Array[Annotated[int, Range(0, C.errands)]], Per(Person)]
    all: Annotated[int, Range(0, C.errands)]
    day: Annotated[int, Range(0, C.days + C.holidays)]
    off: Annotated[int, Range(0, C.holidays)]
    stairs: Annotated[Array[Annotated[int, Range(0, 1)]], Size(C.steps)]
    climbed: Annotated[int, Range(0, C.steps)]
    board: Annotated[Bag[Note], Size(C.notes)]


@action()
def initial(s: State, c: C) -> None:
    """Nothing was done."""


@action(person=Person)
def runs_errand(s: State, c: C, person: int) -> None:
    require(s.all < c.errands, bound=C.errands)
    require(s.ran[person] < s.day)
    s.ran[person] += 1
    s.all += 1
    if fits(len(s.board) < c.notes, bound=C.notes):
        s.board.add(by=person)


@action()
def day_begins(s: State, c: C) -> None:
    require(s.day < c.days, bound=C.days)
    require(s.all < c.errands, bound=C.errands)
    s.day += 1


@action()
def holiday_begins(s: State, c: C) -> None:
    require(s.off < c.holidays, bound=C.holidays)
    require(s.day > 0)
    s.off += 1
    s.day += 1


@action()
def spare_errand(s: State, c: C) -> None:
    require(s.all > c.spare, bound=C.spare)
    require(s.all > c.errands)
    s.all = 0


@action()
def climbs(s: State, c: C) -> None:
    require(s.climbed < c.steps, bound=C.steps)
    require(s.stairs[s.climbed] == 0)
    require(s.climbed < s.day)
    s.stairs[s.climbed] = 1
    s.climbed += 1


@always
def nobody_runs_too_many(s: State, c: C) -> bool:
    return all(ran <= s.day for ran in s.ran)


@always
def few_errands(s: State, c: C) -> bool:
    return s.all <= 3


@sometimes
def something_is_done(s: State, c: C) -> bool:
    return s.all > 0


MACHINE = Machine(
    "errands", "Errands", State, C, initial, (runs_errand, day_begins, holiday_begins, spare_errand, climbs)
)
PROPERTIES = (nobody_runs_too_many, few_errands, something_is_done)
