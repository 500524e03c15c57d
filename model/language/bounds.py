"""Bounds of a run, and which of them a step comes up against: what no rule of the protocol refuses, but a constant.

A guard `require(s.budget.crashes > 0, bound=C.crashes)` says that it stands for the constant `crashes`. A bound is
*reached* in a state if it alone refuses a step: all other guards of that step hold there. An effect that leaves
something out for want of room says so with `fits`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fencepost.model.language.errors import DisabledError, FencepostError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fencepost.model.language.constants import Constant

DROPPED: set[str] = set()
"""The bounds for whose sake effects have left something out, since somebody emptied it."""


class Trial:
    """The guards of a step that is tried, all of them, past those that stand for a bound."""

    def __init__(self, guards: int) -> None:
        self.left = guards
        self.refusing: set[str] = set()

    def guard(self, condition: object, bound: Constant[Any] | None) -> None:
        """Take the answer of the next guard; the last one ends the trial."""
        self.left -= 1
        if not condition:
            if bound is None:
                raise DisabledError
            self.refusing.add(bound.name)
        if not self.left:
            raise EndOfGuards


class EndOfGuards(Exception):  # noqa: N818 (it is no error)
    """All guards of a step that is tried have answered."""


TRIALS: list[Trial] = []
"""The trial that is going on, if there is one."""


def refusing(function: Callable[..., None], args: Sequence[Any], guards: int) -> frozenset[str]:
    """Return the bounds that refuse a step which every other guard lets happen; nothing if another guard refuses it.

    `args` are the state, which is not changed, the constants and the parameters; `guards` is how many guards
    the action has. What goes wrong in a guard behind a bound that refuses is not held against the step: it may
    go wrong because of that.
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
