"""The catalogue's runs, which are executed one after the other, compared with their expected results, and saved.

Pinned figures are written into the files of runs. Verdicts are not pinned; they are edited by hand in a run's row.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fencepost.api.answers.as_json import FORMAT, Printed, pick
from fencepost.api.answers.counterexample import archived
from fencepost.api.answers.results import CheckResult
from fencepost.api.asking.model_files import is_file
from fencepost.api.asking.quantities import counted
from fencepost.api.asking.targets import Question
from fencepost.api.asking.watching import Event, Watch, watched
from fencepost.api.calls.check import answer, note_way, with_memory_explained
from fencepost.api.files import Kept, keeps_search, make_sure_folder, slug, write_text
from fencepost.explorers import verdict
from fencepost.explorers.native.checkpoint import discard, model_of
from fencepost.explorers.native.compile import Kernels, Source, begin, is_ready
from fencepost.explorers.running.interrupts import default_memory, interruptible
from fencepost.explorers.search import is_compact, judge, sources_of
from fencepost.invariants import run_files
from fencepost.invariants.catalogue import NAME, Profile, Run, file_of, runs, values_of, with_reached
from fencepost.invariants.figures import store
from fencepost.invariants.protocols import protocol
from fencepost.model.language import Property
from fencepost.model.language.errors import FencepostError, UnkeptError, UsageError, require_known
from fencepost.model.language.interpreter import Interpreter


def data_of(run: Run, result: CheckResult, differences: tuple[str, ...]) -> dict[str, Any]:
    """Return a run as JSON: the result, the expected result, and a sentence for each difference."""
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
    found = protocol(run.protocol)
    return Question(found, found.machine.set_constants(values_of(run)), found.select(run.properties))


class Runs:
    """Runs of a catalogue, executed one after the other with a shared budget and checkpoint. `limits` are the limits of
    each check. By default, memory is limited to a fraction of the available memory.
    """

    def __init__(
        self, runs: Sequence[Run], watch: Watch, *, checkpoint: str | None, resume: bool, **limits: Any
    ) -> None:
        self.runs, self.watch = tuple(runs), watch
        self.usual_memory = limits["memory"] is None
        made = verdict.Options(**limits)
        self.options = replace(made, memory=default_memory()) if self.usual_memory else made
        self.kept = Kept(checkpoint, "", resume=resume)
        self.budget = self.left = self.options.budget

    def out_of_time(self) -> verdict.Reason | None:
        return None if self.left is None or self.left > 0 else self._whole_budget()

    def recalled(self, run: Run) -> dict[str, Any] | None:
        found: dict[str, Any] | None = self.kept.recall(run.name, self._mark(run))
        return found

    def check(self, run: Run) -> tuple[dict[str, Any], CheckResult]:
        """Search a run, compare it with its expected result, and save it if it finished; return JSON and result."""
        loaded = self._compiled(run)
        began = time.perf_counter()
        with interruptible(f"preparing {run.name}"):
            options = replace(self._options_for(run), budget=self.left)
            try:
                result, differences = judge(run, options, self.watch.telling(run.name))
            except verdict.CrossCheckError as error:
                note_way(question_of(run), error, normalize=options.normalize)
                raise
        del loaded
        if self.left is not None:
            self.left -= time.perf_counter() - began  # a result's seconds include those before the search was resumed
        if verdict.cause_of(result.why_stopped) is verdict.Cause.BUDGET:
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
                return data, replace(found, problems=(verdict.not_kept(error),))
            discard(self.kept.folder / slug(run.name))
        return data, found

    def _compiled(self, run: Run) -> list[Kernels]:
        """Return a run's compiled code, which must not be released during the search. Compilation is reported."""
        sources = self._sources(run)
        if all(map(is_ready, sources)):
            return [begin(source) for source in sources]
        with self.watch.compiling(run.name), interruptible(f"compiling {run.name}"):
            return [begin(source) for source in sources]

    def _whole_budget(self) -> verdict.Reason:
        return verdict.Reason(f"the time limit of {self.budget:g} s for all runs was reached", verdict.Cause.BUDGET)

    def _options_for(self, run: Run) -> verdict.Options:
        if not self.kept.folder:
            return self.options
        own: Path = self.kept.folder / slug(run.name)
        make_sure_folder(own)
        resume = self.kept.resume and keeps_search(own)
        return replace(self.options, checkpoint=str(own), resume=resume)

    def _sources(self, run: Run) -> list[Source]:
        graph = not is_compact(run, self.options)
        return sources_of(run.protocol, values_of(run), run.properties, normalize=self.options.normalize, graph=graph)

    def _mark(self, run: Run) -> str:
        question = question_of(run)
        plain = Interpreter(question.protocol.machine, question.constants, normalize=self.options.normalize)
        models = [str(model_of(source, plain)) for source in self._sources(run)]
        kept = "fingerprints" if is_compact(run, self.options) else "states"
        return "\n".join([repr(run), kept, *models, *map(_of_behaviours, question.properties)])


def _of_behaviours(prop: Property) -> str:
    about = prop.eventual
    if about is None:
        return ""
    costs = "compiled" if callable(about.costs) else about.costs
    return repr((prop.name, about.fairness_text, about.without_text, about.params, costs, about.bound, about.unit))


AT_LEAST = 1000
"""Number of states per run that the full profile re-expands; other profiles re-expand for a tenth of the run's time."""


@dataclass(frozen=True, repr=False)
class CatalogueResult(Printed):
    """Results of catalogue runs as JSON objects, and the runs that did not start."""

    profile: Profile
    runs: tuple[dict[str, Any], ...]
    not_run: tuple[str, ...]
    why_stopped: str = ""
    problems: tuple[verdict.Problem, ...] = ()

    def __repr__(self) -> str:
        return f"CatalogueResult({self.profile}: {counted(len(self.runs), 'run')}, {len(self.not_run)} not run)"

    @property
    def differs(self) -> bool:
        return any(item["complete"] and not item["as_expected"] for item in self.runs)

    @property
    def as_expected(self) -> bool:
        return not self.not_run and all(item["as_expected"] for item in self.runs)

    def to_dict(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "profile": str(self.profile),
            "as_expected": self.as_expected,
            "exact": all(item["exact"] for item in self.runs),
            "runs": list(self.runs),
            "not_run": list(self.not_run),
        }


def catalogue(
    *protocols: str,
    profile: str = Profile.QUICK,
    workers: int = 0,
    budget: float | None = None,
    memory: int | None = None,
    max_states: int | None = None,
    max_depth: int | None = None,
    compact: bool = False,
    normalize: bool = True,
    stop_on_violation: bool = False,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    progress: Watch | Callable[[Event], None] | None = None,
    each: Callable[[Run, dict[str, Any]], bool | None] = lambda *_: None,
) -> CatalogueResult:
    """Execute the runs of a profile and of smaller profiles, and compare each run with its expected result.

    The limits are the same as for a check, but `budget` is the total for all runs, in seconds. `each` is called after
    each run; if it returns False, no further run starts. Raises a FencepostError if there is no result at all.
    """
    asked = profile_named(profile)
    chosen = choose_runs(asked, protocols)
    every = Runs(
        chosen, watched(progress), workers=workers, budget=budget, memory=memory, max_states=max_states,
        max_depth=max_depth, compact=compact, normalize=normalize, stop_on_violation=stop_on_violation,
        checkpoint=str(checkpoint) if checkpoint else None, resume=resume,
        cross_check=AT_LEAST if asked is Profile.FULL else None,
    )  # fmt: skip
    done: list[dict[str, Any]] = []
    problems: list[verdict.Problem] = []
    why = ""
    for run in chosen:
        doing = "preparing the runs"
        try:
            data = every.recalled(run)
            if data is None:
                why = every.out_of_time() or ""
                if why:
                    break
                doing = f"preparing {run.name}"
                data, result = every.check(run)
                why = result.why_stopped if verdict.ended_by_signal(result.why_stopped) else ""
                problems += result.problems
                why = "a run could not be saved" if problems else why
        except FencepostError as error:
            if not done:
                raise
            why = f"{run.name} ended in an error"
            problems.append(verdict.Problem(verdict.ProblemKind.UNANSWERED, str(error), error))
            break
        except KeyboardInterrupt:  # only a compilation is interrupted here: an interrupted search has a result
            why = f"SIGINT was received while {doing}"
            break
        done.append(data)
        if each(run, data) is False or why:
            break
    left = tuple(run.name for run in chosen[len(done) :])
    return CatalogueResult(asked, tuple(done), left, why, tuple(problems))


def profile_named(name: str) -> Profile:
    require_known((name,), [str(item) for item in Profile], "there is no profile", "The profiles are")
    return Profile(name)


def choose_runs(profile: Profile, names: Sequence[str]) -> tuple[Run, ...]:
    """Return the catalogue runs of a profile and of smaller profiles, for the named protocols or for all."""
    for name in names:
        if is_file(name):
            raise UsageError(
                f"{name} has no runs in the catalogue: leave `profile=` out to check it under your own constants."
            )
        protocol(name)
    order = list(Profile)
    found = tuple(
        run
        for run in runs()
        if order.index(run.profile) <= order.index(profile) and (not names or run.protocol in names)
    )
    if not found:
        raise UsageError(
            f'profile {profile} has no runs of {", ".join(names)}: write `profile="{order[-1]}"`, or leave it out.'
        )
    return found


_ROW = re.compile(r"^run\.(?:\"[^\"]*\"|'[^']*'|[\w-]+) *= *(?=[\[{]).*?(?=^run\.|^\[|\Z)", re.MULTILINE | re.DOTALL)
"""A pattern for a row, which ends at the next row or at the end of its group."""
_PIN = re.compile(r"(\bpin *= *\[)[\d_]+, *[\d_]+")
_LISTED = re.compile(r"\b(fails|worst) *= *(\"\"\"|\")(.*?)\2", re.DOTALL)


@dataclass(frozen=True)
class Pinned:
    """A report on pinned figures, with a line for each file and for each run that stays unchanged."""

    lines: tuple[str, ...]
    left: tuple[dict[str, Any], ...]


def pin(done: Sequence[dict[str, Any]]) -> Pinned:
    """Write the figures of runs that have the expected verdicts into their files."""
    by_name = {run.name: run for run in runs()}
    changed: dict[Path, dict[str, Run]] = {}
    left, lines = [], []
    for item in done:
        run = by_name[item["run"]]
        expected = dict.fromkeys(run.violated, "violated") | dict.fromkeys(run.unreached, "unreached")
        if not item["complete"] or any(
            prop["verdict"] != expected.get(prop["name"], "holds") for prop in item["properties"]
        ):
            left.append(item)
        elif (found := _found(run, item)) != run:
            changed.setdefault(file_of(run), {})[run.name] = found
    bounds = {
        item["run"]: tuple(found["constant"] for found in item["bounds_reached"])
        for item in done
        if item not in left and "bounds_reached" in item
    }
    reached = with_reached(runs(), bounds)
    if reached != store.load(NAME):
        store.save(NAME, reached)
        lines.append(f"{store.file_of(NAME)}: updated the bounds that were reached. Review the diff before keeping it.")
    for file, repinned in changed.items():
        write_text(file, pinned(file.name, file.read_text("utf-8"), repinned))
        lines.append(f"{file}: pinned {counted(len(repinned), 'run')}. Review the diff before keeping it.")
    for item in left:
        why = "did not finish"
        if item["complete"]:
            why = "has unexpected verdicts, which must be edited by hand"
        lines.append(f"not pinned: {item['run']} {why}.")
    return Pinned(tuple(lines), tuple(left))


def _found(run: Run, item: dict[str, Any]) -> Run:
    by_name = {prop["name"]: prop for prop in item["properties"]}
    lengths = {name: by_name[name]["length"] for name in run.violated}
    worst = {name: by_name[name]["worst"] for name in run.worst}
    return replace(run, distinct=item["distinct"], depth=item["depth"], violated=lengths, worst=worst)


def pinned(name: str, text: str, changed: Mapping[str, Run]) -> str:
    """Return the text of a runs file with new figures; raise UsageError if a run has no place for its figures."""
    before = run_files.Runs({name: text})
    rows = iter(before.all)
    if sum(1 for _ in _ROW.finditer(text)) != len(before.all):
        raise UsageError(f'{name}: figures are written into rows of the form run."..." = {{...}}: use this form.')

    def row(match: re.Match[str]) -> str:
        run = next(rows)
        return _repinned(before, match[0], changed[run.name]) if run.name in changed else match[0]

    made = _ROW.sub(row, text)
    for run, again in zip(before.all, run_files.Runs({name: made}).all, strict=True):
        if again != changed.get(run.name, run):
            raise UsageError(
                f"{name}: some figures of {run.name!r} are defaults of its group: write them in the run's row, then "
                "pin again."
            )
    return made


def _repinned(runs: run_files.Runs, row: str, run: Run) -> str:
    def listed(match: re.Match[str]) -> str:
        key, quote, items = match[1], match[2], match[3]
        named = [_item(runs, run, item, run.violated if key == "fails" else run.worst) for item in items.split(",")]
        return match[0].replace(f"{quote}{items}{quote}", f"{quote}{','.join(named)}{quote}")

    row = _PIN.sub(lambda match: f"{match[1]}{run.distinct:_}, {run.depth:_}", row, count=1)
    return _LISTED.sub(listed, row)


def _item(runs: run_files.Runs, run: Run, item: str, figures: Mapping[str, int | str]) -> str:
    words, last = item.rstrip(), item.rsplit(maxsplit=1)[-1]
    (name,) = runs.names(run.protocol, " ".join(item.split()[:-1]))
    return words[: -len(last)] + str(figures[name]) + item[len(words) :]
