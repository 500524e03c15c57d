"""Fairness: leads-to and at-most properties state which actions cannot be postponed forever."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fencepost.model.language.acting import Action
from fencepost.model.language.domains import Domain, InFlight, Linear, domain_of
from fencepost.model.language.errors import ModelError, nearest


@dataclass(frozen=True)
class Fairness:
    """A constraint that prevents a group of actions from being postponed forever.

    If a weakly fair group stays enabled from some moment on, one of its actions happens. If a strongly fair group is
    enabled infinitely often, one of its actions happens. As in TLA+, a step that leaves the state unchanged counts
    neither as enabled nor as taken. `each` lists parameters, or fields of messages (`m.follower`). The constraint
    applies separately to each combination of their values.
    """

    strong: bool
    actions: tuple[Action, ...]
    each: tuple[str, ...] = ()

    def __str__(self) -> str:
        names = " or ".join(item.label for item in self.actions)
        return f"{'strong' if self.strong else 'weak'} {names}" + (
            f" for each {', '.join(self.each)}" if self.each else ""
        )


def weak(*actions: Action, each: str | tuple[str, ...] = ()) -> Fairness:
    """Require that, if a group of actions stays enabled, one of these actions eventually happens."""
    return _fairness("weak", actions, each)


def strong(*actions: Action, each: str | tuple[str, ...] = ()) -> Fairness:
    """Require that, if a group of actions is enabled infinitely often, one of these actions eventually happens."""
    return _fairness("strong", actions, each)


def _fairness(word: str, actions: tuple[Any, ...], each: str | tuple[str, ...]) -> Fairness:
    names = (each,) if isinstance(each, str) else tuple(each)
    if not actions:
        raise ModelError(f"{word}() was given no action: name the actions of the constraint, as in {word}(deliver).")
    for item in actions:
        if not isinstance(item, Action):
            raise ModelError(
                f"{word}() was given {named(item)}, which is not an action: name functions under @action(...)."
            )
        known = dict(item.params)
        for name in names:
            param, dot, field = name.partition(".")
            if param not in known:
                raise ModelError(
                    f"{word}({item.name}, each={name!r}): the action has no parameter "
                    f"{param!r}.{nearest(param, known, 'Its parameters are:')}"
                )
            if dot and (not field or not isinstance(known[param], InFlight)):
                raise ModelError(
                    f"{word}({item.name}, each={name!r}): only a message has fields: write a parameter, "
                    "or a message and its field, as in m.to."
                )
    return Fairness(word == "strong", tuple(actions), names)


def named(item: object) -> str:
    """Return a description of a value that should be an action or a fairness constraint."""
    name = getattr(item, "__name__", "")
    return f"the function {name}" if name else repr(item)


@dataclass(frozen=True)
class Eventual:
    """The subject of a leads-to or at-most property.

    In every fair behaviour, if `when` holds in a state and no action of `without` follows, `then` holds in that state
    or a later one. If `when` is None, the property applies from every initial state. `params` are the parameters of
    both predicates. The property must hold for all of their values.
    """

    when: Callable[..., bool] | None
    then: Callable[..., bool]
    fair: tuple[Fairness, ...] = ()
    without: tuple[Action, ...] = ()
    params: tuple[tuple[str, Domain], ...] = ()
    costs: tuple[tuple[str, Linear], ...] | Callable[..., int] | None = None
    """The cost of a step by action name, or a function (before, after, constants); None for a leads-to property."""
    bound: Linear | None = None
    """Maximum cost of the path; None means that any finite bound suffices."""
    unit: str = ""

    @property
    def fairness_text(self) -> str:
        """Return the fairness on one line, such as `weak deliver for each m.to; strong vote`."""
        return "; ".join(map(str, self.fair))

    @property
    def without_text(self) -> str:
        """Return the excluded actions on one line."""
        return ", ".join(item.label for item in self.without)

    def shown(self, args: tuple[int, ...]) -> str:
        """Return values of the parameters in the form used in traces, such as `broker=1`."""
        return " ".join(f"{name}={domain.show(value)}" for (name, domain), value in zip(self.params, args, strict=True))

    @property
    def mentioned(self) -> tuple[Action, ...]:
        """Return all actions that the property mentions."""
        return (*(item for fair in self.fair for item in fair.actions), *self.without)


def parameters(what: str, domains: Mapping[str, Any]) -> tuple[tuple[str, Domain], ...]:
    """Return a property's parameters with their domains."""
    found: list[tuple[str, Domain]] = []
    for name, annotation in domains.items():
        domain = None if isinstance(annotation, InFlight) else domain_of(annotation)
        if domain is None:
            raise ModelError(
                f"{what}: {annotation!r} is not a domain for parameter {name!r}: write a domain such as Broker."
            )
        found.append((name, domain))
    return tuple(found)
