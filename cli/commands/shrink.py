"""`fencepost shrink`: the shortest trace that still fails."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from fencepost.api.files import make_sure_writable
from fencepost.api.quantities import counted, parse_duration, parse_size, show_seconds
from fencepost.api.targets import lookup_in
from fencepost.api.traces import write_trace
from fencepost.cli.commands.replay import MODEL_HELP
from fencepost.cli.status import Exit
from fencepost.cli.views.console import print_json, print_lines, results, styled
from fencepost.cli.views.display import Display
from fencepost.cli.views.traces import print_trace

if TYPE_CHECKING:
    from fencepost.counterexamples.shrink import Shrunk
    from fencepost.counterexamples.trace import Trace
    from rich.console import Console

BUDGET, MEMORY = "60s", "2G"


@click.command(short_help="Find the shortest trace that still fails.")
@click.argument("file", metavar="FILE")
@click.option("--trace", "output", metavar="FILE", help="Write the shortened trace there; FILE itself may be given.")
@click.option(
    "--budget", default=BUDGET, show_default=True, metavar="TIME", help="Spend no more than this; compiling does not count."
)
@click.option(
    "--memory", default=MEMORY, show_default=True, metavar="SIZE", help="States of one search take no more than this."
)
@click.option("--workers", type=click.IntRange(1, 1024), metavar="N", help="Threads; all processors if not given.")
@click.option("--model", metavar="FILE.py", help=MODEL_HELP)
@click.option("--json", is_flag=True, help="Print JSON.")
@click.option("--quiet", is_flag=True, help="No notes and no progress, only results.")
def shrink(file: str, output: str | None, model: str | None, **given: Any) -> Exit:
    """Shorten the trace in FILE: fewer steps, smaller constants, and a search that says whether a shorter one exists.

    Sizes and budgets are lowered, fewer brokers included; switches, versions and other choices stay as they are.

    \b
    Exit status: 0 it was done, as far as is told; 2 FILE is no trace or does not replay,
    4 Fencepost is wrong about itself.
    """  # noqa: D301 (\b is the mark by which click keeps lines)
    from fencepost.counterexamples.replay import replay
    from fencepost.counterexamples.shrink import Limits
    from fencepost.counterexamples.shrink import shrink as shorten

    limits = Limits(parse_duration(given["budget"], "--budget"), parse_size(given["memory"], "--memory"), given["workers"] or 0)
    given_trace = replay(file, lookup_in(model)).trace
    if output:
        make_sure_writable(Path(output))
    with Display(quiet=given["quiet"]) as display:
        shrunk = shorten(given_trace, limits, display.spin)
        if output:
            write_trace(shrunk.trace, Path(output))
            display.note(f"the shortened trace is in {output}")
    if given["json"]:
        print_json({"format": 1, "file": file, "trace": output, **shrunk_data(shrunk)})
    else:
        print_shrunk(results(), shrunk)
    return Exit.AS_EXPECTED


def shortened(trace: Trace, display: Display, workers: int) -> Shrunk | None:
    """Return a trace that was just found, shortened; None if the user would not wait."""
    from fencepost.counterexamples.shrink import Limits
    from fencepost.counterexamples.shrink import shrink as shorten

    limits = Limits(parse_duration(BUDGET, "--budget"), parse_size(MEMORY, "--memory"), workers)
    try:
        return shorten(trace, limits, display.spin)
    except KeyboardInterrupt:
        display.note("shortening was interrupted: the trace is as it was found")
        return None
    finally:
        display.clear()


def print_shrunk(console: Console, shrunk: Shrunk) -> None:
    """Print a shortened trace, and what became of it."""
    print_trace(console, shrunk.trace, shrunk.path)
    console.print()
    print_lines(console, styled(told(shrunk), "dim"))


def told(shrunk: Shrunk) -> str:
    """Return what was shortened and lowered, and how far it was checked that nothing shorter exists."""
    now = counted(shrunk.path.length, "state")
    took = show_seconds(shrunk.seconds)
    shorter = shrunk.path.length < shrunk.before
    length = f"Shortened from {shrunk.before} to {now} in {took}." if shorter else f"It has {now}, as before; that took {took}."
    declared = shrunk.trace.protocol.machine.constants.declared()
    lowered = ", ".join(f"{name} {old} → {declared[name].show(new)}" for name, (old, new) in shrunk.lowered.items())
    return f"{length} {f'Lowered: {lowered}. ' if lowered else ''}{shrunk.reach}"


def shrunk_data(shrunk: Shrunk) -> dict[str, Any]:
    """Return what became of a trace, for machines."""
    plain = shrunk.trace.interpreter()
    return {
        "protocol": shrunk.trace.protocol.name,
        "property": shrunk.trace.prop.name if shrunk.trace.prop else None,
        "before": shrunk.before,
        "length": shrunk.path.length,
        "lowered": {name: {"from": old, "to": new} for name, (old, new) in shrunk.lowered.items()},
        "shortest": shrunk.shortest,
        "checked": shrunk.checked,
        "searched": shrunk.searched,
        "why_stopped": "" if shrunk.shortest else shrunk.why_stopped,
        "seconds": round(shrunk.seconds, 4),
        "steps": [plain.show(step) for step in shrunk.trace.steps],
    }
