"""Variables in scope, and the places to which each may refer, while a function is checked. A place is a path from a
parameter, without indices, such as `s.replica[].log[]`. The effects of a helper are recorded once, as effects on the
helper's parameters, and applied to the arguments of each call.
"""

import ast
import builtins
import re
import types
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import Any, NamedTuple, NoReturn

from fencepost.explorers.program.subset.kinds import Arr, BagRef, Checking, Function, Queue, Rec, Type
from fencepost.model.language.domains import InFlight
from fencepost.model.language.errors import FEW, ModelError, nearest
from fencepost.model.language.names import own_operator
from fencepost.model.language.own_names import path_shown
from fencepost.model.language.records import BagOf, fields
from fencepost.model.language.trees import source_lines


class Scope:
    def __init__(self, program: Checking, made: Function) -> None:
        self.program, self.made = program, made
        self.env: dict[str, Type] = dict(made.params)
        self.places = Places(self)
        self.stale: dict[str, str] = {}
        self.locals = made.locals

    def refuse(self, node: ast.AST, what: str, instead: str) -> NoReturn:
        raise refusal(self.made.python, node, what, instead, whole=isinstance(node, ast.FunctionDef))

    def refuse_name(self, node: ast.AST, what: str, name: str, known: Iterable[str]) -> NoReturn:
        listed = list(known)
        hint = nearest(name, listed) if len(listed) > 1 else ""
        instead = f"use one of: {', '.join(listed)}" if len(listed) > 1 else f"write {listed[0]!r}, the only one"
        if hint and len(listed) > FEW:
            instead = "use one that is declared"
        self.refuse(node, f"{what} {name!r}.{hint}".rstrip("."), instead)

    def is_action(self) -> bool:
        machine = self.program.machine
        return any(item.function is self.made.python for item in (machine.initial, *machine.actions))

    def global_of(self, node: ast.expr) -> Any:
        match node:
            case ast.Name():
                if node.id in self.env or node.id in self.locals:
                    return None
                return self.read(self.made.python.__globals__, node.id)
            case ast.Attribute():
                owner = self.global_of(node.value)
                if isinstance(owner, types.ModuleType):
                    return self.read(owner, node.attr)
                if isinstance(owner, type) and issubclass(owner, IntEnum):
                    return getattr(owner, node.attr, None)
        return None

    def read(self, where: types.ModuleType | dict[str, Any], name: str) -> Any:
        """Return the meaning of a name in a module, and record it: if it changes, the check must be repeated."""
        found = meaning(where, name)
        self.program.reads[id(where), name] = where, name, found
        return found

    def static(self, node: ast.expr) -> int | None:
        found = self.global_of(node)
        if not isinstance(found, int):
            return None
        name = own_operator(type(found))
        if name:
            self.refuse(node, f"this number's class, {type(found).__name__}, defines {name}", "use a plain number")
        return int(found)


def meaning(where: types.ModuleType | dict[str, Any], name: str) -> Any:
    if isinstance(where, dict):
        return where.get(name, getattr(builtins, name, None))
    return getattr(where, name, None)


def refusal(python: Callable[..., Any], node: Any, what: str, instead: str, *, whole: bool = False) -> ModelError:
    """Return an error for a function's node (`ast` or typed program). `whole` shows the function's first line."""
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


ADDED = "+"
"""The position of a newly added message, which has no other name yet."""


def head(place: str) -> str:
    return re.split(r"[.\[]", place, maxsplit=1)[0]


def inside(place: str, outer: str) -> bool:
    return place == outer or place.startswith((f"{outer}.", f"{outer}["))


class Known(NamedTuple):
    of: dict[str, frozenset[str]]
    stale: dict[str, str]
    added: set[str]
    gone: set[str]


class Places:
    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.of: dict[str, frozenset[str]] = {name: frozenset([name]) for name in scope.made.params}
        self.added: set[str] = set()
        self.gone: set[str] = set()
        """Parameters that may be messages already removed from a bag by the caller."""
        self.held: list[frozenset[str]] = []
        """References that were already evaluated, but will be used later."""
        self.loops: list[tuple[str, str]] = []
        """The bag and the variable of each enclosing loop; the variable is empty if it may refer to another item."""
        machine = scope.program.machine
        self.received = {
            name
            for item in machine.actions
            if item.function is scope.made.python
            for name, domain in item.params
            if isinstance(domain, InFlight)
        }

    def find(self, node: ast.expr) -> frozenset[str]:
        match node:
            case ast.Name():
                return self.of.get(node.id, frozenset([node.id]))
            case ast.Attribute():
                return frozenset(f"{place}.{node.attr}" for place in self.find(node.value))
            case ast.Subscript():
                return frozenset(f"{place}[]" for place in self.find(node.value))
            case ast.IfExp():
                return self.find(node.body) | self.find(node.orelse)
            case ast.Call():
                callee = self.scope.made.calls.get(node)
                method = node.func if callee is None and isinstance(node.func, ast.Attribute) else None
                if method is not None and isinstance(self.scope.made.types.get(method.value), Queue):
                    return frozenset(f"{place}[]" for place in self.find(method.value))
                return frozenset([ADDED]) if callee is None else self.carried(node, callee, callee.gives)
        return frozenset()

    def carried(self, node: ast.Call, callee: Function, places: Iterable[str]) -> frozenset[str]:
        given = dict(zip(callee.params, node.args, strict=True))
        return frozenset(
            found + place[len(head(place)) :]
            for place in places
            for found in (self.find(given[head(place)]) if head(place) in given else [head(place)])
        )

    def name(self, name: str, places: frozenset[str]) -> None:
        self.of[name] = places
        self.loops = [(bag, "" if variable == name else variable) for bag, variable in self.loops]
        self.scope.stale.pop(name, None)

    def known(self) -> Known:
        return Known(dict(self.of), dict(self.scope.stale), set(self.added), set(self.gone))

    def join(self, other: Known) -> None:
        """Merge what is known at the ends of two paths: a name that is stale on either path becomes stale."""
        for name, places in other.of.items():
            self.of[name] = self.of.get(name, frozenset()) | places
        self.scope.stale = {**other.stale, **self.scope.stale}
        self.added |= other.added

    @contextmanager
    def holding(self, *nodes: ast.expr) -> Iterator[None]:
        """Check an expression that is evaluated between obtaining a reference and using it."""
        self.held += map(self.find, nodes)
        yield
        del self.held[len(self.held) - len(nodes) :]

    def is_in_flight(self, place: str) -> bool:
        if isinstance(self.scope.made.params.get(head(place)), BagRef):
            return place.startswith(f"{head(place)}[]")
        return any(place.startswith(f"{head(place)}.{bag}[]") for bag in self.bags())

    def bags(self) -> list[str]:
        return [name for name, kind in fields(self.scope.program.machine.state) if isinstance(kind, BagOf)]

    # effects on places

    def write(self, node: ast.expr, places: Iterable[str]) -> None:
        for place in places:
            if head(place) in self.received:
                self.scope.refuse(node, "this changes a received message", "remove the message and add another")
            self.scope.made.changes.add(place)
            self.scope.made.disorders |= self.is_in_flight(place)

    def overwrite(self, places: Iterable[str], what: str) -> None:
        """Record that whole records are overwritten, which makes all names that refer to them stale."""
        for place in places:
            self.scope.made.overwrites.add(place)
            self.forget(place, what)

    def forget(self, place: str, what: str) -> None:
        for name, places in self.of.items():
            if isinstance(self.scope.env.get(name), Rec | Arr) and any(inside(item, place) for item in places):
                self.scope.stale[name] = what

    def add(self, bags: Iterable[str]) -> None:
        self.added |= set(bags)
        self.scope.made.adds |= self.added
        self.scope.made.disorders = True

    def remove(self, node: ast.Call, bags: Collection[str], what: str) -> None:
        direct = isinstance(node.func, ast.Attribute) and isinstance(self.scope.made.types.get(node.func.value), BagRef)
        given = node.args[0].id if direct and isinstance(node.args[0], ast.Name) else ""
        for bag in bags:
            if bag in self.added:
                instead = "remove first, then add"
                self.scope.refuse(node, "removing a message after adding another one moves the added message", instead)
            around = [variable for over, variable in self.loops if over == bag]
            if "" in around:
                self.scope.refuse(
                    node,
                    "a loop over a bag assigns to its variable and removes a message",
                    "give the other message another name",
                )
            if around and around != [given]:
                self.scope.refuse(
                    node,
                    "a loop over a bag removes another message, or calls a helper that removes a message",
                    f"write {bag}.remove({around[-1]}) directly in the loop",
                )
            if any(inside(place, f"{bag}[]") for places in self.held for place in places):
                self.scope.refuse(
                    node,
                    "a message is removed while a reference to a message of the same bag is in use",
                    "call the helper on a separate line, before this one",
                )
            self.scope.made.removes.add(bag)
            self.forget(f"{bag}[]", what)
        if bags:
            state = Rec(self.scope.program.machine.state)
            params = self.scope.made.params
            self.gone |= {
                name for name, kind in params.items() if isinstance(kind, Rec | Arr) and kind != state
            } - self.received
            self.scope.made.reads_gone |= self.gone & {head(place) for places in self.held for place in places}

    def require_one_name(self, node: ast.Call, callee: Function) -> None:
        for bag in sorted(callee.removes):
            for other in sorted(callee.bags - {bag}):
                if self.carried(node, callee, [bag]) & self.carried(node, callee, [other]):
                    what = f"{callee.name}() removes a message of {bag}, which is the same bag as {other} here"
                    self.scope.refuse(node, what, "use only one name for each bag in the call")
        self.scope.made.bags |= self.carried(node, callee, callee.bags)

    def call(self, node: ast.Call, callee: Function) -> None:
        what = ast.unparse(node)
        self.require_one_name(node, callee)
        self.write(node, self.carried(node, callee, callee.changes))
        self.overwrite(self.carried(node, callee, callee.overwrites), what)
        self.remove(node, self.carried(node, callee, callee.removes), what)
        for place in self.carried(node, callee, callee.reads_gone):
            if self.is_in_flight(place):
                instead = "pass a message that was received"
                self.scope.refuse(node, f"{callee.name}() reads a message after removing a message", instead)
            if head(place) in self.scope.made.params and head(place) not in self.received:
                self.scope.made.reads_gone.add(head(place))
        if callee.adds:
            self.add(self.carried(node, callee, callee.adds))
        self.scope.made.disorders |= callee.disorders
