"""The result of a proof, as JSON and as a file: verdicts, their limits, and the step that breaks the induction."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from fencepost.api.answers.as_json import FORMAT, Printed, pick, table
from fencepost.api.answers.results import frame
from fencepost.api.asking.quantities import counted, show_seconds
from fencepost.counterexamples.trace import RULE, Trace
from fencepost.explorers.verdict import Verdict
from fencepost.invariants.protocols import Protocol
from fencepost.model.language import Constants, Property
from fencepost.model.language.interpreter import Path, Step

if TYPE_CHECKING:
    import pandas as pd
    from fencepost.explorers.symbolic.proof import Proof, Settings

ANY_STATE = "any state"
"""Title of the state before a step that breaks an induction. The state need not be initial or reachable."""


@dataclass(frozen=True, repr=False)
class ProveResult(Printed):
    """A proof, together with the question that it answers. `reachable` says whether a search reaches the state at which
    the induction fails. `lemmas` lists the added conjuncts as text.
    """

    found: Protocol
    constants: Constants
    properties: tuple[Property, ...]
    settings: Settings
    proof: Proof
    reachable: str = ""
    lemmas: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"ProveResult({self.found.name}: {self.verdict} by {self.proof.method})"

    @property
    def summary(self) -> str:
        """The finding of the counterexample as a clause."""
        if self.proof.history is not None:
            return f"{self.proof.history.violates} is violated"
        return f"{self.proof.broken[0].move} breaks the induction" if self.proof.broken else ""

    @property
    def verdict(self) -> Verdict:
        return self.proof.verdict

    @cached_property
    def text(self) -> str:
        """The counterexample (a trace, or the step that breaks the induction) as the text of a file, or ""."""
        from fencepost.counterexamples.history import states_text

        if self.proof.history is not None:
            from fencepost.counterexamples.replay import follow

            return follow(trace_of(self)).text
        if self.proof.pair is None or not self.proof.pair.action:
            return ""
        trace, path = pair_trace(self)
        lines = [
            "format: induction 1", f"title: {self.found.name}: {self.summary}", f"protocol: {self.found.name}",
            f"constants: {trace.constants_text}", f"unbounded: {unbounded_of(self.settings)}",
            f"properties: {' '.join(item.name for item in self.properties)}",
            f"breaks: {' '.join(self.proof.broken[0].broken)}", f"reachable: {self.reachable or 'not checked'}", RULE,
            trace.interpreter().show(trace.steps[0]), RULE,
            states_text(trace, path, start=ANY_STATE, ending=self.summary),
        ]  # fmt: skip
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        proof, lifted = self.proof, self.settings.lifted
        data = {
            "format": FORMAT,
            "protocol": self.found.name,
            "constants": {name: value for name, value in self.constants.shown.items() if name not in lifted},
            "unbounded": {name: "any" if most is None else most for name, most in lifted.items()},
            **pick(proof, "method verdict"),
            "properties": [pick(item, "name kind verdict why") for item in proof.findings],
            "steps": proof.moves,
            "branches": proof.branches,
            "questions": proof.queries,
            "seconds": round(proof.seconds, 3),
            "solver_seconds": round(proof.solver_seconds, 3),
            **pick(proof, "cached why_stopped cuts"),
            "havoc_loops": list(proof.forgotten),
            "broken": [{"step": item.move, "properties": list(item.broken)} for item in proof.broken],
            "lemmas": list(self.lemmas),
        }
        if proof.history is not None:
            return {**data, "counterexample": {"text": self.text}}
        if proof.pair is not None and proof.pair.action:
            return {**data, "counterexample": {"text": self.text, "reachable": self.reachable}}
        return data

    def to_frame(self) -> pd.DataFrame:
        rows = ((item.name, str(item.kind), str(item.verdict), item.why) for item in self.proof.findings)
        return frame("property kind verdict why", rows, index="property")

    def _repr_html_(self) -> str:
        rows = [(item.name, item.verdict, item.why) for item in self.proof.findings]
        return table(f"{self.found.name}: {self.verdict} by {self.proof.method}", ("property", "verdict", "why"), rows)


def path_of_history(report: ProveResult) -> Path:
    """Return z3's counterexample, replayed under the plain semantics; raise MismatchError if it violates nothing."""
    from fencepost.explorers.symbolic.replays import replay

    assert report.proof.history is not None
    return replay(report.found.machine, report.proof.history, report.properties)


def values_text(report: ProveResult) -> str:
    """Return, as text, the values of the unbounded constants in the counterexample."""
    pair = report.proof.pair
    values = pair.constants if pair is not None else {}
    return " ".join(f"{name}={values[name]}" for name in report.settings.lifted if name in values)


def reach(report: ProveResult) -> Iterator[tuple[str, str]]:
    """Yield the limits of the verdicts, each as a label and a string."""
    proof, settings = report.proof, report.settings
    yield "method", proof.method
    yield "unbounded", unbounded_of(settings)
    others = report.constants.shown.keys() - _told(report.constants, settings).keys() - settings.lifted.keys()
    rest = ", other switches at their defaults" if others else ""
    yield "bounded", bounded_of(report.constants, settings) + rest
    steps = counted(proof.moves, "step")
    branches = f", {counted(proof.branches, 'branch', 'branches')} followed both ways" if proof.branches else ""
    yield "questions", f"{steps}{branches}, {counted(proof.queries, 'z3 query', 'z3 queries')}"
    kept = " (from the cache)" if proof.cached else ""
    yield "time", f"{show_seconds(proof.seconds)}, {show_seconds(proof.solver_seconds)} of CPU time in z3{kept}"
    if proof.forgotten:
        yield "loops", f"{', '.join(proof.forgotten)} are unbounded, so the values that they write are arbitrary"
    for action, whats in proof.cuts.items():
        where = f"{action}: " if action else ""
        yield "cut", f"{where}{'; '.join(whats)}: such steps end with an error, and runs that contain one are left out"


def unbounded_of(settings: Settings) -> str:
    words = [name if most is None else f"{name} (64 bits)" for name, most in settings.lifted.items()]
    return (
        ", ".join([*([] if settings.depth is not None or settings.everywhere else ["the number of steps"]), *words])
        or "nothing"
    )


def bounded_of(constants: Constants, settings: Settings) -> str:
    """Return the fixed constants, except switches and choices with their default value."""
    return " ".join(f"{name}={str(value).lower()}" for name, value in _told(constants, settings).items()) or "nothing"


def _told(constants: Constants, settings: Settings) -> dict[str, Any]:
    declared = constants.declared()
    return {
        name: value
        for name, value in constants.shown.items()
        if name not in settings.lifted
        and (not declared[name].spellings() or value != declared[name].show(declared[name].default))
    }


def trace_of(report: ProveResult) -> Trace:
    history, path = report.proof.history, path_of_history(report)
    assert history is not None
    prop = next(item for item in report.properties if item.name == history.violates)
    constants = report.found.machine.set_constants(history.constants)
    title = f"{report.found.name}: {report.summary}"
    return Trace(title, report.found, constants, prop, path.steps, initial=history.first or None)


def pair_trace(report: ProveResult) -> tuple[Trace, Path]:
    """Return the step that breaks an induction, as a trace that starts in an arbitrary state."""
    pair = report.proof.pair
    assert pair is not None
    machine = report.found.machine
    step = Step(machine.action(pair.action), pair.args)
    name = report.proof.broken[0].broken[0]
    prop = next((item for item in report.properties if item.name == name), None)
    trace = Trace(report.summary, report.found, machine.set_constants(pair.constants), prop, (step,), normalize=False)
    return trace, Path(pair.before, (step,), (pair.before, pair.after))
