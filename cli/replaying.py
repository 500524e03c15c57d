"""`fencepost replay` and `fencepost show`: counterexamples in files."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click
from fencepost.cli.console import counted, results, styled
from fencepost.cli.failures import explain
from fencepost.cli.status import Exit, worst_exit
from fencepost.cli.targets import find_protocol
from fencepost.cli.traces import print_trace
from fencepost.invariants.protocols import protocol as named_protocol
from fencepost.model.language.errors import FencepostError, UsageError, nearest

if TYPE_CHECKING:
    from collections.abc import Callable

    from fencepost.invariants.protocols import Protocol

FORMATS = ("text",)
LATER = ("mermaid", "html", "itf", "pytest")
"""Formats of the contract that are not part of this version."""
_MODEL_HELP = "The Python file that defines the trace's protocol, if it is your own."


@click.command(short_help="Replay counterexamples on the plain carrier.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--rewrite", is_flag=True, help="Write the states again; header and actions stay as they are.")
@click.option("--model", metavar="FILE.py", help=_MODEL_HELP)
def replay(files: tuple[str, ...], rewrite: bool, model: str | None) -> Exit:  # noqa: FBT001 (as click calls it)
    """Take every step of the trace in FILE and see that it ends in what it says.

    \b
    Exit status: 0 all replay, 2 a file is no trace or a step cannot be taken,
    4 Fencepost is wrong about itself.
    """  # noqa: D301 (\b is the mark by which click keeps lines)
    from fencepost.counterexamples import replay as replaying

    lookup, take = _lookup(model), replaying.rewrite if rewrite else replaying.replay
    ends, console = [], results()
    for file in files:
        try:
            made = take(file, lookup)
        except FencepostError as error:
            status, message = explain(error)
            sys.stderr.write(f"fencepost: {message}\n")
            ends.append(status)
            continue
        ends.append(Exit.AS_EXPECTED)
        shown = f"{made.trace.finding}: a trace of {counted(made.path.length, 'state')}, as it says"
        console.print(
            f"{file}: {made.trace.protocol.name}: {shown}" + ("; states rewritten" if rewrite else ""), soft_wrap=True
        )
    if len(files) > 1:
        good = ends.count(Exit.AS_EXPECTED)
        console.print(
            styled(f"{good} of {counted(len(files), 'trace')} replayed.", "bold green" if good == len(files) else "bold red")
        )
    return worst_exit(ends)


@click.command(short_help="Show a counterexample.")
@click.argument("file", metavar="FILE")
@click.option("--format", "form", default="text", show_default=True, metavar="NAME", help=f"One of: {', '.join(FORMATS)}.")
@click.option("--model", metavar="FILE.py", help=_MODEL_HELP)
def show(file: str, form: str, model: str | None) -> Exit:
    """Show the trace in FILE step by step, with what each step changed."""
    if form in LATER:
        raise UsageError(f"--format {form} is not part of this version. Formats are: {', '.join(FORMATS)}.")
    if form not in FORMATS:
        raise UsageError(f"there is no format {form!r}.{nearest(form, list(FORMATS))} Formats are: {', '.join(FORMATS)}.")
    from fencepost.counterexamples.reader import read
    from fencepost.counterexamples.replay import follow

    found = read(file, _lookup(model))
    made = follow(found.trace, found)
    print_trace(results(), made.trace, made.path)
    return Exit.AS_EXPECTED


def _lookup(model: str | None) -> Callable[[str], Protocol]:
    """Return how a trace finds its protocol: in the user's file if it is the one defined there, else by name."""
    own = find_protocol(model) if model else None

    def find(name: str) -> Protocol:
        if own is not None and own.name == name:
            return own
        try:
            return named_protocol(name)
        except UsageError as error:
            raise UsageError(f"{error} A protocol of your own is found with --model FILE.py.") from None

    return find
