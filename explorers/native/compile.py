"""Compiled machines: the kernels of a model beside those that all machines share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from fencepost.explorers.native.generate import Source, generate
from fencepost.explorers.native.llvm.libraries import is_kept, library
from fencepost.explorers.native.llvm.objects import CHEAP, LEVEL, has_fast_bits
from fencepost.explorers.native.llvm.unit import Unit
from fencepost.explorers.native.lower.machine import CODES
from fencepost.explorers.native.lower.rows import Rows
from fencepost.explorers.verdict import Compiled
from fencepost.model.language.bounds import ENOUGH, counted_bounds
from fencepost.model.language.errors import MismatchError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fencepost.explorers.native.layout import Layout
    from fencepost.explorers.native.llvm.libraries import Kernel, Library
    from fencepost.model.language.actions import Property
    from fencepost.model.language.bounds import BoundCount
    from fencepost.model.language.constants import Constants
    from fencepost.model.language.machine import Machine

NO_PARENT = 0xFFFFFFFF


@dataclass(frozen=True)
class Kernels:
    """The compiled kernels of one machine and shape, callable with numpy arrays."""

    source: Source
    module: Any
    level: int
    """How much the code is optimized."""
    compiled: Compiled
    """What compiling it took."""

    def constants(self, constants: Constants) -> np.ndarray[Any, Any]:
        """Return the constants as the array that the kernels take."""
        return np.array([int(value) for value in constants.values.values()], np.int64)

    def checks(self, constants: Constants) -> np.ndarray[Any, Any]:
        """Return a fresh check array for these constants."""
        source = self.source
        found = np.array(source.shape.values(constants.values), np.int64)
        data = Rows.data(self.layout(constants), fast=has_fast_bits())
        found[source.rows : source.rows + len(data)] = data
        return found

    def layout(self, constants: Constants) -> Layout:
        """Return how states are kept under these constants, which must be of the shape that was compiled."""
        return self.source.layout.at(constants)

    def must_judge(self, properties: tuple[Property, ...]) -> None:
        """Raise MismatchError if one of these is not among the compiled properties: it would never be evaluated, and hold."""
        missing = [item.name for item in properties if item not in self.source.state_properties + self.source.step_properties]
        if missing:
            raise MismatchError(
                f"{', '.join(missing)} was not compiled, and cannot be judged. This is a defect of Fencepost: please report it."
            )


def still_counted(source: Source, counters: Sequence[int]) -> int:
    """Return the bounds that the next level counts, as bits: those that were not reached in enough states yet."""
    states = counters[len(source.guards) : len(source.guards) + len(source.bounds)]
    return sum(1 << place for place, count in enumerate(states) if count < ENOUGH)


def count_bounds(source: Source, checks: np.ndarray[Any, Any], bounds: int) -> None:
    """Have these bounds counted; the array of refusals needs room for `source.counters`."""
    if source.counting is not None:
        checks[source.counting] = bounds


def bounds_reached(source: Source, constants: Constants, counters: Sequence[int]) -> tuple[BoundCount, ...]:
    """Return what was counted of bounds, given all counters of refusals."""
    first, many = len(source.guards), len(source.bounds)
    states = dict(zip(source.bounds, counters[first : first + many], strict=True))
    together = {name for name, count in zip(source.bounds, counters[first + many :], strict=True) if count}
    return counted_bounds(constants, source.bounds, states, together)


@cache
def shared() -> dict[str, Kernel]:
    """Return the kernels that all machines share."""
    found, _ = library(Unit(Path(__file__).with_name("kernels.py").read_text(), codes=CODES))
    return found.kernels()


def is_cached(source: Source, level: int = LEVEL) -> bool:
    """Say whether this module was compiled before, by this back end."""
    return is_kept(source.unit, level)


def compiled(
    machine: Machine,
    constants: Constants,
    properties: tuple[Property, ...],
    *,
    normalize: bool = True,
    masked: bool = False,
) -> Kernels:
    """Return the kernels of a machine, from the cache or compiled now; `masked`: its guards can be turned off."""
    return load(generate(machine, constants, properties, normalize=normalize, masked=masked))


def load(source: Source, level: int = LEVEL) -> Kernels:
    """Return the kernels of a generated module, from the cache or compiled now."""
    return bound(source, library(source.unit, level)[0], level)


def bound(source: Source, found: Library, level: int) -> Kernels:
    """Return the kernels of a library."""
    made = Compiled("cheap" if level == CHEAP else "optimized", found.seconds, found.memory)
    return Kernels(source, SimpleNamespace(**shared(), **found.kernels()), level, made)
