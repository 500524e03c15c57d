"""One module of LLVM: texts in restricted Python, and the records and constants that they use."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from fencepost.explorers.native.llvm.types import CELLS, Code, Named, Records, Sort, Struct, Vector, View

if TYPE_CHECKING:
    from fencepost.explorers.native.llvm.types import Type

_ARRAY = re.compile(r"([IU])(8|16|32|64)(p|s+)")
_OPEN = 0
"""The length of an array that is an address only."""


Export = tuple[tuple[str, ...], str]
"""The annotations of a kernel's parameters and of its result."""


class Digested:
    """Content named by its digest, which is computed once."""

    @cached_property
    def content(self) -> str:
        return hashlib.sha256(repr(self).encode()).hexdigest()


@dataclass(frozen=True)
class Lowered(Digested):
    """A module that is LLVM IR already, and its kernels. Some of its functions are others on x86-64 and elsewhere."""

    text: str
    exports: tuple[tuple[str, Export], ...]
    on_x86: str
    elsewhere: str


@dataclass(frozen=True)
class Unit(Digested):
    """A module to compile.

    The kernels of `text` are compiled, and of `library` what they call. A parameter of a kernel is annotated by
    `I64` or `U64` (a number), `U32p` (the address of an array of such), `I64s`, `U64ss` (an array with one
    length, or two), `Checks`, `Constants`, `Rows`, `Words` (states, as records and as words), or by the name of a
    function type in `codes`.
    """

    text: str
    library: str = ""
    record: Any = None
    """The state, as `types.described` describes it."""
    constants: tuple[tuple[str, int, int], ...] = ()
    """Names in the order of their places, with the least and the greatest value."""
    codes: tuple[tuple[str, tuple[str, ...], str], ...] = ()
    """Types of functions that are called by address: name, parameters, result."""

    def types(self) -> dict[str, Type]:
        """Return the types of this unit that annotations name, those of plain arrays left out."""
        number = CELLS["i64"]
        places = {name: (place, low, high) for place, (name, low, high) in enumerate(self.constants)}
        state = Records().made(self.record) if self.record is not None else Struct({}, 0)
        found: dict[str, Type] = {
            "I64": Sort.NUMBER,
            "U64": Sort.WORD,
            "None": Sort.NOTHING,
            "Checks": Vector(number, _OPEN),
            "Constants": Named(places),
            "Rows": Vector(state, _OPEN),
            "Words": Vector(Vector(CELLS["u64"], state.bytes // 8), _OPEN),
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
    assert match is not None, f"no type is called {annotation}"
    cell = CELLS[f"{match[1].lower()}{match[2]}"]
    return Vector(cell, _OPEN) if match[3] == "p" else View(cell, (None,) * len(match[3]))
