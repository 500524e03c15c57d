"""`fencepost reproduce`: a finding on a real cluster on this machine, step by step."""

from __future__ import annotations

import signal
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click
from fencepost.api.files import make_sure_folder
from fencepost.cli.commands.options import Time, output_options
from fencepost.cli.status import Exit
from fencepost.cli.views.console import print_json, print_rows, results, styled
from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fencepost.kafka.clusters.reproduce import Report
    from fencepost.kafka.clusters.story import Line

COLOURS = {
    "kept": "bold green",
    "lost": "bold red",
    "out": "bold red",
    "leaderless": "bold red",
    "undetermined": "bold yellow",
}


@click.command()
@click.argument("name", required=False)
@click.option("--kafka", metavar="VERSION", help="The release of Kafka, such as 4.1.2; Maven brings its jars.")
@click.option("--jars", metavar="DIR", help="Take the jars in this folder, such as those of your own build.")
@click.option("--control", is_flag=True, help="Leave out what the finding needs; nothing must be lost then.")
@click.option("--repaired", is_flag=True, help="Run Kafka with the repair of the finding; nothing must be lost then.")
@click.option(
    "--repair", multiple=True, metavar="NAME", help="Run Kafka with this repair only, of a finding that has several."
)
@click.option(
    "--expect",
    type=click.Choice(["lost", "out", "leaderless", "kept"]),
    help="Expect this verdict, whatever is known of the release.",
)
@click.option("--budget", type=Time(), metavar="TIME", help="Stop after this time.  [default: 170s]")
@click.option(
    "--port", type=click.IntRange(1024, 65_000), metavar="N", help="The first port of the cluster.  [default: 19200]"
)
@click.option("--output", metavar="DIR", help="Keep the logs and settings of all nodes there.")
@output_options
def reproduce(name: str | None, kafka: str | None, jars: str | None, **given: Any) -> Exit:
    """Play the finding NAME on a cluster of Apache Kafka on this machine, and say what was lost.

    One controller and some brokers start as processes on 127.0.0.1, with their files in a temporary folder. A proxy delays
    messages where the story needs it; the operator's commands are Kafka's own. In the end what was acknowledged is compared
    with what can be read, and brokers that cannot come back are named. Without NAME the findings are listed.

    \b
    Exit status: 0 the verdict is as expected (a record is lost, a broker stays out, or a partition stays without a leader;
    with --control, with --repaired and on releases that are known to be safe, nothing is), 1 it is not, 2 bad input (or
    no Java, no Maven, a port that is taken), 3 the story could not be brought to its end in time.
    """  # noqa: D301 (\b is the mark by which click keeps lines)
    from fencepost.kafka.clusters.kit import kit
    from fencepost.kafka.clusters.reproduce import PORT, SCENARIOS, SECONDS, Asked, choose_repairs, scenario_named
    from fencepost.kafka.clusters.reproduce import reproduce as play

    if name is None:
        if given["json"]:
            print_json(
                {
                    "findings": [
                        {"name": found.name, "title": found.title, "control": found.control} for found in SCENARIOS
                    ]
                }
            )
        else:
            print_rows(results(), [(found.name, found.title) for found in SCENARIOS])
        return Exit.AS_EXPECTED
    if given["control"] and (given["repaired"] or given["repair"]):
        raise UsageError(
            "--control and --repaired exclude each other: a control has nothing to repair. Write one of them."
        )
    if given["repaired"] and given["repair"]:
        raise UsageError("--repaired is all repairs, and --repair some of them: write one of them.")
    keep = Path(given["output"]) if given["output"] else None
    if keep is not None:
        make_sure_folder(keep)
    budget = given["budget"] or SECONDS
    scenario = scenario_named(name)
    found = kit(kafka, Path(jars) if jars else None)
    repairs = choose_repairs(scenario, found, given["repair"]) if given["repaired"] or given["repair"] else ()
    asked = Asked(given["control"], repairs, given["port"] or PORT, budget, keep)
    if found.warning and not given["quiet"]:
        sys.stderr.write(f"fencepost: {found.warning}\n")
    with _ended_by_signals():
        report = play(scenario, asked, found, _hear(to_stderr=given["json"], quiet=given["quiet"]))
    expected = given["expect"] or report.expected
    if given["json"]:
        print_json({**report.data(), "expected": expected})
    else:
        _print(report, expected)
    if report.verdict == "undetermined":
        return Exit.UNDETERMINED
    return Exit.AS_EXPECTED if report.verdict == expected else Exit.FAILED


def _hear(*, to_stderr: bool, quiet: bool) -> Any:
    def hear(line: Line) -> None:
        if not quiet:
            print(line.shown(), file=sys.stderr if to_stderr else sys.stdout, flush=True)

    return hear


def _print(report: Report, expected: str) -> None:
    data = report.data()
    repairs = report.asked.repairs
    some = bool(repairs) and len(repairs) < len(report.scenario.repairs(report.kit.number))
    named = f" (repaired: {', '.join(repairs)})" if some else " (repaired)"
    with_ = " (control)" if report.asked.control else named if repairs else ""
    results().print(
        styled(f"{data['finding']} on Kafka {data['kafka']}{with_}: {data['verdict']}", COLOURS[data["verdict"]])
    )
    if data["verdict"] != expected:
        results().print(f"  expected: {expected}")


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end the command as Ctrl-C does, so that nothing is left."""

    def end(number: int, _: object) -> NoReturn:
        raise KeyboardInterrupt(signal.Signals(number).name)

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.signal(number, end) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
