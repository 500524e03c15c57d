"""The page and the JSON that tell what random walks found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fencepost.api.quantities import counted, show_rate, show_seconds
from fencepost.api.targets import spelt
from fencepost.cli.views.console import heading, print_lines, print_rows, styled, verdict_text
from fencepost.cli.views.report import INDENT, print_numbers
from fencepost.explorers.verdict import Verdict
from fencepost.model.language.actions import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from fencepost.api.engines import Question
    from fencepost.counterexamples.shrink import Shrunk
    from fencepost.counterexamples.trace import Trace
    from fencepost.explorers.walk.sample import Sample, Sampled
    from rich.console import Console
    from rich.text import Text

FORMAT = 1


@dataclass(frozen=True)
class Finding:
    """The violation that is shown: what walks say of it, its trace, and how that was shortened, if it was."""

    sampled: Sampled
    trace: Trace
    shrunk: Shrunk | None


def print_sample(
    console: Console,
    question: Question,
    sample: Sample,
    finding: Finding | None,
    *,
    version: str,
    coverage: bool,
    command: Callable[[str], str],
) -> None:
    """Print the answer to one simulation; `command(property)` shows the trace of a violation that is not shown here."""
    from rich.text import Text

    console.print(Text.assemble(heading(question.name), "  ", verdict_text(sample.verdict)), soft_wrap=True)
    print_lines(console, styled(question.machine.sentence, "dim"))
    for note in sample.notes:
        print_lines(console, f"Note: {note}")
    if not sample.complete:
        print_lines(console, styled(f"Partial: {sample.why_stopped}.", "yellow"))
    console.print()
    _properties(console, question, sample)
    console.print()
    print_rows(console, [(styled(name, "dim"), text) for name, text in _reach(sample, version)])
    if coverage:
        rows = [(styled("fired", "bold"), styled("action", "bold"))]
        rows += [(Text(f"{fired:,}"), styled(name, "" if fired else "yellow")) for name, fired in sample.fired.items()]
        print_numbers(console, rows)
    if finding is not None:
        _trace(console, finding)
        _others(console, sample, finding, command)


def _properties(console: Console, question: Question, sample: Sample) -> None:
    """Print a row for each property: how many walks decided it, and the shortest way there."""
    from rich.text import Text

    sentences = {item.name: item.sentence for item in question.properties}
    width = max((len(item.result.name) for item in sample.properties), default=0)
    for item in sample.properties:
        result = item.result
        verdict = styled("reached", "bold green") if result.verdict is Verdict.HOLDS else verdict_text(result.verdict)
        found = f" in {counted(sample.walks, 'walk')}"
        if item.path is not None:
            found = f" in {item.walks:,} of {sample.walks:,} walks: {counted(item.path.length, 'state')} in walk {item.walk}"
        print_lines(console, Text.assemble(f"{result.name:{width}}  ", (f"{result.kind!s:9}  ", "dim"), verdict, found))
        if sentences[result.name]:
            print_lines(console, styled(sentences[result.name], "dim"), indent=INDENT)


def _reach(sample: Sample, version: str) -> Iterator[tuple[str, Text | str]]:
    """Yield the lines that say how far the walks went: (label, text)."""
    plan = sample.plan
    if version:
        yield "version", version
    yield "constants", " ".join(f"{name}={str(spelt(value)).lower()}" for name, value in sample.constants.items()) or "none"
    yield "walks", f"{sample.walks:,} of {plan.walks:,}, of at most {counted(plan.depth, 'step')}, seed {plan.seed}"
    if plan.weights:
        yield "weights", " ".join(f"{name}={weight}" for name, weight in plan.weights.items()) + ", all others 1"
    ended = f"; {counted(sample.stuck, 'walk')} ended where no action can happen" if sample.stuck else ""
    yield "steps", f"{sample.steps:,}, the longest walk {counted(sample.longest, 'step')}{ended}"
    logs = f", logs of up to {counted(sample.deepest_log, 'record')}" if sample.deepest_log else ""
    faults = f", up to {sample.most_faults} of the budgets spent" if sample.most_faults else ""
    yield "states", f"about {sample.distinct:,} different ones{faults}{logs}"
    rate = show_rate(sample.steps, sample.seconds, "steps")
    yield "time", f"{show_seconds(sample.seconds)} with {counted(sample.workers, 'worker')}: {rate}"
    dead = [name for name, fired in sample.fired.items() if not fired]
    if dead:
        yield "never fired", styled(", ".join(dead), "yellow")


def _trace(console: Console, finding: Finding) -> None:
    """Print the trace that was found, and how it was shortened."""
    from fencepost.cli.commands.shrink import print_shrunk
    from fencepost.cli.views.traces import print_trace
    from fencepost.counterexamples.replay import follow

    console.print()
    if finding.shrunk is None:
        print_trace(console, finding.trace, follow(finding.trace).path)
    else:
        print_shrunk(console, finding.shrunk)


def _others(console: Console, sample: Sample, finding: Finding, command: Callable[[str], str]) -> None:
    """Print for each violation but the one that is shown the command that shows it."""
    waiting = [item for item in sample.properties if item.path and item.result.verdict is Verdict.VIOLATED]
    waiting = [item for item in waiting if item.result.name != finding.sampled.result.name]
    if waiting:
        console.print()
    for item in waiting:
        name, length = item.result.name, item.path.length if item.path else 0
        console.print(
            f"{name} is violated: {counted(length, 'state')} in walk {item.walk}: `{command(name)}` shows it", soft_wrap=True
        )


def sample_data(sample: Sample, finding: Finding | None, expected: Verdict | None, file: Path | None) -> dict[str, Any]:
    """Return what walks found, for machines."""
    plan = sample.plan
    compared = {} if expected is None else {"expected": {"verdict": str(expected)}, "as_expected": sample.verdict is expected}
    return {
        "format": FORMAT,
        "protocol": sample.protocol,
        "constants": {name: spelt(value) for name, value in sample.constants.items()},
        "engine": "walk",
        "workers": sample.workers,
        "verdict": str(sample.verdict),
        "complete": sample.complete,
        "why_stopped": sample.why_stopped,
        "seed": plan.seed,
        "weights": dict(plan.weights),
        "walks": sample.walks,
        "depth": plan.depth,
        "steps": sample.steps,
        "longest": sample.longest,
        "stuck": sample.stuck,
        "distinct_estimate": sample.distinct,
        "budgets_spent": sample.most_faults,
        "deepest_log": sample.deepest_log,
        "seconds": round(sample.seconds, 4),
        "properties": [_property(item, finding, file) for item in sample.properties],
        "actions": [{"name": name, "fired": fired} for name, fired in sample.fired.items()],
        "notes": list(sample.notes),
        **compared,
    }


def _property(item: Sampled, finding: Finding | None, file: Path | None) -> dict[str, Any]:
    from fencepost.cli.commands.shrink import shrunk_data

    result = item.result
    found: dict[str, Any] = {"name": result.name, "kind": str(result.kind), "verdict": str(result.verdict)}
    if item.path is not None:
        found |= {"walks": item.walks, "walk": item.walk, "length": item.path.length}
    if finding is not None and finding.sampled is item and result.kind is not Kind.SOMETIMES:
        plain = finding.trace.interpreter()
        found |= {"trace": str(file) if file else None, "steps": [plain.show(step) for step in finding.trace.steps]}
        if finding.shrunk is not None:
            found["shrunk"] = shrunk_data(finding.shrunk)
    return found
