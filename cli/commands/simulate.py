"""`fencepost simulate`: takes random walks through a protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from click import argument, option
from fencepost.api.asking.quantities import counted, in_values, show_rate, show_seconds
from fencepost.api.calls.shrink import ShrinkResult
from fencepost.api.calls.simulate import DEPTH, WALKS, SimulateResult
from fencepost.api.calls.simulate import simulate as walked
from fencepost.cli.commands import options
from fencepost.cli.status import Exit, exit_of, worst_exit
from fencepost.cli.views.console import Display, called, print_lines, print_trace, show, styled, verdict_style
from fencepost.cli.views.report import print_numbers
from fencepost.cli.views.screen import ROWS, checked, print_answer, print_steps, share, some, violation
from fencepost.explorers.verdict import Verdict, ended_by_signal
from fencepost.explorers.walk.sample import Sampled
from fencepost.invariants.gravity import gravity
from fencepost.model.language.actions import Kind
from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

FOUND = (Verdict.NOT_FOUND, Verdict.VIOLATED)


def walk_options(walks: str) -> Callable[[Any], Any]:
    return options.together(
        option("--walks", type=options.Count(1), default=WALKS, show_default=True, help=walks),
        option(
            "--depth",
            type=options.Count(1, 1_000_000),
            default=DEPTH,
            show_default=True,
            help="Maximum number of steps in a walk.",
        ),
        option("--seed", type=options.Count(0), default=0, show_default=True, help="Seed of the random walks."),
        option("--weight", "weights", multiple=True, metavar="ACTION=W", help="Choose actions by weight (default: 1)."),
    )


@options.command()
@argument("protocol", metavar="PROTOCOL_OR_FILE")
@options.constants_options
@options.properties_option
@walk_options("Number of walks.")
@option("--budget", type=options.TIME, help="Start no more walks after this much time, e.g. 10m.")
@options.workers_option()
@option("--stop-on-violation", is_flag=True, help="Stop soon after the first violation.")
@options.normalize_option
@options.expect_option(FOUND)
@option("--shrink/--no-shrink", "shrinks", default=True, help="Shorten the trace that is shown.  [default: on]")
@option("--trace", type=options.Writable(), help="Write the trace of the most serious violation to this file.")
@option("--coverage", is_flag=True, help="Show how often each action was taken.")
@options.verbose_option
@options.output_options
def simulate(**given: Any) -> Exit:
    """Take random walks through PROTOCOL and check its properties along them.

    Each step is chosen at random from the enabled steps, uniformly or, with --weight, by action. A walk ends after
    --depth steps, or when no action is enabled. The protocol, the constants, the weights, the seed and the walk's
    number determine each walk. A property that no walk violated is reported as not-found: walks never show that a
    property holds.

    Exit status: 0 if the result is as expected, 1 for a violation or an unexpected result, 2 for bad input, 3 if
    nothing was found, 4 for an internal error.
    """
    target, expected = options.Target.from_options(given), given["expect"]
    question, file = target.question(given["properties"], walks=True), given["trace"]
    names = "walks depth seed workers budget stop_on_violation normalize shrinks"
    result = called(given, walked, names, question, weights=dict(map(weight_of, given["weights"])))
    more = {"command": partial(_command_for, target, given), "coverage": given["coverage"], "quiet": given["quiet"]}
    show(given, result, print_sample, file, expected, **more)
    if file is not None:
        Display(quiet=given["quiet"]).note(options.save(result.trace, file, target.model))
    interrupted = ended_by_signal(result.why_stopped)
    return worst_exit([exit_of(result.verdict, expected), *([Exit.UNDETERMINED] if interrupted else [])])


def _command_for(target: options.Target, given: dict[str, Any], prop: str) -> str:
    words = ["simulate", *target.words]
    words += [word for value in given["weights"] for word in ("--weight", value)]
    for name, usual in (("walks", WALKS), ("depth", DEPTH), ("seed", 0)):
        words += [f"--{name}", str(given[name])] if given[name] != usual else []
    words += [
        f"--no-{name}" for name, on in (("normalize", given["normalize"]), ("shrink", given["shrinks"])) if not on
    ]
    return options.command_line(*words, "--property", prop)


def weight_of(text: str) -> tuple[str, int]:
    name, mark, value = text.partition("=")
    if not (mark and name and value.isascii() and value.isdigit()):
        raise UsageError(f"--weight {text!r}: expected ACTION=W with a whole number, such as --weight leader-write=3.")
    return name, int(value)


def verdict_sentence(sample: SimulateResult) -> str:
    violated = _violated(sample)
    if violated:
        worst = sample.shown or violated[0]
        found = sample.trace.path if sample.trace else worst.path
        how = f"{counted(found.length, 'state') if found else ''}, found in walk {worst.walk}"
        return violation(sample.question.properties, worst.result.name, how)
    what = "a property" if sample.question.file else "a guarantee"
    return f"Found no violation of {what} in {counted(sample.walks, 'walk')}. Walks never prove that a property holds."


def _violated(sample: SimulateResult) -> list[Sampled]:
    ranks = {prop.name: gravity(prop) for prop in sample.question.properties}
    found = [item for item in sample.properties if item.result.verdict is Verdict.VIOLATED]
    return sorted(found, key=lambda item: ranks[item.result.name])


def print_sample(
    console: Console,
    sample: SimulateResult,
    *,
    command: Callable[[str], str] | None = None,
    verbose: bool = False,
    coverage: bool = False,
    quiet: bool = False,
) -> None:
    style = verdict_style(sample.verdict)
    guarantees = [item for item in sample.properties if item.result.kind is not Kind.SOMETIMES]
    many = bool(sample.trace) and len(guarantees) > 1
    more = f" {share(_violated(sample), guarantees, sample.question)}." if many else ""
    print_lines(console, verdict_sentence(sample) + more, style=style)
    machine, constants = sample.question.protocol.machine, sample.question.constants
    is_long = bool(machine.notes) and not verbose and not sample.question.file
    background = machine.notes(constants) if machine.notes and is_long else ()
    print_lines(console, *(f"Note: {note}" for note in sample.notes if note not in background))
    if not sample.complete:
        print_lines(console, f"Partial: {sample.why_stopped}.", style="yellow")
    if verbose:
        print_lines(console, machine.sentence, style="dim")
    hint = "" if verbose or quiet else "sentences, statistics, and the full trace"
    print_answer(console, _facts(sample, verbose=verbose), hint=hint)
    if coverage or verbose:
        rows = [(styled("fired", "bold"), styled("action", "bold"))]
        rows += [(styled(f"{n:,}"), styled(name, "" if n else "yellow")) for name, n in sample.fired.items()]
        print_numbers(console, rows)
    trace = sample.trace
    if trace is None:
        return
    if verbose:
        console.print()
        print_trace(console, trace.trace, trace.path)
    else:
        title = f"{trace.prop} is violated: a trace of {counted(trace.length, 'state')}"
        print_steps(console, trace.texts, title, culprit=trace.culprit)
    console.print()
    if sample.shrunk is not None:
        print_lines(console, sample.shrunk.summary, style="dim")
    for item in _violated(sample):
        if command is not None and item is not sample.shown:
            print_lines(console, f"`{command(item.result.name)}` shows {item.result.name}.", style="dim")
    print_lines(console, "", verdict_sentence(sample), style=style)


def _facts(sample: SimulateResult, *, verbose: bool) -> Iterator[tuple[str, Text | str]]:
    words = {Verdict.VIOLATED: "violated", Verdict.HOLDS: "reached", Verdict.NOT_FOUND: "not found"}
    sentences = {item.name: item.sentence for item in sample.question.properties}
    for verdict, label in words.items():
        found = [item for item in sample.properties if item.result.verdict is verdict]
        found = _violated(sample) if verdict is Verdict.VIOLATED else found
        if not verbose and (verdict is not Verdict.VIOLATED or len(found) > ROWS):
            if found:
                yield label, some([item.result.name for item in found])
            continue
        for number, item in enumerate(found):
            length = f", {counted(item.path.length, 'state')} in walk {item.walk}" if item.path else ""
            where = f"in {item.walks:,} of {counted(sample.walks, 'walk')}{length}"
            yield "" if number else label, f"{item.result.name}  {where}"
            if verbose and sentences[item.result.name]:
                yield "", styled(sentences[item.result.name], "dim")
    if verbose:
        yield "constants", in_values({name: str(value).lower() for name, value in sample.constants.items()}) or "none"
    yield "checked", checked(sample.question)
    plan = sample.plan
    weighted = " that has a weight" if 0 in plan.weights.values() else ""
    yield (
        "walks",
        f"{sample.walks:,} of {plan.walks:,}, of at most {counted(plan.depth, 'step')}, seed {plan.seed}; "
        f"{sample.steps:,} steps, {sample.longest:,} in the longest walk"
        + (f"; {sample.stuck:,} ended where no action{weighted} is enabled" if sample.stuck else ""),
    )
    if plan.weights:
        yield "weights", " ".join(f"{name}={weight}" for name, weight in plan.weights.items()) + ", all others 1"
    logs = f", logs of up to {counted(sample.deepest_log, 'record')}" if sample.deepest_log else ""
    faults = f", up to {sample.most_faults} faults in a walk" if sample.most_faults else ""
    rate = show_rate(sample.steps, sample.seconds, "steps")
    time = f"{show_seconds(sample.seconds)} with {counted(sample.workers, 'worker')}" + (f": {rate}" if verbose else "")
    yield "reach", f"about {sample.distinct:,} states{faults}{logs}, {time}"
    dead = [name for name, fired in sample.fired.items() if not fired]
    if dead:
        yield "never fired", styled(", ".join(dead), "yellow")


def print_shrunk(console: Console, shrunk: ShrinkResult) -> None:
    print_trace(console, shrunk.trace, shrunk.path)
    print_lines(console, "", shrunk.summary, style="dim")
