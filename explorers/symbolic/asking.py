"""A solver that is asked about one move."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import z3
from fencepost.explorers.running.interrupts import BY_KEYBOARD, Stopped
from fencepost.explorers.symbolic.terms import Flag, boolean

if TYPE_CHECKING:
    from collections.abc import Iterator

KEYBOARD = "interrupted from keyboard"
"""Why z3 knows nothing where it took the signal itself, which Python then never hears of."""


@dataclass
class Asking:
    """A solver that is asked about one move, with the processor time that it took."""

    timeout: float
    solver: Any = field(default_factory=z3.Solver)
    queries: int = 0
    seconds: float = 0.0
    left: float | None = None
    """The seconds that are left for several questions together, where these have a limit."""

    def add(self, *flags: Flag) -> None:
        self.solver.add(*map(boolean, flags))

    @contextmanager
    def together(self) -> Iterator[None]:
        """Give all questions that are asked inside as much time as one of them has."""
        self.left = self.timeout
        try:
            yield
        finally:
            self.left = None

    def ask(self, *flags: Flag) -> Any:
        """Return sat, unsat or unknown for what is assumed and these flags. Raises Stopped if Ctrl-C ended z3."""
        if any(flag is False for flag in flags):
            return z3.unsat
        if self.left is not None and self.left <= 0:
            return z3.unknown
        self.solver.set("timeout", max(1, int((self.timeout if self.left is None else self.left) * 1000)))
        began, clock = time.process_time(), time.monotonic()
        found = self.solver.check(*map(boolean, flags))
        self.seconds += time.process_time() - began
        self.queries += 1
        if self.left is not None:
            self.left -= time.monotonic() - clock
        if found == z3.unknown and self.solver.reason_unknown() == KEYBOARD:
            raise Stopped(BY_KEYBOARD)
        return found
