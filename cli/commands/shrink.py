"""`fencepost shrink`: the shortest trace that still fails."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from fencepost.api.answers.results import FORMAT
from fencepost.api.calls.shrink import replay
from fencepost.api.calls.shrink import shrink as shortened
from fencepost.cli.commands.options import Size, Time, Writable, output_options, workers_option
from fencepost.cli.commands.replay import MODEL_HELP
from fencepost.cli.status import Exit
from fencepost.cli.views.console import print_json, results
from fencepost.cli.views.display import Display
from fencepost.cli.views.sampled import print_shrunk

if TYPE_CHECKING:
    from pathlib import Path

BUDGET, MEMORY = "60s", "2G"


@click.command()
@click.argument("file", metavar="FILE")
@click.option(
    "--trace",
    "output",
    type=Writable(),
    metavar="FILE",
    help="Write the shortened trace there; FILE itself may be given.",
)
@click.option(
    "--budget",
    type=Time(),
    default=BUDGET,
    show_default=True,
    metavar="TIME",
    help="Time limit, compilation not counted.",
)
@click.option(
    "--memory",
    type=Size(),
    default=MEMORY,
    show_default=True,
    metavar="SIZE",
    help="Memory limit for the states of one search.",
)
@workers_option()
@click.option("--model", metavar="FILE.py", help=MODEL_HELP)
@output_options
def shrink(file: str, output: Path | None, model: str | None, **given: Any) -> Exit:
    """Shorten the trace in FILE: fewer steps, smaller constants, and a search that says whether a shorter one exists.

    Sizes and budgets are lowered, fewer brokers included; switches, versions and other choices stay as they are.

    \b
    Exit status: 0 shortened, or found to be shortest as far as reported; 2 FILE is not a trace or does not replay,
    4 internal error.
    """  # noqa: D301 (\b is the mark by which click keeps lines)
    budget, memory = given["budget"], given["memory"]
    trace = replay(file, model=model)
    with Display(quiet=given["quiet"]) as display:
        shrunk = shortened(trace, budget=budget, memory=memory, workers=given["workers"], progress=display)
    if given["json"]:
        print_json({"format": FORMAT, "file": file, "trace": str(output) if output else None, **shrunk.to_dict()})
    else:
        print_shrunk(results(), shrunk)
    if output:
        shrunk.counterexample.save(output)
        display.note(f"the shortened trace is in {output}")
    return Exit.AS_EXPECTED
