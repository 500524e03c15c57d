"""One machine with an action for each sentence of `docs/model/semantics.md`; the constant `case` selects one.

An action leaves in `out` what its sentence makes it, and sets `pc` to 9; or it goes wrong, where that is what the
sentence says.
"""

from fencepost.model.language import NONE, Machine, action, always

from tests.machines.meanings import bags, expressions, loops
from tests.machines.meanings.schema import C, Case, State


@action()
def initial(s: State, c: C) -> None:
    """The values are 1, 2, 3; the holders have 1 and 5 in their first value; all else is 0."""
    s.nobody = NONE
    for place in range(3):
        s.values[place] = place + 1
    s.holders[0].values[0] = 1
    s.holders[1].values[0] = 5


@always
def is_as_wanted(s: State, c: C) -> bool:
    """What a case leaves is what the constant `want` says."""
    return s.pc != 9 or s.out == c.want


MACHINE = Machine(
    "meanings",
    "An action for each sentence about what models mean",
    State,
    C,
    initial,
    (*expressions.ACTIONS, *loops.ACTIONS, *bags.ACTIONS),
)
PROPERTIES = (is_as_wanted,)

__all__ = ["MACHINE", "PROPERTIES", "Case"]
