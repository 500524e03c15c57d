"""Minimal combinations of faults that violate a property, found by searches that allow more and more faults.

Combinations are tried in order of cost. A combination is skipped if it includes a smaller combination that already
violates the property. Every result is minimal, and every minimal result that the constants allow is found. If the typed
program shows that every behaviour with fewer faults is also possible with more faults, the largest numbers are searched
first, because a property that holds with them also holds with fewer. If fewer faults may allow other behaviours, for
example because the property reads a budget, each smaller combination is searched.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, product

from fencepost.explorers.native.compile import Kernels
from fencepost.explorers.program.ir.monotone import (
    BUDGET,
    budget_fields,
    budgets_of,
    why_fewer_matter,
    why_not_guards_alone,
)
from fencepost.explorers.program.ir.translate import translate
from fencepost.explorers.search import search
from fencepost.explorers.verdict import Cause, Options, Reason, Result, Verdict, ended_by_signal, require_no_error
from fencepost.model.language.actions import Property
from fencepost.model.language.constants import Constants
from fencepost.model.language.domains import Extreme, Linear, Range, linear
from fencepost.model.language.errors import DomainError, UsageError, nearest
from fencepost.model.language.interpreter import Interpreter, Path
from fencepost.model.language.machine import Machine
from fencepost.model.language.records import Scalar

Look = Callable[[Constants, Options], Result]

Faults = tuple[int, ...]
"""Number of faults of each kind, in the order of the kinds."""


@dataclass(frozen=True)
class Breaking:
    """A minimal combination of faults that violates the property, and the search that allowed exactly these faults."""

    faults: Faults
    cost: int
    result: Result


@dataclass(frozen=True)
class Tolerance:
    """Faults that a property tolerates under given constants.

    `front` contains all minimal combinations of faults that violate the property, cheapest first. `most` is the largest
    number tried for each kind of fault. `unknown` gives the reason for each combination that a search could not decide.
    """

    constants: Constants
    kinds: tuple[str, ...]
    most: Faults
    front: tuple[Breaking, ...]
    unknown: tuple[tuple[Faults, str], ...]
    searches: int
    states: int
    fewer: Mapping[str, str] = field(default_factory=dict)
    """Kinds of faults for which each number of faults needed a separate search, with the reason for each kind."""
    omission: float = 0.0
    """Upper bound on the probability that a search with fingerprints missed a state."""

    @property
    def least(self) -> int | None:
        return self.front[0].cost if self.front else None

    @property
    def interrupted(self) -> bool:
        return any(ended_by_signal(why) for _, why in self.unknown)


def fault_kinds(machine: Machine) -> dict[str, str]:
    ends = _ends(machine)
    return {name: next(iter(end.names)) for name, end in ends.items() if not _why_not(machine, name, ends)}


def _ends(machine: Machine) -> dict[str, Linear]:
    budgets = budget_fields(machine)
    limits: dict[str, Linear] = {name: item for name, item in machine.constants.declared().items() if item.fault}
    if not budgets and not limits:
        raise UsageError(
            f"protocol {machine.name!r} has no faults to count: its state has no field {BUDGET!r}, a "
            "record with the remaining number of each kind of fault. Numbers named ..._left outside this "
            "record are counted only by walks."
        )
    found = {}
    for name, item in budgets.items():
        domain = item.domain if isinstance(item, Scalar) else None
        if isinstance(domain, Range) and linear(domain.high).names:
            found[name] = linear(domain.high)
    return found | limits


def _why_not(machine: Machine, name: str, ends: Mapping[str, Linear]) -> str:
    """Return why faults of a kind cannot be counted and what to write instead, or an empty string if they can be
    counted. Faults can be counted only if their maximum number is a constant that may be 0.
    """
    instead = f"Give the budget a separate constant, for example Range(0, C.{name})"
    end = ends[name]
    text = end.source()[1:-1]
    if (
        end.offset
        or any(factor != 1 or isinstance(term, Extreme) for term, factor in end.terms.items())
        or len(end.terms) > 1
    ):
        return f"the budget is limited by {text}, which is not a single constant. {instead}"
    shared = [other for other in ends if other != name and ends[other].names & end.names]
    if shared:
        return f"the budget is limited by {text}, which also limits {shared[0]!r}. {instead}"
    bound = next(iter(end.names))
    least = machine.constants.declared()[bound].low
    return (
        f"the budget is limited by {text}, which is at least {least}, so fewer faults cannot be tried. Declare "
        f"{bound} with low=0"
        if least > 0
        else ""
    )


def choose_kinds(machine: Machine, constants: Constants, named: Sequence[str]) -> tuple[str, ...]:
    ends = _ends(machine)
    wanted = tuple(dict.fromkeys(name.replace("-", "_") for name in named))
    for name in wanted:
        if name not in ends:
            raise UsageError(
                f"protocol {machine.name!r} has no fault {name!r}.{nearest(name, ends, 'The faults are:')}"
            )
    chosen = wanted or tuple(name for name, end in ends.items() if end.value(constants.values) > 0)
    for name in chosen:
        why = _why_not(machine, name, ends)
        if why:
            others = f". Other faults for `kinds=`: {', '.join(known)}" if (known := fault_kinds(machine)) else ""
            raise UsageError(f"fault {name!r} cannot be counted: {why}{others}.")
    return chosen


def with_faults(machine: Machine, constants: Constants, kinds: tuple[str, ...], faults: Faults) -> Constants:
    bounds = [fault_kinds(machine)[name] for name in kinds]
    limited = constants.replace(**dict(zip(bounds, faults, strict=True)))
    plain = Interpreter(machine, limited)
    states, budgets = [plain.schema.restore(key) for key in plain.initial_states()], budget_fields(machine)
    for name, bound, count in zip(kinds, bounds, faults, strict=True):
        left = max((int(getattr(s.budget, name)) for s in states), default=count) if name in budgets else count
        if left != count:
            raise UsageError(
                f"fault {name!r} cannot be counted: with {bound} = {count}, the initial states have a budget of "
                f"{left}. Set it with s.{BUDGET}.{name} = c.{bound}."
            )
    return limited


def tolerance(
    machine: Machine,
    constants: Constants,
    prop: Property,
    costs: Mapping[str, int],
    options: Options,
    look: Look,
    tell: Callable[[Faults], None] | None = None,
) -> Tolerance:
    """Return all minimal combinations of faults that violate a property.

    `costs` maps each kind of fault to its cost. `constants` limits the number of all other faults. `look` runs
    a search with `options`. A model that raises an error with some faults also does so with more, so only the smallest
    such combinations are reported as unknown. If no combination can be decided, the model's DomainError is raised.
    """
    kinds = tuple(costs)
    bounds = [fault_kinds(machine)[name] for name in kinds]
    most = tuple(int(constants.values[name]) for name in bounds)
    fewer = _why_fewer_matter(machine, prop, dict(zip(kinds, bounds, strict=True)))
    apart = [kind in fewer for kind in kinds]
    front: list[Breaking] = []
    unknown: list[tuple[Faults, str]] = []
    results: dict[Faults, Result] = {}
    wrong: dict[Faults, DomainError] = {}
    for place, faults in enumerate((most, *in_order(most, tuple(costs.values())))):
        if any(_covers(item.faults, faults) for item in front):
            continue
        if place and (
            any(_covers(item, faults, apart) for item in wrong if item != most)
            or any(_covers(faults, item, apart) and _tolerated(results[item], prop) for item in results)
        ):
            continue
        if faults not in results and faults not in wrong:
            if tell is not None:
                tell(faults)
            limited = with_faults(machine, constants, kinds, faults)
            try:
                results[faults] = _searched(limited, prop, options, look)
            except DomainError as error:
                wrong[faults] = error
        if faults in wrong:
            if place:
                said = str(wrong[faults]).partition("\n")[0].rstrip(".")
                unknown.append((faults, Reason(f"the model raises an error: {said}", Cause.ERROR)))
            continue
        result = results[faults]
        violated = result.of(prop.name).verdict is Verdict.VIOLATED
        interrupted = ended_by_signal(result.why_stopped)
        if violated and place:
            front.append(Breaking(faults, _cost(faults, costs.values()), result))
        elif interrupted or (not violated and not result.complete and place):
            unknown.append((faults, result.why_stopped))
        if interrupted:
            break
    if wrong and not results:
        raise next(iter(wrong.values()))
    states, omission = (sum(getattr(item, name) for item in results.values()) for name in ("distinct", "omission"))
    return Tolerance(
        constants, kinds, most, tuple(front), tuple(unknown), len(results), states, fewer, min(1.0, omission)
    )


def _why_fewer_matter(machine: Machine, prop: Property, bounds: Mapping[str, str]) -> dict[str, str]:
    program = translate(machine, (prop,))
    by = {
        bound: why_fewer_matter if bound in budgets_of(program) else why_not_guards_alone for bound in bounds.values()
    }
    found = {kind: by[bound](program, bound) for kind, bound in bounds.items()}
    return {kind: why for kind, why in found.items() if why}


def _tolerated(result: Result, prop: Property) -> bool:
    return result.complete and result.of(prop.name).verdict is not Verdict.VIOLATED


def natively(machine: Machine, prop: Property, kernels: Kernels) -> Look:
    return lambda constants, options: search(machine, constants, (prop,), options, kernels=kernels)


def _searched(constants: Constants, prop: Property, options: Options, look: Look) -> Result:
    result = look(constants, replace(options, stop_on_violation=True))
    return result if result.of(prop.name).verdict is Verdict.VIOLATED else require_no_error(result)


def spent(plain: Interpreter, path: Path) -> dict[str, int]:
    states, budgets = [plain.schema.restore(key) for key in path.states], budget_fields(plain.machine)
    found = {
        name: sum(max(0, getattr(s.budget, name) - getattr(after.budget, name)) for s, after in pairwise(states))
        if name in budgets
        else _fewest(plain, name, path)
        for name in _ends(plain.machine)
    }
    return {name: count for name, count in found.items() if count}


def _fewest(plain: Interpreter, bound: str, path: Path) -> int:
    most = int(plain.constants.values[bound])
    for count in range(most):
        less = Interpreter(plain.machine, plain.constants.replace(**{bound: count}))
        if all(less.apply_first(before, (step,)) for before, step in zip(path.states, path.steps, strict=False)):
            return count
    return most


def in_order(most: Faults, costs: tuple[int, ...]) -> list[Faults]:
    everything = product(*(range(count + 1) for count in most))
    return sorted(everything, key=lambda faults: (_cost(faults, costs), sum(faults), faults))


def _cost(faults: Faults, costs: Iterable[int]) -> int:
    return sum(count * cost for count, cost in zip(faults, costs, strict=True))


def _covers(fewer: Faults, more: Faults, apart: Sequence[bool] = ()) -> bool:
    """Return whether `more` includes `fewer`. For a kind that is searched separately, both numbers must be equal."""
    kept = apart or [False] * len(fewer)
    return all(one == other if same else one <= other for one, other, same in zip(fewer, more, kept, strict=True))
