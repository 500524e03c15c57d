"""The rows of a matrix of necessity: a guard that is removed, or a constant that is set otherwise."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from fencepost.explorers.program.removal import Guard, guards

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fencepost.model.language.constants import Constants
    from fencepost.model.language.machine import Machine


@dataclass(frozen=True)
class Setting:
    """A constant set to another value than the rest of the matrix has: a switch turned, another choice taken."""

    constant: str
    value: int
    condition: str
    sentence: str
    """The meaning of the constant."""

    @property
    def name(self) -> str:
        """The setting as it is written on the command line: `elr=on`."""
        return self.condition

    def values(self, constants: Constants) -> dict[str, int]:
        """Return the values of all constants under this setting."""
        return {**constants.values, self.constant: self.value}


Row = Guard | Setting


def rows_of(machine: Machine, constants: Constants, more: Mapping[str, tuple[int, ...]]) -> tuple[Row, ...]:
    """Return every guard, every switch turned, every other choice, and other values of constants that are named."""
    return (*guards(machine), *settings(constants, more))


def settings(constants: Constants, more: Mapping[str, tuple[int, ...]]) -> tuple[Setting, ...]:
    """Return the settings that differ in one constant: switches, choices, and values of others that are named."""
    found = []
    for name, constant in constants.declared().items():
        values = list(more.get(name, ()))
        if constant.kind is bool or issubclass(constant.kind, IntEnum):
            values += range(int(constant.low), int(constant.high) + 1)
        for value in dict.fromkeys(values):
            if value != int(constants.values[name]):
                word = {True: "on", False: "off"}.get(value == 1) if constant.kind is bool else constant.show(value)
                found.append(Setting(name, value, f"{name}={str(word).replace('_', '-')}", constant.meaning))
    return tuple(found)
