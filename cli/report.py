"""The page that answers one check: the verdict, each property, how far the search reached, and every violation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.cli.console import counted, heading, print_lines, styled, verdict_text
from fencepost.cli.quantities import show_rate, show_seconds, show_size
from fencepost.cli.traces import make_trace, show_trace
from fencepost.explorers.verdict import Verdict
from fencepost.model.language.actions import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console
    from rich.text import Text

    from fencepost.cli.engines import Question
    from fencepost.explorers.verdict import PropertyResult, Result
    from fencepost.invariants.protocols import Protocol

INDENT = 2
LABEL = 13


def print_page(  # noqa: PLR0913 (what a page shows)
    console: Console,
    found: Protocol,
    question: Question,
    result: Result,
    *,
    version: str = "",
    normalize: bool = True,
    coverage: bool = False,
) -> None:
    """Print the answer to one check."""
    print_verdict(console, question, result)
    print_properties(console, question, result)
    print_reach(console, result, version)
    if coverage:
        print_coverage(console, result)
    for item in result.properties:
        if item.verdict is Verdict.VIOLATED and item.path is not None:
            console.print()
            console.print(heading(f"{item.name} is violated: the shortest trace has {counted(item.path.length, 'state')}"))
            trace = make_trace(found, result, item.name, version=version, normalize=normalize)
            console.print(show_trace(trace, item.path).rstrip(), soft_wrap=True)
    if result.deadlock is not None:
        console.print()
        console.print(heading(f"No action is enabled after {counted(result.deadlock.length, 'state')}"))
        trace = make_trace(found, result, None, version=version, normalize=normalize)
        console.print(show_trace(trace, result.deadlock).rstrip(), soft_wrap=True)


def print_verdict(console: Console, question: Question, result: Result) -> None:
    """Print the verdict, and what it is about."""
    from rich.text import Text

    console.print(Text.assemble(heading(question.name), "  ", verdict_text(result.verdict)))
    print_lines(console, styled(question.machine.sentence, "dim"))
    if not result.complete:
        print_lines(
            console,
            styled(f"Partial: {result.why_stopped}. What lies beyond was not visited, so nothing is said to hold.", "yellow"),
        )


def print_properties(console: Console, question: Question, result: Result) -> None:
    """Print a row for each property, and below it the sentence that it stands for."""
    from rich.text import Text

    sentences = {item.name: item.sentence for item in question.properties}
    width = max((len(item.name) for item in result.properties), default=0)
    console.print()
    if not result.properties:
        print_lines(console, "No property was asked for: the states were counted.")
    for item in result.properties:
        line = Text.assemble(
            f"{item.name:{width}}  ", (f"{item.kind!s:9}  ", "dim"), verdict_text(item.verdict), _length(item)
        )
        print_lines(console, line)
        print_lines(console, styled(sentences[item.name], "dim"), indent=INDENT)


def _length(item: PropertyResult) -> str:
    if item.path is None:
        return ""
    return f"  {'reached' if item.kind is Kind.SOMETIMES else 'trace'} of {counted(item.path.length, 'state')}".replace(
        "reached of", "reached in"
    )


def print_reach(console: Console, result: Result, version: str) -> None:
    """Print under which constants the verdict was found, how far the search went and what it took."""
    from rich.table import Table

    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", width=LABEL)
    table.add_column(overflow="fold")
    for name, text in reach(result, version):
        table.add_row(name, text)
    console.print()
    console.print(table)


def reach(result: Result, version: str) -> Iterator[tuple[str, Text | str]]:
    """Yield the lines that say how far a verdict reaches: (label, text)."""
    if version:
        yield "version", version
    yield "constants", " ".join(f"{name}={str(value).lower()}" for name, value in result.constants.items()) or "none"
    yield "search", "complete: every reachable state was visited" if result.complete else f"partial: {result.why_stopped}"
    yield "states", f"{result.distinct:,} distinct, {result.generated:,} generated, depth {result.depth}"
    workers = f" with {counted(result.workers, 'worker')}" if result.workers else ""
    yield (
        "time",
        f"{show_seconds(result.seconds)}{workers} ({result.engine} engine): {show_rate(result.distinct, result.seconds)} states, "
        f"{show_rate(result.generated, result.seconds)} steps",
    )
    yield "memory", _memory(result)
    if result.omission:
        yield "compact", f"states are kept as 64-bit fingerprints: the probability that one was omitted is at most {result.omission:.1e}"
    if result.deadlocks:
        yield "deadlocks", f"{counted(result.deadlocks, 'state')} without a successor"
    dead = [name for name, fired in result.fired.items() if not fired]
    if dead:
        yield "never fired", styled(", ".join(dead) + ("" if result.complete else " (so far)"), "yellow")
    for note in result.notes:
        yield "note", note


def _memory(result: Result) -> str:
    parts = []
    if result.store_bytes:
        parts.append(f"{show_size(result.store_bytes)} of states ({result.store_bytes / max(1, result.distinct):.0f} bytes each)")
    return ", ".join([*parts, f"{show_size(result.peak_memory_bytes)} at most in all"])


def print_coverage(console: Console, result: Result) -> None:
    """Print how often each action fired, and how often each of its guards was the first to refuse."""
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("action and its guards", overflow="fold")
    table.add_column("fired", justify="right", no_wrap=True)
    table.add_column("refused", justify="right", no_wrap=True)
    for name, fired in result.fired.items():
        table.add_row(styled(name, "bold" if fired else "bold yellow"), f"{fired:,}", "")
        for guard in result.guards:
            if guard.action == name:
                style = "dim" if guard.refused else "yellow"
                table.add_row(styled(f"  {guard.condition}", style), "", f"{guard.refused:,}")
    console.print()
    console.print(table)
    idle = [guard for guard in result.guards if not guard.refused]
    if idle:
        print_lines(
            console,
            styled(f"{counted(len(idle), 'guard')} refused nothing that the guards before it let through: idle under these constants.", "yellow"),
        )
