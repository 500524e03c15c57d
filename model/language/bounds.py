"""Bounds of a run (constants, not rules of the protocol), and how a run detects the bounds that it reaches.

A guard `require(s.budget.crashes > 0, bound=C.crashes)` represents the constant `crashes`. A bound is *reached* in a
state if it alone disables a step, that is, if all other guards of the step hold. An effect uses `fits` to omit a part
that exceeds a capacity.
"""

from collections.abc import Callable, Sequence
from typing import Any

from fencepost.model.language.constants import Constant
from fencepost.model.language.errors import DisabledError, FencepostError

DROPPED: set[str] = set()
"""The bounds that have made effects omit a part since this set was last cleared."""


class Trial:
    """The results of all guards of an attempted step, including those after the guard of a bound."""

    def __init__(self, guards: int) -> None:
        self.left = guards
        self.refusing: set[str] = set()

    def guard(self, condition: object, bound: Constant[Any] | None) -> None:
        """Record the result of the next guard; the last guard ends the trial."""
        self.left -= 1
        if not condition:
            if bound is None:
                raise DisabledError
            self.refusing.add(bound.name)
        if not self.left:
            raise EndOfGuards


class EndOfGuards(Exception):  # noqa: N818 (not an error)
    """Raised once all guards of an attempted step have a result."""


TRIALS: list[Trial] = []
"""The current trial, if any."""


def refusing(function: Callable[..., None], args: Sequence[Any], guards: int) -> frozenset[str]:
    """Return the bounds that alone disable a step, or an empty set if another guard disables the step.

    `args` are the state (which is not changed), the constants and the parameters; `guards` is the number of guards of
    the action. An error in a guard after a violated bound is ignored, because the bound may prevent the error.
    """
    trial = Trial(guards)
    TRIALS.append(trial)
    try:
        function(*args)
    except DisabledError:
        return frozenset()
    except (EndOfGuards, FencepostError, ValueError, OverflowError, MemoryError):
        return frozenset(trial.refusing)
    finally:
        TRIALS.pop()
    return frozenset()
