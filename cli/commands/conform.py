"""`fencepost conform`: compares Kafka with the model, by histories, checks, or changes; also tests real clients."""

from __future__ import annotations

import sys
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from click import argument, confirm, option
from fencepost.api.asking.quantities import counted
from fencepost.cli.commands import options
from fencepost.cli.commands.options import parse_constants
from fencepost.cli.status import Exit
from fencepost.cli.views.console import Display, print_hanging, print_lines, show, styled
from fencepost.cli.views.screen import some
from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    from fencepost.api.calls.conform import ConformResult
    from rich.console import Console

ENDS = {"conforms": Exit.AS_EXPECTED, "differs": Exit.FAILED, "undetermined": Exit.UNDETERMINED}
WORDS = {
    "conforms": "conforms: no difference was found.",
    "differs": "differs from the model.",
    "undetermined": "is undetermined: {}.",
}
ROWS = 16
COLOURS = {"conforms": "bold green", "differs": "bold red", "undetermined": "bold yellow"}
PROTOCOLS_OF_CLIENTS = ("leader-discovery", "idempotent-producer")
BROKERS = "brokers"
OWN = ("traces", "walks", "settings", "with_", "without")


@options.command()
@argument("protocol")
@option("--kafka", metavar="VERSION", help="The Kafka release, such as 4.1.2; Maven downloads its jars.")
@option("--jars", metavar="DIR", help="Use the jars in this folder, for example those of your own build.")
@option(
    "--client",
    "clients",
    multiple=True,
    metavar="NAME==VERSION",
    help="Test a real client, such as librdkafka==2.6.1, or bisect a range of releases, NAME==A..B (repeatable).",
)
@option("--bootstrap-server", metavar="HOST:PORT", help="Test the brokers of this cluster; PROTOCOL must be `brokers`.")
@options.constants_options
@option("--trace", "traces", multiple=True, metavar="FILE", help="Execute the history of a trace (repeatable).")
@option(
    "--story",
    "stories",
    multiple=True,
    metavar="NAME",
    help="Run a story from docs/kafka/clients.md against the client (repeatable).",
)
@option("--walks", type=options.Count(1), help="Execute random walks instead of covering the state graph.")
@option("--depth", type=options.Count(1), help="Maximum number of steps in a walk. [default: 40, or 30 with --client]")
@option("--seed", type=int, default=1, show_default=True, metavar="N", help="The seed of the random walks.")
@option("--ablate", is_flag=True, help="Remove each check, change each rule, and see whether the comparison notices.")
@option("--refusals", type=options.Count(1), help="On Kafka, try N steps that the model forbids.")
@option("--changes", is_flag=True, help="Compare only how Kafka's PartitionChangeBuilder changes partitions.")
@option("--lines", is_flag=True, help="Record which lines of Kafka's classes are executed (JaCoCo, through Maven).")
@option("--budget", type=options.TIME, metavar="TIME", help="Stop after this much time, e.g. 10m.")
@options.workers_option("Number of processes that run Kafka's classes")
@option("--output", metavar="DIR", help="Write each difference to this folder, as a trace that can be replayed.")
@options.verbose_option
@options.output_options
def conform(protocol: str, **given: Any) -> Exit:
    """Execute the steps of PROTOCOL on Apache Kafka's classes, and compare the whole state after every step.

    With --client, a scripted cluster on 127.0.0.1 plays histories of leader-discovery to real clients, and checks
    whether they follow the rules of KIP-951 and KIP-320.

    With `brokers` and --bootstrap-server, Fencepost creates a topic on a cluster and sends its brokers fetches, queries
    for epoch end offsets, and requests with wrong epochs; then it removes the topic. If the cluster is not on this
    machine, you must confirm first.

    A controller and brokers built from Kafka's classes, or nodes built from its Raft client, run in one Java process,
    without a network or threads. By default, the executed walks together take every transition of a small state graph.

    Exit status: 0 if Kafka agrees with the model, 1 if they differ, 2 for bad input (or if Java, Maven or the release
    is missing), 3 if the time limit was reached first. With --client: 0 if the client follows every rule, 1 if it
    breaks a rule every time the history is played, 3 if it does so only sometimes or could not be run.
    """
    with Display(quiet=given["quiet"]) as display:
        found = _compare(protocol, given, display)
    show(given, found, print_conform)
    return ENDS[found.verdict]


def print_conform(console: Console, found: ConformResult, *, verbose: bool) -> None:
    most = sys.maxsize if verbose else max(1, ROWS // len(found.runs))
    for run in found.runs:
        why = getattr(run, "why_undetermined", "the comparison ended early")
        verdict = styled(f"{run.title} {WORDS[run.verdict].format(why)}", COLOURS[run.verdict])
        print_lines(console, verdict)
        lines = list(run.summary())
        heights = accumulate(-(-len(line) // (console.width - 4)) for line in lines)
        fitting = sum(height <= most for height in heights)
        for line in lines[:fitting]:
            print_hanging(console, " " * (len(line) - len(line.lstrip()) + 2), line.lstrip())
        if fitting < len(lines):
            print_lines(console, f"`-v` shows {counted(len(lines) - fitting, 'more line')}.", style="dim", indent=2)
        untried = _untried(run)
        if untried:
            print_lines(
                console, f"Not tried, because these constants are 0: {some(untried)}.", style="yellow", indent=2
            )
        if fitting < len(lines):
            print_lines(console, verdict)
    print_lines(console, *map(str, getattr(found.runs[-1], "changes", ())))


def _untried(run: Any) -> list[str]:
    """Return the fault budgets that are 0. The comparison does not test the kinds of faults that they limit."""
    if not hasattr(run, "constants") or not hasattr(run, "outcome"):
        return []
    from fencepost.explorers.evidence.faults import fault_kinds
    from fencepost.explorers.program.ir.monotone import budget_fields

    machine, values = run.bound.machine, run.constants.values
    kinds = fault_kinds(machine) if budget_fields(machine) else {}
    return sorted({bound for bound in kinds.values() if not values[bound]})


def _compare(protocol: str, given: dict[str, Any], display: Display) -> ConformResult:
    from fencepost.api.calls.conform import conform as conform_histories
    from fencepost.api.calls.conform import conform_changes, conform_clients, conform_guards
    from fencepost.kafka.conform.binding import binding

    if given["bootstrap_server"] or protocol == BROKERS:
        return _ask_brokers(protocol, given, display)
    clients = given["clients"]
    if clients:
        if protocol not in PROTOCOLS_OF_CLIENTS:
            raise UsageError(
                f"--client needs protocol {' or '.join(f'`{name}`' for name in PROTOCOLS_OF_CLIENTS)}, not "
                f"{protocol!r}: only their histories can be played to clients."
            )
        others = ("kafka", "jars", "settings", "with_", "without", "ablate", "refusals", "changes", "lines")
        _refuse(
            given,
            others,
            "--client can be combined only with --walks, --depth, --seed, --trace, --story, --budget and --output, "
            "because its histories come from fixed machines. Leave out the others.",
        )
        chosen = _taken(given, "walks", "depth", "seed", "traces", "stories", "budget", "output")
        return conform_clients(clients, protocol=protocol, progress=display, **chosen)
    if given["stories"]:
        raise UsageError(
            "--story needs --client, because stories are played to real clients: add a client, such as --client java."
        )
    release = {"kafka": given["kafka"], "jars": given["jars"], "version": given["version"] or "", "progress": display}
    if given["changes"]:
        _refuse(
            given,
            (*OWN, "ablate", "refusals", "lines", "output", "budget"),
            "--changes chooses its own images and constants: leave out all options except --kafka, --jars and --json.",
        )
        return conform_changes(protocol, **release)
    if given["ablate"] or given["refusals"]:
        _refuse(
            given,
            (*OWN, "lines", "output", "budget"),
            "--ablate and --refusals choose their own histories, constants and limits: leave out --trace, --walks, "
            "--set, --with, --without, --lines, --output and --budget.",
        )
        return conform_guards(protocol, **release, **_taken(given, "ablate", "refusals", "seed"))
    constants = parse_constants(binding(protocol).machine, given["settings"], given["with_"], given["without"])
    return conform_histories(
        protocol,
        constants=constants,
        workers=given["workers"] or 0,
        **release,
        **_taken(given, "traces", "walks", "depth", "seed", "lines", "budget", "output"),
    )


def _ask_brokers(protocol: str, given: dict[str, Any], display: Display) -> ConformResult:
    """Query the brokers of a cluster. If the cluster is not on this machine, the user must confirm first."""
    from fencepost.api.calls.conform import conform_brokers
    from fencepost.kafka.clients.outside import is_here

    servers = given["bootstrap_server"]
    if protocol != BROKERS or not servers:
        raise UsageError(
            "to query a cluster's brokers, use `fencepost conform brokers --bootstrap-server HOST:PORT`, such as "
            "127.0.0.1:9092."
        )
    others = ("kafka", "jars", "clients", *OWN, "stories", "depth", "ablate", "refusals", "changes", "lines", "output")
    why = "`brokers` can be combined only with --bootstrap-server and --json: leave out the other options."
    _refuse(given, (*others, "budget", "workers"), why)
    anywhere = not is_here(servers)
    if anywhere and not (sys.stdin.isatty() and confirm(f"Create and remove a topic on {servers}?", err=True)):
        raise UsageError(
            f"{servers} is not on this machine, and nobody confirmed on a terminal that a topic may be created there."
        )
    return conform_brokers(servers, anywhere=anywhere, progress=display)


def _taken(given: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: given[name] for name in names}


def _refuse(given: dict[str, Any], names: tuple[str, ...], why: str) -> None:
    if any(given[name] for name in names):
        raise UsageError(why)
