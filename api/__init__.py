"""The functions of Fencepost for notebooks, scripts, tests and services.

    import fencepost.api as f

    found = f.check("kip320", replicas=2)
    found.verdict, found.distinct

`docs/use/python.md` shows every function. A module is imported when one of its names is first used.
"""

from __future__ import annotations

import ast
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fencepost.api.answers.counterexample import Counterexample, State, Step
    from fencepost.api.answers.proof_report import ProveResult
    from fencepost.api.answers.results import CheckResult
    from fencepost.api.asking.watching import Event, Watch
    from fencepost.api.calls.ablate import AblateResult, ablate
    from fencepost.api.calls.agents import mcp
    from fencepost.api.calls.audit import AuditResult, audit
    from fencepost.api.calls.catalogue import CatalogueResult, catalogue
    from fencepost.api.calls.check import check
    from fencepost.api.calls.compare import CompareResult, compare
    from fencepost.api.calls.conform import (
        BuildsResult,
        ConformResult,
        ReproduceResult,
        compare_builds,
        conform,
        conform_brokers,
        conform_changes,
        conform_clients,
        conform_guards,
        list_findings,
        reproduce,
    )
    from fencepost.api.calls.explore import explore
    from fencepost.api.calls.faults import FaultsResult, faults
    from fencepost.api.calls.fuzz import FuzzResult, fuzz
    from fencepost.api.calls.graph import StateGraph, graph
    from fencepost.api.calls.in_hand import Held, InHand, in_hand
    from fencepost.api.calls.listing import Protocols, list_protocols
    from fencepost.api.calls.new import new
    from fencepost.api.calls.prove import prove
    from fencepost.api.calls.shrink import ReplayResult, ShrinkResult, replay, replay_text, shrink
    from fencepost.api.calls.simulate import SimulateResult, simulate
    from fencepost.api.calls.sweep import SweepResult, sweep
    from fencepost.api.calls.theorems import TheoremsResult, prove_catalogue
    from fencepost.api.calls.vacuity import VacuityResult, vacuity
    from fencepost.api.topics.advising import AdviceResult, advise
    from fencepost.api.topics.evidence import Guarantees, guarantees
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

    SiteResult: Any
    build_site: Any

_SITE = dict.fromkeys(("SiteResult", "build_site"), "fencepost.site.build")
"""Names imported lazily from `fencepost.site`, because that package imports this one."""

__all__ = [
    "AblateResult", "AdviceResult", "AuditResult", "BuildsResult", "CatalogueResult", "Cause", "CheckResult", "Cluster",
    "CompareResult", "ConformResult", "Counterexample", "DomainError", "Event", "ExpectationError", "FaultsResult",
    "FencepostError", "FuzzResult", "Guarantees", "Held", "InHand", "MismatchError", "ModelError", "Protocol",
    "Protocols", "ProveResult", "ReplayResult", "ReproduceResult", "ShrinkResult", "SimulateResult", "SiteResult",
    "State", "StateGraph", "Step", "SweepResult", "TheoremsResult", "UndeterminedError", "UsageError", "VacuityResult",
    "Verdict", "Watch", "ablate", "advise", "audit", "build_site", "catalogue", "check", "compare", "compare_builds",
    "conform", "conform_brokers", "conform_changes", "conform_clients", "conform_guards", "explore", "faults", "fuzz",
    "graph", "guarantees",
    "in_hand", "list_findings", "list_protocols", "mcp", "new", "prove", "prove_catalogue", "replay", "replay_text",
    "reproduce", "shrink", "simulate", "sweep", "vacuity",
]  # fmt: skip


@cache
def _homes() -> dict[str, str]:
    from fencepost.model.language.trees import module_of

    tree = ast.walk(module_of(Path(__file__).read_text("utf-8")))
    found = {item.name: str(node.module) for node in tree if isinstance(node, ast.ImportFrom) for item in node.names}
    return {**found, **_SITE}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_homes()[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
