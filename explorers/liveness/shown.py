"""A check that a path really violates a leads-to or at-most property under the plain semantics. Every engine's paths
are checked before they are shown, and replayed trace files are checked too.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from fencepost.explorers.verdict import Reach
from fencepost.model.language.actions import Action, Kind, Property
from fencepost.model.language.domains import Domain, InFlight
from fencepost.model.language.errors import MismatchError
from fencepost.model.language.fairness import Fairness
from fencepost.model.language.interpreter import Interpreter, Path, Step, Transition
from fencepost.model.language.records import Key, Scalar, fields

Instance = tuple[int, tuple[Any, ...]]
"""A fairness constraint: its position in `fair`, and the values of the parameters in `each`."""


@dataclass(frozen=True)
class Shown:
    """The outcome of a path: from `begin` on, `then` is either never reached (NEVER) or reached at a cost."""

    begin: int
    reach: Reach
    cost: int = 0
    """Cost of the steps from `begin` to the end of the path, or of one pass around the loop."""


def instances(plain: Interpreter, prop: Property, transitions: Iterable[Transition], before: Key) -> set[Instance]:
    """Return the fairness constraints that a state's included steps satisfy, ignoring steps that change nothing."""
    gone = {item.name for item in prop.behaviour.without}
    found: set[Instance] = set()
    for transition in transitions:
        if transition.after == before or transition.step.action.name in gone:
            continue
        for number, fair in enumerate(prop.behaviour.fair):
            values = plain.instance(fair, transition.step)
            if values is not None:
                found.add((number, values))
    return found


def every_instance(plain: Interpreter, fair: Fairness) -> list[tuple[Any, ...]]:
    every: dict[tuple[Any, ...], None] = {}
    for action in fair.actions:
        found = [(item, _domain_of(plain, action, item)) for item in fair.each]
        numbers = [(item, domain) for item, domain in found if isinstance(domain, Domain)]
        every |= dict.fromkeys(plain.values_of(numbers) if len(numbers) == len(found) else [])
    return list(every)


def of_which(plain: Interpreter, fair: Fairness, values: tuple[Any, ...]) -> str:
    """Return the values of `each` as traces show them, for example `leader=1, m.kind=vote`."""
    pairs = zip(fair.each, values, strict=True)
    return ", ".join(
        f"{item}={plain.show_argument(_domain_with(plain, fair, item, value), value)}" for item, value in pairs
    )


def _domain_with(plain: Interpreter, fair: Fairness, item: str, value: Any) -> Domain | InFlight:
    found = [_domain_of(plain, action, item) for action in fair.actions]
    for domain in found:
        if isinstance(domain, InFlight):
            return domain
        low, high = plain.schema.bounds(domain)
        if low <= value <= high:
            return domain
    return found[0]


def _domain_of(plain: Interpreter, action: Action, item: str) -> Domain | InFlight:
    param, _, field = item.partition(".")
    domain = dict(action.params)[param]
    if not field:
        return domain
    assert isinstance(domain, InFlight)  # only messages have fields
    kind = dict(fields(plain.message_class(domain)))[field]
    assert isinstance(kind, Scalar)  # guaranteed by the check of the property
    return kind.domain


def shown(plain: Interpreter, prop: Property, args: tuple[int, ...], path: Path) -> Shown | str:
    about = prop.behaviour
    whens = [
        number == 0 if about.when is None else plain.says(prop, about.when, key, args)
        for number, key in enumerate(path.states)
    ]
    thens = [plain.says(prop, about.then, key, args) for key in path.states]
    gone = {item.name for item in about.without}
    left_out = [number for number, step in enumerate(path.steps) if step.action.name in gone]
    last = len(path.states) - 1
    costs_end = path.loop is None and prop.kind is Kind.AT_MOST
    if path.loop is None and not costs_end:
        return "the path has no loop, and its continuation is unknown"
    if path.loop is not None and path.states[path.loop] != path.states[last]:
        return "the loop is not closed: the last state differs from the state where the loop begins"
    first = max(
        [number + 1 for number in left_out]
        + [number + 1 for number in range(last + (not costs_end)) if thens[number]]
        + [0]
    )
    begin = next((number for number in range(first, last + 1) if whens[number]), None)
    if begin is None:
        return "after each state that satisfies `when`, either `then` holds or an excluded action happens"
    if path.loop is not None and any(number >= path.loop for number in left_out):
        return "an excluded action happens in the loop"
    if path.loop is not None and any(thens[path.loop :]):
        return "`then` holds in the loop"
    if costs_end:
        if not thens[last]:
            return "`then` does not hold in the last state"
        return Shown(begin, Reach.BOUNDED, sum(_costs(plain, prop, path, begin)))
    assert path.loop is not None
    unfair = _unfair(plain, prop, path, path.loop)
    if not unfair:
        return Shown(begin, Reach.NEVER)
    round_cost = sum(_costs(plain, prop, path, path.loop)) if prop.kind is Kind.AT_MOST else 0
    return Shown(begin, Reach.UNBOUNDED, round_cost) if round_cost else unfair


def _unfair(plain: Interpreter, prop: Property, path: Path, loop: int) -> str:
    happened: set[Instance] = set()
    for before, step in zip(path.states[loop:], path.steps[loop:], strict=False):
        happened |= instances(plain, prop, [plain.apply(before, step)], before)
    around = path.states[loop:]
    enabled = [instances(plain, prop, plain.transitions(key), key) for key in around]
    for number, values in sorted(set().union(*enabled) - happened, key=repr):
        fair = prop.behaviour.fair[number]
        if fair.strong or all((number, values) in found for found in enabled):
            which = of_which(plain, fair, values)
            often = "again and again" if fair.strong else "all the time"
            for_which = f" ({which})" if which else ""
            return f"the loop is not fair, because `{fair}`{for_which} is enabled {often} but never happens"
    return ""


def _costs(plain: Interpreter, prop: Property, path: Path, first: int) -> Iterator[int]:
    for before, step in zip(path.states[first:], path.steps[first:], strict=False):
        yield plain.cost(prop, before, plain.apply(before, step))


def retrace(plain: Interpreter, start: Key, steps: Iterable[Step], loop: int | None) -> Path:
    states, taken = [start], tuple(steps)
    for step in taken:
        states.append(plain.apply(states[-1], step).after)
    return Path(start, taken, tuple(states), loop)


def confirmed(
    plain: Interpreter, prop: Property, args: tuple[int, ...], path: Path, reach: Reach, cost: int | None
) -> Path:
    """Return the path of an engine's finding; raise MismatchError if the path does not show that finding."""
    found = shown(plain, prop, args, path)
    if isinstance(found, str):
        raise MismatchError(
            f"property {prop.name!r}: the reported behaviour does not show a violation: {found}. Please report this."
        )
    if found.reach is not reach or (cost is not None and found.cost != cost):
        raise MismatchError(
            f"property {prop.name!r}: the engine reports {reach} {cost}, but the plain semantics gives {found.reach} "
            f"{found.cost}. Please report this."
        )
    return path
