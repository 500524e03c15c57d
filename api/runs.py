"""Runs of the catalogue: explored, compared with what they must find, and kept once they are finished."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fencepost.api.checking import notes_on, with_memory_explained
from fencepost.api.files import make_sure_folder
from fencepost.api.kept import Kept, slug
from fencepost.api.quantities import default_memory, show_seconds
from fencepost.api.results import CheckResult
from fencepost.api.targets import Question
from fencepost.api.traces import archived
from fencepost.explorers.interrupts import interruptible
from fencepost.explorers.verdict import Cause, Options, Reason, cause_of
from fencepost.invariants.catalogue import values_of
from fencepost.invariants.protocols import protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fencepost.api.watching import Watch
    from fencepost.explorers.native.generate import Source
    from fencepost.invariants.catalogue import Run


@dataclass(frozen=True)
class JudgedRun:
    """A run with what was found, and how that differs from what was expected, one sentence each."""

    run: Run
    result: CheckResult
    differences: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON: what was found beside what was expected."""
        run = self.run
        files = {name: file for name in run.violated if (file := archived(run, name))}
        return {
            **self.result.to_dict(files),
            "run": run.name,
            "expected": {
                "verdict": "violated" if run.violated else "unreached" if run.unreached else "holds",
                "distinct": run.distinct,
                "depth": run.depth,
                "violated": dict(run.violated),
                "unreached": list(run.unreached),
                **({"worst": dict(run.worst)} if run.worst else {}),
            },
            "as_expected": not self.differences,
            "differences": list(self.differences),
        }


def question_of(run: Run) -> Question:
    """Return what a run asks."""
    found = protocol(run.protocol)
    return Question(found, found.machine.set_constants(values_of(run)), found.select(run.properties))


class Runs:
    """Runs that are done one after the other, under one budget and with one checkpoint; they are compiled together before.

    `limits` are those of a check; a memory limit that is None is the usual share of what is available.
    """

    def __init__(self, runs: Sequence[Run], watch: Watch, *, checkpoint: str | None, resume: bool, **limits: Any) -> None:
        self.runs, self.watch = tuple(runs), watch
        self.usual_memory = limits["memory"] is None
        made = Options(**limits)
        self.options = replace(made, memory=default_memory()) if self.usual_memory else made
        self.kept = Kept(checkpoint, "", resume=resume)
        self.budget = self.left = self.options.budget
        self.sources = {run.name: self._source(run) for run in self.runs}

    def out_of_time(self) -> Reason | None:
        """Return why no further run is begun, or None."""
        return None if self.left is None or self.left > 0 else self._whole_budget()

    def recalled(self, run: Run) -> dict[str, Any] | None:
        """Return what a finished run found, as JSON; None if it is not finished."""
        return self.kept.recall(run.name, self._mark(run))

    def check(self, run: Run) -> JudgedRun:
        """Explore a run and compare; what is finished is kept."""
        from fencepost.explorers.judge import judge
        from fencepost.explorers.native.checkpoint import discard

        with interruptible(f"preparing {run.name}"):
            made = judge(run, replace(self._options_for(run), budget=self.left), self.watch.telling(run.name))
        result = made.result
        if self.left is not None:
            self.left -= result.seconds
        if cause_of(result.why_stopped) is Cause.BUDGET:
            result = replace(result, why_stopped=self._whole_budget())
        if self.usual_memory:
            result = with_memory_explained(result)
        question = question_of(run)
        differences = made.differences if result.complete else (f"the search did not finish: {result.why_stopped}",)
        judged = JudgedRun(
            run,
            CheckResult.of_search(result, question, notes_on(question, self.options, result), normalize=self.options.normalize),
            differences,
        )
        if self.kept.folder and result.complete:
            discard(self.kept.folder / slug(run.name))
            self.kept.keep(run.name, judged.to_dict(), self._mark(run))
        return judged

    def compile(self) -> None:
        """Compile every machine that is not in the cache, several at a time."""
        from fencepost.explorers.native.build import build_all, graph_sources_of
        from fencepost.explorers.native.compile import is_cached

        normalize, watch = self.options.normalize, self.watch
        jobs = [(run.protocol, values_of(run), run.properties, normalize, self._compact(run)) for run in self.runs]
        every = {source.text: (name.split()[0], source) for name, source in self.sources.items()}
        every |= {source.text: (job[0], source) for job in jobs for source in graph_sources_of(job)}
        fresh = {text: name for text, (name, source) in every.items() if not is_cached(source)}
        if not fresh:
            return
        names = ", ".join(dict.fromkeys(fresh.values()))
        what = f"compiling {len(fresh)} of {len(every)} machines: {names}"
        with watch.busy(f"{what} ... (kept for the next time)"):
            began = time.monotonic()

            def tell(name: str, done: int, of: int) -> None:
                last = f", {name} last" if name else ""
                watch.spin(f"{what}, {done} of {of} done{last}")
                if name and not watch.live:
                    watch.note(f"compiled {name}, {done} of {of}, after {show_seconds(time.monotonic() - began)}")

            build_all(jobs, self.options.workers or os.cpu_count() or 1, tell)

    def _whole_budget(self) -> Reason:
        return Reason(f"the time budget of {self.budget:g} s for all runs ran out", Cause.BUDGET)

    def _options_for(self, run: Run) -> Options:
        """Return the options with the run's own checkpoint, resumed only where there is one."""
        if not self.kept.folder:
            return self.options
        own: Path = self.kept.folder / slug(run.name)
        make_sure_folder(own)
        resume = self.kept.resume and (own / "manifest.json").is_file()
        return replace(self.options, checkpoint=str(own), resume=resume)

    def _source(self, run: Run) -> Source:
        from fencepost.explorers.native.build import source_of

        return source_of(
            run.protocol, values_of(run), run.properties, normalize=self.options.normalize, compact=self._compact(run)
        )

    def _compact(self, run: Run) -> bool:
        return run.compact or self.options.compact

    def _mark(self, run: Run) -> str:
        return f"{run!r}\n{self.sources[run.name].text}"
