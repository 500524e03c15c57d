"""A state as a record of whole, aligned bytes in memory, and the ends of sums in a shape."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from fencepost.model.language.domains import BitSet, Domain, Linear, Range, linear
from fencepost.model.language.errors import ModelError
from fencepost.model.language.records import ArrayOf, FieldType, Nested, Record, Scalar, fields

WORD = 8
"""Bytes of a word: states are whole words, so that rows hash and compare as such."""


def state_of(state: type[Record], rooms: Mapping[str, int], lows: Mapping[str, int]) -> np.dtype[Any]:
    """Return a state in memory, padded to whole words."""
    wide = np.dtype(_describe(state, rooms, lows), align=True)
    padding = -wide.itemsize % WORD
    if padding or not wide.itemsize:
        wide = np.dtype([*_describe(state, rooms, lows), ("_padding", np.uint8, (padding or WORD,))], align=True)
        assert wide.itemsize % WORD == 0
    return wide


def record_of(record: type[Record], rooms: Mapping[str, int], lows: Mapping[str, int]) -> np.dtype[Any]:
    return np.dtype(_describe(record, rooms, lows), align=True)


def field_of(kind: FieldType, rooms: Mapping[str, int], lows: Mapping[str, int]) -> np.dtype[Any]:
    found: np.dtype[Any] = _described(kind, rooms, lows)[0]
    return np.dtype(found)


def _describe(record: type[Record], rooms: Mapping[str, int], lows: Mapping[str, int]) -> list[Any]:
    return [(name, *_described(field, rooms, lows)) for name, field in fields(record)]


def _described(field: FieldType, rooms: Mapping[str, int], lows: Mapping[str, int]) -> tuple[Any, ...]:
    if isinstance(field, Scalar):
        return (width(field.domain, rooms, lows),)
    if isinstance(field, Nested):
        return (np.dtype(_describe(field.record, rooms, lows), align=True),)
    if isinstance(field, ArrayOf):
        length = max(1, extent(field.length, rooms, lows)[1])  # an index that is wrong goes on with the first element
        (element,) = _described(field.element, rooms, lows)
        return (np.dtype((element, (length,))),)
    room = max(0, extent(field.room, rooms, lows)[1])
    message = np.dtype(_describe(field.record, rooms, lows), align=True)
    return (np.dtype([("count", width(Range(0, field.room), rooms, lows)), ("items", message, (room,))], align=True),)


def extent(value: Linear | int, rooms: Mapping[str, int], lows: Mapping[str, int]) -> tuple[int, int]:
    """Return the least and the greatest value of a sum for any constants of this shape."""
    return linear(value).span(lows, rooms)


def ends_of(
    domain: Domain, rooms: Mapping[str, int], lows: Mapping[str, int]
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the least and greatest low bound of a domain, and the least and greatest high bound."""
    if isinstance(domain, Range):
        return extent(domain.low, rooms, lows), extent(domain.high, rooms, lows)
    if isinstance(domain, BitSet):
        least, most = extent(domain.count, rooms, lows)
        return (0, 0), ((1 << max(0, least)) - 1, (1 << max(0, most)) - 1)
    low, high = domain.bounds(rooms)
    return (low, low), (high, high)


def width(domain: Domain, rooms: Mapping[str, int], lows: Mapping[str, int]) -> type[np.signedinteger[Any]]:
    """Return the narrowest signed integer type for a domain; raise ModelError if no type is wide enough."""
    (low, _), (_, high) = ends_of(domain, rooms, lows)
    for kind in (np.int8, np.int16, np.int32, np.int64):
        limits = np.iinfo(kind)
        if limits.min <= low and high <= limits.max:
            return kind
    raise ModelError(f"{domain}: values from {low} to {high} do not fit 64 bits. Give its constants smaller ranges.")
