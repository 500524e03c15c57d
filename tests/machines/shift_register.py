"""Two places: what is in the second moves to the first. That the first is empty is inductive over two steps, not over
one."""

from typing import Annotated

from fencepost.model.language import Constants, Machine, Range, Record, action, always, bound, require, step


class C(Constants):
    most = bound(3, low=1, high=100, meaning="the largest number")
    puts = bound(0, low=0, high=1, meaning="1: a number may be put into the second place")


Number = Annotated[int, Range(0, C.most)]


class State(Record):
    first: Number
    second: Number
    moves: Number


@action()
def initial(s: State, c: C) -> None:
    """Both places are empty."""


@action()
def move(s: State, c: C) -> None:
    require(s.moves < c.most)
    s.first = s.second
    s.second = 0
    s.moves += 1


@action(number=Number)
def put(s: State, c: C, number: int) -> None:
    require(c.puts == 1)
    s.second = number


@always
def first_is_empty(s: State, c: C) -> bool:
    return s.first == 0


@always
def second_is_empty(s: State, c: C) -> bool:
    return s.second == 0


@always
def moves_are_bounded(s: State, c: C) -> bool:
    return s.moves <= c.most


@step(on=move)
def moves_are_counted(before: State, after: State, c: C) -> bool:
    return after.moves == before.moves + 1


MACHINE = Machine("shift-register", "what is in the second place moves to the first", State, C, initial, (move, put))
PROPERTIES = (first_is_empty, second_is_empty, moves_are_bounded, moves_are_counted)
