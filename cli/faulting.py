"""`fencepost faults`: the fewest faults that break a property, and what settings tolerate."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from fencepost.cli.asked import asked, constants_options
from fencepost.cli.console import counted, heading, print_json, print_lines, print_rows, results, styled
from fencepost.cli.data import FORMAT
from fencepost.cli.display import Display
from fencepost.cli.failures import make_sure_folder, write_text
from fencepost.cli.grids import axes_of, settings_of
from fencepost.cli.quantities import default_memory, parse_duration, parse_size
from fencepost.cli.status import Exit
from fencepost.cli.targets import spelt
from fencepost.model.language.actions import Kind
from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fencepost.explorers.evidence.faults import Breaking, Tolerance
    from fencepost.explorers.native.compile import Kernels
    from fencepost.explorers.verdict import Options
    from fencepost.invariants.protocols import Protocol
    from fencepost.model.language import Constants, Machine, Property
    from rich.console import Console


@click.command(short_help="Find the fewest faults that break a property.")
@click.argument("protocol", metavar="PROTOCOL_OR_FILE")
@constants_options
@click.option("--property", "prop", required=True, metavar="NAME", help="The property that the faults must break.")
@click.option(
    "--kind", "kinds", multiple=True, metavar="NAME", help="Count this kind of fault; all that can happen if none is named."
)
@click.option("--cost", "costs", multiple=True, metavar="KIND=N", help="What a fault of this kind costs.  [default: 1]")
@click.option("--grid", multiple=True, metavar="NAME=V,V,...", help="Ask for each of these values; several grids are combined.")
@click.option("--workers", type=click.IntRange(1, 1024), metavar="N", help="Threads; all processors if not given.")
@click.option("--budget", metavar="TIME", help="End each search after this time.")
@click.option("--max-states", type=click.IntRange(1), metavar="N", help="End each search after so many states.")
@click.option("--memory", metavar="SIZE", help="End a search before its states take more than this, such as 8G.")
@click.option("--normalize/--no-normalize", default=True, help="Drop what nobody can ever observe.  [default: on]")
@click.option("--trace", metavar="DIR", help="Write the trace of every minimal set of faults there.")
@click.option("--json", is_flag=True, help="Print JSON.")
@click.option("--quiet", is_flag=True, help="No notes and no progress, only results.")
def faults(
    protocol: str, prop: str, kinds: tuple[str, ...], costs: tuple[str, ...], grid: tuple[str, ...], **given: Any
) -> Exit:
    """Find the fewest faults, in total and by kind, that break a property of PROTOCOL.

    Faults are the budgets of the protocol's state, such as crashes and fences. The constants say how many of each are tried
    at most. Kinds that are not counted may happen as often as their constants allow.

    \b
    Exit status: 0 found, or nothing breaks the property up to the constants, 2 bad input,
    3 a search ended before it could tell.
    """  # noqa: D301 (\b is the mark by which click keeps lines)
    target = [given.pop(name) for name in ("settings", "version", "with_", "without")]
    found, constants = asked(protocol, *target)
    with Display(quiet=given["quiet"]) as display:
        made = fault_data(found, constants, prop, kinds, costs, grid, given, display)
    if given["json"]:
        print_json(made)
    else:
        print_faults(results(), made)
    return Exit.UNDETERMINED if any(item["undetermined"] for item in made["grid"]) else Exit.AS_EXPECTED


def fault_data(
    found: Protocol,
    constants: Constants,
    prop: str,
    kinds: tuple[str, ...],
    costs: tuple[str, ...],
    grid: tuple[str, ...],
    given: dict[str, Any],
    display: Display,
) -> dict[str, Any]:
    """Return what every point of a grid tolerates; `given` holds the options that limit searches, and the folder of traces."""
    judged = found.select((prop,))[0]
    if judged.kind is Kind.SOMETIMES or judged.kind.over_behaviours:
        raise UsageError(
            f"property {prop!r} is of kind {judged.kind}: faults break what must always hold. Name such a property."
        )
    if given["trace"]:
        make_sure_folder(Path(given["trace"]))
    settings = list(_settings(found.machine, constants, grid))
    return {
        "format": FORMAT,
        "protocol": found.name,
        "property": {"name": judged.name, "sentence": judged.sentence},
        "costs": _costs(costs),
        "grid": [_ask(found, setting, told, judged, kinds, costs, given, display) for setting, told in settings],
    }


def _settings(machine: Machine, constants: Constants, grid: tuple[str, ...]) -> Iterator[tuple[Constants, dict[str, Any]]]:
    """Yield the constants of every point of the grid, with what is special about it; raise UsageError for one that is refused."""
    for setting in settings_of(machine, constants, axes_of(machine, grid)):
        if setting.constants is None:
            raise UsageError(setting.refused)
        yield setting.constants, setting.told


def _costs(costs: tuple[str, ...]) -> dict[str, int]:
    found = {}
    for text in costs:
        name, _, value = text.partition("=")
        if not value.isdigit():
            raise UsageError(f"--cost was given {text!r}: write KIND=N with a whole number, such as --cost crashes=2.")
        found[name.strip().replace("-", "_")] = int(value)
    return found


def _ask(
    found: Protocol,
    constants: Constants,
    told: dict[str, Any],
    prop: Property,
    kinds: tuple[str, ...],
    costs: tuple[str, ...],
    given: dict[str, Any],
    display: Display,
) -> dict[str, Any]:
    """Return what one setting tolerates, as data."""
    from fencepost.explorers.evidence.faults import choose_kinds, tolerance

    options = _options(given)
    counted_kinds = choose_kinds(found.machine, constants, kinds)
    where = " ".join(f"{name}={str(value).lower()}" for name, value in told.items())
    kernels = _kernels(found, constants, options, display)

    def tell(tried: tuple[int, ...]) -> None:
        words = " ".join(f"{name}={count}" for name, count in zip(counted_kinds, tried, strict=True))
        display.spin(f"{found.name} {where}: {words}")

    with display.busy(f"{found.name} {where}: counting faults".replace(" :", ":")):
        result = tolerance(found.machine, constants, prop, counted_kinds, _costs(costs), options, kernels, tell)
    return _data(found, prop, told, result, given)


def _options(given: dict[str, Any]) -> Options:
    from fencepost.explorers.verdict import Options

    return Options(
        workers=given["workers"] or os.cpu_count() or 1,
        normalize=given["normalize"],
        budget=parse_duration(given["budget"], "--budget") if given["budget"] else None,
        max_states=given["max_states"],
        memory=parse_size(given["memory"], "--memory") if given["memory"] else default_memory(),
    )


def _kernels(found: Protocol, constants: Constants, options: Options, display: Display) -> Kernels:
    from fencepost.cli.engines import Question, kernels_of, source_of

    question = Question(found.machine, constants, found.properties)
    return kernels_of(question, source_of(question, options), display)


def _data(found: Protocol, prop: Property, told: dict[str, Any], result: Tolerance, given: dict[str, Any]) -> dict[str, Any]:
    return {
        "setting": told,
        "constants": {name: spelt(value) for name, value in result.constants.shown().items()},
        "kinds": list(result.kinds),
        "most": dict(zip(result.kinds, result.most, strict=True)),
        "least": result.least,
        "undetermined": bool(result.unknown),
        "unknown": [{"faults": dict(zip(result.kinds, item, strict=True)), "why": why} for item, why in result.unknown],
        "front": [_breaking(found, prop, told, result.kinds, item, given) for item in result.front],
        "searches": result.searches,
        "states": result.states,
    }


def _breaking(
    found: Protocol, prop: Property, told: dict[str, Any], kinds: tuple[str, ...], item: Breaking, given: dict[str, Any]
) -> dict[str, Any]:
    from fencepost.counterexamples.replay import follow
    from fencepost.counterexamples.trace import trace_of

    used = {name: count for name, count in zip(kinds, item.faults, strict=True) if count}
    words = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in used.items()) or "no fault"
    trace = trace_of(
        item.result,
        prop.name,
        title=f"{prop.name} broken with {words}",
        source=found.machine.source,
        why=prop.sentence,
        normalize=given["normalize"],
        lookup=lambda _: found,
    )
    path = item.result.of(prop.name).path
    plain = trace.interpreter()
    data = {
        "faults": used,
        "cost": item.cost,
        "length": path.length if path else None,
        "steps": [plain.show(step) for step in trace.steps],
    }
    if given["trace"]:
        where = "-".join(f"{name}-{value}" for name, value in {**told, **used}.items()).lower()
        file = Path(given["trace"]) / f"{found.name}-{prop.name}-{where or 'no-fault'}.trace"
        write_text(file, follow(trace).text)
        data["file"] = str(file)
    return data


def print_faults(console: Console, data: dict[str, Any]) -> None:
    """Print what every setting tolerates, and how it breaks."""
    from rich.text import Text

    console.print(Text.assemble(heading(data["protocol"]), "  ", (data["property"]["name"], "bold")), soft_wrap=True)
    print_lines(console, styled(data["property"]["sentence"], "dim"))
    console.print()
    rows: list[tuple[Any, ...]] = [(styled("setting", "bold"), styled("tolerates", "bold"), styled("breaks with", "bold"))]
    for point in data["grid"]:
        where = " ".join(f"{name}={str(value).lower()}" for name, value in point["setting"].items()) or "as set"
        rows.append((where, tolerated(point), breaks_with(point)))
    print_rows(console, rows)
    for point in data["grid"]:
        for item in point["unknown"]:
            print_lines(console, styled(f"Undetermined: {words_of(item['faults'])}: {item['why']}.", "yellow"))
    most = {name: count for point in data["grid"] for name, count in point["most"].items()}
    searches, states = (sum(point[name] for point in data["grid"]) for name in ("searches", "states"))
    console.print()
    print_rows(
        console,
        [
            (styled("tried", "dim"), f"up to {words_of(most)}; other budgets as the constants set them, at no cost"),
            (styled("searches", "dim"), f"{searches:,}, of {states:,} states together"),
        ],
    )


def tolerated(point: dict[str, Any]) -> str:
    """Return how many faults a setting tolerates, in words."""
    if point["undetermined"]:
        return "undetermined"
    if point["least"] is None:
        return f"all that were tried ({words_of(point['most'])})"
    return counted(max(point["least"] - 1, 0), "fault") if point["least"] else "none: it fails without any"


def breaks_with(point: dict[str, Any]) -> str:
    """Return every minimal set of faults, with the states of its trace."""
    return "; ".join(f"{words_of(item['faults'])} ({item['length']} states)" for item in point["front"])


def words_of(used: dict[str, int]) -> str:
    """Return faults in words: `2 crashes, 1 fences`."""
    return ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in used.items() if count) or "no fault"
