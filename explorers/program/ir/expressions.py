"""Translation of a checked function's expressions to nodes."""

import ast
from typing import Protocol

from fencepost.explorers.program.ir import lifted, nodes, views
from fencepost.explorers.program.ir.nodes import Expression, Failures, Source, Type
from fencepost.explorers.program.ir.views import Items
from fencepost.explorers.program.subset.kinds import INT, Arr, BagRef, Consts, Function, Int, Nothing, Queue, Rec
from fencepost.explorers.program.subset.kinds import Among as How
from fencepost.explorers.program.subset.kinds import Type as SubsetType
from fencepost.explorers.program.subset.places import Scope
from fencepost.explorers.program.subset.program import Program

_SIGNS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%",
    ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip
NUMBER: Failures = lifted.NUMBER
_CHECKS: dict[nodes.BinaryOp, Failures] = {
    nodes.BinaryOp.ADD: NUMBER,
    nodes.BinaryOp.SUBTRACT: NUMBER,
    nodes.BinaryOp.MULTIPLY: NUMBER,
    nodes.BinaryOp.LEFT: lifted.SHIFT,
    nodes.BinaryOp.RIGHT: frozenset([nodes.Failure.SHIFT]),
}


class Functions(lifted.Adding, Protocol):
    checked: Program

    def function(self, made: Function, part: int | None = None) -> int:
        """Return a function's number. If the function returns a tuple, `part` selects one of its values."""


def where(node: ast.AST) -> nodes.At:
    at: ast.expr = node  # type: ignore[assignment]  # statements, clauses and functions have the same four
    return nodes.At(at.lineno, at.col_offset, at.end_lineno or at.lineno, at.end_col_offset or at.col_offset)


def kind_of_value(kind: SubsetType | Nothing) -> Type | None:
    if isinstance(kind, Queue):
        return Rec(kind.record)
    return kind if isinstance(kind, Int | Rec | Arr | BagRef) else None


class Expressions:
    def __init__(self, functions: Functions, made: Function) -> None:
        self.functions, self.made = functions, made
        self.scope = Scope(functions.checked, made)
        self.slots: list[nodes.Slot] = []
        self.named: dict[tuple[str, Type], nodes.Slot] = {}
        self.bound: list[dict[str, Expression]] = []
        """The meanings of the generators' variables, with the innermost generator last."""

    def slot(self, name: str, kind: Type) -> nodes.Slot:
        self.slots.append(nodes.Slot(len(self.slots), name, kind))
        return self.slots[-1]

    def own(self, name: str, kind: Type) -> nodes.Slot:
        if (name, kind) not in self.named:
            self.named[name, kind] = self.slot(name, kind)
        return self.named[name, kind]

    def kind(self, node: ast.expr) -> Type:
        found = kind_of_value(self.made.types[node])
        assert found is not None, ast.unparse(node)
        return found

    def value(self, node: ast.expr) -> Expression:
        at = where(node)
        static = self.made.static.get(node)
        if static is not None:
            return nodes.Literal(int(static), at=at)
        match node:
            case ast.Constant(value=int() as number):
                return nodes.Literal(int(number), at=at)
            case ast.Name():
                return self.name(node)
            case ast.Attribute():
                return self.attribute(node)
            case ast.Subscript():
                owner = self.value(node.value)
                if isinstance(owner.type, Rec):
                    return lifted.message(self.lifted(node), owner, self.value(node.slice))
                return views.element(owner, self.value(node.slice), lifted.Making(at))
            case ast.BinOp():
                return self.operation(node, node.op, self.value(node.left), self.value(node.right))
            case ast.UnaryOp():
                return self.unary(node)
            case ast.BoolOp():
                return nodes.Logic(isinstance(node.op, ast.And), tuple(map(self.value, node.values)), at=at)
            case ast.Compare():
                return self.compare(node)
            case ast.IfExp():
                return nodes.Select(
                    self.value(node.test), self.value(node.body), self.value(node.orelse), at=at, type=self.kind(node)
                )
            case ast.Call():
                return self.call(node)
        raise AssertionError(ast.dump(node))

    def lifted(self, node: ast.AST) -> lifted.Lifted:
        return lifted.Lifted(self.functions, self.made.python, where(node))

    def name(self, node: ast.Name) -> Expression:
        inner = next((found[node.id] for found in reversed(self.bound) if node.id in found), None)
        if inner is not None:
            return inner
        slot = self.own(node.id, self.kind(node))
        return nodes.Local(slot, at=where(node), type=slot.type)

    def attribute(self, node: ast.Attribute) -> Expression:
        if isinstance(self.made.types[node.value], Consts):
            return nodes.Constant(node.attr, at=where(node))
        owner = self.value(node.value)
        return nodes.Field(owner, node.attr, at=where(node), type=self.kind(node))

    def operation(self, node: ast.AST, operator: ast.operator, left: Expression, right: Expression) -> Expression:
        found = nodes.BinaryOp(_SIGNS[type(operator)])
        divides = found in (nodes.BinaryOp.DIVIDE, nodes.BinaryOp.MODULO)
        if divides and isinstance(right, nodes.Literal) and right.value < 0:
            return _by_negative(found, left, -right.value, where(node))
        return nodes.Binary(found, left, right, at=where(node), checks=_CHECKS.get(found, frozenset()))

    def unary(self, node: ast.UnaryOp) -> Expression:
        value = self.value(node.operand)
        match node.op:
            case ast.Not():
                return nodes.Not(value, at=where(node))
            case ast.USub() if isinstance(value, nodes.Literal):
                return nodes.Literal(-value.value, at=where(node))
            case ast.USub():
                return nodes.Unary(nodes.UnaryOp.NEGATE, value, at=where(node), checks=NUMBER)
            case ast.Invert():
                return nodes.Unary(nodes.UnaryOp.INVERT, value, at=where(node))
        return value

    def compare(self, node: ast.Compare) -> Expression:
        if isinstance(node.ops[0], ast.In | ast.NotIn):
            return self.among(node, negated=isinstance(node.ops[0], ast.NotIn))
        if self.made.types[node.left] != INT:
            found = self.same(node)
            return nodes.Not(found, at=where(node)) if isinstance(node.ops[0], ast.NotEq) else found
        first = self.value(node.left)
        rest = zip(node.ops, node.comparators, strict=True)
        orders = tuple((nodes.Order(_SIGNS[type(order)]), self.value(item)) for order, item in rest)
        return nodes.Compare(first, orders, at=where(node))

    def among(self, node: ast.Compare, *, negated: bool) -> Expression:
        first, others = self.value(node.left), node.comparators[0]
        how = self.made.among.get(node)
        if how is None:
            others = self.made.sugar.get(others, others)
            assert isinstance(others, ast.Tuple | ast.List | ast.Set)
            return nodes.Among(first, tuple(map(self.value, others.elts)), negated, at=where(node))
        ends = others.args if isinstance(others, ast.Call) and how is How.RANGE else [others]
        found = lifted.among(self.lifted(node), how, first, [self.value(item) for item in ends])
        return nodes.Not(found, at=where(node)) if negated else found

    def same(self, node: ast.Compare) -> Expression:
        left, right = node.left, node.comparators[0]
        if left in self.made.made or right in self.made.made:
            place, whole = (right, left) if left in self.made.made else (left, right)
            first = place is left
            owner = self.value(place) if first else None
            values = self.written(whole)
            return lifted.same_as_written(self.lifted(node), owner or self.value(place), values, first=first)
        return lifted.same(self.lifted(node), self.value(left), self.value(right))

    def written(self, node: ast.expr, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], Expression]:
        """Return the values of a record's constructor call, by field path."""
        assert isinstance(node, ast.Call)
        found: dict[tuple[str, ...], Expression] = {}
        for item in node.keywords:
            here = (*path, str(item.arg))
            if item.value in self.made.made:
                found.update(self.written(item.value, here))
            else:
                found[here] = self.value(item.value)
        return found

    def call(self, node: ast.Call) -> Expression:
        callee = self.made.calls.get(node)
        if callee is not None:
            number = self.functions.function(callee)
            given = zip(node.args, callee.params.values(), strict=True)
            arguments = tuple(self.value(item) for item, kind in given if not isinstance(kind, Consts))
            return nodes.Call(number, arguments, at=where(node), type=kind_of_value(callee.returns) or INT)
        if node in self.made.bounds:
            return nodes.Fits(self.made.bounds[node], self.value(node.args[0]), at=where(node))
        name = self.scope.global_of(node.func).__name__
        if name in ("all", "any", "sum"):
            return self.fold(node, nodes.FoldOp(name))
        if name in ("min", "max") and len(node.args) == 1:
            default = self.value(node.keywords[0].value) if node.keywords else None
            fold = self.fold(node, nodes.FoldOp.SUM)
            return lifted.extreme(self.lifted(node), fold, default, greatest=name == "max")
        arguments = tuple(map(self.value, node.args))
        match name:
            case "len":
                if isinstance(arguments[0].type, Rec):
                    return nodes.Field(arguments[0], "items_end", at=where(node))
                return nodes.Length(arguments[0], at=where(node))
            case "abs":
                return nodes.Unary(nodes.UnaryOp.ABSOLUTE, arguments[0], at=where(node), checks=NUMBER)
            case "int":
                return arguments[0]
            case "bool":
                make = lifted.Making(where(node))
                return make.compare(arguments[0], nodes.Order.DIFFERENT, make.number(0))
        assert name in ("min", "max"), name
        return nodes.Extreme(name == "max", arguments, at=where(node))

    def fold(self, node: ast.Call, operator: nodes.FoldOp) -> nodes.Fold:
        """Return the node for all(...), any(...) or sum(...). Only the first source is evaluated in the outer scope."""
        generator = self.made.sugar.get(node.args[0], node.args[0])
        assert isinstance(generator, ast.GeneratorExp)
        clauses = []
        own: dict[str, Expression] = {}
        for number, clause in enumerate(generator.generators):
            slot, bound, source = self.clause(clause)
            if number == 0:
                self.bound.append(own)
            own.update(bound)
            clauses.append(nodes.Clause(slot, source, tuple(map(self.value, clause.ifs)), at=where(clause.target)))
        value = self.value(generator.elt)
        self.bound.pop()
        checks = NUMBER if operator is nodes.FoldOp.SUM else nodes.NEVER
        return nodes.Fold(operator, tuple(clauses), value, at=where(node), checks=checks)

    def clause(self, clause: ast.comprehension) -> tuple[nodes.Slot, dict[str, Expression], Source]:
        make = lifted.Making(where(clause.target))
        if clause.iter not in self.made.views:
            assert isinstance(clause.target, ast.Name)
            source = self.source(clause.iter)
            slot = self.slot(clause.target.id, self.kind(clause.target))
            return slot, {clause.target.id: make.read(slot)}, source
        view = views.view_of(self.made, clause.iter, self.value, make)
        slot = self.slot("", INT)
        numbers = nodes.Numbers(make.number(0), view.count, at=where(clause.iter))
        return slot, {name.id: item for name, item in named(clause.target, view.item(make.read(slot)))}, numbers

    def source(self, node: ast.expr) -> Source:
        if node in self.made.types:
            return self.value(node)
        assert isinstance(node, ast.Call)
        ends = [self.value(item) for item in node.args]
        start = ends[0] if len(ends) == 2 else nodes.Literal(0, at=where(node))
        return nodes.Numbers(start, ends[-1], at=where(node))


def named(target: ast.expr, items: Items) -> list[tuple[ast.Name, Expression]]:
    if isinstance(target, ast.Name):
        assert isinstance(items, Expression)
        return [(target, items)]
    assert isinstance(target, ast.Tuple)
    assert isinstance(items, tuple)
    return [found for name, item in zip(target.elts, items, strict=True) for found in named(name, item)]


def _by_negative(operator: nodes.BinaryOp, left: Expression, count: int, at: nodes.At) -> Expression:
    """Return `left // -count` or `left % -count` as a division by a positive number, rounded down as in Python."""
    make = lifted.Making(at)
    size = make.number(count)
    if operator is nodes.BinaryOp.DIVIDE:
        less = make.subtract(left, make.number(1))
        return nodes.Unary(nodes.UnaryOp.INVERT, nodes.Binary(nodes.BinaryOp.DIVIDE, less, size, at=at), at=at)
    missing = make.subtract(size, nodes.Binary(nodes.BinaryOp.MODULO, left, size, at=at))
    return nodes.Unary(nodes.UnaryOp.NEGATE, nodes.Binary(nodes.BinaryOp.MODULO, missing, size, at=at), at=at)
