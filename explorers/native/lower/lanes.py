"""Numbers and flags of several states at once: each number is a register with `LANES` lanes, one for each state."""

from collections.abc import Sequence
from dataclasses import dataclass

from fencepost.explorers.native.llvm.builder import BITWISE, SIGNED, Builder, ends
from fencepost.explorers.native.llvm.types import GREATEST, LEAST, Memory, Sort, Value, number

LANES = 16
"""Number of states processed side by side: the number of bytes in the registers that every processor has."""
MOST_WAYS = 8
"""Maximum number of different indices or shift counts among the lanes."""
_WIDTHS = (8, 16, 32, 64)
BITS = f"<{LANES} x i1>"
ALL = f"<{', '.join(['i1 true'] * LANES)}>"
NONE = "zeroinitializer"


class Unsuited(Exception):  # noqa: N818 (no error)
    """Raised for an expression that must be evaluated state by state."""


@dataclass(frozen=True)
class Lanes:
    text: str
    bits: int
    low: int
    high: int


@dataclass(frozen=True)
class Mask:
    text: str


@dataclass(frozen=True)
class Places:
    """A location in each lane: the last offset whose flag is set in that lane. The first offset has no flag."""

    ways: tuple[tuple[Mask | None, str], ...]
    memory: Memory
    offsets: frozenset[int]


Thing = Value | Lanes | Mask | Places


class Lanewise:
    """Code generator for operations on numbers and flags in lanes. A value common to all lanes stays a single value."""

    def __init__(self, build: Builder) -> None:
        self.build = build

    # -- numbers

    def as_number(self, found: Thing) -> Value | Lanes:
        if isinstance(found, Places):
            raise Unsuited
        if isinstance(found, Mask):
            return Lanes(self.build.value(f"zext {BITS} {found.text} to <{LANES} x i8>"), 8, 0, 1)
        return self.build.number(found) if isinstance(found, Value) else found

    def lanes(self, value: Value | Lanes, bits: int) -> str:
        """Return a number in lanes of `bits` bits, which must be wide enough for it."""
        build = self.build
        kind = f"<{LANES} x i{bits}>"
        if isinstance(value, Lanes):
            if value.bits == bits:
                return value.text
            name = "sext" if value.bits < bits else "trunc"
            return build.value(f"{name} <{LANES} x i{value.bits}> {value.text} to {kind}")
        if value.low == value.high:
            return f"<{', '.join([f'i{bits} {value.low}'] * LANES)}>"
        text = value.text if bits == max(_WIDTHS) else build.value(f"trunc i64 {value.text} to i{bits}")
        one = build.value(f"insertelement {kind} zeroinitializer, i{bits} {text}, i64 0")
        return build.value(f"shufflevector {kind} {one}, {kind} zeroinitializer, <{LANES} x i32> zeroinitializer")

    def together(self, values: Sequence[Value | Lanes], low: int = 0, high: int = 0) -> tuple[int, list[str]]:
        bits = width(min([low, *(item.low for item in values)]), max([high, *(item.high for item in values)]))
        return bits, [self.lanes(item, bits) for item in values]

    def sum(self, sign: str, left: Value | Lanes, right: Value | Lanes) -> Thing:
        low, high = _ends(sign, left, right)
        if low < LEAST or high > GREATEST:
            raise Unsuited
        if isinstance(left, Value) and isinstance(right, Value):
            return self.build.wrapped(sign, left, right)
        bits, (one, other) = self.together([left, right], low, high)
        name = {"+": "add", "-": "sub", "*": "mul"}[sign]
        return Lanes(self.build.value(f"{name} <{LANES} x i{bits}> {one}, {other}"), bits, low, high)

    def bitwise(self, sign: str, left: Value | Lanes, right: Value | Lanes) -> Thing:
        if isinstance(left, Value) and isinstance(right, Value):
            return self.build.bitwise(sign, left, right)
        bits, (one, other) = self.together([left, right])
        low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
        if left.low >= 0 and right.low >= 0:
            low, high = 0, (1 << max(left.high, right.high).bit_length()) - 1
        elif sign == "&" and max(left.low, right.low) >= 0:
            low, high = 0, left.high if left.low >= 0 else right.high
        return Lanes(self.build.value(f"{BITWISE[sign]} <{LANES} x i{bits}> {one}, {other}"), bits, low, high)

    def shifted(self, sign: str, value: Value | Lanes, count: Value | Lanes) -> Thing:
        """Return a shifted value. The count must be between 0 and the number of bits of a lane."""
        if count.low < 0 or count.high >= max(_WIDTHS):
            raise Unsuited
        if sign == "<<" and (value.low < 0 or value.high << count.high > GREATEST):
            raise Unsuited
        if isinstance(value, Value) and isinstance(count, Value):
            return self.build.shifted(sign, value, count)
        if isinstance(count, Value):
            return self.moved(sign, value, count)
        if count.high - count.low >= MOST_WAYS:
            raise Unsuited
        found = self.as_number(self.moved(sign, value, number(count.low)))
        for by in range(count.low + 1, count.high + 1):
            moved = self.as_number(self.moved(sign, value, number(by)))
            found = self.chosen(self.compared("==", count, number(by)), moved, found)
        return found

    def moved(self, sign: str, value: Value | Lanes, count: Value) -> Thing:
        name, shift = ("shl", int.__lshift__) if sign == "<<" else ("ashr", int.__rshift__)
        shifts = [shift(end, by) for end in (value.low, value.high) for by in (count.low, count.high)]
        low, high = min(shifts), max(shifts)
        needed = width(min(low, value.low), max(high, value.high))
        bits = max(needed, width(0, 1 << (count.high - 1) if count.high else 0))
        text = f"{name} <{LANES} x i{bits}> {self.lanes(value, bits)}, {self.lanes(count, bits)}"
        return Lanes(self.build.value(text), bits, low, high)

    def extreme(self, one: Value | Lanes, other: Value | Lanes, *, greatest: bool) -> Value | Lanes:
        if isinstance(one, Value) and isinstance(other, Value):
            return self.build.greatest([one, other]) if greatest else self.build.least([one, other])
        return self.chosen(self.compared(">" if greatest else "<", one, other), one, other, greatest=greatest)

    def chosen(
        self, test: Value | Mask, yes: Value | Lanes, no: Value | Lanes, *, greatest: bool | None = None
    ) -> Lanes:
        bits, (one, other) = self.together([yes, no])
        kind = f"<{LANES} x i{bits}>"
        condition = f"{BITS} {test.text}" if isinstance(test, Mask) else f"i1 {self.build.flag(test).text}"
        ends_ = (min, max) if greatest is None else (max, max) if greatest else (min, min)
        low, high = ends_[0](yes.low, no.low), ends_[1](yes.high, no.high)
        return Lanes(self.build.value(f"select {condition}, {kind} {one}, {kind} {other}"), bits, low, high)

    # -- flags

    def as_flag(self, found: Thing) -> Value | Mask:
        if isinstance(found, Places):
            raise Unsuited
        if isinstance(found, Lanes):
            return self.compared("!=", found, number(0))
        return self.build.flag(found) if isinstance(found, Value) else found

    def compared(self, sign: str, left: Value | Lanes, right: Value | Lanes) -> Value | Mask:
        if isinstance(left, Value) and isinstance(right, Value):
            return self.build.compared(sign, left, right)
        bits, (one, other) = self.together([left, right])
        return Mask(self.build.value(f"icmp {SIGNED[sign]} <{LANES} x i{bits}> {one}, {other}"))

    def mask(self, found: Value | Mask) -> Mask:
        if isinstance(found, Mask):
            return found
        known = {"true": ALL, "false": NONE}.get(found.text)
        return Mask(known or self.build.value(f"select i1 {found.text}, {BITS} {ALL}, {BITS} {NONE}"))

    def both(self, one: Value | Mask, other: Value | Mask) -> Value | Mask:
        return self.joined("&", one, other)

    def either(self, one: Value | Mask, other: Value | Mask) -> Value | Mask:
        return self.joined("|", one, other)

    def joined(self, sign: str, one: Value | Mask, other: Value | Mask) -> Value | Mask:
        decides = "false" if sign == "&" else "true"
        for item, rest in ((one, other), (other, one)):
            if isinstance(item, Value) and item.text in ("true", "false"):
                return item if item.text == decides else rest
        if isinstance(one, Value) and isinstance(other, Value):
            return self.build.joined(sign, one, other)
        return Mask(self.build.value(f"{BITWISE[sign]} {BITS} {self.mask(one).text}, {self.mask(other).text}"))

    def negated(self, found: Value | Mask) -> Value | Mask:
        if isinstance(found, Value):
            return self.build.negated(found)
        return Mask(self.build.value(f"xor {BITS} {found.text}, {ALL}"))

    def bits(self, found: Value | Mask) -> Value:
        """Return flags as the bits of a number, the first lane in the lowest bit."""
        text = self.build.value(f"bitcast {BITS} {self.mask(found).text} to i{LANES}")
        return Value(self.build.value(f"zext i{LANES} {text} to i64"), Sort.NUMBER, 0, (1 << LANES) - 1)


def width(low: int, high: int) -> int:
    found = next((bits for bits in _WIDTHS if -(1 << (bits - 1)) <= low and high < 1 << (bits - 1)), None)
    if found is None:
        raise Unsuited
    return found


def _ends(sign: str, left: Value | Lanes, right: Value | Lanes) -> tuple[int, int]:
    one, other = (Value("", Sort.NUMBER, item.low, item.high) for item in (left, right))
    return ends(sign, one, other)
