"""Runs of the catalogue: explored, compared with what they must find, and kept once they are finished."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fencepost.api.answers.as_json import pick
from fencepost.api.answers.contract import RunData
from fencepost.api.answers.traces import archived
from fencepost.api.asking.targets import Question
from fencepost.api.calls.check import answer, with_difference, with_memory_explained
from fencepost.api.files import keeps_search, make_sure_folder
from fencepost.api.kept import Kept, slug
from fencepost.explorers.running.interrupts import interruptible
from fencepost.explorers.running.memory import default_memory
from fencepost.explorers.verdict import Cause, CrossCheckError, Options, Reason, cause_of, not_kept
from fencepost.invariants.catalogue import values_of
from fencepost.invariants.protocols import protocol
from fencepost.model.language.errors import UnkeptError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fencepost.api.answers.results import CheckResult
    from fencepost.api.asking.watching import Watch
    from fencepost.explorers.native.compile import Kernels
    from fencepost.explorers.native.generate import Source
    from fencepost.invariants.catalogue import Run
    from fencepost.model.language import Property


def data_of(run: Run, result: CheckResult, differences: tuple[str, ...]) -> dict[str, Any]:
    """Return a run as JSON: what was found beside what was expected, and how they differ, one sentence each."""
    files = {name: file for name in run.violated if (file := archived(run, name))}
    return {
        **result.to_dict(files, warn=False),
        "run": run.name,
        "expected": {
            "verdict": "violated" if run.violated else "unreached" if run.unreached else "holds",
            **pick(run, "distinct depth violated unreached"),
            **({"worst": dict(run.worst)} if run.worst else {}),
        },
        "as_expected": not differences,
        "differences": list(differences),
    }


def question_of(run: Run) -> Question:
    """Return the question of a run."""
    found = protocol(run.protocol)
    return Question(found, found.machine.set_constants(values_of(run)), found.select(run.properties))


class Runs:
    """Runs that are done one after the other, under one budget and with one checkpoint.

    `limits` are those of a check; without a memory limit it is the usual share of what is available.
    """

    def __init__(
        self, runs: Sequence[Run], watch: Watch, *, checkpoint: str | None, resume: bool, **limits: Any
    ) -> None:
        self.runs, self.watch = tuple(runs), watch
        self.usual_memory = limits["memory"] is None
        made = Options(**limits)
        self.options = replace(made, memory=default_memory()) if self.usual_memory else made
        self.kept = Kept(checkpoint, "", RunData, resume=resume)
        self.budget = self.left = self.options.budget

    def out_of_time(self) -> Reason | None:
        """Return why no further run is begun, or None."""
        return None if self.left is None or self.left > 0 else self._whole_budget()

    def recalled(self, run: Run) -> dict[str, Any] | None:
        """Return the result of a finished run, as JSON; None if it is not finished."""
        found: dict[str, Any] | None = self.kept.recall(run.name, self._mark(run))
        return found

    def check(self, run: Run) -> tuple[dict[str, Any], CheckResult]:
        """Explore a run and compare, as JSON and as a result; what is finished is kept."""
        from fencepost.explorers.judge import judge
        from fencepost.explorers.native.checkpoint import discard

        loaded = self._compiled(run)
        began = time.perf_counter()
        with interruptible(f"preparing {run.name}"):
            options = replace(self._options_for(run), budget=self.left)
            try:
                made = judge(run, options, self.watch.telling(run.name))
            except CrossCheckError as error:
                raise with_difference(question_of(run), error, normalize=options.normalize) from error
            result, differences = made.result, made.differences
        del loaded
        if self.left is not None:
            self.left -= time.perf_counter() - began  # the seconds of a result are also those before it was resumed
        if cause_of(result.why_stopped) is Cause.BUDGET:
            result = replace(result, why_stopped=self._whole_budget())
        if self.usual_memory:
            result = with_memory_explained(result)
        differences = differences if result.complete else (f"the search did not finish: {result.why_stopped}",)
        found = answer(question_of(run), self.options, result)
        data = data_of(run, found, differences)
        if self.kept.folder and result.complete:
            try:
                self.kept.keep(run.name, data, self._mark(run))
            except UnkeptError as error:
                return data, replace(found, problems=(not_kept(error),))
            discard(self.kept.folder / slug(run.name))
        return data, found

    def _compiled(self, run: Run) -> list[Kernels]:
        """Return the compiled code of a run, to be kept while it is explored; report if it has to be compiled."""
        from fencepost.explorers.native.compile import begin, is_ready

        sources = self._sources(run)
        if all(map(is_ready, sources)):
            return [begin(source) for source in sources]
        with self.watch.compiling(run.name), interruptible(f"compiling {run.name}"):
            return [begin(source) for source in sources]

    def _whole_budget(self) -> Reason:
        return Reason(f"the time budget of {self.budget:g} s for all runs ran out", Cause.BUDGET)

    def _options_for(self, run: Run) -> Options:
        """Return the options with the run's own checkpoint, resumed only where there is one."""
        if not self.kept.folder:
            return self.options
        own: Path = self.kept.folder / slug(run.name)
        make_sure_folder(own)
        resume = self.kept.resume and keeps_search(own)
        return replace(self.options, checkpoint=str(own), resume=resume)

    def _sources(self, run: Run) -> list[Source]:
        """Return every module that a run needs."""
        from fencepost.explorers.judge import is_compact, sources_of

        graph = not is_compact(run, self.options)
        return sources_of(run.protocol, values_of(run), run.properties, normalize=self.options.normalize, graph=graph)

    def _mark(self, run: Run) -> str:
        """Return all that the result of a run depends on."""
        from fencepost.explorers.judge import is_compact
        from fencepost.explorers.native.checkpoint import model_of
        from fencepost.model.language.interpreter import Interpreter

        question = question_of(run)
        plain = Interpreter(question.protocol.machine, question.constants, normalize=self.options.normalize)
        models = [str(model_of(source, plain)) for source in self._sources(run)]
        kept = "fingerprints" if is_compact(run, self.options) else "states"
        return "\n".join([repr(run), kept, *models, *map(_of_behaviours, question.properties)])


def _of_behaviours(prop: Property) -> str:
    """Return the code of a property of whole behaviours that no module has; nothing for others."""
    about = prop.eventual
    if about is None:
        return ""
    costs = "compiled" if callable(about.costs) else about.costs
    return repr((prop.name, about.fairness_text, about.without_text, about.params, costs, about.bound, about.unit))
