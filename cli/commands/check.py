"""`fencepost check`: explores all states of a protocol and checks its properties."""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from click import argument, get_current_context, option
from fencepost.api.answers.as_json import FORMAT
from fencepost.api.answers.results import Base, CheckResult
from fencepost.api.asking.targets import STAGES, Question, dump
from fencepost.api.calls.check import ENGINES
from fencepost.api.calls.check import check as explored
from fencepost.cli.builds.outcomes import CheckedRun
from fencepost.cli.builds.write import Builds
from fencepost.cli.commands import options
from fencepost.cli.commands.catalogue import PROFILES, catalogue
from fencepost.cli.failures import unkept
from fencepost.cli.status import Exit, exit_of, worst_exit
from fencepost.cli.views.console import Display, print_json, print_text, results
from fencepost.cli.views.report import print_page
from fencepost.explorers.spark.session import Cluster
from fencepost.explorers.verdict import Cause, Verdict
from fencepost.invariants.catalogue import Profile
from fencepost.model.language.errors import FencepostError, ModelError, UsageError


@options.command()
@argument("protocols", nargs=-1, metavar="[PROTOCOL_OR_FILE]...")
@options.constants_options
@options.properties_option
@option("--engine", default="native", show_default=True, metavar="NAME", help=f"Search engine: {', '.join(ENGINES)}.")
@options.spark_options
@option("--partitions", type=options.Count(1, 1 << 20), help="Spark partitions.  [default: two per processor]")
@option(
    "--handover",
    type=options.Count(1),
    help="Expand levels of at least N states on Spark, and smaller levels on the driver.  [default: 100,000]",
)
@options.search_options
@option(
    "--grow",
    type=options.TIME,
    help="After the search, spend this much time, e.g. 10m, on raising reached bounds one at a time.",
)
@option("--symmetry", is_flag=True, help="Treat states that differ only in interchangeable values as one.")
@options.spill_option
@options.cross_check_option
@option("--deadlock", is_flag=True, help="Show a shortest trace to a state without successors.")
@option("--profile", metavar="NAME", help=f"Run this catalogue profile ({PROFILES}) for the named protocols or all.")
@option("--pin", is_flag=True, help="With --profile: update the pinned results, like `fencepost catalogue --pin`.")
@options.expect_option()
@option("--strict", is_flag=True, help="Treat warnings about the model as errors.")
@option(
    "--trace", type=options.Writable(), help="Write the trace of the first violation or of the worst case to this file."
)
@option("--all-traces", is_flag=True, help="Show the trace of every violation in full.")
@option("--coverage", is_flag=True, help="Show how often each action was taken and how often each guard blocked it.")
@option(
    "-v", "--verbose", count=True, help="Show all details, and each run of a catalogue. -vv also shows compilation."
)
@option("--dump", metavar="STAGE", help=f"Do not search, but print this stage of compilation: {', '.join(STAGES)}.")
@options.build_options
@options.output_options
def check(**given: Any) -> Exit:
    """Explore every reachable state of PROTOCOL and check each property.

    PROTOCOL is a name that `fencepost list` shows, a Python file that defines MACHINE and PROPERTIES, or a run of the
    catalogue (in quotes). Without PROTOCOL, or with --profile, the command runs `fencepost catalogue`, which compares
    the catalogue's runs with their pinned results.

    Exit status: 0 if the result is as expected, 1 for a violation or an unexpected result, 2 for bad input, 3 if a
    verdict is undetermined or a witness was not reached, 4 for an internal error.
    """
    if given["profile"] or not given["protocols"]:
        given["profile"] = given["profile"] or Profile.QUICK
        names = {item.name for item in catalogue.params}
        options.refuse_beyond(names, given, "runs of the catalogue, which have fixed constants and expected results")
        chosen = {name: value for name, value in given.items() if name in names}
        end: Exit = get_current_context().invoke(catalogue, **chosen)
        return end
    if given["pin"]:
        raise UsageError(
            "--pin updates the figures of catalogue runs, but this check is not a catalogue run: add --profile ci."
        )
    if given["dump"]:
        for question in questions_of(given):
            print_text(dump(question, given["dump"], normalize=given["normalize"]).rstrip("\n") + "\n")
        return Exit.AS_EXPECTED
    return run_checks(given)


def questions_of(given: Mapping[str, Any]) -> list[Question]:
    if len(given["protocols"]) > 1:
        for name in ("trace", "checkpoint"):
            if given[name]:
                raise UsageError(
                    f"--{name} does not apply to several protocols: name one protocol, such as "
                    f"`fencepost check kip320 --{name} ...`."
                )
    constants = (given["settings"], given["version"], given["with_"], given["without"])
    return [options.Target(name, *constants).question(given["properties"]) for name in given["protocols"]]


def cluster_for(given: Mapping[str, Any]) -> Cluster | None:
    engine = given["engine"]
    refused = {
        "plain": {
            **{name: given[name[2:]] for name in ("--compact", "--checkpoint")},
            "--workers": given["workers"] > 1,
        },
        "spark": {name: given[name[2:]] for name in ("--compact", "--workers", "--memory")},
    }
    instead = {
        "--workers": "write --master 'local[N]' for N processors",
        "--memory": "write --conf spark.executor.memory=SIZE",
    }
    for name, value in refused.get(engine, {}).items():
        if value:
            how = "leave it out, or write --engine native" if engine == "plain" else instead.get(name, "leave it out")
            raise UsageError(f"the {engine} engine does not support {name}: {how}.")
    if engine != "spark":
        for name in ("master", "conf", "partitions", "handover"):
            if given[name]:
                raise UsageError(
                    f"--{name} applies only to Spark, but the engine is {engine}: add --engine spark, or "
                    f"leave --{name} out."
                )
        return None
    cluster = options.cluster_of(given["master"], given["conf"], given["partitions"], given["handover"])
    if not cluster.is_local and not given["checkpoint"]:
        raise UsageError(
            f"with --master {given['master']}, the executors keep their states in a folder that all of them can read: "
            "add --checkpoint with such a folder, or with a URL such as hdfs://host/folder."
        )
    return cluster


def run_checks(given: Mapping[str, Any]) -> Exit:
    """Check the named protocols, one after the other. After an error, only the earlier answers are printed."""
    expected, questions = given["expect"], questions_of(given)
    cluster, limits, builds = cluster_for(given), options.limits_of(given), Builds.from_options(given)
    ends: list[Exit] = []
    refused: list[str] = []
    data: list[dict[str, Any]] = []
    reports: list[CheckedRun] = []
    why = ""
    wrong: FencepostError | None = None
    limits |= {name: given[name] for name in ("engine", "symmetry", "spill", "grow", "cross_check", "deadlock")}
    with Display(quiet=given["quiet"]) as display:
        for question in questions:
            try:
                result = explored(question, progress=display, cluster=cluster, **limits)
            except FencepostError as error:
                if not ends:
                    raise
                wrong, why = error, f"{question.name} ended in an error"
                break
            why = result.why_stopped
            files, unwritten = _write(result, given["trace"], display) if given["trace"] else ({}, None)
            wrong = wrong or unkept(result.problems) or unwritten
            if given["json"] or builds:
                data.append(result.to_dict(files, expected))
            if builds:
                reports.append(CheckedRun(question.protocol, data[-1], partial(_diagram, result), given["strict"]))
            if not given["json"]:
                shown = {name: given[name] for name in ("verbose", "coverage", "all_traces", "quiet")}
                print_page(results(narrow=not given["verbose"]), result, first=not ends, expected=expected, **shown)
            elif expected is not None and result.verdict is not expected:
                display.note(f"{question.name}: expected {expected}, found {result.verdict}")
            ends += _ends(result, expected)
            if given["strict"] and result.warnings:
                refused.append(refusal(result))
            if result.cause in (Cause.SIGNAL, Cause.CANCELLED):
                ends.append(Exit.UNDETERMINED)
                break
    if builds:
        try:
            builds.write(reports, [question.name for question in questions[len(reports) :]], why)
        except UsageError as error:
            wrong = wrong or error
    if given["json"]:
        print_json(data[0] if len(questions) == 1 else {"format": FORMAT, "runs": data})
    if wrong is not None:
        raise wrong
    if refused:
        raise ModelError("\n".join(refused))
    return worst_exit(ends)


def _ends(result: CheckResult, expected: Verdict | None) -> Iterator[Exit]:
    yield exit_of(result.verdict, expected)
    if result.base is Base.SAME:
        yield Exit.UNDETERMINED


def refusal(result: CheckResult) -> str:
    about = ", ".join(dict.fromkeys(item.about for item in result.warnings))
    return (
        f"{result.protocol}: there are warnings about {about}, and --strict treats warnings as errors: fix the model, "
        "or leave --strict out."
    )


def _write(result: CheckResult, file: Path, display: Display) -> tuple[dict[str, str], FencepostError | None]:
    trace, own = result.trace or result.end, result.question.file
    try:
        display.note(options.save(trace, file, f" --model {own}" if own else ""))
    except UsageError as error:
        return {}, error
    return {trace.prop: str(file)} if trace else {}, None


def _diagram(result: CheckResult, prop: str) -> str:
    return result.traces[prop].render("mermaid") if prop in result.traces else ""
