"""Types of memory and of values, in the few sorts that models and kernels have."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

LEAST, GREATEST = -(1 << 63), (1 << 63) - 1
WORD_BITS = 64


@dataclass(frozen=True)
class Cell:
    """A whole number in memory."""

    bytes: int
    signed: bool


@dataclass(frozen=True)
class Vector:
    """An array of fixed length inside a record."""

    element: Memory
    count: int

    @property
    def bytes(self) -> int:
        """Bytes of all elements."""
        return self.element.bytes * self.count


class Struct:
    """A record: its fields by name, each with its offset in bytes. Records are the same if they are one object."""

    def __init__(self, fields: Mapping[str, tuple[int, Memory]], size: int) -> None:
        self.fields, self.bytes = fields, size


Memory = Cell | Vector | Struct


class Sort(Enum):
    """Values that live in a register."""

    NUMBER = "i64"
    """Signed, 64 bits."""
    WORD = "u64"
    """Unsigned, 64 bits, wraps around."""
    FLAG = "i1"
    NOTHING = "void"


@dataclass(frozen=True)
class View:
    """An array owned by a caller of compiled code: an address and its lengths; `fixed` ones are known."""

    element: Memory
    fixed: tuple[int | None, ...]


class Named:
    """An array of numbers that are read by name, each between two ends."""

    def __init__(self, names: Mapping[str, tuple[int, int, int]]) -> None:
        self.names = names
        """Place, least and greatest value."""


@dataclass(frozen=True)
class Code:
    """The address of a compiled function."""

    parameters: tuple[Type, ...]
    result: Sort


Type = Sort | Struct | Vector | View | Named | Code


class Value(NamedTuple):
    """A value: its text in LLVM IR, its type, and for a number the least and the greatest that it can be."""

    text: str
    type: Type
    low: int = LEAST
    high: int = GREATEST
    lengths: tuple[Value, ...] = ()
    """Of a view."""


NOTHING = Value("", Sort.NOTHING)


def number(value: int) -> Value:
    return Value(str(value), Sort.NUMBER, value, value)


def word(value: int) -> Value:
    """Return an unsigned number that is known; LLVM writes it as a signed one."""
    return Value(str(value - (1 << WORD_BITS) if value > GREATEST else value), Sort.WORD, value, value)


def flag(value: bool) -> Value:  # noqa: FBT001 (a literal)
    return Value("true" if value else "false", Sort.FLAG)


def spelled(kind: Type) -> str:
    """Return how LLVM spells the type of a register."""
    if isinstance(kind, Sort):
        return "i64" if kind is Sort.WORD else kind.value
    return "ptr"


CELLS = {f"{sign}{8 * size}": Cell(size, sign == "i") for sign in "iu" for size in (1, 2, 4, 8)}


class Records:
    """Makes memory types of "i16", (element, count), or a record as ((name, offset, field), ...) and size."""

    def __init__(self) -> None:
        self._made: dict[Any, Memory] = {}

    def made(self, plain: Any) -> Memory:
        """Return the type of a description, the same object for equal ones."""
        if isinstance(plain, str):
            return CELLS[plain]
        if plain not in self._made:
            if plain[0] == "record":
                _, inner, size = plain
                self._made[plain] = Struct({name: (offset, self.made(field)) for name, offset, field in inner}, size)
            else:
                _, element, count = plain
                self._made[plain] = Vector(self.made(element), count)
        return self._made[plain]


def described(dtype: Any) -> Any:
    """Return a dtype of numpy as a plain description, which can be compared, hashed and sent."""
    if dtype.subdtype is not None:
        element, (count,) = dtype.subdtype
        return ("array", described(element), count)
    if dtype.fields is not None:
        return (
            "record",
            tuple((name, dtype.fields[name][1], described(dtype.fields[name][0])) for name in dtype.names),
            dtype.itemsize,
        )
    return f"{dtype.kind}{8 * dtype.itemsize}"
