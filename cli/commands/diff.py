"""`fencepost diff`: the first state and the first behaviour that only one of two variants has."""

from __future__ import annotations

from typing import Any

import click
from fencepost.api.calls.diff import MOST_PAIRS
from fencepost.cli.commands.options import (
    Size,
    Target,
    constants_options,
    normalize_option,
    output_options,
    workers_option,
)
from fencepost.cli.status import Exit
from fencepost.cli.views.console import print_json, results
from fencepost.cli.views.diff import print_diff
from fencepost.cli.views.display import Display
from fencepost.model.language.errors import UsageError


@click.command()
@click.argument("protocol", metavar="PROTOCOL_OR_FILE")
@constants_options
@click.option(
    "--a", "one", default="", metavar="VARIANT", help="How side A differs; the protocol as it is if not given."
)
@click.option("--b", "other", default="", metavar="VARIANT", help="How side B differs.")
@click.option(
    "--on", "paths", multiple=True, metavar="FIELD", help="Compare only this field of the state, such as replica.log."
)
@click.option(
    "--max-pairs", type=click.IntRange(1), default=MOST_PAIRS, metavar="N", help="Give up after so many pairs of sets."
)
@workers_option()
@click.option("--max-states", type=click.IntRange(1), metavar="N", help="Give up after so many states of a side.")
@click.option(
    "--memory", type=Size(), metavar="SIZE", help="Give up before the states of a side take more than this, such as 4G."
)
@normalize_option
@output_options
def diff(one: str, other: str, paths: tuple[str, ...], **given: Any) -> Exit:
    """Compare two variants of PROTOCOL: reachable states, and behaviours as they look from outside.

    A VARIANT is written as one text: settings NAME=VALUE, the name of a version, another protocol, or a Python file, with
    blanks between them, such as --a "elr=on min_isr=2" --b kafka-4.0. What --set, --version, --with and --without say
    holds on both sides, where a VARIANT does not say otherwise. Both sides must have the same state.

    They are compared by all that the protocol keeps (without budgets and ghosts), and by what its clients can see; with
    --on, by the named fields only.

    \b
    Exit status: 0 no difference, 1 there is one, 2 bad input, 3 undetermined.
    """  # noqa: D301 (\b is the mark by which click keeps lines)
    if not one.strip() and not other.strip():
        raise UsageError(
            "neither --a nor --b was given, so both sides would be the same: say what to compare, such as --b SWITCH=on, "
            "--b VERSION or --b PROTOCOL."
        )
    from fencepost.api.calls.diff import diff as compared

    question = Target.taken(given).question()
    with Display(quiet=given["quiet"]) as display:
        made = compared(
            question,
            a=one,
            b=other,
            on=paths,
            workers=given["workers"],
            memory=given["memory"],
            progress=display,
            **{name: given[name] for name in ("max_pairs", "max_states", "normalize")},
        )
    if given["json"]:
        print_json(made.to_dict())
    else:
        print_diff(results(), made.to_dict())
    return {True: Exit.AS_EXPECTED, False: Exit.FAILED, None: Exit.UNDETERMINED}[made.same]
