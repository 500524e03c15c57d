"""`fencepost prove`: induction and bounded proofs with z3."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from fencepost.api.files import make_sure_writable, write_text
from fencepost.api.quantities import parse_duration
from fencepost.api.targets import choose_constants, find_protocol
from fencepost.cli.status import Exit, exit_of
from fencepost.cli.views.console import print_json, results
from fencepost.cli.views.display import Display
from fencepost.explorers.verdict import Verdict
from fencepost.invariants.theorems import WIDEST, select
from fencepost.model.language.errors import UsageError, nearest

if TYPE_CHECKING:
    from fencepost.explorers.symbolic.proof import Settings
    from fencepost.invariants.protocols import Protocol
    from fencepost.model.language import Constants, Property


@dataclass(frozen=True)
class Asked:
    """The options of `prove` as they were typed."""

    protocol: str | None
    settings: tuple[str, ...]
    version: str | None
    with_: tuple[str, ...]
    without: tuple[str, ...]
    properties: tuple[str, ...]
    unbounded: tuple[str, ...]
    int64: tuple[str, ...]
    havoc_loops: bool
    k: int
    depth: int | None
    every_state: bool
    timeout: str
    workers: int | None
    strengthen: bool
    reach: str
    expect: str | None
    trace: str | None
    cache: bool
    json: bool
    quiet: bool


@click.command(short_help="Prove properties for every epoch and any number of steps, with z3.")
@click.argument("protocol", required=False, metavar="[PROTOCOL_OR_FILE]")
@click.option("--property", "properties", multiple=True, metavar="NAME", help="Prove this property or lemma; several together.")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="Set a constant.")
@click.option("--version", metavar="NAME", help="Take the constants of a named version, such as a Kafka release.")
@click.option("--with", "with_", multiple=True, metavar="SWITCH", help="Turn a switch on.")
@click.option("--without", multiple=True, metavar="SWITCH", help="Turn a switch off.")
@click.option(
    "--unbounded",
    multiple=True,
    metavar="NAMES",
    help="Constants that have any value, such as max_leader_epoch, or the domain they bound, such as epoch; with commas.",
)
@click.option("--int64", multiple=True, metavar="NAMES", help="The same, up to the greatest number of 64 bits.")
@click.option(
    "--havoc-loops",
    is_flag=True,
    help="Loops that --unbounded leaves without an end may write anything, instead of being refused.",
)
@click.option("--k", type=click.IntRange(1, 50), default=1, show_default=True, metavar="N", help="Induction over N steps.")
@click.option("--depth", type=click.IntRange(0, 200), metavar="N", help="No induction: look at every run of N steps.")
@click.option("--every-state", is_flag=True, help="No induction: ask it of every state of the domains, reachable or not.")
@click.option("--timeout", default="60s", show_default=True, metavar="TIME", help="For each question to z3.")
@click.option(
    "--workers", type=click.IntRange(1, 256), metavar="N", help="Processes; as many as there are processors if not given."
)
@click.option("--strengthen", is_flag=True, help="Look for lemmas that make the properties inductive.")
@click.option(
    "--reach",
    default="30s",
    show_default=True,
    metavar="TIME",
    help="How long to search for a state that breaks the induction; 0s: not.",
)
@click.option("--expect", metavar="VERDICT", help=f"Succeed if this is the verdict: {', '.join(Verdict)}.")
@click.option("--trace", metavar="FILE", help="Write what breaks the induction there, or the run that violates.")
@click.option("--cache/--no-cache", default=True, help="Take over what was proved before of the same text.  [default: on]")
@click.option("--json", is_flag=True, help="Print JSON.")
@click.option("--quiet", is_flag=True, help="No notes and no progress, only results.")
def prove(**given: Any) -> Exit:
    """Prove properties of PROTOCOL by induction: they hold initially, and every step keeps them.

    Constants named by --unbounded have any value; all others keep theirs. Without PROTOCOL, the proofs of the catalogue
    are made, and those of the same protocols with a rule broken, which must fail.

    \b
    Exit status: 0 proved, 1 violated or not as expected, 2 bad input,
    3 undetermined: no induction, or z3 cannot say in time, 4 Fencepost is wrong about itself.
    """  # noqa: D301 (\b is the mark by which click keeps lines)
    asked = Asked(**given)
    if importlib.util.find_spec("z3") is None:
        raise UsageError(
            "proofs need z3, which is not installed: write `pip install 'fencepost[prove]'`, or explore with `fencepost check`."
        )
    if asked.protocol is None:
        from fencepost.cli.commands.theorems import prove_catalogue

        return prove_catalogue(asked)
    return prove_one(asked, asked.protocol)


def prove_one(asked: Asked, name: str) -> Exit:
    """Prove properties of one protocol and print what came of it."""
    from fencepost.api.proving import Report, explain, report_data, report_text
    from fencepost.cli.views.proving import print_report

    expected = expected_verdict(asked.expect)
    found = find_protocol(name)
    switches = (*((item, True) for item in asked.with_), *((item, False) for item in asked.without))
    constants = choose_constants(found.machine, asked.version, asked.settings, switches)
    properties = select(found, asked.properties)
    settings = settings_of(asked, found)
    reach = 0.0 if asked.reach in ("0", "0s") else parse_duration(asked.reach, "--reach")
    file = Path(asked.trace) if asked.trace else None
    if file:
        make_sure_writable(file)
    with Display(quiet=asked.quiet) as display:
        proof = proof_of(found, constants, properties, settings, display, cache=asked.cache)
        report = explain(Report(found, constants, properties, settings, proof), reach, display)
        if asked.strengthen:
            from fencepost.api.strengthening import strengthened

            report = strengthened(report, reach, display)
        if file and report_text(report):
            write_text(file, report_text(report))
            display.note(f"{file}: {report.told}")
    if asked.json:
        print_json(report_data(report))
    else:
        print_report(results(), report)
    if report.proof.why_stopped:
        return Exit.UNDETERMINED
    return exit_of(report.proof.verdict, expected)


def proof_of(
    found: Protocol,
    constants: Constants,
    properties: tuple[Property, ...],
    settings: Settings,
    display: Display,
    *,
    cache: bool,
) -> Any:
    """Return a proof, from the cache if the same text was proved before."""
    from fencepost.explorers.symbolic.cache import cached
    from fencepost.explorers.symbolic.proof import prove as ask

    def tell(done: int, of: int) -> None:
        display.spin(f"proving {found.name}: {done} of {of} steps")

    with display.busy(f"proving {found.name}"):
        if not cache:
            return ask(found.machine, constants, properties, settings, tell)
        return cached(found.machine, constants, properties, settings, tell)


def settings_of(asked: Asked, found: Protocol) -> Settings:
    """Return how to prove; raise UsageError for what cannot be meant."""
    from fencepost.explorers.native.crew import processors
    from fencepost.explorers.symbolic.lifting import lifted_names
    from fencepost.explorers.symbolic.proof import Settings

    ways = [
        name
        for name, given in (("--depth", asked.depth is not None), ("--k", asked.k > 1), ("--every-state", asked.every_state))
        if given
    ]
    if len(ways) > 1:
        raise UsageError(f"{ways[0]} was given with {ways[1]}: these are different ways to prove. Write one of them.")
    if asked.strengthen and ways:
        raise UsageError(
            f"--strengthen was given with {ways[0]}: lemmas are looked for that make an induction over one step, and this is "
            "another way to prove. Leave one of them out."
        )
    if asked.havoc_loops and ways:
        raise UsageError(
            f"--havoc-loops was given with {ways[0]}: where a loop may leave anything, a run of several steps need not be one of "
            f"the model. Leave one of them out."
        )
    lifted: dict[str, int | None] = dict.fromkeys(lifted_names(found.machine, asked.unbounded, "--unbounded"))
    lifted |= dict.fromkeys(lifted_names(found.machine, asked.int64, "--int64"), WIDEST)
    timeout = parse_duration(asked.timeout, "--timeout")
    workers = asked.workers or processors()
    return Settings(
        lifted, asked.k, asked.depth, asked.every_state, timeout, workers, havoc_loops=asked.havoc_loops and bool(lifted)
    )


def expected_verdict(name: str | None) -> Verdict | None:
    """Return the verdict that is expected, if one is."""
    known = [str(item) for item in Verdict]
    if name is not None and name not in known:
        raise UsageError(
            f"--expect was given {name!r}, which is no verdict.{nearest(name, known)} Verdicts are: {', '.join(known)}."
        )
    return None if name is None else Verdict(name)
