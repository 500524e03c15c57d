"""Results of a run: verdicts, and the limits under which they are valid."""

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple, NoReturn, Self

from fencepost.model.language.actions import Kind, Property
from fencepost.model.language.constants import Constants
from fencepost.model.language.errors import DomainError, FencepostError, MismatchError, UsageError
from fencepost.model.language.interpreter import Path


class Verdict(StrEnum):
    """A verdict on one property."""

    HOLDS = "holds"
    """The property holds in every reachable state (or step) with the given constants, or the witness was reached."""
    PROVED = "proved"
    """The property is proved by induction, for all values of the constants that the proof reports as unbounded."""
    NOT_FOUND = "not-found"
    """No violation was found, but the search was incomplete by design (random walks)."""
    VIOLATED = "violated"
    UNREACHED = "unreached"
    """The search is complete, and no state satisfies the witness."""
    UNDETERMINED = "undetermined"


_SEVERITY = tuple(map(Verdict, ("violated", "unreached", "undetermined", "not-found", "holds", "proved")))


def worst(verdicts: list[Verdict], *, complete: bool) -> Verdict:
    """Return the worst of the properties' verdicts. The verdict of an unfinished search is never `holds`."""
    found = [item for item in _SEVERITY if item in verdicts]
    if found:
        top = found[0]
        return Verdict.UNDETERMINED if not complete and top in (Verdict.HOLDS, Verdict.UNREACHED) else top
    return Verdict.HOLDS if complete else Verdict.UNDETERMINED


class Reach(StrEnum):
    BOUNDED = "bounded"
    UNBOUNDED = "unbounded"
    """For every cost there is a more expensive path, because a loop before `then` has a cost."""
    NEVER = "never"
    """Some fair behaviour never reaches `then`."""


@dataclass(frozen=True)
class Cost:
    """Costs found for an at-most property: the highest and the lowest cost of a path from `when` to `then`.

    `worst` is set only for a bounded cost, `best` only if a path reaches `then`. Both are 0 if `when` implies `then`.
    """

    reach: Reach
    worst: int | None
    best: int | None
    unit: str = ""
    bound: int | None = None

    @property
    def text(self) -> str:
        """Return the worst case in words, such as `500 ms`, `unbounded` or `never`."""
        return f"{self.worst:,} {self.unit}".rstrip() if self.worst is not None else str(self.reach)


@dataclass(frozen=True)
class PropertyResult:
    """Verdict on one property. `path` leads to the violation or the witness, or is the worst-case path.

    `args` contains the values of the property's parameters on that path, and `values` contains the same values by name.
    `note` is an explanation for the user.
    """

    name: str
    kind: Kind
    verdict: Verdict
    path: Path | None = None
    args: tuple[int, ...] = ()
    values: Mapping[str, int] = field(default_factory=dict)
    cost: Cost | None = None
    note: str = ""
    vacuous: bool = False
    """Whether the property is about behaviours, and no reachable state satisfies `when`."""

    @cached_property
    def is_worst_case(self) -> bool:
        return self.cost is not None and self.path is not None and self.verdict is Verdict.HOLDS


@dataclass(frozen=True)
class GuardCount:
    """The number of steps that a guard was the first to refuse."""

    action: str
    condition: str
    refused: int


ENOUGH = 10_000
"""Once the count of a reached bound is at least this number, later levels do not count the bound."""


class BoundCount(NamedTuple):
    """The number of states in which a bound alone refused a step or made a step omit an effect.

    If the count reaches `ENOUGH`, counting stops after the current level of the search, and `at_least` is set.
    `together` means that the bound refused steps only in combination with other bounds.
    """

    constant: str
    value: int
    states: int
    together: bool = False
    at_least: bool = False
    reached: bool = False
    """Whether the search might have reached more states without the bound."""


def counted_bounds(
    constants: Constants, declared: Iterable[str], states: Mapping[str, int], together: Container[str]
) -> tuple[BoundCount, ...]:
    found = []
    for name in declared:
        count = states.get(name, 0)
        others = name in together and not count
        found.append(BoundCount(name, int(constants.values[name]), count, others, count >= ENOUGH, count > 0 or others))
    return tuple(found)


class Cause(StrEnum):
    SIGNAL = "signal"
    CANCELLED = "cancelled"
    BUDGET = "budget"
    MEMORY = "memory"
    STATES = "states"
    DEPTH = "depth"
    VIOLATION = "violation"
    ERROR = "error"


class Reason(str):
    __slots__ = ("cause",)
    cause: Cause

    def __new__(cls, text: str, cause: Cause) -> Self:
        made = super().__new__(cls, text)
        made.cause = cause
        return made

    def __getnewargs__(self) -> tuple[str, Cause]:  # type: ignore[override]
        return str(self), self.cause

    def on(self, more: str) -> "Reason":
        return Reason(f"{self}{more}", self.cause)


VIOLATED = Reason("a property is violated", Cause.VIOLATION)
LEFT = Reason("the model raised an error in a step or a property", Cause.ERROR)


def out_of_time(budget: float) -> Reason:
    return Reason(f"the time budget of {budget:g} s ran out", Cause.BUDGET)


def out_of_memory(limit: int) -> Reason:
    return Reason(f"the memory limit of {limit / 2**20:,.0f} MiB was reached", Cause.MEMORY)


def deep_enough(limit: int) -> Reason:
    return Reason(f"the depth limit of {limit} was reached", Cause.DEPTH)


def extended(why: str, more: str) -> str:
    return why.on(more) if isinstance(why, Reason) else f"{why}{more}"


def cause_of(why: str) -> Cause | None:
    return why.cause if isinstance(why, Reason) else None


def ended_by_signal(why: str) -> bool:
    return cause_of(why) in (Cause.SIGNAL, Cause.CANCELLED)


@dataclass(frozen=True)
class Compiled:
    """The cost of compiling a machine: seconds, and peak memory of the compiling process in bytes (0 if cached)."""

    tier: str
    """The tier of the code, `cheap` (available at once) or `optimized`."""
    seconds: float = 0.0
    memory: int = 0

    @property
    def kept(self) -> bool:
        return not self.seconds


class ProblemKind(StrEnum):
    MODEL_ERROR = "model-error"
    """The model raised an error, and the search ended. Earlier findings remain valid."""
    NOT_KEPT = "not-kept"
    """A requested checkpoint or file could not be written."""
    UNANSWERED = "unanswered"


@dataclass(frozen=True)
class Problem:
    kind: ProblemKind
    text: str
    error: FencepostError = field(compare=False, repr=False)


def model_error(error: DomainError) -> Problem:
    return Problem(ProblemKind.MODEL_ERROR, str(error), error)


def not_kept(error: UsageError) -> Problem:
    return Problem(ProblemKind.NOT_KEPT, str(error), error)


SURE = 0.999
"""Confidence with which a sample rules out a given share of wrong states."""
EVERY = 1 << 62
"""More states than any search can store."""


def judged(item: Property, path: Path | None, *, complete: bool) -> PropertyResult:
    found, not_found = Verdict.VIOLATED, Verdict.HOLDS
    if item.kind is Kind.SOMETIMES:
        found, not_found = Verdict.HOLDS, Verdict.UNREACHED
    verdict = found if path is not None else not_found if complete else Verdict.UNDETERMINED
    return PropertyResult(item.name, item.kind, verdict, path)


def undetermined(item: Property) -> PropertyResult:
    return judged(item, None, complete=False)


@dataclass(frozen=True)
class CrossCheck:
    """Number of stored states that were re-expanded (`states`), out of those that the search expanded (`of`)."""

    states: int
    of: int

    @property
    def whole(self) -> bool:
        return self.states == self.of

    @property
    def excludes(self) -> float:
        """Return the smallest share of wrong states that the sample detects with probability 0.999 (0 if complete)."""
        if self.whole:
            return 0.0
        return 1.0 - (1.0 - SURE) ** (1.0 / self.states) if self.states else 1.0

    def __str__(self) -> str:
        if not self.states:
            return "no stored state was cross-checked"
        if self.whole:
            if self.states == 1:
                return "the only expanded state was cross-checked against the plain semantics"
            return f"all {self.states:,} expanded states were cross-checked against the plain semantics"
        some = f"{self.states:,} stored states were" if self.states > 1 else "one stored state was"
        return (
            f"{some} cross-checked against the plain semantics: if 1 in {int(1 / self.excludes):,} states were wrong, "
            f"the sample would have detected it with probability {SURE}"
        )


class CrossCheckError(MismatchError):
    """Error for a stored state on which compiled code and the plain semantics differ, with the path to the state."""

    def __init__(self, message: str, path: Path | None) -> None:
        super().__init__(message)
        self.path = path


@dataclass(frozen=True)
class Result:
    protocol: str
    constants: Mapping[str, Any]
    engine: str
    workers: int
    complete: bool
    why_stopped: str
    distinct: int
    generated: int
    depth: int
    seconds: float
    properties: tuple[PropertyResult, ...]
    fired: Mapping[str, int]
    guards: tuple[GuardCount, ...]
    deadlocks: int
    bounds: tuple[BoundCount, ...] = ()
    deadlock: Path | None = None
    store_bytes: int = 0
    spilled_bytes: int = 0
    peak_memory_bytes: int = 0
    """Peak memory of the whole process, or 0 if not measured."""
    compiled: tuple[Compiled, ...] = ()
    """The kinds of code that the search used, in the order of their use."""
    levels: tuple[int, ...] = ()
    symmetry: str = ""
    omission: float = 0.0
    notes: tuple[str, ...] = field(default=())
    problems: tuple[Problem, ...] = ()
    kept: bool = False
    """Whether there is a checkpoint from which the search can be resumed."""
    cross_check: CrossCheck | None = None
    digest: int | None = None
    """Fingerprint of the reached states and of the steps of selected actions, or None if not requested."""

    @cached_property
    def verdict(self) -> Verdict:
        return worst([item.verdict for item in self.properties], complete=self.complete)

    @property
    def model_error(self) -> DomainError | None:
        return next((item.error for item in self.problems if isinstance(item.error, DomainError)), None)

    def of(self, name: str) -> PropertyResult:
        return next(item for item in self.properties if item.name == name)


Summed = Callable[[Result], tuple[str, ...] | None]
"""Function that returns the actions whose steps go into a complete search's digest; None if no digest is requested."""


def require_no_error(result: Result) -> Result:
    if result.model_error is not None:
        raise result.model_error
    return result


def refuse_behaviours(properties: tuple[Property, ...], why: str) -> None:
    for item in properties:
        if item.kind.over_behaviours:
            raise UsageError(
                f"property {item.name!r} is about whole behaviours, which never end: {why}. "
                f"Omit the property here, and check it with `fencepost check` and `only=[{item.name!r}]`."
            )


def refuse_symmetric_behaviours(properties: tuple[Property, ...], options: "Options") -> None:
    if options.symmetry:
        refuse_behaviours(properties, "with `symmetry=True`, merged states hide whether fairness holds for each value")


def refuse_negative_limits(properties: tuple[Property, ...], constants: Constants) -> None:
    for item in properties:
        limit = item.behaviour.bound if item.kind is Kind.AT_MOST else None
        if limit is not None and limit.value(constants.values) < 0:
            raise UsageError(
                f"property {item.name!r} limits a cost to {limit.value(constants.values)} with these constants, but no "
                "cost is below 0: choose constants with which the limit is at least 0."
            )


def refuse_replacing(folder: object) -> NoReturn:
    raise UsageError(
        f"{folder} contains the checkpoint of a search: write `resume=True` to continue it, or name an empty folder."
    )


@dataclass(frozen=True)
class Options:
    """Options of a search. Sizes are in bytes, times in seconds; None means no limit."""

    workers: int = 0
    """Number of workers; 0 means one per processor."""
    compact: bool = False
    normalize: bool = True
    symmetry: bool = False
    """Whether states that differ only by renaming interchangeable values are merged."""
    stop_on_violation: bool = False
    deadlock: bool = False
    max_depth: int | None = None
    max_states: int | None = None
    budget: float | None = None
    memory: int | None = None
    checkpoint: str | None = None
    resume: bool = False
    spill: str | None = None
    """Folder for parents and unfinished levels, or None to keep parents and levels in memory."""
    cross_check: int | None = 0
    """Number of stored states to re-expand under the plain semantics; if None, a tenth of the search's time is used."""

    def __post_init__(self) -> None:
        for name in ("workers", "max_depth", "max_states", "budget", "memory", "cross_check"):
            least = 1 if name.startswith("max_") else 0
            require_number(name, getattr(self, name), least, fractions=name in ("budget", "memory"))

    def limit(self, seconds: float, states: int, memory: int) -> str:
        if self.budget is not None and seconds > self.budget:
            return out_of_time(self.budget)
        if self.max_states is not None and states > self.max_states:
            return Reason(f"the limit of {self.max_states:,} states was reached", Cause.STATES)
        if self.memory is not None and memory > self.memory:
            return out_of_memory(self.memory)
        return ""


def require_number(name: str, value: object, least: int, *, fractions: bool = False) -> None:
    kinds = (int, float) if fractions else (int,)
    if value is None or (isinstance(value, kinds) and value >= least):
        return
    units = {"budget": " of seconds", "grow": " of seconds", "memory": " of bytes"}.get(name, "")
    raise UsageError(
        f"{name} cannot be {value!r}: expected a {'number' if fractions else 'whole number'}{units}, {least} or more."
    )
