"""A bucket that overflows where a bound is raised: the check of smaller bounds stays what it was."""

from typing import Annotated

from fencepost.model.language import Constants, Machine, Range, Record, action, always, bound, require


class C(Constants):
    drops = bound(3, low=1, high=9, meaning="drops that fall")


class State(Record):
    inside: Annotated[int, Range(0, 4)]


@action()
def initial(s: State, c: C) -> None:
    """It is empty."""


@action()
def fall(s: State, c: C) -> None:
    """A drop falls in."""
    require(s.inside < c.drops, bound=C.drops)
    s.inside += 1


@always
def it_is_not_measured(s: State, c: C) -> bool:
    """Nobody notes 2 drops where 5 fall."""
    return c.drops < 5 or s.inside != 2


@always
def it_holds_few(s: State, c: C) -> bool:
    """There are 9 drops in it at most."""
    return s.inside <= 9


PROPERTIES = (it_is_not_measured, it_holds_few)
MACHINE = Machine("bucket", "A bucket.", State, C, initial, (fall,))
