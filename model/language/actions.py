"""Actions, guards and properties: plain functions with a name, a sentence and, for actions, parameter domains."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any

from fencepost.model.language.domains import Domain, InFlight, domain_of
from fencepost.model.language.errors import DisabledError, ModelError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fencepost.model.language.fairness import Eventual


def require(condition: bool, /) -> None:  # noqa: FBT001 (it reads as a sentence)
    """Let the action happen only if `condition` holds: a guard."""
    if not condition:
        raise DisabledError


@dataclass(frozen=True)
class Action:
    """One step of the protocol: who does what, and why.

    `params` are (name, domain) in order; every combination of values is tried in every state.
    """

    name: str
    function: Callable[..., None]
    params: tuple[tuple[str, Domain | InFlight], ...]

    @cached_property
    def label(self) -> str:
        """The name on the command line and in JSON, with dashes."""
        return self.name.replace("_", "-")

    @property
    def sentence(self) -> str:
        """The first paragraph of the docstring."""
        return summary_of(self.function)

    def __call__(self, *args: Any) -> None:
        """Run the action on a plain state."""
        self.function(*args)

    def named(self, name: str) -> Action:
        """Return the same action under another name."""
        return replace(self, name=name)


def action(**domains: Any) -> Callable[[Callable[..., None]], Action]:
    """Make a function `(state, constants, *parameters)` an action; each parameter is given its domain.

    NONE is never tried as a parameter: a domain that starts at NONE gives the values from 0.
    """

    def make(function: Callable[..., None]) -> Action:
        names = list(inspect.signature(function).parameters)[2:]
        if names != list(domains):
            raise ModelError(
                f"action {function.__name__}: its parameters are {names} but the domains given are {list(domains)}: "
                "name the same parameters, in the same order."
            )
        params: list[tuple[str, Domain | InFlight]] = []
        for name, annotation in domains.items():
            found = annotation if isinstance(annotation, InFlight) else domain_of(annotation)
            if found is None:
                raise ModelError(f"action {function.__name__}: {annotation!r} is no domain for parameter {name!r}.")
            params.append((name, found))
        return Action(function.__name__, function, tuple(params))

    return make


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


@dataclass(frozen=True)
class Property:
    """A named predicate over states or over transitions.

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
        assert self.eventual is not None, f"{self.name} is no property of whole behaviours"
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


def summary_of(function: Callable[..., Any]) -> str:
    """Return the first paragraph of a docstring on one line."""
    text = inspect.getdoc(function) or ""
    return " ".join(text.split("\n\n")[0].split())
