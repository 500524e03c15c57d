"""The numbers of a state, found in its class: their places in memory, and the constants they depend on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from fencepost.explorers.native.memory_layout import ends_of, extent
from fencepost.model.language.domains import End, Linear
from fencepost.model.language.records import ArrayOf, FieldType, Nested, Record, Scalar, fields

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy as np
    from fencepost.model.language.domains import Depending, Domain


class Spot(NamedTuple):
    """A number in a record before the constants of a run are known; its ends are places among the
    numbers that depend on them.

    It is in use if it is in the part of each array that it lies in which is: (its index there,
    the place of the length).
    """

    offset: int
    bytes: int
    low: int
    high: int
    limits: tuple[tuple[int, int], ...]


class ArraySpots(NamedTuple):
    """The spots of an array, nested as its elements are."""

    length: int
    """The place of its length among the numbers that depend on constants."""
    elements: tuple[Any, ...]


class BagSpots(NamedTuple):
    """The spots of a bag: of its size, and nested as its messages are."""

    size: Any
    slots: tuple[Any, ...]


class Spots:
    """Goes through a state, and finds its numbers and what they depend on."""

    def __init__(self, rooms: Mapping[str, int], lows: Mapping[str, int]) -> None:
        self.rooms, self.lows = rooms, lows
        self.found: list[Spot] = []
        self.depends: list[Depending] = []
        self.widest: list[int] = []
        """What that comes to in the run in which it is furthest from 0."""
        self._known: dict[tuple[int, bool], int] = {}

    def record(
        self, record: type[Record], dtype: np.dtype[Any], offset: int, limits: tuple[tuple[int, int], ...]
    ) -> tuple[Any, ...]:
        """Return the shape of a record."""
        return tuple(self._fields(record, dtype, offset, limits))

    def _fields(
        self, record: type[Record], dtype: np.dtype[Any], offset: int, limits: tuple[tuple[int, int], ...]
    ) -> Iterator[Any]:
        for name, field in fields(record):
            inner, more = dtype.fields[name][:2]  # type: ignore[index]
            yield self._field(field, inner, offset + more, limits)

    def _field(self, field: FieldType, dtype: np.dtype[Any], offset: int, limits: tuple[tuple[int, int], ...]) -> Any:
        if isinstance(field, Scalar):
            (least, _), (_, most) = ends_of(field.domain, self.rooms, self.lows)
            ends = self._end(field.domain, least, high=False), self._end(field.domain, most, high=True)
            return self._spot(offset, dtype.itemsize, *ends, limits)
        if isinstance(field, Nested):
            return self.record(field.record, dtype, offset, limits)
        if isinstance(field, ArrayOf):
            assert dtype.subdtype is not None
            element, room = dtype.subdtype[0], self._room(field.length)
            length = self._number(field.length, room)
            return ArraySpots(
                length,
                tuple(
                    self._field(field.element, element, offset + index * element.itemsize, (*limits, (index, length)))
                    for index in range(room)
                ),
            )
        count, place = dtype.fields["count"][:2]  # type: ignore[index]
        room = self._room(field.room)
        most = self._number(field.room, room)
        size = self._spot(offset + place, count.itemsize, self._number(Linear({}, 0), 0), most, limits)
        items, start = dtype.fields["items"][:2]  # type: ignore[index]
        assert items.subdtype is not None
        message = items.subdtype[0]
        slots = (
            self.record(field.record, message, offset + start + index * message.itemsize, (*limits, (index, most)))
            for index in range(room)
        )
        return BagSpots(size, tuple(slots))

    def _end(self, domain: Domain, widest: int, *, high: bool) -> int:
        known = (id(domain), high)
        if known not in self._known:
            self._known[known] = self._number(End(domain, high=high), widest)
        return self._known[known]

    def _room(self, size: Linear) -> int:
        return max(0, extent(size, self.rooms, self.lows)[1])

    def _number(self, depending: Depending, widest: int) -> int:
        self.depends.append(depending)
        self.widest.append(widest)
        return len(self.depends) - 1

    def _spot(self, offset: int, size: int, low: int, high: int, limits: tuple[tuple[int, int], ...]) -> int:
        self.found.append(Spot(offset, size, low, high, limits))
        return len(self.found) - 1
