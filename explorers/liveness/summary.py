"""From what was found for each value of a property's parameters to its verdict."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from fencepost.explorers.verdict import LEFT, Cost, PropertyResult, Reach, Verdict
from fencepost.model.language.actions import Kind
from fencepost.model.language.errors import DomainError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fencepost.explorers.verdict import Result
    from fencepost.model.language.actions import Property
    from fencepost.model.language.constants import Constants
    from fencepost.model.language.interpreter import Path


class Finding(NamedTuple):
    """What was found for one combination of values of a property's parameters."""

    args: tuple[int, ...]
    reach: Reach
    worst: int | None
    best: int | None
    path: Path | None
    vacuous: bool
    """No reachable state has `when`."""
    near: int = 0
    """The fewest steps from an initial state, by one with `when`, to where what is found begins: the nearest state
    that a fair behaviour may visit for ever, the nearest step with a cost in a loop, or the nearest state from
    which the cost is the worst.
    """


_WORSE = (Reach.NEVER, Reach.UNBOUNDED, Reach.BOUNDED)


def summary(prop: Property, constants: Constants, findings: list[Finding]) -> PropertyResult:
    """Return the verdict: that of the worst combination; of equals the nearest, and of these
    the first in declared order.

    What is nearest is a fact of the graph, so that every engine names the same combination. How long the loop is that
    an engine shows is none: it need not be the shortest.
    """
    chosen = min(
        findings,
        key=lambda item: (_WORSE.index(item.reach), -(item.worst or 0), item.near),
        default=Finding((), Reach.BOUNDED, 0, 0, None, vacuous=True),
    )
    vacuous = all(item.vacuous for item in findings)
    note = "no reachable state satisfies `when`, so this says nothing" if vacuous else ""
    values = {name: value for (name, _), value in zip(prop.behaviour.params, chosen.args, strict=False)}
    if prop.kind is Kind.LEADS_TO:
        verdict = Verdict.HOLDS if chosen.reach is Reach.BOUNDED else Verdict.VIOLATED
        return PropertyResult(
            prop.name, prop.kind, verdict, chosen.path, chosen.args, values, note=note, vacuous=vacuous
        )
    about = prop.behaviour
    bound = None if about.bound is None else about.bound.value(constants.values)
    kept = chosen.worst is not None and (bound is None or chosen.worst <= bound)
    least = [item.best for item in findings if item.best is not None and not item.vacuous]
    cost = Cost(chosen.reach, chosen.worst, min(least, default=chosen.best), about.unit, bound)
    verdict = Verdict.HOLDS if kept else Verdict.VIOLATED
    return PropertyResult(prop.name, prop.kind, verdict, chosen.path, chosen.args, values, cost, note, vacuous)


def with_behaviours(
    result: Result, properties: tuple[Property, ...], judge: Callable[[Property], PropertyResult]
) -> Result:
    """Return the result with the properties of whole behaviours judged too, in the order in which they were asked for.

    They are judged on the graph of all states, so where the search did not finish nothing is known of them.
    """
    known = {item.name: item for item in result.properties}
    try:
        for prop in properties:
            if prop.kind.over_behaviours:
                unknown = PropertyResult(prop.name, prop.kind, Verdict.UNDETERMINED)
                known[prop.name] = judge(prop) if result.complete else unknown
    except DomainError as error:
        tell_found(error, result, properties, known)
        raise
    return replace(result, properties=tuple(known[prop.name] for prop in properties))


def tell_found(
    error: DomainError, result: Result, properties: tuple[Property, ...], known: Mapping[str, PropertyResult]
) -> None:
    """Let an error of a property of behaviours hold the violations found before it and those `known`."""
    told = {item.name: PropertyResult(item.name, item.kind, Verdict.UNDETERMINED) for item in properties}
    told |= {item.name: item for item in result.properties} | dict(known)
    if any(item.verdict is Verdict.VIOLATED for item in told.values()):
        error.found = replace(
            result, complete=False, why_stopped=LEFT, properties=tuple(told[item.name] for item in properties)
        )
