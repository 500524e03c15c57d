"""Grids of constants: `--grid min_isr=1,2,3 --grid brokers=3,4`."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from fencepost.api.asking.targets import parse_setting
from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fencepost.api.answers.contract import Values
    from fencepost.model.language.constants import Constants
    from fencepost.model.language.machine import Machine


@dataclass(frozen=True)
class Setting:
    """A point of a grid: the place of its value on each axis, what is special about it, and all its constants.

    `refused` says why these constants make no sense together; `constants` is None then.
    """

    places: tuple[int, ...]
    shown: Values
    values: dict[str, int]
    constants: Constants | None
    refused: str = ""


def axes_of(machine: Machine, grid: tuple[str, ...]) -> dict[str, list[int]]:
    """Return the values of each axis; raise UsageError for an unknown constant, a bad value, or one that is given twice."""
    axes: dict[str, list[int]] = {}
    for text in grid:
        name, mark, values = text.partition("=")
        if not mark or not values:
            raise UsageError(f"--grid was given {text!r}: write NAME=VALUE,VALUE,..., such as --grid brokers=2,3.")
        pairs = [parse_setting(machine, "--grid", f"{name}={value}") for value in values.split(",")]
        axis, found = pairs[0][0], [value for _, value in pairs]
        if axis in axes:
            raise UsageError(f"--grid was given {axis} twice: write its values in one, such as --grid {axis}={values}.")
        if len(set(found)) < len(found):
            raise UsageError(f"--grid {text} has a value twice: leave one out.")
        axes[axis] = found
    return axes


def axes_from(machine: Machine, grid: Mapping[str, Iterable[Any]]) -> dict[str, list[int]]:
    """Return the values of each axis that a program names: numbers, booleans or words."""
    return axes_of(
        machine, tuple(f"{name}={','.join(str(value).lower() for value in values)}" for name, values in grid.items())
    )


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
