"""First screens: a verdict in one sentence, the facts behind it, and the trace of the most serious violation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from fencepost.api.answers.results import Base, CheckResult
from fencepost.api.asking.quantities import counted, in_values, show_seconds
from fencepost.api.topics.claims import Prevents, raised_in
from fencepost.api.topics.version_notes import repaired_by, unlike_kafka
from fencepost.cli.views.console import print_facts, print_lines, styled
from fencepost.explorers.verdict import PropertyResult, Verdict
from fencepost.invariants.gravity import consequence, gravity
from fencepost.model.language.actions import Kind, Property
from fencepost.model.language.constants import Constants
from fencepost.model.language.machine import REPAIRED, Machine

if TYPE_CHECKING:
    from fencepost.api.asking.targets import Question
    from rich.console import Console
    from rich.text import Text

FEW = 8
"""If there are at most this many constants, all are shown; otherwise, only the changed ones are."""
ROWS = 4
"""Maximum number of violations with a row each. Further violations share a paragraph."""
NAMES = 20
STEPS = 12


def gravest(result: CheckResult) -> PropertyResult | None:
    """Return the most severe violation or, of several equally severe ones, the one with the shortest trace."""
    by_name = {prop.name: prop for prop in result.question.properties}
    return min(result.violated, key=lambda item: gravity(by_name[item.name]), default=None)


def headline(result: CheckResult) -> str:
    base = result.question.protocol.machine.base
    words = (verdict_sentence(result), *_counts(result))
    if larger := violated_beyond(result):
        words = (*words, larger) if result.violated else (larger, "Within the given bounds:", *words)
    if result.base is Base.SAME and base is not None:
        words = (f"The variant has no effect here: its base {base.name} has the same verdict.", *words)
    return " ".join(words)


def violated_beyond(result: CheckResult) -> str:
    """Return a sentence about properties that are violated only with raised bounds, or an empty string."""
    growth = result.growth
    if growth is None or not growth.violated:
        return ""
    raised = raised_in(growth)
    cells = {name: in_values({it: found.cell[it] for it in raised}) for name, found in growth.violated.items()}
    return f"Violated with larger bounds: {some([f'`{name}` with {cell}' for name, cell in cells.items()], ROWS)}."


def verdict_sentence(result: CheckResult) -> str:
    worst, doubt = gravest(result), ""
    if worst is not None:
        return violation(result.question.properties, worst.name, _size(worst))
    if result.verdict is Verdict.UNDETERMINED:
        if not result.distinct:
            return "Undetermined: nothing was searched."
        return f"Undetermined: no property is violated in the {counted(result.distinct, 'state')} visited."
    if result.omission:
        doubt = f", up to fingerprint collisions (at most {result.omission:.1e})"
    missing = _named(result, Verdict.UNREACHED)
    if missing:
        names = ", ".join(f"`{item.name}`" for item in missing[:3]) + (", ..." if len(missing) > 3 else "")
        return f"No reachable state or step satisfies {names}{doubt}."
    word = "canonical state" if result.symmetry else "state"
    searched = f"all {counted(result.distinct, word)} were visited"
    if result.omission or result.distinct == 1:
        searched = "no state was left to visit" if result.omission else "the only state was visited"
    if not result.properties:
        return f"No property was named: {searched}."
    guarantees = _guarantees(result)
    if not guarantees:
        return f"{_all(len(result.properties), 'witness', 'witnesses')} reached{doubt}: {searched}."
    return f"{_everything(guarantees, _word(result.question))}{doubt}: {searched}."


def violation(properties: Iterable[Property], name: str, how: str) -> str:
    means = next((consequence(prop) for prop in properties if prop.name == name), "")
    return f"{means}: `{name}`, {how}." if means else f"`{name}` is violated: {how}."


def _all(number: int, one: str, many: str) -> str:
    return f"The {one} is" if number == 1 else f"All {number} {many} are"


def _counts(result: CheckResult) -> Iterator[str]:
    guarantees, violated = _guarantees(result), result.violated
    if result.violated and len(guarantees) > 1:
        because = "; ".join(_because(result))
        yield f"{share(violated, guarantees, result.question)}{because and f'; {because}'}."
    elif result.verdict is Verdict.UNREACHED and guarantees:
        yield f"{_everything(guarantees, _word(result.question))}."
    elif result.verdict is Verdict.HOLDS and guarantees and len(guarantees) < len(result.properties):
        yield f"{_all(len(result.properties) - len(guarantees), 'witness', 'witnesses')} reached."


def share(violated: Sequence[Any], guarantees: Sequence[Any], question: Question) -> str:
    are = "is" if len(violated) == 1 else "are"
    return f"{len(violated)} of {len(guarantees)} {_word(question)} {are} violated"


def _everything(guarantees: Sequence[PropertyResult], word: str) -> str:
    return f"`{guarantees[0].name}` holds" if len(guarantees) == 1 else f"All {len(guarantees)} {word} hold"


def _because(result: CheckResult) -> Iterator[str]:
    found = repaired_by(result.question, result, normalize=result.normalize)
    explained = {finding: names for finding, names in found.items() if finding}
    many = len(result.violated)
    for finding, names in sorted(explained.items(), key=lambda item: -len(item[1])):
        traces = "its shortest trace" if many == 1 else f"all {many} shortest traces"
        traces = traces if len(names) == many else f"{len(names)} of {many} shortest traces"
        yield Prevents(f"repairing {finding}", traces).sentence
    version = result.question.version
    if explained and not version.endswith(REPAIRED):
        yield f'`version="{version}{REPAIRED}"` checks the protocol with the fix'


def _guarantees(result: CheckResult) -> list[PropertyResult]:
    return [item for item in result.properties if item.kind is not Kind.SOMETIMES]


def _word(question: Question) -> str:
    return "properties" if question.file else "guarantees"


def _named(result: CheckResult, verdict: Verdict) -> list[PropertyResult]:
    return [item for item in result.properties if item.verdict is verdict]


def plain_notes(result: CheckResult) -> list[str]:
    machine = result.question.protocol.machine
    if result.question.file and machine.base is None:
        return list(result.notes)
    changed = unlike_kafka(machine)
    said = [changed] if any(changed in note for note in result.background) else []
    own = f"{machine.base.name} itself" if machine.base else changed
    return [*said, *(note for note in result.notes if note not in result.background or note.startswith(own))]


def print_screen(console: Console, result: CheckResult, *, hint: bool) -> None:
    print_answer(console, _facts(result), hint="sentences, notes, statistics, and every trace in full" if hint else "")


def print_answer(console: Console, facts: Iterable[tuple[str, Text | str]], *, hint: str) -> None:
    console.print()
    print_facts(console, facts)
    if hint:
        print_lines(console, "", f"`-v` shows {hint}.", style="dim")


def _facts(result: CheckResult) -> Iterator[tuple[str, Text | str]]:
    order = {prop.name: gravity(prop) for prop in result.question.properties}
    violated = sorted(result.violated, key=lambda item: order[item.name])
    width = max((len(item.name) for item in violated), default=0)
    if len(violated) > ROWS:
        sizes = (_size(violated[0]), *(str(item.path and item.path.length) for item in violated[1:]))
        yield "violated", ", ".join(f"{item.name} ({size})" for item, size in zip(violated, sizes, strict=True))
    for number, item in enumerate(violated if len(violated) <= ROWS else ()):
        yield "" if number else "violated", f"{item.name:{width}}  {_size(item)}{_costs(item)}"
    groups = {
        "holds": [item for item in _named(result, Verdict.HOLDS) if item.kind is not Kind.SOMETIMES],
        "reached": [item for item in _named(result, Verdict.HOLDS) if item.kind is Kind.SOMETIMES],
        "not reached": _named(result, Verdict.UNREACHED),
        "undecided": _named(result, Verdict.UNDETERMINED),
    }
    for label, found in groups.items():
        if not found:
            continue
        if label == "reached" and len(result.properties) > FEW:
            yield label, counted(len(found), "witness", "witnesses")
            continue
        yield label, some([f"{item.name}{_costs(item)}" for item in found])
    yield "checked", checked(result.question, normalize=result.normalize)
    yield "reach", reached(result)
    machine = result.question.protocol.machine
    shared = {item.label for item in machine.base.actions if item in machine.actions} if machine.base else set()
    dead = [name for name, fired in result.fired.items() if not fired and name not in shared]
    if dead and result.question.file:
        yield "never fired", styled(", ".join(dead) + ("" if result.complete else " (so far)"), "yellow")


def some(names: Sequence[str], most: int = NAMES) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _size(item: PropertyResult) -> str:
    return counted(item.path.length, "state") if item.path else ""


def _costs(item: PropertyResult) -> str:
    cost = item.cost
    if cost is None:
        return ""
    return f" (worst {cost.text}{'' if cost.bound is None else f', bound {cost.bound:,}'})"


def checked(question: Question, *, normalize: bool = True) -> str:
    name = f"{question.name} {question.version}".rstrip()
    off = "" if normalize else ", without normalize"
    return constants_text(question.protocol.machine, question.constants, question.version, name, off)


def constants_text(machine: Machine, constants: Constants, version: str, name: str, off: str = "") -> str:
    listed = _listed(machine, constants, version)
    text = " ".join(f"{item}={str(constants.shown[item]).lower()}" for item in listed)
    if len(constants.shown) <= FEW:
        return f"{name}{' with ' if listed else ''}{text}{off}"
    rest = f"as in {version}" if version else "as declared"
    return f"{name} with {text} (others {rest}){off}" if listed else f"{name}, constants {rest}{off}"


def _listed(machine: Machine, constants: Constants, version: str) -> list[str]:
    """Return the names of the constants that a screen lists: all if there are few, otherwise the changed ones."""
    if len(constants.shown) <= FEW:
        return list(constants.shown)
    usual = {name: item.default for name, item in machine.constants.declared().items()}
    usual |= dict(machine.version(version).values) if version else {}
    return [name for name in constants.shown if int(constants.values[name]) != int(usual[name])]


def reached(result: CheckResult) -> str:
    if not result.distinct:
        return "no state"
    words = f"{counted(result.distinct, 'state')}, depth {result.depth}, "
    words += "complete" if result.complete else "not complete"
    words += f", {show_seconds(result.seconds)} ({result.engine} engine)"
    words += f"; {result.symmetry} are interchangeable: states are in canonical form" if result.symmetry else ""
    bounds = [f"{item.constant}={item.value}" for item in result.bounds_reached if item.value]
    if result.cross_check is not None and result.cross_check.states:
        words += f"; {counted(result.cross_check.states, 'state')} checked against the plain semantics"
    question = result.question
    listed = _listed(question.protocol.machine, question.constants, question.version)
    off = [item.constant for item in result.bounds_reached if not item.value and item.constant in listed]
    excluded = f"; excluded by a bound of 0: {', '.join(off)}" if off else ""
    if bounds:
        return f"{words}; bounds reached: {' '.join(bounds)}{excluded}"
    words += excluded
    if not result.bounds or not result.complete:
        return words
    judged = {item.constant for item in result.bounds}
    declared = question.protocol.machine.constants.declared().items()
    if all(item.kind is not int or name in judged for name, item in declared):
        return f"{words}; no bound{' above 0' if result.bounds_reached else ''} was reached"
    beyond = [f"{item.constant}={item.value}" for item in result.bounds if not item.reached]
    return f"{words}; bounds not reached: {some(beyond, FEW)}" if beyond else words


def print_steps(
    console: Console, texts: Sequence[str], title: str, *, loop: int | None = None, culprit: str = ""
) -> None:
    first = max(0, len(texts) - STEPS)
    print_lines(console, "", title, style="bold")
    if first:
        inside = loop is not None and loop < first
        again = f"; from step {(loop or 0) + 1} on, the steps repeat forever" if inside else ""
        print_lines(console, f"{counted(first, 'earlier step')}: `-v`{again}", style="dim", indent=5)
    for number, text in enumerate(texts[first:], first + 1):
        if loop == number - 1:
            print_lines(console, "from here on, forever:", style="dim", indent=5)
        _print_cut(console, f"{number:>3}  {text}")
    if loop == len(texts):
        print_lines(console, "Nothing more happens.", style="dim", indent=5)
    if culprit:
        _print_cut(console, f"     violated for {culprit}", "dim")


def _print_cut(console: Console, text: str, style: str = "") -> None:
    line = styled(text, style)
    line.truncate(console.width, overflow="ellipsis")
    console.print(line, soft_wrap=True)
