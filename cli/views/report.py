"""The page that answers one check: the verdict, each property, how far the search reached, and every violation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.api.quantities import counted, show_rate, show_seconds, show_size
from fencepost.api.targets import spelt
from fencepost.api.traces import finding, first_violation, make_trace
from fencepost.cli.views.console import heading, print_hanging, print_lines, print_rows, styled, verdict_text
from fencepost.cli.views.traces import print_trace
from fencepost.explorers.verdict import Path, Verdict
from fencepost.model.language.actions import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fencepost.api.engines import Question
    from fencepost.explorers.verdict import Path, PropertyResult, Result
    from fencepost.invariants.protocols import Protocol
    from rich.console import Console
    from rich.text import Text

INDENT = 2
KINDS = {
    Kind.ALWAYS: "must be so in every reachable state",
    Kind.STEP: "must be so in every step from one state to the next",
    Kind.SOMETIMES: "a witness, which some reachable state or step must show",
    Kind.LEADS_TO: "must come in the end, in every fair behaviour",
    Kind.AT_MOST: "must come at a limited cost, in every fair behaviour",
}
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
    expected: Verdict | None = None,
    command: Callable[[str], str] | None = None,
) -> None:
    """Print the answer to one check; `command(property)` shows a trace, and leaves room for the shortest one here."""
    print_verdict(console, question, result, expected)
    print_properties(console, question, result)
    print_reach(console, result, version)
    if coverage:
        print_coverage(console, result)
    print_traces(console, found, result, version=version, normalize=normalize, command=command)


def print_traces(
    console: Console,
    found: Protocol,
    result: Result,
    *,
    version: str,
    normalize: bool,
    command: Callable[[str], str] | None = None,
) -> None:
    """Print the way to each violation, one way only once, and the way to the deadlock if it was asked for.

    With `command` only the shortest is printed in full, and the others as the command that shows them.
    """
    shown: dict[Path, str] = {}
    shortest = first_violation(result)
    ways = [(item.name, item.path) for item in result.properties if item.verdict is Verdict.VIOLATED]
    if command is None:
        ways += [(item.name, item.path) for item in result.properties if is_worst_case(item)]
    if shortest is not None:
        ways.sort(key=lambda way: way[0] != shortest.name)
    brief = elsewhere = False
    for name, path in [*ways, (None, result.deadlock)]:
        if path is None:
            continue
        what = _shows(result, name)
        if command is not None and name and shown and path not in shown:
            if not brief:
                console.print()
            brief = elsewhere = True
            line = f"{what}: {_size(path)}: `{command(name)}` shows it"
            console.print(line, soft_wrap=True)
            continue
        if not (brief and path in shown):
            console.print()
        title = f"{what}: {_size(path)}"
        trace = make_trace(found, result, name, version=version, normalize=normalize, title=title, told=False)
        if path in shown:
            brief = command is not None
            console.print(heading(f"{finding(trace, path)}: by the same steps as {shown[path]}"), soft_wrap=True)
            continue
        shown[path] = name or "the deadlock"
        print_trace(console, trace, path)
    if elsewhere:
        print_lines(console, styled("`--all-traces` prints all of them.", "dim"))


def is_worst_case(item: PropertyResult) -> bool:
    """Say whether a property holds and has a trace of the most that it allows."""
    return item.kind is Kind.AT_MOST and item.verdict is Verdict.HOLDS and item.path is not None


def _shows(result: Result, name: str | None) -> str:
    """Return what the trace of a property shows, or that of a deadlock."""
    if name is None:
        return "no action is enabled"
    item = result.of(name)
    return f"the worst case of {name}" if is_worst_case(item) else f"{name} is violated"


def _size(path: Path) -> str:
    if path.loop is None:
        return f"the shortest trace has {counted(path.length, 'state')}"
    end = "at whose end everything may stop" if path.loop == path.length - 1 else f"a loop from the {_nth(path.loop + 1)} on"
    return f"a trace of {counted(path.length, 'state')}, {end}"


def _nth(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th") if number % 100 not in (11, 12, 13) else "th"
    return f"{number}{ending}"


def print_verdict(console: Console, question: Question, result: Result, expected: Verdict | None = None) -> None:
    """Print the verdict, what it is about, and what a reader of it must know."""
    from rich.text import Text

    doubt = ""
    if result.omission and result.verdict in (Verdict.HOLDS, Verdict.UNREACHED):
        doubt = f", up to fingerprint collisions (at most {result.omission:.1e})"
    console.print(Text.assemble(heading(question.name), "  ", verdict_text(result.verdict), doubt), soft_wrap=True)
    print_lines(console, styled(question.machine.sentence, "dim"))
    for note in result.notes:
        print_lines(console, f"Note: {note}")
    if expected is not None and result.verdict is not expected:
        print_lines(console, styled(f"Expected {expected}, found {result.verdict}.", "bold red"))
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
    shared = _shared_fairness(question)
    for item in result.properties:
        head = Text.assemble(f"{item.name:{width}}  ", (f"{item.kind!s:9}  ", "dim"))
        print_hanging(console, head, Text.assemble(*_found(item, exact=not result.omission)))
        if sentences[item.name]:
            print_lines(console, styled(sentences[item.name], "dim"), indent=INDENT)
        for text in _behaviour(question, item, shared):
            print_lines(console, styled(text, "dim"), indent=INDENT)
    kinds = {item.kind for item in result.properties}
    told = [f"{kind}: {meaning}" for kind, meaning in KINDS.items() if kind in kinds]
    if told:
        console.print()
        print_lines(console, styled("; ".join(told) + ".", "dim"))
    if shared:
        print_lines(console, styled(f"fair in all of them: {shared}.", "dim"))


def _shared_fairness(question: Question) -> str:
    """Return what is fair in every property of whole behaviours, if there are several and they agree."""
    told = [item.eventual.fairness_told for item in question.properties if item.eventual is not None]
    return told[0] if len(told) > 1 and len(set(told)) == 1 else ""


def _behaviour(question: Question, item: PropertyResult, shared: str) -> Iterator[str]:
    """Yield what a reader must know of a property of whole behaviours; what is fair, unless it is `shared` by all."""
    prop = next(prop for prop in question.properties if prop.name == item.name)
    if prop.eventual is None:
        return
    if not shared:
        yield f"fairness: {prop.eventual.fairness_told or 'none, so the system may stop at any time'}"
    if prop.eventual.without:
        yield f"without: {prop.eventual.without_told}"
    if item.args and item.path is not None:
        yield f"for: {prop.eventual.shown(item.args)}"
    if item.note:
        yield f"Note: {item.note}"


def _cost(item: PropertyResult) -> str:
    """Return what an at-most property found, as a clause."""
    cost = item.cost
    if cost is None:
        return ""
    bound = "" if cost.bound is None else f" (bound {cost.bound:,})"
    least = "" if cost.best is None else f", at least {cost.best:,} {cost.unit}".rstrip()
    return f": worst {cost.told}{bound}{least}"


def _found(item: PropertyResult, *, exact: bool) -> tuple[Text, str]:
    """Return the verdict and the length of the shortest trace; a witness is said to be reached."""
    if item.path is None:
        doubtful = not exact and item.verdict in (Verdict.HOLDS, Verdict.UNREACHED)
        return verdict_text(item.verdict), ", up to fingerprint collisions" if doubtful else _cost(item)
    states = f": shortest trace {counted(item.path.length, 'state')}"
    if item.kind.over_behaviours:
        return verdict_text(item.verdict), f"{_cost(item)}: a trace of {counted(item.path.length, 'state')}"
    if item.kind is Kind.SOMETIMES:
        return styled("reached", "bold green"), states
    return verdict_text(item.verdict), states


def print_reach(console: Console, result: Result, version: str) -> None:
    """Print under which constants the verdict was found, how far the search went and what it took."""
    console.print()
    print_rows(console, [(styled(name, "dim"), text) for name, text in reach(result, version)])


def reach(result: Result, version: str) -> Iterator[tuple[str, Text | str]]:
    """Yield the lines that say how far a verdict reaches: (label, text)."""
    if version:
        yield "version", version
    yield "constants", " ".join(f"{name}={str(spelt(value)).lower()}" for name, value in result.constants.items()) or "none"
    visited = "no state was left to visit" if result.omission else "every reachable state was visited"
    yield "search", f"complete: {visited}" if result.complete else f"partial: {result.why_stopped}"
    if not result.complete and not result.distinct:
        return
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
        yield "ends", f"{counted(result.deadlocks, 'state')} without a successor, normal where budgets are used up{hint}"
    dead = [name for name, fired in result.fired.items() if not fired]
    if dead:
        yield "never fired", styled(", ".join(dead) + ("" if result.complete else " (so far)"), "yellow")


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
