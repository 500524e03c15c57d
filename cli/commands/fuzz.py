"""`fencepost fuzz`: runs random histories of Kafka's own classes and reports violations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from click import option
from fencepost.cli.commands.options import TIME, Count, cluster_if_given, command, output_options
from fencepost.cli.status import Exit
from fencepost.cli.views.console import called, print_json, print_lines, print_rows, results, styled

if TYPE_CHECKING:
    from fencepost.api.calls.fuzz import FuzzResult
    from fencepost.kafka.fuzz.histories import Alarm

ENDS = {
    "unknown": Exit.FAILED,
    "known": Exit.AS_EXPECTED,
    "nothing": Exit.AS_EXPECTED,
    "undetermined": Exit.UNDETERMINED,
}
COLOURS = {"unknown": "bold red", "known": "bold yellow", "nothing": "bold green", "undetermined": "bold yellow"}
SHOWN = 13


@command()
@option("--kafka", metavar="VERSION", help="The Kafka release, such as 4.1.2; Maven downloads its jars.")
@option("--jars", metavar="DIR", help="Use the jars in this folder, for example those of your own build.")
@option("--histories", type=Count(1), help="Stop after N histories.  [default: 1000]")
@option("--budget", type=TIME, metavar="TIME", help="Stop after this much time, e.g. 10m.")
@option("--seed", type=Count(0), default=1, show_default=True, help="The first seed.")
@option(
    "--profile",
    default="mixed",
    metavar="NAME",
    show_default=True,
    help="disks, crashes, operators, all, transactions, sessions, or mixed.",
)
@option("--threads", is_flag=True, help="Let the threads of brokers race, in schedules that Fray controls.")
@option("--scheduler", metavar="NAME", help="With --threads: random, pct, pos, or mixed.  [default: mixed]")
@option("--replay", metavar="FILE", help="Replay a history that --output wrote.")
@option("--output", metavar="DIR", help="Write the shortest histories to this folder, as scripts and as Parquet.")
@option("--master", metavar="URL", help="Run the histories on this Spark master: local[4], spark://host:port, ...")
@option("--conf", multiple=True, metavar="NAME=VALUE", help="A Spark setting, such as spark.executor.memory=4g.")
@output_options
def fuzz(**given: Any) -> Exit:
    """Run random histories on a controller and brokers built from Apache Kafka's classes, and check each step.

    No model guides the histories. One Java process runs the classes, without a network or threads: clients write,
    followers fetch, requests are delayed, directories fail, brokers crash and restart from their files, and operators
    intervene. Each history has so few faults that the loss of an acknowledged record is a bug. If a history violates a
    guarantee, it is shortened to the fewest steps and replayed with each known finding's fix, to find the cause.

    With --threads, threads of brokers race on JDK 25. At each lock, Fray chooses which thread runs.

    Exit status: 0 for no violation or only known findings, 1 for a violation that no known finding explains, 2 for bad
    input (or if Java, Maven or the release is missing), 3 if too few histories ran in time for a conclusion.
    """
    from fencepost.api.calls.fuzz import fuzz as draw

    cluster = cluster_if_given(given["master"], given["conf"])
    found = called(
        given, draw, "kafka jars histories budget seed profile replay output threads scheduler", cluster=cluster
    )
    if given["json"]:
        print_json(found.to_dict())
    else:
        _print(found)
    return ENDS[found.verdict]


def _print(found: FuzzResult) -> None:
    console = results()
    print_lines(console, f"{found.sentence}.", style=COLOURS[found.verdict])
    print_lines(console, found.sight, indent=2)
    for alarm in found.unknown[:1]:
        _print_alarm(alarm)
    for alarm in found.unknown[1:]:
        print_lines(console, f"Seed {alarm.seed}, {len(alarm.steps)} steps: {alarm.message}")
    for path in found.data["written"]:
        print_lines(console, f"written: {path}", indent=2)


def _print_alarm(alarm: Alarm) -> None:
    from fencepost.kafka.fuzz.histories import words

    console = results()
    where = f"seed {alarm.seed}, " if alarm.seed >= 0 else ""
    print_lines(console, "", f"Violated ({where}{len(alarm.steps)} steps): {alarm.message}", style="bold")
    steps = list(enumerate(alarm.steps, 1))
    left = len(steps) - SHOWN
    shown = steps if left <= 0 else steps[-SHOWN:]
    if left > 0:
        print_lines(console, f"... {left} earlier steps: --output DIR writes all steps", indent=2)
    print_rows(console, [(str(n), styled(words(step.text))) for n, step in shown], indent=2)
