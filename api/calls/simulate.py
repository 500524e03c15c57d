"""Random walks through a protocol, and the violations that they find."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fencepost.api.answers.as_json import FORMAT, Printed, actions_of, judged, pick
from fencepost.api.answers.counterexample import Counterexample, trace_of_path
from fencepost.api.answers.results import frame
from fencepost.api.asking.arguments import call
from fencepost.api.asking.places import against, placed
from fencepost.api.asking.quantities import counted
from fencepost.api.asking.targets import Question, ask, chosen_of, kernels_of, source_of
from fencepost.api.asking.watching import Event, Watch, watched
from fencepost.api.calls.shrink import ShrinkResult, shrink
from fencepost.explorers.running.interrupts import BY_KEYBOARD, CANCELLED, Stopped, cancelled_by
from fencepost.explorers.verdict import Cause, Options, Verdict, cause_of, require_number
from fencepost.explorers.walk.sample import Plan, Sample, Sampled, nothing, sample
from fencepost.invariants.gravity import gravity
from fencepost.invariants.protocols import Protocol
from fencepost.model.language import Constants, Machine, Property
from fencepost.model.language.errors import DomainError

if TYPE_CHECKING:
    import pandas as pd

WALKS, DEPTH = 10_000, 100


@dataclass(frozen=True, repr=False)
class SimulateResult(Printed, Sample):
    """Results of random walks: how many walks decided each property, and the most serious violation."""

    question: Question = field(kw_only=True, repr=False)
    shown: Sampled | None = field(kw_only=True, default=None, repr=False)
    """The most severe violation or, of several equally severe ones, the one with the shortest trace."""
    trace: Counterexample | None = field(kw_only=True, default=None, repr=False)
    """The path of the most serious violation, shortened if requested."""
    shrunk: ShrinkResult | None = field(kw_only=True, default=None, repr=False)
    not_judged: tuple[str, ...] = field(kw_only=True, default=(), repr=False)
    """Properties of behaviours, which no finite walk decides."""

    @property
    def verdict(self) -> Verdict:
        found = super().verdict
        return Verdict.NOT_FOUND if self.not_judged and found is Verdict.HOLDS else found

    def __repr__(self) -> str:
        return f"SimulateResult({self.protocol}: {self.verdict}, {counted(self.walks, 'walk')})"

    def to_dict(self, file: Path | None = None, expected: Verdict | None = None) -> dict[str, Any]:
        """Return the result as JSON, in which `file` is the name of the trace's file."""
        return {
            "format": FORMAT,
            **pick(self, "protocol constants"),
            "engine": "walk",
            **pick(self, "workers verdict complete why_stopped"),
            **pick(self.plan, "seed weights"),
            "walks": self.walks,
            "depth": self.plan.depth,
            **pick(self, "steps longest stuck"),
            "distinct_estimate": self.distinct,
            "budgets_spent": self.most_faults,
            "deepest_log": self.deepest_log,
            "seconds": round(self.seconds, 4),
            "properties": [self._property(item, file) for item in self.properties],
            "actions": actions_of(self.fired),
            "notes": list(self.notes),
            **judged(self.verdict, expected),
        }

    def _property(self, item: Sampled, file: Path | None) -> dict[str, Any]:
        found = pick(item.result, "name kind verdict")
        if item.path is not None:
            found["walks"], found["walk"], found["length"] = item.walks, item.walk, item.path.length
        if item is self.shown and self.trace is not None:
            found["trace"], found["steps"] = str(file) if file else None, list(self.trace.texts)
            if self.shrunk is not None:
                found["shrunk"] = self.shrunk.to_dict()
        return found

    def to_frame(self) -> pd.DataFrame:
        rows = (
            (it.result.name, str(it.result.kind), str(it.result.verdict), it.walks, it.path and it.path.length)
            for it in self.properties
        )
        return frame("property kind verdict walks length", rows, index="property", whole="length")

    def _repr_html_(self) -> str:
        summary = f"{self.walks:,} walks, {self.steps:,} steps, about {self.distinct:,} different states"
        return f"<p><b>{escape(self.protocol)}</b> {self.verdict}. {summary}.</p>" + (
            self.trace._repr_html_() if self.trace else ""
        )


@call
def simulate(
    what: Machine | Protocol | Question | str | Path,
    properties: Iterable[Property] | None = None,
    *,
    constants: Mapping[str, Any] | Constants | None = None,
    version: str = "",
    only: Iterable[str] = (),
    walks: int = WALKS,
    depth: int = DEPTH,
    seed: int = 0,
    weights: Mapping[str, int] | None = None,
    workers: int = 0,
    budget: float | None = None,
    stop_on_violation: bool = False,
    normalize: bool = True,
    shrinks: bool = True,
    progress: Watch | Callable[[Event], None] | None = None,
    cancel: Callable[[], bool] | None = None,
    **more: Any,
) -> SimulateResult:
    """Take random walks through a protocol and check its properties. Walks never prove that a property holds.

    A walk has at most `depth` steps. The protocol, the constants, the weights, the seed and the walk's number determine
    the walk. Other arguments are the same as for `check`. Properties of behaviours are omitted. Naming one of them
    raises UsageError.
    """
    question = ask(what, properties, constants=constants, version=version, only=only, more=more, walks=True)
    require_number("depth", depth, 1)
    plan = Plan(seed, walks, depth, dict(weights or {}), workers, budget, stop_on_violation)
    watch = watched(progress)
    with cancelled_by(cancel):
        made = _walked(question, plan, watch, normalize=normalize)
        result = _with_trace(made, question, watch, workers, normalize=normalize, shrinks=shrinks)
    left = tuple(item.name for item in question.protocol.every_property if item.kind.over_behaviours)
    if not left or question.properties != chosen_of(question.protocol, (), walks=True):
        return result
    why = "Walks are finite, so only `fencepost check` decides properties of behaviours."
    return replace(result, notes=(*result.notes, f"not checked: {', '.join(left)}. {why}"), not_judged=left)


def _walked(question: Question, plan: Plan, watch: Watch, *, normalize: bool) -> Sample:
    machine, constants, properties = question.protocol.machine, question.constants, question.properties
    try:
        from fencepost.explorers.walk.walker import Walker, weights_of

        weights_of(machine, plan.weights)
        kernels = kernels_of(question, source_of(question, Options(normalize=normalize)), watch)
        walker = Walker(machine, constants, properties, normalize=normalize, kernels=kernels)
        made = sample(walker, plan, watch.telling_walks(question.name, plan.walks))
        errors = [item.error for item in made.problems if isinstance(item.error, DomainError)]
        return replace(made, notes=(*made.notes, *(placed(error, against(error)) for error in errors)))
    except KeyboardInterrupt as signal:
        cancelled = isinstance(signal, Stopped) and cause_of(signal.why) is Cause.CANCELLED
        why = (CANCELLED if cancelled else BY_KEYBOARD).on(" before the first walk")
        return nothing(machine, constants, properties, plan, why)
    finally:
        watch.clear()


def _with_trace(
    made: Sample, question: Question, watch: Watch, workers: int, *, normalize: bool, shrinks: bool
) -> SimulateResult:
    ranks = {prop.name: gravity(prop) for prop in question.properties}
    violated = [item for item in made.properties if item.result.verdict is Verdict.VIOLATED and item.path is not None]
    first = min(violated, key=lambda item: (ranks[item.result.name], item.path and item.path.length), default=None)
    if first is None or first.path is None:
        return SimulateResult(**vars(made), question=question)
    about = (question.protocol, question.constants, first.result.name, first.path)
    found = Counterexample(trace_of_path(*about, version=question.version, normalize=normalize), first.path)
    shrunk = shortened(found, watch, workers) if shrinks else None
    trace = shrunk.counterexample if shrunk else found
    return SimulateResult(**vars(made), question=question, shown=first, trace=trace, shrunk=shrunk)


def shortened(trace: Counterexample, watch: Watch, workers: int) -> ShrinkResult | None:
    try:
        return shrink(trace, workers=workers, progress=watch)
    except KeyboardInterrupt:
        watch.note("shortening was interrupted: the trace is not shortened")
        return None
