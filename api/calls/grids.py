"""Grids of constants: `min_isr=1,2,3` and `brokers=3,4`, every combination of them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, product
from typing import TYPE_CHECKING

from fencepost.api.asking.constants import read_value
from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fencepost.api.answers.contract import Values
    from fencepost.api.asking.constants import Value
    from fencepost.model.language.constants import Constants
    from fencepost.model.language.machine import Machine


@dataclass(frozen=True)
class Setting:
    """A point of a grid: the place of its value on each axis, what is special about it, and all its constants.

    `refused` says why these constants make no sense together; without `constants` they do not.
    """

    places: tuple[int, ...]
    shown: Values
    values: dict[str, int]
    constants: Constants | None
    refused: str = ""


def axes_of(machine: Machine, grid: Iterable[str]) -> dict[str, list[int]]:
    """Return the values of each axis, written as `NAME=2,3` or `NAME=2..4`; raise UsageError as `axes_from` does."""
    axes: dict[str, Iterable[str]] = {}
    for text in grid:
        name, mark, values = text.partition("=")
        if not mark or not values:
            raise UsageError(f"`grid=` was given {text!r}: write NAME=VALUE,VALUE,..., such as brokers=2,3.")
        if name in axes:
            raise UsageError(f"`grid=` was given {name} twice: write its values in one, such as {name}={values}.")
        axes[name] = chain.from_iterable(map(_range, values.split(",")))  # the first that is too large is refused
    return axes_from(machine, axes)


def _range(text: str) -> Iterable[str]:
    """Return the numbers that `2..4` means; any other word is itself."""
    low, _, high = text.partition("..")
    return map(str, range(int(low), int(high) + 1)) if f"{low}{high}".isdecimal() and high else [text]


def axes_from(machine: Machine, grid: Mapping[str, Iterable[Value]]) -> dict[str, list[int]]:
    """Return the values of each axis; raise UsageError for an unknown constant, or a bad or repeated value."""
    axes: dict[str, list[int]] = {}
    for name, values in grid.items():
        pairs = [read_value(machine, name, value) for value in values]
        if not pairs:
            raise UsageError(f"`grid=` was given no values of {name}: write some, such as {name}=2,3.")
        axis, numbers = pairs[0][0], [value for _, value in pairs]
        if axis in axes:
            raise UsageError(f"`grid=` was given {axis} twice: write its values in one list.")
        if len(set(numbers)) < len(numbers):
            raise UsageError(f"`grid=` was given a value of {axis} twice: leave one out.")
        axes[axis] = numbers
    return axes


def settings_of(machine: Machine, constants: Constants, axes: dict[str, list[int]]) -> Iterator[Setting]:
    """Yield every point of a grid, the last axis moving fastest; what the machine refuses is shown, not left out."""
    declared = machine.constants.declared()
    for places in product(*(range(len(values)) for values in axes.values())):
        chosen = {name: values[place] for (name, values), place in zip(axes.items(), places, strict=True)}
        shown = {name: declared[name].show(value) for name, value in chosen.items()}
        values = {name: int(value) for name, value in {**constants.values, **chosen}.items()}
        try:
            yield Setting(places, shown, values, machine.set_constants(values))
        except UsageError as error:
            yield Setting(places, shown, values, None, str(error))
