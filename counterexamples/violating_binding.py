"""The violating values: the leader, member or offset for which a property is false.

The property is evaluated again at the end of the trace. For each `all` or `any`, including those in helpers, the
decisive values are recorded under the names in the property, such as `leader=1, offset=0`. If several variables share a
name, the value of the variable in the shown condition is recorded. The explanation evaluates only expressions that the
property itself evaluates, and the violation is reported even if the explanation raises an error.
"""

import ast
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from enum import IntEnum
from functools import lru_cache
from types import FunctionType
from typing import Any, NamedTuple

from fencepost.counterexamples.trace import Trace
from fencepost.model.language import bits
from fencepost.model.language.actions import Property
from fencepost.model.language.domains import Domain, Member
from fencepost.model.language.interpreter import Path
from fencepost.model.language.printing import show_message
from fencepost.model.language.records import Array, Record, declared_class, key_of
from fencepost.model.language.trees import code_of, definition_of, expression_of

Scope = dict[str, Any]


class ViolatingBinding(NamedTuple):
    """Values by name, and the innermost decisive condition, with its operands as numbers.

    `is_so` is the actual value of the condition, which is the opposite of the required value. `is_hidden` means that an
    inner variable in the condition shadows an outer variable.
    """

    values: tuple[tuple[str, str], ...]
    condition: str
    operands: str
    is_so: bool
    is_hidden: bool

    def __str__(self) -> str:
        where = f" in `{self.condition}`" if self.is_hidden and self.values else ""
        return ", ".join(f"{name}={value}" for name, value in self.values) + where


def violating_binding(trace: Trace, path: Path) -> ViolatingBinding | None:
    """Return the values that violate a trace's property at its end, or None if no predicate is violated there."""
    prop = trace.prop
    if prop is None or not prop.kind.must_hold:
        return None
    explained = _Explained()
    with suppress(Exception):
        arguments = _arguments(trace, path, prop)
        if prop.params:
            every = trace.interpreter().values_of(prop.params)
            values = next((item for item in every if not prop.function(*arguments, *item)), None)
            if values is None:
                return None
            arguments += values
            for (name, domain), value in zip(prop.params, values, strict=True):
                explained.note(name, domain.show(value), value)
        explained.call(prop.function, arguments, wanted=True)
    return explained.binding


def violated_for(trace: Trace, path: Path) -> str:
    values = "" if trace.args else str(violating_binding(trace, path) or "")
    return f"{trace.finding} for {values}" if values else trace.finding


def unmet(condition: str, scope: Scope) -> tuple[ViolatingBinding, list[tuple[str, Scope]]]:
    explained = _Explained(alternatives=True)
    with suppress(Exception):
        _Frame(explained, scope, set(scope)).explain(_expression(condition), scope, wanted=True)
    return explained.binding, explained.parts


def _arguments(trace: Trace, path: Path, prop: Property) -> list[Any]:
    plain = trace.interpreter()
    restore = plain.schema.restore
    if not prop.over_steps:
        return [restore(path.states[-1]), trace.constants]
    last, before = path.steps[-1], restore(path.states[-2])
    after = restore(plain.apply(path.states[-2], last).raw)
    extra = [
        plain.argument(before, domain, value) for (_, domain), value in zip(last.action.params, last.args, strict=True)
    ]
    return [before, after, trace.constants, *(extra if prop.on is not None else ())]


class _Explained:
    """An explanation of an evaluation. With `alternatives`, an `or` of false operands is shown with all of them."""

    def __init__(self, *, alternatives: bool = False) -> None:
        self.alternatives = alternatives
        self.values: dict[str, tuple[str, Any]] = {}
        """Names with their values, both as text and as objects."""
        self.is_hidden = False
        self.read: set[str] = set()
        self.condition = self.operands = ""
        self.is_so = False
        self.parts: list[tuple[str, Scope]] = []

    @property
    def binding(self) -> ViolatingBinding:
        shown = tuple((name, text) for name, (text, _) in self.values.items())
        return ViolatingBinding(shown, self.condition, self.operands, self.is_so, self.is_hidden)

    def call(self, function: Callable[..., Any], arguments: list[Any], *, wanted: bool) -> None:
        node = _definition(function)
        names = [item.arg for item in node.args.args]
        scope = {**function.__globals__, **dict(zip(names, arguments, strict=True))}
        frame = _Frame(self, scope, set(names))
        frame.block(node.body)
        for name, value in frame.loops.items():
            self.note(name, value, scope.get(name))
        if isinstance(frame.result, ast.Constant) and frame.test is not None:
            test, known = frame.test
            frame.explain(test, known, wanted=not _value(test, known))
        elif frame.result is not None:
            frame.explain(frame.result, scope, wanted=wanted)

    def note(self, name: str, text: str, value: Any) -> None:
        self.is_hidden |= self.values.get(name, (text, value))[0] != text
        self.values[name] = text, value


class _Frame:
    def __init__(self, explained: _Explained, scope: Scope, parameters: set[str]) -> None:
        self.explained, self.scope, self.parameters = explained, scope, parameters
        self.loops: dict[str, str] = {}
        self.result: ast.expr | None = None
        self.test: tuple[ast.expr, Scope] | None = None
        """Condition of the last `if` that returns, with its scope. It explains why a function returns a constant."""
        self.left = ""

    def block(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self.statement(statement)
            if self.result is not None or self.left:
                return

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Return(value=value):
                self.result = value or ast.Constant(None)
            case ast.If():
                if any(isinstance(item, ast.Return) for part in node.body + node.orelse for item in ast.walk(part)):
                    self.test = node.test, dict(self.scope)
                self.block(node.body if _value(node.test, self.scope) else node.orelse)
            case ast.For():
                self.loop(node)
            case ast.Break() | ast.Continue():
                self.left = type(node).__name__
            case _:
                exec(code_of(node, "<property>"), self.scope)  # noqa: S102 (the user's own text)

    def loop(self, node: ast.For) -> None:
        for scope, values in _rounds(node.target, node.iter, self.scope):
            self.scope.update(scope)
            self.block(node.body)
            if self.result is not None:
                self.loops = {**values, **self.loops}
                return
            left, self.left = self.left, ""
            if left == "Break":
                return

    def explain(self, node: ast.expr, scope: Scope, *, wanted: bool) -> None:
        match node:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                self.explain(operand, scope, wanted=not wanted)
            case ast.BoolOp(op=op, values=values):
                deciding = isinstance(op, ast.And) == wanted
                decided = next(item for item in values if bool(_value(item, scope)) is not wanted) if deciding else None
                if decided is not None:
                    self.explain(decided, scope, wanted=wanted)
                else:
                    self.each(node, scope, wanted=wanted)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                self.explain(body if _value(test, scope) else orelse, scope, wanted=wanted)
            case ast.Call(func=ast.Name(id="all" | "any" as name), args=[ast.GeneratorExp() as items]) if wanted == (
                name == "all"
            ):
                inner, bound = next(
                    (inner, bound)
                    for inner, bound in _bindings(items.generators, scope)
                    if bool(_value(items.elt, inner)) is not wanted
                )
                for variable, value in bound.items():
                    self.explained.note(variable, value, inner[variable])
                self.explain(items.elt, inner, wanted=wanted)
            case ast.Call(func=func, args=arguments, keywords=[]) if (
                isinstance(function := _value(func, scope), FunctionType) and function.__module__ != bits.__name__
            ):
                self.indices(node, scope)
                self.explained.call(function, [_value(item, scope) for item in arguments], wanted=wanted)
            case _:
                self.indices(node, scope)
                self.names(node, scope)
                self.explained.condition, self.explained.is_so = ast.unparse(node), not wanted
                self.explained.parts.append((self.explained.condition, scope))
                self.explained.operands = _operands(node, scope)

    def each(self, node: ast.BoolOp, scope: Scope, *, wanted: bool) -> None:
        """Explain every operand. The result is the condition of the last operand with its values, or the whole
        expression without the values that differ between operands.
        """
        explained = self.explained
        outer, found, differing = explained.values, dict[str, tuple[str, Any]](), set[str]()
        for item in sorted(node.values, key=_says_what_is_wrong):
            explained.values = dict(outer)
            self.explain(item, scope, wanted=wanted)
            differing |= {name for name, value in explained.values.items() if found.get(name, value)[0] != value[0]}
            found |= explained.values
        if not wanted or explained.alternatives:
            explained.condition, explained.operands = ast.unparse(node), ""
            explained.values = {name: value for name, value in found.items() if name not in differing}
        else:
            strange = explained.read - explained.values.keys()
            explained.values = {name: value for name, value in found.items() if name not in strange}

    def names(self, node: ast.expr, scope: Scope) -> None:
        self.explained.read = {item.id for item in ast.walk(node) if isinstance(item, ast.Name)}
        for name in sorted(self.explained.read):
            value, known = scope.get(name), self.explained.values.get(name)
            differs = known is not None and known[1] != value
            is_lost = known is None and self.explained.is_hidden and name in self.parameters
            if isinstance(value, int) and (differs or is_lost):
                self.explained.note(name, _shown(value, "", None), value)

    def indices(self, node: ast.expr, scope: Scope) -> None:
        """Record the index of an array element, unless the text uses a loop variable for it."""
        for item in _reached(node, scope):
            if isinstance(item, ast.GeneratorExp):
                return
            if isinstance(item, ast.Subscript) and not isinstance(item.slice, ast.Constant):
                index, text = _value(item.slice, scope), ast.unparse(item.slice)
                names = {name.id for name in ast.walk(item.slice) if isinstance(name, ast.Name)}
                if text not in self.parameters and not names <= self.explained.values.keys():
                    text = text if isinstance(item.slice, ast.Name | ast.Attribute) else f"({text})"
                    short = text.rpartition(".")[2] if isinstance(item.slice, ast.Attribute) else text
                    is_free = self.explained.values.get(short, (str(int(index)), None))[0] == str(int(index))
                    self.explained.note(short if is_free else text, str(int(index)), index)


def _says_what_is_wrong(node: ast.expr) -> bool:
    """Return whether an operand is not a negation; if so, it is explained last, as is `holds` in `not a or holds`."""
    return not (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not))


def _bindings(generators: list[ast.comprehension], scope: Scope) -> Iterator[tuple[Scope, dict[str, str]]]:
    if not generators:
        yield scope, {}
        return
    first, *rest = generators
    for inner, values in _rounds(first.target, first.iter, scope):
        if all(_value(test, inner) for test in first.ifs):
            for innermost, more in _bindings(rest, inner):
                yield innermost, {**values, **more}


def _rounds(target: ast.expr, over: ast.expr, scope: Scope) -> Iterator[tuple[Scope, dict[str, str]]]:
    items = _value(over, scope)
    for index, item in enumerate(items):
        place = f"{ast.unparse(over).partition('.')[2]}[{index}]" if isinstance(items, Array) else ""
        found = dict(_named(target, item))
        domain = vars(items._check).get("domain") if isinstance(items, Array) and items._check else None
        yield {**scope, **found}, {name: _shown(value, place, domain) for name, value in found.items()}


def _named(target: ast.expr, item: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(target, ast.Name):
        yield target.id, item
    elif isinstance(target, ast.Tuple):
        for name, value in zip(target.elts, item, strict=True):
            yield from _named(name, value)


def _shown(value: Any, place: str, domain: Domain | None) -> str:
    if isinstance(value, Record):
        return place or show_message(declared_class(type(value)), key_of(value))
    if isinstance(value, Array):
        return place or str(list(value))
    domain = Member(type(value)) if isinstance(value, IntEnum) else domain
    text = domain.show(int(value)) if isinstance(domain, Member) else str(int(value))
    return f"{text} ({place})" if place else text


def _operands(node: ast.expr, scope: Scope) -> str:
    if not isinstance(node, ast.Compare) or any(isinstance(item, ast.In | ast.NotIn) for item in node.ops):
        return ""
    values = [value for _, value in _asked(node, scope)]
    if not all(isinstance(value, int) for value in values):
        return ""
    left, *others = (ast.Constant(int(value)) for value in values)
    return ast.unparse(ast.Compare(left, node.ops[: len(others)], list(others)))


def _asked(node: ast.Compare, scope: Scope) -> Iterator[tuple[ast.expr, Any]]:
    """Yield the evaluated operands of a chain of comparisons with their values, up to the first false comparison."""
    last = _value(node.left, scope)
    yield node.left, last
    for operator, operand in zip(node.ops, node.comparators, strict=True):
        value = _value(operand, scope)
        yield operand, value
        link = ast.Compare(ast.Name("last"), [operator], [ast.Name("value")])
        if not eval(ast.unparse(link), {"last": last, "value": value}):  # noqa: S307 (two values)
            return
        last = value


def _reached(node: ast.expr, scope: Scope) -> Iterator[ast.AST]:
    """Yield an expression and the parts of it that are evaluated, starting with the outermost part."""
    waiting: deque[ast.AST] = deque([node])
    while waiting:
        item = waiting.popleft()
        yield item
        match item:
            case ast.IfExp(test=test, body=body, orelse=orelse):
                waiting += [test, body if _value(test, scope) else orelse]
            case ast.BoolOp(op=op, values=values):
                going_on = isinstance(op, ast.And)
                ends = (place for place, part in enumerate(values, 1) if bool(_value(part, scope)) is not going_on)
                waiting += values[: next(ends, None)]
            case ast.Compare():
                waiting += [operand for operand, _ in _asked(item, scope)]
            case _:
                waiting += ast.iter_child_nodes(item)


def _value(node: ast.expr, scope: Scope) -> Any:
    return eval(_code(node, "<property>"), scope)  # noqa: S307 (the user's own text)


_code = lru_cache(1024)(code_of)
_expression = lru_cache(1024)(expression_of)
_definition = lru_cache(1024)(definition_of)
