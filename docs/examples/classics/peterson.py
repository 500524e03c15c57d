"""Peterson's algorithm: two processes exclude each other with one flag each and a shared turn.

The steps are those of `Peterson` from the TLA+ examples, one per label. The program counter is a field with an enum as
its type, and each step from label to label is an action.
"""

from enum import IntEnum
from typing import Annotated

from fencepost.model.language import (
    Array,
    Constants,
    Index,
    Machine,
    Per,
    Record,
    action,
    always,
    leads_to,
    require,
    sometimes,
    switch,
    weak,
)


class C(Constants):
    gives_way = switch(default=True, meaning="a process that wants to enter gives way to the other one")


Process = Annotated[int, Index(2)]


class At(IntEnum):
    RESTING = 0
    RAISING = 1
    GIVING_WAY = 2
    WAITING = 3
    CRITICAL = 4
    LEAVING = 5


class State(Record):
    at: Annotated[Array[At], Per(Process)]
    flag: Annotated[Array[bool], Per(Process)]
    turn: Process


@action()
def initial(s: State, c: C) -> None:
    """Both processes rest."""


@action(process=Process)
def want(s: State, c: C, process: int) -> None:
    """A process stops resting."""
    require(s.at[process] == At.RESTING)
    s.at[process] = At.RAISING


@action(process=Process)
def raise_flag(s: State, c: C, process: int) -> None:
    """A process raises its flag."""
    require(s.at[process] == At.RAISING)
    s.at[process] = At.GIVING_WAY
    s.flag[process] = True


@action(process=Process)
def give_way(s: State, c: C, process: int) -> None:
    """A process gives the turn to the other process."""
    require(s.at[process] == At.GIVING_WAY)
    s.at[process] = At.WAITING
    s.turn = 1 - process if c.gives_way else process


@action(process=Process)
def enter(s: State, c: C, process: int) -> None:
    """A process enters if the other process's flag is down, or if the other process has given it the turn."""
    require(s.at[process] == At.WAITING)
    require(not s.flag[1 - process] or s.turn == process)
    s.at[process] = At.CRITICAL


@action(process=Process)
def finish(s: State, c: C, process: int) -> None:
    """A process finishes its critical section."""
    require(s.at[process] == At.CRITICAL)
    s.at[process] = At.LEAVING


@action(process=Process)
def lower_flag(s: State, c: C, process: int) -> None:
    """A process leaves and lowers its flag."""
    require(s.at[process] == At.LEAVING)
    s.at[process] = At.RESTING
    s.flag[process] = False


def is_inside(s: State, process: int) -> bool:
    """Return whether a process is inside."""
    return s.at[process] in (At.CRITICAL, At.LEAVING)


@always
def at_most_one_is_inside(s: State, c: C) -> bool:
    """The processes are not both inside; violated if `gives_way` is off."""
    return not (is_inside(s, 0) and is_inside(s, 1))


@always
def flags_show_who_wants_to_be_inside(s: State, c: C) -> bool:
    """A process's flag is up exactly between the steps that raise and lower it."""
    return all(s.flag[process] == (s.at[process] >= At.GIVING_WAY) for process in range(2))


@always
def whoever_is_inside_has_the_turn(s: State, c: C) -> bool:
    """A process inside has the turn, or the other process has not given way yet; violated if `gives_way` is off."""
    return all(s.turn == process or s.at[1 - process] <= At.GIVING_WAY for process in range(2) if is_inside(s, process))


@sometimes
def both_wait(s: State, c: C) -> bool:
    """Both processes wait, and the turn decides."""
    return all(at == At.WAITING for at in s.at)


def wants_to_enter(s: State, c: C, process: int) -> bool:
    return s.at[process] == At.RAISING


def has_entered(s: State, c: C, process: int) -> bool:
    return s.at[process] == At.CRITICAL


whoever_wants_enters = leads_to(
    "whoever-wants-enters",
    "Every process that wants to enter eventually does, provided that processes stop forever only while resting.",
    when=wants_to_enter,
    then=has_entered,
    fair=(weak(raise_flag, give_way, enter, finish, lower_flag, each="process"),),
    process=Process,
)

MACHINE = Machine(
    "peterson",
    "Peterson's algorithm for two processes",
    State,
    C,
    initial,
    (want, raise_flag, give_way, enter, finish, lower_flag),
)
PROPERTIES = (
    at_most_one_is_inside,
    flags_show_who_wants_to_be_inside,
    whoever_is_inside_has_the_turn,
    both_wait,
    whoever_wants_enters,
)
