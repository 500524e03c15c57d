"""The result of random walks as a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.api.asking.quantities import counted, show_rate, show_seconds
from fencepost.cli.views.console import heading, print_lines, print_rows, styled, verdict_text
from fencepost.cli.views.report import INDENT, print_numbers
from fencepost.cli.views.traces import print_trace
from fencepost.explorers.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fencepost.api.answers.counterexample import Counterexample
    from fencepost.api.calls.shrink import ShrinkResult
    from fencepost.api.calls.simulate import SimulateResult
    from rich.console import Console
    from rich.text import Text


def print_sample(console: Console, sample: SimulateResult, *, coverage: bool, command: Callable[[str], str]) -> None:
    """Print the answer to one simulation; `command(property)` shows the trace of a violation that is not shown here."""
    from rich.text import Text

    console.print(Text.assemble(heading(sample.protocol), "  ", verdict_text(sample.verdict)), soft_wrap=True)
    print_lines(console, styled(sample.question.protocol.machine.sentence, "dim"))
    for note in sample.notes:
        print_lines(console, f"Note: {note}")
    if not sample.complete:
        print_lines(console, styled(f"Partial: {sample.why_stopped}.", "yellow"))
    console.print()
    _properties(console, sample)
    console.print()
    print_rows(console, [(styled(name, "dim"), text) for name, text in _reach(sample)])
    if coverage:
        rows = [(styled("fired", "bold"), styled("action", "bold"))]
        rows += [(Text(f"{fired:,}"), styled(name, "" if fired else "yellow")) for name, fired in sample.fired.items()]
        print_numbers(console, rows)
    if sample.trace is not None:
        _trace(console, sample, sample.trace)
        _others(console, sample, command)


def _properties(console: Console, sample: SimulateResult) -> None:
    """Print a row for each property: how many walks decided it, and the shortest way there."""
    from rich.text import Text

    sentences = {item.name: item.sentence for item in sample.question.properties}
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


def _reach(sample: SimulateResult) -> Iterator[tuple[str, Text | str]]:
    """Yield the lines that say how far the walks went: (label, text)."""
    plan = sample.plan
    if sample.question.version:
        yield "version", sample.question.version
    yield "constants", " ".join(f"{name}={str(value).lower()}" for name, value in sample.constants.items()) or "none"
    yield "walks", f"{sample.walks:,} of {plan.walks:,}, of at most {counted(plan.depth, 'step')}, seed {plan.seed}"
    if plan.weights:
        yield "weights", " ".join(f"{name}={weight}" for name, weight in plan.weights.items()) + ", all others 1"
    weighted = " that has a weight" if 0 in plan.weights.values() else ""
    ended = f"; {counted(sample.stuck, 'walk')} ended where no action{weighted} can happen" if sample.stuck else ""
    yield "steps", f"{sample.steps:,}, the longest walk {counted(sample.longest, 'step')}{ended}"
    logs = f", logs of up to {counted(sample.deepest_log, 'record')}" if sample.deepest_log else ""
    faults = f", up to {sample.most_faults} of the budgets spent" if sample.most_faults else ""
    yield "states", f"about {sample.distinct:,} different ones{faults}{logs}"
    rate = show_rate(sample.steps, sample.seconds, "steps")
    yield "time", f"{show_seconds(sample.seconds)} with {counted(sample.workers, 'worker')}: {rate}"
    dead = [name for name, fired in sample.fired.items() if not fired]
    if dead:
        yield "never fired", styled(", ".join(dead), "yellow")


def _trace(console: Console, sample: SimulateResult, trace: Counterexample) -> None:
    """Print the trace that was found, and how it was shortened."""
    console.print()
    if sample.shrunk is None:
        print_trace(console, trace.trace, trace.replayed.path)
    else:
        print_shrunk(console, sample.shrunk)


def print_shrunk(console: Console, shrunk: ShrinkResult) -> None:
    """Print a shortened trace, and what became of it."""
    print_trace(console, shrunk.trace, shrunk.path)
    console.print()
    print_lines(console, styled(shrunk.summary, "dim"))


def _others(console: Console, sample: SimulateResult, command: Callable[[str], str]) -> None:
    """Print for each violation but the one that is shown the command that shows it."""
    waiting = [item for item in sample.properties if item.path and item.result.verdict is Verdict.VIOLATED]
    waiting = [item for item in waiting if item is not sample.shown]
    if waiting:
        console.print()
    for item in waiting:
        name, length = item.result.name, item.path.length if item.path else 0
        console.print(
            f"{name} is violated: {counted(length, 'state')} in walk {item.walk}: `{command(name)}` shows it",
            soft_wrap=True,
        )
