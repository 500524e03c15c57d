"""Actions and guards: plain functions with a name, a sentence and parameter domains."""

import ast
import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from fencepost.model.language.bounds import DROPPED, TRIALS
from fencepost.model.language.constants import Constant
from fencepost.model.language.domains import Domain, InFlight, domain_of
from fencepost.model.language.errors import DisabledError, ModelError
from fencepost.model.language.names import require_trace_name
from fencepost.model.language.own_names import alias_for, own_names
from fencepost.model.language.trees import definition_of


def require(condition: bool, /, *, bound: Constant[int] | None = None) -> None:  # noqa: FBT001 (it reads as a sentence)
    """Guard: the action happens only if `condition` holds.

    If the guard is not a rule of the protocol but only limits the run, `bound` is the constant that sets this limit.
    """
    if TRIALS:
        TRIALS[-1].guard(condition, bound)
    elif not condition:
        raise DisabledError


def fits(condition: bool, /, *, bound: Constant[int]) -> bool:  # noqa: FBT001 (as above)
    """Return whether a condition holds. If it does not, the effect omits a part that exceeds the bound."""
    if not condition:
        DROPPED.add(bound.name)
    return bool(condition)


_DRAWN: list[list[Any]] = []
"""The values that `choose` will return in the current actions, with those of the innermost action last."""


def choose(domain: Any, /) -> int:
    """Choose a value inside an action, in a statement of its own. The engine tries each value of the domain.

    `leader = choose(Broker)` must be at the top level of an action.
    """
    del domain  # the domain is read from the source
    if not _DRAWN or not _DRAWN[-1]:
        raise ModelError("choose() is called outside an action: write `name = choose(Domain)` at the top of an action.")
    return int(_DRAWN[-1].pop(0))


@dataclass(frozen=True)
class Action:
    """An action of the protocol, with a name and a domain for each parameter.

    `params` contains (name, domain) in order. Every combination of values is tried in every state. The last `drawn`
    parameters are not passed as arguments: the function draws their values with `choose`.
    """

    name: str
    function: Callable[..., None]
    params: tuple[tuple[str, Domain | InFlight], ...]
    drawn: int = 0

    @cached_property
    def label(self) -> str:
        """Return the name on the command line and in JSON, with dashes."""
        return self.name.replace("_", "-")

    @property
    def sentence(self) -> str:
        """Return the first paragraph of the docstring."""
        return summary_of(self.function)

    def __call__(self, *args: Any) -> None:
        """Run the action on a plain state. `args` are the state, the constants, and a value for each of `params`."""
        if not self.drawn:
            self.function(*args)
            return
        _DRAWN.append(list(args[-self.drawn :]))
        try:
            self.function(*args[: -self.drawn])
        finally:
            _DRAWN.pop()

    def named(self, name: str) -> "Action":
        """Return this action under another name."""
        return replace(self, name=name)


def action(*given: Any, **domains: Any) -> Callable[[Callable[..., None]], Action]:
    """Make a function `(state, constants, *parameters)` an action, with a domain for each parameter.

    NONE is never tried as an argument: from a domain that starts at NONE, only the values from 0 are tried.
    """
    if given and inspect.isfunction(given[0]):
        raise ModelError(
            f"@action is used on {given[0].__name__}() without parentheses: write @action({_domains_for(given[0])}), "
            "with a domain for each parameter."
        )

    def make(function: Callable[..., None]) -> Action:
        if given:
            raise ModelError(
                f"@action() has a domain without a name. Name its parameter: write @action({_domains_for(function)})."
            )
        require_first_parameters(f"action {function.__name__}", function, ("s", "c"))
        taken = inspect.signature(function).parameters
        starred = [name for name, item in taken.items() if item.kind in (item.VAR_POSITIONAL, item.VAR_KEYWORD)]
        if starred:
            raise ModelError(
                f"action {function.__name__} has the starred parameter {starred[0]!r}, but an action has a fixed list "
                "of parameters: omit that parameter, or name each parameter and its domain in @action(...)."
            )
        names = list(taken)[2:]
        if names != list(domains):
            raise ModelError(
                f"action {function.__name__} takes {listed(names)}, but @action() gives {listed(domains)} a domain: "
                f"write @action({_domains_for(function)}), with the same parameters in the same order."
            )
        require_trace_name("an action", function.__name__)
        params: list[tuple[str, Domain | InFlight]] = []
        for name, annotation in domains.items():
            require_trace_name(f"a parameter of action {function.__name__}", name)
            found = annotation if isinstance(annotation, InFlight) else domain_of(annotation)
            if found is None:
                own = own_names(function.__globals__)
                known = own.alias if own.alias in function.__globals__ else f"Annotated[int, Index({own.many})]"
                instead = (
                    f"a message comes from a bag of the state: write {name}=InFlight('...'), with the name of the bag"
                    if isinstance(annotation, type) and annotation.__module__ == function.__module__
                    else f"write an alias such as {known}, Range(0, 3), bool, an IntEnum, or InFlight('...') for a "
                    "message of that bag"
                )
                raise ModelError(
                    f"action {function.__name__}: {described(annotation)} is not a domain for "
                    f"parameter {name!r}: {instead}."
                )
            params.append((name, found))
        drawn = list(_drawn(function))
        for name, found in drawn:
            if name in dict(params):
                raise ModelError(
                    f"action {function.__name__}: {name!r} is a parameter and is also drawn with choose(): use "
                    "another name."
                )
            require_trace_name(f"a value that action {function.__name__} draws", name)
            params.append((name, found))
        return Action(function.__name__, function, tuple(params), len(drawn))

    return make


def _domains_for(function: Callable[..., Any]) -> str:
    """Return a function's parameters as decorator arguments, with aliases that the module declares for them."""
    names = list(inspect.signature(function).parameters)[2:]
    return ", ".join(f"{name}={alias_for(function.__globals__, name)}" for name in names)


def listed(names: Iterable[str]) -> str:
    """Return names as a list in a sentence."""
    return ", ".join(names) or "nothing"


def _drawn(function: Callable[..., None]) -> Iterator[tuple[str, Domain]]:
    """Yield the values that an action chooses in assignments `name = choose(Domain)`, with the domain of each value."""
    if not any(function.__globals__.get(name) is choose for name in function.__code__.co_names):
        return
    for item in definition_of(function).body:
        match item:
            case (
                ast.Assign(targets=[ast.Name(id=name), *_], value=ast.Call() as call)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.Call() as call)
            ) if is_choice(function, call):
                text = ast.unparse(call.args[0]) if len(call.args) == 1 else ""
                domain = domain_of(eval(text, function.__globals__)) if text else None  # noqa: S307 (model source)
                if domain is None:
                    raise ModelError(
                        f"action {function.__name__}: {ast.unparse(item)!r} chooses from something that is not a "
                        "domain: write choose(Broker), an alias such as Annotated[int, Index(C.brokers)]."
                    )
                yield name, domain


def is_choice(function: Callable[..., Any], node: ast.AST) -> bool:
    """Return whether a syntax node is a call to `choose`."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and function.__globals__.get(node.func.id) is choose
    )


def require_first_parameters(what: str, function: Callable[..., Any], first: tuple[str, ...]) -> None:
    """Raise ModelError unless a function's parameters are one or two states and the constants."""
    names = list(inspect.signature(function).parameters)
    if len(names) < len(first):
        wanted = ", ".join([*first])
        raise ModelError(
            f"{what} takes {', '.join(names) or 'nothing'}, but is given the state and the constants: write "
            f"def {function.__name__}({wanted})."
        )


def described(item: object) -> str:
    """Return a description of a value that is used as a domain."""
    return item.__name__ if isinstance(item, type) else repr(item)


def summary_of(function: Callable[..., Any]) -> str:
    """Return the first paragraph of a docstring as one line."""
    text = inspect.getdoc(function) or ""
    return " ".join(text.split("\n\n")[0].split())
