"""Guards that protect only liveness: judged on the machine without them, compiled for itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.api.checking import explore
from fencepost.api.targets import Question
from fencepost.explorers.verdict import Result, Verdict, ended_by_signal, extended
from fencepost.invariants.protocols import Protocol
from fencepost.model.language.actions import Kind
from fencepost.model.language.errors import UsageError
from fencepost.model.language.removal import find_guard, without

if TYPE_CHECKING:
    from fencepost.api.contract_evidence import MatrixData
    from fencepost.api.watching import Watch
    from fencepost.explorers.verdict import Options
    from fencepost.model.language import Property

SAFE = ("nothing-broke", "same-states")
"""Purposes of guards that no safety property depends on, and that let more happen when they are gone."""

LATER = " while what must happen in the end was judged"


def eventual_properties(found: Protocol) -> tuple[Property, ...]:
    """Return the leads-to properties of a protocol; raise UsageError if it has none."""
    asked = tuple(item for item in found.every_property if item.kind is Kind.LEADS_TO)
    if not asked:
        raise UsageError(
            f"protocol {found.name!r} has no leads-to properties, so no guard can be seen to protect them: leave --liveness out."
        )
    return asked


def judge_liveness(question: Question, data: MatrixData, options: Options, watch: Watch) -> None:
    """Give the purpose `liveness` to guards without which something does not happen in the end, by the matrix that is given.

    Where a step would leave a domain without the guard, nothing is asked: such steps are not a behaviour. After a signal no
    guard is judged any more.
    """
    found, constants = question.protocol, question.constants
    if ended_by_signal(data["why_stopped"]):
        return
    asked = eventual_properties(found)
    base = explore(Question(found, constants, asked), "native", options, watch)
    holding = _with(base, Verdict.HOLDS)
    if ended_by_signal(base.why_stopped):
        data["why_stopped"] = extended(base.why_stopped, LATER)
    data["liveness"] = {"asked": [item.name for item in asked], "holding": holding}
    kept = tuple(item for item in asked if item.name in holding)
    for row in data["rows"]:
        if row["kind"] != "guard" or row["purpose"] not in SAFE or row["departure"] or not kept:
            continue
        machine = without(found.machine, find_guard(found.machine, row["row"]))
        result = explore(Question(Protocol(machine, kept), constants, kept), "native", options, watch)
        row["liveness"] = _with(result, Verdict.VIOLATED)
        if row["liveness"]:
            row["purpose"] = "liveness"
        elif not result.complete:
            row["why"] = f"what must happen in the end was not judged: {result.why_stopped}"
        if ended_by_signal(result.why_stopped):
            data["why_stopped"] = extended(result.why_stopped, LATER)
            return


def _with(result: Result, verdict: Verdict) -> list[str]:
    return [item.name for item in result.properties if item.verdict is verdict]
