"""What code of one shape knows of sizes and domains: numbers where the shape fixes them, else slots of the check array."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fencepost.explorers.native.layout import Layout, ends_of, extent
from fencepost.explorers.native.llvm.types import Records, Struct, Value, described, number
from fencepost.model.language.domains import NONE, linear

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fencepost.explorers.native.llvm.builder import Builder
    from fencepost.explorers.native.llvm.types import Memory
    from fencepost.model.language.domains import Domain, Linear
    from fencepost.model.language.machine import Machine
    from fencepost.model.language.records import FieldType, Record

ERROR, STATE = 0, 1
"""Places in the check array: the code of the first error, and the number of the state that it happened in."""


class Ends(NamedTuple):
    """Places of the two bounds of a domain in the check array; None where the shape fixes the bound."""

    low: int | None
    high: int | None


class Shape:
    """The layout of the check array `e`, an int64 array that every function of compiled code gets first.

    `e[0]` is the code of the first error, `e[1]` the state that was being expanded. Then come the words of the row's packing,
    and what depends on constants of the run: bounds of domains and lengths of arrays, computed by `values`.
    """

    FIRST = 4

    def __init__(self, machine: Machine, layout: Layout) -> None:
        self.layout = layout
        self.rooms, self.lows = layout.rooms, layout.lows
        self.declared = machine.constants.declared()
        self.exact: dict[str, int] = {}
        self.records = Records()
        self._slots: dict[object, int] = {}
        self._read: list[Callable[[Mapping[str, int]], int]] = []

    def values(self, constants: Mapping[str, int]) -> list[int]:
        """Return the content of `e` for these constants."""
        return [0] * self.FIRST + [read(constants) for read in self._read]

    # -- memory

    def record(self, record: type[Record]) -> Struct:
        """Return a record in memory."""
        found = self.records.made(described(self.layout.memory(record)))
        assert isinstance(found, Struct)
        return found

    def memory(self, kind: FieldType) -> Memory:
        """Return a field in memory."""
        return self.records.made(described(self.layout.field(kind)))

    # -- numbers of the run

    def bound(self, build: Builder, e: Value, domain: Domain, *, high: bool) -> Value:
        """Return one of the bounds of a domain."""
        least, most = ends_of(domain, self.rooms, self.lows)[high]
        if least == most:
            return number(least)
        return self.read(build, e, (domain, high), lambda values: domain.bounds(values)[high], least, most)

    def size(self, build: Builder, e: Value, value: Linear | int) -> Value:
        """Return a sum of constants."""
        total = linear(value)
        if all(name in self.exact for name in total.names):
            return number(total.value(self.exact))
        least, most = extent(total, self.rooms, self.lows)
        return self.read(build, e, (tuple(total.terms.items()), total.offset), total.value, least, most)

    def first(self, build: Builder, e: Value, domain: Domain) -> Value:
        """Return the first value of a domain, NONE left out."""
        least, most = ends_of(domain, self.rooms, self.lows)[0]
        if least == most or not least <= NONE <= most:
            low = self.bound(build, e, domain, high=False)
            return number(0) if low.text == str(NONE) else low

        def chosen(values: Mapping[str, int]) -> int:
            low = domain.bounds(values)[0]
            return 0 if low == NONE else low

        return self.read(build, e, (domain, "first"), chosen, min(least, 0) if least < NONE else 0, max(most, 0))

    def read(
        self, build: Builder, e: Value, key: object, value: Callable[[Mapping[str, int]], int], low: int, high: int
    ) -> Value:
        """Return a number that depends on constants of the run, the same slot for the same key."""
        if key not in self._slots:
            self._slots[key] = self.reserve(value)
        address, memory = build.element(e, number(self._slots[key]))
        return build.read(address, memory)._replace(low=low, high=high)

    def reserve(self, value: Callable[[Mapping[str, int]], int] = lambda _: 0) -> int:
        """Return a slot of its own, which holds this at the start of a run."""
        self._read.append(value)
        return self.FIRST + len(self._read) - 1

    def reserve_all(self, count: int) -> int:
        """Return the first of so many slots in a row, which are filled otherwise."""
        first = self.reserve()
        for _ in range(count - 1):
            self.reserve()
        return first

    def least(self, domain: Domain) -> int:
        """Return how few values a domain may have in this shape, NONE left out."""
        ends = ends_of(domain, self.rooms, self.lows)
        low, high = ends[0][1], ends[1][0]
        return high - (0 if low == NONE else low) + 1

    def most(self, domain: Domain) -> int:
        """Return how many values a domain may have in this shape, NONE left out."""
        (low, _), (_, high) = ends_of(domain, self.rooms, self.lows)
        return max(0, high - (0 if low == NONE else low) + 1)
