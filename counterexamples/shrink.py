"""Shrinking a trace to the shortest one with the same finding, by removing steps, lowering constants, and searching."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from fencepost.counterexamples.replay import follow
from fencepost.counterexamples.shortening import Attempts, lower, named, shapes, simpler, with_constant, without
from fencepost.counterexamples.trace import Trace, from_start
from fencepost.explorers.native.compile import Kernels, Source, generate, is_cached, load
from fencepost.explorers.native.masked import MaskedSearch
from fencepost.explorers.search import search
from fencepost.explorers.verdict import Options, Result, ended_by_signal, refuse_behaviours
from fencepost.explorers.walk.sample import Plan, sample
from fencepost.explorers.walk.walker import Walker
from fencepost.model.language.constants import Constants
from fencepost.model.language.errors import DomainError, UsageError
from fencepost.model.language.interpreter import Path

WALKS = 20_000
ROUNDS = 8
"""Maximum number of rounds, each of which shortens the trace and then searches. Few traces need more than three."""


@dataclass(frozen=True)
class Limits:
    """The limits of shrinking. `memory` is in bytes. `seconds` includes everything except compilation."""

    seconds: float = 60.0
    memory: int = 2 << 30
    workers: int = 0
    """Number of search threads; 0 means one per processor."""


@dataclass(frozen=True)
class Shrunk:
    """A shortened trace, and the length up to which no shorter trace exists.

    `checked` is a length in states. With the final constants, no trace of at most this length shows the same finding.
    `searched` is the number of distinct states in the last search.
    """

    trace: Trace
    path: Path
    before: int
    lowered: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    checked: int = 0
    searched: int = 0
    why_stopped: str = ""
    seconds: float = 0.0
    before_lowering: bool = False
    """Whether the result also holds for the original constants (with the smaller shape)."""

    @property
    def shortest(self) -> bool:
        return self.checked >= self.path.length - 1

    @property
    def shapes(self) -> set[str]:
        return set(shapes(self.trace.protocol.machine))

    @property
    def reach(self) -> str:
        if self.shortest:
            is_wide = self.before_lowering and set(self.lowered) - self.shapes
            more = ", nor with the original ones" if is_wide else ""
            return f"No shorter trace exists with these constants{more}: {self.searched:,} states were visited."
        if not self.checked:
            return f"It is not known whether a shorter trace exists with these constants ({self.why_stopped})."
        return (
            f"With these constants, no trace with this finding has {self.checked} states or fewer. It is not known "
            f"whether any has {self.checked + 1} to {self.path.length - 1} states ({self.why_stopped})."
        )


def shrink(trace: Trace, limits: Limits | None = None, tell: Callable[[str], None] | None = None) -> Shrunk:
    """Return the shortest trace with the same finding; raise UsageError if the given trace does not replay.
    `tell(text)` is called with the name of the current activity. The result was replayed under the plain semantics.
    """
    if trace.kafka:
        raise UsageError(
            f"the trace shows where Kafka {trace.kafka} deviates from the model, which only a run on Kafka's classes "
            "can detect: `fencepost conform` already makes such traces as short as possible."
        )
    if trace.recorded:
        raise UsageError(
            f"the trace is the history of a cluster ({trace.recorded}): with fewer steps it would be a different "
            "history. Leave it unchanged."
        )
    if trace.prop is not None:
        why = (
            "the trace is a path and a loop, so its steps cannot be removed one by one. A check finds the "
            "shortest path to a loop"
        )
        refuse_behaviours((trace.prop,), why)
    return _Shrinking(trace, limits or Limits(), tell or (lambda _: None)).run()


def source_of(trace: Trace) -> Source:
    found = trace.protocol
    asked = () if trace.prop is None else (trace.prop,)
    masked = trace.removed is not None
    return generate(
        found.machine, trace.constants, found.compiled_with(asked), normalize=trace.normalize, masked=masked
    )


class _Shrinking:
    def __init__(self, trace: Trace, limits: Limits, tell: Callable[[str], None]) -> None:
        self.given, self.trace, self.limits, self.tell = trace, trace, limits, tell
        self.spent = 0.0
        """Seconds spent on compilation, which do not count towards the limit."""
        self.wide = trace
        """The trace with the given constants and a smaller shape. Lower constants may exclude the shortest trace."""
        self.last: tuple[Constants, Result] | None = None
        self.wrong = ""
        self.interrupted = self.certain_before = False

    def run(self) -> Shrunk:
        self.began = time.perf_counter()
        before = follow(self.given).path.length
        self.tell(f"removing some of {before - 1} steps")
        self.trace = replace(self.trace, steps=without(Attempts(self.trace, self.until(0.3)), self.trace.steps))
        self.in_a_smaller_shape()
        for _ in range(ROUNDS):
            if not (self.found_shorter(self.wide, 0.6) or self.found_shorter_below()) and (
                self.certain or not self.walk()
            ):
                break
            if self.left <= 0 or self.interrupted:
                break
        self.simplify()
        made, result = follow(self.trace), self.result
        old, new = self.given.constants.values, self.trace.constants.values
        return Shrunk(
            trace=self.trace,
            path=made.path,
            before=before,
            lowered={name: (int(old[name]), int(new[name])) for name in old if old[name] != new[name]},
            checked=min(self.checked(result), made.path.length - 1) if result else 0,
            searched=result.distinct if result else 0,
            why_stopped=result.why_stopped
            if result
            else f"the model raises an error under these constants: {self.wrong}",
            seconds=time.perf_counter() - self.began,
            before_lowering=self.certain_before,
        )

    def found_shorter(self, trace: Trace, share: float) -> bool:
        if self.certain_before and trace is self.wide:
            return False
        self.tell(f"searching for fewer than {len(self.trace.steps) + 1} states")
        result = self.search_where_defined(trace, len(self.trace.steps), self.left * share)
        if result is None:
            return False
        self.last = trace.constants, result
        taken = self.take(trace, result)
        if taken or trace is self.wide:
            self.certain_before = not taken and self.checked(result) >= len(self.trace.steps)
        return taken

    def found_shorter_below(self) -> bool:
        before = self.trace
        self.trace = lower(before, self.until(0.5))
        if self.found_shorter(self.trace, 1.0):
            return True
        if self.result is None and self.trace.constants != before.constants:
            self.trace = before
            return self.result is None and self.found_shorter(before, 1.0)
        return False

    @property
    def result(self) -> Result | None:
        """Return the last search if it used the trace's constants, otherwise None."""
        return self.last[1] if self.last and self.last[0] == self.trace.constants else None

    @property
    def certain(self) -> bool:
        return self.result is not None and self.checked(self.result) >= len(self.trace.steps)

    @property
    def left(self) -> float:
        return self.began + self.spent + self.limits.seconds - time.perf_counter()

    def until(self, share: float) -> float:
        return time.perf_counter() + max(0.0, self.left) * share

    # -- fewer steps

    def simplify(self) -> None:
        attempts = Attempts(self.trace, time.perf_counter() + max(1.0, min(5.0, self.left)))
        steps = simpler(attempts, self.trace.steps)
        if len(steps) <= len(self.trace.steps):
            self.trace = replace(self.trace, steps=steps)

    # smaller shapes, shorter paths

    def in_a_smaller_shape(self) -> None:
        """Search for a trace that has fewer brokers or replicas and is not longer. Lower constants are tried first. A
        shape that needs compilation is searched only if it contains all values that the steps name.
        """
        lowered = lower(self.trace, self.until(0.2))
        for trace in (lowered, self.trace) if lowered.constants != self.trace.constants else (self.trace,):
            for name in shapes(trace.protocol.machine):
                for value in self.smaller(trace, name):
                    candidate = with_constant(trace, name, value)
                    if candidate is None or self.left <= 0 or self.interrupted:
                        continue
                    if value < named(trace, name) and not is_cached(source_of(candidate)):
                        continue
                    self.tell(f"searching with {name}={value}")
                    result = self.search_where_defined(candidate, len(self.trace.steps) + 1, self.left / 3)
                    if result is not None and self.take(candidate, result):
                        self.wide = with_constant(self.wide, name, value) or candidate
                        return

    def smaller(self, trace: Trace, name: str) -> range:
        return range(int(trace.protocol.machine.constants.declared()[name].low), int(trace.constants.values[name]))

    def search_where_defined(self, trace: Trace, levels: int, seconds: float) -> Result | None:
        try:
            return self.search(trace, levels, seconds)
        except DomainError as error:
            self.wrong = str(error).splitlines()[0].rstrip(".")
            return None

    def search(self, trace: Trace, levels: int, seconds: float) -> Result:
        kernels = self.kernels(trace)
        options = Options(
            workers=self.limits.workers,
            normalize=trace.normalize,
            stop_on_violation=trace.removed is None or (trace.prop is not None and trace.prop.kind.must_hold),
            deadlock=trace.prop is None,
            # a deadlock is found when its level is expanded, a violation when its level is reached
            max_depth=max(1, levels + (trace.prop is None)),
            budget=max(0.1, seconds),
            memory=self.limits.memory,
        )
        asked = () if trace.prop is None else (trace.prop,)
        machine, guard = trace.protocol.machine, trace.removed
        if guard is None:
            result = search(machine, trace.constants, asked, options, kernels=kernels)
        else:
            result = MaskedSearch(machine, trace.constants, asked, options, kernels=kernels, guard=guard).run()
        self.interrupted = self.interrupted or ended_by_signal(result.why_stopped)
        return result

    def take(self, trace: Trace, result: Result) -> bool:
        path = result.deadlock if trace.prop is None else result.of(trace.prop.name).path
        if path is None:
            return False
        self.trace = from_start(replace(trace, steps=path.steps, initial=None), path)
        return True

    def walk(self) -> bool:
        """Search for a shorter trace with random walks and the lower constants; return whether a trace was found.
        Random walks cannot omit a guard, so no walks are taken for a trace that omits a guard.
        """
        prop, length = self.trace.prop, len(self.trace.steps)
        if prop is None or self.trace.removed or self.left <= 0 or self.interrupted:
            return False
        self.tell("taking random walks")
        trace = self.trace
        walker = Walker(
            trace.protocol.machine, trace.constants, (prop,), normalize=trace.normalize, kernels=self.kernels(trace)
        )
        plan = Plan(walks=WALKS, depth=length, workers=self.limits.workers, budget=max(0.1, self.left / 2))
        try:
            path = sample(walker, plan).of(prop.name).path
        except DomainError:
            return False  # the model raises an error under the lower constants
        if path is None or path.length > length:
            return False
        self.trace = from_start(replace(trace, steps=path.steps, initial=None), path)
        return True

    def kernels(self, trace: Trace) -> Kernels:
        began = time.perf_counter()
        source = source_of(trace)
        if not is_cached(source):
            self.tell("compiling the protocol for another shape")
        found = load(source)
        self.spent += time.perf_counter() - began
        return found

    # reach

    def checked(self, result: Result) -> int:
        """Return the length up to which all traces were examined. A deadlock is found only if its level is expanded."""
        return len(self.trace.steps) + 1 if result.complete else len(result.levels) - (self.trace.prop is None)
