"""`fencepost ablate`: which check buys which guarantee."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from fencepost.api.ablated import Ask, kept_rows, run_rows
from fencepost.api.engines import Question, kernels_of
from fencepost.api.files import make_sure_folder, make_sure_writable, write_text
from fencepost.api.patience import eventual_properties, judge_liveness
from fencepost.api.quantities import default_memory, parse_duration, parse_size
from fencepost.cli.commands.options import asked, constants_options, source_without_guards
from fencepost.cli.status import Exit
from fencepost.cli.views.console import print_json, results
from fencepost.cli.views.display import Display
from fencepost.explorers.verdict import ended_by_signal
from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    from fencepost.explorers.evidence.rows import Row
    from fencepost.explorers.spark.session import Cluster
    from fencepost.explorers.verdict import Options
    from fencepost.invariants.protocols import Protocol
    from fencepost.model.language import Constants, Property


@click.command(short_help="Remove one guard at a time, and see what breaks.")
@click.argument("protocol", metavar="PROTOCOL_OR_FILE")
@constants_options
@click.option("--property", "properties", multiple=True, metavar="NAME", help="Ask only for this property.")
@click.option("--guard", "guards", multiple=True, metavar="NAME", help="Remove only this guard, such as 'follower-fetch 1'.")
@click.option("--also", multiple=True, metavar="NAME=VALUE", help="A row with this constant set otherwise.")
@click.option("--workers", type=click.IntRange(1, 1024), metavar="N", help="Rows at a time; all processors if not given.")
@click.option("--budget", metavar="TIME", help="End each row after this time, such as 30s.")
@click.option("--max-states", type=click.IntRange(1), metavar="N", help="End each row after so many states.")
@click.option("--memory", metavar="SIZE", help="Memory for all rows together, such as 8G.")
@click.option("--normalize/--no-normalize", default=True, help="Drop what nobody can ever observe.  [default: on]")
@click.option("--checkpoint", metavar="DIR", help="Keep every finished row there.")
@click.option("--resume", is_flag=True, help="Take the rows that are finished from the checkpoint.")
@click.option(
    "--liveness", is_flag=True, help="Ask too what must happen in the end without guards that nothing else depends on."
)
@click.option("--html", metavar="FILE", help="Write the matrix there as one page; its cells open their traces.")
@click.option("--trace", metavar="DIR", help="Write the trace of every violated cell there.")
@click.option("--master", metavar="URL", help="Explore rows on Spark there: local[4], spark://host:port, ...")
@click.option("--conf", multiple=True, metavar="NAME=VALUE", help="A setting of Spark, such as spark.executor.memory=4g.")
@click.option("--json", is_flag=True, help="Print JSON.")
@click.option("--quiet", is_flag=True, help="No notes and no progress, only results.")
def ablate(protocol: str, **given: Any) -> Exit:
    """Search PROTOCOL without each of its guards in turn, and with each switch turned, and say what that breaks.

    A guard is needed if a property is violated without it; the shortest trace says how. A guard that nothing depends on
    is told apart: others imply it, it never refuses, it only bounds the search, or more happens and nothing breaks.

    \b
    Exit status: 0 every row is decided, 1 the whole protocol violates a property already,
    2 bad input, 3 a row is undetermined.
    """  # noqa: D301 (\b is the mark by which click keeps lines)
    target = [given.pop(name) for name in ("settings", "version", "with_", "without")]
    found, constants = asked(protocol, *target)
    ask = Ask(protocol, **given)
    cluster = _cluster(ask)
    for name in (ask.html,):
        if name:
            make_sure_writable(Path(name))
    if ask.trace:
        make_sure_folder(Path(ask.trace))
    if ask.liveness:
        eventual_properties(found)
    properties = judged_properties(found, ask)
    options, rows = _options(ask), chosen_rows(found, constants, ask)
    source = source_without_guards(found, constants, properties, normalize=ask.normalize)
    kept = kept_rows(found, constants, source, options, ask)
    with Display(quiet=ask.quiet) as display:
        kernels = kernels_of(Question(found.machine, constants, properties), source, display)
        data = run_rows(found, constants, kernels, rows, options, ask, display, kept, cluster)
        if ask.liveness:
            judge_liveness(found, constants, data, options, display)
    _write(data, ask)
    if ask.json:
        print_json(data)
    else:
        from fencepost.cli.views.matrix import print_matrix

        print_matrix(results(), data)
    return exit_of_matrix(data)


def _cluster(ask: Ask) -> Cluster | None:
    """Return where Spark runs, None if it was not asked for."""
    if ask.master is None:
        if ask.conf:
            raise UsageError("--conf was given without Spark: add --master, such as --master 'local[4]'.")
        return None
    from fencepost.cli.commands.request import Request
    from fencepost.explorers.spark.session import look_for_java

    if ask.workers:
        raise UsageError("--workers does not go with --master: Spark explores as many rows at a time as it has processors.")
    look_for_java()
    return Request(protocols=(ask.protocol,), engine="spark", master=ask.master, conf=ask.conf).cluster()


def _options(ask: Ask) -> Options:
    from fencepost.explorers.verdict import Options

    workers = ask.workers or os.cpu_count() or 1
    memory = parse_size(ask.memory, "--memory") if ask.memory else default_memory()
    return Options(
        workers=workers,
        normalize=ask.normalize,
        budget=parse_duration(ask.budget, "--budget") if ask.budget else None,
        max_states=ask.max_states,
        memory=memory // workers if memory else None,
    )


def judged_properties(found: Protocol, ask: Ask) -> tuple[Property, ...]:
    """Return the properties that are asked for; raise UsageError if a guard cannot be needed for any of them."""
    chosen = found.select(ask.properties)
    if any(item.kind.must_hold for item in chosen):
        return chosen
    known = [item.name for item in found.every_property if item.kind.must_hold]
    given = ", ".join(f"{item.name!r} ({item.kind})" for item in chosen)
    write = f"name another one: {', '.join(known)}." if known else "write a property under @always or @step(...) first."
    raise UsageError(
        f"ablate was asked for {given}: a guard is needed for what must hold in every state or step, and no such property is "
        f"among them. Leave --property out, or {write}"
        if ask.properties and known
        else f"protocol {found.name!r} has no property that must hold in every state or step, so no guard can be needed: {write}"
    )


def chosen_rows(found: Protocol, constants: Constants, ask: Ask) -> tuple[Row, ...]:
    """Return the rows that are asked for: the named guards and settings, or everything."""
    from fencepost.api.targets import parse_setting
    from fencepost.explorers.evidence.rows import rows_of, settings
    from fencepost.model.language.removal import find_guard

    more: dict[str, tuple[int, ...]] = {}
    for text in ask.also:
        name, value = parse_setting(found.machine, "--also", text)
        more[name] = (*more.get(name, ()), value)
    if not ask.guards:
        return rows_of(found.machine, constants, more)
    named = {item.name: item for item in settings(constants, more)}
    rows = [named[name] if name in named else find_guard(found.machine, name) for name in ask.guards]
    rows += [item for item in named.values() if item.value in more.get(item.constant, ())]
    return tuple(dict.fromkeys(rows))


def _write(data: dict[str, Any], ask: Ask) -> None:
    if ask.html:
        from fencepost.cli.views.matrix_page import page

        write_text(Path(ask.html), page(data))
    if ask.trace:
        for row in data["rows"]:
            for prop, cell in row["cells"].items():
                if "trace" in cell:
                    cell["file"] = str(Path(ask.trace) / f"{row['row'].replace(' ', '-')}-{prop}.trace")
                    write_text(Path(cell["file"]), cell["trace"])


def exit_of_matrix(data: dict[str, Any]) -> Exit:
    """Return the status of a matrix: a signal first, then the whole machine's violations, then what is missing."""
    if ended_by_signal(data["why_stopped"]):
        return Exit.UNDETERMINED
    if any(item["verdict"] == "violated" for item in data["properties"]):
        return Exit.FAILED
    undetermined = any(row["purpose"] == "undetermined" for row in data["rows"])
    return Exit.UNDETERMINED if undetermined or data["not_run"] else Exit.AS_EXPECTED
