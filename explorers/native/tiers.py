"""Tiers of optimization: a search starts with cheaply compiled code, and later switches to optimized code, always
between two rounds. A long search finally switches to code for exactly its constants.

Most machines are small, so their searches end before LLVM could have optimized the code. Code is optimized only for
longer searches, and in another process, because LLVM compiles one module at a time in each process.
"""

import atexit
import logging
import math
import os
import threading
import time
from collections.abc import Sequence

from fencepost.explorers.native.compile import Kernels, Source, Tier, bound, load
from fencepost.explorers.native.llvm.aside import Meanwhile
from fencepost.explorers.native.llvm.libraries import Library, is_kept, library, take
from fencepost.explorers.native.llvm.objects import CHEAP, LEVEL, CompileError
from fencepost.explorers.native.llvm.types import Lowered
from fencepost.model.language.constants import Constants

START = 0.15
"""CPU seconds needed to start another process."""
WORTH = 2.5
"""Optimizing pays off if a search's remaining time is at least this multiple of the optimization's CPU time. Optimized
code takes 0.55 of the time of cheap code, so the ratio must exceed 2.2 if the search and the compiler share a
processor, 1 if there is one worker and a free processor, and 3.2 if one of two workers is suspended.
"""
WORTH_EXACT = 5.0
"""Like WORTH, but for code compiled for one run's constants, which takes 0.77 of the time of other optimized code."""
ENOUGH = 50_000
"""Number of states after which the rate of a search is meaningful; until then, startup takes most of the time."""
LEAST_FALL = 0.01
"""Minimum decrease in the logarithm of the growth from one level to the next; this makes every estimate finite."""
SPAN = 3
ENDLESS = 1e12


def states_to_come(levels: Sequence[int]) -> float:
    """Estimate the number of states that a breadth-first search will find beyond these levels.

    Levels grow more and more slowly and then shrink. In all measured machines, the logarithm of the growth rate falls
    linearly, so this logarithm is extrapolated. After a tenth of a search, the estimated total is usually within a
    factor of two of the final count.
    """
    if len(levels) <= 2 * SPAN:
        return 0.0
    old, new = (math.log(levels[at] / levels[at - SPAN]) / SPAN for at in (-1 - SPAN, -1))
    fall = max((old - new) / SPAN, LEAST_FALL)
    size, growth, found = float(levels[-1]), new - fall * SPAN / 2, 0.0
    while size >= 1 and found < ENDLESS:
        growth -= fall
        size *= math.exp(growth)
        found += size
    return found


def seconds_to_come(levels: Sequence[int], earlier: int, seconds: float) -> float:
    """Estimate a search's remaining time. The search found `earlier` states before the measured `seconds`."""
    rate = max(1, sum(levels[:-1]) - earlier) / seconds
    grows = len(levels) < 2 or levels[-1] >= levels[-2]
    return max((levels[-1] + states_to_come(levels)) / rate, seconds / 2 if grows else 0)


class Tiers:
    def __init__(self, kernels: Kernels, constants: Constants, forced: Tier | None) -> None:
        self.kernels, self.constants = kernels, constants
        self.used = [kernels]
        self._forced = forced
        self._earlier, self._began = -1, 0.0
        self._asked: Source | None = None

    @property
    def waits(self) -> bool:
        """Return whether code is being optimized; if so, a processor should be left free."""
        return self.kernels.level == CHEAP and _optimizer.is_busy

    def after(self, levels: Sequence[int]) -> Kernels:
        """Return the kernels to use after these levels. The caller must ensure that no kernel is running."""
        if self._earlier < 0:
            self._earlier, self._began = sum(levels[:-1]), time.process_time()
        if self._forced is Tier.SWAP:
            self._change_to(self._next())
        elif self._forced is None:
            self._asked = self._asked or self._worth(levels)
            made = None if self._asked is None else _optimizer.ask(self._asked.unit)
            if self._asked is not None and made is not None:
                self._change_to(bound(self._asked, made, LEVEL))
                self._asked = None
        return self.kernels

    def _next(self) -> Kernels:
        """Return the code of the next tier or, after the last tier, the code of the first."""
        at = next(place for place, item in enumerate(self.used) if item is self.kernels)
        if at + 1 < len(self.used):
            return self.used[at + 1]
        source = self.used[0].source
        if at == 0:
            return load(source, LEVEL if self.kernels.level == CHEAP else CHEAP)
        if at == 1 and source.specialize is not None:
            return load(source.specialize(self.constants), LEVEL)
        return self.used[0]

    def _worth(self, levels: Sequence[int]) -> Source | None:
        source = self.kernels.source
        if source.general is not None:
            return None
        seconds = time.process_time() - self._began  # CPU time, which other processes do not distort
        cost = START + self.kernels.to_optimize
        if sum(levels[:-1]) - self._earlier < ENOUGH and seconds < cost:
            return None
        rest = seconds_to_come(levels, self._earlier, seconds)
        if source.specialize is not None and rest > WORTH_EXACT * cost:
            return source.specialize(self.constants)
        return source if self.kernels.level == CHEAP and rest > WORTH * cost else None

    def _change_to(self, kernels: Kernels) -> None:
        self.kernels = kernels
        if all(item is not kernels for item in self.used):
            self.used.append(kernels)


class _Optimizer:
    """A process that optimizes one unit at a time, for any search, and outlives the search."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: tuple[Lowered, Meanwhile] | None = None
        self._lost: set[Lowered] = set()

    @property
    def is_busy(self) -> bool:
        return self._running is not None

    def ask(self, unit: Lowered) -> Library | None:
        with self._lock:
            made = self._collected()
            if made is not None and made[0] == unit:
                return made[1]
            if self._running is not None or unit in self._lost:
                return None
            if is_kept(unit):
                return library(unit)[0]
            try:
                self._running = unit, Meanwhile(unit, LEVEL)
            except OSError as error:
                self._lose(unit, error)
            return None

    def _collected(self) -> tuple[Lowered, Library] | None:
        if self._running is None:
            return None
        unit, process = self._running
        try:
            made = process.taken()
        except CompileError as error:
            self._running = None
            self._lose(unit, error)
            return None
        if made is None:
            return None
        self._running = None
        return unit, take(unit, LEVEL, made)

    def _lose(self, unit: Lowered, error: Exception) -> None:
        self._lost.add(unit)
        text = "note: the code could not be optimized, so the search continues without optimization: %s"
        logging.getLogger("fencepost").warning(text, error)

    def end(self) -> None:
        with self._lock:
            self._collected()
            if self._running is not None:
                self._running[1].end()
                self._running = None


_optimizer = _Optimizer()


@atexit.register
def _end() -> None:
    """End the child process unless it belongs to the parent of a forked process."""
    _optimizer.end()


def _forget() -> None:
    global _optimizer  # noqa: PLW0603 (of this process)
    _optimizer = _Optimizer()


os.register_at_fork(after_in_child=_forget)
