"""The page that answers one check: the verdict, each property, how far the search reached, and every violation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.cli.console import counted, heading, print_lines, print_rows, styled, verdict_text
from fencepost.cli.quantities import show_rate, show_seconds, show_size
from fencepost.cli.traces import make_trace, print_trace
from fencepost.explorers.verdict import Verdict
from fencepost.model.language.actions import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fencepost.cli.engines import Question
    from fencepost.explorers.verdict import Path, PropertyResult, Result
    from fencepost.invariants.protocols import Protocol
    from rich.console import Console
    from rich.text import Text

INDENT = 2
MANY = 10_000
"""States from which on the memory of each says something: before, it is what was reserved."""


def print_page(
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
    print_traces(console, found, result, version=version, normalize=normalize)


def print_traces(console: Console, found: Protocol, result: Result, *, version: str, normalize: bool) -> None:
    """Print the way to each violation, one way only once, and the way to the deadlock if it was asked for."""
    shown: dict[Path, str] = {}
    ways = [(item.name, item.path) for item in result.properties if item.verdict is Verdict.VIOLATED]
    for name, path in [*ways, (None, result.deadlock)]:
        if path is None:
            continue
        console.print()
        what = f"{name} is violated" if name else "no action is enabled"
        if path in shown:
            console.print(heading(f"{what}: by the same steps as {shown[path]}"))
            continue
        shown[path] = name or "the deadlock"
        title = f"{what}: the shortest trace has {counted(path.length, 'state')}"
        trace = make_trace(found, result, name, version=version, normalize=normalize, title=title, told=False)
        print_trace(console, trace, path)


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
        line = Text.assemble(f"{item.name:{width}}  ", (f"{item.kind!s:9}  ", "dim"), *_found(item))
        print_lines(console, line)
        print_lines(console, styled(sentences[item.name], "dim"), indent=INDENT)


def _found(item: PropertyResult) -> tuple[Text, str]:
    """Return the verdict and the length of the shortest trace; a witness is said to be reached."""
    if item.path is None:
        return verdict_text(item.verdict), ""
    states = counted(item.path.length, "state")
    if item.kind is Kind.SOMETIMES:
        return styled("reached", "bold green"), f" in {states}"
    return verdict_text(item.verdict), f" in {states}"


def print_reach(console: Console, result: Result, version: str) -> None:
    """Print under which constants the verdict was found, how far the search went and what it took."""
    console.print()
    print_rows(console, [(styled(name, "dim"), text) for name, text in reach(result, version)])


def reach(result: Result, version: str) -> Iterator[tuple[str, Text | str]]:
    """Yield the lines that say how far a verdict reaches: (label, text)."""
    if version:
        yield "version", version
    yield "constants", " ".join(f"{name}={str(value).lower()}" for name, value in result.constants.items()) or "none"
    yield "search", "complete: every reachable state was visited" if result.complete else f"partial: {result.why_stopped}"
    yield "states", f"{result.distinct:,} distinct, {result.generated:,} generated, depth {result.depth}"
    workers = f" with {counted(result.workers, 'worker')}" if result.workers else ""
    rates = f"{show_rate(result.distinct, result.seconds, 'states')}, {show_rate(result.generated, result.seconds, 'steps')}"
    yield "time", f"{show_seconds(result.seconds)}{workers} ({result.engine} engine): {rates}"
    yield "memory", _memory(result)
    if result.omission:
        yield (
            "compact",
            f"states are kept as 64-bit fingerprints: the probability that one was omitted is at most {result.omission:.1e}",
        )
    if result.deadlocks:
        hint = "" if result.deadlock else "; --deadlock shows the way to one"
        yield "deadlocks", f"{counted(result.deadlocks, 'state')} without a successor{hint}"
    dead = [name for name, fired in result.fired.items() if not fired]
    if dead:
        yield "never fired", styled(", ".join(dead) + ("" if result.complete else " (so far)"), "yellow")
    for note in result.notes:
        yield "note", note


def _memory(result: Result) -> str:
    parts = []
    if result.store_bytes:
        each = f" ({result.store_bytes / result.distinct:.0f} bytes each)" if result.distinct >= MANY else ""
        parts.append(f"{show_size(result.store_bytes)} of states{each}")
    return ", ".join([*parts, f"the whole process {show_size(result.peak_memory_bytes)} at most"])


def print_numbers(console: Console, rows: list[tuple[Text, Text]]) -> None:
    """Print rows of a number, aligned to the right, and what it counts."""
    width = max(number.cell_len for number, _ in rows)
    for number, _ in rows:
        number.pad_left(width - number.cell_len)
    console.print()
    print_rows(console, rows)


def print_coverage(console: Console, result: Result) -> None:
    """Print how often each action fired, and how often each of its guards was the first to refuse."""
    from rich.text import Text

    rows: list[tuple[Text, Text]] = [(styled("fired", "bold"), styled("action", "bold"))]
    for name, fired in result.fired.items():
        rows.append((Text(f"{fired:,}"), styled(name, "bold" if fired else "bold yellow")))
    print_numbers(console, rows)
    rows = [(styled("refused", "bold"), styled("guard, where those before it let pass", "bold"))]
    action = ""
    for guard in result.guards:
        if guard.action != action:
            action = guard.action
            rows.append((Text(""), styled(action, "bold")))
        rows.append((Text(f"{guard.refused:,}"), styled(guard.condition, "" if guard.refused else "yellow")))
    print_numbers(console, rows)
    idle = [guard for guard in result.guards if not guard.refused]
    if idle:
        print_lines(
            console,
            styled(
                f"{counted(len(idle), 'guard')} refused nothing that the guards before it let through: idle under these constants.",
                "yellow",
            ),
        )
