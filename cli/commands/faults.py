"""`fencepost faults`: the fewest faults that break a property, and what settings tolerate."""

from __future__ import annotations

from typing import Any

import click
from fencepost.api.calls.grids import axes_of
from fencepost.cli.commands.options import (
    Size,
    Target,
    Time,
    compact_option,
    constants_options,
    normalize_option,
    output_options,
    workers_option,
)
from fencepost.cli.failures import as_far_as_kept
from fencepost.cli.status import Exit
from fencepost.cli.views.console import print_json, results
from fencepost.cli.views.display import Display
from fencepost.model.language.errors import UsageError


@click.command()
@click.argument("protocol", metavar="PROTOCOL_OR_FILE")
@constants_options
@click.option("--property", "prop", required=True, metavar="NAME", help="The property that the faults must break.")
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    metavar="NAME",
    help="Count this kind of fault; all that can happen if none is named.",
)
@click.option("--cost", "costs", multiple=True, metavar="KIND=N", help="Cost of a fault of this kind.  [default: 1]")
@click.option(
    "--grid", multiple=True, metavar="NAME=V,V,...", help="Use each of these values; several grids are combined."
)
@workers_option()
@click.option("--budget", type=Time(), metavar="TIME", help="End each search after this time.")
@click.option("--max-states", type=click.IntRange(1), metavar="N", help="End each search after so many states.")
@click.option(
    "--memory",
    type=Size(),
    metavar="SIZE",
    help="End a search before its states need more memory than this, such as 8G.",
)
@compact_option
@normalize_option
@click.option("--checkpoint", metavar="DIR", help="Keep every finished setting there.")
@click.option("--resume", is_flag=True, help="Take the settings that are finished from the checkpoint.")
@click.option("--trace", metavar="DIR", help="Write the trace of every minimal set of faults there.")
@output_options
def faults(prop: str, costs: tuple[str, ...], grid: tuple[str, ...], **given: Any) -> Exit:
    """Find the fewest faults, in total and by kind, that break a property of PROTOCOL.

    Faults are the budgets of the protocol's state, such as crashes and fences. The constants say how many of each are tried
    at most. Kinds that are not counted may happen as often as their constants allow.

    \b
    Exit status: 0 found, or nothing breaks the property up to the constants, 2 bad input,
    3 a search ended without a decision.
    """  # noqa: D301 (\b is the mark by which click keeps lines)
    from fencepost.api.calls.faults import faults as counted

    question = Target.taken(given).question()
    names = ("kinds", "max_states", "normalize", "compact", "checkpoint", "resume")
    with Display(quiet=given["quiet"]) as display:
        made, unkept = as_far_as_kept(
            counted,
            question,
            prop=prop,
            costs=_costs(costs),
            grid=axes_of(question.protocol.machine, grid),
            workers=given["workers"],
            budget=given["budget"],
            memory=given["memory"],
            traces=given["trace"],
            progress=display,
            **{name: given[name] for name in names},
        )
    if given["json"]:
        print_json(made.to_dict())
    else:
        from fencepost.cli.views.faults import print_faults

        print_faults(results(), made.to_dict())
    if unkept is not None:
        raise unkept
    return Exit.UNDETERMINED if made.undetermined else Exit.AS_EXPECTED


def _costs(costs: tuple[str, ...]) -> dict[str, int]:
    """Return what a fault of each named kind costs; raise UsageError for a text that does not say it."""
    found = {}
    for text in costs:
        name, _, value = text.partition("=")
        if not value.isdigit():
            raise UsageError(f"--cost was given {text!r}: write KIND=N with a whole number, such as --cost crashes=2.")
        found[name.strip().replace("-", "_")] = int(value)
    return found
