"""`fencepost check`: explore protocols and say what holds of them."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from fencepost.api.answers.results import FORMAT
from fencepost.api.calls.check import ENGINES
from fencepost.api.calls.check import check as explored
from fencepost.api.calls.dump import STAGES, dump
from fencepost.cli.builds.outcomes import Report
from fencepost.cli.commands.options import (
    Expected,
    Size,
    Time,
    Writable,
    constants_options,
    normalize_option,
    output_options,
    spark_options,
    workers_option,
)
from fencepost.cli.commands.request import Request
from fencepost.cli.status import Exit, exit_of, worst_exit
from fencepost.cli.views.console import print_json, print_text
from fencepost.cli.views.display import Display
from fencepost.cli.views.report import print_page
from fencepost.explorers.verdict import Cause, Verdict
from fencepost.invariants.catalogue import Profile
from fencepost.model.language.errors import FencepostError, ModelError, UnkeptError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fencepost.api.answers.contract import CheckData
    from fencepost.api.answers.results import CheckResult

_VERDICTS = ", ".join(Verdict)


@click.command()
@click.argument("protocols", nargs=-1, metavar="[PROTOCOL_OR_FILE]...")
@constants_options
@click.option("--property", "properties", multiple=True, metavar="NAME", help="Check only this property.")
@click.option(
    "--engine", default="native", show_default=True, metavar="NAME", help=f"Search with: {', '.join(ENGINES)}."
)
@workers_option()
@spark_options
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
    type=Size(),
    metavar="SIZE",
    help="End before the states need more memory than this, such as 8G.  [default: 80 % of what is available]",
)
@click.option("--budget", type=Time(), metavar="TIME", help="End after this time of searching, such as 10m.")
@click.option(
    "--grow",
    type=Time(),
    metavar="TIME",
    help="Then raise the bounds that were reached, one after the other, for so long in all, such as 10m.",
)
@click.option("--max-depth", type=click.IntRange(1), metavar="N", help="End after so many levels.")
@click.option("--max-states", type=click.IntRange(1), metavar="N", help="End after so many states.")
@click.option(
    "--checked",
    is_flag=True,
    help="Changes nothing: every index and value is always checked. Accepted for scripts that ask for it.",
)
@click.option("--stop-on-violation", is_flag=True, help="End after the level of the first violation.")
@click.option("--deadlock", is_flag=True, help="Show a shortest trace to a state without a successor.")
@normalize_option
@click.option(
    "--profile", metavar="NAME", help=f"Run the catalogue, of all or of the named protocols: {', '.join(Profile)}."
)
@click.option(
    "--pin", is_flag=True, help="Write counts, depths and lengths that runs of the catalogue find into their files."
)
@click.option("--checkpoint", metavar="DIR", help="Keep an unfinished search there, so that --resume can continue it.")
@click.option("--resume", is_flag=True, help="Continue from the checkpoint.")
@click.option("--expect", type=Expected(), metavar="VERDICT", help=f"Succeed if this is the verdict: {_VERDICTS}.")
@click.option("--strict", is_flag=True, help="Let warnings about the model be an error.")
@click.option(
    "--trace",
    type=Writable(),
    metavar="FILE",
    help="Write the first violation's trace there, or that of the worst case.",
)
@click.option("--all-traces", is_flag=True, help="Show the trace of every violation, not only of the shortest.")
@click.option("--coverage", is_flag=True, help="Show how often each action fired and each guard refused.")
@click.option("-v", "--verbose", is_flag=True, help="Show what compiling the machine took: time and memory.")
@click.option("--dump", metavar="STAGE", help=f"Print a stage of compiling and search nothing: {', '.join(STAGES)}.")
@click.option("--junit", type=Writable(), metavar="FILE", help="Write JUnit XML there: a test case for each property.")
@click.option(
    "--sarif",
    type=Writable(),
    metavar="FILE",
    help="Write SARIF 2.1.0 there: each violation with its trace, for code scanning.",
)
@click.option("--github", is_flag=True, help="Annotate a GitHub workflow and write its step's summary.")
@output_options
def check(**given: Any) -> Exit:
    """Explore every reachable state of PROTOCOL and decide each property.

    PROTOCOL is a name that `fencepost list` shows, a Python file that defines MACHINE and PROPERTIES, or a run of the catalogue (in quotes).
    Without PROTOCOL, the catalogue is run and compared with its pinned results.

    \b
    Exit status: 0 as expected, 1 violated or not as expected, 2 bad input,
    3 undetermined or a witness not reached, 4 internal error.
    """  # noqa: D301 (\b is the mark by which click keeps lines)
    request = Request(**given)
    if request.of_catalogue:
        from fencepost.cli.commands.catalogue import run_catalogue

        return run_catalogue(request)
    return print_stage(request, request.dump) if request.dump else run_checks(request)


def print_stage(request: Request, stage: str) -> Exit:
    """Print what becomes of each machine on its way to compiled code."""
    for question in request.questions():
        print_text(dump(question, stage, normalize=request.normalize).rstrip("\n") + "\n")
    return Exit.AS_EXPECTED


def run_checks(request: Request) -> Exit:
    """Check the named protocols, one after the other; an error ends it, after what was found before is told."""
    expected, questions, limits = request.expect, request.questions(), request.limits()
    file = Path(request.trace) if request.trace else None
    builds = request.builds()
    ends: list[Exit] = []
    refused: list[str] = []
    data: list[CheckData] = []
    reports: list[Report] = []
    why = ""
    wrong: FencepostError | None = None
    with Display(quiet=request.quiet) as display:
        for question in questions:
            try:
                result = explored(question, progress=display, **limits)
            except UnkeptError as error:
                wrong, result = error, error.found
            except FencepostError as error:
                if not ends:
                    raise
                wrong, why = error, f"{question.name} ended in an error"
                break
            why = result.why_stopped
            files, unwritten = _write(result, file, display) if file else ({}, None)
            wrong = wrong or unwritten
            if request.json or builds:
                data.append(result.to_dict(files, expected))
            if builds:
                reports.append(Report(question.protocol, data[-1], partial(_diagram, result)))
            if not request.json:
                _print(request, result, first=not ends)
            elif expected is not None and result.verdict is not expected:
                display.note(f"{question.name}: expected {expected}, found {result.verdict}")
            ends += _ends(result, expected)
            if request.strict and result.warnings:
                refused.append(refusal(result))
            if result.cause in (Cause.SIGNAL, Cause.CANCELLED):
                ends.append(Exit.UNDETERMINED)
                break
    if builds:
        try:
            builds.write(reports, [question.name for question in questions[len(reports) :]], why)
        except UsageError as error:
            wrong = wrong or error
    if request.json:
        print_json(data[0] if len(questions) == 1 else {"format": FORMAT, "runs": data})
    if wrong is not None:
        raise wrong
    if refused:
        raise ModelError("\n".join(refused))
    return worst_exit(ends)


def _ends(result: CheckResult, expected: Verdict | None) -> Iterator[Exit]:
    """Yield the status for the verdict, and for a violation that was found with larger bounds."""
    yield exit_of(result.verdict, expected)
    changes = [item.changes for item in result.growth.stable if item.changes] if result.growth else []
    if any(verdict == str(Verdict.VIOLATED) for _, _, verdict in changes):
        yield exit_of(Verdict.VIOLATED, expected)


def refusal(result: CheckResult) -> str:
    """Return what makes warnings an error."""
    about = ", ".join(dict.fromkeys(item.about for item in result.warnings))
    return (
        f"{result.protocol}: there are warnings about {about}, and with --strict a warning is an error: "
        "mend the model, or leave --strict out."
    )


def _print(request: Request, result: CheckResult, *, first: bool) -> None:
    print_page(
        result,
        first=first,
        coverage=request.coverage,
        verbose=request.verbose,
        quiet=request.quiet,
        expected=request.expect,
        command=None if request.all_traces or request.properties else partial(request.command_for, result.question),
    )


def _write(result: CheckResult, file: Path, display: Display) -> tuple[dict[str, str], FencepostError | None]:
    """Write the first violation's trace, say where it is and how to replay it; return the file by property, or why there is none."""
    trace = result.trace
    if trace is None:
        display.note(f"nothing is violated: {file} was not written")
        return {}, None
    try:
        trace.save(file)
    except UsageError as error:
        return {}, error
    own = f" --model {result.question.file}" if result.question.file else ""
    display.note(f"the trace of {trace.prop} is in {file}: `fencepost replay {file}{own}` replays it")
    return {trace.prop: str(file)}, None


def _diagram(result: CheckResult, prop: str) -> str:
    """Return the sequence diagram of a property's trace as Mermaid text; empty if it has none."""
    return result.traces[prop].render("mermaid") if prop in result.traces else ""
