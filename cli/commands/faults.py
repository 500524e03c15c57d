"""`fencepost faults`: finds the fewest faults that violate a property, and how many faults each setting tolerates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from click import argument, option
from fencepost.api.answers.as_json import Json
from fencepost.api.asking.constants import axes_of
from fencepost.api.asking.quantities import counted
from fencepost.api.calls.check import ENGINES
from fencepost.api.topics.claims import breaks_with, left_out, name_of, tolerated, words_of
from fencepost.cli.commands import options
from fencepost.cli.failures import require_kept
from fencepost.cli.status import Exit
from fencepost.cli.views.console import called, print_lines, print_rows, show, styled, verdict_style
from fencepost.cli.views.screen import print_answer, violation
from fencepost.explorers.verdict import Verdict
from fencepost.invariants.protocols import PROTOCOLS
from fencepost.model.language.actions import Property
from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    from fencepost.api.calls.faults import FaultsResult
    from rich.console import Console


@options.command()
@argument("protocol", metavar="PROTOCOL_OR_FILE")
@options.constants_options
@option("--property", "prop", required=True, metavar="NAME", help="The property that the faults must violate.")
@option(
    "--kind", "kinds", multiple=True, metavar="NAME", help="Count faults of this kind. [default: all possible kinds]"
)
@option("--cost", "costs", multiple=True, metavar="KIND=N", help="Let one fault of this kind cost N.  [default: 1]")
@option("--grid", multiple=True, metavar="NAME=V,V,...", help="Use each of these values; repeat to combine grids.")
@option("--engine", default="native", show_default=True, metavar="NAME", help=f"Search engine: {', '.join(ENGINES)}.")
@options.workers_option()
@option("--budget", type=options.TIME, help="Stop each search after this much time.")
@option("--max-states", type=options.Count(1), help="Stop each search after N states.")
@option("--memory", type=options.SIZE, help="Stop a search before its states need more memory than this, e.g. 8G.")
@options.compact_option
@options.normalize_option
@option("--checkpoint", metavar="DIR", help="Save the result for each setting in this folder.")
@option("--resume", is_flag=True, help="Read finished settings from the checkpoint.")
@option("--trace", metavar="DIR", help="Write the trace of every minimal set of faults to this folder.")
@options.verbose_option
@options.output_options
def faults(prop: str, costs: tuple[str, ...], grid: tuple[str, ...], **given: Any) -> Exit:
    """Find the fewest faults, in total and by kind, that violate a property of PROTOCOL.

    Faults, such as crashes and fences, are limited by budgets in the protocol's state. The constants limit how many
    faults of each kind are tried. Faults of uncounted kinds may happen as often as the constants allow.

    Exit status: 0 if such faults were found, or if no allowed number of faults violates the property, 2 for bad input,
    3 if a search ended without a decision.
    """
    from fencepost.api.calls.faults import faults as counted

    question = options.Target.from_options(given).question()
    names = "kinds workers budget max_states memory normalize compact engine checkpoint resume"
    more = {"costs": _costs(costs), "grid": axes_of(question.protocol.machine, grid), "traces": given["trace"]}
    made = called(given, counted, names, question, prop=prop, **more)
    show(given, made, print_faults, properties=question.protocol.properties, quiet=given["quiet"])
    require_kept(made.problems)
    return Exit.UNDETERMINED if made.undetermined else Exit.AS_EXPECTED


def _costs(costs: tuple[str, ...]) -> dict[str, int]:
    found = {}
    for text in costs:
        name, _, value = text.partition("=")
        if not value.isdigit():
            raise UsageError(f"--cost {text!r}: expected KIND=N with a whole number, such as --cost crashes=2.")
        found[name.strip().replace("-", "_")] = int(value)
    return found


SETTINGS = 12


def headline(data: Json, properties: Iterable[Property]) -> str:
    points, name = data["grid"], data["property"]["name"]
    broken = [point for point in points if point["front"]]
    if broken:
        least = min(broken, key=lambda point: min(item["cost"] for item in point["front"]))
        where = f"in {len(broken)} of {len(points)} settings, such as {name_of(least['setting'])} "
        return violation(properties, name, f"{where if len(points) > 1 else ''}with {breaks_with(least)}")
    if any(point["undetermined"] for point in points) or not points or data["not_run"]:
        return f"Undetermined: no combination of faults that was tried violates `{name}`, but some could not be tried."
    settings = f", in all {len(points)} settings" if len(points) > 1 else ""
    said = {tolerated(point) for point in points}
    return f"`{name}` tolerates {said.pop() if len(said) == 1 else 'all that were tried'}{settings}."


def print_faults(
    console: Console,
    made: FaultsResult,
    properties: Iterable[Property] | None = None,
    *,
    verbose: bool = True,
    quiet: bool = False,
) -> None:
    """Print, for each setting, the faults that it tolerates and the fewest faults that violate the property."""
    data = made.to_dict()
    if properties is None:
        properties = PROTOCOLS[data["protocol"]].properties if data["protocol"] in PROTOCOLS else ()
    print_lines(console, headline(data, tuple(properties)), style=_style(data))
    if verbose:
        print_lines(console, data["property"]["sentence"], style="dim")
    console.print()
    points = data["grid"] if verbose else data["grid"][:SETTINGS]
    if verbose:
        head = tuple(styled(text, "bold") for text in ("setting", "tolerates", "breaks with"))
        print_rows(console, [head, *((name_of(it["setting"]), tolerated(it), breaks_with(it)) for it in points)])
    else:
        broken = [f"; breaks with {breaks_with(item)}" if item["front"] else "" for item in points]
        found = [f"tolerates {tolerated(item)}{end}" for item, end in zip(points, broken, strict=True)]
        print_rows(console, list(zip([name_of(item["setting"]) for item in points], found, strict=True)))
    if len(points) < len(data["grid"]):
        print_lines(console, f"{len(data['grid']) - len(points)} more settings: `-v`", style="dim")
    for point in points:
        where = f"{name_of(point['setting'])}, " if point["setting"] else ""
        for item in point["unknown"]:
            words = f"Undetermined: {where}{words_of(item['faults'], point['kinds'])}: {item['why']}."
            print_lines(console, words, style="yellow")
    for left in data["refused"]:
        print_lines(console, f"{name_of(left['constants'])}: left out, because {left['why']}", style="dim")
    if data["not_run"]:
        print_lines(console, f"Partial. Not run: {', '.join(data['not_run'])}.", style="yellow")
    fewer = any(point.get("fewer") for point in data["grid"]) and not (verbose or quiet)
    print_answer(console, _facts(data, verbose=verbose), hint="why smaller numbers were searched too" if fewer else "")


def _style(data: Json) -> str:
    if any(point["front"] for point in data["grid"]):
        return verdict_style(Verdict.VIOLATED)
    unknown = data["not_run"] or any(point["undetermined"] for point in data["grid"])
    return verdict_style(Verdict.UNDETERMINED if unknown else Verdict.HOLDS)


def _facts(data: Json, *, verbose: bool) -> Iterator[tuple[str, str]]:
    most: dict[str, int] = {}
    for name, count in (item for point in data["grid"] for item in point["most"].items()):
        most[name] = max(count, most.get(name, 0))
    yield "tried", f"up to {words_of(most)}; faults of other kinds are limited by the constants, and have no cost"
    fewer = {name: why for point in data["grid"] for name, why in point.get("fewer", {}).items()}
    if fewer and verbose:
        apart = "; ".join(f"{name}: {why}" for name, why in fewer.items())
        yield "each", f"smaller numbers were searched too, because larger numbers may not cover them ({apart})"
    omission = sum(point["omission"] for point in data["grid"])
    searches, states = (sum(point[name] for point in data["grid"]) for name in ("searches", "states"))
    together = f"{counted(searches, 'search', 'searches')} of {counted(states, 'state')} in total"
    yield "reach", f"{together}{left_out(omission)}"
