"""Sizes and domains in a shape's code: literals if the shape determines them, otherwise slots of the check array."""

from fencepost.explorers.native.layout import Layout, ends_of, extent
from fencepost.explorers.native.llvm.builder import Builder
from fencepost.explorers.native.llvm.types import Memory, Records, Struct, Value, described, number
from fencepost.model.language.domains import NONE, Depending, Domain, End, First, Linear, linear
from fencepost.model.language.machine import Machine
from fencepost.model.language.records import FieldType, Record

ERROR, STATE = 0, 1
"""Slots of the check array for the code of the first error, and for the number of the state with that error."""
NOTHING = Linear({}, 0)


class Shape:
    """The layout of the check array `e`, an int64 array that is the first argument of all compiled code.

    `e[0]` is the code of the first error, `e[1]` the state that was being expanded. The following entries contain the
    packing of rows, and the numbers that depend on the run's constants: bounds of domains and lengths of arrays.
    """

    FIRST = 4

    def __init__(self, machine: Machine, layout: Layout) -> None:
        self.layout = layout
        self.rooms, self.lows = layout.rooms, layout.lows
        self.declared = machine.constants.declared()
        self.records = Records()
        self._slots: dict[object, int] = {}
        self.depends: list[Depending] = []
        """The meaning of each of the run's numbers in `e`, in order."""

    # -- memory

    def record(self, record: type[Record]) -> Struct:
        found = self.records.made(described(self.layout.memory(record)))
        assert isinstance(found, Struct)
        return found

    def memory(self, kind: FieldType) -> Memory:
        return self.records.made(described(self.layout.field(kind)))

    # -- numbers of the run

    def bound(self, build: Builder, e: Value, domain: Domain, *, high: bool) -> Value:
        least, most = ends_of(domain, self.rooms, self.lows)[high]
        if least == most:
            return number(least)
        return self.read(build, e, (domain, high), End(domain, high), least, most)

    def size(self, build: Builder, e: Value, value: Linear | int) -> Value:
        total = linear(value)
        least, most = extent(total, self.rooms, self.lows)
        if least == most:
            return number(least)
        return self.read(build, e, (tuple(total.terms.items()), total.offset), total, least, most)

    def first(self, build: Builder, e: Value, domain: Domain) -> Value:
        least, most = ends_of(domain, self.rooms, self.lows)[0]
        if least == most or not least <= NONE <= most:
            low = self.bound(build, e, domain, high=False)
            return number(0) if low.text == str(NONE) else low

        return self.read(build, e, (domain, "first"), First(domain), min(least, 0) if least < NONE else 0, max(most, 0))

    def read(self, build: Builder, e: Value, key: object, value: Depending, low: int, high: int) -> Value:
        if key not in self._slots:
            self._slots[key] = self.reserve(value)
        return build.read(*build.element(e, number(self._slots[key])))._replace(low=low, high=high)

    def reserve(self, value: Depending = NOTHING) -> int:
        self.depends.append(value)
        return self.FIRST + len(self.depends) - 1

    def reserve_all(self, count: int) -> int:
        first = self.reserve()
        for _ in range(count - 1):
            self.reserve()
        return first

    def least(self, domain: Domain) -> int:
        ends = ends_of(domain, self.rooms, self.lows)
        low, high = ends[0][1], ends[1][0]
        return high - (0 if low == NONE else low) + 1

    def most(self, domain: Domain) -> int:
        (low, _), (_, high) = ends_of(domain, self.rooms, self.lows)
        return max(0, high - (0 if low == NONE else low) + 1)
