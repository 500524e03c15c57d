"""Layouts of states: a record in memory while code works on it, and packed bits in storage.

In memory, every field occupies whole, aligned bytes. In storage, the fields have the same order, but occupy only as
many bits as their domains need. The same code converts between memory and storage for every machine, because a table
contains the stored bits of each word, and the least value of each field.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from fencepost.model.language.constants import Constants
from fencepost.model.language.domains import BitSet, Depending, Domain, End, Linear, Range, linear
from fencepost.model.language.records import ArrayOf, FieldType, Key, Nested, Record, Scalar, fields

WORD = 8
"""Bytes per word. States consist of whole words, so that rows can be hashed and compared word by word."""
BITS = 8 * WORD
STEPS = 6
"""Number of steps in gathering bits without a special instruction; they move bits by 1, 2, 4, ... 32 positions."""
ENTRY = 8 + STEPS
"""Number of entries in the check array for each memory word that has stored bits."""
HEAD = 3
"""Number of header entries: words per row, number of entries, and a flag for special instructions."""


class Leaf(NamedTuple):
    """A number in a record: its position and size in memory, and its bits in storage. The number is stored modulo
    2**bits; its least value is needed to decode it.
    """

    offset: int
    bytes: int
    low: int
    bits: int


class Entry(NamedTuple):
    word: int
    mask: int
    base: int
    """The negated minimum value of each of the word's fields, in the bytes of that field."""
    tops: int
    """Highest bits of the fields to which a minimum value is added."""
    bits: int
    shift: int
    """Position of the number's first bit in `source`, a word of the row. The last bit is in `last`."""
    source: int
    last: int
    moves: tuple[int, ...]
    """Bits that move in each step of gathering."""


@dataclass(frozen=True)
class Layout:
    """The layout of a state class for given `rooms`, the sizes for which arrays are compiled.

    One memory layout serves all constants from `lows` to `rooms`. `numbers` contains the values of `depends` in a run,
    which determine the stored bits.
    """

    state: type[Record]
    rooms: Mapping[str, int]
    lows: Mapping[str, int]
    wide: np.dtype[Any]
    """A state in memory."""
    spots: "tuple[Spot, ...]"
    """Every number of a state, in memory order."""
    shape: tuple[Any, ...]
    """Positions of numbers, nested like a key, with a bag's size before the bag's messages."""
    depends: tuple[Depending, ...]
    """Parts that depend on a run's constants: bounds of domains, array lengths and bag capacities."""
    numbers: tuple[int, ...]
    exact: bool = False
    """Whether the layout serves only the constants that yield `numbers`."""

    def at(self, numbers: Sequence[int]) -> "Layout":
        """Return a layout for one run, with the same memory layout and with rows as narrow as the constants allow."""
        return replace(self, numbers=tuple(numbers))

    # -- in memory

    def memory(self, record: type[Record]) -> np.dtype[Any]:
        return self.wide if record is self.state else record_of(record, self.rooms, self.lows)

    def field(self, kind: FieldType) -> np.dtype[Any]:
        found: np.dtype[Any] = _described(kind, self.rooms, self.lows)[0]
        return np.dtype(found)

    def extent(self, size: Linear | int) -> int:
        return room_of(size, self.rooms, self.lows)

    # -- kept

    @cached_property
    def leaves(self) -> tuple[Leaf, ...]:
        found, ends = [], self.numbers
        for spot in self.spots:
            used = all(index < ends[length] for index, length in spot.limits)
            low, high = (min(ends[spot.low], 0), max(ends[spot.high], 0)) if used else (0, 0)
            found.append(Leaf(spot.offset, spot.bytes, low, (high - low).bit_length()))
        return tuple(found)

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        return tuple(self.numbers[place] for place in _lengths(self.shape))

    @cached_property
    def bits(self) -> int:
        return sum(leaf.bits for leaf in self.leaves)

    @cached_property
    def words(self) -> int:
        return max(1, -(-self.bits // BITS))

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype([("words", "<u8", (self.words,))])

    @cached_property
    def _places(self) -> Any:
        firsts = np.cumsum([0, *(leaf.bits for leaf in self.leaves)]).tolist()
        spots = [_Place(at, leaf.low, (1 << leaf.bits) - 1) for at, leaf in zip(firsts, self.leaves, strict=False)]
        return self._placed(self.shape, spots)

    def _placed(self, shape: Any, spots: "list[_Place]") -> Any:
        if isinstance(shape, int):
            return spots[shape]
        if isinstance(shape, ArraySpots):
            return tuple(self._placed(item, spots) for item in shape.elements[: self.numbers[shape.length]])
        if isinstance(shape, BagSpots):
            return BagSpots(spots[shape.size], tuple(self._placed(item, spots) for item in shape.slots))
        return tuple(self._placed(item, spots) for item in shape)

    def encode(self, keys: list[Key]) -> np.ndarray[Any, Any]:
        rows = np.zeros(len(keys), self.dtype)
        for row, key in zip(rows, keys, strict=True):
            number = _gathered(key, self._places)
            row["words"] = np.frombuffer(number.to_bytes(self.words * WORD, "little"), "<u8")
        return rows

    def decode(self, row: Any) -> Key:
        found: Key = _read(int.from_bytes(row.tobytes(), "little"), self._places)
        return found

    def unpack(self, rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return rows (n,) as states in memory, without checking the values."""
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

    def packing(self, *, fast: bool) -> list[int]:
        """Return the data for packing and unpacking in compiled code. `fast` selects special instructions."""
        made = entries(self)
        found = [self.words, len(made), int(fast)]
        for item in made:
            found += [*item[:-1], *item.moves]
        found += [0] * (packing_size(self) - len(found))
        return [value - (1 << BITS) if value >> (BITS - 1) else value for value in found]


class _Place(NamedTuple):
    at: int
    low: int
    mask: int

    def read(self, number: int) -> int:
        return (((number >> self.at) - self.low) & self.mask) + self.low


def _lengths(shape: Any) -> Iterator[int]:
    if isinstance(shape, ArraySpots):
        yield shape.length
        shape = shape.elements
    elif isinstance(shape, BagSpots):
        shape = shape.slots
    if isinstance(shape, tuple):
        for item in shape:
            yield from _lengths(item)


def _gathered(value: Any, place: Any) -> int:
    if isinstance(place, _Place):
        return (int(value) & place.mask) << place.at
    if isinstance(place, BagSpots):
        found: int = (len(value) & place.size.mask) << place.size.at
        return found | sum(_gathered(item, slot) for item, slot in zip(value, place.slots, strict=False))
    return sum(_gathered(item, inner) for item, inner in zip(value, place, strict=False))


def _read(number: int, place: Any) -> Any:
    if isinstance(place, _Place):
        return place.read(number)
    inner = place.slots[: place.size.read(number)] if isinstance(place, BagSpots) else place
    return tuple(_read(number, item) for item in inner)


def packing_size(layout: Layout) -> int:
    return HEAD + ENTRY * (layout.wide.itemsize // WORD)


def entries(layout: Layout) -> list[Entry]:
    masks: dict[int, list[int]] = {}
    for leaf in layout.leaves:
        if not leaf.bits:
            continue
        found = masks.setdefault(leaf.offset // WORD, [0, 0, 0])
        at = leaf.offset % WORD * 8
        found[0] |= ((1 << leaf.bits) - 1) << at
        if leaf.low < 0 and leaf.bits < 8 * leaf.bytes:
            found[1] |= -leaf.low << at
            found[2] |= 1 << (at + 8 * leaf.bytes - 1)
    result, place = [], 0
    for position, (mask, base, tops) in sorted(masks.items()):
        count, source = mask.bit_count(), place // BITS
        last = (place + count - 1) // BITS
        result.append(Entry(position, mask, base, tops, count, place % BITS, source, last, moves(mask)))
        place += count
    return result


def moves(mask: int) -> tuple[int, ...]:
    """Return the bits that move by 1, 2, 4, ... positions when a mask's bits are gathered (Hacker's Delight, 7-4)."""
    full = (1 << BITS) - 1
    left, found = ~mask << 1 & full, []
    for step in range(STEPS):
        parity = left
        for shift in range(STEPS):
            parity ^= parity << (1 << shift) & full
        moved = parity & mask
        found.append(moved)
        mask = (mask ^ moved) | moved >> (1 << step)
        left &= ~parity
    return tuple(found)


def layout_of(state: type[Record], constants: Constants, *, exact: bool = False) -> Layout:
    """Return the layout for these constants and, unless `exact`, for all smaller constants of the same shape."""
    lows = {name: int(item.low) for name, item in constants.declared().items()}
    rooms = constants.rooms
    if exact:
        lows = rooms = {name: int(value) for name, value in constants.values.items()}
    wide = state_of(state, rooms, lows)
    spots = Spots(rooms, lows)
    shape = spots.record(state, wide, 0, ())
    return Layout(state, rooms, lows, wide, tuple(spots.found), shape, tuple(spots.depends), tuple(spots.widest), exact)


class Spot(NamedTuple):
    """A number in a record before a run's constants are known. The number's bounds are positions in `depends`.

    The number is in use if its index in each enclosing array is below the array's length. For each of these arrays,
    `limits` contains the index and the position of the length.
    """

    offset: int
    bytes: int
    low: int
    high: int
    limits: tuple[tuple[int, int], ...]


class ArraySpots(NamedTuple):
    length: int
    """Position of the array's length among the numbers that depend on constants."""
    elements: tuple[Any, ...]


class BagSpots(NamedTuple):
    size: Any
    slots: tuple[Any, ...]


class Spots:
    def __init__(self, rooms: Mapping[str, int], lows: Mapping[str, int]) -> None:
        self.rooms, self.lows = rooms, lows
        self.found: list[Spot] = []
        self.depends: list[Depending] = []
        self.widest: list[int] = []
        """For each number that depends on constants, the value with the largest magnitude in any run."""
        self._known: dict[tuple[int, bool], int] = {}

    def record(
        self, record: type[Record], dtype: np.dtype[Any], offset: int, limits: tuple[tuple[int, int], ...]
    ) -> tuple[Any, ...]:
        found = []
        for name, field in fields(record):
            inner, more = dtype.fields[name][:2]  # type: ignore[index]
            found.append(self._field(field, inner, offset + more, limits))
        return tuple(found)

    def _field(self, field: FieldType, dtype: np.dtype[Any], offset: int, limits: tuple[tuple[int, int], ...]) -> Any:
        if isinstance(field, Scalar):
            (least, _), (_, most) = ends_of(field.domain, self.rooms, self.lows)
            ends = self._end(field.domain, least, high=False), self._end(field.domain, most, high=True)
            return self._spot(offset, dtype.itemsize, *ends, limits)
        if isinstance(field, Nested):
            return self.record(field.record, dtype, offset, limits)
        if isinstance(field, ArrayOf):
            assert dtype.subdtype is not None
            element, room = dtype.subdtype[0], room_of(field.length, self.rooms, self.lows)
            length = self._number(field.length, room)
            return ArraySpots(
                length,
                tuple(
                    self._field(field.element, element, offset + index * element.itemsize, (*limits, (index, length)))
                    for index in range(room)
                ),
            )
        count, place = dtype.fields["count"][:2]  # type: ignore[index]
        room = room_of(field.room, self.rooms, self.lows)
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

    def _number(self, depending: Depending, widest: int) -> int:
        self.depends.append(depending)
        self.widest.append(widest)
        return len(self.depends) - 1

    def _spot(self, offset: int, size: int, low: int, high: int, limits: tuple[tuple[int, int], ...]) -> int:
        self.found.append(Spot(offset, size, low, high, limits))
        return len(self.found) - 1


def state_of(state: type[Record], rooms: Mapping[str, int], lows: Mapping[str, int]) -> np.dtype[Any]:
    wide = np.dtype(_describe(state, rooms, lows), align=True)
    padding = -wide.itemsize % WORD
    if padding or not wide.itemsize:
        wide = np.dtype([*_describe(state, rooms, lows), ("_padding", np.uint8, (padding or WORD,))], align=True)
        assert wide.itemsize % WORD == 0
    return wide


def record_of(record: type[Record], rooms: Mapping[str, int], lows: Mapping[str, int]) -> np.dtype[Any]:
    return np.dtype(_describe(record, rooms, lows), align=True)


def _describe(record: type[Record], rooms: Mapping[str, int], lows: Mapping[str, int]) -> list[Any]:
    return [(name, *_described(field, rooms, lows)) for name, field in fields(record)]


def _described(field: FieldType, rooms: Mapping[str, int], lows: Mapping[str, int]) -> tuple[Any, ...]:
    if isinstance(field, Scalar):
        return (width(field.domain, rooms, lows),)
    if isinstance(field, Nested):
        return (np.dtype(_describe(field.record, rooms, lows), align=True),)
    if isinstance(field, ArrayOf):
        length = max(1, extent(field.length, rooms, lows)[1])  # an invalid index reads element 0
        (element,) = _described(field.element, rooms, lows)
        return (np.dtype((element, (length,))),)
    room = room_of(field.room, rooms, lows)
    message = np.dtype(_describe(field.record, rooms, lows), align=True)
    return (np.dtype([("count", width(Range(0, field.room), rooms, lows)), ("items", message, (room,))], align=True),)


def extent(value: Linear | int, rooms: Mapping[str, int], lows: Mapping[str, int]) -> tuple[int, int]:
    return linear(value).span(lows, rooms)


def room_of(size: Linear | int, rooms: Mapping[str, int], lows: Mapping[str, int]) -> int:
    return max(0, extent(size, rooms, lows)[1])


def ends_of(
    domain: Domain, rooms: Mapping[str, int], lows: Mapping[str, int]
) -> tuple[tuple[int, int], tuple[int, int]]:
    if isinstance(domain, Range):
        return extent(domain.low, rooms, lows), extent(domain.high, rooms, lows)
    if isinstance(domain, BitSet):
        least, most = extent(domain.count, rooms, lows)
        return (0, 0), ((1 << max(0, least)) - 1, (1 << max(0, most)) - 1)
    low, high = domain.bounds(rooms)
    return (low, low), (high, high)


def width(domain: Domain, rooms: Mapping[str, int], lows: Mapping[str, int]) -> type[np.signedinteger[Any]]:
    (low, _), (_, high) = ends_of(domain, rooms, lows)
    kinds = (np.int8, np.int16, np.int32, np.int64)
    return next(kind for kind in kinds if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max)
