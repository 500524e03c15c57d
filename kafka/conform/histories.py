"""What `fencepost conform` does: histories from the state graph, from walks and from traces, and the result as data."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fencepost.counterexamples.reader import read
from fencepost.counterexamples.replay import write
from fencepost.counterexamples.trace import Trace
from fencepost.invariants.protocols import protocol as named_protocol
from fencepost.kafka.conform.noticed import Noticed
from fencepost.kafka.conform.refusals import try_refusals
from fencepost.kafka.conform.report import Report
from fencepost.kafka.conform.run import Run, transitions
from fencepost.kafka.conform.seeing import Seeing
from fencepost.kafka.driver.cover import Cover, state_graph
from fencepost.kafka.driver.lines import Coverage
from fencepost.kafka.driver.walking import walks
from fencepost.model.language.actions import Kind
from fencepost.model.language.errors import UsageError
from fencepost.model.language.interpreter import Interpreter

if TYPE_CHECKING:
    from collections.abc import Callable

    from fencepost.kafka.conform.binding import Binding
    from fencepost.kafka.driver.execute import Difference
    from fencepost.kafka.driver.releases import Release
    from fencepost.model.language.constants import Constants

MOST_STATES = 50_000
"""The plain semantics explores the state graph; a larger one takes it too long."""
DEPTH = 40
"""Steps of a walk at most, if nothing else is said."""


@dataclass(frozen=True)
class Request:
    """Which histories are executed: a path cover of the state graph, or `walks` of the model; for at most `seconds`."""

    constants: Constants
    walks: int = 0
    depth: int = DEPTH
    seed: int = 1
    seconds: float | None = None
    workers: int = 2
    lines: bool = False
    """Whether the lines of Kafka's classes that are executed are counted."""


def conform(bound: Binding, release: Release, request: Request, tell: Callable[[str], None]) -> Report:
    """Execute histories of the model on Kafka's classes and compare every state."""
    bound.make_sure_drivable(release.model, request.constants)
    with tempfile.TemporaryDirectory() as folder:
        coverage = Coverage(release, Path(folder)) if request.lines else None
        run = Run(bound, release, request.constants, request.workers, coverage)
        return _executed(run, request, tell)


def _executed(run: Run, request: Request, tell: Callable[[str], None]) -> Report:
    """Execute walks, or a path cover of the state graph."""
    plain = Interpreter(run.machine, request.constants)
    if request.walks:
        tell(f"{request.walks:,} walks of up to {request.depth} steps")
        outcome = run.execute(walks(plain, request.walks, request.depth, request.seed), request.seconds)
        return Report(run.bound, run.release, request.constants, outcome)
    tell("the state graph is explored")
    graph = state_graph(plain, MOST_STATES)
    if graph is None:
        raise UsageError(
            f"the state graph has more than {MOST_STATES:,} states under these constants, too many to cover: lower a constant, "
            "or execute random walks with --walks."
        )
    tell(f"walks that take all {graph.number_of_edges():,} transitions between {len(graph):,} states")
    outcome = run.execute(Cover(graph).walks(), request.seconds)
    return Report(run.bound, run.release, request.constants, outcome, len(graph), graph.number_of_edges())


def conform_trace(bound: Binding, release: Release, path: Path) -> Report:
    """Execute the history of a trace file."""
    trace = read(path).trace
    if trace.protocol.name != bound.protocol:
        raise UsageError(
            f"{path} is of protocol {trace.protocol.name!r}, and {bound.protocol!r} was asked for: name the trace's."
        )
    constants = bound.as_built(release.model, trace.constants)
    bound.make_sure_drivable(release.model, constants)
    if trace.removed is not None or not trace.normalize:
        raise UsageError(
            f"{path} is a history of another model (without a guard, or without `normalize`): take one of the whole model."
        )
    plain = Interpreter(trace.protocol.machine, constants)
    initial = plain.initial_states()[0]
    history = transitions(plain, initial, trace.steps)
    if history is None:
        raise UsageError(
            f"{path} has a step that the model refuses with Kafka's own rules, so Kafka is not expected to take it. "
            "Take a trace that was found with the constants of a version."
        )
    outcome = Run(bound, release, constants, 1).execute([history])
    prop, states = trace.prop, [initial, *(item.after for item in history)]
    happens = prop is not None and bool(history) and not outcome.times and not outcome.tally.aside
    shown = ""
    if happens and prop is not None and prop.kind is Kind.ALWAYS:
        shown = f"{prop.name} {'holds' if plain.holds(prop, states[-1]) else 'is violated'} at the end"
    elif happens and prop is not None and prop.kind is Kind.STEP:
        shown = (
            f"{prop.name} {'holds' if plain.holds_step(prop, states[-2], history[-1]) else 'is violated'} at the end"
        )
    return Report(bound, release, constants, outcome, finding=shown)


def conform_tries(
    bound: Binding,
    release: Release,
    version: str,
    refusals: int,
    seed: int,
    tell: Callable[[str], None],
    *,
    ablate: bool,
) -> Noticed:
    """Try what checks and rules refuse on Kafka's classes: those of each variant of the model, and `refusals` that are drawn."""
    machine = bound.machine
    base = bound.as_built(version, machine.set_constants(dict(machine.version(version).values)))
    bound.make_sure_drivable(release.model, base)
    report = Noticed(bound, release)
    began = time.monotonic()
    if ablate:
        report.rows = Seeing(bound, release, base, tell).look()
    if refusals:
        report.refusals = try_refusals(bound, release, base, refusals, seed, tell)
    report.seconds = time.monotonic() - began
    return report


def write_differences(report: Report, folder: Path) -> None:
    """Write each difference as a trace: its history replays on the model, and again on Kafka by `fencepost conform --trace`."""
    for number, (kind, found) in enumerate(sorted(report.outcome.differences.items()), 1):
        path = folder / f"{report.bound.protocol}-{report.release.version}-difference-{number}.trace"
        write(path, trace_of(report, found))
        report.traces[kind] = str(path)


def trace_of(report: Report, found: Difference) -> Trace:
    """Return a difference as a trace."""
    told = "; ".join(f"{name} is {kafka} in Kafka and {model} in the model" for name, model, kafka in found.rows)
    return Trace(
        title=f"Kafka {report.release.version} departs from the model after {found.action}",
        protocol=named_protocol(report.bound.protocol),
        constants=report.constants,
        prop=None,
        steps=found.steps,
        version=report.release.model,
        why=f"After the last step {told}.",
        source="fencepost conform",
        kafka=report.release.version,
    )
