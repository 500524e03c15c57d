"""The fewest faults that violate a property, and the faults that each setting tolerates."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fencepost.api.answers.as_json import FORMAT, KEY, Json, pandas, pick, table
from fencepost.api.answers.counterexample import Counterexample, trace_of_path
from fencepost.api.answers.results import Answer, frame
from fencepost.api.asking.arguments import call
from fencepost.api.asking.constants import Setting, axes_from, settings_of
from fencepost.api.asking.places import placed
from fencepost.api.asking.quantities import counted
from fencepost.api.asking.targets import Question, ask, kernels_of, source_of
from fencepost.api.asking.watching import Event, Watch, watched
from fencepost.api.calls.check import choose_engine, explore
from fencepost.api.files import Kept, digest, make_sure_folder
from fencepost.api.topics.claims import name_of, one_of, words_of
from fencepost.explorers.evidence.faults import (
    Breaking,
    Tolerance,
    choose_kinds,
    fault_kinds,
    natively,
    spent,
    tolerance,
    with_faults,
)
from fencepost.explorers.program.fingerprint import ends, texts
from fencepost.explorers.running.interrupts import cancelled_by, default_memory
from fencepost.explorers.verdict import Cause, Options, Problem, Result, cause_of, not_kept
from fencepost.invariants.protocols import Protocol
from fencepost.model.language import Constants, Machine, Property
from fencepost.model.language.errors import DomainError, FencepostError, ModelError, UsageError, nearest

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Minimal:
    """A minimal set of faults that violates the property: the number of each kind, the cost, and the path."""

    faults: Mapping[str, int]
    cost: int
    length: int
    steps: tuple[str, ...]


@dataclass(frozen=True)
class Tolerated:
    """A setting of a grid. `least` is the lowest cost of faults that violate the property, or None if none of the
    faults that were tried violate it. `front` lists all minimal sets of faults that violate the property.
    """

    setting: Mapping[str, Any]
    least: int | None
    undetermined: bool
    front: tuple[Minimal, ...]


@dataclass(frozen=True, repr=False)
class FaultsResult(Answer):
    """The faults that each setting of a grid tolerates. Without a grid, there is a single setting."""

    protocol: str
    settings: tuple[Tolerated, ...] = field(metadata={KEY: "grid"})
    not_run: tuple[str, ...]

    def __repr__(self) -> str:
        return f"FaultsResult({self.protocol}: {self.prop}, {counted(len(self.settings), 'setting')})"

    @property
    def prop(self) -> str:
        return str(self.data["property"]["name"])

    @property
    def undetermined(self) -> bool:
        """Whether a search ended without a decision, or a setting was not searched."""
        return bool(self.not_run) or any(item.undetermined for item in self.settings)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per setting: its constants, and the lowest cost of faults that violate the property."""
        pd = pandas()
        found = frame("least undetermined", ((it.least, it.undetermined) for it in self.settings), whole="least")
        return pd.concat([pd.DataFrame([dict(item.setting) for item in self.settings]), found], axis="columns")

    def _repr_html_(self) -> str:
        rows = [
            (
                name_of(dict(item.setting)),
                "undetermined"
                if item.undetermined
                else "none of the faults tried violate it"
                if item.least is None
                else min(sum(one.faults.values()) for one in item.front),
                "; ".join(words_of(dict(one.faults)) for one in item.front),
            )
            for item in self.settings
        ]
        return table(f"{self.protocol}: {self.prop}", ("setting", "fewest faults", "which"), rows)


@call
def faults(
    what: Machine | Protocol | Question | str | Path,
    properties: Iterable[Property] | None = None,
    *,
    prop: str,
    constants: Mapping[str, Any] | Constants | None = None,
    version: str = "",
    kinds: Iterable[str] = (),
    costs: Mapping[str, int] | None = None,
    grid: Mapping[str, Iterable[Any]] | None = None,
    workers: int = 0,
    budget: float | None = None,
    max_states: int | None = None,
    memory: int | None = None,
    engine: str = "native",
    compact: bool = False,
    normalize: bool = True,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    traces: str | Path | None = None,
    progress: Watch | Callable[[Event], None] | None = None,
    cancel: Callable[[], bool] | None = None,
    **more: Any,
) -> FaultsResult:
    """Find the fewest faults, in total and by kind, that violate the property `prop`, for each setting of a grid.

    Faults, such as crashes, are limited by budgets in the protocol's state. `kinds` selects the kinds of faults to
    count, by default all. Faults of other kinds may happen as often as the constants allow. `costs` maps a kind of
    fault to its cost (by default 1). `traces` is a folder for the trace of every minimal set. After a cancellation, no
    further setting is searched.
    """
    question = ask(what, properties, constants=constants, version=version, more=more)
    choose_engine(engine)
    options = Options(
        workers=workers or os.cpu_count() or 1, normalize=normalize, compact=compact, budget=budget,
        max_states=max_states, memory=memory or default_memory(),
    )  # fmt: skip
    request = _Request(
        question, question.protocol.select((prop,))[0], tuple(kinds), dict(costs or {}), options,
        Path(traces) if traces else None, engine,
    )  # fmt: skip
    settings = list(
        settings_of(question.protocol.machine, question.constants, axes_from(question.protocol.machine, grid or {}))
    )
    request.refuse_early(settings)
    if request.traces:
        make_sure_folder(request.traces)
    kept = Kept(checkpoint, digest(request.texts()), resume=resume, begun=resume)
    with cancelled_by(cancel):
        data, problems = request.grid(settings, kept, watched(progress))
        return replace(FaultsResult.read(data), problems=problems)


@dataclass(frozen=True)
class _Request:
    question: Question
    prop: Property
    kinds: tuple[str, ...]
    costs: dict[str, int]
    options: Options
    traces: Path | None
    engine: str

    def texts(self) -> list[str]:
        """Return texts that identify everything on which an answer depends."""
        found, limits = self.question.protocol, self.options
        shown = (limits.budget, limits.max_states, limits.normalize, limits.compact, self.traces)
        parts = (self.question.constants, self.prop.name, self.kinds, self.costs, shown)
        judged = found.compiled_with((self.prop,))
        return [*texts(found.machine, judged), *ends(found.machine, judged), repr(parts)]

    def refuse_early(self, settings: list[Setting]) -> None:
        found = self.question.protocol
        if not self.prop.kind.must_hold:
            known_ones = [item.name for item in found.properties if item.kind.must_hold]
            why = (
                "the fewest faults are found level by level, in a search that ends with the first violation, but a "
                "property of behaviours is checked on the graph of all states"
                if self.prop.kind.over_behaviours
                else "faults can violate only properties that must hold in every state or step"
            )
            named = f"Name one of {', '.join(known_ones)}"
            instead = named if known_ones else "Write a property under @always or @step()"
            raise UsageError(
                f"property {self.prop.name!r} is of kind {self.prop.kind}: {why}. {instead}; or raise the budgets one "
                "by one with `fencepost check`."
            )
        known = fault_kinds(found.machine)
        allowed = [item.constants for item in settings if item.constants is not None]
        if not allowed:
            raise UsageError(f"the machine rejects every cell of the grid. For the first cell: {settings[0].refused}")
        counted_ones = {name for one in allowed for name in choose_kinds(found.machine, one, self.kinds)}
        for name, cost in self.costs.items():
            if type(cost) is not int or cost < 0:
                raise UsageError(f"`costs=` was given {cost!r} for {name}: expected a whole number, 0 or more.")
            if name not in known:
                raise UsageError(
                    f"`costs=` names {name!r}, which is not a fault of protocol "
                    f"{found.name!r}.{nearest(name, known, 'The faults are:')}"
                )
            if name not in counted_ones:
                add = "add it to `kinds=`" if self.kinds else f"allow some, such as `{known[name]}=1`"
                raise UsageError(f"`costs=` names {name}, which are not counted: {add}, or leave this cost out.")

    def grid(self, settings: list[Setting], kept: Kept, watch: Watch) -> tuple[Json, tuple[Problem, ...]]:
        """Return the faults that each setting tolerates; stop after a search that is interrupted or cannot be saved."""
        points: list[Json] = []
        not_run: list[str] = []
        errors: list[FencepostError] = []
        problems: tuple[Problem, ...] = ()
        allowed = [item for item in settings if item.constants is not None]
        finished = kept.recall_all([name_of(item.shown) for item in allowed], "setting", watch)
        for item in allowed:
            name = name_of(item.shown)
            if not_run or problems or (points and points[-1]["interrupted"]):
                not_run.append(name)
                continue
            known: Json | None = finished.get(name)
            if known is None:
                assert item.constants is not None
                try:
                    known, traces = self.point(item.constants, item.shown, watch)
                except (DomainError, ModelError, UsageError) as error:
                    errors.append(error)
                    points.append(self.undecided(item.constants, item.shown, error))
                    continue
                try:
                    _keep(kept, name, known, traces)
                except UsageError as error:
                    problems = (not_kept(error),)
            points.append(known)
        if errors and len(errors) == len(points):
            raise errors[0]
        data: Json = {
            "format": FORMAT,
            "protocol": self.question.name,
            "property": {"name": self.prop.name, "sentence": self.prop.sentence},
            "costs": self.costs,
            "grid": points,
            "refused": [{"constants": item.shown, "why": item.refused} for item in settings if item.constants is None],
            "not_run": not_run,
        }
        return data, problems

    def point(self, constants: Constants, shown: Json, watch: Watch) -> tuple[Json, dict[Path, Counterexample]]:
        found = self.question.protocol
        kinds = choose_kinds(found.machine, constants, self.kinds)
        where = name_of(shown) if shown else ""
        here = Question(found, constants, (self.prop,))

        def otherwise(limited: Constants, options: Options) -> Result:
            return explore(replace(here, constants=limited), self.engine, options, watch)

        if self.engine == "native":
            look = natively(found.machine, self.prop, kernels_of(here, source_of(here, self.options), watch))
        else:
            look = otherwise

        def tell(tried: tuple[int, ...]) -> None:
            words = " ".join(f"{name}={count}" for name, count in zip(kinds, tried, strict=True))
            watch.spin(f"{found.name} {where}: {words}")

        costs = {kind: self.costs.get(kind, 1) for kind in kinds}
        with watch.busy(f"{found.name} {where}: counting faults".replace(" :", ":")):
            result = tolerance(found.machine, constants, self.prop, costs, self.options, look, tell)
        traces: dict[Path, Counterexample] = {}
        front = [self.breaking(shown, result, item, traces) for item in result.front]
        return {**self.data(shown, result), "front": front, "costs": costs, "fewer": dict(result.fewer)}, traces

    def data(self, shown: Json, result: Tolerance) -> Json:
        return {
            "setting": shown,
            "constants": dict(result.constants.shown),
            "kinds": list(result.kinds),
            "most": dict(zip(result.kinds, result.most, strict=True)),
            "least": result.least,
            "undetermined": bool(result.unknown),
            "interrupted": result.interrupted,
            "unknown": [
                {"faults": dict(zip(result.kinds, item, strict=True)), "why": why} for item, why in result.unknown
            ],
            "front": [],
            **pick(result, "searches states omission"),
        }

    def undecided(self, constants: Constants, shown: Json, error: FencepostError) -> Json:
        machine = self.question.protocol.machine
        kinds = choose_kinds(machine, constants, self.kinds)
        bounds = fault_kinds(machine)
        most = tuple(int(getattr(constants, bounds[name])) for name in kinds)
        said = placed(error).partition("\n")[0].rstrip(".")
        why = f"the model raises an error: {said}" if isinstance(error, DomainError) else said
        return self.data(shown, Tolerance(constants, kinds, most, (), ((most, why),), 0, 0))

    def breaking(self, shown: Json, result: Tolerance, item: Breaking, traces: dict[Path, Counterexample]) -> Json:
        found, prop = self.question.protocol, self.prop
        allowed = zip(result.kinds, item.faults, strict=True)
        used = {name: count for name, count in allowed if count or (name in result.fewer and any(item.faults))}
        path = item.result.of(prop.name).path
        assert path is not None
        costs = [counted(count, one_of(name), name.replace("_", " ")) for name, count in used.items()]
        title = f"{prop.name} is violated with {', '.join(costs) or words_of({}, result.kinds)}"
        constants = with_faults(found.machine, result.constants, result.kinds, item.faults)
        made = trace_of_path(
            found, constants, prop.name, path, title=title, why=prop.sentence, normalize=self.options.normalize
        )
        trace = Counterexample(made, path)
        counts = spent(trace.plain, path)
        free = {name: count for name, count in counts.items() if name not in result.kinds}
        more = {"cost": item.cost, "length": path.length, "steps": list(trace.texts)}
        data: Json = {"faults": used, "free": free, **more}
        if self.traces:
            where = "-".join(f"{name}-{value}" for name, value in {**shown, **used}.items()).lower()
            file = self.traces / f"{found.name}-{prop.name}-{where or 'no-fault'}.trace"
            traces[file] = trace
            data["file"] = str(file)
        return data


def _keep(kept: Kept, name: str, found: Json, traces: dict[Path, Counterexample]) -> None:
    for file, trace in traces.items():
        trace.save(file)
    # The memory limit is not part of the question: with more memory the setting may be decided.
    out_of_memory = any(cause_of(item["why"]) is Cause.MEMORY for item in found["unknown"])
    if not found["interrupted"] and not out_of_memory:
        kept.keep(name, found)
