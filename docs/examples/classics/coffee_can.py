"""The coffee can: two beans are taken out and one is put in, until a single bean is left.

This is Scholten's problem, from Gries's "The Science of Programming", and `CoffeeCan` from the TLA+ examples, including
its last step, which changes nothing. There is an initial state for each number of black and white beans, so every state
is an initial state.
"""

from typing import Annotated

from fencepost.model.language import (
    Constants,
    Machine,
    Range,
    Record,
    action,
    bound,
    leads_to,
    require,
    sometimes,
    step,
    weak,
)


class C(Constants):
    beans = bound(100, low=1, high=1000, meaning="maximum number of beans in the can initially")


Beans = Annotated[int, Range(0, C.beans)]


class State(Record):
    black: Beans
    white: Beans


@action(black=Beans, white=Beans)
def initial(s: State, c: C, black: int, white: int) -> None:
    """The can contains some beans."""
    require(black + white > 0)
    require(black + white <= c.beans)
    s.black = black
    s.white = white


@action()
def take_two_white(s: State, c: C) -> None:
    """Two white beans are thrown away, and a black one is put in."""
    require(s.white > 1)
    s.white -= 2
    s.black += 1


@action()
def take_two_black(s: State, c: C) -> None:
    """Of two black beans, one is thrown away."""
    require(s.black > 1)
    s.black -= 1


@action()
def take_one_of_each(s: State, c: C) -> None:
    """Of two beans of different colours, the black one is thrown away."""
    require(s.black > 0)
    require(s.white > 0)
    s.black -= 1


@action()
def stop(s: State, c: C) -> None:
    """One bean is left, and nothing changes any more."""
    require(s.black + s.white == 1)


@step()
def white_beans_stay_even_or_odd(before: State, after: State, c: C) -> bool:
    """No step changes whether the number of white beans is even."""
    return before.white % 2 == after.white % 2


@step()
def beans_get_fewer(before: State, after: State, c: C) -> bool:
    """Every step except the last lowers the number of beans."""
    return after.black + after.white == max(1, before.black + before.white - 1)


@sometimes
def a_white_bean_is_left(before: State, after: State, c: C) -> bool:
    """A step can leave a single white bean."""
    return before.black == 1 and after.white == 1 and after.black == 0


def is_even(s: State, c: C) -> bool:
    return s.white % 2 == 0


def is_odd(s: State, c: C) -> bool:
    return s.white % 2 == 1


def last_is_black(s: State, c: C) -> bool:
    return s.black == 1 and s.white == 0


def last_is_white(s: State, c: C) -> bool:
    return s.black == 0 and s.white == 1


FAIR = (weak(take_two_white, take_two_black, take_one_of_each),)

even_ends_black = leads_to(
    "even-ends-black",
    "If the number of white beans is even, eventually one black bean is left.",
    when=is_even,
    then=last_is_black,
    fair=FAIR,
)

odd_ends_white = leads_to(
    "odd-ends-white",
    "If the number of white beans is odd, eventually one white bean is left.",
    when=is_odd,
    then=last_is_white,
    fair=FAIR,
)

MACHINE = Machine(
    "coffee-can",
    "A can: two beans are taken out and one is put back, repeatedly",
    State,
    C,
    initial,
    (take_two_white, take_two_black, take_one_of_each, stop),
)
PROPERTIES = (white_beans_stay_even_or_odd, beans_get_fewer, a_white_bean_is_left, even_ends_black, odd_ends_white)
