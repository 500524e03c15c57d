"""Types of expressions in a model."""

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from types import ModuleType
from typing import Any, Protocol

from fencepost.model.language import records
from fencepost.model.language.machine import Machine


@dataclass(frozen=True)
class Int:
    """A whole number, a flag or an enum member."""


@dataclass(frozen=True)
class Rec:
    record: type[records.Record]


@dataclass(frozen=True)
class Queue(Rec):
    """A reference to a channel, which engines treat as a record with an array of messages and their number."""

    @property
    def message(self) -> type[records.Record]:
        items = dict(records.fields(self.record))["items"]
        assert isinstance(items, records.ArrayOf)
        assert isinstance(items.element, records.Nested)
        return items.element.record


@dataclass(frozen=True)
class Arr:
    field: records.ArrayOf


@dataclass(frozen=True)
class BagRef:
    field: records.BagOf


@dataclass(frozen=True)
class Consts:
    """The constants of the run."""


@dataclass(frozen=True)
class Several:
    items: tuple[Int | Rec, ...]


@dataclass(frozen=True)
class Nothing:
    """The result type of a function that returns no value."""


Type = Int | Rec | Arr | BagRef | Consts | Several | Nothing
INT, CONSTS, NOTHING = Int(), Consts(), Nothing()


class Among(Enum):
    RANGE = "range"
    ARRAY = "array"
    SET = "set"


@dataclass
class Function:
    python: Callable[..., Any]
    node: ast.FunctionDef
    params: dict[str, Type]
    types: dict[ast.AST, Type] = field(default_factory=dict)
    static: dict[ast.AST, int] = field(default_factory=dict)
    calls: "dict[ast.AST, Function]" = field(default_factory=dict)
    returns: Type = NOTHING
    writes: bool = False
    reads_ghost: str = ""
    gives: frozenset[str] = frozenset()
    """Paths (from a parameter) to the records that the function may return, such as `s.replica[]`."""
    changes: set[str] = field(default_factory=set)
    """Records that the function replaces or writes to, and bags that the function changes."""
    overwrites: set[str] = field(default_factory=set)
    adds: set[str] = field(default_factory=set)
    removes: set[str] = field(default_factory=set)
    bags: set[str] = field(default_factory=set)
    reads_gone: set[str] = field(default_factory=set)
    """Message parameters that the function still reads after removing the message from its bag."""
    disorders: bool = False
    """Whether a bag may be unsorted after a call."""
    bounds: dict[ast.AST, str] = field(default_factory=dict)
    """Calls to `require` and `fits` that enforce a bound, with the name of the bound's constant."""
    sugar: dict[ast.AST, ast.expr] = field(default_factory=dict)
    """Expressions, and what engines use instead, such as `max(item for item in s.ends)` for `max(s.ends)`."""
    views: set[ast.AST] = field(default_factory=set)
    """Sources of loops by index: enumerate, zip, reversed, a range with a step, or an array of arrays."""
    made: dict[ast.AST, type[records.Record]] = field(default_factory=dict)
    among: dict[ast.AST, Among] = field(default_factory=dict)
    """Each `in` whose right operand is not a tuple display."""
    drawn: list[str] = field(default_factory=list)
    may_be_none: set[str] = field(default_factory=set)
    """Local variables that were read from a field that may be NONE or an index."""
    drops: ast.AST | None = None
    """A call to `fits` in the function or in one of its helpers."""
    guards: int = 0
    """For an action, the number of statements up to the last `require`."""

    @property
    def name(self) -> str:
        return self.python.__name__

    @cached_property
    def locals(self) -> frozenset[str]:
        return frozenset(
            item.id for item in ast.walk(self.node) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)
        )


def kind_of(kind: records.FieldType) -> Type:
    if isinstance(kind, records.Scalar):
        return INT
    if isinstance(kind, records.Nested):
        if records.is_row(kind.record):
            return kind_of(dict(records.fields(kind.record))["items"])
        return Queue(kind.record) if records.is_channel(kind.record) else Rec(kind.record)
    return Arr(kind) if isinstance(kind, records.ArrayOf) else BagRef(kind)


_SAID = {Int: "a number", Queue: "a channel", Arr: "an array", BagRef: "a bag", Consts: "the constants"}
_SAID |= {Several: "a tuple", Nothing: "nothing"}


def say(kind: Type) -> str:
    return f"a record {kind.record.__name__}" if type(kind) is Rec else _SAID[type(kind)]


Reads = dict[tuple[int, str], tuple[ModuleType | dict[str, Any], str, Any]]


class Checking(Protocol):
    machine: Machine
    reads: Reads

    def function(self, python: Callable[..., Any], arguments: tuple[Type, ...]) -> Function:
        """Check a function for calls with arguments of these types."""
