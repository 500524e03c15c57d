"""Domains: the values of a field or a parameter, with their meaning. The bounds of a domain are sums of constants.

Fields are annotated with aliases, so that a type checker sees plain integers and Fencepost sees the domain:

    Offset = Annotated[int, Range(0, C.log_size)]
    Replica = Annotated[int, Index(C.replicas)]
"""

import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Self

from fencepost.model.language.errors import ModelError
from fencepost.model.language.names import require_distinct_spellings, require_usable_names

NONE = -1
"""No broker, no epoch, or no offset. NONE as an index is an error."""


class Linear:
    """A sum of constants with integer factors, such as `2 * C.fences + C.elections + 1`."""

    def __init__(self, terms: Mapping[str, int], offset: int = 0) -> None:
        self.terms = {name: factor for name, factor in terms.items() if factor}
        self.offset = offset

    def value(self, values: Mapping[str, int]) -> int:
        """Return the sum for these values of the constants."""
        return self.offset + sum(factor * _value_of(name, values) for name, factor in self.terms.items())

    @property
    def names(self) -> set[str]:
        """Return the names of the constants in the sum."""
        return {inner for name in self.terms for inner in (name.names if isinstance(name, Extreme) else {name})}

    def span(self, lows: Mapping[str, int], highs: Mapping[str, int]) -> tuple[int, int]:
        """Return the least and greatest value of the sum for constants in these ranges."""
        low = high = self.offset
        for name, factor in self.terms.items():
            ends = name.span(lows, highs) if isinstance(name, Extreme) else (lows[name], highs[name])
            least, most = sorted(factor * int(end) for end in ends)
            low, high = low + least, high + most
        return low, high

    def source(self) -> str:
        """Return the sum as Python text that reads constants from a record `c`."""
        words = {name: name.source() if isinstance(name, Extreme) else f"c.{name}" for name in self.terms}
        parts = [words[name] if factor == 1 else f"{factor} * {words[name]}" for name, factor in self.terms.items()]
        if self.offset or not parts:
            parts.append(str(self.offset))
        return "(" + " + ".join(parts) + ")"

    def __add__(self, other: "Linear | int") -> "Linear":
        return _combine(self, other, 1)

    def __radd__(self, other: int) -> "Linear":
        return _combine(self, other, 1)

    def __sub__(self, other: "Linear | int") -> "Linear":
        return _combine(self, other, -1)

    def __rsub__(self, other: int) -> "Linear":
        return -self + other

    def __neg__(self) -> "Linear":
        return self * -1

    def __mul__(self, factor: int) -> "Linear":
        return Linear({name: value * factor for name, value in self.terms.items()}, self.offset * factor)

    def __rmul__(self, factor: int) -> "Linear":
        return self * factor

    def __floordiv__(self, other: object) -> "Linear":
        raise ModelError(
            f"{self!r} is divided in a declaration, but only +, - and * by a number are allowed there. "
            "Declare a constant of that size."
        )

    __truediv__ = __mod__ = __pow__ = __floordiv__

    def __repr__(self) -> str:
        return self.source().strip("()").replace("c.", "")

    def __lt__(self, other: object) -> bool:
        raise ModelError(
            f"{self!r} is compared with {other!r} in a declaration, where constants have no values: write "
            "largest(C.a, C.b) or smallest(C.a, C.b) instead of max and min."
        )

    __gt__ = __le__ = __ge__ = __lt__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Linear) and (self.terms, self.offset) == (other.terms, other.offset)

    def __hash__(self) -> int:
        return hash((frozenset(self.terms.items()), self.offset))


class Extreme(str):
    """The greatest or the least of some sums of constants. An extreme can be used like a constant in a sum."""

    __slots__ = ("greatest", "parts")
    greatest: bool
    parts: tuple[Linear, ...]

    def __new__(cls, parts: tuple[Linear, ...], greatest: bool) -> Self:  # noqa: FBT001 (pickled by place)
        """Create the expression and its text."""
        made = super().__new__(cls, f"{'largest' if greatest else 'smallest'}({', '.join(map(repr, parts))})")
        made.parts, made.greatest = parts, greatest
        return made

    def __getnewargs__(self) -> tuple[tuple[Linear, ...], bool]:  # type: ignore[override]  # not the text
        return self.parts, self.greatest

    @property
    def names(self) -> set[str]:
        """Return the names of the constants in the sums."""
        return {name for part in self.parts for name in part.names}

    def of(self, values: Iterable[int]) -> int:
        """Return the greatest or the least of `values`."""
        return max(values) if self.greatest else min(values)

    def span(self, lows: Mapping[str, int], highs: Mapping[str, int]) -> tuple[int, int]:
        """Return the least and greatest value for constants in these ranges."""
        ends = [part.span(lows, highs) for part in self.parts]
        return self.of(low for low, _ in ends), self.of(high for _, high in ends)

    def source(self) -> str:
        """Return the expression as Python text that reads constants from a record `c`."""
        return f"{'max' if self.greatest else 'min'}({', '.join(part.source() for part in self.parts)})"


def _value_of(name: str, values: Mapping[str, int]) -> int:
    return name.of(part.value(values) for part in name.parts) if isinstance(name, Extreme) else int(values[name])


def largest(*sums: Linear | int) -> Linear:
    """Return the greatest of several sums of constants, such as `C.reads` and `C.writes`, for domains and sizes."""
    return Linear({Extreme(tuple(map(linear, sums)), True): 1})


def smallest(*sums: Linear | int) -> Linear:
    """Return the least of several sums of constants, for domains and sizes."""
    return Linear({Extreme(tuple(map(linear, sums)), False): 1})


def linear(value: Linear | int) -> Linear:
    """Convert `value` to a sum."""
    return value if isinstance(value, Linear) else Linear({}, int(value))


def _combine(left: Linear, right: Linear | int, sign: int) -> Linear:
    other = linear(right)
    names = {*left.terms, *other.terms}
    terms = {name: left.terms.get(name, 0) + sign * other.terms.get(name, 0) for name in sorted(names)}
    return Linear(terms, left.offset + sign * other.offset)


class Domain:
    """The integers from a low to a high bound, inclusive."""

    def bounds(self, values: Mapping[str, int]) -> tuple[int, int]:
        """Return (low, high) for these values of the constants."""
        raise NotImplementedError

    def show(self, value: int) -> str:
        """Return `value` in the form used in traces."""
        return str(int(value))

    def spellings(self) -> dict[str, int]:
        """Return the words that `show` uses instead of numbers."""
        return {}


@dataclass(frozen=True)
class Range(Domain):
    """Whole numbers from `low` to `high`. If the range starts at -1, that value is shown as `none`."""

    low: Linear | int
    high: Linear | int

    def bounds(self, values: Mapping[str, int]) -> tuple[int, int]:
        """Return (low, high) for these values of the constants."""
        return linear(self.low).value(values), linear(self.high).value(values)

    def show(self, value: int) -> str:
        """Return the number as text, or `none` for -1 if the range starts at -1."""
        return next((word for word, number in self.spellings().items() if number == value), str(int(value)))

    def spellings(self) -> dict[str, int]:
        """Return the word `none` for -1 if the range starts at -1."""
        return {"none": NONE} if linear(self.low) == Linear({}, NONE) else {}


@dataclass(frozen=True)
class Index(Range):
    """One of `count` numbered things, such as brokers or replicas. If `none` is set, the value may also be NONE."""

    def __init__(self, count: Linear | int, *, none: bool = False) -> None:
        object.__setattr__(self, "low", NONE if none else 0)
        object.__setattr__(self, "high", linear(count) - 1)

    @property
    def count(self) -> Linear:
        """Return the number of things."""
        return linear(self.high) + 1


@dataclass(frozen=True)
class BitSet(Domain):
    """A set of numbered things as a bit mask, in which bit n is set if thing n is a member."""

    count: Linear | int

    def bounds(self, values: Mapping[str, int]) -> tuple[int, int]:
        """Return (0, all bits)."""
        count = linear(self.count).value(values)
        if count < 0:
            raise ModelError(f"a set has room for {count} members under these constants: the number must be 0 or more.")
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
class End:
    """A bound of a domain, as a number that depends on constants."""

    domain: Domain
    high: bool

    def value(self, values: Mapping[str, int]) -> int:
        """Return the bound for these values of the constants."""
        return self.domain.bounds(values)[self.high]


@dataclass(frozen=True)
class First:
    """The first value of a domain, excluding NONE."""

    domain: Domain

    def value(self, values: Mapping[str, int]) -> int:
        """Return the first value other than NONE under given constants."""
        low = self.domain.bounds(values)[0]
        return 0 if low == NONE else low


Depending = Linear | End | First
"""A number that depends on the constants of a run."""


def evaluated(numbers: Iterable[Depending], values: Mapping[str, int]) -> list[int]:
    """Return the values of numbers that depend on constants."""
    return [item.value(values) for item in numbers]


@dataclass(frozen=True)
class InFlight:
    """Domain of a parameter whose value is a message in a bag. `bag` is the name of a field of the state."""

    bag: str

    def __post_init__(self) -> None:
        if not isinstance(self.bag, str):
            raise ModelError(
                "InFlight takes the name of a bag as a string: write InFlight('messages') for the field `messages` "
                "of the state."
            )


@dataclass(frozen=True)
class Size:
    """The length of an array or the capacity of a bag, as a sum of constants."""

    length: Linear | int


def Per(alias: Any) -> Size:  # noqa: N802 (reads as a type in annotations)
    """Return the size of an array with one element for each value of an `Index` alias."""
    domain = domain_of(alias)
    if not isinstance(domain, Index):
        raise ModelError(
            f"Per() takes an alias of an Index, but was given {_kind_of(alias, domain)}: to set another length, write "
            "Size(n)."
        )
    return Size(domain.count)


def _kind_of(alias: Any, domain: Domain | None) -> str:
    if domain is not None:
        return f"a {type(domain).__name__}"
    return alias.__name__ if isinstance(alias, type) else repr(alias)


def domain_of(annotation: Any) -> Domain | None:
    """Return the domain of an annotation, which is Annotated[int, domain], bool, an IntEnum, or a domain."""
    if isinstance(annotation, Domain):
        return annotation
    if annotation is bool:
        return Flag()
    if isinstance(annotation, type) and issubclass(annotation, IntEnum):
        require_usable_names(f"enum {annotation.__name__}", annotation)
        numbers = {int(member) for member in annotation}
        if not numbers:
            raise ModelError(f"enum {annotation.__name__} has no members: declare at least one.")
        gaps = sorted(set(range(min(numbers), max(numbers))) - numbers)
        require_distinct_spellings(f"enum {annotation.__name__}", annotation.__members__)
        if gaps:
            raise ModelError(
                f"enum {annotation.__name__} has no member for {gaps[0]}: number its members without gaps."
            )
        return Member(annotation)
    if typing.get_origin(annotation) is typing.Annotated:
        return next((item for item in typing.get_args(annotation)[1:] if isinstance(item, Domain)), None)
    return None
