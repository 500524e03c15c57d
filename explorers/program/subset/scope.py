"""Where the check of a function stands: its names, the globals it may use, and how to point at its text."""

from __future__ import annotations

import ast
import builtins
import types
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NoReturn

from fencepost.explorers.program.subset.places import Places
from fencepost.model.language.errors import ModelError, nearest
from fencepost.model.language.names import own_operator
from fencepost.model.language.own_names import path_shown
from fencepost.model.language.trees import source_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fencepost.explorers.program.subset.kinds import Checking, Function, Type


class Scope:
    """Knowledge at one point of a function: what each local name holds, and where the text stands."""

    def __init__(self, program: Checking, made: Function) -> None:
        self.program, self.made = program, made
        self.env: dict[str, Type] = dict(made.params)
        self.places = Places(self)
        self.stale: dict[str, str] = {}
        self.locals = made.locals

    def refuse(self, node: ast.AST, what: str, instead: str) -> NoReturn:
        """Raise ModelError: place, line, caret, what is wrong, what to write."""
        raise refusal(self.made.python, node, what, instead, whole=isinstance(node, ast.FunctionDef))

    def refuse_name(self, node: ast.AST, what: str, name: str, known: Iterable[str]) -> NoReturn:
        """Raise ModelError for a name that is not among those that are known."""
        listed = list(known)
        several = len(listed) > 1
        instead = f"use one of: {', '.join(listed)}" if several else f"write {listed[0]!r}, the only one"
        self.refuse(node, f"{what} {name!r}.{nearest(name, listed) if several else ''}".rstrip("."), instead)

    def is_action(self) -> bool:
        """Return whether the function is an action of the machine."""
        machine = self.program.machine
        return any(item.function is self.made.python for item in (machine.initial, *machine.actions))

    def global_of(self, node: ast.expr) -> Any:
        """Return the module-level object that a dotted name stands for, or None."""
        match node:
            case ast.Name():
                if node.id in self.env or node.id in self.locals:
                    return None
                return self.made.python.__globals__.get(node.id, getattr(builtins, node.id, None))
            case ast.Attribute():
                owner = self.global_of(node.value)
                if isinstance(owner, types.ModuleType) or (isinstance(owner, type) and issubclass(owner, IntEnum)):
                    return getattr(owner, node.attr, None)
        return None

    def static(self, node: ast.expr) -> int | None:
        """Return the number that a global name stands for, or None."""
        found = self.global_of(node)
        if not isinstance(found, int):
            return None
        name = own_operator(type(found))
        if name:
            self.refuse(node, f"the class of this number, {type(found).__name__}, defines {name}", "use a plain number")
        return int(found)


def refusal(python: Callable[..., Any], node: Any, what: str, instead: str, *, whole: bool = False) -> ModelError:
    """Return a refusal of a part of a function, a node of `ast` or of the typed program; `whole`: its first line."""
    code = python.__code__
    number = getattr(node, "lineno", code.co_firstlineno)
    lines, first = source_lines(python)
    line = lines[number - first].rstrip() if 0 <= number - first < len(lines) else ""
    indent = len(lines[0]) - len(lines[0].lstrip())
    column = getattr(node, "col_offset", 0) + indent
    end = indent + (getattr(node, "end_col_offset", column + 1) or column + 1)
    if whole:
        column = len(line) - len(line.lstrip())
    if whole or getattr(node, "end_lineno", number) != number:
        end = len(line)
    place, mark = f"{path_shown(code.co_filename)}:{number}", " " * column + "^" * max(1, end - column)
    return ModelError(f"{place}: {what}{'' if what.endswith('?') else '.'}\n  {line}\n  {mark}\nInstead, {instead}.")
