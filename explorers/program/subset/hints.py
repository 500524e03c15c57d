"""Endings of error messages: what to write instead, depending on what the programmer probably meant."""

import ast
import os
import types
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any

from fencepost.explorers.program.subset.kinds import Arr, BagRef, Queue, Rec, Several, Type
from fencepost.explorers.program.subset.places import Scope
from fencepost.model.language.constants import Constants
from fencepost.model.language.errors import nearest
from fencepost.model.language.records import Record, fields

NONE = "write NONE, with `from fencepost.model.language import NONE`, in a domain such as Index(n, none=True)"
IS_NONE = "write `{} NONE`, with `from fencepost.model.language import NONE`"
COPIES = "assign the record to a field or an element, which copies it, or read its fields into local variables"
USUAL = "use numbers, fields, comparisons, and, or, not, min, max, all, any, sum"
CALLS = "call a function of a model file, or min, max, abs, len, all, any, sum"
AT_ONCE = "record the event in the state, or get a value from choose(Domain): an action cannot wait"
CLOCK = "keep the time in the state, as a number that an action such as tick increments"
CHANCE = "take the value from a parameter with a domain, or from choose(Domain): every value is tried"
ITEMS = "change the elements of an array one by one, as in s.array[0] = ..., or give each number a name"
EXPRESSIONS: dict[type[ast.expr], tuple[str, str]] = {
    ast.Lambda: ("`lambda`", "write a function with `def` at the top of the file, and call it"),
    ast.JoinedStr: ("an f-string", "omit the call: traces show every step and every field"),
    ast.NamedExpr: ("`:=`", "assign the local variable on a separate line, before this one"),
    ast.Slice: ("a slice", "loop over range(a, b) and read one element at a time"),
    ast.ListComp: ("a list", "write sum(1 for x in ... if ...) to count, or all() and any() of a generator"),
    ast.SetComp: ("a set", "write sum(1 for x in ... if ...) to count, or keep a set as a field, with a BitSet domain"),
    ast.DictComp: ("a dict", "keep an array in the state, with an element for each key"),
    ast.Dict: ("a dict", "keep an array in the state, with an element for each key"),
    ast.List: ("a list", ITEMS),
    ast.Set: ("a set", "keep a set as a field, with a BitSet domain, and change it with `bits`"),
    ast.Tuple: ("a tuple", "give each value its own name"),
    ast.Starred: ("a star", "pass each argument"),
    ast.GeneratorExp: ("a generator that is not in all(), any() or sum()", USUAL),
}
STATEMENTS: dict[type[ast.stmt], str] = {
    ast.While: "write `for _ in range(n)` with a `break`: a loop needs a bound",
    ast.Match: "write `if ... elif ... else`",
    ast.Try: "test the condition first, with `if`: a value outside its domain ends the search",
    ast.Raise: "write an @always property for a condition that must hold, or a guard, require(condition)",
    ast.With: "omit the `with` statement: a model reads and writes only its state",
    ast.Global: "store changing values in the state",
    ast.Nonlocal: "store changing values in the state",
    ast.FunctionDef: "write the helper at the top of the file, and pass the values that it reads",
    ast.ClassDef: "write the class at the top of the file",
    ast.Import: "import at the top of the file",
    ast.ImportFrom: "import at the top of the file",
    ast.Delete: "assign the cleared value: 0 for a number, Replica() for a record of class Replica",
}
RANDOM = {"random": CHANCE, "secrets": CHANCE, "uuid": CHANCE, "time": CLOCK, "datetime": CLOCK}
"""Modules whose functions return a different result each time, with what to use instead."""


def constant(value: object) -> str:
    if value is None:
        return NONE
    if isinstance(value, str):
        return "write a number, or a member of an IntEnum, such as Phase.IDLE"
    return "use whole numbers, flags and enum members"


def statement(node: ast.stmt, *, in_action: bool) -> str:
    if isinstance(node, ast.Assert):
        test = ast.unparse(node.test)
        if in_action:
            return (
                f"write require({test}) if the action happens only then, or an @always property if it must always hold"
            )
        return f"write `return {test}`, and pass the result to require() in the action"
    chance = next((item.name for item in node.names if item.name in RANDOM), "") if isinstance(node, ast.Import) else ""
    if chance:
        return RANDOM[chance]
    if isinstance(node, ast.Delete) and isinstance(node.targets[0], ast.Subscript | ast.Attribute):
        text = ast.unparse(node.targets[0])
        return f"assign the cleared value: {text} = 0 for a number, or {text} = Replica() for a record"
    return STATEMENTS.get(type(node), "use assignments, if, for, return and calls to helpers")


def operator(node: ast.operator) -> str:
    if isinstance(node, ast.Div):
        return "write `//`, which rounds down: all numbers are integers"
    if isinstance(node, ast.Pow):
        return "multiply, or write `1 << n` for a power of two"
    return "use + - * // % & | ^ << >>"


def name(node: ast.Name, found: Any) -> tuple[str, str]:
    if isinstance(found, types.FunctionType):
        return f"{node.id!r} is a function, but it is not called here", f"write {node.id}(...), with its arguments"
    if isinstance(found, types.ModuleType) and found.__name__ in RANDOM:
        return f"{node.id!r} returns a different value each time", RANDOM[found.__name__]
    if isinstance(found, type) and issubclass(found, Constants):
        return f"{node.id!r} is the class of the constants", "write c.name, the value of a constant in this run"
    if found is None and node.id in RANDOM:
        return f"{node.id!r} returns a different value each time", RANDOM[node.id]
    if isinstance(found, list | dict | set):
        return (
            f"{node.id!r} is a {type(found).__name__} at module level, and its value may change",
            "store changing values in the state",
        )
    if isinstance(found, type) and issubclass(found, Enum):
        return f"{node.id!r} is an enum, not one of its members", f"write {node.id}.{next(iter(found.__members__))}"
    return (
        f"{node.id!r} is not a number, a parameter or a local variable here.",
        "assign a value to the name first, or pass the value as an argument",
    )


def attribute(node: ast.Attribute, scope: Scope) -> tuple[str, str]:
    owner = scope.global_of(node.value)
    text = ast.unparse(node)
    if isinstance(owner, type) and issubclass(owner, Constants) and node.attr in owner.declared():
        return (
            f"{text!r} only declares the constant, so it has no value",
            f"write c.{node.attr}, the constant's value in this run",
        )
    if isinstance(owner, type) and issubclass(owner, Enum):
        known = list(owner.__members__)
        return (
            f"{owner.__name__} has no member {node.attr!r}.{nearest(node.attr, known)}",
            f"use one of: {', '.join(f'{owner.__name__}.{item}' for item in known)}",
        )
    if isinstance(owner, Enum) and node.attr in ("value", "name"):
        return f"{text!r} is read from an enum member, which is already a number", f"write {ast.unparse(node.value)}"
    if isinstance(owner, types.ModuleType) and owner.__name__ in RANDOM:
        return f"{text!r} returns a different value each time", RANDOM[owner.__name__]
    return f"{text!r} is not a number", "use an enum member or a module-level number"


def last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else ast.unparse(node)


def named(record: type[Record]) -> str:
    return ", ".join(f"{name}=..." for name, _ in fields(record))


def part_of(node: ast.expr, kind: Type) -> str:
    text = ast.unparse(node)
    match kind:
        case Several():
            return "assign the values of the tuple to names first: a, b = ..."
        case Arr():
            return f"use one of the elements, as in {text}[0]"
        case BagRef():
            return f"use len({text}), or loop over the messages"
        case Queue():
            first = next(iter(dict(fields(kind.message))), "number")
            return f"use one of the messages, as in {text}[0].{first}"
        case Rec():
            return f"use one of the fields: {', '.join(f'{text}.{name}' for name, _ in fields(kind.record))}"
    return "use one of its fields"


def is_of_python(found: types.FunctionType) -> bool:
    """Return whether a function belongs to Python's standard library; engines do not read its source."""
    file = Path(found.__code__.co_filename)
    return file.is_relative_to(Path(os.__file__).parent) and not any(part.endswith("-packages") for part in file.parts)


def index(node: ast.Subscript, literal: int) -> tuple[str, str]:
    array = ast.unparse(node.value)
    if isinstance(node.slice, ast.UnaryOp):
        back = f"len({array}) - {-literal}"
        return f"{literal} is used as an index, but indices do not count from the end", f"write {array}[{back}]"
    return "NONE is used as an index", "check for NONE first, and use a number from 0 as the index"


def call(node: ast.Call, found: object, kinds: Mapping[ast.AST, Type]) -> str:
    owner = getattr(found, "__module__", "") or getattr(getattr(found, "__self__", None), "__module__", "")
    if owner in RANDOM:
        return RANDOM[owner]
    if isinstance(found, type) and issubclass(found, Enum):
        return f"write a member, such as {found.__name__}.{next(iter(found.__members__))}, or its number"
    if isinstance(node.func, ast.Name):
        return {
            "print": "omit the call: traces show every step and every field",
            "sorted": "write min(...) or max(...) of a generator, or compare the elements with a loop",
            "map": "write sum(f(x) for x in ...), or all(...) or any(...) of a generator",
            "filter": "write sum(1 for x in ... if ...) to count elements, or any(... for x in ... if ...)",
            "set": (
                "count different values with sum(any(x.item == n for x in ...) for n in range(...)), "
                "or keep a set as a field, with a BitSet domain"
            ),
            "isinstance": (
                "omit the test, because types never change, and distinguish messages by a field, "
                "as in m.kind == Kind.GRANT"
            ),
            "deepcopy": COPIES,
            "copy": COPIES,
            "list": "omit list(): an array already has a length, and a loop can iterate over the array",
            "require": "import require: from fencepost.model.language import require",
        }.get(node.func.id, CALLS)
    if isinstance(node.func, ast.Attribute):
        owner = kinds.get(node.func.value)
        if isinstance(owner, Arr):
            return (
                "change the elements of the array, which has a fixed length, "
                "and store the number of used elements in another field"
            )
        if isinstance(owner, Rec) and node.func.attr in ("copy", "deepcopy"):
            return COPIES
        if isinstance(owner, Rec):
            arguments = ", ".join(map(ast.unparse, [node.func.value, *node.args]))
            return (
                f"write a function at the top of the file, and {node.func.attr}({arguments}): records have only fields"
            )
        if isinstance(owner, BagRef):
            return "use add, remove, len and loops"
    return CALLS
