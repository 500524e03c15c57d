"""Fencepost for Python: what a notebook, a script, a test or a service calls.

    import fencepost.api as f

    found = f.check("kip320", replicas=2)
    found.verdict, found.distinct

`docs/api.md` shows all of it. What a name needs is imported when the name is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fencepost.api.ablating import AblateResult, ablate
    from fencepost.api.advising import AdviceResult, advise
    from fencepost.api.auditing import AuditResult, audit
    from fencepost.api.checking import check
    from fencepost.api.counterexample import Counterexample, State, Step
    from fencepost.api.differing import DiffResult, diff
    from fencepost.api.faulting import FaultsResult, faults
    from fencepost.api.holding import Held, InHand, in_hand
    from fencepost.api.listing import Protocols, list_protocols
    from fencepost.api.proof_report import ProveResult
    from fencepost.api.proving import prove
    from fencepost.api.results import CheckResult
    from fencepost.api.shrinking import ReplayResult, ShrinkResult, replay, replay_text, shrink
    from fencepost.api.simulating import SimulateResult, simulate
    from fencepost.api.sweeping import SweepResult, sweep
    from fencepost.api.watching import Event, Watch
    from fencepost.explorers.spark.session import Cluster
    from fencepost.explorers.verdict import Cause, Verdict
    from fencepost.invariants.protocols import Protocol
    from fencepost.model.language.errors import (
        DomainError,
        ExpectationError,
        FencepostError,
        MismatchError,
        ModelError,
        UndeterminedError,
        UsageError,
    )

_ERRORS = "DomainError ExpectationError FencepostError MismatchError ModelError UndeterminedError UsageError"
_HOMES = {
    "fencepost.api.ablating": "AblateResult ablate",
    "fencepost.api.advising": "AdviceResult advise",
    "fencepost.api.auditing": "AuditResult audit",
    "fencepost.api.checking": "check",
    "fencepost.api.counterexample": "Counterexample State Step",
    "fencepost.api.differing": "DiffResult diff",
    "fencepost.api.faulting": "FaultsResult faults",
    "fencepost.api.holding": "Held InHand in_hand",
    "fencepost.api.listing": "Protocols list_protocols",
    "fencepost.api.proof_report": "ProveResult",
    "fencepost.api.proving": "prove",
    "fencepost.api.results": "CheckResult",
    "fencepost.api.shrinking": "ReplayResult ShrinkResult replay replay_text shrink",
    "fencepost.api.simulating": "SimulateResult simulate",
    "fencepost.api.sweeping": "SweepResult sweep",
    "fencepost.api.watching": "Event Watch",
    "fencepost.explorers.spark.session": "Cluster",
    "fencepost.explorers.verdict": "Cause Verdict",
    "fencepost.invariants.protocols": "Protocol",
    "fencepost.model.language.errors": _ERRORS,
}
_HOME = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = [
    "AblateResult",
    "AdviceResult",
    "AuditResult",
    "Cause",
    "CheckResult",
    "Cluster",
    "Counterexample",
    "DiffResult",
    "DomainError",
    "Event",
    "ExpectationError",
    "FaultsResult",
    "FencepostError",
    "Held",
    "InHand",
    "MismatchError",
    "ModelError",
    "Protocol",
    "Protocols",
    "ProveResult",
    "ReplayResult",
    "ShrinkResult",
    "SimulateResult",
    "State",
    "Step",
    "SweepResult",
    "UndeterminedError",
    "UsageError",
    "Verdict",
    "Watch",
    "ablate",
    "advise",
    "audit",
    "check",
    "diff",
    "faults",
    "in_hand",
    "list_protocols",
    "prove",
    "replay",
    "replay_text",
    "shrink",
    "simulate",
    "sweep",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
