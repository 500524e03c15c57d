"""Ablation: a matrix of the violations that occur if a guard of a protocol is removed or a switch is flipped.

If no safety property needs a guard or setting, a second search shows whether a leads-to or at-most property does.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fencepost.api.answers.as_json import KEY, Json, pandas, table
from fencepost.api.answers.matrix import refuse_unfinished, row_data, suspicions, whole_data
from fencepost.api.answers.results import Answer, frame
from fencepost.api.asking.arguments import call
from fencepost.api.asking.constants import read_value
from fencepost.api.asking.quantities import counted
from fencepost.api.asking.targets import Question, ask, kernels_of, source_of
from fencepost.api.asking.watching import Event, Watch, watched
from fencepost.api.calls.check import explore
from fencepost.api.files import Kept
from fencepost.api.topics.claims import Needed, Unneeded
from fencepost.explorers.program.fingerprint import ends, texts
from fencepost.explorers.program.removal import Guard, find_guard, without
from fencepost.explorers.running.interrupts import Signals, cancelled_by, default_memory
from fencepost.explorers.verdict import (
    Cause,
    Options,
    Problem,
    Reason,
    Result,
    Verdict,
    cause_of,
    ended_by_signal,
    extended,
    not_kept,
)
from fencepost.invariants.protocols import Protocol
from fencepost.model.language import Constants, Machine, Property
from fencepost.model.language.errors import DomainError, UnkeptError, UsageError

if TYPE_CHECKING:
    import pandas as pd
    from fencepost.explorers.evidence.ablation import Row, RowOutcome
    from fencepost.explorers.native.compile import Source
    from fencepost.explorers.spark.session import Cluster

SAFE = ("nothing-broke", "same-states")
"""Purposes of rows that change the behaviour but violate no safety property."""
LATER = " while leads-to and at-most properties were checked"
LEAST_STATES = 1_000_000
"""Smallest limit on states per row, because a machine without a guard may have many more states."""
UNKEPT = "a finished row could not be saved"
TIMES = 4
"""Default limit on states per row, as a multiple of the unmodified machine's number of states."""


@dataclass(frozen=True)
class Cell:
    """The verdict on a property in a row. `trace` contains the shortest violation, or is empty."""

    verdict: Verdict
    length: int | None = None
    steps: tuple[str, ...] = ()
    trace: str = ""


@dataclass(frozen=True)
class MatrixRow:
    """A removed guard or a changed constant: its condition, its purpose, and the violated properties."""

    name: str = field(metadata={KEY: "row"})
    condition: str
    purpose: str
    broken: tuple[str, ...]
    distinct: int | None
    why: str
    cells: Mapping[str, Cell]


@dataclass(frozen=True, repr=False)
class AblateResult(Answer):
    """A matrix of needed guards, with a row for each guard and setting and a cell for each checked property."""

    protocol: str
    constants: Mapping[str, Any]
    asked: tuple[str, ...]
    distinct: int
    depth: int
    rows: tuple[MatrixRow, ...]
    not_run: tuple[str, ...]
    why_stopped: str
    suspicions: Mapping[str, tuple[str, ...]] = field(repr=False)

    def __repr__(self) -> str:
        needed = sum(item.purpose == "needed" for item in self.rows)
        return f"AblateResult({self.protocol}: {counted(len(self.rows), 'row')}, {needed} needed)"

    @property
    def needed(self) -> tuple[Needed, ...]:
        """Needed guards, each with the properties violated without it."""
        return tuple(claim for row in self.data["rows"] if (claim := Needed.of(row)) is not None)

    @property
    def unneeded(self) -> tuple[Unneeded, ...]:
        """Unneeded guards whose rows were decided, each with its purpose."""
        return tuple(claim for row in self.data["rows"] if (claim := Unneeded.of(row)) is not None)

    def row(self, name: str) -> MatrixRow:
        return next(item for item in self.rows if item.name == name)

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each guard and setting, with the length of each property's shortest violation."""
        pd = pandas()
        rows = ((item.purpose, item.condition, item.distinct) for item in self.rows)
        lengths = [
            [item.cells[name].length if name in item.cells else None for name in self.asked] for item in self.rows
        ]
        own = frame("purpose condition states", rows, whole="states")
        found = pd.DataFrame(lengths, columns=list(self.asked)).astype("Int64")
        return pd.concat([own, found], axis="columns").set_axis(pd.Index([item.name for item in self.rows], name="row"))

    def _repr_html_(self) -> str:
        rows = [(item.name, item.purpose, item.condition, ", ".join(item.broken)) for item in self.rows]
        return table(f"{self.protocol}: {counted(len(rows), 'row')}", ("row", "purpose", "condition", "breaks"), rows)


@call
def ablate(
    what: Machine | Protocol | Question | str | Path,
    properties: Iterable[Property] | None = None,
    *,
    constants: Mapping[str, Any] | Constants | None = None,
    version: str = "",
    only: Iterable[str] = (),
    guards: Iterable[str] = (),
    also: Mapping[str, Iterable[Any]] | None = None,
    workers: int = 0,
    budget: float | None = None,
    max_states: int | None = None,
    memory: int | None = None,
    normalize: bool = True,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    liveness: bool = False,
    cluster: Cluster | None = None,
    progress: Watch | Callable[[Event], None] | None = None,
    cancel: Callable[[], bool] | None = None,
    **more: Any,
) -> AblateResult:
    """Search a protocol with one guard removed or one switch flipped at a time, and report violations.

    `guards` selects rows by name, and `also` adds a row for each given value of a constant. `workers` is the number of
    rows searched in parallel. `budget` and `max_states` limit each row, and `memory` limits all rows together, in
    bytes. If `liveness` is set, leads-to and at-most properties are checked too, but only in rows that violate no
    safety property. If `cluster` is given, the rows are searched on Spark.
    """
    question = ask(what, properties, constants=constants, version=version, only=only, more=more)
    if liveness:
        eventual_properties(question)
        question = with_safety(question)
    _look_at_properties(question)
    workers = workers or os.cpu_count() or 1
    usable = memory or default_memory()
    options = Options(
        workers=workers,
        normalize=normalize,
        budget=budget,
        max_states=max_states,
        memory=usable // workers if usable else None,
    )
    rows = chosen_rows(question, tuple(guards), also or {})
    source = source_of(question, options, masked=True)
    kept = _kept(question, source, options, checkpoint, resume=resume)
    watch = watched(progress)
    matrix = _Matrix(question, options, watch, kept, cluster, memory // workers if memory and cluster else 0)
    with cancelled_by(cancel):
        behaviours = partial(judge_whole, question, options, watch) if liveness else None
        data, judged, problems = matrix.explore(rows, source, behaviours, whole=not guards)
        if judged is not None and not problems:
            judge_liveness(question, data, judged, options, watch)
            data["suspicions"] = data["suspicions"] and suspicions(data)
    return replace(AblateResult.read(data), problems=problems)


def _look_at_properties(question: Question) -> None:
    chosen, found = question.properties, question.protocol
    if any(item.kind.must_hold for item in chosen):
        return
    known = [item.name for item in found.every_property if item.kind.must_hold]
    given = ", ".join(f"{item.name!r} ({item.kind})" for item in chosen)
    write = f"name another one: {', '.join(known)}." if known else "write a property under @always or @step(...) first."
    if known and any(item.kind.over_behaviours for item in chosen):
        write = f"{write} With `liveness=True`, leads-to and at-most properties count too."
    raise UsageError(
        f"{given} cannot depend on a guard: only properties that must hold in every state or step can. Leave "
        f"`only=` out, or {write}"
        if chosen != found.properties and known
        else (
            f"protocol {found.name!r} has no property that must hold in every state or step, so no guard can be "
            f"needed: {write}"
        )
    )


def chosen_rows(question: Question, guards: tuple[str, ...], also: Mapping[str, Iterable[Any]]) -> tuple[Row, ...]:
    from fencepost.explorers.evidence.ablation import rows_of, settings

    machine = question.protocol.machine
    more = {name: tuple(read_value(machine, name, value)[1] for value in values) for name, values in also.items()}
    if not guards:
        return rows_of(machine, question.constants, more)
    named = {item.name: item for item in settings(question.constants, more)}
    rows = [named[name] if name in named else find_guard(machine, name) for name in guards]
    rows += [item for item in named.values() if item.value in more.get(item.constant, ())]
    return tuple(dict.fromkeys(rows))


def _kept(question: Question, source: Source, options: Options, checkpoint: str | Path | None, *, resume: bool) -> Kept:
    """Return the folder of finished rows; raise UsageError if there are no rows to resume from. The default limit on
    states is not part of a row's identity, because it follows from the unmodified machine.
    """
    limits = (options.budget, options.max_states, options.normalize, LEAST_STATES, TIMES)
    asked_for = [item.name for item in question.properties]
    machine, asked = question.protocol.machine, question.properties
    model = [source.question(question.constants), *texts(machine, asked), *ends(machine, asked)]
    parts = (question.name, repr(question.constants), repr(asked_for), repr(limits), *model)
    return Kept(checkpoint, "\n".join(parts), resume=resume, begun=resume)


@dataclass(frozen=True)
class _Matrix:
    """Rows of a matrix, searched or read from a checkpoint, with the unmodified machine first."""

    question: Question
    options: Options
    watch: Watch
    kept: Kept
    cluster: Cluster | None
    row_memory: int
    """Memory in bytes for each row on the cluster; 0 means an equal share of the executor's memory."""

    def explore(
        self, rows: tuple[Row, ...], source: Source, behaviours: Callable[[], Result] | None, *, whole: bool
    ) -> tuple[Json, Result | None, tuple[Problem, ...]]:
        """Search the unmodified machine (with `behaviours`, if given), then each unfinished row; return the matrix."""
        from fencepost.explorers.evidence.ablation import Ablation

        found, watch = self.question.protocol, self.watch
        kernels = kernels_of(self.question, source, watch)
        finished = self.kept.recall_all([row.name for row in rows if not self._is_refused(row)], "row", watch)
        ablation = Ablation(found.machine, self.question.constants, self.question.properties, self.options, kernels)
        with watch.busy(f"{found.name}: the unmodified protocol"):
            base = ablation.explore_whole()
        data = whole_data(found, ablation, base)
        if ended_by_signal(base.why_stopped):
            why = extended(base.why_stopped, " while the unmodified protocol was searched")
            return _nothing_run(data, rows, why), None, ()
        refuse_unfinished(found, base)
        judged = behaviours() if behaviours else None
        if judged is not None and ended_by_signal(judged.why_stopped):
            return _nothing_run(data, rows, extended(judged.why_stopped, LATER)), judged, ()
        if all(base.of(item.name).verdict is Verdict.VIOLATED for item in ablation.properties):
            why = "the unmodified protocol already violates every property that was checked"
            return _nothing_run(data, rows, why), judged, ()
        ablation.options = replace(
            self.options, max_states=self.options.max_states or max(LEAST_STATES, TIMES * base.distinct)
        )
        problems: tuple[Problem, ...] = ()
        try:
            why = self._rest(ablation, tuple(row for row in rows if row.name not in finished), finished)
        except UnkeptError as error:
            problems, why = (not_kept(error),), UNKEPT
        data["rows"] = [finished[row.name] for row in rows if row.name in finished]
        data["not_run"] = [row.name for row in rows if row.name not in finished]
        data["why_stopped"] = why
        data["suspicions"] = suspicions(data) if whole and not data["not_run"] else {}
        return data, judged, problems

    def _is_refused(self, row: Row) -> bool:
        """Return whether the machine refuses a setting. Refused rows are not saved, because repeating them is quick."""
        machine = self.question.protocol.machine
        if machine.refuse is None or isinstance(row, Guard):
            return False
        return bool(machine.refuse(machine.constants(**row.values(self.question.constants))))

    def _rest(self, ablation: Any, waiting: tuple[Row, ...], finished: dict[str, Json]) -> str:
        from fencepost.explorers.evidence.ablation import explore_rows

        found, watch, of = self.question.protocol, self.watch, len(waiting) + len(finished)

        def done(row: Row, made: Json) -> None:
            finished[row.name] = made
            if cause_of(made["why"]) is not Cause.MEMORY and not self._is_refused(row):
                try:
                    self.kept.keep(row.name, made)
                except UnkeptError:
                    ablation.ask(UNKEPT)
                    raise
            watch.spin(f"{found.name}: {len(finished)} of {of} rows, last {row.name}")

        def done_here(outcome: RowOutcome) -> None:
            if not (ablation.stop_asked and outcome.result is not None and not outcome.result.complete):
                done(outcome.row, row_data(found, ablation, outcome))

        if self.cluster is None:
            with watch.busy(f"{found.name}: {counted(len(waiting), 'row')}"), Signals(ablation.ask):
                explore_rows(ablation, waiting, self.options.workers, done_here)
            why: str = ablation.stop_asked
            return why
        if not waiting:
            return ""
        from fencepost.api.calls.on_spark import explore_on, plan_of

        plan, known = plan_of(self.question, ablation, self.row_memory), len(finished)
        try:
            return explore_on(self.cluster, plan, waiting, done, watch)
        except UsageError as error:
            if isinstance(error, UnkeptError) or len(finished) == known:
                raise
            return Reason(str(error).rstrip("."), Cause.ERROR)


def _nothing_run(data: Json, rows: tuple[Row, ...], why: str) -> Json:
    data["not_run"], data["why_stopped"] = [row.name for row in rows], why
    return data


def eventual_properties(question: Question) -> tuple[Property, ...]:
    """Return the requested properties of behaviours, by default all of them; raise UsageError if none exist."""
    named, every = (
        tuple(item for item in items if item.kind.over_behaviours)
        for items in (question.properties, question.protocol.every_property)
    )
    if not every:
        raise UsageError(
            f"protocol {question.name!r} has no leads-to or at-most properties that could need a guard: leave "
            "`liveness=True` out."
        )
    return named or every


def with_safety(question: Question) -> Question:
    """Return the question, with all safety properties added if it names only properties of behaviours."""
    if not all(item.kind.over_behaviours for item in question.properties):
        return question
    safety = tuple(item for item in question.protocol.every_property if item.kind.must_hold)
    return replace(question, properties=(*safety, *question.properties))


def judge_whole(question: Question, options: Options, watch: Watch) -> Result:
    return explore(replace(question, properties=eventual_properties(question)), "native", options, watch)


def eventual_of(data: Json) -> Json:
    """Return the checked properties of behaviours, and those that hold or are violated in the unmodified machine."""
    found: Json = data.get("liveness", {"asked": [], "holding": [], "violated": []})
    return found


def judge_liveness(question: Question, data: Json, whole: Result, options: Options, watch: Watch) -> None:
    """Set the purpose to `liveness` for guards and settings that a leads-to or at-most property needs.

    `whole` is the result for the unmodified machine. If a step would leave a domain, the properties are not checked,
    because the model's behaviours do not include that step. After a signal, no further row is checked.
    """
    found, constants = question.protocol, question.constants
    if ended_by_signal(data["why_stopped"]):
        return
    asked, holding = eventual_properties(question), _with(whole, Verdict.HOLDS)
    data["liveness"] = {
        "asked": [item.name for item in asked],
        "holding": holding,
        "violated": _with(whole, Verdict.VIOLATED),
    }
    kept = tuple(item for item in asked if item.name in holding)
    for row in data["rows"]:
        if row["purpose"] not in SAFE or row["departure"] or not kept:
            continue
        machine, values = found.machine, constants
        if row["kind"] == "guard":
            machine = without(machine, find_guard(machine, row["row"]))
        else:
            name, _, text = row["row"].partition("=")
            name, value = read_value(machine, name, text)
            values = constants.replace(**{name: value})
        try:
            result = explore(Question(Protocol(machine, kept), values, kept), "native", options, watch)
        except DomainError as error:
            row["why"] = f"leads-to and at-most properties were not checked: {error}"
            continue
        row["liveness"] = _with(result, Verdict.VIOLATED)
        if row["liveness"]:
            row["purpose"] = "liveness"
        elif not result.complete:
            row["why"] = f"leads-to and at-most properties were not checked: {result.why_stopped}"
        if ended_by_signal(result.why_stopped):
            data["why_stopped"] = extended(result.why_stopped, LATER)
            return


def _with(result: Result, verdict: Verdict) -> list[str]:
    return [item.name for item in result.properties if item.verdict is verdict]
