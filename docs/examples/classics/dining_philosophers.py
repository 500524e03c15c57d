"""Dining philosophers, as solved by Chandy and Misra: used forks are dirty, and a philosopher hands over dirty forks.

The steps are those of `DiningPhilosophers` from the TLA+ examples: a philosopher hands over a fork and, in the same
step, decides whether to eat, based on the forks that it held before.
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
    shape,
    sometimes,
    switch,
    weak,
)


class C(Constants):
    philosophers = shape(5, low=2, high=6, meaning="philosophers, and forks")
    hands_over = switch(default=True, meaning="a philosopher hands a dirty fork over")


Philosopher = Annotated[int, Index(C.philosophers)]
Fork = Annotated[int, Index(C.philosophers)]


class At(IntEnum):
    LOOKING = 0
    EATING = 1
    THINKING = 2


class Held(Record):
    by: Philosopher
    clean: bool


class State(Record):
    fork: Annotated[Array[Held], Per(Fork)]
    at: Annotated[Array[At], Per(Philosopher)]
    sated: Annotated[Array[bool], Per(Philosopher)]


@action()
def initial(s: State, c: C) -> None:
    """All philosophers are hungry; each fork is dirty, and is held by the first of its two philosophers."""
    for fork in range(c.philosophers):
        s.fork[fork].by = 0 if fork == 1 else fork


def to_the_right(c: C, philosopher: int) -> int:
    """Return the next philosopher and the right fork; the left fork has the philosopher's own number."""
    return philosopher + 1 if philosopher + 1 < c.philosophers else 0


def to_the_left(c: C, philosopher: int) -> int:
    """Return the previous philosopher."""
    return philosopher - 1 if philosopher > 0 else c.philosophers - 1


@action(philosopher=Philosopher)
def look(s: State, c: C, philosopher: int) -> None:
    """A philosopher hands over a dirty fork, the left one first. If it has two clean forks, it eats next; if it is
    sated, it thinks next.
    """
    left, right = s.fork[philosopher], s.fork[to_the_right(c, philosopher)]
    may_eat = left.by == philosopher and left.clean and right.by == philosopher and right.clean
    hands_left = c.hands_over and left.by == philosopher and not left.clean
    hands_right = c.hands_over and not hands_left and right.by == philosopher and not right.clean
    require(s.at[philosopher] == At.LOOKING)
    if hands_left:
        left.by = to_the_left(c, philosopher)
        left.clean = True
    if hands_right:
        right.by = to_the_right(c, philosopher)
        right.clean = True
    if s.sated[philosopher]:
        s.at[philosopher] = At.THINKING
    elif may_eat:
        s.at[philosopher] = At.EATING


@action(philosopher=Philosopher)
def eat(s: State, c: C, philosopher: int) -> None:
    """A philosopher eats, which makes both forks dirty."""
    require(s.at[philosopher] == At.EATING)
    s.at[philosopher] = At.LOOKING
    s.sated[philosopher] = True
    s.fork[philosopher].clean = False
    s.fork[to_the_right(c, philosopher)].clean = False


@action(philosopher=Philosopher)
def think(s: State, c: C, philosopher: int) -> None:
    """A thinking philosopher gets hungry."""
    require(s.at[philosopher] == At.THINKING)
    s.at[philosopher] = At.LOOKING
    s.sated[philosopher] = False


@always
def neighbours_do_not_eat_together(s: State, c: C) -> bool:
    """Two philosophers who share a fork do not eat at the same time."""
    return all(
        not (s.at[left] == At.EATING and s.at[to_the_right(c, left)] == At.EATING) for left in range(c.philosophers)
    )


@sometimes
def whoever_has_no_fork_eats(s: State, c: C) -> bool:
    """The philosopher that initially has no fork eats."""
    return s.at[1] == At.EATING


def is_hungry(s: State, c: C, philosopher: int) -> bool:
    return not s.sated[philosopher]


def has_eaten(s: State, c: C, philosopher: int) -> bool:
    return s.sated[philosopher]


nobody_starves = leads_to(
    "nobody-starves",
    "A hungry philosopher eventually eats, if no philosopher stops forever; violated if `hands_over` is off.",
    when=is_hungry,
    then=has_eaten,
    fair=(weak(look, eat, think, each="philosopher"),),
    philosopher=Philosopher,
)

MACHINE = Machine(
    "dining-philosophers", "Philosophers who hand each other forks", State, C, initial, (look, eat, think)
)
PROPERTIES = (neighbours_do_not_eat_together, whoever_has_no_fork_eats, nobody_starves)
