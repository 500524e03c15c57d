"""Hypothesis chooses whole schedules, and the compiled machine runs them: it spends its time choosing
and shrinking, not stepping.

A schedule is a string of bytes, one or two for each step. 0 takes no step, so that a smaller schedule is a shorter
walk; n > 0 is the enabled step with the number (n - 1) modulo how many are enabled, so no schedule is ever
rejected. An example has several schedules: Hypothesis takes a millisecond or more for an example, in which the
core walks along all of them.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from fencepost.explorers.walk.measures import divergence
from fencepost.model.language.actions import Kind
from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    from types import ModuleType

    from fencepost.explorers.walk.walker import Walker, Walks
    from fencepost.model.language.actions import Property
    from fencepost.model.language.interpreter import Path
    from hypothesis import settings as Settings  # noqa: N812 (a class that Hypothesis names in lower case)

BYTE = 255
"""Steps that one byte can tell apart: 0 is none."""
PILOTS, FEW = 500, 0.02
"""Random walks that tell how long schedules need to be, and the share of them that may be longer."""


@dataclass(frozen=True)
class Profile:
    """How much Hypothesis tries: `examples` of `schedules` schedules, of `depth` steps at most;
    `fixed`: always the same ones.

    Schedules are no longer than nearly all random walks of the machine are: what lies behind the
    end of a walk is never read.
    """

    name: str
    examples: int
    schedules: int = 16
    depth: int = 100
    fixed: bool = False


DEVELOPMENT = Profile("development", 10_000)
"""The default: other schedules every time."""
CI = Profile("ci", 40_000, fixed=True)
"""The same schedules every time, and more of them."""
PROFILES = {item.name: item for item in (DEVELOPMENT, CI)}


def profile(name: str) -> Profile:
    """Return the profile of this name; raise UsageError if there is none."""
    if name not in PROFILES:
        raise UsageError(f"there is no profile {name!r} for Hypothesis. Profiles are: {', '.join(PROFILES)}.")
    return PROFILES[name]


def hypothesis() -> ModuleType:
    """Return Hypothesis; raise UsageError where it is not installed."""
    try:
        import hypothesis
        import hypothesis.strategies
    except ImportError:
        raise UsageError(
            "Hypothesis was asked to choose schedules, but it is not installed: "
            'run `pip install "fencepost[hypothesis]"`.'
        ) from None
    return hypothesis


@dataclass(frozen=True)
class Failure:
    """A failure that Hypothesis found: the property, the shrunk schedule, and its confirmed path."""

    prop: Property
    schedule: bytes
    path: Path


@dataclass(frozen=True)
class Tried:
    """Schedules that Hypothesis tried, and their steps. `failure` is None if nothing is violated."""

    schedules: int
    steps: int
    seconds: float
    failure: Failure | None


class ViolatedError(AssertionError):
    """A property does not hold along a schedule."""

    def __init__(self, prop: Property, schedule: bytes) -> None:
        super().__init__(f"{prop.name} is violated")
        self.prop, self.schedule = prop, schedule


class Driver:
    """Runs schedules on a machine and tells Hypothesis how far they came."""

    def __init__(self, walker: Walker, chosen: Profile) -> None:
        self.walker, self.chosen = walker, chosen
        self.width = np.dtype(np.uint8 if walker.kernels.source.most_successors <= BYTE else ">u2")
        self.depth = self._depth()
        self.must = [number for number, item in enumerate(walker.properties) if item.kind is not Kind.SOMETIMES]
        self.schedules = self.steps = 0

    def strategy(self, schedules: int) -> Any:
        """Return the strategy of so many schedules, one after the other in one string of bytes.

        One string, since of several Hypothesis makes examples in which most are equal.
        """
        size = schedules * (self.depth + 1) * self.width.itemsize
        return hypothesis().strategies.binary(min_size=size, max_size=size)

    def _depth(self) -> int:
        """Return how many steps all but a few random walks take."""
        steps = self.walker.walk(0, PILOTS, seed=0, depth=self.chosen.depth).steps
        return max(1, int(np.quantile(steps, 1 - FEW)))

    def run(self, schedules: bytes, *, aims: bool = True) -> None:
        """Walk along schedules; raise ViolatedError for the first one that violates a property."""
        made = self.walker.follow(self.numbers(schedules))
        self.schedules += len(made.steps)
        self.steps += int(made.steps.sum())
        decided = made.decided[:, self.must]
        if (decided >= 0).any():
            row = int((decided >= 0).any(axis=1).argmax())
            soonest = np.where(decided[row] < 0, self.depth + 1, decided[row])
            size = len(schedules) // len(made.steps)
            found = self.walker.properties[self.must[int(soonest.argmin())]]
            raise ViolatedError(found, schedules[row * size : (row + 1) * size])
        if aims:
            self.aim(made)

    def numbers(self, schedules: bytes) -> np.ndarray[Any, Any]:
        """Return schedules as rows of numbers."""
        return np.frombuffer(schedules, self.width).reshape(-1, self.depth + 1)

    def aim(self, made: Walks) -> None:
        """Tell Hypothesis what to seek more of: steps, faults, and logs that differ."""
        target, walker = hypothesis().target, self.walker
        target(float(made.steps.max()), label="steps")
        target(
            float(walker.faults(made).max()),
            label="faults used",
        )
        target(
            float(divergence(walker.machine, walker.states(made.finals)).max()), label="offsets at which logs differ"
        )

    def path(self, found: ViolatedError) -> Path:
        """Return the path along a schedule that violates a property, as the plain semantics confirms it."""
        numbers = self.numbers(found.schedule)
        column = self.walker.properties.index(found.prop)
        steps = int(self.walker.follow(numbers).decided[0, column])
        return self.walker.confirm(self.walker.way_along(numbers, steps=steps), found.prop)


def settings(chosen: Profile, phases: tuple[str, ...], database: Any = None) -> Settings:
    """Return Hypothesis' settings for a profile and some of Hypothesis' phases."""
    library = hypothesis()
    found: Settings = library.settings(
        max_examples=chosen.examples,
        derandomize=chosen.fixed and database is None,
        deadline=None,
        print_blob=False,
        report_multiple_bugs=False,
        database=database,
        phases=tuple(library.Phase[name] for name in phases),
        suppress_health_check=list(library.HealthCheck),
    )
    return found


def try_schedules(walker: Walker, chosen: Profile = DEVELOPMENT) -> Tried:
    """Let Hypothesis seek a schedule that violates one of the walker's properties, and shrink it.

    Raises UsageError where Hypothesis is not installed.
    """
    driver = Driver(walker, chosen)
    hypothesis()
    from hypothesis import given

    began = time.perf_counter()

    # no database: it would keep what comes closest to a target too, which costs more than all else
    @settings(chosen, ("generate", "target"))
    @given(driver.strategy(chosen.schedules))
    def schedules(several: bytes) -> None:
        driver.run(several)

    try:
        schedules()
    except ViolatedError as found:
        tried, steps, seconds = driver.schedules, driver.steps, time.perf_counter() - began
        shrunk = _shrunk(driver, found)
        return Tried(tried, steps, seconds, Failure(found.prop, shrunk.schedule, driver.path(shrunk)))
    return Tried(driver.schedules, driver.steps, time.perf_counter() - began, None)


def _shrunk(driver: Driver, found: ViolatedError) -> ViolatedError:
    """Let Hypothesis shrink the one schedule that violates a property; it finds it in a database made for this."""
    from hypothesis import given
    from hypothesis.database import InMemoryExampleDatabase, choices_to_bytes

    key, database = b"schedule", InMemoryExampleDatabase()
    database.save(key, choices_to_bytes((found.schedule,)))

    @settings(driver.chosen, ("reuse", "shrink"), database)
    @given(driver.strategy(1))
    def one(schedule: bytes) -> None:
        try:
            driver.run(schedule, aims=False)
        except ViolatedError as error:
            if error.prop is found.prop:
                raise

    one._hypothesis_internal_database_key = key  # as hypothesis.find does
    try:
        one()
    except ViolatedError as shrunk:
        return shrunk
    return found
