"""Arguments of the API's functions, checked against their annotated types and distinguished from constants."""

from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from functools import wraps
from inspect import signature
from math import inf
from numbers import Integral, Real
from os import PathLike
from types import UnionType
from typing import Any, ParamSpec, TypeVar

from fencepost.api.asking.places import errors_of_models
from fencepost.api.asking.watching import Watch
from fencepost.explorers.verdict import require_number
from fencepost.model.language.actions import Property
from fencepost.model.language.constants import Constants
from fencepost.model.language.errors import UsageError
from fencepost.model.language.machine import Machine

P = ParamSpec("P")
R = TypeVar("R")

LEAST = {
    "brokers": 1, "cross_check": 0, "budget": 0, "depth": 0, "draws": 0, "grow": 0, "histories": 1, "k": 1,
    "max_depth": 1, "max_pairs": 1, "max_states": 1, "memory": 0, "min_isr": 1, "port": 1024, "reach": 0, "refusals": 1,
    "replicas": 1, "seed": 0, "timeout": 0, "until": 0, "walks": 1, "within": 0, "workers": 0,
}  # fmt: skip
"""Minimum of each numeric argument."""
MOST = {"workers": 1024, "replicas": 32_767, "min_isr": 32_767}
"""Maximum of some numeric arguments. Kafka stores the number of replicas in 16 bits."""
FINITE = ("memory", "timeout", "within")
"""Arguments that must be finite: durations and sizes. Budgets may be infinite."""

MEANT = (
    *(("property", "only"), ("prop", "only"), ("property", "prop"), ("only", "prop")),
    *(("master", "cluster"), ("version", "kafka")),
)
"""Argument names with the same meaning: every function accepts either name of a pair."""

_GIVEN: ContextVar[tuple[str, frozenset[str]]] = ContextVar("_GIVEN", default=("", frozenset()))
"""Name and arguments of the current call."""


def call(function: Callable[P, R]) -> Callable[P, R]:
    """Turn a function into an API call, which checks its arguments and adds the source line to errors in a user's
    model. The function's module must import `annotations` from `__future__`, because annotations must be strings.
    """
    known = signature(function)
    name = function.__name__

    @wraps(function)
    def made(*args: P.args, **kwargs: P.kwargs) -> R:
        for wrong, right in MEANT:
            if wrong in kwargs and wrong not in known.parameters and right in known.parameters:
                if right in kwargs:
                    raise UsageError(
                        f"{name}() accepts {wrong}= or {right}=, which mean the same: leave one of them out."
                    )
                kwargs[right] = kwargs.pop(wrong)
        given = known.bind(*args, **kwargs)
        for argument, value in given.arguments.items():
            parameter = known.parameters[argument]
            kind = str(parameter.annotation)
            several = parameter.kind is parameter.VAR_POSITIONAL
            given.arguments[argument] = (
                tuple(_looked_at(argument, kind, item) for item in value)
                if several
                else _looked_at(argument, kind, value)
            )
        named = frozenset(
            item for item in given.arguments if known.parameters[item].kind is known.parameters[item].KEYWORD_ONLY
        )
        token = _GIVEN.set((name, named))
        try:
            with errors_of_models():
                return function(*given.args, **given.kwargs)
        finally:
            _GIVEN.reset(token)

    return made


def refuse_taken(machine: Machine, constants: object) -> None:
    """Raise UsageError if an argument shares its name with a constant that is missing from `constants`."""
    name, given = _GIVEN.get()
    for item in machine.constants.declared():
        if (
            item in given
            and not isinstance(constants, Constants)
            and not (isinstance(constants, Mapping) and item in constants)
        ):
            raise UsageError(
                f"{name}() has an argument {item}=, and protocol {machine.name!r} has a constant {item!r}: for the "
                f"constant, write constants={{{item!r}: VALUE}}, and add {item}= if you need the argument too."
            )


def _looked_at(name: str, annotation: str, value: Any) -> Any:
    """Return an argument as the call expects it; raise UsageError if it does not have the annotated type."""
    kind = annotation.removesuffix(" | None")
    if value is None and kind != annotation:
        return value
    if kind in ("int", "float"):
        fractions = kind == "float" or name == "memory"
        if value is None or isinstance(value, bool):
            raise _refused(name, value, "a number" if fractions else "a whole number")
        if isinstance(value, Real):  # includes numbers of other libraries, such as NumPy's
            value = int(value) if isinstance(value, Integral) else float(value)
        require_number(name, value, LEAST[name], fractions=fractions)
        if value > MOST.get(name, inf):
            raise _refused(name, value, f"at most {MOST[name]:,}")
        if name in FINITE and value == inf:
            raise _refused(name, value, "a finite number")
    elif kind in _LISTS:
        of, words = _LISTS[kind]
        items = (
            (value,) if isinstance(value, str | PathLike) else tuple(value) if isinstance(value, Iterable) else (None,)
        )
        if not all(isinstance(item, of) for item in items):
            raise _refused(name, value, words)
        return items
    elif kind == "Cluster" and isinstance(value, str):
        from fencepost.explorers.spark.session import Cluster

        return Cluster(value)
    elif kind in _KINDS:
        is_so, words = _KINDS[kind]
        if not is_so(value):
            raise _refused(name, value, words)
        if kind == "Mapping[str, int]":
            return {item: int(number) for item, number in value.items()}
    return value


def _refused(name: str, value: object, words: str) -> UsageError:
    return UsageError(f"{name} cannot be {value!r}: expected {words}.")


def _is_whole(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_cluster(value: Any) -> bool:
    from fencepost.explorers.spark.session import Cluster

    return isinstance(value, Cluster)


def _is_by_name(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(item, str) for item in value)


def _are_lists(value: Any) -> bool:
    return _is_by_name(value) and all(
        isinstance(item, Iterable) and not isinstance(item, str) for item in value.values()
    )


_LISTS: dict[str, tuple[type | UnionType, str]] = {
    "Iterable[str]": (str, "a list of names"),
    "Iterable[str | Path]": (str | PathLike, "a list of paths"),
    "Iterable[Property]": (Property, "a tuple of the results of @always, @step(...) and @sometimes"),
}
"""The type of the items, and a hint for messages, for each annotation of a list. A string is one item."""
_KINDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "str": (lambda value: isinstance(value, str), "text"),
    "bool": (lambda value: isinstance(value, bool), "True or False"),
    "str | Path": (lambda value: isinstance(value, str | PathLike), "a path"),
    "Mapping[str, Any]": (_is_by_name, "a dictionary of constants by name"),
    "Mapping[str, Any] | Constants": (lambda value: isinstance(value, Constants) or _is_by_name(value),
        "a dictionary of constants by name"),
    "Mapping[str, int]": (lambda value: _is_by_name(value) and all(map(_is_whole, value.values())),
        "a dictionary of whole numbers by name"),
    "Mapping[str, Iterable[Any]]": (_are_lists, "a dictionary of lists of values, by the name of a constant"),
    "Watch | Callable[[Event], None]": (lambda value: isinstance(value, Watch) or callable(value),
        "a function that takes events"),
    "Cluster": (_is_cluster, 'a master such as "local[2]", or Cluster(...)'),
    "Callable[[], bool]": (callable, "a function that returns true when the search should stop"),
}  # fmt: skip
"""A test of the argument's type, and a hint for the error message, for each annotation."""
