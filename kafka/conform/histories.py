"""Comparison of Kafka with the model by histories: walks of the state graph, random walks, and traces."""

import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from fencepost.counterexamples.reader import read
from fencepost.counterexamples.replay import write
from fencepost.counterexamples.trace import Trace
from fencepost.explorers.paths import holds_at_end
from fencepost.invariants.protocols import protocol as named_protocol
from fencepost.kafka.conform.binding import FORMAT, Binding
from fencepost.kafka.driver.execute import Difference, Execution, Tally
from fencepost.kafka.driver.process import ClassLines, Driver, LineCoverage
from fencepost.kafka.driver.releases import Release
from fencepost.kafka.driver.walks import Cover, state_graph, walks
from fencepost.kafka.formatting import count_histories, many, seconds
from fencepost.model.language.actions import Kind
from fencepost.model.language.constants import Constants
from fencepost.model.language.errors import DisabledError, DomainError, UsageError
from fencepost.model.language.interpreter import Interpreter, Step, Transition
from fencepost.model.language.records import Key

Found = TypeVar("Found")
MOST_STATES = 50_000
"""Maximum number of states in a state graph explored by the interpreter."""
SHOWN = 8
DEPTH = 40


@dataclass(frozen=True)
class HistoriesPlan:
    """Histories to execute for at most `seconds`: walks that cover the state graph, or `walks` random walks."""

    constants: Constants
    walks: int = 0
    depth: int = DEPTH
    seed: int = 1
    seconds: float | None = None
    workers: int = 2
    lines: bool = False
    """Whether to count the executed lines of Kafka's classes."""


def conform_histories(
    bound: Binding, release: Release, request: HistoriesPlan, tell: Callable[[str], None]
) -> "HistoriesReport":
    bound.make_sure_drivable(release.model, request.constants)
    with tempfile.TemporaryDirectory() as folder:
        coverage = LineCoverage(release, Path(folder)) if request.lines else None
        run = Run(bound, release, request.constants, request.workers, coverage)
        return _executed(run, request, tell)


def _executed(run: "Run", request: HistoriesPlan, tell: Callable[[str], None]) -> "HistoriesReport":
    plain = Interpreter(run.machine, request.constants)
    if request.walks:
        tell(f"{request.walks:,} walks of up to {request.depth} steps")
        outcome = run.execute(walks(plain, request.walks, request.depth, request.seed), request.seconds)
        return HistoriesReport(run.bound, run.release, request.constants, outcome)
    tell("exploring the state graph")
    graph = state_graph(plain, MOST_STATES)
    if graph is None:
        raise UsageError(
            f"the state graph has more than {MOST_STATES:,} states with these constants, which is too many to cover: "
            "lower a constant, or use random walks with `walks=`."
        )
    tell(f"walks that cover all {graph.number_of_edges():,} transitions between {len(graph):,} states")
    outcome = run.execute(Cover(graph).walks(), request.seconds)
    return HistoriesReport(run.bound, run.release, request.constants, outcome, len(graph), graph.number_of_edges())


def conform_trace(bound: Binding, release: Release, path: Path) -> "HistoriesReport":
    trace = read(path).trace
    if trace.protocol.name != bound.protocol:
        raise UsageError(
            f"{path} is a trace of protocol {trace.protocol.name!r}, but {bound.protocol!r} was requested: name the "
            "trace's protocol."
        )
    constants = bound.as_built(release.model, trace.constants)
    bound.make_sure_drivable(release.model, constants)
    if trace.removed is not None or not trace.normalize:
        raise UsageError(
            f"{path} is a history of a modified model (without a guard, or without `normalize`): use a trace of the "
            "unmodified model."
        )
    plain = Interpreter(trace.protocol.machine, constants)
    initial = plain.initial_states()[0]
    history = transitions(plain, initial, trace.steps)
    if history is None:
        raise UsageError(
            f"{path} contains a step that the model rejects under Kafka's rules, so Kafka should reject it too. Use a "
            "trace that was found with a version's constants."
        )
    outcome = Run(bound, release, constants, 1).execute([history])
    prop, states = trace.prop, [initial, *(item.after for item in history)]
    shown = ""
    is_judged = bool(history) and not outcome.times and not outcome.tally.aside
    if is_judged and prop is not None and prop.kind in (Kind.ALWAYS, Kind.STEP):
        holds = holds_at_end(plain, prop, states, history[-1])
        shown = f"{prop.name} {'holds' if holds else 'is violated'} at the end"
    return HistoriesReport(bound, release, constants, outcome, finding=shown)


def write_differences(report: "HistoriesReport", folder: Path) -> None:
    for number, (kind, found) in enumerate(sorted(report.outcome.differences.items()), 1):
        path = folder / f"{report.bound.protocol}-{report.release.version}-difference-{number}.trace"
        write(path, trace_of(report, found))
        report.traces[kind] = str(path)


def trace_of(report: "HistoriesReport", found: Difference) -> Trace:
    told = "; ".join(f"{name} is {kafka} in Kafka and {model} in the model" for name, model, kafka in found.rows)
    return Trace(
        title=f"Kafka {report.release.version} deviates from the model after {found.action}",
        protocol=named_protocol(report.bound.protocol),
        constants=report.constants,
        prop=None,
        steps=found.steps,
        version=report.release.model,
        why=f"After the last step {told}.",
        source="fencepost conform",
        kafka=report.release.version,
    )


MOST_KINDS = 20


@dataclass
class HistoriesOutcome:
    """The outcome of a run. `taken` contains a 64-bit hash of each pair of state and step that was executed and
    compared. With a million pairs, the probability of a collision is below one in ten million. Only numbers are hashed,
    so hashes from several runs can be combined.
    """

    tally: Tally = field(default_factory=Tally)
    differences: dict[tuple[str, str], Difference] = field(default_factory=dict)
    times: Counter[tuple[str, str]] = field(default_factory=Counter)
    taken: set[int] = field(default_factory=set)
    lines: list[ClassLines] = field(default_factory=list)
    seconds: float = 0.0
    complete: bool = True

    @property
    def rate(self) -> float:
        return self.tally.steps / self.seconds if self.seconds else 0.0


class Run:
    """Histories of a protocol with one set of constants, executed by several drivers in parallel. Each driver is a
    process with its own cluster; a thread of this process sends commands to it.
    """

    def __init__(
        self, bound: Binding, release: Release, constants: Constants, workers: int, coverage: LineCoverage | None = None
    ) -> None:
        self.bound, self.release, self.constants = bound, release, constants
        self.workers, self.coverage = workers, coverage
        self.machine = bound.machine
        self.outcome = HistoriesOutcome()
        self._numbers = {action.name: number for number, action in enumerate(self.machine.actions)}
        self._lock = threading.Lock()
        self._failed: BaseException | None = None

    def execute(self, histories: Iterable[Iterable[Transition]], seconds: float | None = None) -> HistoriesOutcome:
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
        short = shorten(execution, initial, found)
        with self._lock:
            self.outcome.differences[found.kind] = short


def fewest(found: Found, steps_of: Callable[[Found], Sequence[Any]], attempt: Callable[[Any], Found | None]) -> Found:
    """Return the finding without unnecessary steps; the last step is kept. `attempt` executes steps and returns the
    finding, or None if the result differs.
    """
    place, kept = 0, 0
    while kept < (last := len(steps_of(found)) - 1):
        steps, place = steps_of(found), place % last
        again = attempt((*steps[:place], *steps[place + 1 :]))
        found, place, kept = (found, place + 1, kept + 1) if again is None else (again, place, 0)
    return found


def shorten(execution: Execution, initial: Key, found: Difference) -> Difference:
    def attempt(steps: tuple[Step, ...]) -> Difference | None:
        history = transitions(execution.plain, initial, steps)
        again = execution.run(initial, history) if history is not None else None
        return again if again is not None and again.kind == found.kind else None

    return fewest(found, lambda item: item.steps, attempt)


def transitions(plain: Interpreter, initial: Key, steps: Iterable[Step]) -> list[Transition] | None:
    at, found = initial, []
    with suppress(DisabledError, DomainError):
        for step in steps:
            found.append(plain.apply(at, step))
            at = found[-1].after
        return found
    return None


@dataclass
class HistoriesReport:
    """The result of a run. `transitions` is the number of transitions in the state graph, or 0 for random walks."""

    bound: Binding
    release: Release
    constants: Constants
    outcome: HistoriesOutcome
    states: int = 0
    transitions: int = 0
    finding: str = ""
    traces: dict[tuple[str, str], str] = field(default_factory=dict)

    @property
    def title(self) -> str:
        return f"{self.bound.protocol} on Kafka {self.release.version}"

    @property
    def verdict(self) -> str:
        if self.outcome.times:
            return "differs"
        return "conforms" if self.outcome.complete and self.outcome.tally.compared else "undetermined"

    def summary(self) -> Iterator[str]:
        outcome, tally = self.outcome, self.outcome.tally
        if self.transitions:
            states = many(self.states, "state")
            yield f"{len(outcome.taken):,} of {self.transitions:,} transitions between {states} executed"
        yield (
            f"{tally.steps:,} steps in {count_histories(tally.histories)}, {tally.compared:,} states compared in "
            f"{seconds(round(1000 * outcome.seconds))}: {outcome.rate:,.0f} steps per second"
        )
        if not self.transitions:
            yield f"{len(outcome.taken):,} distinct pairs of a state and a step"
        for item in outcome.lines:
            yield f"{item.name}: {item.executed:,} of {item.lines:,} lines executed"
        if self.finding:
            yield self.finding
        for why, count in sorted(tally.aside.items()):
            yield f"{count_histories(count)} not completed: {why}"
        for kind, found in outcome.differences.items():
            yield f"after {found.action} ({count_histories(outcome.times[kind])})"
            for name, model, kafka in found.rows[:SHOWN]:
                yield f"  {name}: {model} in the model, {kafka} in Kafka"
            if kind in self.traces:
                yield f"  {self.traces[kind]}"

    def data(self) -> dict[str, Any]:
        tally = self.outcome.tally
        return {
            "format": FORMAT,
            "protocol": self.bound.protocol,
            "kafka": self.release.version,
            "model": self.release.model,
            "constants": self.constants.shown,
            "states": self.states,
            "transitions": self.transitions,
            "executed": len(self.outcome.taken),
            "histories": tally.histories,
            "steps": tally.steps,
            "compared": tally.compared,
            "settled": tally.settled,
            "actions": [{"name": name, "executed": count} for name, count in sorted(tally.actions.items())],
            "not_compared": [
                *({"field": name, "why": why} for name, why in self.bound.not_compared.items()),
                *({"action": name.replace("_", "-"), "why": why} for name, why in self.bound.not_driven.items()),
            ],
            "limits": list(self.bound.limits),
            "set_aside": [{"why": why, "histories": count} for why, count in sorted(tally.aside.items())],
            "differences": [
                {
                    "trace": self.traces.get(kind),
                    "action": found.action,
                    "field": found.rows[0][0],
                    "model": found.rows[0][1],
                    "kafka": found.rows[0][2],
                    "steps": len(found.steps),
                    "histories": self.outcome.times[kind],
                }
                for kind, found in self.outcome.differences.items()
            ],
            "finding": self.finding,
            "lines": [
                {"class": item.name, "executed_lines": item.executed, "lines_in_all": item.lines}
                for item in self.outcome.lines
            ],
            "seconds": round(self.outcome.seconds, 3),
            "steps_per_second": round(self.outcome.rate, 1),
            "verdict": self.verdict,
        }
