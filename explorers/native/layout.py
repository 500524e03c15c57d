"""Rows: a state as one record of a numpy structured array, and the way there and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from fencepost.model.language.constants import linear
from fencepost.model.language.domains import BitSet, Range
from fencepost.model.language.errors import ModelError
from fencepost.model.language.records import ArrayOf, FieldType, Key, Nested, Record, Scalar, fields

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fencepost.model.language.constants import Constants, Linear
    from fencepost.model.language.domains import Domain

WORD = 8
"""Rows are padded to whole 64-bit words, so that they hash and compare as such."""


@dataclass(frozen=True)
class Layout:
    """The numpy layout of a state class for given rooms (sizes the arrays are compiled for)."""

    state: type[Record]
    rooms: Mapping[str, int]
    lows: Mapping[str, int]
    dtype: np.dtype[Any]

    @property
    def words(self) -> int:
        """64-bit words in a row."""
        return self.dtype.itemsize // WORD

    def encode(self, keys: list[Key], constants: Constants) -> np.ndarray[Any, Any]:
        """Return rows of shape (len(keys),) that hold these states."""
        rows = np.zeros(len(keys), self.dtype)
        for row, key in zip(rows, keys, strict=True):
            self._write(row, self.state, key)
        del constants
        return rows

    def decode(self, row: Any, constants: Constants) -> Key:
        """Return the key of a row."""
        return self._read(row, self.state, constants)

    def _write(self, row: Any, record: type[Record], key: Key) -> None:
        for (name, field), value in zip(fields(record), key, strict=True):
            if isinstance(field, Scalar):
                row[name] = value
            elif isinstance(field, Nested):
                self._write(row[name], field.record, value)
            elif isinstance(field, ArrayOf):
                for index, item in enumerate(value):
                    if isinstance(field.element, Scalar):
                        row[name][index] = item
                    else:
                        self._write(row[name][index], field.element.record, item)
            else:
                row[name]["count"] = len(value)
                for index, item in enumerate(value):
                    self._write(row[name]["items"][index], field.record, item)

    def _read(self, row: Any, record: type[Record], constants: Constants) -> Key:
        return tuple(self._read_field(row[name], field, constants) for name, field in fields(record))

    def _read_field(self, value: Any, field: FieldType, constants: Constants) -> Any:
        if isinstance(field, Scalar):
            return int(value)
        if isinstance(field, Nested):
            return self._read(value, field.record, constants)
        if isinstance(field, ArrayOf):
            length = field.length.value(constants.values)
            if isinstance(field.element, Scalar):
                return tuple(int(item) for item in value[:length])
            return tuple(self._read(item, field.element.record, constants) for item in value[:length])
        return tuple(self._read(item, field.record, constants) for item in value["items"][: int(value["count"])])


def layout_of(state: type[Record], constants: Constants) -> Layout:
    """Return the layout that serves these constants and all smaller ones of the same shape."""
    rooms = constants.rooms()
    lows = {name: rooms[name] if item.sort == "shape" else int(item.low) for name, item in constants.declared().items()}
    described = _describe(state, rooms, lows)
    size = np.dtype(described).itemsize
    padding = -size % WORD
    if padding:
        described = [*described, ("_padding", np.uint8, (padding,))]
    return Layout(state, rooms, lows, np.dtype(described))


def _describe(record: type[Record], rooms: Mapping[str, int], lows: Mapping[str, int]) -> list[Any]:
    return [(name, *_described(field, rooms, lows)) for name, field in fields(record)]


def _described(field: FieldType, rooms: Mapping[str, int], lows: Mapping[str, int]) -> tuple[Any, ...]:
    if isinstance(field, Scalar):
        return (width(field.domain, rooms, lows),)
    if isinstance(field, Nested):
        return (_describe(field.record, rooms, lows),)
    if isinstance(field, ArrayOf):
        return (*_described(field.element, rooms, lows), (extent(field.length, rooms, lows)[1],))
    room = extent(field.room, rooms, lows)[1]
    items = (_describe(field.record, rooms, lows), (room,))
    return ([("count", np.int16 if room > np.iinfo(np.int8).max else np.int8), ("items", *items)],)


def extent(value: Linear | int, rooms: Mapping[str, int], lows: Mapping[str, int]) -> tuple[int, int]:
    """Return the least and the greatest value of a sum for any constants of this shape."""
    total = linear(value)
    ends = [sorted((factor * lows[name], factor * rooms[name])) for name, factor in total.terms.items()]
    return total.offset + sum(low for low, _ in ends), total.offset + sum(high for _, high in ends)


def ends_of(domain: Domain, rooms: Mapping[str, int], lows: Mapping[str, int]) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return how low and how high the low bound of a domain may be, and the same of its high bound."""
    if isinstance(domain, Range):
        return extent(domain.low, rooms, lows), extent(domain.high, rooms, lows)
    if isinstance(domain, BitSet):
        least, most = extent(domain.count, rooms, lows)
        return (0, 0), ((1 << least) - 1, (1 << most) - 1)
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
