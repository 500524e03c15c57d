"""Proofs of the catalogue. Each proof has a twin: the same proof with a broken rule, which must fail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fencepost.api.answers.as_json import FORMAT, pick
from fencepost.api.answers.proof_report import bounded_of
from fencepost.api.asking.watching import Event, Watch, watched
from fencepost.api.calls.prove import proof_of
from fencepost.explorers.native.expansion import processors
from fencepost.explorers.running.interrupts import Stopped
from fencepost.explorers.verdict import Verdict, extended
from fencepost.invariants.theorems import THEOREMS, Theorem
from fencepost.model.language import Constants, Machine

if TYPE_CHECKING:
    from fencepost.explorers.symbolic.proof import Proof, Settings


@dataclass(frozen=True)
class TheoremsResult:
    """Results of the catalogue's proofs and their broken twins, as JSON objects."""

    proofs: tuple[dict[str, Any], ...]
    why_stopped: str = ""

    def __repr__(self) -> str:
        return f"TheoremsResult({self.verdict}: {len(self.proofs)} proofs)"

    @property
    def verdict(self) -> Verdict:
        """The verdict, which is `proved` if every proof succeeded and every twin failed."""
        found = {verdict_of(row) for row in self.proofs}
        if self.why_stopped:
            return Verdict.UNDETERMINED
        return next((item for item in (Verdict.VIOLATED, Verdict.UNDETERMINED) if item in found), Verdict.PROVED)

    @property
    def left(self) -> int:
        """The number of proofs not attempted."""
        return len(THEOREMS) - len(self.proofs)

    def to_dict(self) -> dict[str, Any]:
        as_expected = self.verdict is Verdict.PROVED
        proofs = list(self.proofs)
        return {"format": FORMAT, "as_expected": as_expected, "why_stopped": self.why_stopped, "proofs": proofs}


def prove_catalogue(
    *,
    timeout: float = 60.0,
    workers: int = 0,
    cache: bool = True,
    progress: Watch | Callable[[Event], None] | None = None,
    each: Callable[[dict[str, Any]], None] = lambda _: None,
) -> TheoremsResult:
    """Attempt every proof of the catalogue, and check that the twins fail. `each` is called with every result."""
    rows: list[dict[str, Any]] = []
    watch = watched(progress)
    for item in THEOREMS:
        try:
            row = prove_theorem(item, watch, timeout=timeout, workers=workers, cache=cache)
        except Stopped as signal:
            return TheoremsResult(tuple(rows), extended(signal.why, f" while {item.name} was proved"))
        rows.append(row)
        each(row)
    return TheoremsResult(tuple(rows))


def verdict_of(row: dict[str, Any]) -> Verdict:
    if row["verdict"] == Verdict.PROVED and row["twin"]["fails_as_expected"]:
        return Verdict.PROVED
    return Verdict.UNDETERMINED if row["verdict"] == Verdict.UNDETERMINED else Verdict.VIOLATED


def prove_theorem(item: Theorem, watch: Watch, *, timeout: float, workers: int, cache: bool) -> dict[str, Any]:
    from fencepost.explorers.symbolic.cache import digest

    machine = item.found.machine
    settings = settings_of(item, timeout, workers)
    constants = machine.set_constants(item.constants)
    proof = _prove(item, machine, constants, settings, watch, cache=cache)
    other = item.twin.machine or machine
    values = other.set_constants({**item.constants, **item.twin.constants})
    twin = _prove(item, other, values, replace(settings, explain=False), watch, cache=cache)
    words = [name if most is None else f"{name} (64 bits)" for name, most in item.unbounded.items()]
    return {
        **pick(item, "name says protocol goals lemmas"),
        "unbounded": ", ".join([*([] if item.everywhere else ["steps"]), *words]),
        "bounded": bounded_of(constants, settings),
        **pick(proof, "method verdict"),
        "why": "; ".join(f"{found.name}: {found.why}" for found in proof.findings if found.why),
        "steps": proof.moves,
        "branches": proof.branches,
        "questions": proof.queries,
        "solver_seconds": round(proof.solver_seconds, 2),
        "seconds": round(proof.seconds, 2),
        **pick(proof, "cached cuts"),
        "havoc_loops": list(proof.forgotten),
        "twin": {
            "rule": item.twin.rule,
            "expected": item.twin.action,
            "verdict": str(twin.verdict),
            "fails_as_expected": twin_fails(item, twin),
            "broken_by": sorted({answer.action for answer in twin.broken}),
            "fails": [found.name for found in twin.findings if found.verdict is not Verdict.PROVED],
            "solver_seconds": round(twin.solver_seconds, 2),
            "seconds": round(twin.seconds, 2),
        },
        "digest": digest(machine, constants, item.properties, settings, engine=""),
    }


def settings_of(item: Theorem, timeout: float, workers: int) -> Settings:
    from fencepost.explorers.symbolic.proof import Settings

    return Settings(
        dict(item.unbounded),
        everywhere=item.everywhere,
        timeout=timeout,
        workers=workers or processors(),
        havoc_loops=item.havoc_loops,
    )


def _prove(
    item: Theorem, machine: Machine, constants: Constants, settings: Settings, watch: Watch, *, cache: bool
) -> Proof:
    watch = watch if watch.live else Watch()  # one note for each proof and each twin would be too many
    made = proof_of(machine, constants, item.properties, settings, watch, f"proving {item.name}", cache=cache)
    if made.why_stopped:
        raise Stopped(made.why_stopped)
    return made


def twin_fails(item: Theorem, twin: Proof) -> bool:
    """Return whether the proof of the twin failed because of a counterexample. A z3 timeout does not count."""
    named = item.twin.action
    is_step = any(answer.action == named for answer in twin.broken)
    is_property = any(found.name == named and found.verdict is not Verdict.PROVED for found in twin.findings)
    return not twin.gave_up and (is_step or is_property)
