"""Constants of a question: values by name, their textual form, Kafka's names for settings, and grids of values."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, product
from numbers import Integral
from typing import Any

from fencepost.api.asking.places import of_model
from fencepost.model.language.constants import Constants
from fencepost.model.language.errors import FencepostError, UsageError
from fencepost.model.language.machine import Machine

Value = int | bool | str
"""A constant's value in Python: a number, a boolean or a string."""
SETTINGS = {
    "min.insync.replicas": ("min_isr",),
    "unclean.leader.election.enable": ("unclean_election",),
    "replication.factor": ("brokers", "replicas"),
    "default.replication.factor": ("brokers", "replicas"),
    "replicas": ("brokers",),
    "brokers": ("replicas",),
    "nodes": ("brokers", "replicas"),
}
"""The constants of protocols that correspond to a Kafka setting, by the setting's name."""


def read_value(machine: Machine, name: str, value: Any) -> tuple[str, int]:
    """Return the name of a constant and its value as a number; raise UsageError if the name or the value is invalid."""
    constant = machine.constants.declared()[_find_name(machine, name)]
    fits = constant.kind is bool or not isinstance(value, bool)
    if fits and isinstance(value, Integral):
        return constant.name, int(constant.accept(int(value)))
    return constant.name, int(constant.parse(str(value)))


def read_values(machine: Machine, values: Mapping[str, Any]) -> dict[str, int]:
    read: dict[str, int] = {}
    for name, value in values.items():
        known, number = read_value(machine, name, value)
        if read.setdefault(known, number) != number:
            raise UsageError(
                f"constant {known!r} has two values, one given as {name!r} ({value!r}): leave one of them out."
            )
    return read


def parse_setting(machine: Machine, option: str, text: str) -> tuple[str, int]:
    name, mark, value = text.partition("=")
    if not mark:
        declared = machine.constants.declared().items()
        example = next((f"{known}={item.show(item.default)}" for known, item in declared), "NAME=VALUE")
        raise UsageError(f"{option} {text!r} has no value: write NAME=VALUE, such as {option} {example}.")
    return read_value(machine, name, value)


def add_value(given: dict[str, tuple[str, int]], name: str, by: str, value: int) -> None:
    """Add the value of a constant to `given`; raise UsageError if the constant already has a different value."""
    if name in given and given[name][1] != value:
        raise UsageError(f"constant {name!r} has two values, {given[name][0]} and {by}: leave one of them out.")
    given[name] = (by, value)


def join_values(constants: Mapping[str, Value] | None, more: Mapping[str, Value] | None) -> dict[str, Value]:
    """Return the constants given in a mapping and as arguments; raise UsageError if a constant has two values."""
    one, other = constants or {}, more or {}
    for name in one.keys() & other.keys():
        if one[name] != other[name]:
            raise UsageError(
                f"constant {name!r} is {one[name]!r} in `constants=` but {other[name]!r} as an argument: leave one of "
                "them out."
            )
    return {**one, **other}


def require_own_record(machine: Machine, constants: Constants, beside: Iterable[str]) -> None:
    """Raise UsageError if a record of constants belongs to another machine, or if arguments pass values too."""
    if not isinstance(constants, machine.constants):
        raise UsageError(
            f"`constants=` is a record of class {type(constants).__name__}, which does not belong to protocol "
            f"{machine.name!r}: pass the protocol's own class, or a dictionary."
        )
    for name in beside:
        raise UsageError(
            f"`constants=` already has a value for each constant, so `{name}=` cannot be added: write "
            "constants={...} with the values to change, by name."
        )


def _find_name(machine: Machine, name: str) -> str:
    try:
        return machine.constant(name).name
    except UsageError as error:
        known = meant(machine, name)
        if known:
            return known
        raise UsageError(f"{error}{_by_meaning(machine, name, str(error))}") from None


def meant(machine: Machine, name: str) -> str:
    """Return the protocol's constant for a Kafka setting, or an empty string."""
    known = machine.constants.declared()
    dotted = name.strip().lower().replace("-", ".").replace("_", ".")
    return next((item for item in SETTINGS.get(dotted, ()) if item in known), "")


def _by_meaning(machine: Machine, name: str, said: str) -> str:
    """Return a sentence listing the constants whose descriptions share words with a name, or an empty string."""
    words = {word[:5] for word in re.split(r"[^a-z0-9]+", name.lower()) if len(word) > 3}
    scores = {
        found: sum(word in f"{found} {constant.meaning}".lower() for word in words)
        for found, constant in machine.constants.declared().items()
    }
    best = max(scores.values(), default=0)
    close = [found for found, score in scores.items() if score == best > 0][:3]
    known = any(f"mean {item!r}" in said for item in close)
    return f" Constants with a similar meaning: {' or '.join(close)}." if close and not known else ""


def make_constants(machine: Machine, version: str, values: Mapping[str, Any]) -> Constants:
    base = dict(machine.version(version).values) if version else {}
    try:
        return machine.set_constants({**base, **read_values(machine, values)})
    except FencepostError:
        raise
    except Exception as error:
        raise of_model(error) from error


@dataclass(frozen=True)
class Setting:
    """A point of a grid: its constants, and an index and value per axis. `refused` says why the machine rejects it."""

    places: tuple[int, ...]
    shown: dict[str, Value]
    values: dict[str, int]
    constants: Constants | None
    refused: str = ""


def axes_of(machine: Machine, grid: Iterable[str]) -> dict[str, list[int]]:
    """Return the values of each axis, written as `NAME=2,3` or `NAME=2..4`. Raises the same errors as `axes_from`."""
    axes: dict[str, Iterable[str]] = {}
    for text in grid:
        name, mark, values = text.partition("=")
        if not mark or not values:
            raise UsageError(f"`grid=` {text!r}: write NAME=VALUE,VALUE,..., such as brokers=2,3.")
        if name in axes:
            raise UsageError(f"`grid=` has {name} twice: write all its values in one entry, such as {name}={values}.")
        axes[name] = chain.from_iterable(map(_range, values.split(",")))  # stops at the first value that is too large
    return axes_from(machine, axes)


def _range(text: str) -> Iterable[str]:
    low, _, high = text.partition("..")
    return map(str, range(int(low), int(high) + 1)) if f"{low}{high}".isdecimal() and high else [text]


def axes_from(machine: Machine, grid: Mapping[str, Iterable[Value]]) -> dict[str, list[int]]:
    """Return the values of each axis; raise UsageError if a constant is unknown, or a value is invalid or duplicate."""
    axes: dict[str, list[int]] = {}
    for name, values in grid.items():
        pairs = [read_value(machine, name, value) for value in values]
        if not pairs:
            raise UsageError(f"`grid=` has no values for {name}: write values, such as {name}=2,3.")
        axis, numbers = pairs[0][0], [value for _, value in pairs]
        if axis in axes:
            raise UsageError(f"`grid=` has {axis} twice: write its values in one list.")
        if len(set(numbers)) < len(numbers):
            raise UsageError(f"`grid=` repeats a value of {axis}: leave one out.")
        axes[axis] = numbers
    return axes


def settings_of(machine: Machine, constants: Constants, axes: dict[str, list[int]]) -> Iterator[Setting]:
    """Yield every point of a grid, including the points that the machine rejects. The last axis varies fastest."""
    declared = machine.constants.declared()
    for places in product(*(range(len(values)) for values in axes.values())):
        chosen = {name: values[place] for (name, values), place in zip(axes.items(), places, strict=True)}
        shown = {name: declared[name].show(value) for name, value in chosen.items()}
        values = {name: int(value) for name, value in {**constants.values, **chosen}.items()}
        try:
            yield Setting(places, shown, values, machine.set_constants(values))
        except UsageError as error:
            yield Setting(places, shown, values, None, str(error))
