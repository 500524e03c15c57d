"""The hall of `planted`, with guards spelt otherwise; `careless` lacks one, `timid` has one more."""

from fencepost.model.language import action, require

from tests.machines import planted
from tests.machines.planted import PROPERTIES, C, Hall

__all__ = ["MACHINE", "PROPERTIES"]


@action()
def sell(s: Hall, c: C) -> None:
    """A ticket is sold unless all are."""
    require(not c.tickets <= s.sold)
    s.sold = s.sold + 1


@action()
def open_door(s: Hall, c: C) -> None:
    require(not s.door and s.openings != 0)
    s.openings -= 1
    s.door = True


MACHINE = planted.MACHINE.replacing(
    name="respelt", sentence="the same hall in other words", sell=sell, open_door=open_door, burn_down=None
)


@action()
def open_door_again(s: Hall, c: C) -> None:
    require(s.openings > 0)
    require(not s.door)
    s.door = True
    s.lamp = True
    s.openings -= 1


@action()
def shut_door(s: Hall, c: C) -> None:
    require(s.door)
    require(s.inside > 0)
    s.door = False


CARELESS = planted.MACHINE.replacing(
    name="careless", sentence="the lamp goes on with the door", open_door=open_door_again
)
TIMID = planted.MACHINE.replacing(
    name="timid", sentence="the door stays open until somebody is inside", shut_door=shut_door
)
