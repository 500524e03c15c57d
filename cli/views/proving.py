"""A proof on a terminal: verdicts, the unbounded constants, and steps that break an induction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.api.answers.proof_report import ANY_STATE, pair_trace, path_of_history, reach, trace_of, values_text
from fencepost.cli.views.console import heading, print_bare, print_lines, print_rows, styled, verdict_text
from fencepost.explorers.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from fencepost.api.answers.proof_report import ProveResult
    from rich.console import Console

SHOWN = 6
"""Moves that are listed where many break an induction."""


def print_report(
    console: Console, report: ProveResult, command: Callable[[str], str] | None = None, *, strengthened: bool = False
) -> None:
    """Print the verdict on each property, how far it reaches, what breaks the induction, and what to do about it.

    `command(option)` asks the same with one option more; `strengthened` says whether lemmas were looked for already.
    """
    from rich.text import Text

    proof = report.proof
    console.print(Text.assemble(heading(report.found.name), "  ", verdict_text(proof.verdict)), soft_wrap=True)
    print_lines(console, styled(report.found.machine.sentence, "dim"))
    console.print()
    print_rows(
        console,
        [(item.name, verdict_text(item.verdict), item.why) for item in proof.findings],
        indent=2,
    )
    if proof.why_stopped:
        print_lines(
            console, styled(f"Partial: {proof.why_stopped}. What was not decided by then is undetermined.", "yellow")
        )
    console.print()
    print_rows(console, [(styled(name, "dim"), text) for name, text in reach(report)])
    if report.lemmas:
        console.print()
        proves = any(item.verdict is Verdict.PROVED for item in proof.findings)
        what = "together with what is proved" if proves else "by themselves; not enough to prove what was asked"
        console.print(heading(f"Lemmas that are inductive {what}"))
        print_lines(console, *report.lemmas, indent=2)
    if proof.broken:
        _print_broken(console, report)
        if command is not None and proof.verdict is Verdict.UNDETERMINED:
            _print_next(console, command, strengthened=strengthened)
    if proof.history is not None:
        console.print()
        from fencepost.cli.views.traces import print_trace

        print_trace(console, trace_of(report), path_of_history(report))


def _print_broken(console: Console, report: ProveResult) -> None:
    proof = report.proof
    console.print()
    console.print(heading("What breaks the induction, the smallest counterexample first"))
    rows = [(item.move, ", ".join(item.broken)) for item in proof.broken[:SHOWN]]
    print_rows(console, rows, indent=2)
    if len(proof.broken) > SHOWN:
        print_lines(console, f"and {len(proof.broken) - SHOWN} more", indent=2)
    if proof.pair is None or not proof.pair.action:
        if report.reachable:
            print_lines(console, f"{report.reachable}.")
        return
    console.print()
    console.print(heading(f"{report.summary}: from a state in which all of them hold"))
    if values_text(report):
        print_lines(console, f"Constants that may have any value, here: {values_text(report)}.")
    found = report.reachable or "no search looked for it, and it may be one that no behaviour reaches"
    print_lines(console, f"This state: {found}.")
    trace, path = pair_trace(report)
    from fencepost.counterexamples.history import states_text

    print_bare(console, states_text(trace, path, start=ANY_STATE, ending=report.summary).rstrip())


def _print_next(console: Console, command: Callable[[str], str], *, strengthened: bool) -> None:
    """Print what to try: an induction that breaks says nothing of the behaviours that begin in an initial state."""
    looks = (
        "--strengthen found none that is enough: "
        if strengthened
        else f"`{command('--strengthen')}` looks for such lemmas; or "
    )
    print_lines(
        console,
        "",
        "An induction that breaks is no violation: it lacks a lemma, which excludes the state before the step. "
        f"{looks}write what excludes it as an @always property, and name both with --property. "
        f"`{command('--depth=10')}` asks about every run of 10 steps from an initial state.",
    )
