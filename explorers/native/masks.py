"""Modules in which guards can be turned off while they run, one compilation serving every guard.

Without a guard a step may leave a domain: then the domain refuses it in the guard's place. Such a step is not taken, and
the first state that it was tried in is noted; `Interpreter(bounded=True)` is the definition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.model.language.removal import parts

if TYPE_CHECKING:
    import ast
    from collections.abc import Sequence

    from fencepost.explorers.native.checks import Checks

LEAVE = '''
@helper
def _leave(_e, row, times):
    """Note that steps out of this state left a domain, which refused them."""
    _e[0] = 0
    if _e[{first}] == 0:
        _e[{first}] = row + 1
    _e[{times}] += times
'''


class Masks:
    """Slots of the check array: one for each guard and each part of a guard, and those that say what left a domain.

    `slots[guard][part]` is 1 where that part of the guard (0: the guard as a whole) is off. `first` holds one more than the
    row of the first state with a step out of a domain, `times` how many such steps there were, `hard` the code of an
    error in a property.
    """

    def __init__(self, checks: Checks) -> None:
        self.checks = checks
        self.slots: list[list[int]] = []
        self.first, self.times, self.hard = checks.reserve(), checks.reserve(), checks.reserve()

    def reserve(self, condition: ast.expr) -> dict[ast.expr, int]:
        """Return the slots of the next guard and of its parts, by their place in the model's text."""
        pieces = [condition, *parts(condition)]
        self.slots.append([self.checks.reserve() for _ in pieces])
        return dict(zip(pieces, self.slots[-1], strict=True))

    def text(self, template: str) -> str:
        """Return a text with the slots filled in."""
        return template.format(first=self.first, times=self.times)

    def unless_left(self, lines: Sequence[str], times: str = "1") -> list[str]:
        """Return lines that run only if no check has failed since the last such place."""
        return ["if _e[0] != 0:", f"    _leave(_e, _row, {times})", "else:", *("    " + line for line in lines)]

    def broken(self) -> list[str]:
        """Return the lines that note an error in a property, which is never the domain's refusal of a step."""
        return ["if _e[0] != 0:", f"    _e[{self.hard}] = _e[0]", "    _e[0] = 0"]
