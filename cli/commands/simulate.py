"""`fencepost simulate`: random walks on a protocol."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click
from fencepost.api.calls.simulate import DEPTH, WALKS
from fencepost.api.calls.simulate import simulate as walked
from fencepost.cli.commands.options import (
    Expected,
    Target,
    Time,
    Writable,
    command_line,
    constants_options,
    normalize_option,
    output_options,
    properties_option,
    workers_option,
)
from fencepost.cli.status import Exit, exit_of, worst_exit
from fencepost.cli.views.console import print_json, results
from fencepost.cli.views.display import Display
from fencepost.cli.views.sampled import print_sample
from fencepost.explorers.verdict import Verdict, ended_by_signal
from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from fencepost.api.calls.simulate import SimulateResult

_VERDICTS = f"{Verdict.NOT_FOUND}, {Verdict.VIOLATED}"


@click.command()
@click.argument("protocol", metavar="PROTOCOL_OR_FILE")
@constants_options
@properties_option
@click.option("--walks", type=click.IntRange(1), default=WALKS, show_default=True, metavar="N", help="Walks.")
@click.option(
    "--depth",
    type=click.IntRange(1, 1_000_000),
    default=DEPTH,
    show_default=True,
    metavar="N",
    help="Maximum steps of a walk.",
)
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, metavar="N", help="Seed of the random walks."
)
@click.option(
    "--weight", "weights", multiple=True, metavar="ACTION=W", help="Choose actions by weight; the default weight is 1."
)
@click.option("--budget", type=Time(), metavar="TIME", help="Start no further walks after this time, such as 10m.")
@workers_option()
@click.option("--stop-on-violation", is_flag=True, help="End soon after the first violation.")
@normalize_option
@click.option("--expect", type=Expected(), metavar="VERDICT", help=f"Succeed if this is the verdict: {_VERDICTS}.")
@click.option("--shrink/--no-shrink", "shrinks", default=True, help="Shorten the trace that is shown.  [default: on]")
@click.option("--trace", type=Writable(), metavar="FILE", help="Write the shortest violation's trace there.")
@click.option("--coverage", is_flag=True, help="Show how often each action fired.")
@output_options
def simulate(**given: Any) -> Exit:
    """Take random walks through PROTOCOL and check its properties along them.

    Every step is one of those that are enabled, all equally likely, or of the actions by --weight. A walk ends after --depth
    steps, or where no action is enabled. Protocol, constants, weights, seed and its number determine it.
    What no walk violated is not-found: walks never show that something holds.

    \b
    Exit status: 0 as expected, 1 violated or not as expected, 2 bad input,
    3 nothing was found, 4 internal error.
    """  # noqa: D301 (\b is the mark by which click keeps lines)
    target, expected = Target.taken(given), given["expect"]
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
    """Return the command that takes the same walks and shows what they found of one property."""
    words = ["simulate", *target.words]
    words += [word for value in given["weights"] for word in ("--weight", value)]
    for name, usual in (("walks", WALKS), ("depth", DEPTH), ("seed", 0)):
        words += [f"--{name}", str(given[name])] if given[name] != usual else []
    words += [
        f"--no-{name}" for name, on in (("normalize", given["normalize"]), ("shrink", given["shrinks"])) if not on
    ]
    return command_line(*words, "--property", prop)


def _written(result: SimulateResult, file: Path, target: Target) -> str:
    """Write the trace; return the note that says where it is, and how to replay it."""
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
