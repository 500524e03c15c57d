"""Hypothesis tests of machines, for other test suites. One line tests a machine, and a failure becomes a short trace.

Hypothesis chooses whole schedules, and the compiled machine runs them, so Hypothesis spends its time on choosing and
shrinking. A schedule is a string of bytes, with one or two bytes for each step. The value 0 takes no step, so that a
smaller schedule is a shorter walk. A value n > 0 selects the enabled step with index (n - 1) modulo the number of
enabled steps, so every schedule is valid. An example contains several schedules, because Hypothesis needs at least a
millisecond per example, and the compiled machine runs several schedules in that time. `rule_machine` makes a plain rule
for each action instead, which is slower but easier to debug.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path as File
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from fencepost.counterexamples.replay import write
from fencepost.counterexamples.shrink import Limits, Shrunk, shrink
from fencepost.counterexamples.trace import trace_of_path
from fencepost.explorers.paths import values_of
from fencepost.explorers.verdict import refuse_behaviours
from fencepost.explorers.walk.measures import divergence
from fencepost.explorers.walk.walker import Walker, Walks
from fencepost.invariants.protocols import Protocol
from fencepost.model.language.actions import Action, Kind, Property
from fencepost.model.language.constants import Constants
from fencepost.model.language.domains import Domain, InFlight
from fencepost.model.language.errors import DisabledError, UsageError
from fencepost.model.language.interpreter import Interpreter, Path, Step
from fencepost.model.language.machine import Machine
from fencepost.model.language.records import key_of

if TYPE_CHECKING:
    from hypothesis import settings as Settings  # noqa: N812 (a class that Hypothesis names in lower case)


BYTE = 255
"""Number of steps that one byte can distinguish, apart from 0, which means no step."""
PILOTS, FEW = 500, 0.02
"""Number of random walks that determine the length of schedules, and the fraction of walks that may be longer."""


@dataclass(frozen=True)
class Profile:
    """The size of a test: examples, schedules per example, steps per schedule. A `fixed` test is reproducible."""

    name: str
    examples: int
    schedules: int = 16
    depth: int = 100
    fixed: bool = False


DEVELOPMENT = Profile("development", 10_000)
CI = Profile("ci", 40_000, fixed=True)
PROFILES = {item.name: item for item in (DEVELOPMENT, CI)}


def profile(name: str) -> Profile:
    if name not in PROFILES:
        raise UsageError(f"there is no profile {name!r} for Hypothesis. The profiles are: {', '.join(PROFILES)}.")
    return PROFILES[name]


def hypothesis() -> ModuleType:
    try:
        import hypothesis
        import hypothesis.strategies
    except ImportError:
        raise UsageError(
            'choosing schedules needs Hypothesis, which is not installed: run `pip install "fencepost[hypothesis]"`.'
        ) from None
    return hypothesis


@dataclass(frozen=True)
class ScheduleFailure:
    prop: Property
    schedule: bytes
    path: Path


@dataclass(frozen=True)
class Tried:
    schedules: int
    steps: int
    seconds: float
    failure: ScheduleFailure | None


class ViolatedError(AssertionError):
    def __init__(self, prop: Property, schedule: bytes) -> None:
        super().__init__(f"{prop.name} is violated")
        self.prop, self.schedule = prop, schedule


class Driver:
    def __init__(self, walker: Walker, chosen: Profile) -> None:
        self.walker, self.chosen = walker, chosen
        self.width = np.dtype(np.uint8 if walker.kernels.source.most_successors <= BYTE else ">u2")
        steps = walker.walk(0, PILOTS, seed=0, depth=self.chosen.depth).steps
        self.depth = max(1, int(np.quantile(steps, 1 - FEW)))
        self.must = [number for number, item in enumerate(walker.properties) if item.kind is not Kind.SOMETIMES]
        self.schedules = self.steps = 0

    def strategy(self, schedules: int) -> Any:
        """Return a strategy that draws this many schedules, concatenated into one string of bytes. With a strategy for
        lists, Hypothesis would mostly draw equal schedules.
        """
        size = schedules * (self.depth + 1) * self.width.itemsize
        return hypothesis().strategies.binary(min_size=size, max_size=size)

    def run(self, schedules: bytes, *, aims: bool = True) -> None:
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
        return np.frombuffer(schedules, self.width).reshape(-1, self.depth + 1)

    def aim(self, made: Walks) -> None:
        target, walker = hypothesis().target, self.walker
        target(float(made.steps.max()), label="steps")
        target(float(walker.faults(made).max()), label="faults used")
        target(
            float(divergence(walker.machine, walker.states(made.finals)).max()), label="offsets at which logs differ"
        )

    def path(self, found: ViolatedError) -> Path:
        numbers = self.numbers(found.schedule)
        column = self.walker.properties.index(found.prop)
        steps = int(self.walker.follow(numbers).decided[0, column])
        return self.walker.confirm(self.walker.way_along(numbers, steps=steps), found.prop)


def settings(chosen: Profile, phases: tuple[str, ...], database: Any = None) -> Settings:
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
    """Search with Hypothesis for a schedule that violates a property; raise UsageError if Hypothesis is missing."""
    driver = Driver(walker, chosen)
    hypothesis()
    from hypothesis import given

    began = time.perf_counter()

    # no database: storing the examples closest to a target would cost more than everything else
    @settings(chosen, ("generate", "target"))
    @given(driver.strategy(chosen.schedules))
    def schedules(several: bytes) -> None:
        driver.run(several)

    try:
        schedules()
    except ViolatedError as found:
        tried, steps, seconds = driver.schedules, driver.steps, time.perf_counter() - began
        shrunk = _shrunk(driver, found)
        return Tried(tried, steps, seconds, ScheduleFailure(found.prop, shrunk.schedule, driver.path(shrunk)))
    return Tried(driver.schedules, driver.steps, time.perf_counter() - began, None)


def _shrunk(driver: Driver, found: ViolatedError) -> ViolatedError:
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


MOST_MESSAGES = 1 << 16
OURS = "do_"
"""Prefix for the names of actions and parameters, so that no name has a special meaning in Hypothesis."""


def rule_machine(machine: Machine, constants: Constants, properties: tuple[Property, ...]) -> Any:
    """Return a RuleBasedStateMachine whose rules draw an action's parameters and do nothing if a guard refuses them.

    The class attributes `calls` and `steps` count the rules that ran and the rules that took a step. Raises UsageError
    for a property of behaviours.
    """
    hypothesis()
    refuse_behaviours(properties, "each run of the rules is finite")
    from hypothesis import stateful

    plain = Interpreter(machine, constants)
    must = [item for item in properties if item.kind is not Kind.SOMETIMES]
    starts = plain.initial_states()

    def begin(self: Any, number: int) -> None:
        self.state = starts[number % len(starts)]

    def holds(self: Any) -> None:
        for prop in must:
            if not prop.over_steps and not plain.holds(prop, self.state):
                raise ViolatedError(prop, b"")

    strategies = hypothesis().strategies
    content: dict[str, Any] = {
        "calls": 0,
        "steps": 0,
        "begin": stateful.initialize(number=strategies.integers(0, len(starts) - 1))(begin),
        "holds": stateful.invariant()(holds),
    }
    rule: Callable[..., Callable[[Callable[..., None]], Callable[..., None]]] = stateful.rule
    for item in machine.actions:
        drawn = {name: _strategy(plain, domain) for name, domain in item.params}
        if None not in drawn.values():
            content[f"{OURS}{item.name}"] = rule(**{f"{OURS}{name}": drawn[name] for name in drawn})(
                _rule(plain, item, must)
            )
    content["__doc__"] = machine.sentence
    return type(machine.name.title().replace("-", ""), (stateful.RuleBasedStateMachine,), content)


def _strategy(plain: Interpreter, domain: Domain | InFlight) -> Any:
    strategies = hypothesis().strategies
    if isinstance(domain, InFlight):
        return strategies.integers(0, MOST_MESSAGES - 1)
    values = values_of(plain.schema, domain)
    return strategies.integers(values.start, values.stop - 1) if values else None


def _rule(plain: Interpreter, item: Action, must: list[Property]) -> Callable[..., None]:
    def rule(self: Any, /, **drawn: int) -> None:
        kind = type(self)
        kind.calls += 1
        arguments: list[Any] = []
        for name, domain in item.params:
            value = drawn[f"{OURS}{name}"]
            if isinstance(domain, InFlight):
                bag = [key_of(message) for message in getattr(plain.schema.restore(self.state), domain.bag)]
                if not bag:
                    return
                arguments.append(bag[value % len(bag)])
            else:
                arguments.append(value)
        try:
            happened = plain.apply(self.state, Step(item, tuple(arguments)))
        except DisabledError:
            return
        kind.steps += 1
        for prop in must:
            if prop.over_steps and not plain.holds_step(prop, self.state, happened):
                raise ViolatedError(prop, b"")
        self.state = happened.after

    rule.__name__ = item.name
    return rule


def explore(
    protocol: Protocol,
    constants: Mapping[str, int],
    properties: tuple[str, ...] = (),
    *,
    chosen: Profile = DEVELOPMENT,
    limits: Limits | None = None,
) -> tuple[Tried, Shrunk | None]:
    """Test a protocol with Hypothesis; return statistics, and the shortened trace of a violation.

    Unless properties are named, all are checked except properties of behaviours, because schedules are finite. Raises
    UsageError for unknown constants or properties, and if Hypothesis is not installed.
    """
    machine = protocol.machine
    values = machine.set_constants(constants)
    judged = tuple(item for item in protocol.select(properties) if properties or not item.kind.over_behaviours)
    tried = try_schedules(Walker(machine, values, judged), chosen)
    if tried.failure is None:
        return tried, None
    why = tried.failure.prop.sentence
    trace = trace_of_path(protocol, values, tried.failure.prop.name, tried.failure.path, source=machine.source, why=why)
    return tried, shrink(trace, limits)


def machine_test(
    machine: Machine,
    properties: tuple[Property, ...],
    *,
    version: str = "",
    use: str | Profile = DEVELOPMENT,
    folder: str | File = ".",
    **constants: int,
) -> Callable[[], None]:
    """Return a test, for pytest or a direct call, that fails if Hypothesis finds a schedule that violates a property.

    `use` is a profile or its name. A failure's trace is written to machine-property.trace in `folder`, which is created
    if missing, and the failure message contains the steps.
    """

    def test() -> None:
        base = machine.version(version).values if version else {}
        found = Protocol(machine, properties)
        tried, shrunk = explore(found, {**base, **constants}, chosen=profile(use) if isinstance(use, str) else use)
        if tried.failure is None or shrunk is None:
            return
        file = File(folder) / f"{machine.name}-{tried.failure.prop.name}.trace"
        file.parent.mkdir(parents=True, exist_ok=True)
        write(file, shrunk.trace)
        plain = shrunk.trace.interpreter()
        steps = "\n".join(f"  {number} {plain.show(step)}" for number, step in enumerate(shrunk.trace.steps, 1))
        raise AssertionError(f"{shrunk.trace.finding} after these steps (saved in {file}):\n{steps}\n{shrunk.reach}")

    test.__name__ = f"test_{machine.name.replace('-', '_')}"
    test.__doc__ = f"{machine.sentence}: no schedule violates a property."
    return test
