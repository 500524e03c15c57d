"""Lemmas that make the properties of a proof inductive."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fencepost.api.asking.quantities import counted

if TYPE_CHECKING:
    from fencepost.api.answers.proof_report import ProveResult
    from fencepost.api.asking.watching import Watch

LOOKED_AT = 3_000
"""States that refute candidates before z3 is asked: what they let pass, z3 decides."""


def strengthened(report: ProveResult, seconds: float, watch: Watch) -> ProveResult:
    """Return the report of a proof with lemmas, if any were found; the properties' verdicts are then those with them.

    After Ctrl-C it is the report as it was, or what was decided by then.
    """
    from fencepost.explorers.running.interrupts import Stopped, interruptible
    from fencepost.explorers.verdict import Verdict, extended

    if report.proof.verdict is not Verdict.UNDETERMINED or report.proof.why_stopped:
        return report
    try:
        with interruptible():
            return _with_lemmas(report, seconds, watch)
    except Stopped as signal:
        return replace(
            report, proof=replace(report.proof, why_stopped=extended(signal.why, " while lemmas were looked for"))
        )


def _with_lemmas(report: ProveResult, seconds: float, watch: Watch) -> ProveResult:
    from fencepost.explorers.plain import PlainSearch
    from fencepost.explorers.running.interrupts import BY_KEYBOARD, Stopped
    from fencepost.explorers.symbolic.templates import candidates, not_refuted, strengthen
    from fencepost.explorers.verdict import Options, ended_by_signal

    machine, constants = report.found.machine, report.constants
    with watch.busy(f"strengthening {machine.name}: looking at reachable states"):
        search = PlainSearch(machine, constants, (), Options(workers=1, max_states=LOOKED_AT))
        if ended_by_signal(search.run().why_stopped):
            raise Stopped(BY_KEYBOARD)
        every = candidates(machine, {item.name for item in report.properties})
        left = not_refuted(machine, constants, every, search.parents)
    watch.note(
        f"{counted(len(every), 'candidate')}, of which {len(left)} hold in "
        f"{counted(len(search.parents), 'reachable state')}"
    )

    def tell(done: int, of: int) -> None:
        watch.spin(f"strengthening {machine.name} with {len(left)} candidates: {done} of {of} steps")

    with watch.busy(f"strengthening {machine.name}"):
        proof, kept = strengthen(machine, constants, report.properties, left, report.settings, seconds, tell)
    names = {item.name for item in report.properties}
    own = tuple(item for item in proof.findings if item.name in names)
    return replace(report, proof=replace(proof, findings=own), lemmas=tuple(item.sentence for item in kept))
