"""Trace files, which are replayed, or shortened to the shortest trace that shows the same violation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from fencepost.api.answers.as_json import pick
from fencepost.api.answers.counterexample import Counterexample
from fencepost.api.asking.arguments import call
from fencepost.api.asking.quantities import counted, show_seconds
from fencepost.api.asking.targets import lookup_in
from fencepost.api.asking.watching import Event, Watch, watched
from fencepost.counterexamples import replay as replaying
from fencepost.counterexamples.shrink import Limits, Shrunk
from fencepost.counterexamples.shrink import shrink as shorten
from fencepost.counterexamples.trace import Trace
from fencepost.explorers.running.interrupts import cancelled_by
from fencepost.explorers.verdict import Verdict
from fencepost.model.language.errors import UsageError

BUDGET, MEMORY = 60.0, 2 << 30
"""Default limits of shrinking, in seconds and bytes."""


@dataclass(frozen=True, repr=False)
class ReplayResult(Counterexample):
    """A replayed trace in which every step was enabled, and which ends as its file claims."""

    verdict: Verdict


@dataclass(frozen=True, repr=False)
class ShrinkResult(Shrunk):
    """A shortened trace, and the limits within which shorter traces were excluded."""

    def __repr__(self) -> str:
        return f"ShrinkResult({self.trace.protocol.name}: {self.before} to {counted(self.path.length, 'state')})"

    @cached_property
    def counterexample(self) -> Counterexample:
        return Counterexample(self.trace, self.path)

    @property
    def summary(self) -> str:
        """Text that says how much the trace was shortened, and within which limits no shorter trace exists."""
        now = counted(self.path.length, "state")
        took = show_seconds(self.seconds)
        shorter = self.path.length < self.before
        length = f"The trace still has {now}; shortening it took {took}."
        if shorter:
            length = f"Shortened from {self.before} to {now} in {took}."
        declared = self.trace.protocol.machine.constants.declared()
        lowered = ", ".join(f"{name} {old} → {declared[name].show(new)}" for name, (old, new) in self.lowered.items())
        return f"{length} {f'Lowered: {lowered}. ' if lowered else ''}{self.reach}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "protocol": self.trace.protocol.name,
            "property": self.counterexample.prop or None,
            "before": self.before,
            "length": self.path.length,
            "lowered": {name: {"from": old, "to": new} for name, (old, new) in self.lowered.items()},
            **pick(self, "shortest checked searched"),
            "why_stopped": "" if self.shortest else self.why_stopped,
            "seconds": round(self.seconds, 4),
            "steps": list(self.counterexample.texts),
        }

    def _repr_html_(self) -> str:
        return f"<p>{self.summary}</p>{self.counterexample._repr_html_()}"


@call
def replay(file: str | Path, *, model: str | Path | None = None, rewrite: bool = False) -> ReplayResult:
    """Replay a trace file. `model` is the file of a user's own protocol, and `rewrite` regenerates the recorded states.
    Raises UsageError if a step is disabled, or if the trace does not end as it claims.
    """
    take = replaying.rewrite if rewrite else replaying.replay
    made = take(file, lookup_in(str(model) if model else None))
    return ReplayResult(made.trace, made.path, made.verdict)


@call
def replay_text(text: str, *, model: str | Path | None = None) -> ReplayResult:
    """Replay a trace given as text, for example in a pasted test. Arguments and errors are the same as for `replay`."""
    made = replaying.replay_text(text, lookup_in(str(model) if model else None))
    return ReplayResult(made.trace, made.path, made.verdict)


@call
def shrink(
    what: str | Path | Counterexample | Trace,
    *,
    model: str | Path | None = None,
    budget: float = BUDGET,
    memory: int = MEMORY,
    workers: int = 0,
    progress: Watch | Callable[[Event], None] | None = None,
    cancel: Callable[[], bool] | None = None,
) -> ShrinkResult:
    """Shorten a trace by removing steps and lowering constants, and search for a shorter trace with the same violation.
    `what` is a counterexample or a trace file. `budget` is in seconds, not counting compilation, and `memory` is in
    bytes for each search.
    """
    if isinstance(what, str | Path):
        what = replay(what, model=model)
    if not isinstance(what, Counterexample | Trace):
        raise UsageError(f"{what!r} cannot be shortened: write a counterexample, or the path of a trace file.")
    trace = what.trace if isinstance(what, Counterexample) else what
    watch = watched(progress)
    try:
        with cancelled_by(cancel):
            found = shorten(trace, Limits(budget, memory, workers), watch.spin)
    finally:
        watch.clear()
    return ShrinkResult(**vars(found))
