"""Properties of whole behaviours: liveness, and the cost of reaching a state."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from fencepost.model.language.actions import Action, Kind, Property
from fencepost.model.language.domains import Linear, linear
from fencepost.model.language.errors import ModelError
from fencepost.model.language.fairness import Eventual, Fairness, parameters
from fencepost.model.language.names import require_title

if TYPE_CHECKING:
    Predicate = Callable[..., bool]
    Costs = Mapping[Action, Linear | int] | Callable[..., int]


def leads_to(
    name: str,
    sentence: str,
    *,
    when: Predicate | None,
    then: Predicate,
    fair: tuple[Fairness, ...] = (),
    without: tuple[Action, ...] = (),
    **domains: Any,
) -> Property:
    """Make a property: in every fair behaviour, whenever `when` holds, `then` eventually holds.

    Predicates are `(state, constants, *parameters)`. `domains` contains the domain of each parameter, and the property
    covers every value. Actions in `without` do not happen after `when` holds, so the property cannot depend on them.
    """
    made = Eventual(when, then, *_checked(name, when, then, fair, without, domains))
    return Property(_label(name), Kind.LEADS_TO, then, over_steps=False, eventual=made, text=sentence)


def eventually(
    name: str,
    sentence: str,
    *,
    then: Predicate,
    fair: tuple[Fairness, ...] = (),
    without: tuple[Action, ...] = (),
    **domains: Any,
) -> Property:
    """Make a property: in every fair behaviour, `then` eventually holds, starting from every initial state."""
    return leads_to(name, sentence, when=None, then=then, fair=fair, without=without, **domains)


def at_most(
    name: str,
    sentence: str,
    *,
    costs: Costs,
    when: Predicate | None,
    then: Predicate,
    bound: Linear | int | None = None,
    unit: str = "",
    fair: tuple[Fairness, ...] = (),
    without: tuple[Action, ...] = (),
    **domains: Any,
) -> Property:
    """Make a property: in every fair behaviour, the steps from `when` to the next `then` cost at most `bound` in total.

    `costs` maps actions to costs in `unit`: whole numbers or sums of constants (0 for omitted actions). A function
    `(before, after, constants)` may return a step's cost instead. Without `bound`, the property states that some bound
    exists. The highest cost is always reported. There is no bound if a behaviour never reaches `then`.
    """
    made = Eventual(
        when,
        then,
        *_checked(name, when, then, fair, without, domains),
        _costs(name, costs),
        None if bound is None else linear(bound),
        unit,
    )
    return Property(_label(name), Kind.AT_MOST, then, over_steps=False, eventual=made, text=sentence)


def _label(name: str) -> str:
    require_title("a property of whole behaviours", name)
    return name.replace("_", "-")


def _checked(
    name: str,
    when: Predicate | None,
    then: Predicate,
    fair: tuple[Fairness, ...],
    without: tuple[Action, ...],
    domains: Mapping[str, Any],
) -> tuple[tuple[Fairness, ...], tuple[Action, ...], Any]:
    what = f"property {_label(name)}"
    params = parameters(what, domains)
    for word, predicate in (("when", when), ("then", then)):
        if predicate is None and word == "when":
            continue
        if isinstance(predicate, Property):
            raise ModelError(
                f"{what}: `{word}` is property {predicate.name!r}: write a plain function, which a property may call."
            )
        if not callable(predicate):
            raise ModelError(
                f"{what}: `{word}` is {predicate!r}, not a function: name a function, "
                f"as in {word}=is_done, without calling it."
            )
        extra = list(inspect.signature(predicate).parameters)[2:]
        if extra != [param for param, _ in params]:
            raise ModelError(
                f"{what}: the parameters of `{word}` after state and constants are {extra}, but the domains given are "
                f"{list(domains)}: name the same parameters, in the same order."
            )
    for word, items, kind in (("fair", fair, Fairness), ("without", without, Action)):
        if not isinstance(items, tuple):
            raise ModelError(
                f"{what}: `{word}` is {items}, not a tuple: write a tuple with a trailing comma: "
                f"{word}=({_written(items)},)."
            )
        for item in items:
            if not isinstance(item, kind):
                instead = "weak(...) or strong(...)" if kind is Fairness else "an action"
                raise ModelError(f"{what}: `{word}` has {item!r}: write {instead} there.")
    return fair, without, params


def _written(item: object) -> str:
    if isinstance(item, Fairness):
        return f"{'strong' if item.strong else 'weak'}({', '.join(action.name for action in item.actions)})"
    return item.name if isinstance(item, Action) else "..."


def _costs(name: str, costs: Costs) -> tuple[tuple[str, Linear], ...] | Callable[..., int]:
    if callable(costs):
        return costs
    found = []
    for item, cost in costs.items():
        if not isinstance(item, Action):
            raise ModelError(
                f"property {_label(name)}: `costs` has {item!r}, which is not an action: "
                "name functions under @action(...)."
            )
        if isinstance(cost, bool) or not isinstance(cost, int | Linear):
            raise ModelError(
                f"property {_label(name)}: the cost of {item.label} is {cost!r}: expected a whole "
                "number or a sum of constants."
            )
        found.append((item.name, linear(cost)))
    return tuple(found)
