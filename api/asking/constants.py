"""Constants of a question: values by name, text at the door, and the names of Kafka's settings."""

from __future__ import annotations

import re
from numbers import Integral
from typing import TYPE_CHECKING, Any

from fencepost.api.asking.places import of_model
from fencepost.model.language.errors import FencepostError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fencepost.model.language.constants import Constants
    from fencepost.model.language.machine import Machine

Value = int | bool | str
"""The value of a constant as a program writes it: a number, true or false, or a word."""
SETTINGS = {
    "min.insync.replicas": ("min_isr",),
    "unclean.leader.election.enable": ("unclean_election",),
    "replication.factor": ("brokers", "replicas"),
    "default.replication.factor": ("brokers", "replicas"),
    "replicas": ("brokers",),
    "brokers": ("replicas",),
    "nodes": ("brokers", "replicas"),
}
"""By Kafka's name, the constants that mean it in some protocol."""


def read_value(machine: Machine, name: str, value: Any) -> tuple[str, int]:
    """Return the constant that a name means, and the number that a value of it is; raise UsageError for others."""
    constant = machine.constants.declared()[_find_name(machine, name)]
    fits = constant.kind is bool or not isinstance(value, bool)
    if fits and isinstance(value, Integral):
        return constant.name, int(constant.accept(int(value)))
    return constant.name, int(constant.parse(str(value)))


def read_values(machine: Machine, values: Mapping[str, Any]) -> dict[str, int]:
    """Return constants by name as numbers; raise UsageError for one that has two values."""
    read: dict[str, int] = {}
    for name, value in values.items():
        known, number = read_value(machine, name, value)
        if read.setdefault(known, number) != number:
            raise UsageError(
                f"constant {known!r} was given two values, one of them as {name!r} ({value!r}): write one of them."
            )
    return read


def parse_setting(machine: Machine, option: str, text: str) -> tuple[str, int]:
    """Return the constant and the number that an option's `NAME=VALUE` means; raise UsageError if it means none."""
    name, mark, value = text.partition("=")
    if not mark:
        declared = machine.constants.declared().items()
        example = next((f"{known}={item.show(item.default)}" for known, item in declared), "NAME=VALUE")
        raise UsageError(
            f"{option} was given {text!r}, which has no value: write NAME=VALUE, such as {option} {example}."
        )
    return read_value(machine, name, value)


def add_value(given: dict[str, tuple[str, int]], name: str, by: str, value: int) -> None:
    """Add the value of a constant to those that were given; raise UsageError if it has another one already."""
    if name in given and given[name][1] != value:
        raise UsageError(f"constant {name!r} was given two values, by {given[name][0]} and by {by}: write one of them.")
    given[name] = (by, value)


def join_values(constants: Mapping[str, Value] | None, more: Mapping[str, Value] | None) -> dict[str, Value]:
    """Return constants that were given in a mapping and by name; raise UsageError for one that has two values."""
    one, other = constants or {}, more or {}
    for name in one.keys() & other.keys():
        if one[name] != other[name]:
            raise UsageError(
                f"constant {name!r} was given {one[name]!r} in `constants=` and {other[name]!r} by name: "
                "write one of them."
            )
    return {**one, **other}


def require_own_record(machine: Machine, constants: Constants, beside: Iterable[str]) -> None:
    """Raise UsageError for constants of another machine, and for what is given beside all constants."""
    if not isinstance(constants, machine.constants):
        raise UsageError(
            f"`constants=` was given a record of {type(constants).__name__}, which is not that of protocol "
            f"{machine.name!r}: write its own, or a dictionary."
        )
    for name in beside:
        raise UsageError(
            f"`constants=` was given all constants, and `{name}=` beside them: "
            "write constants={...} with some by name."
        )


def _find_name(machine: Machine, name: str) -> str:
    """Return the constant that a name means, its own or a setting of Kafka's; raise UsageError for others."""
    try:
        return machine.constant(name).name
    except UsageError as error:
        known = meant(machine, name)
        if known:
            return known
        raise UsageError(f"{error}{_by_meaning(machine, name, str(error))}") from None


def meant(machine: Machine, name: str) -> str:
    """Return the constant that a name of Kafka's means in a protocol, or an empty string."""
    known = machine.constants.declared()
    dotted = name.strip().lower().replace("-", ".").replace("_", ".")
    return next((item for item in SETTINGS.get(dotted, ()) if item in known), "")


def _by_meaning(machine: Machine, name: str, said: str) -> str:
    """Return a sentence with the constants whose meaning has words of a name, or an empty string."""
    words = {word[:5] for word in re.split(r"[^a-z0-9]+", name.lower()) if len(word) > 3}
    scores = {
        found: sum(word in f"{found} {constant.meaning}".lower() for word in words)
        for found, constant in machine.constants.declared().items()
    }
    best = max(scores.values(), default=0)
    close = [found for found, score in scores.items() if score == best > 0][:3]
    known = any(f"mean {item!r}" in said for item in close)
    return f" By its meaning it may be {' or '.join(close)}." if close and not known else ""


def make_constants(machine: Machine, version: str, values: Mapping[str, Any]) -> Constants:
    """Return the constants of a version with some values set otherwise; raise UsageError for what is refused."""
    base = dict(machine.version(version).values) if version else {}
    try:
        return machine.set_constants({**base, **read_values(machine, values)})
    except FencepostError:
        raise
    except Exception as error:
        raise of_model(error) from error
