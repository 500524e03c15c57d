"""The check array: what generated code compares indices, values and lengths with, and where it leaves an error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.explorers.native.layout import ends_of, extent
from fencepost.model.language.constants import SHAPE, Linear, linear
from fencepost.model.language.domains import NONE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fencepost.model.language.domains import Domain
    from fencepost.model.language.subset import Program


class Checks:
    """The layout of the check array `_e`, an int64 array that every generated function gets first.

    `_e[0]` is the code of the first error, `_e[1]` the state that was being expanded; then come the values that
    depend on constants of the run: bounds of domains and lengths of arrays, computed by `values`.
    """

    FIRST = 4

    def __init__(self, program: Program, rooms: Mapping[str, int], lows: Mapping[str, int]) -> None:
        declared = program.machine.constants.declared()
        self.rooms, self.lows = rooms, lows
        self.exact = {name: rooms[name] for name, item in declared.items() if item.sort == SHAPE}
        self._slots: dict[object, int] = {}
        self._read: list[Callable[[Mapping[str, int]], int]] = []

    def values(self, constants: Mapping[str, int]) -> list[int]:
        """Return the content of `_e` for these constants."""
        return [0] * self.FIRST + [read(constants) for read in self._read]

    def bounds(self, domain: Domain) -> tuple[str, str]:
        """Return the low and the high bound of a domain as text."""
        if domain not in self._slots:
            self._slots[domain] = self._add(lambda values: domain.bounds(values)[0])
            self._add(lambda values: domain.bounds(values)[1])
        slot = self._slots[domain]
        return f"_e[{slot}]", f"_e[{slot + 1}]"

    def ends(self, domain: Domain, end: str) -> tuple[int, int]:
        """Return how low and how high the `low` or the `high` bound of a domain may be in this shape."""
        return ends_of(domain, self.rooms, self.lows)[end == "high"]

    def least(self, domain: Domain) -> int:
        """Return how few values a domain may have in this shape, NONE left out."""
        low, high = self.ends(domain, "low")[1], self.ends(domain, "high")[0]
        return high - (0 if low == NONE else low) + 1

    def most(self, value: Linear | int) -> int:
        """Return the greatest value of a sum of constants in this shape."""
        return extent(value, self.rooms, self.lows)[1]

    def slot(self, domain: Domain) -> int:
        """Return the slot of a domain's low bound; the high bound follows it."""
        self.bounds(domain)
        return self._slots[domain]

    def size(self, value: Linear | int) -> str:
        """Return a sum of constants as text: a number where the shape fixes it."""
        total = linear(value)
        if all(name in self.exact for name in total.terms):
            return str(total.value(self.exact))
        key = (tuple(total.terms.items()), total.offset)
        if key not in self._slots:
            self._slots[key] = self._add(total.value)
        return f"_e[{self._slots[key]}]"

    def reserve(self) -> int:
        """Return a slot of its own, which holds 0 at the start of a run."""
        return self._add(lambda _: 0)

    def _add(self, read: Callable[[Mapping[str, int]], int]) -> int:
        self._read.append(read)
        return self.FIRST + len(self._read) - 1
