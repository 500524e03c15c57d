"""A solver that is asked about one move."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import z3
from fencepost.explorers.interrupts import BY_KEYBOARD, Stopped
from fencepost.explorers.symbolic.terms import Flag, boolean

KEYBOARD = "interrupted from keyboard"
"""Why z3 knows nothing where it took the signal itself, which Python then never hears of."""


@dataclass
class Asking:
    """A solver that is asked about one move, with the processor time that it took."""

    timeout: float
    solver: Any = field(default_factory=z3.Solver)
    queries: int = 0
    seconds: float = 0.0

    def add(self, *flags: Flag) -> None:
        """Assume flags."""
        self.solver.add(*map(boolean, flags))

    def ask(self, *flags: Flag) -> Any:
        """Return sat, unsat or unknown for what is assumed and these flags. Raises Stopped if Ctrl-C ended z3."""
        if any(flag is False for flag in flags):
            return z3.unsat
        self.solver.set("timeout", max(1, int(self.timeout * 1000)))
        began = time.process_time()
        found = self.solver.check(*map(boolean, flags))
        self.seconds += time.process_time() - began
        self.queries += 1
        if found == z3.unknown and self.solver.reason_unknown() == KEYBOARD:
            raise Stopped(BY_KEYBOARD)
        return found
