"""Domains: what a field or a parameter may hold. A domain carries its meaning and its bounds, which are sums of constants.

Fields are annotated with aliases, so that a type checker sees plain integers and Fencepost sees the domain:

    Offset = Annotated[int, Range(0, C.log_size)]
    Replica = Annotated[int, Index(C.replicas)]
"""

from __future__ import annotations

import typing
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from fencepost.model.language.errors import ModelError
from fencepost.model.language.names import look_at_operators, look_at_spellings

if TYPE_CHECKING:
    from collections.abc import Mapping

NONE = -1
"""No broker, no epoch, no offset. It is never an index: using it as one is an error."""


class Linear:
    """A sum of constants with integer factors: `2 * C.fences + C.elections + 1`."""

    def __init__(self, terms: Mapping[str, int], offset: int = 0) -> None:
        self.terms = {name: factor for name, factor in terms.items() if factor}
        self.offset = offset

    def value(self, values: Mapping[str, int]) -> int:
        """Return the sum for these values of the constants."""
        return self.offset + sum(factor * int(values[name]) for name, factor in self.terms.items())

    def source(self) -> str:
        """Return the sum as Python text over a record `c` of constants."""
        parts = [f"c.{name}" if factor == 1 else f"{factor} * c.{name}" for name, factor in self.terms.items()]
        if self.offset or not parts:
            parts.append(str(self.offset))
        return "(" + " + ".join(parts) + ")"

    def __add__(self, other: Linear | int) -> Linear:
        return _combine(self, other, 1)

    def __radd__(self, other: int) -> Linear:
        return _combine(self, other, 1)

    def __sub__(self, other: Linear | int) -> Linear:
        return _combine(self, other, -1)

    def __mul__(self, factor: int) -> Linear:
        return Linear({name: value * factor for name, value in self.terms.items()}, self.offset * factor)

    def __rmul__(self, factor: int) -> Linear:
        return self * factor

    def __repr__(self) -> str:
        return self.source().strip("()").replace("c.", "")


def linear(value: Linear | int) -> Linear:
    """Return `value` as a sum."""
    return value if isinstance(value, Linear) else Linear({}, int(value))


def _combine(left: Linear, right: Linear | int, sign: int) -> Linear:
    other = linear(right)
    names = {*left.terms, *other.terms}
    terms = {name: left.terms.get(name, 0) + sign * other.terms.get(name, 0) for name in sorted(names)}
    return Linear(terms, left.offset + sign * other.offset)


class Domain:
    """A set of integers from a low to a high bound, both included."""

    def bounds(self, values: Mapping[str, int]) -> tuple[int, int]:
        """Return (low, high) for these values of the constants."""
        raise NotImplementedError

    def show(self, value: int) -> str:
        """Return `value` as it reads in a trace."""
        return str(int(value))

    def spellings(self) -> dict[str, int]:
        """Return the words that `show` writes instead of numbers."""
        return {}


@dataclass(frozen=True)
class Range(Domain):
    """Whole numbers from `low` to `high`; -1 reads as `none` where the range starts there."""

    low: Linear | int
    high: Linear | int

    def bounds(self, values: Mapping[str, int]) -> tuple[int, int]:
        """Return (low, high) for these values of the constants."""
        return linear(self.low).value(values), linear(self.high).value(values)

    def show(self, value: int) -> str:
        """Return the number, or `none` for -1."""
        return "none" if value == NONE else str(int(value))

    def spellings(self) -> dict[str, int]:
        """Return the word for -1."""
        return {"none": NONE}


@dataclass(frozen=True)
class Index(Range):
    """One of `count` numbered things (a broker, a replica); NONE too where `none` is set."""

    def __init__(self, count: Linear | int, *, none: bool = False) -> None:
        object.__setattr__(self, "low", NONE if none else 0)
        object.__setattr__(self, "high", linear(count) - 1)

    @property
    def count(self) -> Linear:
        """How many things there are."""
        return linear(self.high) + 1


@dataclass(frozen=True)
class BitSet(Domain):
    """A set of numbered things as a bit mask: thing n is a member if bit n is set."""

    count: Linear | int

    def bounds(self, values: Mapping[str, int]) -> tuple[int, int]:
        """Return (0, all bits)."""
        count = linear(self.count).value(values)
        if count < 0:
            raise ModelError(f"a set has room for {count} things under these constants: give it 0 or more.")
        return 0, (1 << count) - 1

    def show(self, value: int) -> str:
        """Return the members in braces."""
        return "{" + ",".join(str(bit) for bit in range(int(value).bit_length()) if value >> bit & 1) + "}"


@dataclass(frozen=True)
class Flag(Domain):
    """False or true."""

    def bounds(self, values: Mapping[str, int]) -> tuple[int, int]:  # noqa: ARG002 (same for all constants)
        """Return (0, 1)."""
        return 0, 1

    def show(self, value: int) -> str:
        """Return `yes` or `no`."""
        return "yes" if value else "no"

    def spellings(self) -> dict[str, int]:
        """Return the two words."""
        return {"yes": 1, "no": 0}


@dataclass(frozen=True)
class Member(Domain):
    """A member of an enum."""

    enum: type[IntEnum]

    def bounds(self, values: Mapping[str, int]) -> tuple[int, int]:  # noqa: ARG002 (same for all constants)
        """Return the least and the greatest member."""
        return int(min(self.enum)), int(max(self.enum))

    def show(self, value: int) -> str:
        """Return the member's name in lower case, with dashes."""
        return self.enum(value).name.lower().replace("_", "-")

    def spellings(self) -> dict[str, int]:
        """Return all names."""
        return {self.show(member): int(member) for member in self.enum}


@dataclass(frozen=True)
class InFlight:
    """Parameter domain: a message in the bag of this name (a field of the state)."""

    bag: str


@dataclass(frozen=True)
class Size:
    """Length of an array or room of a bag, as a sum of constants."""

    length: Linear | int


def Per(alias: Any) -> Size:  # noqa: N802 (reads as a type in annotations)
    """Return the size of an array that has one element per value of an `Index` alias."""
    domain = domain_of(alias)
    if not isinstance(domain, Index):
        raise ModelError(f"Per() was given {alias!r}: it takes an alias such as Annotated[int, Index(C.brokers)].")
    return Size(domain.count)


def domain_of(annotation: Any) -> Domain | None:
    """Return the domain that an annotation carries: Annotated[int, domain], bool, an IntEnum, or a domain."""
    if isinstance(annotation, Domain):
        return annotation
    if annotation is bool:
        return Flag()
    if isinstance(annotation, type) and issubclass(annotation, IntEnum):
        look_at_operators(f"enum {annotation.__name__}", annotation)
        numbers = {int(member) for member in annotation}
        if not numbers:
            raise ModelError(f"enum {annotation.__name__} has no members, and a value must be one of them: write one.")
        gaps = sorted(set(range(min(numbers), max(numbers))) - numbers)
        look_at_spellings(f"enum {annotation.__name__}", annotation.__members__)
        if gaps:
            raise ModelError(f"enum {annotation.__name__} has no member for {gaps[0]}: number its members without gaps.")
        return Member(annotation)
    if typing.get_origin(annotation) is typing.Annotated:
        return next((item for item in typing.get_args(annotation)[1:] if isinstance(item, Domain)), None)
    return None
