"""Properties: plain functions with a name and a sentence, over states, steps or whole behaviours. Actions are in `acting`."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any

from fencepost.model.language.acting import Action, action, fits, require, summary_of
from fencepost.model.language.errors import ModelError
from fencepost.model.language.names import look_at_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fencepost.model.language.fairness import Eventual


__all__ = ["Action", "Kind", "Property", "action", "always", "fits", "require", "sometimes", "step"]


class Kind(StrEnum):
    """What a property says."""

    ALWAYS = "always"
    STEP = "step"
    SOMETIMES = "sometimes"
    LEADS_TO = "leads-to"
    AT_MOST = "at-most"

    def __init__(self, value: str) -> None:
        self.over_behaviours = value in ("leads-to", "at-most")
        """Whether it says something of whole behaviours: it is judged on the graph of all states, after the search."""
        self.must_hold = value in ("always", "step")
        """Whether it says what must hold in every state or step: what a guard is for, a fault breaks, an induction proves."""


@dataclass(frozen=True, eq=False)
class Property:
    """A named predicate over states or over transitions. Two are the same only if they are one object.

    `on` limits a predicate over transitions to those of one action name, whose parameters it then takes too. A property of
    whole behaviours says in `eventual` what it is about; its `function` is what must hold in the end.
    """

    name: str
    kind: Kind
    function: Callable[..., bool]
    over_steps: bool
    on: Action | None = None
    eventual: Eventual | None = None
    text: str = ""

    @cached_property
    def sentence(self) -> str:
        """The first paragraph of the docstring, or the sentence that it was given."""
        return self.text or summary_of(self.function)

    @property
    def behaviour(self) -> Eventual:
        """What a property of whole behaviours is about."""
        assert self.eventual is not None, f"{self.name} is not a property of whole behaviours"
        return self.eventual

    def __call__(self, *args: Any) -> bool:
        """Evaluate the predicate on plain states."""
        return bool(self.function(*args))


def always(function: Callable[..., bool]) -> Property:
    """Make `(state, constants) -> bool` a property that must hold in every reachable state."""
    return _property(Kind.ALWAYS, function, None)


def step(on: Action | None = None) -> Callable[[Callable[..., bool]], Property]:
    """Make `(before, after, constants, *parameters) -> bool` a property of every transition (of action `on`)."""
    return lambda function: _property(Kind.STEP, function, on)


def sometimes(function: Callable[..., bool]) -> Property:
    """Make a witness: some reachable state `(state, constants)` or step `(before, after, constants)` satisfies it."""
    return _property(Kind.SOMETIMES, function, None)


def _property(kind: Kind, function: Callable[..., bool], on: Action | None) -> Property:
    look_at_name("a property", function.__name__)
    names = list(inspect.signature(function).parameters)
    over_steps = names[:2] == ["before", "after"]
    expected = ["before", "after"] if kind is Kind.STEP else []
    if kind is Kind.STEP and not over_steps:
        raise ModelError(f"property {function.__name__}: the first parameters must be {expected}, not {names[:2]}.")
    if kind is Kind.ALWAYS and over_steps:
        raise ModelError(f"property {function.__name__}: it reads two states, so it is a step property: use @step().")
    extra = names[3:] if over_steps else names[2:]
    wanted = [name for name, _ in on.params] if on else []
    if extra != wanted:
        raise ModelError(f"property {function.__name__}: its parameters {extra} should be {wanted}.")
    return Property(function.__name__.replace("_", "-"), kind, function, over_steps, on)


def properties_in(module: Mapping[str, object]) -> tuple[Property, ...]:
    """Return what a module defines, in its order, given its `globals()`: no property is forgotten."""
    return tuple(item for item in module.values() if isinstance(item, Property))
