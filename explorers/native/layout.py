"""Rows: a state as a record in memory while code works on it, and as packed bits where it is kept.

In memory every field has whole bytes, aligned. Kept, it has the bits that its domain needs, in the order of memory. The way
between the two is the same code for every machine; what differs is data: for each word of memory, which of its bits are kept,
and what its fields are counted from.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from fencepost.model.language.domains import BitSet, Range, linear
from fencepost.model.language.errors import ModelError
from fencepost.model.language.records import ArrayOf, FieldType, Key, Nested, Record, Scalar, fields

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fencepost.model.language.constants import Constants
    from fencepost.model.language.domains import Domain, Linear

WORD = 8
"""Bytes of a word: rows are whole words, so that they hash and compare as such."""
BITS = 8 * WORD


class Leaf(NamedTuple):
    """A number in a record: where it is in memory, how many bytes it has there, how many bits it is kept in.

    What is kept is the number modulo 2**bits: with the least value known, no two values are alike.
    """

    offset: int
    bytes: int
    low: int
    bits: int


@dataclass(frozen=True)
class Layout:
    """How a state class is laid out for given rooms (the sizes that arrays are compiled for).

    `lows` and `rooms` are the least and the greatest values of the constants: memory is laid out for all of them. The bits that are
    kept follow from `values`, the constants of the run, where they are known.
    """

    state: type[Record]
    rooms: Mapping[str, int]
    lows: Mapping[str, int]
    wide: np.dtype[Any]
    """A state in memory."""
    values: Mapping[str, int] | None = None

    def at(self, constants: Constants) -> Layout:
        """Return the layout of a run: the same in memory, and what is kept is as narrow as these constants allow."""
        return replace(self, values=dict(constants.values))

    # -- in memory

    def memory(self, record: type[Record]) -> np.dtype[Any]:
        """Return a record of this class in memory."""
        return self.wide if record is self.state else np.dtype(_describe(record, self.rooms, self.lows), align=True)

    def field(self, kind: FieldType) -> np.dtype[Any]:
        """Return a field in memory."""
        found: np.dtype[Any] = _described(kind, self.rooms, self.lows)[0]
        return np.dtype(found)

    @cached_property
    def wide_words(self) -> int:
        """Words of a state in memory."""
        return self.wide.itemsize // WORD

    # -- kept

    @cached_property
    def leaves(self) -> tuple[Leaf, ...]:
        """Every number of a state, in the order of memory."""
        return tuple(self._leaves(self.state, self.wide, 0))

    @cached_property
    def bits(self) -> int:
        """Bits of a state that is kept."""
        return sum(leaf.bits for leaf in self.leaves)

    @cached_property
    def words(self) -> int:
        """Words of a row."""
        return max(1, -(-self.bits // BITS))

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """A row."""
        return np.dtype([("words", "<u8", (self.words,))])

    @cached_property
    def _places(self) -> Any:
        """The first bit of every leaf, nested as a key is."""
        at = iter(np.cumsum([0, *(leaf.bits for leaf in self.leaves)]).tolist())
        leaves = iter(self.leaves)
        return self._nested(self.state, at, leaves)

    def encode(self, keys: list[Key], constants: Constants) -> np.ndarray[Any, Any]:
        """Return rows of shape (len(keys),) that hold these states."""
        del constants
        rows = np.zeros(len(keys), self.dtype)
        for row, key in zip(rows, keys, strict=True):
            number = self._gathered(key, self._places)
            row["words"] = np.frombuffer(number.to_bytes(self.words * WORD, "little"), "<u8")
        return rows

    def decode(self, row: Any, constants: Constants) -> Key:
        """Return the key of a row."""
        number = int.from_bytes(row.tobytes(), "little")
        return self._read(number, self.state, self._places, constants)

    def unpack(self, rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return rows of shape (n,) as states in memory, whatever numbers they hold."""
        found = np.zeros(len(rows), self.wide)
        words, place = rows["words"], 0
        for leaf in self.leaves:
            if leaf.bits:
                word, shift = divmod(place, BITS)
                bits = words[:, word] >> np.uint64(shift)
                if shift + leaf.bits > BITS:
                    bits = bits | words[:, word + 1] << np.uint64(BITS - shift)
                mask, low = np.uint64((1 << leaf.bits) - 1), np.uint64(leaf.low % (1 << BITS))
                numbers = (((bits - low) & mask) + low).view(np.int64)
                column = np.ndarray(len(rows), f"i{leaf.bytes}", found.data, leaf.offset, (self.wide.itemsize,))
                column[:] = numbers
            place += leaf.bits
        return found

    def _gathered(self, value: Any, place: Any) -> int:
        if isinstance(place, _Place):
            return (int(value) & place.mask) << place.at
        if isinstance(place, _Bag):
            found = (len(value) & place.size.mask) << place.size.at
            return found | sum(self._gathered(item, slot) for item, slot in zip(value, place.slots, strict=False))
        return sum(self._gathered(item, inner) for item, inner in zip(value, place, strict=False))

    def _read(self, number: int, record: type[Record], places: Any, constants: Constants) -> Key:
        return tuple(
            self._read_field(number, field, place, constants) for (_, field), place in zip(fields(record), places, strict=True)
        )

    def _read_field(self, number: int, field: FieldType, place: Any, constants: Constants) -> Any:
        if isinstance(field, Scalar):
            return place.read(number)
        if isinstance(field, Nested):
            return self._read(number, field.record, place, constants)
        if isinstance(field, ArrayOf):
            length = field.length.value(constants.values)
            return tuple(self._read_field(number, field.element, item, constants) for item in place[:length])
        return tuple(self._read(number, field.record, item, constants) for item in place.slots[: place.size.read(number)])

    def _nested(self, record: type[Record], at: Iterator[int], leaves: Iterator[Leaf]) -> Any:
        return tuple(self._nested_field(field, at, leaves) for _, field in fields(record))

    def _nested_field(self, field: FieldType, at: Iterator[int], leaves: Iterator[Leaf]) -> Any:
        if isinstance(field, Scalar):
            leaf = next(leaves)
            return _Place(next(at), leaf.low, (1 << leaf.bits) - 1)
        if isinstance(field, Nested):
            return self._nested(field.record, at, leaves)
        if isinstance(field, ArrayOf):
            return tuple(self._nested_field(field.element, at, leaves) for _ in range(self.extent(field.length)))
        leaf = next(leaves)
        count = _Place(next(at), leaf.low, (1 << leaf.bits) - 1)
        return _Bag(count, tuple(self._nested(field.record, at, leaves) for _ in range(self.extent(field.room))))

    def extent(self, size: Linear | int) -> int:
        """Return how many elements an array of this length has room for."""
        return max(0, extent(size, self.rooms, self.lows)[1])

    def _used(self, size: Linear, *, used: bool) -> int:
        """Return how many elements of an array are in use; those behind them are always zero."""
        if not used:
            return 0
        return self.extent(size) if self.values is None else size.value(self.values)

    def _leaves(self, record: type[Record], dtype: np.dtype[Any], offset: int, *, used: bool = True) -> Iterator[Leaf]:
        for name, field in fields(record):
            inner, more = dtype.fields[name][:2]  # type: ignore[index]
            yield from self._leaves_of(field, inner, offset + more, used=used)

    def _leaves_of(self, field: FieldType, dtype: np.dtype[Any], offset: int, *, used: bool) -> Iterator[Leaf]:
        if isinstance(field, Scalar):
            if not used:
                low, high = 0, 0
            elif self.values is not None:
                low, high = field.domain.bounds(self.values)
            else:
                (low, _), (_, high) = ends_of(field.domain, self.rooms, self.lows)
            yield leaf_of(offset, dtype.itemsize, low, high)
        elif isinstance(field, Nested):
            yield from self._leaves(field.record, dtype, offset, used=used)
        elif isinstance(field, ArrayOf):
            assert dtype.subdtype is not None
            element, length = dtype.subdtype[0], self._used(field.length, used=used)
            for index in range(self.extent(field.length)):
                yield from self._leaves_of(field.element, element, offset + index * element.itemsize, used=index < length)
        else:
            count, place = dtype.fields["count"][:2]  # type: ignore[index]
            room = self._used(field.room, used=used)
            yield leaf_of(offset + place, count.itemsize, 0, room)
            items, start = dtype.fields["items"][:2]  # type: ignore[index]
            assert items.subdtype is not None
            message = items.subdtype[0]
            for index in range(self.extent(field.room)):
                yield from self._leaves(field.record, message, offset + start + index * message.itemsize, used=index < room)


class _Place(NamedTuple):
    at: int
    low: int
    mask: int

    def read(self, number: int) -> int:
        """Return the value that is kept in a row."""
        return (((number >> self.at) - self.low) & self.mask) + self.low


class _Bag(NamedTuple):
    size: _Place
    slots: tuple[Any, ...]


def leaf_of(offset: int, size: int, low: int, high: int) -> Leaf:
    """Return a number that lies between two ends or is 0, as what is unused is."""
    low, high = min(low, 0), max(high, 0)
    return Leaf(offset, size, low, (high - low).bit_length())


def layout_of(state: type[Record], constants: Constants) -> Layout:
    """Return the layout that serves these constants and all smaller ones of the same shape."""
    rooms = constants.rooms()
    lows = {name: int(item.low) for name, item in constants.declared().items()}
    wide = np.dtype(_describe(state, rooms, lows), align=True)
    padding = -wide.itemsize % WORD
    if padding or not wide.itemsize:
        wide = np.dtype([*_describe(state, rooms, lows), ("_padding", np.uint8, (padding or WORD,))], align=True)
        assert wide.itemsize % WORD == 0
    return Layout(state, rooms, lows, wide)


def _describe(record: type[Record], rooms: Mapping[str, int], lows: Mapping[str, int]) -> list[Any]:
    return [(name, *_described(field, rooms, lows)) for name, field in fields(record)]


def _described(field: FieldType, rooms: Mapping[str, int], lows: Mapping[str, int]) -> tuple[Any, ...]:
    if isinstance(field, Scalar):
        return (width(field.domain, rooms, lows),)
    if isinstance(field, Nested):
        return (np.dtype(_describe(field.record, rooms, lows), align=True),)
    if isinstance(field, ArrayOf):
        length = max(0, extent(field.length, rooms, lows)[1])
        (element,) = _described(field.element, rooms, lows)
        return (np.dtype((element, (length,))),)
    room = max(0, extent(field.room, rooms, lows)[1])
    message = np.dtype(_describe(field.record, rooms, lows), align=True)
    count = np.int16 if room > np.iinfo(np.int8).max else np.int8
    return (np.dtype([("count", count), ("items", message, (room,))], align=True),)


def extent(value: Linear | int, rooms: Mapping[str, int], lows: Mapping[str, int]) -> tuple[int, int]:
    """Return the least and the greatest value of a sum for any constants of this shape."""
    return linear(value).span(lows, rooms)


def ends_of(domain: Domain, rooms: Mapping[str, int], lows: Mapping[str, int]) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return how low and how high the low bound of a domain may be, and the same of its high bound."""
    if isinstance(domain, Range):
        return extent(domain.low, rooms, lows), extent(domain.high, rooms, lows)
    if isinstance(domain, BitSet):
        least, most = extent(domain.count, rooms, lows)
        return (0, 0), ((1 << max(0, least)) - 1, (1 << max(0, most)) - 1)
    low, high = domain.bounds(rooms)
    return (low, low), (high, high)


def width(domain: Domain, rooms: Mapping[str, int], lows: Mapping[str, int]) -> type[np.signedinteger[Any]]:
    """Return the narrowest signed integer type that holds the domain; raise ModelError if none does."""
    (low, _), (_, high) = ends_of(domain, rooms, lows)
    for kind in (np.int8, np.int16, np.int32, np.int64):
        limits = np.iinfo(kind)
        if limits.min <= low and high <= limits.max:
            return kind
    raise ModelError(f"{domain}: values from {low} to {high} do not fit 64 bits. Give its constants smaller ranges.")
