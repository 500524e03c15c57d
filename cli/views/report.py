"""The page about a check: the verdict, each property, the limits of the search, and every violation."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from typing import TYPE_CHECKING

from fencepost.api.answers.counterexample import Counterexample
from fencepost.api.answers.results import Base, CheckResult
from fencepost.api.asking.quantities import counted, in_values, show_rate, show_seconds, show_size
from fencepost.api.asking.targets import Question
from fencepost.api.topics.claims import Cuts, NeverMatters, raised_in, stable_claims
from fencepost.cli.views.console import (
    heading,
    joined,
    print_facts,
    print_hanging,
    print_lines,
    print_rows,
    print_trace,
    results,
    styled,
    verdict_style,
    verdict_text,
)
from fencepost.cli.views.screen import (
    gravest,
    headline,
    plain_notes,
    print_screen,
    print_steps,
    verdict_sentence,
    violated_beyond,
)
from fencepost.counterexamples.promises import FEW, kept
from fencepost.explorers.verdict import ProblemKind, PropertyResult, Result, Verdict
from fencepost.model.language.actions import Kind
from fencepost.model.language.interpreter import Path

if TYPE_CHECKING:
    from fencepost.api.answers.growing import Growth
    from rich.console import Console
    from rich.text import Text

INDENT = 2
KINDS = {
    Kind.ALWAYS: "must hold in every reachable state",
    Kind.STEP: "must hold in every step from one state to the next",
    Kind.SOMETIMES: "a witness, which some reachable state or step must satisfy",
    Kind.LEADS_TO: "must eventually happen in every fair behaviour",
    Kind.AT_MOST: "must happen at a limited cost in every fair behaviour",
}
PARENT, SPARK_PARENT = 4, 8
"""Size of a state's link to its predecessor, in bytes."""
MANY = 10_000
"""Minimum number of states for which memory per state is meaningful: smaller searches reserve unused memory."""


def print_page(
    console: Console,
    result: CheckResult,
    *,
    first: bool = True,
    verbose: int = 0,
    coverage: bool = False,
    all_traces: bool = False,
    quiet: bool = False,
    expected: Verdict | None = None,
) -> None:
    if not first:
        console.print()
        console.rule(result.protocol, style="dim")
    print_verdict(console, result, expected, verbose=bool(verbose))
    if verbose:
        print_properties(console, result, legend=not quiet)
        console.print()
        print_facts(console, (*reach(result), *_compiling(result, verbose=verbose > 1)))
    else:
        print_screen(console, result, hint=not quiet)
    if result.growth is not None:
        print_growth(console, result.growth, result.bounds_unshared)
    if coverage or verbose:
        print_coverage(console, result)
    if verbose or all_traces:
        shown: dict[Path, str] = {}
        for trace, what in _ways(result):
            path = trace.path
            console.print()
            if path in shown:
                console.print(heading(f"{trace.finding}: by the same steps as {shown[path]}"), soft_wrap=True)
                continue
            shown[path] = trace.prop or "the deadlock"
            print_trace(console, trace.titled(f"{what}: {_size(trace)}"), path)
    else:
        worst = gravest(result)
        if worst is not None:
            _print_steps(console, result.traces[worst.name], f"{worst.name} is violated")
        if result.end is not None:
            _print_steps(console, result.end, "no action is enabled")
    for problem in result.problems:
        if problem.kind is ProblemKind.MODEL_ERROR:
            print_lines(console, "", "The search ended because the model raised an error", style="bold red")
            print_lines(results(), problem.text)
    if result.violated:
        print_lines(console, "", verdict_sentence(result), style="bold red")
    elif larger := violated_beyond(result):
        print_lines(console, "", larger, style="bold red")


def _print_steps(console: Console, trace: Counterexample, what: str) -> None:
    print_steps(console, trace.texts, f"{what}: {_size(trace)}", loop=trace.loop, culprit=trace.culprit)
    for line in kept(trace.trace, trace.path)[:FEW] if trace.path.loop == trace.path.length - 1 else ():
        print_lines(console, f"fair: {line}", style="dim", indent=5)


def _ways(result: CheckResult) -> Iterator[tuple[Counterexample, str]]:
    violated = [item for item in result.properties if item in result.violated]
    for item in sorted(violated, key=lambda item: item is not gravest(result)):
        yield result.traces[item.name], f"{item.name} is violated"
    for item in result.properties:
        if item.is_worst_case:
            yield result.traces[item.name], f"the worst case of {item.name}"
    if result.end is not None:
        yield result.end, "no action is enabled"


def _size(trace: Counterexample) -> str:
    path, prop = trace.path, trace.trace.prop
    if path.loop is None:
        of_behaviours = prop is not None and prop.kind.over_behaviours
        return f"{'a trace of' if of_behaviours else 'the shortest trace has'} {counted(path.length, 'state')}"
    end = f"ending in a loop that starts at the {_nth(path.loop + 1)}"
    if path.loop == path.length - 1:
        end = "at the end of which the system may stop"
    return f"a trace of {counted(path.length, 'state')}, {end}"


def _nth(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th") if number % 100 not in (11, 12, 13) else "th"
    return f"{number}{ending}"


def print_verdict(console: Console, result: CheckResult, expected: Verdict | None, *, verbose: bool) -> None:
    style = verdict_style(Verdict.UNDETERMINED if result.base is Base.SAME else result.verdict)
    print_lines(console, headline(result), style=style)
    if verbose:
        print_lines(console, f"{result.protocol}: {result.question.protocol.machine.sentence}", style="dim")
    for note in result.notes if verbose else plain_notes(result):
        print_lines(console, f"Note: {note}")
    for item in result.warnings:
        print_lines(console, f"Warning: {item.text}", style="yellow")
    if expected is not None and result.verdict is not expected:
        print_lines(console, f"Expected {expected}, found {result.verdict}.", style="bold red")
    if not result.complete:
        rest = "Some reachable states may not have been visited, so no property is reported to hold."
        print_lines(console, f"Partial: {result.why_stopped}. {rest}", style="yellow")


def print_properties(console: Console, result: CheckResult, *, legend: bool = True) -> None:
    question = result.question
    sentences = {item.name: item.sentence for item in question.properties}
    width = max((len(item.name) for item in result.properties), default=0)
    console.print()
    if not result.properties:
        print_lines(console, "No property was named, so this search only counted states.")
    texts = [item.eventual.fairness_text for item in question.properties if item.eventual is not None]
    shared = texts[0] if len(texts) > 1 and len(set(texts)) == 1 else ""
    for item in result.properties:
        head = joined(f"{item.name:{width}}  ", (f"{item.kind!s:9}  ", "dim"))
        print_hanging(console, head, joined(*_found(item, exact=not result.omission)))
        if sentences[item.name]:
            print_lines(console, sentences[item.name], style="dim", indent=INDENT)
        for text in _behaviour(question, item, shared):
            print_lines(console, text, style="dim", indent=INDENT)
    kinds = {item.kind for item in result.properties}
    meanings = [f"{kind}: {meaning}" for kind, meaning in KINDS.items() if kind in kinds]
    if meanings and legend:
        print_lines(console, "", "; ".join(meanings) + ".", style="dim")
    if shared:
        print_lines(console, f"fairness of all these properties: {shared}.", style="dim")


def _behaviour(question: Question, item: PropertyResult, shared: str) -> Iterator[str]:
    prop = next(prop for prop in question.properties if prop.name == item.name)
    if prop.eventual is None:
        return
    if not shared:
        yield f"fairness: {prop.eventual.fairness_text or 'none, so the system may stop at any time'}"
    if prop.eventual.without:
        yield f"without: {prop.eventual.without_text}"
    if item.args and item.path is not None:
        yield f"for: {prop.eventual.shown(item.args)}"
    if item.note and not item.vacuous:
        yield f"Note: {item.note}"


def _cost(item: PropertyResult) -> str:
    cost = item.cost
    if cost is None:
        return ""
    bound = "" if cost.bound is None else f" (bound {cost.bound:,})"
    least = "" if cost.best is None else f", at least {cost.best:,} {cost.unit}".rstrip()
    return f": worst {cost.text}{bound}{least}"


def _found(item: PropertyResult, *, exact: bool) -> tuple[Text, str]:
    if item.path is None:
        doubtful = not exact and item.verdict in (Verdict.HOLDS, Verdict.UNREACHED)
        return verdict_text(item.verdict), ", up to fingerprint collisions" if doubtful else _cost(item)
    states = f": shortest trace {counted(item.path.length, 'state')}"
    if item.kind.over_behaviours:
        return verdict_text(item.verdict), f"{_cost(item)}: a trace of {counted(item.path.length, 'state')}"
    if item.kind is Kind.SOMETIMES:
        return styled("reached", "bold green"), states
    return verdict_text(item.verdict), states


def reach(result: CheckResult) -> Iterator[tuple[str, Text | str]]:
    if result.question.version:
        yield "version", result.question.version
    yield "constants", " ".join(f"{name}={str(value).lower()}" for name, value in result.constants.items()) or "none"
    visited = "no state was left to visit" if result.omission else "every reachable state was visited"
    yield "search", f"complete: {visited}" if result.complete else f"partial: {result.why_stopped}"
    if not result.complete and not result.distinct:
        return
    yield "states", f"{result.distinct:,} distinct, {result.generated:,} generated, depth {result.depth}"
    if result.symmetry:
        shown = f"{result.symmetry} are interchangeable: the model declares this, and the declaration was verified"
        yield "symmetry", f"{shown}: one canonical state represents all states that differ only by swapping them"
    if result.cross_check is not None:
        yield "cross-check", str(result.cross_check)
    workers = f" with {counted(result.workers, 'worker')}" if result.workers else ""
    found, seconds = show_rate(result.distinct, result.seconds, "states"), show_seconds(result.seconds)
    made = show_rate(result.generated, result.seconds, "steps")
    yield "time", f"{seconds}{workers} ({result.engine} engine): {found}, {made}"
    yield "memory", _memory(result)
    if result.omission:
        chance = f"a state was missed with probability at most {result.omission:.1e}"
        yield "compact", f"states stored as 64-bit fingerprints; {chance}"
    if result.deadlocks:
        hint = "" if result.deadlock else "; --deadlock shows the path to such a state"
        ends = f"{counted(result.deadlocks, 'state')} without a successor"
        yield "ends", f"{ends}, which is normal when budgets are used up{hint}"
    yield from _bounds(result)
    dead = [name for name, fired in result.fired.items() if not fired]
    if dead:
        yield "never fired", styled(", ".join(dead) + ("" if result.complete else " (so far)"), "yellow")


def _compiling(result: Result, *, verbose: bool) -> Iterator[tuple[str, str]]:
    for number, item in enumerate(result.compiled if verbose else ()):
        took = f"{show_seconds(item.seconds)}, with at most {show_size(item.memory)} in the compiling process"
        when = " while the search continued" if number else ""
        yield "compiled", f"{item.tier} code: " + ("read from the cache" if item.kept else f"in {took}{when}")


def _bounds(result: CheckResult) -> Iterator[tuple[str, Text | str]]:
    reached = [item for item in result.bounds if item.reached and item.value]
    off = [item for item in result.bounds if item.reached and not item.value]
    beyond = {item.constant: f"{item.constant}={item.value}" for item in result.bounds if not item.reached}
    if reached:
        yield "bounds reached", styled("; ".join(Cuts(item).sentence for item in reached), "yellow")
    if off:
        yield "switched off", f"{'; '.join(Cuts(item).sentence for item in off)}: steps beyond the bounds were left out"
    if beyond:
        words = f"{', '.join(beyond.values())}: so far"
        if result.complete:
            words = beyond_bounds(beyond, result.bounds_unshared)
        yield "not reached", words


def _memory(result: Result) -> str:
    parts = []
    if result.store_bytes:
        each = ""
        if result.distinct >= MANY:
            parent = SPARK_PARENT if result.engine == "spark" else PARENT
            each = f" ({result.store_bytes / result.distinct - parent:.1f} bytes each, plus {parent} for a link)"
        spilled = f", {show_size(result.spilled_bytes)} of it in files" if result.spilled_bytes else ""
        parts.append(f"{show_size(result.store_bytes)} of states{each}{spilled}")
    return ", ".join([*parts, f"at most {show_size(result.peak_memory_bytes)} for the whole process"])


def print_numbers(console: Console, rows: list[tuple[Text, Text]]) -> None:
    width = max(number.cell_len for number, _ in rows)
    for number, _ in rows:
        number.pad_left(width - number.cell_len)
    console.print()
    print_rows(console, rows)


def print_coverage(console: Console, result: Result) -> None:
    rows: list[tuple[Text, Text]] = [(styled("fired", "bold"), styled("action", "bold"))]
    for name, fired in result.fired.items():
        rows.append((styled(f"{fired:,}"), styled(name, "bold" if fired else "bold yellow")))
    print_numbers(console, rows)
    rows = [(styled("refused", "bold"), styled("guard (counted if earlier guards allow the step)", "bold"))]
    action = ""
    for guard in result.guards:
        if guard.action != action:
            action = guard.action
            rows.append((styled(""), styled(action, "bold")))
        rows.append((styled(f"{guard.refused:,}"), styled(guard.condition, "" if guard.refused else "yellow")))
    print_numbers(console, rows)
    idle = [guard for guard in result.guards if not guard.refused]
    if idle:
        words = "refused no step that earlier guards allowed (they are idle under these constants)."
        print_lines(console, f"{counted(len(idle), 'guard')} {words}", style="yellow")


def print_growth(console: Console, growth: Growth, unshared: Container[str]) -> None:
    """Print the result of raising the bounds. Raising an unreached bound in `unshared` adds no states."""
    print_lines(console, "", heading("bounds raised"))
    raised = raised_in(growth)
    for item in growth.steps:
        found = f"{item.distinct:,} states, {show_seconds(item.seconds)}"
        mark = "; " if item.why_stopped else ": "
        changed = f"{mark}different verdict on {', '.join(item.changed)}" if item.changed else ""
        begun = f"unfinished after {found}: " if item.distinct else ""
        end = f"{begun}{item.why_stopped}{changed}" if item.why_stopped else f"{found}{changed}"
        print_lines(console, f"{in_values({name: item.cell[name] for name in raised})}: {end}", indent=2)
    if not growth.steps:
        print_lines(console, "none", indent=2)
    print_facts(console, _lines(growth, unshared))


def _lines(growth: Growth, unshared: Container[str]) -> Iterator[tuple[str, Text | str]]:
    for claim in stable_claims(growth) if growth.bounds else ():
        yield "stable", claim.sentence
    raised = raised_in(growth)
    for item in growth.properties:
        change = item.changes
        if change is not None:
            same = f"{item.verdict} in {counted(len(item.cells), 'cell')}"
            other = in_values({name: change.cell[name] for name in raised})
            yield item.name, styled(f"{same}; {change.verdict} with {other}", "yellow")
    if growth.settled:
        yield "settled", f"no longer reached: {beyond_bounds({name: name for name in growth.settled}, unshared)}"
    for name in growth.open:
        why = growth.not_raised.get(name)
        yield "still reached", f"{name}: {why}" if why else name
    if growth.switched_off:
        yield "switched off", f"{', '.join(growth.switched_off)}: a bound of 0 is not raised"
    why = f"unfinished: {growth.why_stopped}" if growth.why_stopped else "no bound is left to raise"
    yield "growth", f"{why} ({show_seconds(growth.seconds)} in total)"


def beyond_bounds(shown: Mapping[str, str], unshared: Container[str]) -> str:
    """Return a clause that says what raising the unreached bounds changes. `shown` maps names of bounds to texts."""
    free = [text for name, text in shown.items() if name in unshared]
    read = [text for name, text in shown.items() if name not in unshared]
    words = [NeverMatters(free).sentence] if free else []
    if read:
        them = "it" if len(read) == 1 else "them"
        words.append(f"{', '.join(read)}: the model reads {them} elsewhere too, so larger values may add states")
    return "; ".join(words)
