"""`fencepost simulate`: random walks on a protocol."""

from __future__ import annotations

from functools import partial, reduce
from typing import TYPE_CHECKING, Any

import click
from fencepost.api.asking.quantities import counted, show_rate, show_seconds
from fencepost.api.calls.simulate import DEPTH, WALKS
from fencepost.api.calls.simulate import simulate as walked
from fencepost.cli.commands.options import (
    Count,
    Target,
    Time,
    Writable,
    command,
    command_line,
    constants_options,
    expect_option,
    normalize_option,
    output_options,
    properties_option,
    workers_option,
)
from fencepost.cli.status import Exit, exit_of, worst_exit
from fencepost.cli.views.console import (
    heading,
    print_facts,
    print_json,
    print_lines,
    print_trace,
    results,
    styled,
    verdict_text,
)
from fencepost.cli.views.display import Display
from fencepost.cli.views.report import INDENT, print_numbers
from fencepost.explorers.verdict import Verdict, ended_by_signal
from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from fencepost.api.answers.counterexample import Counterexample
    from fencepost.api.calls.shrink import ShrinkResult
    from fencepost.api.calls.simulate import SimulateResult
    from rich.console import Console
    from rich.text import Text

FOUND = (Verdict.NOT_FOUND, Verdict.VIOLATED)
"""The verdicts that walks have."""


def walk_options(walks: str) -> Callable[[Any], Any]:
    """Return the options for random walks; `walks` says of which they are the number."""
    options = (
        click.option("--walks", type=Count(1), default=WALKS, show_default=True, help=walks),
        click.option(
            "--depth", type=Count(1, 1_000_000), default=DEPTH, show_default=True, help="Steps of a walk at most."
        ),
        click.option("--seed", type=Count(0), default=0, show_default=True, help="Seed of the random walks."),
        click.option(
            "--weight",
            "weights",
            multiple=True,
            metavar="ACTION=W",
            help="Choose actions by weight; that of others is 1.",
        ),
    )
    return lambda function: reduce(lambda made, option: option(made), reversed(options), function)


@command()
@click.argument("protocol", metavar="PROTOCOL_OR_FILE")
@constants_options
@properties_option
@walk_options("Walks.")
@click.option("--budget", type=Time(), help="Start no further walks after this time, such as 10m.")
@workers_option()
@click.option("--stop-on-violation", is_flag=True, help="End soon after the first violation.")
@normalize_option
@expect_option(FOUND)
@click.option("--shrink/--no-shrink", "shrinks", default=True, help="Shorten the trace that is shown.  [default: on]")
@click.option("--trace", type=Writable(), help="Write the shortest violation's trace there.")
@click.option("--coverage", is_flag=True, help="Show how often each action fired.")
@output_options
def simulate(**given: Any) -> Exit:
    """Take random walks through PROTOCOL and check its properties along them.

    Every step is one of those that are enabled, all equally likely, or of the actions by --weight. A walk ends after
    --depth steps, or where no action is enabled. Protocol, constants, weights, seed and its number determine it.
    What no walk violated is not-found: walks never show that something holds.

    \b
    Exit status: 0 as expected, 1 violated or not as expected, 2 bad input,
    3 nothing was found, 4 internal error.
    """
    target, expected = Target.from_options(given), given["expect"]
    question, file = target.question(given["properties"], walks=True), given["trace"]
    names = ("walks", "depth", "seed", "stop_on_violation", "normalize", "shrinks")
    with Display(quiet=given["quiet"]) as display:
        result = walked(
            question,
            weights=dict(map(weight_of, given["weights"])),
            workers=given["workers"],
            budget=given["budget"],
            progress=display,
            **{name: given[name] for name in names},
        )
    if given["json"]:
        print_json(result.to_dict(file, expected))
    else:
        print_sample(results(), result, coverage=given["coverage"], command=partial(_command_for, target, given))
    if file is not None:
        display.note(_written(result, file, target))
    interrupted = ended_by_signal(result.why_stopped)
    return worst_exit([exit_of(result.verdict, expected), *([Exit.UNDETERMINED] if interrupted else [])])


def _command_for(target: Target, given: dict[str, Any], prop: str) -> str:
    words = ["simulate", *target.words]
    words += [word for value in given["weights"] for word in ("--weight", value)]
    for name, usual in (("walks", WALKS), ("depth", DEPTH), ("seed", 0)):
        words += [f"--{name}", str(given[name])] if given[name] != usual else []
    words += [
        f"--no-{name}" for name, on in (("normalize", given["normalize"]), ("shrink", given["shrinks"])) if not on
    ]
    return command_line(*words, "--property", prop)


def _written(result: SimulateResult, file: Path, target: Target) -> str:
    if result.trace is None:
        return f"nothing is violated: {file} was not written"
    result.trace.save(file)
    return f"the trace of {result.trace.prop} is in {file}: `fencepost replay {file}{target.model}` replays it"


def weight_of(text: str) -> tuple[str, int]:
    """Return the action and the weight that `ACTION=W` means."""
    name, mark, value = text.partition("=")
    if not (mark and name and value.isascii() and value.isdigit()):
        raise UsageError(
            f"--weight was given {text!r}: write ACTION=W with a whole number, such as --weight leader-write=3."
        )
    return name, int(value)


def print_sample(console: Console, sample: SimulateResult, *, coverage: bool, command: Callable[[str], str]) -> None:
    """Print the answer to one simulation; `command(property)` shows the trace of a violation that is not shown here."""
    from rich.text import Text

    console.print(Text.assemble(heading(sample.protocol), "  ", verdict_text(sample.verdict)), soft_wrap=True)
    print_lines(console, sample.question.protocol.machine.sentence, style="dim")
    for note in sample.notes:
        print_lines(console, f"Note: {note}")
    if not sample.complete:
        print_lines(console, f"Partial: {sample.why_stopped}.", style="yellow")
    console.print()
    _properties(console, sample)
    console.print()
    print_facts(console, _reach(sample))
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
            length = counted(item.path.length, "state")
            found = f" in {item.walks:,} of {sample.walks:,} walks: {length} in walk {item.walk}"
        print_lines(console, Text.assemble(f"{result.name:{width}}  ", (f"{result.kind!s:9}  ", "dim"), verdict, found))
        if sentences[result.name]:
            print_lines(console, sentences[result.name], style="dim", indent=INDENT)


def _reach(sample: SimulateResult) -> Iterator[tuple[str, Text | str]]:
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
    print_lines(console, shrunk.summary, style="dim")


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
