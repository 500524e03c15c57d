"""Expressions of a checked function as nodes."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Protocol

from fencepost.model.language.ir.nodes import (
    Among,
    At,
    Binary,
    BinaryOp,
    Call,
    Clause,
    Compare,
    Constant,
    Element,
    Extreme,
    Failure,
    Field,
    Fits,
    Fold,
    FoldOp,
    Length,
    Literal,
    Local,
    Logic,
    Not,
    Numbers,
    Order,
    Select,
    Slot,
    Unary,
    UnaryOp,
)
from fencepost.model.language.subset.kinds import INT, Arr, BagRef, Consts, Int, Nothing, Rec, element_of
from fencepost.model.language.subset.scope import Scope

if TYPE_CHECKING:
    from fencepost.model.language import subset
    from fencepost.model.language.ir.nodes import Expression, Failures, Source, Type

_BINARY: dict[type[ast.operator], BinaryOp] = {
    ast.Add: BinaryOp.ADD,
    ast.Sub: BinaryOp.SUBTRACT,
    ast.Mult: BinaryOp.MULTIPLY,
    ast.FloorDiv: BinaryOp.DIVIDE,
    ast.Mod: BinaryOp.MODULO,
    ast.BitAnd: BinaryOp.AND,
    ast.BitOr: BinaryOp.OR,
    ast.BitXor: BinaryOp.XOR,
    ast.LShift: BinaryOp.LEFT,
    ast.RShift: BinaryOp.RIGHT,
}
_ORDERS: dict[type[ast.cmpop], Order] = {
    ast.Eq: Order.EQUAL,
    ast.NotEq: Order.DIFFERENT,
    ast.Lt: Order.LESS,
    ast.LtE: Order.AT_MOST,
    ast.Gt: Order.MORE,
    ast.GtE: Order.AT_LEAST,
}
NUMBER: Failures = frozenset([Failure.NUMBER])
INDEX: Failures = frozenset([Failure.INDEX])
_CHECKS: dict[BinaryOp, Failures] = {
    BinaryOp.ADD: NUMBER,
    BinaryOp.SUBTRACT: NUMBER,
    BinaryOp.MULTIPLY: NUMBER,
    BinaryOp.LEFT: frozenset([Failure.SHIFT, Failure.NUMBER]),
    BinaryOp.RIGHT: frozenset([Failure.SHIFT]),
}


class Functions(Protocol):
    """Where the functions are that expressions call."""

    checked: subset.Program

    def function(self, made: subset.Function) -> int:
        """Return the number of a function."""


def where(node: ast.AST) -> At:
    """Return where a part of the text stands."""
    at: ast.expr = node  # type: ignore[assignment]  # statements, clauses and functions have the same four
    return At(at.lineno, at.col_offset, at.end_lineno or at.lineno, at.end_col_offset or at.col_offset)


def kind_of_value(kind: subset.Type | Nothing) -> Type | None:
    """Return the type of a value; None for nothing and for the constants, which are not a value."""
    return kind if isinstance(kind, Int | Rec | Arr | BagRef) else None


class Expressions:
    """The expressions of one function, and its slots."""

    def __init__(self, functions: Functions, made: subset.Function) -> None:
        self.functions, self.made = functions, made
        self.scope = Scope(functions.checked, made)
        self.slots: list[Slot] = []
        self.named: dict[tuple[str, Type], Slot] = {}
        """The slots of the function's own names: one for each type that a name has had."""
        self.bound: list[dict[str, Slot]] = []
        """The slots of generators' variables, the innermost generator last."""

    def slot(self, name: str, kind: Type) -> Slot:
        """Make a slot."""
        self.slots.append(Slot(len(self.slots), name, kind))
        return self.slots[-1]

    def own(self, name: str, kind: Type) -> Slot:
        """Return the slot of a name of the function."""
        if (name, kind) not in self.named:
            self.named[name, kind] = self.slot(name, kind)
        return self.named[name, kind]

    def kind(self, node: ast.expr) -> Type:
        """Return the type of an expression that has a value."""
        found = kind_of_value(self.made.types[node])
        assert found is not None, ast.unparse(node)
        return found

    def value(self, node: ast.expr) -> Expression:
        """Return an expression."""
        at = where(node)
        static = self.made.static.get(node)
        if static is not None:
            return Literal(int(static), at=at)
        match node:
            case ast.Constant(value=int() as number):
                return Literal(int(number), at=at)
            case ast.Name():
                return self.name(node)
            case ast.Attribute():
                return self.attribute(node)
            case ast.Subscript():
                array = self.value(node.value)
                return Element(array, self.value(node.slice), at=at, checks=INDEX, type=self.element(node))
            case ast.BinOp():
                return self.operation(node, node.op, self.value(node.left), self.value(node.right))
            case ast.UnaryOp():
                return self.unary(node)
            case ast.BoolOp():
                return Logic(isinstance(node.op, ast.And), tuple(map(self.value, node.values)), at=at)
            case ast.Compare():
                return self.compare(node)
            case ast.IfExp():
                return Select(
                    self.value(node.test), self.value(node.body), self.value(node.orelse), at=at, type=self.kind(node)
                )
            case ast.Call():
                return self.call(node)
        raise AssertionError(ast.dump(node))

    def name(self, node: ast.Name) -> Local:
        """Return what a name stands for: the innermost generator's variable, or the function's own."""
        inner = next((found[node.id] for found in reversed(self.bound) if node.id in found), None)
        slot = self.own(node.id, self.kind(node)) if inner is None else inner
        return Local(slot, at=where(node), type=slot.type)

    def attribute(self, node: ast.Attribute) -> Expression:
        """Return `record.field` or `c.constant`."""
        if isinstance(self.made.types[node.value], Consts):
            return Constant(node.attr, at=where(node))
        owner = self.value(node.value)
        return Field(owner, node.attr, at=where(node), type=self.kind(node))

    def element(self, node: ast.Subscript) -> Type:
        """Return the type of an element."""
        owner = self.kind(node.value)
        assert isinstance(owner, Arr)
        found = kind_of_value(element_of(owner.field))
        assert found is not None
        return found

    def operation(self, node: ast.AST, operator: ast.operator, left: Expression, right: Expression) -> Binary:
        """Return `left operator right`."""
        found = _BINARY[type(operator)]
        return Binary(found, left, right, at=where(node), checks=_CHECKS.get(found, frozenset()))

    def unary(self, node: ast.UnaryOp) -> Expression:
        """Return an operator of one number; a plus changes nothing."""
        value = self.value(node.operand)
        match node.op:
            case ast.Not():
                return Not(value, at=where(node))
            case ast.USub() if isinstance(value, Literal):
                return Literal(-value.value, at=where(node))
            case ast.USub():
                return Unary(UnaryOp.NEGATE, value, at=where(node), checks=NUMBER)
            case ast.Invert():
                return Unary(UnaryOp.INVERT, value, at=where(node))
        return value

    def compare(self, node: ast.Compare) -> Expression:
        """Return a chain of comparisons, or `in` a tuple."""
        first = self.value(node.left)
        if isinstance(node.ops[0], ast.In | ast.NotIn):
            others = node.comparators[0]
            assert isinstance(others, ast.Tuple)
            return Among(first, tuple(map(self.value, others.elts)), isinstance(node.ops[0], ast.NotIn), at=where(node))
        rest = zip(node.ops, node.comparators, strict=True)
        return Compare(first, tuple((_ORDERS[type(order)], self.value(item)) for order, item in rest), at=where(node))

    def call(self, node: ast.Call) -> Expression:
        """Return a call of a helper or a builtin."""
        callee = self.made.calls.get(node)
        if callee is not None:
            number = self.functions.function(callee)
            given = zip(node.args, callee.params.values(), strict=True)
            arguments = tuple(self.value(item) for item, kind in given if not isinstance(kind, Consts))
            return Call(number, arguments, at=where(node), type=kind_of_value(callee.returns) or INT)
        if node in self.made.bounds:
            return Fits(self.made.bounds[node], self.value(node.args[0]), at=where(node))
        name = self.scope.global_of(node.func).__name__
        if name in ("all", "any", "sum"):
            return self.fold(node, FoldOp(name))
        arguments = tuple(map(self.value, node.args))
        match name:
            case "len":
                return Length(arguments[0], at=where(node))
            case "abs":
                return Unary(UnaryOp.ABSOLUTE, arguments[0], at=where(node), checks=NUMBER)
            case "int":
                return arguments[0]
            case "bool":
                return Compare(arguments[0], ((Order.DIFFERENT, Literal(0, at=where(node))),), at=where(node))
        assert name in ("min", "max"), name
        return Extreme(name == "max", arguments, at=where(node))

    def fold(self, node: ast.Call, operator: FoldOp) -> Fold:
        """Return all(...), any(...) or sum(...); only the first source is evaluated outside the generator's scope."""
        generator = node.args[0]
        assert isinstance(generator, ast.GeneratorExp)
        clauses = []
        own: dict[str, Slot] = {}
        for number, clause in enumerate(generator.generators):
            source = self.source(clause.iter)
            if number == 0:
                self.bound.append(own)
            assert isinstance(clause.target, ast.Name)
            slot = own[clause.target.id] = self.slot(clause.target.id, self.kind(clause.target))
            clauses.append(Clause(slot, source, tuple(map(self.value, clause.ifs)), at=where(clause.target)))
        value = self.value(generator.elt)
        self.bound.pop()
        return Fold(operator, tuple(clauses), value, at=where(node), checks=NUMBER if operator is FoldOp.SUM else frozenset())

    def source(self, node: ast.expr) -> Source:
        """Return what a loop runs over."""
        if node in self.made.types:
            return self.value(node)
        assert isinstance(node, ast.Call)
        ends = [self.value(item) for item in node.args]
        start = ends[0] if len(ends) == 2 else Literal(0, at=where(node))
        return Numbers(start, ends[-1], at=where(node))
