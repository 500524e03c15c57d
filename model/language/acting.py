"""Actions and guards: plain functions with a name, a sentence and parameter domains."""

from __future__ import annotations

import ast
import inspect
import textwrap
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from fencepost.model.language import bounds
from fencepost.model.language.domains import Domain, InFlight, domain_of
from fencepost.model.language.errors import DisabledError, ModelError
from fencepost.model.language.names import look_at_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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


_DRAWN: list[list[Any]] = []
"""The values that the actions which are taken now will draw, those of the innermost last."""


def choose(domain: Any, /) -> int:
    """Draw a value in the middle of an action, on a line of its own: each value of the domain is tried.

    `leader = choose(Broker)` stands at the top level of an action.
    """
    del domain  # the text is read for it
    if not _DRAWN or not _DRAWN[-1]:
        raise ModelError(
            "choose() is called outside of an action that is taken: write `name = choose(Domain)` at the top of one."
        )
    return int(_DRAWN[-1].pop(0))


@dataclass(frozen=True)
class Action:
    """One step of the protocol: who does what, and why.

    `params` are (name, domain) in order; every combination of values is tried in every state. The last `drawn` of them are not given
    to the function: it draws them with `choose`.
    """

    name: str
    function: Callable[..., None]
    params: tuple[tuple[str, Domain | InFlight], ...]
    drawn: int = 0

    @cached_property
    def label(self) -> str:
        """The name on the command line and in JSON, with dashes."""
        return self.name.replace("_", "-")

    @property
    def sentence(self) -> str:
        """The first paragraph of the docstring."""
        return summary_of(self.function)

    def __call__(self, *args: Any) -> None:
        """Run the action on a plain state: `args` are the state, the constants, and a value for each of `params`."""
        if not self.drawn:
            self.function(*args)
            return
        _DRAWN.append(list(args[-self.drawn :]))
        try:
            self.function(*args[: -self.drawn])
        finally:
            _DRAWN.pop()

    def named(self, name: str) -> Action:
        """Return the same action under another name."""
        return replace(self, name=name)


def action(*given: Any, **domains: Any) -> Callable[[Callable[..., None]], Action]:
    """Make a function `(state, constants, *parameters)` an action; each parameter is given its domain.

    NONE is never tried as a parameter: a domain that starts at NONE gives the values from 0.
    """
    if given:
        named = getattr(given[0], "__name__", "") if inspect.isfunction(given[0]) else ""
        raise ModelError(
            f"@action stands above {named}() without parentheses: write @action(), with the domain of each parameter by its name."
            if named
            else "@action() was given a domain without a name: name the parameter that it is for, as in @action(broker=Broker)."
        )

    def make(function: Callable[..., None]) -> Action:
        look_at_first(f"action {function.__name__}", function, ("s", "c"))
        given = inspect.signature(function).parameters
        starred = [name for name, item in given.items() if item.kind in (item.VAR_POSITIONAL, item.VAR_KEYWORD)]
        if starred:
            raise ModelError(
                f"action {function.__name__} has the starred parameter {starred[0]!r}, and an action has a fixed list of them: "
                "leave it out, or name each parameter and its domain, as in @action(broker=Broker)."
            )
        names = list(given)[2:]
        if names != list(domains):
            lacking = [name for name in names if name not in domains]
            raise ModelError(
                f"action {function.__name__}: its parameters are {names} but the domains given are {list(domains)}: "
                + (
                    f"write @action({', '.join(f'{name}=...' for name in names)}), each with its domain, such as an alias of Index."
                    if lacking and set(domains) <= set(names)
                    else "name the same parameters, in the same order."
                )
            )
        look_at_name("an action", function.__name__)
        params: list[tuple[str, Domain | InFlight]] = []
        for name, annotation in domains.items():
            look_at_name(f"a parameter of action {function.__name__}", name)
            found = annotation if isinstance(annotation, InFlight) else domain_of(annotation)
            if found is None:
                raise ModelError(
                    f"action {function.__name__}: {described(annotation)} is not a domain for parameter {name!r}: write an alias such as "
                    "Annotated[int, Index(C.brokers)], Range(0, 3), bool, an IntEnum, or InFlight('bag') for a message of a bag."
                )
            params.append((name, found))
        drawn = list(_drawn(function))
        for name, found in drawn:
            if name in dict(params):
                raise ModelError(f"action {function.__name__}: {name!r} is a parameter and is drawn: use another name.")
            look_at_name(f"a value that action {function.__name__} draws", name)
            params.append((name, found))
        return Action(function.__name__, function, tuple(params), len(drawn))

    return make


def _drawn(function: Callable[..., None]) -> Iterator[tuple[str, Domain]]:
    """Yield the values that an action draws, with their domains: `name = choose(Domain)`."""
    if not any(function.__globals__.get(name) is choose for name in function.__code__.co_names):
        return
    node = ast.parse(textwrap.dedent("".join(inspect.getsourcelines(function)[0]))).body[0]
    assert isinstance(node, ast.FunctionDef)
    for item in node.body:
        if not isinstance(item, ast.Assign) or not is_choice(function, item.value) or not isinstance(item.targets[0], ast.Name):
            continue
        assert isinstance(item.value, ast.Call)
        text = ast.unparse(item.value.args[0]) if len(item.value.args) == 1 else ""
        domain = domain_of(eval(text, function.__globals__)) if text else None  # noqa: S307 (the model's own text)
        if domain is None:
            raise ModelError(
                f"action {function.__name__}: {ast.unparse(item)!r} draws from something that is not a domain: "
                "write choose(Broker), an alias such as Annotated[int, Index(C.brokers)]."
            )
        yield item.targets[0].id, domain


def is_choice(function: Callable[..., Any], node: ast.AST) -> bool:
    """Say whether a part of a function is a call of `choose`."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and function.__globals__.get(node.func.id) is choose


def look_at_first(what: str, function: Callable[..., Any], first: tuple[str, ...]) -> None:
    """Raise ModelError for a function that does not take the state (or two) and the constants."""
    names = list(inspect.signature(function).parameters)
    if len(names) < len(first):
        wanted = ", ".join([*first])
        raise ModelError(
            f"{what} takes {', '.join(names) or 'nothing'}, and is given the state and the constants: write "
            f"def {function.__name__}({wanted})."
        )


def described(item: object) -> str:
    """Return what stands in the place of a domain."""
    return item.__name__ if isinstance(item, type) else repr(item)


def summary_of(function: Callable[..., Any]) -> str:
    """Return the first paragraph of a docstring on one line."""
    text = inspect.getdoc(function) or ""
    return " ".join(text.split("\n\n")[0].split())
