"""One run: histories shared out among drivers, differences made short, and what came of it."""

from __future__ import annotations

import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from fencepost.kafka.driver.execute import Tally
from fencepost.kafka.driver.process import Driver
from fencepost.model.language.errors import DisabledError, DomainError
from fencepost.model.language.interpreter import Interpreter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fencepost.kafka.conform.binding import Binding
    from fencepost.kafka.driver.execute import Difference, Execution
    from fencepost.kafka.driver.lines import Coverage, Lines
    from fencepost.kafka.driver.releases import Release
    from fencepost.model.language.constants import Constants
    from fencepost.model.language.interpreter import Step, Transition
    from fencepost.model.language.records import Key

MOST_KINDS = 20
"""Different kinds of differences after which a run stops."""


@dataclass
class Outcome:
    """What a run found: `taken` are the pairs of state and step that were executed and compared, as hashes of 64 bits.

    Of a million pairs two have the same hash with a probability below one in ten million. Only numbers are hashed, so that
    the hashes of several runs can be counted together.
    """

    tally: Tally = field(default_factory=Tally)
    differences: dict[tuple[str, str], Difference] = field(default_factory=dict)
    times: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How many histories ended in a difference of each kind."""
    taken: set[int] = field(default_factory=set)
    lines: list[Lines] = field(default_factory=list)
    """Lines of Kafka's classes that were executed, if they were counted."""
    seconds: float = 0.0
    complete: bool = True

    @property
    def rate(self) -> float:
        """Compared steps a second, the time that the drivers need to start left out."""
        return self.tally.steps / self.seconds if self.seconds else 0.0


class Run:
    """Histories of one protocol under one set of constants, executed by some drivers at once.

    Each driver is a process with a cluster of its own, and a thread here that feeds it.
    """

    def __init__(
        self, bound: Binding, release: Release, constants: Constants, workers: int, coverage: Coverage | None = None
    ) -> None:
        self.bound, self.release, self.constants, self.workers, self.coverage = (
            bound,
            release,
            constants,
            workers,
            coverage,
        )
        self.machine = bound.machine
        self.outcome = Outcome()
        self._numbers = {action.name: number for number, action in enumerate(self.machine.actions)}
        self._lock = threading.Lock()
        self._failed: BaseException | None = None

    def execute(self, histories: Iterable[Iterable[Transition]], seconds: float | None = None) -> Outcome:
        """Execute histories from the initial state until there is none left, or the time is over."""
        waiting = iter(histories)
        drivers: list[Driver] = []
        try:
            for number in range(self.workers):
                options = self.coverage.options(number) if self.coverage is not None else ()
                drivers.append(Driver(replace(self.release, options=options)))
            began = time.monotonic()
            end = None if seconds is None else began + seconds
            threads = [
                threading.Thread(target=self._work, args=(driver, waiting, end), daemon=True) for driver in drivers
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.outcome.seconds = time.monotonic() - began
        finally:
            for driver in drivers:
                driver.close()
        if self._failed is not None:
            raise self._failed
        if self.coverage is not None:
            self.outcome.lines = self.coverage.lines()
        return self.outcome

    def _next(self, waiting: Iterator[Iterable[Transition]], end: float | None) -> list[Transition] | None:
        with self._lock:
            if self._failed is not None:
                return None
            if (end is not None and time.monotonic() > end) or len(self.outcome.differences) >= MOST_KINDS:
                self.outcome.complete = next(waiting, None) is None and self.outcome.complete
                return None
            found = next(waiting, None)
            return None if found is None else list(found)

    def _work(self, driver: Driver, waiting: Iterator[Iterable[Transition]], end: float | None) -> None:
        plain = Interpreter(self.machine, self.constants)
        execution = self.bound.follow(driver, plain)
        initial = plain.initial_states()[0]
        try:
            while (history := self._next(waiting, end)) is not None:
                before = execution.tally.steps
                found = execution.run(initial, history)
                done = execution.tally.steps - before - (found is not None)
                self._note(initial, history[:done])
                if found is not None:
                    self._differs(execution, initial, found)
        except BaseException as error:  # noqa: BLE001 (it is raised where the run was started)
            with self._lock:
                self._failed = self._failed or error
        finally:
            with self._lock:
                self.outcome.tally.add(execution.tally)

    def _note(self, initial: Key, done: list[Transition]) -> None:
        at = initial
        with self._lock:
            for transition in done:
                self.outcome.taken.add(hash((at, self._numbers[transition.step.action.name], transition.step.args)))
                at = transition.after

    def _differs(self, execution: Execution, initial: Key, found: Difference) -> None:
        with self._lock:
            self.outcome.times[found.kind] += 1
            if self.outcome.times[found.kind] > 1:
                return
        short = shortened(execution, initial, found)
        with self._lock:
            self.outcome.differences[found.kind] = short


def shortened(execution: Execution, initial: Key, found: Difference) -> Difference:
    """Return a difference of the same kind whose history has no step that can be left out."""
    place = 0
    while place < len(found.steps) - 1:
        fewer = found.steps[:place] + found.steps[place + 1 :]
        history = transitions(execution.plain, initial, fewer)
        again = execution.run(initial, history) if history is not None else None
        if again is not None and again.kind == found.kind:
            found = again
            place = 0
        else:
            place += 1
    return found


def transitions(plain: Interpreter, initial: Key, steps: Iterable[Step]) -> list[Transition] | None:
    """Return what the model does on these steps; None if it refuses one."""
    at, found = initial, []
    with suppress(DisabledError, DomainError):
        for step in steps:
            found.append(plain.apply(at, step))
            at = found[-1].after
        return found
    return None
