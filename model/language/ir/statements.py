"""Statements of a checked function as nodes."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from fencepost.model.language.ir.expressions import Expressions, Functions, kind_of_value, where
from fencepost.model.language.ir.nodes import (
    Add,
    Assign,
    Break,
    Call,
    Clause,
    Constant,
    Continue,
    Copy,
    Element,
    Evaluate,
    Failure,
    Field,
    Fill,
    For,
    If,
    Literal,
    Local,
    Remove,
    Require,
    Return,
    Store,
)
from fencepost.model.language.ir.walk import inside
from fencepost.model.language.records import ArrayOf, Scalar, fields
from fencepost.model.language.subset import is_require
from fencepost.model.language.subset.kinds import INT, Arr, BagRef, Rec

if TYPE_CHECKING:
    from fencepost.model.language import subset
    from fencepost.model.language.domains import Domain
    from fencepost.model.language.ir.nodes import Block, Expression, Failures, Slot, Statement

VALUE: Failures = frozenset([Failure.VALUE])


class Statements:
    """The body of one function."""

    def __init__(self, functions: Functions, made: subset.Function) -> None:
        self.made = made
        self.expressions = Expressions(functions, made)
        self.slots = self.expressions.slots
        for name, kind in made.params.items():
            known = kind_of_value(kind)
            if known is not None:
                self.expressions.own(name, known)
        self.parameters = len(self.slots)
        self.prefix = 0
        self.guards = 0

    def body(self) -> Block:
        """Return the whole function."""
        found: list[Statement] = []
        for place, node in enumerate(self.made.node.body):
            if place == self.made.guards:
                self.prefix = len(found)
            found += self.statement(node)
        if self.made.guards == len(self.made.node.body):
            self.prefix = len(found)
        return tuple(found)

    def block(self, nodes: list[ast.stmt]) -> Block:
        """Return statements in order."""
        return tuple(statement for node in nodes for statement in self.statement(node))

    def statement(self, node: ast.stmt) -> list[Statement]:
        """Return what a statement is."""
        at = where(node)
        match node:
            case ast.Pass():
                return []
            case ast.Break():
                return [Break(at=at)]
            case ast.Continue():
                return [Continue(at=at)]
            case ast.Return():
                return [Return(None if node.value is None else self.expressions.value(node.value), at=at)]
            case ast.Expr(value=ast.Call() as call):
                return [self.effect(node, call)]
            case ast.Assign():
                return self.assign(node, node.targets[0], node.value)
            case ast.AnnAssign(value=ast.expr() as value):
                return self.assign(node, node.target, value)
            case ast.AugAssign():
                return self.augment(node)
            case ast.If():
                return [If(self.expressions.value(node.test), self.block(node.body), self.block(node.orelse), at=at)]
            case ast.For():
                return [self.loop(node)]
        raise AssertionError(ast.dump(node))

    def effect(self, node: ast.Expr, call: ast.Call) -> Statement:
        """Return a guard, a change of a bag, or a call of a helper."""
        if is_require(self.made, node):
            self.guards += 1
            return Require(self.guards - 1, self.expressions.value(call.args[0]), self.made.bounds.get(call), at=where(node))
        changed = self.bag(node, call, None)
        if changed is not None:
            return changed
        value = self.expressions.value(call)
        assert isinstance(value, Call)
        return Evaluate(value, at=where(node))

    def bag(self, node: ast.stmt, call: ast.expr, slot: Slot | None) -> Statement | None:
        """Return `add` or `remove` of a bag; None where a call is something else."""
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call in self.made.calls:
            return None
        kind = self.made.types.get(call.func.value)
        if not isinstance(kind, BagRef):
            return None
        bag = self.expressions.value(call.func.value)
        if call.func.attr == "remove":
            message = self.expressions.value(call.args[0])
            return Remove(bag, message, at=where(node), checks=frozenset([Failure.ABSENT]))
        domains = {name: field.domain for name, field in fields(kind.field.record) if isinstance(field, Scalar)}
        fills = tuple(
            Fill(str(item.arg), self.expressions.value(item.value), domains[str(item.arg)], at=where(item), checks=VALUE)
            for item in call.keywords
        )
        return Add(bag, fills, slot, at=where(node), checks=frozenset([Failure.FULL]))

    def assign(self, node: ast.stmt, target: ast.expr, value: ast.expr) -> list[Statement]:
        """Return an assignment: the value is evaluated before the target."""
        if isinstance(target, ast.Tuple):
            assert isinstance(value, ast.Tuple)
            return self.together(node, target.elts, value.elts)
        if isinstance(target, ast.Name):
            slot = self.target(target)
            changed = self.bag(node, value, slot)
            return [changed or Assign(slot, self.expressions.value(value), at=where(node))]
        given = self.expressions.value(value)
        return [self.store(node, self.place(target), given)]

    def together(self, node: ast.stmt, targets: list[ast.expr], values: list[ast.expr]) -> list[Statement]:
        """Return `a, b = x, y`: all values are evaluated before the first target is assigned."""
        given = [self.expressions.value(item) for item in values]
        slots = [self.target(item) for item in targets]
        read = [{item.slot for item in inside([value]) if isinstance(item, Local)} for value in given]
        if any(slot in later for number, slot in enumerate(slots) for later in read[number + 1 :]):
            kept = [self.expressions.slot("", item.type) for item in given]
            first = [Assign(slot, value, at=value.at) for slot, value in zip(kept, given, strict=True)]
            given = [Local(slot, at=value.at, type=slot.type) for slot, value in zip(kept, given, strict=True)]
        else:
            first = []
        return [*first, *(Assign(slot, value, at=where(node)) for slot, value in zip(slots, given, strict=True))]

    def target(self, name: ast.expr) -> Slot:
        """Return the slot of a name that is assigned."""
        assert isinstance(name, ast.Name)
        return self.expressions.own(name.id, self.expressions.kind(name))

    def place(self, target: ast.expr) -> Field | Element:
        """Return the place that is written."""
        found = self.expressions.value(target)
        assert isinstance(found, Field | Element)
        return found

    def store(self, node: ast.stmt, place: Field | Element, value: Expression) -> Statement:
        """Return a store of a number, or a copy of a record."""
        domain = self.domain(place)
        if domain is None:
            return Copy(place, value, at=where(node))
        return Store(place, value, domain, at=where(node), checks=VALUE)

    def domain(self, place: Field | Element) -> Domain | None:
        """Return the domain of a scalar place, None for a record."""
        if isinstance(place, Field):
            assert isinstance(place.owner.type, Rec)
            kind = dict(fields(place.owner.type.record))[place.name]
        else:
            assert isinstance(place.array.type, Arr)
            kind = place.array.type.field.element
        assert not isinstance(kind, ArrayOf)
        return kind.domain if isinstance(kind, Scalar) else None

    def augment(self, node: ast.AugAssign) -> list[Statement]:
        """Return `x += 1`: the place is found once, read, and written after the value was evaluated."""
        if isinstance(node.target, ast.Name):
            slot = self.target(node.target)
            old = Local(slot, at=where(node.target), type=INT)
            value = self.expressions.operation(node, node.op, old, self.expressions.value(node.value))
            return [Assign(slot, value, at=where(node))]
        before: list[Statement] = []
        place = self.place(node.target)
        if isinstance(place, Field):
            place = Field(self.kept(place.owner, before), place.name, at=place.at, type=place.type)
        else:
            array, index = self.kept(place.array, before), self.kept(place.index, before)
            place = Element(array, index, at=place.at, checks=place.checks, type=place.type)
        value = self.expressions.operation(node, node.op, place, self.expressions.value(node.value))
        return [*before, self.store(node, place, value)]

    def kept(self, value: Expression, before: list[Statement]) -> Expression:
        """Return an expression that may stand twice: itself, if that changes nothing, or a slot that is assigned before."""
        inner = value
        while isinstance(inner, Field) and inner.type != INT:
            inner = inner.owner
        if isinstance(inner, Local | Literal | Constant):
            return value
        slot = self.expressions.slot("", value.type)
        before.append(Assign(slot, value, at=value.at))
        return Local(slot, at=value.at, type=slot.type)

    def loop(self, node: ast.For) -> For:
        """Return a loop."""
        source = self.expressions.source(node.iter)
        slot = self.target(node.target)
        body = self.block(node.body)
        return For(slot, source, body, any(slot is found for found in assigned(body)), at=where(node))


def assigned(block: Block) -> list[Slot]:
    """Return the slots that statements, or those inside them, give a value."""
    return [
        item.slot
        for item in inside(block)
        if isinstance(item, Assign | For | Clause) or (isinstance(item, Add) and item.slot is not None)
        if item.slot is not None
    ]
