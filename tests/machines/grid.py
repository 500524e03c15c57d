"""A walk on a grid from several starts, with steps that lead nowhere, back, or to a corner without an exit.

All figures are known: with width w and s starts on the top row there are w * w places, each with noise or without.
"""

from typing import Annotated

from fencepost.model.language import *


class C(Constants):
    width = bound(5, low=1, high=120, meaning="places in a row, and rows")
    starts = bound(1, low=1, high=120, meaning="places to start from, the first ones of the top row")
    noisy = switch(default=False, meaning="steps make noise, which normalize forgets")
    resting = switch(default=False, meaning="one may stay where one is")
    returning = switch(default=False, meaning="one may go back to the start")


Place = Annotated[int, Range(0, C.width - 1)]


class State(Record):
    x: Place
    y: Place
    noise: bool


@action(start=Range(0, C.starts - 1))
def initial(s: State, c: C, start: int) -> None:
    s.x = start


@action()
def right(s: State, c: C) -> None:
    require(s.x + 1 < c.width)
    s.x += 1
    s.noise = c.noisy


@action()
def down(s: State, c: C) -> None:
    require(s.y + 1 < c.width)
    s.y += 1
    s.noise = False


@action()
def rest(s: State, c: C) -> None:
    require(c.resting)
    s.noise = s.noise == 1


@action()
def go_back(s: State, c: C) -> None:
    require(c.returning)
    require(s.y == 2)
    s.x = 0
    s.y = 0
    s.noise = False


def hush(s: State, c: C) -> None:
    s.noise = False


@always
def is_near(s: State, c: C) -> bool:
    return s.x + s.y <= 3


@always
def is_left_of_the_last_column(s: State, c: C) -> bool:
    return s.x + 1 < c.width


@always
def is_on_the_grid(s: State, c: C) -> bool:
    return 0 <= s.x < c.width and 0 <= s.y < c.width


@step()
def never_rests(before: State, after: State, c: C) -> bool:
    return before.x != after.x or before.y != after.y


@step(on=go_back)
def never_goes_back(before: State, after: State, c: C) -> bool:
    """Nobody goes back, which would lead to a known state."""
    return before.x < after.x


@step()
def is_quiet(before: State, after: State, c: C) -> bool:
    """No step makes noise; judged before normalize forgets it."""
    return not after.noise


@sometimes
def reaches_the_corner(s: State, c: C) -> bool:
    return s.x + 1 == c.width and s.y + 1 == c.width


@sometimes
def turns(before: State, after: State, c: C) -> bool:
    return after.y < before.y


MACHINE = Machine("grid", "a walk on a grid, to the right and down", State, C, initial, (right, down, rest, go_back),
    normalize=hush)  # fmt: skip

PROPERTIES = (
    is_near, is_left_of_the_last_column, is_on_the_grid, never_rests, never_goes_back, is_quiet, reaches_the_corner,
    turns,
)  # fmt: skip
