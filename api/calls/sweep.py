"""Random walks over a grid of constants on Spark, and traces of the violations."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fencepost.api.answers.as_json import FORMAT, Json, actions_of, pandas, pick, table
from fencepost.api.answers.counterexample import Counterexample, trace_of_path
from fencepost.api.answers.results import Answer, frame
from fencepost.api.asking.arguments import call
from fencepost.api.asking.constants import Setting, axes_from, settings_of
from fencepost.api.asking.places import placed
from fencepost.api.asking.quantities import counted, in_values
from fencepost.api.asking.targets import Question, ask, kernels_of, source_of
from fencepost.api.asking.watching import Event, Watch, watched
from fencepost.api.calls.simulate import DEPTH, WALKS, shortened
from fencepost.explorers.running.interrupts import cancelled_by
from fencepost.explorers.verdict import Options, Verdict, not_kept
from fencepost.explorers.walk.walker import Walker
from fencepost.invariants.protocols import Protocol
from fencepost.model.language import Constants, Machine, Property
from fencepost.model.language.errors import DomainError, MismatchError, UsageError
from fencepost.model.language.interpreter import Path as Way

if TYPE_CHECKING:
    import pandas as pd
    from fencepost.explorers.spark.session import Cluster
    from fencepost.explorers.spark.summary import Cell, Summary, Violation
    from fencepost.explorers.spark.sweep import Sweep, Swept


@dataclass(frozen=True)
class SweptCell:
    """The result of the walks with one combination of the grid's values. `violated` counts violating walks."""

    constants: Mapping[str, Any]
    verdict: Verdict
    walks: int
    violated: int = 0
    violations: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)
    """The violated properties, each as JSON."""

    @property
    def shortest(self) -> int | None:
        """The number of states of the shortest walk that violates a property, or None."""
        return min((item["length"] for item in self.violations), default=None)


@dataclass(frozen=True, repr=False)
class SweepResult(Answer):
    """The result of walks over a grid, with a cell for each combination of its values."""

    protocol: str
    verdict: Verdict
    complete: bool
    why_stopped: str
    cells: tuple[SweptCell, ...]
    path: str | None = field(default=None, kw_only=True)
    """Path of the Parquet files with the walks, one row per walk, or None if `output` is not given."""

    def __repr__(self) -> str:
        return f"SweepResult({self.protocol}: {self.verdict}, {counted(len(self.cells), 'cell')})"

    def to_frame(self) -> pd.DataFrame:
        pd = pandas()
        rows = ((str(item.verdict), item.walks, item.violated, item.shortest) for item in self.cells)
        found = frame("verdict walks violated shortest", rows, whole="shortest")
        return pd.concat([pd.DataFrame([dict(item.constants) for item in self.cells]), found], axis="columns")

    def walks(self) -> pd.DataFrame:
        """Return a row for each stored walk, with a column for each axis of the grid."""
        pd = pandas()
        if self.path is None:
            raise UsageError("the walks were not saved: pass `output=DIR` to `sweep`.")
        rows = pd.read_parquet(self.path)
        axes = list(self.cells[0].constants)
        found = {cell: json.loads(cell) for cell in rows["cell"].unique()}
        columns = {name: rows["cell"].map({cell: values[name] for cell, values in found.items()}) for name in axes}
        return pd.concat([pd.DataFrame(columns), rows.drop(columns="cell")], axis="columns")

    def _repr_html_(self) -> str:
        rows = [(in_values(item.constants), item.verdict, item.walks, item.violated) for item in self.cells]
        return table(f"{self.protocol}: {self.verdict}", ("cell", "verdict", "walks", "violated"), rows)


WRONG = "the model raises an error"
"""Reason why a sweep is incomplete although all walks were taken."""
MOST_WALKS = 1 << 62
"""Maximum number of stored walks."""


@dataclass(frozen=True)
class _Request:
    """A requested sweep. `settings` maps cells to settings, and `refused` lists settings that the machine rejects."""

    question: Question
    axes: dict[str, list[int]]
    settings: dict[str, Setting]
    refused: tuple[Setting, ...]
    walks: int
    depth: int
    seed: int
    weights: dict[str, int]
    normalize: bool
    shrinks: bool
    output: str | None
    traces: Path | None


@dataclass(frozen=True)
class _Shown:
    violation: Violation
    made: Counterexample
    shortest: bool
    file: str


@call
def sweep(
    what: Machine | Protocol | Question | str | Path,
    properties: Iterable[Property] | None = None,
    *,
    grid: Mapping[str, Iterable[Any]],
    constants: Mapping[str, Any] | Constants | None = None,
    version: str = "",
    only: Iterable[str] = (),
    walks: int = WALKS,
    depth: int = DEPTH,
    seed: int = 0,
    weights: Mapping[str, int] | None = None,
    output: str | Path | None = None,
    resume: bool = False,
    cluster: Cluster | None = None,
    budget: float | None = None,
    normalize: bool = True,
    traces: str | Path | None = None,
    shrinks: bool = True,
    progress: Watch | Callable[[Event], None] | None = None,
    cancel: Callable[[], bool] | None = None,
    **more: Any,
) -> SweepResult:
    """Take random walks through a protocol with every combination of the grid's values, on Spark.

    The walks of a cell are those of `simulate` with the same constants and seed. `output` is a folder for the walks, to
    which `resume` adds more walks. `traces` is a folder for one trace per violated property, from the smallest cell.
    """
    from fencepost.explorers.spark.session import Cluster, require_spark
    from fencepost.explorers.spark.sweep import cell_of

    require_spark()
    question = ask(what, properties, constants=constants, version=version, only=only, more=more, walks=True)
    cluster, machine = cluster or Cluster(), question.protocol.machine
    axes = axes_from(machine, grid)
    every = list(settings_of(machine, question.constants, axes))
    settings = {cell_of(dict(item.constants.shown)): item for item in every if item.constants is not None}
    refused = tuple(item for item in every if item.constants is None)
    if not settings:
        raise UsageError(f"the machine rejects every cell of the grid. For the first cell: {refused[0].refused}")
    if not cluster.is_local and not output:
        raise UsageError(
            f"with a cluster at {cluster.master}, the walks must be saved where all executors can read them: write "
            "`output=` with such a folder, or with a URL such as hdfs://host/folder."
        )
    if resume and not output:
        raise UsageError("`resume=True` needs saved walks to continue: write `output=DIR, resume=True`.")
    request = _Request(
        question, axes, settings, refused, walks, depth, seed, dict(weights or {}), normalize, shrinks,
        str(output) if output else None, Path(traces) if traces else None,
    )  # fmt: skip
    temporary = "" if output else tempfile.mkdtemp(prefix="fencepost-sweep-")
    try:
        with cancelled_by(cancel):
            return _swept(request, cluster, temporary or str(output), budget, watched(progress), resume=resume)
    finally:
        if temporary:
            shutil.rmtree(temporary, ignore_errors=True)


def _swept(
    request: _Request, cluster: Cluster, folder: str, budget: float | None, watch: Watch, *, resume: bool
) -> SweepResult:
    from fencepost.api.calls.on_spark import started
    from fencepost.explorers.spark import sweep as sweeping
    from fencepost.explorers.spark.session import require_java
    from fencepost.explorers.spark.summary import summarise

    require_java()
    plan = _plan(request, watch)
    name = request.question.name
    sweeping.prepare(folder, plan, resume=resume)
    with started(cluster, watch, name) as context:
        from pyspark.sql import SparkSession

        sql = SparkSession(context)
        tell = watch.telling_walks(name, request.walks * len(request.settings))
        swept = sweeping.run(sql, plan, request.walks, folder, budget=budget, tell=tell, kept=bool(request.output))
        watch.clear()
        rows = sweeping.rows_of(sql, folder)
        if rows is None:
            raise UsageError("no walk was taken: increase the time limit with `budget=`.")
        with watch.busy("summing up"):
            asked = rows.where(rows["cell"].isin(list(request.settings)))
            summary, wrong = summarise(sql, asked), sweeping.wrong_walk(asked)
    error = None if wrong is None else _error_of(request, plan, *wrong)
    if error is not None and not summary.violations:
        raise error
    shown = _traces(request, plan, summary, watch, resume=resume)
    data = _data(request, plan, swept, summary, shown)
    if error is not None:
        told = placed(error, error.__notes__[0]).partition("\n")[0].rstrip(".")
        data["complete"], data["why_stopped"] = False, "; ".join(filter(None, (swept.why_stopped, f"{WRONG}: {told}")))
    result = replace(SweepResult.read(data), path=request.output and f"{request.output}/{sweeping.ROWS}")
    try:
        for item in shown:
            if item.file:
                item.made.save(item.file)
    except UsageError as unwritable:
        return replace(result, problems=(not_kept(unwritable),))
    return result


def _error_of(request: _Request, plan: Sweep, cell: str, walk: int) -> DomainError:
    question, constants = request.question, request.settings[cell].constants
    assert constants is not None
    walker = Walker(question.protocol.machine, constants, question.properties, normalize=request.normalize)
    try:
        if 0 <= walk < MOST_WALKS:
            weights = walker.weights(dict(plan.weights))
            walker.walk(walk, walk + 1, seed=plan.seed, depth=plan.depth, weights=weights)
    except DomainError as error:
        error.add_note(f"The error is in walk {walk} of cell {cell}.")
        return error
    raise UsageError(
        f"the saved walks say that the model raises an error in walk {walk} of cell {cell}, but it does not: choose "
        "another folder."
    )


def _plan(request: _Request, watch: Watch) -> Sweep:
    """Return the plan of the walks. The machines of all cells are compiled and cached first."""
    from fencepost.explorers.spark.sweep import Sweep
    from fencepost.explorers.spark.work import Origin

    question = request.question
    names = tuple(item.name for item in question.properties)
    origins = []
    for cell, setting in request.settings.items():
        assert setting.constants is not None
        here = Question(question.protocol, setting.constants, question.properties)
        kernels_of(here, source_of(here, Options(normalize=request.normalize)), watch)
        values = tuple(dict(setting.values).items())
        origins.append((cell, Origin(question.name, question.protocol.files, values, names, request.normalize)))
    return Sweep(tuple(origins), request.seed, request.depth, tuple(request.weights.items()))


def _walked_again(plan: Sweep, walker: Walker, violation: Violation, *, resume: bool) -> Way:
    """Return the path of a walk that violates a property; raise UsageError if the path contradicts the stored rows."""
    refused = UsageError(
        f"the saved walks say that walk {violation.walk} of cell {violation.cell} violates "
        f"{violation.property!r}, but the walk does not: choose another folder."
    )
    judged = next((item for item in walker.properties if item.name == violation.property), None)
    steps = violation.length - 1 - (1 if judged is not None and judged.over_steps else 0)
    if judged is None or not 0 <= steps <= plan.depth or not 0 <= violation.walk < MOST_WALKS:
        raise refused
    way = walker.way(violation.walk, seed=plan.seed, steps=steps, weights=walker.weights(dict(plan.weights)))
    try:
        return walker.confirm(way, judged)
    except MismatchError as error:
        if not resume:
            raise
        raise refused from error


def _traces(request: _Request, plan: Sweep, summary: Summary, watch: Watch, *, resume: bool) -> list[_Shown]:
    from fencepost.explorers.spark.sweep import walker_of

    shown = []
    best: dict[str, Violation] = {}
    for item in summary.violations:
        if item.property not in best or item.length < best[item.property].length:
            best[item.property] = item
    for prop, violation in sorted(best.items()):
        constants = request.settings[violation.cell].constants
        assert constants is not None
        walker = walker_of(plan.by_cell[violation.cell])
        path = _walked_again(plan, walker, violation, resume=resume)
        trace = Counterexample(
            trace_of_path(request.question.protocol, constants, prop, path, normalize=request.normalize), path
        )
        shrunk = shortened(trace, watch, 0) if request.shrinks else None
        made = shrunk.counterexample if shrunk else trace
        file = str(request.traces / f"{request.question.name}-{prop}.trace") if request.traces else ""
        shown.append(_Shown(violation, made, bool(shrunk and shrunk.shortest), file))
    return shown


def _data(request: _Request, plan: Sweep, swept: Swept, summary: Summary, shown: list[_Shown]) -> Json:
    from fencepost.explorers.spark.summary import Point, smallest_unsafe

    unsafe = {item.cell for item in summary.violations}
    points = {cell: Point(setting.places, cell in unsafe) for cell, setting in request.settings.items()}
    smallest = smallest_unsafe(points)
    declared = request.question.protocol.machine.constants.declared()
    actions = [item.label for item in request.question.protocol.machine.actions]
    traces = {(item.violation.cell, item.violation.property): item for item in shown}
    cells: list[Json] = []
    by_cell = {item.cell: item for item in summary.cells}
    for cell, setting in request.settings.items():
        found = by_cell.get(cell)
        if found is None:
            cells.append({"constants": setting.shown, "verdict": "undetermined", "walks": 0, "violations": []})
            continue
        violations = [_violation(item, traces.get((cell, item.property))) for item in summary.violations_of(cell)]
        cells.append(_cell(setting, found, actions, violations, smallest=cell in smallest))
    first = next(iter(request.settings.values())).constants
    assert first is not None
    common = {name: value for name, value in first.shown.items() if name not in request.axes}
    return {
        "format": FORMAT,
        "protocol": request.question.protocol.name,
        "engine": "spark",
        "verdict": "violated" if summary.violations else "not-found",
        **pick(swept, "complete why_stopped"),
        "constants": common,
        "axes": {name: [declared[name].show(value) for value in values] for name, values in request.axes.items()},
        **pick(plan, "seed depth"),
        "walks": sum(item.walks for item in summary.cells),
        "walked_now": swept.walks,
        "steps": sum(item.steps for item in summary.cells),
        "seconds": round(swept.seconds, 3),
        "output": request.output,
        "properties": [item.name for item in request.question.properties],
        "cells": cells,
        "refused": [{"constants": item.shown, "why": item.refused} for item in request.refused],
        "signatures": [
            {
                "property": item.property,
                "actions": [actions[number] for number in item.actions],
                **pick(item, "walks cells length"),
            }
            for item in summary.signatures
        ],
    }


def _cell(setting: Setting, found: Cell, actions: list[str], violations: list[Json], *, smallest: bool) -> Json:
    return {
        "constants": setting.shown,
        "verdict": "violated" if found.violated else "not-found",
        **pick(found, "walks steps violated"),
        "most_faults": found.faults,
        **pick(found, "deepest_log stuck distinct growth"),
        "actions": actions_of(dict(zip(actions, found.fired, strict=True))),
        "walking_seconds": round(found.seconds, 3),
        "smallest_unsafe": smallest,
        "violations": violations,
    }


def _violation(item: Violation, shown: _Shown | None) -> Json:
    found: Json = pick(item, "property walks length walk")
    if shown is not None:
        found["shortened"], found["is_shortest"] = shown.made.length, shown.shortest
        if shown.file:
            found["trace"] = shown.file
    return found
