"""Types of memory and values that models and kernels need, and units of translation. Plain Python ignores them."""

import ctypes
import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

LEAST, GREATEST = -(1 << 63), (1 << 63) - 1
WORD_BITS = 64


@dataclass(frozen=True)
class Cell:
    bytes: int
    signed: bool


@dataclass(frozen=True)
class Vector:
    element: "Memory"
    count: int

    @property
    def bytes(self) -> int:
        return self.element.bytes * self.count


class Struct:
    """A record type: fields by name, each with an offset in bytes. Equal types share one object."""

    def __init__(self, fields: "Mapping[str, tuple[int, Memory]]", size: int) -> None:
        self.fields, self.bytes = fields, size


Memory = Cell | Vector | Struct


class Sort(Enum):
    NUMBER = "i64"
    WORD = "u64"
    """Unsigned 64-bit numbers, which wrap around."""
    FLAG = "i1"
    NOTHING = "void"


@dataclass(frozen=True)
class View:
    """The address and lengths of an array that the caller of compiled code owns. `fixed` lists known lengths."""

    element: Memory
    fixed: tuple[int | None, ...]


class Named:
    """An array of numbers that are read by name, each with known bounds."""

    def __init__(self, names: Mapping[str, tuple[int, int, int]]) -> None:
        self.names = names
        """The position, least value and greatest value of each name."""


@dataclass(frozen=True)
class Code:
    parameters: "tuple[Type, ...]"
    result: Sort


Type = Sort | Struct | Vector | View | Named | Code


class Value(NamedTuple):
    text: str
    type: Type
    low: int = LEAST
    high: int = GREATEST
    lengths: "tuple[Value, ...]" = ()


NOTHING = Value("", Sort.NOTHING)


def number(value: int) -> Value:
    return Value(str(value), Sort.NUMBER, value, value)


def word(value: int) -> Value:
    return Value(str(value - (1 << WORD_BITS) if value > GREATEST else value), Sort.WORD, value, value)


def flag(value: bool) -> Value:  # noqa: FBT001 (a literal)
    return Value("true" if value else "false", Sort.FLAG)


def spelled(kind: Type) -> str:
    if isinstance(kind, Sort):
        return "i64" if kind is Sort.WORD else kind.value
    return "ptr"


CELLS = {f"{sign}{8 * size}": Cell(size, sign == "i") for sign in "iu" for size in (1, 2, 4, 8)}


class Records:
    def __init__(self) -> None:
        self._made: dict[Any, Memory] = {}

    def made(self, plain: Any) -> Memory:
        """Return the type for a description. Equal descriptions yield the same object."""
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


F = TypeVar("F", bound="Callable[..., Any]")


def kernel(function: F) -> F:
    """Mark a function that is called from outside. Its parameters and result are annotated as `Unit` describes."""
    return function


def helper(function: F) -> F:
    return function


def prefetch(array: Any, *index: Any) -> None:
    del array, index


def take(tasks: Any) -> int:
    """Return a counter's value and increment the counter atomically."""
    tasks[0] += 1
    return int(tasks[0]) - 1


def _array(kind: Any, address: int, length: int) -> Any:
    return np.ctypeslib.as_array((kind * int(length)).from_address(int(address)))


u8s, u32s, u64s = (partial(_array, kind) for kind in (ctypes.c_uint8, ctypes.c_uint32, ctypes.c_uint64))
i32s, i64s = (partial(_array, kind) for kind in (ctypes.c_int32, ctypes.c_int64))


def u64ss(address: int, length: int, width: int) -> Any:
    return u64s(address, length * width).reshape(length, width)


_ARRAY = re.compile(r"([IU])(8|16|32|64)(p|s+)")
_OPEN = 0
"""Length of an array for which only the address is known."""


Export = tuple[tuple[str, ...], str]
"""Annotations of a kernel's parameters and result."""


class Digested:
    @cached_property
    def content(self) -> str:
        return hashlib.sha256(repr(self).encode()).hexdigest()


@dataclass(frozen=True)
class Lowered(Digested):
    """A module in LLVM IR with the module's kernels. Functions may differ between x86-64 and other processors."""

    text: str
    exports: tuple[tuple[str, Export], ...]
    on_x86: str
    elsewhere: str


@dataclass(frozen=True)
class Unit(Digested):
    """A module to compile.

    The kernels of `text` are compiled together with the functions of `library` that they call. A kernel's parameter is
    annotated with `I64` or `U64` (a number), `U32p` (the address of an array), `I64s` or `U64ss` (an array with one or
    two lengths), `Checks`, `Constants`, `Rows` (states), or a function type's name in `codes`.
    """

    text: str
    library: str = ""
    codes: tuple[tuple[str, tuple[str, ...], str], ...] = ()
    """Types of functions called by address: name, parameters, result."""

    def types(self) -> dict[str, Type]:
        number = CELLS["i64"]
        found: dict[str, Type] = {
            "I64": Sort.NUMBER,
            "U64": Sort.WORD,
            "None": Sort.NOTHING,
            "Checks": Vector(number, _OPEN),
            "Constants": Named({}),
            "Rows": Vector(Struct({}, 0), _OPEN),
        }
        for name, parameters, result in self.codes:
            kinds = tuple(kind_of(item, found) for item in parameters)
            sort = found[result]
            assert isinstance(sort, Sort)
            found[name] = Code(kinds, sort)
        return found


def kind_of(annotation: str, types: dict[str, Type]) -> Type:
    if annotation in types:
        return types[annotation]
    match = _ARRAY.fullmatch(annotation)
    assert match is not None, f"no type is named {annotation}"
    cell = CELLS[f"{match[1].lower()}{match[2]}"]
    return Vector(cell, _OPEN) if match[3] == "p" else View(cell, (None,) * len(match[3]))
