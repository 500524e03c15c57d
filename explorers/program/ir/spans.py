"""Spans: bounds of numbers as sums of constants, and what follows from them for all constants of a machine."""

from collections.abc import Mapping
from dataclasses import dataclass

from fencepost.explorers.program.ir.nodes import LEAST, MOST
from fencepost.model.language.constants import Constant
from fencepost.model.language.domains import NONE, BitSet, Domain, Linear, Range, linear

End = Linear | int


@dataclass(frozen=True, slots=True)
class Span:
    """Numbers from one end to the other, both included; an end is a number or a sum of constants.

    `bits`, if known: the number is a set of at most this many members, so it is not negative and has no higher bit.
    """

    low: End
    high: End
    bits: End | None = None


WIDE = Span(LEAST, MOST)
FLAG = Span(0, 1)


class Box:
    """The possible values of a machine's constants."""

    def __init__(self, declared: Mapping[str, Constant[int]]) -> None:
        self.lows = {name: int(item.low) for name, item in declared.items()}
        self.highs = {name: int(item.high) for name, item in declared.items()}

    def least(self, end: End) -> int:
        return end if isinstance(end, int) else self._extreme(end, 0)

    def most(self, end: End) -> int:
        return end if isinstance(end, int) else self._extreme(end, 1)

    def _extreme(self, end: Linear, side: int) -> int:
        return end.span(self.lows, self.highs)[side]

    def at_most(self, one: End, other: End) -> bool:
        """Return whether one end is at most the other for all constants."""
        if isinstance(one, int) and isinstance(other, int):
            return one <= other
        return self._extreme(linear(other) - one, 0) >= 0

    def low(self, span: Span) -> int:
        return self.least(span.low)

    def high(self, span: Span) -> int:
        return self.most(span.high)

    def within(self, span: Span, outer: Span) -> bool:
        """Return whether a span is surely inside another."""
        if not (self.at_most(outer.low, span.low) and self.at_most(span.high, outer.high)):
            return False
        if outer.bits is None or (span.bits is not None and self.at_most(span.bits, outer.bits)):
            return True
        return self.low(span) >= 0 and self.high(span).bit_length() <= max(0, self.least(outer.bits))

    def fits(self, span: Span) -> bool:
        return self.low(span) >= LEAST and self.high(span) <= MOST

    def clamped(self, span: Span) -> Span:
        """Return the part of a span that fits 64 bits."""
        if self.fits(span):
            return span
        return Span(
            span.low if self.low(span) >= LEAST else LEAST, span.high if self.high(span) <= MOST else MOST, span.bits
        )

    def lowest(self, one: End, other: End) -> End:
        if self.at_most(one, other):
            return one
        return other if self.at_most(other, one) else min(self.least(one), self.least(other))

    def highest(self, one: End, other: End) -> End:
        if self.at_most(other, one):
            return one
        return other if self.at_most(one, other) else max(self.most(one), self.most(other))

    def hull(self, one: Span, other: Span) -> Span:
        """Return the smallest span known to cover both."""
        bits = None if one.bits is None or other.bits is None else self.highest(one.bits, other.bits)
        return Span(self.lowest(one.low, other.low), self.highest(one.high, other.high), bits)

    def domain(self, domain: Domain) -> Span:
        if isinstance(domain, Range):
            return Span(domain.low, domain.high)
        if isinstance(domain, BitSet):
            return Span(0, (1 << max(0, self.most(domain.count))) - 1, domain.count)
        return Span(*domain.bounds({}))

    def choices(self, domain: Domain) -> Span:
        """Return a span that covers the values of a parameter, which are never NONE."""
        span = self.domain(domain)
        low = 0 if isinstance(span.low, int) and span.low == NONE else span.low
        if not isinstance(low, int) and not low.terms and low.offset == NONE:
            low = 0
        return Span(low, span.high)


def minus(one: End, other: End) -> End:
    return one - other if isinstance(one, int) and isinstance(other, int) else linear(one) - other
