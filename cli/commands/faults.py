"""`fencepost faults`: the fewest faults that break a property, and what settings tolerate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from fencepost.api.data import FORMAT
from fencepost.api.fault_options import costs_of, options_of, points_of, refuse_early
from fencepost.api.fault_words import name_of, one_of, words_of
from fencepost.api.files import make_sure_folder, write_text
from fencepost.api.kept import Kept, digest
from fencepost.api.quantities import counted
from fencepost.api.targets import spelt
from fencepost.cli.commands.options import asked, constants_options
from fencepost.cli.status import Exit
from fencepost.cli.views.console import print_json, results
from fencepost.cli.views.display import Display
from fencepost.model.language.fingerprint import texts

if TYPE_CHECKING:
    from fencepost.explorers.evidence.faults import Breaking, Tolerance
    from fencepost.explorers.native.compile import Kernels
    from fencepost.explorers.verdict import Options
    from fencepost.invariants.protocols import Protocol
    from fencepost.model.language import Constants, Property


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
@click.option(
    "--compact", is_flag=True, help="Keep 64-bit fingerprints instead of states; prints the probability of an omission."
)
@click.option("--normalize/--no-normalize", default=True, help="Drop what nobody can ever observe.  [default: on]")
@click.option("--checkpoint", metavar="DIR", help="Keep every finished setting there.")
@click.option("--resume", is_flag=True, help="Take the settings that are finished from the checkpoint.")
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
    limits = [given[name] for name in ("budget", "max_states", "normalize", "compact", "trace")]
    refuse_early(found, constants, prop, kinds, costs, grid, given)
    question = [*texts(found.machine, found.properties), repr((constants, prop, kinds, costs, limits))]
    kept = Kept(given["checkpoint"], digest(question), resume=given["resume"], begun=given["resume"])
    with Display(quiet=given["quiet"]) as display:
        made = fault_data(found, constants, prop, kinds, costs, grid, given, display, kept)
    if given["json"]:
        print_json(made)
    else:
        from fencepost.cli.views.faults import print_faults

        print_faults(results(), made)
    undetermined = made["not_run"] or any(item["undetermined"] for item in made["grid"])
    return Exit.UNDETERMINED if undetermined else Exit.AS_EXPECTED


def fault_data(
    found: Protocol,
    constants: Constants,
    prop: str,
    kinds: tuple[str, ...],
    costs: tuple[str, ...],
    grid: tuple[str, ...],
    given: dict[str, Any],
    display: Display,
    kept: Kept | None = None,
) -> dict[str, Any]:
    """Return what every point of a grid tolerates; `given` holds the options that limit searches, and the folder of traces.

    Points that `kept` has are taken from there, and every other one is kept as soon as it is finished. After a point that a
    signal has ended no other one is begun.
    """
    judged = found.select((prop,))[0]
    if given["trace"]:
        make_sure_folder(Path(given["trace"]))
    kept = kept or Kept(None, "", resume=False)
    points: list[dict[str, Any]] = []
    not_run: list[str] = []
    settings, refused = points_of(found.machine, constants, grid)
    finished = _recalled(kept, [name_of(told) for _, told in settings], display)
    for setting, told in settings:
        name = name_of(told)
        if not_run or (points and points[-1]["interrupted"]):
            not_run.append(name)
            continue
        known = finished.get(name)
        if known is None:
            known = _ask(found, setting, told, judged, kinds, costs, given, display)
            if not known["interrupted"]:
                kept.keep(name, known)
        points.append(known)
    return {
        "format": FORMAT,
        "protocol": found.name,
        "property": {"name": judged.name, "sentence": judged.sentence},
        "costs": costs_of(costs),
        "grid": points,
        "refused": [{"constants": item.told, "why": item.refused} for item in refused],
        "not_run": not_run,
    }


def _recalled(kept: Kept, names: list[str], display: Display) -> dict[str, dict[str, Any]]:
    """Return the points that a checkpoint has, by name, and say how many they are."""
    found = {name: point for name in names if (point := kept.recall(name)) is not None}
    if kept.resume:
        display.note(f"{len(found):,} of {counted(len(names), 'setting')} from the checkpoint in {kept.folder}")
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

    options = options_of(given)
    counted_kinds = choose_kinds(found.machine, constants, kinds)
    where = name_of(told) if told else ""
    kernels = _kernels(found, constants, options, display)

    def tell(tried: tuple[int, ...]) -> None:
        words = " ".join(f"{name}={count}" for name, count in zip(counted_kinds, tried, strict=True))
        display.spin(f"{found.name} {where}: {words}")

    with display.busy(f"{found.name} {where}: counting faults".replace(" :", ":")):
        result = tolerance(found.machine, constants, prop, counted_kinds, costs_of(costs), options, kernels, tell)
    return _data(found, prop, told, result, given)


def _kernels(found: Protocol, constants: Constants, options: Options, display: Display) -> Kernels:
    from fencepost.api.engines import Question, kernels_of, source_of

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
        "interrupted": result.interrupted,
        "unknown": [{"faults": dict(zip(result.kinds, item, strict=True)), "why": why} for item, why in result.unknown],
        "front": [_breaking(found, prop, told, result.kinds, item, given) for item in result.front],
        "searches": result.searches,
        "states": result.states,
        "omission": result.omission,
    }


def _breaking(
    found: Protocol, prop: Property, told: dict[str, Any], kinds: tuple[str, ...], item: Breaking, given: dict[str, Any]
) -> dict[str, Any]:
    from fencepost.counterexamples.replay import follow
    from fencepost.counterexamples.trace import trace_of
    from fencepost.explorers.evidence.faults import spent

    used = {name: count for name, count in zip(kinds, item.faults, strict=True) if count}
    path = item.result.of(prop.name).path
    assert path is not None
    told_of = [counted(count, one_of(name), name.replace("_", " ")) for name, count in used.items()]
    trace = trace_of(
        item.result,
        prop.name,
        title=f"{prop.name} broken with {', '.join(told_of) or words_of({}, kinds)}",
        source=found.machine.source,
        why=prop.sentence,
        normalize=given["normalize"],
        lookup=lambda _: found,
    )
    plain = trace.interpreter()
    data = {
        "faults": used,
        "free": {name: count for name, count in spent(found.machine, plain.schema, path).items() if name not in kinds},
        "cost": item.cost,
        "length": path.length,
        "steps": [plain.show(step) for step in trace.steps],
    }
    if given["trace"]:
        where = "-".join(f"{name}-{value}" for name, value in {**told, **used}.items()).lower()
        file = Path(given["trace"]) / f"{found.name}-{prop.name}-{where or 'no-fault'}.trace"
        write_text(file, follow(trace).text)
        data["file"] = str(file)
    return data
