"""`fencepost replay`, `fencepost show` and `fencepost shrink`: commands for counterexamples in files."""

import os
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from click import argument, command, option
from fencepost.api.answers.as_json import FORMAT
from fencepost.api.asking.quantities import counted
from fencepost.api.calls.shrink import ReplayResult
from fencepost.api.calls.shrink import replay as replayed
from fencepost.api.calls.shrink import shrink as shortened
from fencepost.api.files import write_text
from fencepost.cli.commands.options import SIZE, TIME, Writable, output_options, refuse_program, workers_option
from fencepost.cli.commands.simulate import print_shrunk
from fencepost.cli.failures import explain, visible
from fencepost.cli.status import Exit, worst_exit
from fencepost.cli.views.console import Display, called, print_json, print_text, print_trace, results, styled
from fencepost.cli.wording import reword
from fencepost.counterexamples.render import FORMATS
from fencepost.counterexamples.trace import Trace
from fencepost.model.language.errors import FencepostError, UsageError, require_known

TEXT, KAFKA_TEST = "text", "kafka-test"
MODEL_HELP = "The Python file that defines the trace's protocol, if it is your own."


@command()
@argument("files", nargs=-1, required=True, metavar="FILE...")
@option("--rewrite", is_flag=True, help="Rewrite the states in the file; keep its header and actions.")
@option("--model", metavar="FILE.py", help=MODEL_HELP)
def replay(files: tuple[str, ...], rewrite: bool, model: str | None) -> Exit:
    """Replay the trace in FILE and check that it ends as the file claims. Exit status: 0 if all traces replay, 2 if a
    file is not a trace or a step cannot be taken, 4 for an internal error.
    """
    ends, console = [], results()
    for file in files:
        try:
            made = replayed(file, model=model, rewrite=rewrite)
        except FencepostError as error:
            status, message = explain(error)
            sys.stderr.write(f"fencepost: {visible(reword(message))}\n")
            ends.append(status)
            continue
        ends.append(Exit.AS_EXPECTED)
        shown = f"{made.trace.finding}: a trace of {counted(made.path.length, 'state')}, as recorded in the file"
        console.print(
            f"{file}: {made.trace.protocol.name}: {shown}" + ("; states rewritten" if rewrite else ""), soft_wrap=True
        )
    if len(files) > 1:
        good = ends.count(Exit.AS_EXPECTED)
        style = "bold green" if good == len(files) else "bold red"
        console.print(styled(f"{good} of {counted(len(files), 'trace')} replayed.", style))
    return worst_exit(ends)


@command()
@argument("file", metavar="FILE")
@option(
    "--format",
    "form",
    default=TEXT,
    show_default=True,
    metavar="NAME",
    help=f"One of: {', '.join((TEXT, *FORMATS, KAFKA_TEST))}.",
)
@option("--output", type=Writable(programs=True), help="Write the result to this file instead of printing it.")
@option("--model", metavar="FILE.py", help=MODEL_HELP)
@option("--kafka", metavar="VERSION", help="The Kafka release for a kafka-test (default: the newest supported).")
def show(file: str, form: str, output: Path | None, model: str | None, kafka: str | None) -> Exit:
    """Show the trace in FILE step by step, with the changes of each step.

    --format writes the trace in another format: mermaid (a sequence diagram), html (a page to click through), itf (JSON
    for Apalache's and Quint's viewers), pytest (a test to paste), or kafka-test (a JUnit test of a leader's `Partition`
    or of the controller). For a variant of a protocol, a kafka-test passes on the release and fails with the change;
    for a finding with a known fix, it fails on the release and passes with the fix.
    """
    known = (TEXT, *FORMATS, KAFKA_TEST)
    require_known((form,), known, "there is no format", "The formats are")
    if kafka is not None and form != KAFKA_TEST:
        raise UsageError(f"--kafka applies to --format {KAFKA_TEST}, but the format is {form}. Leave it out.")
    if output:
        _refuse_loss(output, form, file, model)
    made = replayed(file, model=model)
    if form == TEXT and not output:
        print_trace(results(), made.trace, made.path)
        return Exit.AS_EXPECTED
    is_test = form == KAFKA_TEST
    text = _kafka_test(made.trace, kafka, output) if is_test else _rendered(made, form, model, output)
    if output:
        write_text(output, text)
    else:
        print_text(text)
    return Exit.AS_EXPECTED


def _refuse_loss(output: Path, form: str, trace: str, model: str | None) -> None:
    if form != "pytest":
        refuse_program("--output", output)
    for name in filter(None, (trace, model)):
        if Path(name).exists() and output.exists() and output.samefile(name):
            raise UsageError(f"--output names {output}, which is the input file. Choose another file.")


def _rendered(made: ReplayResult, form: str, model: str | None, written: Path | None) -> str:
    """Return a trace in the given format. An HTML page takes time: it replays the steps under every setting."""
    with (
        Display(quiet=False) as display,
        display.busy("searching for settings that prevent this trace") if form == "html" else nullcontext(),
    ):
        if form == "pytest" and model:  # relative to the test's file
            model = os.path.relpath(model, written.parent if written else ".")
        return made.render(form, model or "")


def _kafka_test(trace: Trace, kafka: str | None, written: Path | None) -> str:
    from fencepost.kafka.conform.upstream import kafka_test
    from fencepost.kafka.driver.releases import locate_release

    release = locate_release(kafka)[:2] if kafka else None
    return kafka_test(trace, written.stem if written and written.suffix == ".java" else "", release)


BUDGET, MEMORY = "60s", "2G"


@command()
@argument("file", metavar="FILE")
@option("--trace", "output", type=Writable(), help="Write the shortened trace to this file, which may be FILE.")
@option("--budget", type=TIME, default=BUDGET, show_default=True, help="Time limit, not counting compilation.")
@option("--memory", type=SIZE, default=MEMORY, show_default=True, help="Memory limit for the states of each search.")
@workers_option()
@option("--model", metavar="FILE.py", help=MODEL_HELP)
@output_options
def shrink(file: str, output: Path | None, model: str | None, **given: Any) -> Exit:
    """Shorten the trace in FILE: omit steps, reduce constants, and search for an even shorter trace.

    Sizes and budgets, such as the number of brokers, are lowered; switches, versions and other choices do not change.

    Exit status: 0 if the trace was shortened, or shown to be the shortest within the reported limits; 2 if FILE is not
    a trace or does not replay; 4 for an internal error.
    """
    shrunk = called(given, shortened, "budget memory workers", replayed(file, model=model))
    if given["json"]:
        print_json({"format": FORMAT, "file": file, "trace": str(output) if output else None, **shrunk.to_dict()})
    else:
        print_shrunk(results(), shrunk)
    if output:
        shrunk.counterexample.save(output)
        Display(quiet=given["quiet"]).note(f"the shortened trace is in {output}")
    return Exit.AS_EXPECTED
