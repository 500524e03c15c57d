"""`fencepost check`: explore protocols and say what holds of them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click
from fencepost.api.data import FORMAT, result_data
from fencepost.api.engines import ENGINES, Question, explore
from fencepost.api.traces import culprits_of, diagram_of, make_trace, to_be_written, write_trace
from fencepost.cli.builds.outcomes import Report
from fencepost.cli.builds.write import write_builds
from fencepost.cli.commands.request import Request
from fencepost.cli.status import Exit, exit_of, worst_exit
from fencepost.cli.views.console import print_json, results
from fencepost.cli.views.display import Display
from fencepost.explorers.verdict import Verdict, ended_by_signal
from fencepost.invariants.catalogue import Profile

if TYPE_CHECKING:
    from pathlib import Path

    from fencepost.explorers.verdict import Options, Result
    from fencepost.invariants.protocols import Protocol

_VERDICTS = ", ".join(Verdict)


@click.command(short_help="Explore protocols and say what holds of them.")
@click.argument("protocols", nargs=-1, metavar="[PROTOCOL_OR_FILE]...")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="Set a constant.")
@click.option("--version", metavar="NAME", help="Take the constants of a named version, such as a Kafka release.")
@click.option("--with", "with_", multiple=True, metavar="SWITCH", help="Turn a switch on.")
@click.option("--without", multiple=True, metavar="SWITCH", help="Turn a switch off.")
@click.option("--property", "properties", multiple=True, metavar="NAME", help="Check this property, not all.")
@click.option("--engine", default="native", show_default=True, metavar="NAME", help=f"Search with: {', '.join(ENGINES)}.")
@click.option(
    "--workers", type=click.IntRange(1, 1024), default=None, metavar="N", help="Threads; all processors if not given."
)
@click.option("--master", metavar="URL", help="Where Spark runs: local[2], spark://host:port, ...  [default: local[*]]")
@click.option("--conf", multiple=True, metavar="NAME=VALUE", help="A setting of Spark, such as spark.executor.memory=4g.")
@click.option(
    "--partitions",
    type=click.IntRange(1, 1 << 20),
    metavar="N",
    help="Parts of a search on Spark.  [default: two for each processor]",
)
@click.option(
    "--handover",
    type=click.IntRange(1),
    metavar="N",
    help="States in a level from which Spark takes over from the driver.  [default: 100,000]",
)
@click.option(
    "--compact", is_flag=True, help="Keep 64-bit fingerprints instead of states; prints the probability of an omission."
)
@click.option(
    "--memory",
    metavar="SIZE",
    help="End before the states take more than this, such as 8G.  [default: 80 % of what is available]",
)
@click.option("--budget", metavar="TIME", help="End after this time of searching, such as 10m.")
@click.option("--max-depth", type=click.IntRange(1), metavar="N", help="End after so many levels.")
@click.option("--max-states", type=click.IntRange(1), metavar="N", help="End after so many states.")
@click.option(
    "--checked",
    is_flag=True,
    help="Changes nothing: every index and value is always checked. Accepted for scripts that ask for it.",
)
@click.option("--stop-on-violation", is_flag=True, help="End after the level of the first violation.")
@click.option("--deadlock", is_flag=True, help="Show the way to the first state without a successor.")
@click.option("--normalize/--no-normalize", default=True, help="Drop what nobody can ever observe.  [default: on]")
@click.option("--profile", metavar="NAME", help=f"Run the catalogue, of all or of the named protocols: {', '.join(Profile)}.")
@click.option("--checkpoint", metavar="DIR", help="Keep there what an unfinished search needs to go on.")
@click.option("--resume", is_flag=True, help="Go on from the checkpoint.")
@click.option("--expect", metavar="VERDICT", help=f"Succeed if this is the verdict: {_VERDICTS}.")
@click.option("--trace", metavar="FILE", help="Write the first violation's trace there, or that of the worst case.")
@click.option("--all-traces", is_flag=True, help="Show the trace of every violation, not only of the shortest.")
@click.option("--coverage", is_flag=True, help="Show how often each action fired and each guard refused.")
@click.option("--junit", metavar="FILE", help="Write JUnit XML there: a test case for each property.")
@click.option("--sarif", metavar="FILE", help="Write SARIF 2.1.0 there: each violation with its trace, for code scanning.")
@click.option("--github", is_flag=True, help="Annotate a GitHub workflow and write its step's summary.")
@click.option("--json", is_flag=True, help="Print JSON.")
@click.option("--quiet", is_flag=True, help="No notes and no progress, only results.")
def check(**given: Any) -> Exit:
    """Explore every reachable state of PROTOCOL and say for each property whether it holds.

    PROTOCOL is a name that `fencepost list` shows, or a Python file that defines MACHINE and PROPERTIES.
    Without PROTOCOL, the catalogue is run and compared with what it must find.

    \b
    Exit status: 0 as expected, 1 violated or not as expected, 2 bad input,
    3 undetermined or a witness not reached, 4 Fencepost is wrong about itself.
    """  # noqa: D301 (\b is the mark by which click keeps lines)
    request = Request(**{**given, "workers": given["workers"] or 0})
    if request.of_catalogue:
        from fencepost.cli.commands.catalogue import run_catalogue

        return run_catalogue(request)
    return run_checks(request)


def run_checks(request: Request) -> Exit:
    """Check the named protocols, one after the other."""
    expected, questions, options, file = request.expected(), request.questions(), request.options(), request.trace_file()
    ends: list[Exit] = []
    data: list[dict[str, Any]] = []
    reports: list[Report] = []
    with Display(quiet=request.quiet) as display:
        for name, (found, question) in zip(request.protocols, questions, strict=True):
            result = request.with_memory_explained(explore(question, request.engine, options, display, request.cluster()))
            traces = _write(request, found, result, file) if file else {}
            if file:
                display.note(_where(request, file, traces))
            culprits = culprits_of(found, result, normalize=options.normalize)
            steps = steps_of(question, result, options)
            data.append({**result_data(result, traces, steps, culprits), **_compared(result, expected)})
            reports.append(Report(found, data[-1], partial(diagram_of, found, result, normalize=options.normalize)))
            if request.json:
                if expected not in (None, result.verdict):
                    display.note(f"{question.name}: expected {expected}, found {result.verdict}")
            else:
                _print(request, name, found, question, result, first=not ends)
            ends.append(exit_of(result.verdict, expected))
            if ended_by_signal(result.why_stopped):
                ends.append(Exit.UNDETERMINED)
                break
    left = [question.name for _, question in questions[len(reports) :]]
    write_builds(request, reports, left, data[-1]["why_stopped"])
    if request.json:
        print_json(data[0] if len(questions) == 1 else {"format": FORMAT, "runs": data})
    return worst_exit(ends)


def _compared(result: Result, expected: Verdict | None) -> dict[str, Any]:
    """Return what JSON says of an expectation, in the words of a run of the catalogue."""
    return {} if expected is None else {"expected": {"verdict": str(expected)}, "as_expected": result.verdict is expected}


def _print(request: Request, name: str, found: Protocol, question: Question, result: Result, *, first: bool) -> None:
    from fencepost.cli.views.report import print_page

    console = results()
    if not first:
        console.print()
        console.rule(style="dim")
    print_page(
        console,
        found,
        question,
        result,
        version=request.version or "",
        normalize=request.normalize,
        coverage=request.coverage,
        expected=request.expected(),
        command=None if request.all_traces or request.properties else partial(request.command_for, name),
    )


def _write(request: Request, found: Protocol, result: Result, file: Path) -> dict[str, str]:
    """Write the first violation's trace; return the file by property."""
    item = to_be_written(result)
    if item is None or item.path is None:
        return {}
    trace = make_trace(found, result, item.name, version=request.version or "", normalize=request.normalize)
    write_trace(trace, file)
    return {item.name: str(file)}


def _where(request: Request, file: Path, traces: dict[str, str]) -> str:
    """Return the note that says where the trace is, and how to replay it."""
    if not traces:
        return f"nothing is violated: {file} was not written"
    model = f" --model {request.protocols[0]}" if request.protocols[0].endswith(".py") else ""
    return f"the trace of {', '.join(traces)} is in {file}: `fencepost replay {file}{model}` replays it"


def steps_of(question: Question, result: Result, options: Options) -> dict[str, list[str]]:
    """Return the actions on the way to each violation, as text."""
    from fencepost.model.language.interpreter import Interpreter

    plain = Interpreter(question.machine, question.constants, normalize=options.normalize)
    return {
        item.name: [plain.show(step) for step in item.path.steps]
        for item in result.properties
        if item.path is not None and (item.verdict is Verdict.VIOLATED or item.cost is not None)
    }
