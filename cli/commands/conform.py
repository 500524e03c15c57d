"""`fencepost conform`: the model's histories on the classes of Apache Kafka, compared step by step."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from fencepost.api.asking.constants import make_constants
from fencepost.api.asking.quantities import counted, show_seconds
from fencepost.api.files import make_sure_folder
from fencepost.cli.commands.constants import parse_constants
from fencepost.cli.commands.options import Time, constants_options, output_options, workers_option
from fencepost.cli.status import Exit, worst_exit
from fencepost.cli.views.console import print_json, results, styled
from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from fencepost.kafka.clients.report import ClientReport
    from fencepost.kafka.conform.binding import Binding
    from fencepost.kafka.conform.changes import ChangesReport
    from fencepost.kafka.conform.guards import GuardsReport
    from fencepost.kafka.conform.histories import HistoriesReport
    from fencepost.kafka.driver.releases import Release
    from fencepost.model.language import Constants
    from rich.console import Console

ENDS = {"conforms": Exit.AS_EXPECTED, "differs": Exit.FAILED, "undetermined": Exit.UNDETERMINED}
COLOURS = {"conforms": "bold green", "differs": "bold red", "undetermined": "bold yellow"}
SHOWN = 8
"""Rows of one difference that are printed; its trace has them all."""


@click.command()
@click.argument("protocol")
@click.option("--kafka", metavar="VERSION", help="The release of Kafka, such as 4.1.2; Maven brings its jars.")
@click.option("--jars", metavar="DIR", help="Take the jars in this folder, such as those of your own build.")
@click.option(
    "--client",
    "clients",
    multiple=True,
    metavar="NAME==VERSION",
    help="Play with a real client, such as librdkafka==2.6.1 (repeatable).",
)
@constants_options
@click.option("--trace", "files", multiple=True, metavar="FILE", help="Execute the history of a trace (repeatable).")
@click.option(
    "--story",
    "stories",
    multiple=True,
    metavar="NAME",
    help="Play a story of docs/clients.md to the client (repeatable).",
)
@click.option(
    "--walks", type=click.IntRange(1), metavar="N", help="Execute random walks instead of the whole state graph."
)
@click.option("--depth", type=click.IntRange(1), metavar="N", help="Steps of a walk at most: 40, or 30 with --client.")
@click.option("--seed", type=int, default=1, show_default=True, metavar="N", help="Take other walks.")
@click.option(
    "--ablate", is_flag=True, help="Remove each of Kafka's checks from the model, turn each rule: is it noticed?"
)
@click.option("--refusals", type=click.IntRange(1), metavar="N", help="Try N steps on Kafka that the model refuses.")
@click.option(
    "--changes", is_flag=True, help="Compare each change of the partition with Kafka's PartitionChangeBuilder alone."
)
@click.option("--lines", is_flag=True, help="Count the lines of Kafka's classes that are executed (JaCoCo, by Maven).")
@click.option("--budget", type=Time(), metavar="TIME", help="Stop after this time, such as 10m.")
@workers_option("Processes that run Kafka's classes")
@click.option("--output", metavar="DIR", help="Write each difference there, as a trace that replays.")
@output_options
def conform(protocol: str, kafka: str | None, jars: str | None, **given: Any) -> Exit:
    """Execute what PROTOCOL allows on the classes of Apache Kafka, and compare the whole state after every step.

    With --client, histories of leader-discovery are played by a scripted cluster on 127.0.0.1 to real clients, which are judged by the rules of
    KIP-951 and KIP-320.

    A controller and brokers of Kafka's classes, or nodes of its raft client, run in one Java process, without network and without threads. By default
    walks that together take every transition of a small state graph are executed.

    \b
    Exit status: 0 Kafka does as the model does, 1 they differ, 2 bad input (or no Java, no Maven, no such
    release), 3 the time was over before the end. With --client: 0 every rule is kept, 1 one is broken each time that its
    history is played, 3 one is broken now and then, or a client could not be run.
    """  # noqa: D301 (\b is the mark by which click keeps lines)
    from fencepost.kafka.conform.binding import binding
    from fencepost.kafka.conform.histories import write_differences
    from fencepost.kafka.driver.releases import release

    folder = Path(given["output"]) if given["output"] else None
    if given["clients"]:
        return _clients(protocol, kafka, jars, folder, given)
    if given["stories"]:
        raise UsageError(
            "--story was given without --client: stories are played to real clients, such as --client java."
        )
    bound = binding(protocol)
    if folder is not None:
        make_sure_folder(folder)
    found = release(kafka, Path(jars) if jars else None, bound.harness)
    tell = (lambda _: None) if given["quiet"] else _tell
    if found.warning:
        tell(found.warning)
    if given["changes"]:
        return _changes(bound, found, tell, given)
    if given["ablate"] or given["refusals"]:
        return _tries(bound, found, tell, given)
    reports = _reports(bound, found, tell, given)
    for report in reports:
        if folder is not None:
            write_differences(report, folder)
        if not given["json"]:
            _print(results(), report)
    if given["json"]:
        shown = [report.data() for report in reports]
        print_json(shown[0] if len(shown) == 1 else {"format": shown[0]["format"], "runs": shown})
    return worst_exit([ENDS[report.verdict] for report in reports])


def _clients(protocol: str, kafka: str | None, jars: str | None, folder: Path | None, given: dict[str, Any]) -> Exit:
    """Play histories with real clients, and show which rule each of them breaks."""
    from fencepost.kafka.clients.history import DEPTH, PROTOCOL
    from fencepost.kafka.clients.report import ClientPlan, conform_clients

    if protocol != PROTOCOL:
        raise UsageError(f"--client is for `{PROTOCOL}`, and {protocol!r} was given: real clients play its histories.")
    others = ("settings", "with_", "without", "ablate", "refusals", "changes", "lines")
    if kafka or jars or any(given[name] for name in others):
        raise UsageError(
            "--client goes with --walks, --depth, --seed, --trace, --story, --budget and --output: the machines of its histories are fixed. Leave out the others."
        )
    if folder is not None:
        make_sure_folder(folder)
    request = ClientPlan(
        walks=given["walks"] or 0,
        depth=given["depth"] or DEPTH,
        seed=given["seed"],
        files=tuple(map(Path, given["files"])),
        stories=given["stories"],
        seconds=given["budget"],
        output=folder,
    )
    reports = conform_clients(given["clients"], request, (lambda _: None) if given["quiet"] else _tell)
    if given["json"]:
        shown = [report.data() for report in reports]
        print_json(shown[0] if len(shown) == 1 else {"format": shown[0]["format"], "runs": shown})
    else:
        _print_clients(results(), reports)
    return worst_exit([ENDS[report.verdict] for report in reports])


def _reports(
    bound: Binding, found: Release, tell: Callable[[str], None], given: dict[str, Any]
) -> list[HistoriesReport]:
    from fencepost.kafka.conform.histories import DEPTH, HistoriesPlan, conform_trace
    from fencepost.kafka.conform.histories import conform_histories as execute

    if given["files"]:
        return [conform_trace(bound, found, Path(file)) for file in given["files"]]
    request = HistoriesPlan(
        constants=_constants(bound, found.model, given),
        walks=given["walks"] or 0,
        depth=given["depth"] or DEPTH,
        seed=given["seed"],
        seconds=given["budget"],
        workers=given["workers"] or os.cpu_count() or 1,
        lines=given["lines"],
    )
    return [execute(bound, found, request, tell)]


def _tries(bound: Binding, found: Release, tell: Callable[[str], None], given: dict[str, Any]) -> Exit:
    """Try what the model without one of its checks allows, or what it refuses, and show what Kafka did."""
    from fencepost.kafka.conform.guards import conform_guards

    if given["files"] or given["walks"] or given["settings"] or given["with_"] or given["without"]:
        raise UsageError(
            "--ablate and --refusals choose their histories and constants themselves: leave out --trace, --walks, --set, --with and --without."
        )
    report = conform_guards(
        bound,
        found,
        given["version"] or found.model,
        given["refusals"] or 0,
        given["seed"],
        tell,
        ablate=given["ablate"],
    )
    if given["json"]:
        print_json(report.data())
    else:
        _print_tries(results(), report)
    return ENDS[report.verdict]


def _changes(bound: Binding, found: Release, tell: Callable[[str], None], given: dict[str, Any]) -> Exit:
    """Compare what comes of every change of the partition, and show where the two differ."""
    from fencepost.kafka.conform.binding import PROTOCOL
    from fencepost.kafka.conform.changes import conform_changes

    if bound.protocol != PROTOCOL:
        raise UsageError(f"--changes is for `{PROTOCOL}`: it asks Kafka's PartitionChangeBuilder.")
    others = ("files", "walks", "settings", "with_", "without", "ablate", "refusals", "lines", "output")
    if any(given[name] for name in others):
        raise UsageError(
            "--changes chooses its images and constants itself: leave out all options but --kafka, --jars and --json."
        )
    values = dict(bound.machine.version(given["version"] or found.model).values)
    report = conform_changes(found, bound.machine, bound.machine.set_constants(values), tell)
    if given["json"]:
        print_json(report.data())
    else:
        _print_changes(results(), report)
    return ENDS[report.verdict]


def _constants(bound: Binding, model: str, given: dict[str, Any]) -> Constants:
    """Return the constants: a small configuration of the version that the release is compared with, and what was set."""
    small = {**bound.rules(model), **({} if given["walks"] else bound.small)}
    asked = parse_constants(bound.machine, given["settings"], given["with_"], given["without"])
    return make_constants(bound.machine, given["version"] or model, {**small, **asked})


def _tell(text: str) -> None:
    sys.stderr.write(f"fencepost: {text}\n")


def _print(console: Console, report: HistoriesReport) -> None:
    data = report.data()
    console.print(styled(f"{data['protocol']} on Kafka {data['kafka']}: {report.verdict}", COLOURS[report.verdict]))
    if data["transitions"]:
        console.print(
            f"  {data['executed']:,} of {data['transitions']:,} transitions between {counted(data['states'], 'state')} executed"
        )
    console.print(
        f"  {data['steps']:,} steps in {counted(data['histories'], 'history', 'histories')}, {data['compared']:,} states compared in "
        f"{show_seconds(data['seconds'])}: {data['steps_per_second']:,.0f} steps a second"
    )
    if not data["transitions"]:
        console.print(f"  {data['executed']:,} different pairs of a state and a step")
    for item in data["lines"]:
        console.print(f"  {item['class']}: {item['executed_lines']:,} of {item['lines_in_all']:,} lines executed")
    if report.finding:
        console.print(f"  {report.finding}")
    for item in data["set_aside"]:
        console.print(
            f"  {counted(item['histories'], 'history', 'histories')} set aside: {item['why']}", soft_wrap=True
        )
    for kind, found in report.outcome.differences.items():
        console.print(
            styled(f"  after {found.action} ({counted(report.outcome.times[kind], 'history', 'histories')})", "bold")
        )
        for name, model, kafka in found.rows[:SHOWN]:
            console.print(f"    {name}: {model} in the model, {kafka} in Kafka", soft_wrap=True)
        if kind in report.traces:
            console.print(f"    {report.traces[kind]}", soft_wrap=True)


def _print_clients(console: Console, reports: list[ClientReport]) -> None:
    """Print a table, rule by client: histories that broke a rule of those in which it could be broken."""
    from fencepost.kafka.clients.rules import NAMES

    for report in reports:
        outcome = report.outcome
        console.print(
            styled(f"{outcome.client.title if outcome else report.asked}: {report.verdict}", COLOURS[report.verdict])
        )
        if outcome is None:
            console.print(f"  {report.missing}", soft_wrap=True)
            continue
        rate = outcome.histories / outcome.seconds if outcome.seconds else 0
        console.print(
            f"  {counted(outcome.histories, 'history', 'histories')}, {outcome.counted:,} of them judged, {rate:.0f} a second"
        )
        if outcome.deaths:
            console.print(f"  the process of the client died {counted(outcome.deaths, 'time')}")
        for reasons, said in ((outcome.begun_again, "begun again alone"), (outcome.undone, "not played to the end")):
            for why, times in sorted(reasons.items()):
                console.print(f"  {counted(times, 'history', 'histories')} {said}: {why}", soft_wrap=True)
        for name in NAMES:
            if outcome.exercised_in[name]:
                broken = f"broken in {outcome.broken[name]:,} of " if outcome.broken[name] else "kept in "
                console.print(f"    {name:<30} {broken}{outcome.exercised_in[name]:,}")
        for rule, found in outcome.failures.items():
            shown = max(found, key=lambda item: item.is_steady)
            console.print(
                f"  {rule}, in {shown.history.name}: {shown.verdict.why} ({outcome.again(rule)})", soft_wrap=True
            )
            if rule in report.traces:
                console.print(f"    {report.traces[rule]}", soft_wrap=True)


def _print_tries(console: Console, report: GuardsReport) -> None:
    console.print(
        styled(f"{report.bound.protocol} on Kafka {report.release.version}: {report.verdict}", COLOURS[report.verdict])
    )
    if report.rows:
        console.print(f"  {report.noticed} of {report.drivable} checks and rules are noticed when they are gone")
    for row in report.rows:
        if row.is_well and not row.why:
            continue
        console.print(f"    {row.variant.name}: {row.sight}{': ' if row.why else ''}{row.why}", soft_wrap=True)
        if row.shown is not None and not row.is_well:
            console.print(f"      {row.shown.answer}, after {' / '.join(row.shown.steps)}", soft_wrap=True)
    if report.refusals is not None:
        console.print(f"  {report.refusals.tries:,} steps that the model refuses were tried")
        for (action, answer), times in sorted(report.refusals.answers.items()):
            console.print(f"    {action}: {answer} ({times:,})", soft_wrap=True)
        for item in report.refusals.forbidden[:SHOWN]:
            console.print(
                f"    Kafka does what the model refuses: {item.answer}, after {' / '.join(item.steps)}", soft_wrap=True
            )
    console.print(f"  in {show_seconds(report.seconds)}")


def _print_changes(console: Console, report: ChangesReport) -> None:
    console.print(styled(f"replication on Kafka {report.release.version}: {report.verdict}", COLOURS[report.verdict]))
    for item in report.compared:
        console.print(
            f"  {item.changes:,} changes of {item.images:,} images in {item.states:,} states compared: {item.different:,} differ"
        )
        if item.idle:
            console.print(f"  {item.idle:,} of them name the replicas that are there: the model leaves them out")
        for one in item.departures[:SHOWN]:
            console.print(f"    {one.change.what.name.lower()} of {one.image}, {one.change}", soft_wrap=True)
            console.print(f"      {one.model} in the model, {one.kafka} in Kafka", soft_wrap=True)
    console.print(f"  in {show_seconds(report.seconds)}")
