"""Results of checks: typed, immutable, and available as JSON.

Names are written with dashes in JSON; constants keep their spelling. A warning explains why an answer without
violations may look better than it is. Some warnings follow from the model's source, and others from a search. Warnings
do not depend on the engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any, Self

from fencepost.api.answers.as_json import (
    FORMAT,
    Json,
    Printed,
    actions_of,
    as_json,
    judged,
    of_json,
    pandas,
    pick,
    table,
)
from fencepost.api.answers.counterexample import Counterexample, Histories, trace_of_path
from fencepost.api.asking.quantities import counted
from fencepost.explorers.program.ir.monotone import Sent
from fencepost.explorers.program.ir.oversights import ModelWarning, oversights, unshared_bounds
from fencepost.explorers.program.ir.program import Program
from fencepost.explorers.program.ir.translate import translate
from fencepost.explorers.verdict import BoundCount, Cause, Problem, ProblemKind, PropertyResult, Result, Verdict
from fencepost.invariants.protocols import PROTOCOLS, Protocol
from fencepost.model.language import Property
from fencepost.model.language.actions import Action, Kind
from fencepost.model.language.errors import DomainError
from fencepost.model.language.interpreter import Interpreter, Path
from fencepost.model.language.records import Key

if TYPE_CHECKING:
    import pandas as pd
    from fencepost.api.answers.growing import Growth
    from fencepost.api.asking.targets import Question


MANY = 1_000
"""Maximum number of non-initial states in which the plain semantics looks for a witness."""


def warnings_of(question: Question, result: Result, *, normalize: bool) -> tuple[ModelWarning, ...]:
    found = question.protocol
    ours = PROTOCOLS.get(found.machine.name) is found  # a test checks that the source of these causes no warnings
    of_file = () if ours else of_text(found, translate(found.machine, found.every_property))
    return (*of_file, *_of_answer(question, result, normalize=normalize))


def of_text(found: Protocol, program: Program) -> tuple[ModelWarning, ...]:
    return (*_left_out(found), *oversights(program), *_without_witness(found))


def _left_out(found: Protocol) -> Iterator[ModelWarning]:
    for item in found.left_out:
        is_action = isinstance(item, Action)
        kind, where = ("action", "the actions of MACHINE") if is_action else ("property", "PROPERTIES")
        name = item.label if isinstance(item, Action) else item.name
        never = "it never happens" if is_action else "it is not checked"
        yield ModelWarning(
            f"{kind}-left-out",
            name,
            f"the file defines {kind} {name!r}, which is not in {where}, so {never}: list it there, or remove it.",
        )


def _without_witness(found: Protocol) -> Iterator[ModelWarning]:
    if not any(item.kind is Kind.SOMETIMES for item in found.every_property):
        yield ModelWarning(
            "no-witness",
            found.name,
            "there is no witness, so the properties might hold only because nothing ever happens: write a witness "
            "under @sometimes that shows the protocol fulfilling its purpose.",
        )


def _of_answer(question: Question, result: Result, *, normalize: bool) -> Iterator[ModelWarning]:
    by_name = {item.name: item for item in question.properties}
    ours = PROTOCOLS.get(question.protocol.machine.name) is question.protocol
    machine, asked = question.protocol.machine, question.protocol.compiled_with(question.properties)
    sent: Sent | None = None
    plain = Interpreter(machine, question.constants)
    for item in result.properties:
        prop = by_name[item.name]
        params = prop.params if prop.eventual is None else prop.eventual.params
        empty = [one for one in params if not plain.values_of([one])]
        if empty and prop.kind is not Kind.SOMETIMES:
            yield ModelWarning(
                "nothing-to-judge",
                item.name,
                f"{item.name} could not fail: its parameter {empty[0][0]!r} has no value with these constants.",
            )
        elif item.vacuous:
            yield ModelWarning(
                "premise-never-happened",
                item.name,
                f"{item.name} is vacuous: no reachable state satisfies its `when`. Correct `when`, or let the machine "
                "reach a state that satisfies it.",
            )
        elif prop.kind is Kind.SOMETIMES:
            if item.verdict is Verdict.HOLDS and item.path is not None and item.path.length == 1:
                yield from _only_initially(question, prop, normalize=normalize)
        elif prop.kind.must_hold and item.verdict is Verdict.HOLDS and result.complete:
            if prop.on is not None and not result.fired.get(prop.on.label):
                yield ModelWarning(
                    "nothing-to-judge",
                    item.name,
                    f"{item.name} could not fail: it concerns only steps of action {prop.on.label!r}, which never "
                    "happened.",
                )
            elif not (ours and all(result.fired.values())):
                if sent is None:
                    program = translate(machine, tuple(it for it in asked if not it.kind.over_behaviours))
                    sent = Sent(program, {it.name for it in machine.actions if result.fired.get(it.label)})
                if sent.is_idle(sent.program.functions[sent.program.properties[item.name]]):
                    yield ModelWarning(
                        "nothing-to-judge",
                        item.name,
                        f"{item.name} could not fail: it concerns messages that no step ever sends.",
                    )


def _only_initially(question: Question, prop: Property, *, normalize: bool) -> Iterator[ModelWarning]:
    """Yield a warning if initial states satisfy a witness but none of the nearest other states does. These states are
    revisited with the plain semantics, because the search may not have stored all of them.
    """
    plain = Interpreter(question.protocol.machine, question.constants, normalize=normalize, bounded=True)
    seen = dict.fromkeys(plain.initial_states())
    waiting, initial = list(seen), len(seen)
    for state in waiting:
        for transition in plain.transitions(state):
            if transition.after in seen:
                continue
            if _satisfies(plain, prop, transition.after):
                return
            seen[transition.after] = None
            waiting.append(transition.after)
            if len(seen) == initial + MANY:
                yield _witness(prop, f"none of the nearest {MANY:,} other states does")
                return
    yield _witness(prop, "no other state does")


def _satisfies(plain: Interpreter, prop: Property, state: Key) -> bool:
    with suppress(DomainError):
        return plain.holds(prop, state)
    return False


def _witness(prop: Property, others: str) -> ModelWarning:
    return ModelWarning(
        "only-initially",
        prop.name,
        f"witness {prop.name} shows nothing about the steps: an initial state satisfies it, and {others}. Require "
        "something that only a step can cause.",
    )


@dataclass(frozen=True)
class Answer(Printed):
    """An answer that stores its JSON form."""

    data: Json = field(repr=False, compare=False)
    problems: tuple[Problem, ...] = field(default=(), kw_only=True)
    """Errors from writing files."""

    @classmethod
    def read(cls, data: Json) -> Self:
        made: Self = of_json(cls, dict(data, data=data))
        return made

    def to_dict(self) -> Json:
        return deepcopy(self.data)


def frame(columns: str, rows: Iterable[Any], *, index: str = "", whole: str = "") -> pd.DataFrame:
    """Return rows as a data frame with these columns. Columns named in `whole` contain integers or missing values."""
    made = pandas().DataFrame(list(rows), columns=columns.split()).astype({whole: "Int64"} if whole else {})
    return made.set_index(index) if index else made


class Base(StrEnum):
    """The result of comparing a variant with its base: whether both have the same states and steps."""

    SAME = "same"
    DIFFERS = "differs"
    NOT_COMPARED = "not compared"


@dataclass(frozen=True, repr=False)
class CheckResult(Printed, Result):
    """The result of a check: verdict, properties, counts, coverage, and a path for every violation and witness. `fired`
    counts how often each action was taken, and `guards` counts how often each guard was the first to block a step.
    """

    question: Question = field(kw_only=True, repr=False)
    normalize: bool = field(kw_only=True, default=True)
    background: tuple[str, ...] = field(kw_only=True, default=())
    """Notes on the version and the machine, which are the same for every search."""
    growth: Growth | None = field(kw_only=True, default=None)
    verdict: Verdict = field(kw_only=True)
    cause: Cause | None = field(kw_only=True, default=None)
    """Why the search stopped early, or None."""
    base: Base | None = field(kw_only=True, default=None)
    """If the machine is a variant made by `replacing`, the comparison with its base; otherwise None."""

    def __repr__(self) -> str:
        return f"CheckResult({self.protocol}: {self.verdict}, {counted(self.distinct, 'state')})"

    @property
    def exact(self) -> bool:
        """Whether it is certain that the search missed no state."""
        return not self.omission

    @cached_property
    def bounds_reached(self) -> tuple[BoundCount, ...]:
        """Bounds that blocked a step on their own; `holds` is valid only within these bounds."""
        return tuple(item for item in self.bounds if item.reached)

    @cached_property
    def bounds_unshared(self) -> frozenset[str]:
        """Bounds that only their own guards depend on. Raising one adds no states unless a search reached it."""
        found = self.question.protocol
        return unshared_bounds(translate(found.machine, found.every_property)) if self.bounds else frozenset()

    @cached_property
    def violated(self) -> tuple[PropertyResult, ...]:
        """The violated properties, starting with the property that has the shortest path."""
        found = [item for item in self.properties if item.verdict is Verdict.VIOLATED and item.path is not None]
        return tuple(sorted(found, key=lambda item: item.path.length if item.path else 0))

    @cached_property
    def traces(self) -> Mapping[str, Counterexample]:
        """Paths by property: to violations, reached witnesses, and worst-case costs."""
        return Histories({item.name: item for item in self.properties if item.path is not None}, self._trace)

    @property
    def trace(self) -> Counterexample | None:
        """The path of the first violation or, if no property is violated, of the first worst case; otherwise None."""
        if self.violated:
            return self.traces[self.violated[0].name]
        worst = (item.name for item in self.properties if item.is_worst_case)
        return next((self.traces[name] for name in worst), None)

    @cached_property
    def end(self) -> Counterexample | None:
        """The path to a deadlock, if a deadlock was requested and found."""
        return None if self.deadlock is None else self._history(None, self.deadlock, source="")

    def _trace(self, item: PropertyResult) -> Counterexample:
        assert item.path is not None
        return self._history(item.name, item.path, item=item)

    def _history(self, prop: str | None, path: Path, **more: Any) -> Counterexample:
        about = (self.question.protocol, self.question.constants, prop, path)
        version, normalize = self.question.version, self.normalize
        return Counterexample(trace_of_path(*about, version=version, normalize=normalize, **more), path)

    @cached_property
    def warnings(self) -> tuple[ModelWarning, ...]:
        """Reasons why the answer may look better than it is, from the model's source and from the search."""
        return warnings_of(self.question, self, normalize=self.normalize)

    def to_dict(
        self, files: Mapping[str, str] | None = None, expected: Verdict | None = None, *, warn: bool = True
    ) -> dict[str, Any]:
        """Return the result as JSON. `files` are the trace files by property, and `expected` is the expected verdict.
        Without `warn`, warnings are not computed.
        """
        data: dict[str, Any] = {
            "format": FORMAT,
            **pick(
                self, "protocol constants engine workers verdict complete exact why_stopped distinct generated depth"
            ),
            "seconds": round(self.seconds, 4),
            "properties": [self._property(item, files or {}) for item in self.properties],
            "actions": actions_of(self.fired),
            "guards": as_json(self.guards),
            "bounds_reached": [_bound(item) for item in self.bounds_reached],
            "bounds_not_reached": [item.constant for item in self.bounds if not item.reached],
            **pick(self, "deadlocks levels symmetry omission"),
            "notes": [*self.notes, *(item.text for item in self.problems if item.kind is ProblemKind.MODEL_ERROR)],
            "compiled": [
                {**pick(item, "tier kept"), "seconds": round(item.seconds, 4), "peak_memory_bytes": item.memory}
                for item in self.compiled
            ],
            **pick(self, "store_bytes spilled_bytes peak_memory_bytes"),
            "cross_check": None if self.cross_check is None else pick(self.cross_check, "states of"),
        }
        if warn:
            data["warnings"] = [pick(item, "kind about text") for item in self.warnings]
        if self.growth is not None:
            data["growth"] = as_json(self.growth)
        if self.base is not None:
            data["base"] = str(self.base)
        return data | judged(self.verdict, expected)

    def _property(self, item: PropertyResult, files: Mapping[str, str]) -> dict[str, Any]:
        found = pick(item, "name kind verdict")
        if item.path is not None:
            found["length"] = item.path.length
        if item.kind.over_behaviours:
            found |= _of_behaviours(item)
        if item.verdict is not Verdict.VIOLATED and not item.is_worst_case:
            return found
        trace = self.traces[item.name] if item.path else None
        if item.verdict is Verdict.VIOLATED:
            found["culprit"] = trace.culprit if trace else ""
        return found | {"trace": files.get(item.name), "steps": list(trace.texts) if trace else []}

    def to_frame(self) -> pd.DataFrame:
        rows = ((it.name, str(it.kind), str(it.verdict), it.path and it.path.length) for it in self.properties)
        return frame("property kind verdict length", rows, index="property", whole="length")

    def _repr_html_(self) -> str:
        rows = [(item.name, item.kind, item.verdict, item.path.length if item.path else "") for item in self.properties]
        constants = " ".join(f"{name}={str(value).lower()}" for name, value in self.constants.items())
        partial = "" if self.complete else f" Partial: {self.why_stopped}."
        trace = self.trace
        summary = f"{constants}; {self.distinct:,} distinct states, depth {self.depth}.{partial}"
        title = f"{self.protocol}: {self.verdict}"
        page = table(title, ("property", "kind", "verdict", "states"), rows)
        if self.base is Base.SAME:
            page = f"{page}<p><b>{escape(self.notes[0])}</b></p>"
        return f"{page}<p>{escape(summary)}</p>" + (trace._repr_html_() if trace else "")


def _bound(item: BoundCount) -> dict[str, Any]:
    how = {name: True for name in ("at_least", "together") if getattr(item, name)}
    return {"constant": item.constant, "value": item.value, "refused": item.states, **how}


def _of_behaviours(item: PropertyResult) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if item.path is not None:
        found = {"for": dict(item.values), "loop": item.path.loop}
    if item.cost is not None:
        cost = item.cost
        found["worst"] = str(cost.reach) if cost.worst is None else cost.worst
        found |= pick(cost, "best bound unit")
    return found | ({"note": item.note} if item.note else {})
