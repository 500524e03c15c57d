"""`fencepost prove`: induction and bounded proofs with z3."""

from __future__ import annotations

from functools import partial
from typing import Any

import click
from fencepost.api.asking.quantities import parse_duration
from fencepost.api.files import write_text
from fencepost.cli.commands.options import (
    Expected,
    Target,
    Writable,
    command_line,
    constants_options,
    output_options,
    workers_option,
)
from fencepost.cli.status import Exit, exit_of
from fencepost.cli.views.console import print_json, results
from fencepost.cli.views.display import Display
from fencepost.explorers.verdict import Verdict


@click.command()
@click.argument("protocol", required=False, metavar="[PROTOCOL_OR_FILE]")
@click.option(
    "--property", "properties", multiple=True, metavar="NAME", help="Prove this property or lemma; several together."
)
@constants_options
@click.option(
    "--unbounded",
    multiple=True,
    metavar="NAMES",
    help="Constants without a fixed value, such as max_leader_epoch, or the domain they bound, such as epoch; with commas.",
)
@click.option("--int64", multiple=True, metavar="NAMES", help="The same, up to the greatest number of 64 bits.")
@click.option(
    "--havoc-loops",
    is_flag=True,
    help="Let loops that --unbounded makes endless write any value, instead of refusing them.",
)
@click.option(
    "--k", type=click.IntRange(1, 50), default=1, show_default=True, metavar="N", help="Induction over N steps."
)
@click.option("--depth", type=click.IntRange(0, 200), metavar="N", help="No induction: check every run of N steps.")
@click.option("--every-state", is_flag=True, help="No induction: check every state of the domains, reachable or not.")
@click.option("--timeout", default="60s", show_default=True, metavar="TIME", help="Time limit of each question to z3.")
@workers_option("Processes", 256)
@click.option("--strengthen", is_flag=True, help="Look for lemmas that make the properties inductive.")
@click.option(
    "--reach",
    default="30s",
    show_default=True,
    metavar="TIME",
    help="Time to search for a state that breaks the induction; 0s for none.",
)
@click.option(
    "--expect", type=Expected(), metavar="VERDICT", help=f"Succeed if this is the verdict: {', '.join(Verdict)}."
)
@click.option(
    "--trace", type=Writable(), metavar="FILE", help="Write what breaks the induction there, or the run that violates."
)
@click.option("--cache/--no-cache", default=True, help="Reuse earlier proofs of the same text.  [default: on]")
@output_options
def prove(**given: Any) -> Exit:
    """Prove properties of PROTOCOL by induction: they hold initially, and every step keeps them.

    Constants named by --unbounded have any value; all others keep theirs. Without PROTOCOL, the proofs of the catalogue
    are made, and those of the same protocols with a rule broken, which must fail.

    \b
    Exit status: 0 proved, 1 violated or not as expected, 2 bad input,
    3 undetermined: no induction, or z3 timed out, 4 internal error.
    """  # noqa: D301 (\b is the mark by which click keeps lines)
    from fencepost.api.calls.prove import look_for_z3
    from fencepost.api.calls.prove import prove as proved

    look_for_z3()
    if given["protocol"] is None:
        from fencepost.cli.commands.theorems import prove_catalogue

        return prove_catalogue(given)
    expected = given["expect"]
    target = Target.taken(given)
    question, file = target.question(), given["trace"]
    names = ("unbounded", "int64", "havoc_loops", "k", "depth", "every_state", "strengthen", "cache")
    with Display(quiet=given["quiet"]) as display:
        report = proved(
            question,
            only=given["properties"],
            timeout=parse_duration(given["timeout"], "--timeout"),
            reach=0.0 if given["reach"] in ("0", "0s") else parse_duration(given["reach"], "--reach"),
            workers=given["workers"],
            progress=display,
            **{name: given[name] for name in names},
        )
    if given["json"]:
        print_json(report.to_dict())
    else:
        from fencepost.cli.views.proving import print_report

        print_report(results(), report, partial(_command_for, target, given), strengthened=given["strengthen"])
    if file and report.text:
        write_text(file, report.text)
        display.note(f"{file}: {report.summary}")
    if report.proof.why_stopped:
        return Exit.UNDETERMINED
    return exit_of(report.proof.verdict, expected)


def _command_for(target: Target, given: dict[str, Any], option: str) -> str:
    """Return the command that asks the same with one option more."""
    words = ["prove", *target.words, *(word for name in given["properties"] for word in ("--property", name))]
    words += [word for name in ("unbounded", "int64") for value in given[name] for word in (f"--{name}", value)]
    return command_line(*words, *(["--havoc-loops"] if given["havoc_loops"] else []), option)
