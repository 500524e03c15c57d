"""`fencepost simulate`: random walks on a protocol, as far as they were asked to go."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import click
from fencepost.api.engines import kernels_of, source_of
from fencepost.api.quantities import parse_duration
from fencepost.api.traces import trace_of_path, write_trace
from fencepost.cli.commands.request import Request
from fencepost.cli.commands.shrink import shortened
from fencepost.cli.status import Exit, exit_of, worst_exit
from fencepost.cli.views.console import print_json, results
from fencepost.cli.views.display import Display
from fencepost.cli.views.sampled import Finding, print_sample, sample_data
from fencepost.explorers.verdict import Options, Verdict, ended_by_signal
from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from fencepost.api.engines import Question
    from fencepost.explorers.walk.sample import Plan, Sample
    from fencepost.invariants.protocols import Protocol

WALKS, DEPTH = 10_000, 100
_VERDICTS = f"{Verdict.NOT_FOUND}, {Verdict.VIOLATED}"


@click.command(short_help="Walk at random through a protocol too large to search.")
@click.argument("protocol", metavar="PROTOCOL_OR_FILE")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="Set a constant.")
@click.option("--version", metavar="NAME", help="Take the constants of a named version, such as a Kafka release.")
@click.option("--with", "with_", multiple=True, metavar="SWITCH", help="Turn a switch on.")
@click.option("--without", multiple=True, metavar="SWITCH", help="Turn a switch off.")
@click.option("--property", "properties", multiple=True, metavar="NAME", help="Judge this property, not all.")
@click.option("--walks", type=click.IntRange(1), default=WALKS, show_default=True, metavar="N", help="Walks.")
@click.option(
    "--depth", type=click.IntRange(1, 1_000_000), default=DEPTH, show_default=True, metavar="N", help="Steps of each at most."
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, metavar="N", help="Another seed, other walks.")
@click.option("--weight", "weights", multiple=True, metavar="ACTION=W", help="Choose an action by weight first; others have 1.")
@click.option("--budget", metavar="TIME", help="Begin no further walks after this time, such as 10m.")
@click.option("--workers", type=click.IntRange(1, 1024), metavar="N", help="Threads; all processors if not given.")
@click.option("--stop-on-violation", is_flag=True, help="End soon after the first violation.")
@click.option("--normalize/--no-normalize", default=True, help="Drop what nobody can ever observe.  [default: on]")
@click.option("--expect", metavar="VERDICT", help=f"Succeed if this is the verdict: {_VERDICTS}.")
@click.option("--shrink/--no-shrink", "shrinks", default=True, help="Shorten the trace that is shown.  [default: on]")
@click.option("--trace", metavar="FILE", help="Write the shortest violation's trace there.")
@click.option("--coverage", is_flag=True, help="Show how often each action fired.")
@click.option("--json", is_flag=True, help="Print JSON.")
@click.option("--quiet", is_flag=True, help="No notes and no progress, only results.")
def simulate(**given: Any) -> Exit:
    """Walk at random through PROTOCOL and judge its properties on the way.

    Every step is one of those that are enabled, all equally likely, or of the actions by --weight. A walk ends after --depth
    steps, or where no action is enabled. It depends on protocol, constants, weights, seed and its number only.
    What no walk violated is not-found: walks never show that something holds.

    \b
    Exit status: 0 as expected, 1 violated or not as expected, 2 bad input,
    3 nothing was found, 4 Fencepost is wrong about itself.
    """  # noqa: D301 (\b is the mark by which click keeps lines)
    return _Simulation(given).run()


class _Simulation:
    """One simulation: its options, read and found consistent before anything runs."""

    def __init__(self, given: dict[str, Any]) -> None:
        own = ("settings", "version", "with_", "without", "properties", "normalize", "expect", "trace", "quiet")
        self.given = given
        self.request = Request(protocols=(given["protocol"],), **{name: given[name] for name in own})

    def run(self) -> Exit:
        """Walk, shorten what was found, and tell."""
        request, given = self.request, self.given
        expected, (found, question), file = request.expected(), request.questions(walks=True)[0], request.trace_file()
        plan = self.plan()
        with Display(quiet=request.quiet) as display:
            sample = self.walk(question, plan, display)
            finding = self.finding(found, question, sample, display)
            if file is not None:
                display.note(self.written(file, finding))
        if given["json"]:
            print_json(sample_data(sample, finding, expected, file))
        else:
            print_sample(
                results(),
                question,
                sample,
                finding,
                version=request.version or "",
                coverage=given["coverage"],
                command=self.command_for,
            )
        interrupted = ended_by_signal(sample.why_stopped)
        return worst_exit([exit_of(sample.verdict, expected), *([Exit.UNDETERMINED] if interrupted else [])])

    def plan(self) -> Plan:
        """Return what to walk."""
        from fencepost.explorers.walk.sample import Plan

        given = self.given
        return Plan(
            seed=given["seed"],
            walks=given["walks"],
            depth=given["depth"],
            weights=dict(map(weight_of, given["weights"])),
            workers=given["workers"] or 0,
            budget=parse_duration(given["budget"], "--budget") if given["budget"] else None,
            stop_on_violation=given["stop_on_violation"],
        )

    def walk(self, question: Question, plan: Plan, display: Display) -> Sample:
        """Walk, showing how far it is."""
        from fencepost.explorers.walk.sample import nothing, sample

        normalize = self.request.normalize
        machine, constants, properties = question.machine, question.constants, question.properties
        try:
            from fencepost.explorers.walk.walker import Walker

            kernels = kernels_of(question, source_of(question, Options(normalize=normalize)), display)
            walker = Walker(machine, constants, properties, normalize=normalize, kernels=kernels)
            walker.weights(plan.weights)
            return sample(walker, plan, display.telling_walks(question.name, plan.walks))
        except KeyboardInterrupt:
            return nothing(machine, constants, properties, plan, "SIGINT was received before the first walk")
        finally:
            display.clear()

    def finding(self, found: Protocol, question: Question, sample: Sample, display: Display) -> Finding | None:
        """Return the violation that took the fewest steps, shortened."""
        violated = [item for item in sample.properties if item.result.verdict is Verdict.VIOLATED and item.path is not None]
        first = min(violated, key=lambda item: item.path.length if item.path else 0, default=None)
        if first is None or first.path is None:
            return None
        trace = trace_of_path(
            found,
            question.constants,
            first.result.name,
            first.path,
            version=self.request.version or "",
            normalize=self.request.normalize,
        )
        shrunk = shortened(trace, display, self.given["workers"] or 0) if self.given["shrinks"] else None
        return Finding(first, shrunk.trace if shrunk else trace, shrunk)

    def command_for(self, prop: str) -> str:
        """Return the command that takes the same walks and shows what they found of one property."""
        given, request = self.given, self.request
        words = ["fencepost", "simulate", given["protocol"], *(["--version", request.version] if request.version else [])]
        for option, name in (("--set", "settings"), ("--with", "with_"), ("--without", "without"), ("--weight", "weights")):
            words += [word for value in given[name] for word in (option, value)]
        for name, usual in (("walks", WALKS), ("depth", DEPTH), ("seed", 0)):
            words += [f"--{name}", str(given[name])] if given[name] != usual else []
        words += [f"--no-{name}" for name, on in (("normalize", request.normalize), ("shrink", given["shrinks"])) if not on]
        return shlex.join([*words, "--property", prop])

    def written(self, file: Path, finding: Finding | None) -> str:
        """Write the trace; return the note that says where it is, and how to replay it."""
        if finding is None:
            return f"nothing is violated: {file} was not written"
        write_trace(finding.trace, file)
        model = f" --model {self.given['protocol']}" if self.given["protocol"].endswith(".py") else ""
        return f"the trace of {finding.sampled.result.name} is in {file}: `fencepost replay {file}{model}` replays it"


def weight_of(text: str) -> tuple[str, int]:
    """Return the action and the weight that `ACTION=W` means."""
    name, mark, value = text.partition("=")
    if not (mark and name and value.isascii() and value.isdigit()):
        raise UsageError(f"--weight was given {text!r}: write ACTION=W with a whole number, such as --weight leader-write=3.")
    return name, int(value)
