"""Random walks on several threads. The result does not depend on the number of threads."""

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from fencepost.explorers.native.expansion import processors
from fencepost.explorers.running.interrupts import Signals, Stoppable
from fencepost.explorers.verdict import (
    LEFT,
    VIOLATED,
    Problem,
    PropertyResult,
    Verdict,
    model_error,
    out_of_time,
    worst,
)
from fencepost.explorers.walk.measures import deepest_log, estimate
from fencepost.explorers.walk.walker import REGISTERS, End, Walker, Walks
from fencepost.model.language.actions import Kind, Property
from fencepost.model.language.constants import Constants
from fencepost.model.language.errors import DomainError
from fencepost.model.language.interpreter import Path
from fencepost.model.language.machine import Machine

BATCH_STEPS = 20_000
"""Steps per batch. Budgets and signals are checked between batches, about every tenth of a second."""
NEVER = 1 << 40


@dataclass(frozen=True)
class Plan:
    """Parameters of a series of walks. Times are in seconds; None means no limit."""

    seed: int = 0
    walks: int = 10_000
    depth: int = 100
    weights: Mapping[str, int] = field(default_factory=dict)
    workers: int = 0
    budget: float | None = None
    stop_on_violation: bool = False


@dataclass(frozen=True)
class Sampled:
    """A property's result: the number of walks that decided it, and the first of those that needed the fewest steps."""

    result: PropertyResult
    walks: int = 0
    walk: int | None = None

    @property
    def path(self) -> Path | None:
        return self.result.path


@dataclass(frozen=True)
class Sample:
    protocol: str
    constants: Mapping[str, Any]
    plan: Plan
    workers: int
    walks: int
    steps: int
    seconds: float
    why_stopped: str
    properties: tuple[Sampled, ...]
    fired: Mapping[str, int]
    stuck: int = 0
    longest: int = 0
    most_faults: int = 0
    deepest_log: int = 0
    distinct: int = 0
    """Estimated number of distinct states reached."""
    notes: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def complete(self) -> bool:
        return not self.why_stopped

    @property
    def verdict(self) -> Verdict:
        found = worst([item.result.verdict for item in self.properties], complete=True)
        return found if found in (Verdict.VIOLATED, Verdict.HOLDS) and self.properties else Verdict.NOT_FOUND

    def of(self, name: str) -> Sampled:
        return next(item for item in self.properties if item.result.name == name)


class _Tally:
    def __init__(self, properties: int, actions: int) -> None:
        self.walks = self.steps = self.stuck = self.longest = self.faults = self.log = 0
        self.count = np.zeros(properties, np.int64)
        self.first = np.full((properties, 2), NEVER, np.int64)
        """The smallest number of steps that decided each property, and the first walk with that number."""
        self.fired = np.zeros(actions, np.int64)
        self.sketch = np.zeros(REGISTERS, np.uint8)

    def take(self, walker: Walker, made: Walks) -> "_Tally":
        self.walks, self.steps, self.longest = len(made.steps), int(made.steps.sum()), int(made.steps.max(initial=0))
        self.stuck = int((made.ends == End.STUCK).sum())
        self.faults = int(walker.faults(made).max(initial=0))
        self.log = int(deepest_log(walker.machine, walker.states(made.finals)).max(initial=0))
        self.fired, self.sketch = made.fired.sum(axis=0, dtype=np.int64), made.sketch
        self.count = (made.decided >= 0).sum(axis=0)
        for number, steps in enumerate(np.where(made.decided < 0, NEVER, made.decided.astype(np.int64)).T):
            best = int(steps.argmin()) if len(steps) else 0
            if len(steps) and steps[best] < NEVER:
                self.first[number] = steps[best], made.first + best
        return self

    def add(self, other: "_Tally") -> None:
        for name in ("walks", "steps", "stuck", "count", "fired"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("longest", "log", "faults"):
            setattr(self, name, max(getattr(self, name), getattr(other, name)))
        self.sketch = np.maximum(self.sketch, other.sketch)
        sooner = other.first[:, 0] < self.first[:, 0]
        self.first[sooner] = other.first[sooner]


def nothing(machine: Machine, constants: Constants, properties: tuple[Property, ...], plan: Plan, why: str) -> Sample:
    found = tuple(Sampled(PropertyResult(item.name, item.kind, Verdict.NOT_FOUND)) for item in properties)
    fired = {item.label: 0 for item in machine.actions}
    return Sample(machine.name, constants.shown, plan, plan.workers, 0, 0, 0.0, why, found, fired)


def sample(walker: Walker, plan: Plan, tell: Callable[[int, int, float], None] | None = None) -> Sample:
    """Run the planned walks; replay each path before returning it. `tell(walks, steps, seconds)` reports progress."""
    return _Sampling(walker, plan, tell).run()


class _Sampling(Stoppable):
    def __init__(self, walker: Walker, plan: Plan, tell: Callable[[int, int, float], None] | None) -> None:
        self.walker, self.plan, self.tell = walker, plan, tell
        self.weights = walker.weights(plan.weights)
        self.batch = max(1, BATCH_STEPS // max(1, plan.depth))
        self.bad = np.array([item.kind is not Kind.SOMETIMES for item in walker.properties], bool)
        self.done: dict[int, _Tally] = {}
        self.failed: dict[int, Exception] = {}
        self.violating: set[int] = set()
        self.seen = [0, 0]

    def run(self) -> Sample:
        """Run batches of walks in the order of their numbers, and add up the results of completed batches."""
        self.began = time.perf_counter()
        workers = self.plan.workers or processors()
        batches = iter(range(0, self.plan.walks, self.batch))
        with Signals(self.ask):
            if workers == 1:
                self.drain(batches)
            else:
                with ThreadPoolExecutor(workers) as pool:
                    for future in [pool.submit(self.drain, batches) for _ in range(workers)]:
                        future.result()
        seconds = time.perf_counter() - self.began
        if self.failed and (self.violated_in is None or self.first_failed <= self.violated_in):
            error = self.failed[self.first_failed]  # the first failed walk's error, whatever the number of workers
            if not isinstance(error, DomainError) or not (self.total().count[self.bad] > 0).any():
                raise error
            return replace(self.result(workers, seconds), why_stopped=LEFT, problems=(model_error(error),))
        return self.result(workers, seconds)

    def drain(self, batches: Iterator[int]) -> None:
        while not self.limit():
            first = next(batches, None)
            if first is None:
                return
            try:
                self.batch_from(first)
            except Exception as error:  # noqa: BLE001 (raised by run)
                self.failed[first] = error

    def batch_from(self, first: int) -> None:
        walker, plan = self.walker, self.plan
        at, last = first, min(first + self.batch, plan.walks)
        tally = self.nothing()
        while at < last:
            made = walker.walk(at, last, seed=plan.seed, depth=plan.depth, weights=self.weights, broken=True)
            if made.code and first not in self.failed:
                self.failed[first] = walker.error(made)
            tally.add(self.nothing().take(walker, made))
            at += len(made.steps)
        if plan.stop_on_violation and (tally.count[self.bad] > 0).any():
            self.violating.add(first)
        self.done[first] = tally
        self.seen[0] += tally.walks
        self.seen[1] += tally.steps
        if self.tell is not None:
            self.tell(self.seen[0], self.seen[1], time.perf_counter() - self.began)

    @property
    def violated_in(self) -> int | None:
        return min(self.violating.copy(), default=None)

    @property
    def first_failed(self) -> int:
        """Return the first batch with a failed walk; if no walk failed, return a number above all batches."""
        return min(self.failed.copy(), default=self.plan.walks)

    def limit(self) -> str:
        if not self.stop_asked and self.violated_in is not None:
            return VIOLATED
        if self.failed:
            return "a walk failed"
        if not self.stop_asked and self.plan.budget is not None and time.perf_counter() - self.began > self.plan.budget:
            self.stop_asked = out_of_time(self.plan.budget)
        return self.stop_asked

    def result(self, workers: int, seconds: float) -> Sample:
        walker, total = self.walker, self.total()
        why = "" if total.walks == self.plan.walks else self.stop_asked or VIOLATED
        return Sample(
            protocol=walker.machine.name,
            constants=walker.constants.shown,
            plan=self.plan,
            workers=workers,
            walks=total.walks,
            steps=total.steps,
            seconds=seconds,
            why_stopped=why,
            properties=tuple(self.sampled(item, number, total) for number, item in enumerate(walker.properties)),
            fired={item.label: int(total.fired[number]) for number, item in enumerate(walker.machine.actions)},
            stuck=total.stuck,
            longest=total.longest,
            most_faults=total.faults,
            deepest_log=total.log,
            distinct=estimate(total.sketch),
            notes=tuple(walker.machine.notes(walker.constants)) if walker.machine.notes else (),
        )

    def nothing(self) -> _Tally:
        return _Tally(len(self.walker.properties), len(self.walker.machine.actions))

    def total(self) -> _Tally:
        """Return the totals up to the first batch with a failed walk, or with a violation that ends the run."""
        total = self.nothing()
        last = self.first_failed if self.violated_in is None else min(self.violated_in, self.first_failed)
        for first in sorted(self.done):
            if first <= last:
                total.add(self.done[first])
        return total

    def sampled(self, item: Property, number: int, total: _Tally) -> Sampled:
        steps, walk = map(int, total.first[number])
        if steps == NEVER:
            return Sampled(PropertyResult(item.name, item.kind, Verdict.NOT_FOUND))
        way = self.walker.way(walk, seed=self.plan.seed, steps=steps, weights=self.weights)
        path = self.walker.confirm(way, item)
        verdict = Verdict.HOLDS if item.kind is Kind.SOMETIMES else Verdict.VIOLATED
        return Sampled(PropertyResult(item.name, item.kind, verdict, path), int(total.count[number]), walk)
