"""Fairness: weak if nothing can disable the fair action, strong if something may disable it again and again."""

from fencepost.model.language import Constants, Machine, Record, action, leads_to, require, sometimes, strong, weak


class C(Constants):
    pass


class State(Record):
    """A door that others open and shut, and a person who wants to go through it."""

    open: bool
    through: bool


@action()
def initial(s: State, c: C) -> None:
    """The door is shut."""


@action()
def others_open(s: State, c: C) -> None:
    """Others open the door."""
    require(not s.open)
    s.open = True


@action()
def others_shut(s: State, c: C) -> None:
    """Others shut the door."""
    require(s.open)
    s.open = False


@action()
def go_through(s: State, c: C) -> None:
    """The person goes through the open door."""
    require(s.open and not s.through)
    s.through = True


@sometimes
def gets_through(s: State, c: C) -> bool:
    """The person can get through."""
    return s.through


def outside(s: State, c: C) -> bool:
    """Return whether the person is still outside."""
    return not s.through


def inside(s: State, c: C) -> bool:
    """Return whether the person is inside."""
    return s.through


in_the_end = leads_to(
    "in-the-end",
    "The person gets through the door, which opens and closes repeatedly, so weak fairness does not suffice.",
    when=outside,
    then=inside,
    fair=(weak(others_open), strong(go_through)),
)

MACHINE = Machine("fairness", "A door", State, C, initial, (others_open, others_shut, go_through))
PROPERTIES = (gets_through, in_the_end)
