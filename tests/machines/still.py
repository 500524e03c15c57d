"""A lamp that nobody can turn on: there is no step."""

from fencepost.model.language import Constants, Machine, Record, action, always, require


class Still(Record):
    lit: bool


@action()
def dark(s: Still, c: Constants) -> None:
    """It is off."""


@action()
def light(s: Still, c: Constants) -> None:
    """Turn it on, if it is on."""
    require(s.lit)
    s.lit = True


@always
def it_is_lit(s: Still, c: Constants) -> bool:
    """It is on."""
    return s.lit


MACHINE = Machine("still", __doc__, Still, Constants, dark, (light,))
PROPERTIES = (it_is_lit,)
