"""The worst case: a cost counts the steps of certain actions, and `check` shows the most expensive path."""

from typing import Annotated

from fencepost.model.language import Constants, Machine, Range, Record, action, at_most, bound, require, sometimes, weak


class C(Constants):
    failures = bound(2, low=0, high=4, meaning="attempts that fail")


class State(Record):
    attempts: Annotated[int, Range(0, C.failures + 1)]
    done: bool


@action()
def initial(s: State, c: C) -> None:
    """No attempt has been made."""


@action()
def fail(s: State, c: C) -> None:
    """An attempt fails."""
    require(not s.done)
    require(s.attempts < c.failures)
    s.attempts += 1


@action()
def succeed(s: State, c: C) -> None:
    """An attempt succeeds."""
    require(not s.done)
    s.attempts += 1
    s.done = True


@sometimes
def at_once(s: State, c: C) -> bool:
    """The first attempt succeeds."""
    return s.done and s.attempts == 1


def is_not_done(s: State, c: C) -> bool:
    """Return whether no attempt has succeeded yet."""
    return not s.done


def is_done(s: State, c: C) -> bool:
    """Return whether an attempt has succeeded."""
    return s.done


few_attempts = at_most(
    "few-attempts",
    "Success takes at most one attempt more than the number of failures.",
    costs={fail: 1, succeed: 1},
    unit="attempts",
    bound=C.failures + 1,
    when=is_not_done,
    then=is_done,
    fair=(weak(succeed),),
)

MACHINE = Machine("worst-case", "Attempts", State, C, initial, (fail, succeed))
PROPERTIES = (at_once, few_attempts)
