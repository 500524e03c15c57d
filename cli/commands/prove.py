"""`fencepost prove`: proves properties with z3, by induction or up to a number of steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from click import argument, option
from fencepost.api.answers import proof_report
from fencepost.api.answers.counterexample import Counterexample
from fencepost.api.asking.quantities import counted, listed, parse_duration, show_seconds
from fencepost.api.files import write_text
from fencepost.cli.commands import options
from fencepost.cli.status import Exit, exit_of
from fencepost.cli.views.console import (
    Display,
    called,
    heading,
    joined,
    print_bare,
    print_facts,
    print_json,
    print_lines,
    print_rows,
    print_trace,
    results,
    show,
    styled,
    unbroken,
    verdict_style,
    verdict_text,
)
from fencepost.cli.views.screen import print_answer, print_steps, some, violation
from fencepost.explorers.verdict import Verdict

if TYPE_CHECKING:
    from fencepost.api.calls.theorems import TheoremsResult
    from rich.console import Console
    from rich.text import Text


@options.command()
@argument("protocol", required=False, metavar="[PROTOCOL_OR_FILE]")
@option(
    "--property",
    "properties",
    multiple=True,
    metavar="NAME",
    help="Prove this property or lemma. Repeat the option to prove several together.",
)
@options.constants_options
@option(
    "--unbounded",
    multiple=True,
    metavar="NAMES",
    help="Remove the bounds on these constants or domains, such as max_leader_epoch or epoch (comma-separated).",
)
@option("--int64", multiple=True, metavar="NAMES", help="Like --unbounded, but with 64-bit integers as values.")
@option(
    "--havoc-loops",
    is_flag=True,
    help="If --unbounded makes a loop unbounded, do not reject the model, but assume that the loop can write any "
    "value.",
)
@option("--k", type=options.Count(1, 50), default=1, show_default=True, help="Use induction over N steps.")
@option("--depth", type=options.Count(0, 200), help="Check every run of N steps, without induction.")
@option("--every-state", is_flag=True, help="Check all states in the domains, reachable or not, without induction.")
@option("--timeout", default="60s", show_default=True, metavar="TIME", help="Time limit of each z3 query.")
@options.workers_option("Number of processes", 256)
@option("--strengthen", is_flag=True, help="Search for lemmas that make the properties inductive.")
@option(
    "--reach",
    default="30s",
    show_default=True,
    metavar="TIME",
    help="Time limit of the search for a reachable state that breaks the induction; 0s skips the search.",
)
@options.expect_option()
@option("--trace", type=options.Writable(), help="Write the step or the run that breaks a property to this file.")
@option("--cache/--no-cache", default=True, help="Reuse a cached proof of the same question.  [default: on]")
@options.verbose_option
@options.output_options
def prove(**given: Any) -> Exit:
    """Prove properties of PROTOCOL by induction: they hold initially, and every step preserves them.

    Constants named by --unbounded may have any value, and all others keep their values. Without PROTOCOL, prove the
    catalogue's theorems, and check that each proof fails if one of the protocol's rules is broken.

    Exit status: 0 if proved, 1 if violated or not as expected, 2 for bad input, 3 if undetermined (not inductive, or z3
    timed out), 4 for an internal error.
    """
    from fencepost.api.calls.prove import look_for_z3
    from fencepost.api.calls.prove import prove as proved

    look_for_z3()
    if given["protocol"] is None:
        own = ("timeout", "reach", "workers", "cache", "json", "quiet")
        options.refuse_beyond(own, given, "the proofs of the catalogue, which have fixed settings")
        return _prove_catalogue(given)
    expected = given["expect"]
    target = options.Target.from_options(given)
    question, file = target.question(), given["trace"]
    names = "unbounded int64 havoc_loops k depth every_state workers strengthen cache"
    timeout = parse_duration(given["timeout"], "--timeout")
    reach = 0.0 if given["reach"] in ("0", "0s") else parse_duration(given["reach"], "--reach")
    report = called(given, proved, names, question, only=given["properties"], timeout=timeout, reach=reach)
    checked = [item.name for item in question.protocol.every_property if item.name in given["properties"]]  # no lemmas
    values = proof_report.values_text(report).split() if report.verdict is Verdict.VIOLATED else []
    words = [*target.words, *(word for value in values for word in ("--set", value))]
    search = options.command_line("check", *words, *_named(checked))
    command = partial(_command_for, target, given)
    show(given, report, print_report, command=command, search=search, strengthened=given["strengthen"])
    if file and report.text:
        write_text(file, report.text)
        Display(quiet=given["quiet"]).note(f"{file}: {report.summary}")
    return Exit.UNDETERMINED if report.proof.why_stopped else exit_of(report.proof.verdict, expected)


def _command_for(target: options.Target, given: dict[str, Any], more: str) -> str:
    words = ["prove", *target.words, *_named(given["properties"])]
    words += [word for name in ("unbounded", "int64") for value in given[name] for word in (f"--{name}", value)]
    return options.command_line(*words, *(["--havoc-loops"] if given["havoc_loops"] else []), more)


def _named(properties: Sequence[str]) -> list[str]:
    return [word for name in properties for word in ("--property", name)]


def _prove_catalogue(given: dict[str, Any]) -> Exit:
    from fencepost.api.calls.theorems import prove_catalogue

    each = (lambda _: None) if given["json"] else print_row
    timeout = parse_duration(given["timeout"], "--timeout")
    made = called(given, prove_catalogue, "workers cache", timeout=timeout, each=each)
    if given["json"]:
        print_json(made.to_dict())
    else:
        print_summary(made)
    return exit_of(made.verdict, None)


def print_row(row: dict[str, Any]) -> None:
    console, twin = results(), row["twin"]
    took = f"  {show_seconds(row['seconds'])}{', from the cache' if row['cached'] else ''}"
    console.print(joined((row["name"], "bold"), "  ", verdict_text(Verdict(row["verdict"])), took))
    print_lines(console, row["says"], style="dim", indent=2)
    if row["why"]:
        print_lines(console, row["why"], style="yellow", indent=2)
    broken = ", ".join(twin["broken_by"]) or ", ".join(twin["fails"])
    fails = f"fails, as it should: {broken}" if twin["fails_as_expected"] else "does not fail, although it should"
    facts: list[tuple[str, Text | str]] = [("unbounded", row["unbounded"]), ("bounded", row["bounded"])]
    if row["havoc_loops"]:
        facts.append(("loops", f"any values after the loops of {', '.join(row['havoc_loops'])}"))
    facts.append(("with", ", ".join(row["lemmas"]) or "no lemma"))
    style = "" if twin["fails_as_expected"] else "bold red"
    facts.append(("twin", styled(f"without “{twin['rule']}” it {fails}", style)))
    print_facts(console, facts, indent=2)


def print_summary(made: TheoremsResult) -> None:
    from fencepost.api.calls.theorems import verdict_of

    rows = made.proofs
    good = sum(verdict_of(row) is Verdict.PROVED for row in rows)
    seconds = sum(row["seconds"] + row["twin"]["seconds"] for row in rows)
    text = f"{good} of {len(rows)} proved, each with a twin that fails, in {show_seconds(seconds)}"
    results().print(styled(text, "bold green" if good == len(rows) else "bold red"))
    if made.why_stopped:
        left = f"{made.left} of {counted(made.left + len(rows), 'proof')} not attempted"
        print_lines(results(), f"Partial: {made.why_stopped}. {left}.", style="yellow")


SHOWN = 6


def verdict_sentence(report: proof_report.ProveResult) -> str:
    proof = report.proof
    if proof.history is not None:
        trace = proof_report.trace_of(report)
        return violation(report.properties, proof.history.violates, counted(len(trace.steps) + 1, "state"))
    worst = next((item for item in proof.findings if item.verdict is proof.verdict), None)
    if worst is None or proof.verdict is Verdict.PROVED:
        names = listed([f"`{item.name}`" for item in proof.findings])
        them = "it holds initially, and every step preserves it" if len(proof.findings) == 1 else "they hold together"
        return f"Proved: {names}. {them[0].upper()}{them[1:]}; the method is {proof.method}."
    if proof.verdict is Verdict.VIOLATED:
        return f"`{worst.name}` is violated: {worst.why.removeprefix('violated by ')}."
    if proof.broken:
        steps = counted(len(proof.broken), "step")
        return f"Undetermined: induction does not prove `{worst.name}`, because {steps} may break it."
    return f"{'Undetermined: ' if proof.verdict is Verdict.UNDETERMINED else ''}`{worst.name}`: {worst.why}."


def print_report(
    console: Console,
    report: proof_report.ProveResult,
    command: Callable[[str], str] | None = None,
    *,
    search: str = "fencepost check",
    strengthened: bool = False,
    verbose: bool = True,
) -> None:
    """Print the verdicts, their limits, the step that breaks the induction, and commands to try next.

    `command(option)` returns the same command with one more option, and `search` is the command that searches the
    reachable states instead. `strengthened` says whether lemmas were searched for.
    """
    proof, style = report.proof, verdict_style(report.proof.verdict)
    sentence = verdict_sentence(report).replace("`fencepost check`", f"`{search}`")
    print_lines(console, sentence, style=style)
    if proof.why_stopped:
        print_lines(
            console, f"Partial: {proof.why_stopped}. Properties that were not decided are undetermined.", style="yellow"
        )
    if verbose:
        print_lines(console, report.found.machine.sentence, style="dim")
        console.print()
        print_rows(console, [(item.name, verdict_text(item.verdict), item.why) for item in proof.findings], indent=2)
    print_answer(console, _facts(report, verbose=verbose), hint="" if verbose else "every property and step in full")
    if report.lemmas:
        console.print()
        proves = any(item.verdict is Verdict.PROVED for item in proof.findings)
        what = "together with the proved properties" if proves else "on their own, but not enough to prove the property"
        console.print(heading(f"Lemmas that are inductive {what}"))
        shown = report.lemmas[: None if verbose else SHOWN if proves else 1]
        print_lines(console, *shown, indent=2)
        if len(shown) < len(report.lemmas):
            print_lines(console, f"{len(report.lemmas) - len(shown)} more: `-v`", indent=2, style="dim")
    if proof.broken:
        if verbose:
            _print_broken(console, report)
        if command is not None and proof.verdict is Verdict.UNDETERMINED:
            _print_next(console, command, search, strengthened=strengthened)
    if proof.history is not None:
        trace, path = proof_report.trace_of(report), proof_report.path_of_history(report)
        if verbose:
            console.print()
            print_trace(console, trace, path)
        else:
            made = Counterexample(trace, path)
            print_steps(console, made.texts, f"{trace.finding}: a run of {counted(path.length, 'state')}")
        print_lines(console, "", verdict_sentence(report), style=style)


def _facts(report: proof_report.ProveResult, *, verbose: bool) -> Iterator[tuple[str, Text | str]]:
    found = report.proof.findings
    for verdict in dict.fromkeys(item.verdict for item in found) if not verbose and len(found) > 1 else ():
        yield str(verdict), some([item.name for item in found if item.verdict is verdict])
    broken = [item.move for item in report.proof.broken]
    if broken and not verbose:
        yield "broken by", some([unbroken(move) for move in broken], SHOWN)
        pair = report.proof.pair
        if report.reachable or (pair is not None and pair.action):
            yield "from", f"a state before `{broken[0]}`: {_reachable(report)}"
    yield from (row for row in proof_report.reach(report) if verbose or row[0] not in ("questions", "time"))


def _reachable(report: proof_report.ProveResult) -> str:
    return report.reachable or "the state was not searched for, so it may be unreachable"


def _print_broken(console: Console, report: proof_report.ProveResult) -> None:
    proof = report.proof
    print_lines(console, "", heading("States and steps that break the induction, smallest counterexample first"))
    rows = [(item.move, ", ".join(item.broken)) for item in proof.broken[:SHOWN]]
    print_rows(console, rows, indent=2)
    if len(proof.broken) > SHOWN:
        print_lines(console, f"and {len(proof.broken) - SHOWN} more", indent=2)
    if proof.pair is None or not proof.pair.action:
        if report.reachable:
            print_lines(console, f"{report.reachable}.")
        return
    print_lines(console, "", heading(f"{report.summary}: from a state where all properties hold"))
    if proof_report.values_text(report):
        print_lines(console, f"Values of the unbounded constants in this step: {proof_report.values_text(report)}.")
    print_lines(console, f"This state: {_reachable(report)}.")
    trace, path = proof_report.pair_trace(report)
    from fencepost.counterexamples.history import states_text

    print_bare(console, states_text(trace, path, start=proof_report.ANY_STATE, ending=report.summary).rstrip())


def _print_next(console: Console, command: Callable[[str], str], search: str, *, strengthened: bool) -> None:
    """Print commands to try after a failed induction, which is not a violation."""
    looks = "--strengthen found no sufficient lemmas: "
    if not strengthened:
        looks = f"`{command('--strengthen')}` searches for one; or "
    print_lines(
        console,
        "",
        "A failed induction is not a violation. You may need a lemma that excludes the state before the step. "
        f"{looks}write the lemma as an @always property, and name both with --property. `{search}` instead searches "
        "the reachable states, and `--depth=10` checks every run of 10 steps.",
    )
