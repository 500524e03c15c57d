"""Actions and guards: plain functions with a name, a sentence and parameter domains."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from fencepost.model.language import bounds
from fencepost.model.language.domains import Domain, InFlight, domain_of
from fencepost.model.language.errors import DisabledError, ModelError
from fencepost.model.language.names import look_at_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from fencepost.model.language.constants import Constant


def require(condition: bool, /, *, bound: Constant[int] | None = None) -> None:  # noqa: FBT001 (it reads as a sentence)
    """Let the action happen only if `condition` holds: a guard.

    `bound` names the constant that a guard is there for alone: no rule of the protocol, but the end of what a run explores.
    """
    if bounds.TRIALS:
        bounds.TRIALS[-1].guard(condition, bound)
    elif not condition:
        raise DisabledError


def fits(condition: bool, /, *, bound: Constant[int]) -> bool:  # noqa: FBT001 (as above)
    """Say whether a condition holds, for an effect that leaves something out where a constant of the run has no room for it."""
    if not condition:
        bounds.DROPPED.add(bound.name)
    return bool(condition)


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
        look_at_name("an action", function.__name__)
        params: list[tuple[str, Domain | InFlight]] = []
        for name, annotation in domains.items():
            look_at_name(f"a parameter of action {function.__name__}", name)
            found = annotation if isinstance(annotation, InFlight) else domain_of(annotation)
            if found is None:
                raise ModelError(f"action {function.__name__}: {annotation!r} is not a domain for parameter {name!r}.")
            params.append((name, found))
        return Action(function.__name__, function, tuple(params))

    return make


def summary_of(function: Callable[..., Any]) -> str:
    """Return the first paragraph of a docstring on one line."""
    text = inspect.getdoc(function) or ""
    return " ".join(text.split("\n\n")[0].split())
