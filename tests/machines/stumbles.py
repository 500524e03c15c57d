"""Actions, properties and a `normalize` that end with errors, or see an order: parts that tests put machines together
from."""

from typing import Annotated

from fencepost.model.language import *


class C(Constants):
    most = bound(4, low=1, high=6, meaning="the largest number")
    size = capacity(3, low=1, high=4, meaning="elements of an array")


class Word(Record):
    letters: Annotated[Array[Annotated[int, Range(0, 3)]], Size(C.size)]


class Plain(Record):
    x: Annotated[int, Range(0, 3)]


class State(Record):
    x: Annotated[int, Range(0, C.most)]
    y: Annotated[int, Range(0, 9)]
    arr: Annotated[Array[Annotated[int, Range(-1, 3)]], Size(C.size)]
    box: Annotated[Bag[Plain], Size(2)]
    words: Annotated[Bag[Word], Size(2)]


@action()
def initial(s: State, c: C) -> None:
    """Everything is zero."""


@action()
def initial_with_one(s: State, c: C) -> None:
    s.x = 1


@action()
def initial_with_three(s: State, c: C) -> None:
    s.x = 3


@action()
def initial_error(s: State, c: C) -> None:
    s.arr[s.x - 1] = 1


@action()
def no_initial(s: State, c: C) -> None:
    require(s.x == 1)


@action()
def count(s: State, c: C) -> None:
    require(s.x < 3)
    s.x += 1


@action()
def count_on(s: State, c: C) -> None:
    s.x += 1


@action()
def stumble(s: State, c: C) -> None:
    s.y = s.arr[0 - (s.x // 2)]


@action()
def look(s: State, c: C) -> None:
    require(s.arr[s.x + 1] >= 0)
    s.y = 1


@action()
def send_two(s: State, c: C) -> None:
    require(len(s.box) == 0)
    s.box.add(x=2)
    s.box.add(x=1)


@action(n=Index(C.size))
def put(s: State, c: C, n: int) -> None:
    s.arr[n] = n


@action(members=BitSet(C.size))
def choose(s: State, c: C, members: int) -> None:
    s.y = members


@action(n=Range(0, C.most))
def set_number(s: State, c: C, n: int) -> None:
    s.x = n


@action()
def find(s: State, c: C) -> None:
    s.y = any(s.arr[i] == 3 or s.arr[s.arr[i]] < 0 for i in range(c.size))

    s.arr[c.size - 1] = -1


@action()
def forget(s: State, c: C) -> None:
    s.arr[0] = -1


def go_back(s: State, c: C) -> None:
    if s.x == 2:
        s.x = 0


def fall_over(s: State, c: C) -> None:
    s.arr[s.x + 1] = 0


@always
def not_one(s: State, c: C) -> bool:
    return s.x != 1


@always
def not_two(s: State, c: C) -> bool:
    return s.x != 2


@always
def not_four(s: State, c: C) -> bool:
    return s.x != 4


@always
def not_seven(s: State, c: C) -> bool:
    return s.x != 7


@always
def anything(s: State, c: C) -> bool:
    return True


@always
def stumbles(s: State, c: C) -> bool:
    return s.arr[s.x * 2] >= 0


@step()
def stumbles_on_a_step(before: State, after: State, c: C) -> bool:
    return after.arr[after.x] >= 0


@step()
def grows(before: State, after: State, c: C) -> bool:
    return after.x - before.x < 3


@step()
def box_is_empty(before: State, after: State, c: C) -> bool:
    return len((before if before.x == 1 else after).box) == 0


@always
def first_is_not_two(s: State, c: C) -> bool:
    for m in s.box:
        return m.x != 2
    return True


@always
def words_are_even(s: State, c: C) -> bool:
    for m in s.words:
        return m.letters[0] == 0
    return True


@always
def no_choice(s: State, c: C) -> bool:
    return s.y < 8


@always
def first_is_the_number_of_an_element(s: State, c: C) -> bool:
    return any(s.arr[0] == i for i in range(c.size))
