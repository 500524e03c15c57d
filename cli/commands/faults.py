"""`fencepost faults`: the fewest faults that break a property, and what settings tolerate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from fencepost.api.calls.check import ENGINES
from fencepost.api.calls.grids import axes_of
from fencepost.api.topics.fault_words import breaks_with, left_out, name_of, tolerated, words_of
from fencepost.cli.commands.options import (
    Count,
    Size,
    Target,
    Time,
    command,
    compact_option,
    constants_options,
    normalize_option,
    output_options,
    workers_option,
)
from fencepost.cli.failures import require_kept
from fencepost.cli.status import Exit
from fencepost.cli.views.console import heading, print_json, print_lines, print_rows, results, styled
from fencepost.cli.views.display import Display
from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    from fencepost.api.answers.contract_evidence import FaultsData
    from rich.console import Console


@command()
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
@click.option(
    "--engine", default="native", show_default=True, metavar="NAME", help=f"Search with: {', '.join(ENGINES)}."
)
@workers_option()
@click.option("--budget", type=Time(), help="End each search after this time.")
@click.option("--max-states", type=Count(1), help="End each search after so many states.")
@click.option("--memory", type=Size(), help="End a search before its states need more memory than this, such as 8G.")
@compact_option
@normalize_option
@click.option("--checkpoint", metavar="DIR", help="Keep every finished setting there.")
@click.option("--resume", is_flag=True, help="Take the settings that are finished from the checkpoint.")
@click.option("--trace", metavar="DIR", help="Write the trace of every minimal set of faults there.")
@output_options
def faults(prop: str, costs: tuple[str, ...], grid: tuple[str, ...], **given: Any) -> Exit:
    """Find the fewest faults, in total and by kind, that break a property of PROTOCOL.

    Faults are the budgets of the protocol's state, such as crashes and fences. The constants say how many of each are
    tried at most. Kinds that are not counted may happen as often as their constants allow.

    \b
    Exit status: 0 found, or nothing breaks the property up to the constants, 2 bad input,
    3 a search ended without a decision.
    """
    from fencepost.api.calls.faults import faults as counted

    question = Target.from_options(given).question()
    names = ("kinds", "max_states", "normalize", "compact", "engine", "checkpoint", "resume")
    with Display(quiet=given["quiet"]) as display:
        made = counted(
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
        print_faults(results(), made.to_dict())
    require_kept(made.problems)
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


def print_faults(console: Console, data: FaultsData) -> None:
    """Print what every setting tolerates, and how it breaks."""
    from rich.text import Text

    console.print(Text.assemble(heading(data["protocol"]), "  ", (data["property"]["name"], "bold")), soft_wrap=True)
    print_lines(console, data["property"]["sentence"], style="dim")
    console.print()
    head = tuple(styled(text, "bold") for text in ("setting", "tolerates", "breaks with"))
    rows = [(name_of(point["setting"]), tolerated(point), breaks_with(point)) for point in data["grid"]]
    print_rows(console, [head, *rows])
    for point in data["grid"]:
        where = f"{name_of(point['setting'])}, " if point["setting"] else ""
        for item in point["unknown"]:
            words = f"Undetermined: {where}{words_of(item['faults'], point['kinds'])}: {item['why']}."
            print_lines(console, words, style="yellow")
    for left in data["refused"]:
        print_lines(console, f"{name_of(left['constants'])}: left out, {left['why']}", style="dim")
    if data["not_run"]:
        print_lines(console, f"Partial. Not run: {', '.join(data['not_run'])}.", style="yellow")
    most = {name: count for point in data["grid"] for name, count in point["most"].items()}
    omission = sum(point["omission"] for point in data["grid"])
    searches, states = (sum(point[name] for point in data["grid"]) for name in ("searches", "states"))
    console.print()
    fewer = {name: why for point in data["grid"] for name, why in point.get("fewer", {}).items()}
    apart = "; ".join(f"{name}: {why}" for name, why in fewer.items())
    print_rows(
        console,
        [
            (styled("tried", "dim"), f"up to {words_of(most)}; other budgets as the constants set them, at no cost"),
            *(
                [(styled("each", "dim"), f"fewer were searched too, as more may not cover them ({apart})")]
                * bool(fewer)
            ),
            (styled("searches", "dim"), f"{searches:,}, of {states:,} states together{left_out(omission)}"),
        ],
    )
