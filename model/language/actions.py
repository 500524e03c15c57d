"""Properties: plain functions with a name and a sentence, about states, steps or whole behaviours."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, overload

from fencepost.model.language.acting import (
    Action,
    action,
    choose,
    fits,
    listed,
    require,
    require_first_parameters,
    summary_of,
)
from fencepost.model.language.domains import Domain
from fencepost.model.language.errors import ModelError
from fencepost.model.language.fairness import Eventual, parameters
from fencepost.model.language.names import require_trace_name
from fencepost.model.language.own_names import alias_for

__all__ = ["Action", "Kind", "Property", "action", "always", "choose", "fits", "require", "sometimes", "step"]


class Kind(StrEnum):
    """The kind of a property."""

    ALWAYS = "always"
    STEP = "step"
    SOMETIMES = "sometimes"
    LEADS_TO = "leads-to"
    AT_MOST = "at-most"

    def __init__(self, value: str) -> None:
        self.over_behaviours = value in ("leads-to", "at-most")
        """Whether properties of this kind are about behaviours, and thus checked on the state graph after a search."""
        self.must_hold = value in ("always", "step")
        """Whether the property must hold in every state or step, as ablation, faults and proofs require."""


@dataclass(frozen=True, eq=False)
class Property:
    """A named predicate over states or over transitions. Properties are compared by identity.

    `on` limits a predicate over transitions to those of one action; the predicate then takes the action's parameters
    too. If the property is about whole behaviours, `eventual` describes them, and `function` must eventually hold.
    `params` are the property's own parameters. A property must hold for all of these; a witness must hold for one.
    """

    name: str
    kind: Kind
    function: Callable[..., bool]
    over_steps: bool
    on: Action | None = None
    eventual: Eventual | None = None
    text: str = ""
    params: tuple[tuple[str, Domain], ...] = ()

    @cached_property
    def sentence(self) -> str:
        """Return the first paragraph of the docstring, or the given sentence."""
        return self.text or summary_of(self.function)

    @property
    def behaviour(self) -> Eventual:
        """Return the subject of a property of whole behaviours."""
        assert self.eventual is not None, f"{self.name} is not a property of whole behaviours"
        return self.eventual

    def __call__(self, *args: Any) -> bool:
        """Evaluate the predicate on plain states."""
        return bool(self.function(*args))


@overload
def always(function: Callable[..., bool], /) -> Property: ...
@overload
def always(**domains: Any) -> Callable[[Callable[..., bool]], Property]: ...
def always(function: Callable[..., bool] | None = None, /, **domains: Any) -> Any:
    """Make `(state, constants) -> bool` a property that must hold in every reachable state.

    With `@always(broker=Broker)`, a function `(state, constants, broker)` must hold for each broker.
    """
    return _made(Kind.ALWAYS, function, None, domains)


def step(on: Action | None = None, **domains: Any) -> Callable[[Callable[..., bool]], Property]:
    """Make `(before, after, constants, *parameters) -> bool` a property of every transition (of action `on`).

    The first parameters are those of the action, followed by the parameters with domains in the decorator.
    """
    given: Any = on
    if inspect.isfunction(given):
        return _property(Kind.STEP, given, given, domains)  # type: ignore[return-value]  # _property rejects it
    return lambda function: _property(Kind.STEP, function, on, domains)


@overload
def sometimes(function: Callable[..., bool], /) -> Property: ...
@overload
def sometimes(**domains: Any) -> Callable[[Callable[..., bool]], Property]: ...
def sometimes(function: Callable[..., bool] | None = None, /, **domains: Any) -> Any:
    """Make a witness, which a reachable state `(state, constants)` or step `(before, after, constants)` must satisfy.

    With `@sometimes(broker=Broker)`, a function `(state, constants, broker)` must hold for some broker.
    """
    return _made(Kind.SOMETIMES, function, None, domains)


def _made(kind: Kind, function: Callable[..., bool] | None, on: Action | None, domains: Mapping[str, Any]) -> Any:
    if function is None:
        return lambda found: _property(kind, found, on, domains)
    return _property(kind, function, on, domains)


def _property(kind: Kind, function: Callable[..., bool], on: Any, domains: Mapping[str, Any]) -> Property:
    if isinstance(function, Action):
        raise ModelError(
            f"action {function.name} is decorated with @{kind.value}: write a separate function for the property."
        )
    require_trace_name("a property", function.__name__)
    if on is not None and not isinstance(on, Action):
        raise ModelError(
            f"@step was given the function {getattr(on, '__name__', on)}, which is not an action: write @step() above "
            "a property, with parentheses, or @step(on=an_action)."
        )
    names = list(inspect.signature(function).parameters)
    over_steps = names[:2] == ["before", "after"]
    expected = ["before", "after"] if kind is Kind.STEP else []
    if kind is Kind.STEP and not over_steps:
        raise ModelError(
            f"property {function.__name__}: the first parameters must be {expected}, not {names[:2]}: write "
            f"def {function.__name__}(before, after, c), or @always for a property of each state."
        )
    if kind is Kind.ALWAYS and over_steps:
        raise ModelError(f"property {function.__name__} reads two states, so it is a step property: use @step().")
    extra = names[3:] if over_steps else names[2:]
    wanted = [*([name for name, _ in on.params] if on else []), *domains]
    require_first_parameters(
        f"property {function.__name__}", function, ("before", "after", "c") if over_steps else ("s", "c")
    )
    if extra != wanted:
        own = [name for name in extra if on is None or name not in dict(on.params)]
        new = ", ".join(f"{name}={alias_for(function.__globals__, name)}" for name in own)
        raise ModelError(
            f"property {function.__name__} takes {listed(extra)}, but is given {listed(wanted)}: write @{kind.value}"
            f"({', '.join([*([f'on={on.name}'] if on else []), *([new] if new else [])])}), or change the function's "
            "parameters."
        )
    params = parameters(f"property {function.__name__}", domains)
    return Property(function.__name__.replace("_", "-"), kind, function, over_steps, on, params=params)


def properties_in(module: Mapping[str, object]) -> tuple[Property, ...]:
    """Return all properties in a module's `globals()`, in the order of definition."""
    return tuple(item for item in module.values() if isinstance(item, Property))
