"""Statements: assignments, branches and loops, in the order of execution."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from fencepost.model.language.actions import require
from fencepost.model.language.subset.expressions import ARITHMETIC, Expressions
from fencepost.model.language.subset.kinds import (
    INT,
    NOTHING,
    Arr,
    BagRef,
    Consts,
    Nothing,
    Rec,
    Type,
    say,
)

if TYPE_CHECKING:
    from fencepost.model.language.subset.scope import Scope


class Statements:
    """Checks the body of one function."""

    def __init__(self, scope: Scope) -> None:
        self.scope, self.expressions = scope, Expressions(scope)

    def body(self) -> None:
        """Check the whole function."""
        node = self.scope.made.node
        arguments = node.args
        if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults or arguments.posonlyargs:
            self.scope.refuse(
                node, f"{self.scope.made.name}() has default, keyword-only or starred parameters", "use plain parameters"
            )
        self.block(node.body)

    def block(self, statements: list[ast.stmt]) -> bool:
        """Check statements in order; return whether control always leaves them early."""
        for statement in statements:
            if self.statement(statement):
                return True
        return False

    def statement(self, node: ast.stmt) -> bool:
        """Check one statement; return whether control never comes past it."""
        match node:
            case ast.Pass():
                return False
            case ast.Break() | ast.Continue():
                return True
            case ast.Return():
                self.give_back(node)
                return True
            case ast.Expr():
                self.effect(node.value)
            case ast.Assign():
                if len(node.targets) != 1:
                    self.scope.refuse(node, "this assigns to several targets at once", "write one assignment per target")
                self.assign(node.targets[0], node.value, node)
            case ast.AugAssign():
                self.augment(node)
            case ast.AnnAssign(value=ast.expr()):
                assert node.value is not None
                self.assign(node.target, node.value, node)
            case ast.If():
                return self.branch(node)
            case ast.For():
                self.loop(node)
            case _:
                word = type(node).__name__.lower()
                self.scope.refuse(
                    node, f"`{word}` is outside the modelling language", "use assignments, if, for, return and calls of helpers"
                )
        return False

    def give_back(self, node: ast.Return) -> None:
        """Check a return statement."""
        given = NOTHING if node.value is None else self.expressions.value(node.value)
        if isinstance(given, Arr | BagRef | Consts):
            self.scope.refuse(node, "a helper returns an array, a bag or the constants", "return a number, a flag or a record")
        before = self.scope.made.returns
        if before not in (NOTHING, given):
            self.scope.refuse(node, "this returns another type than an earlier return", "return one type everywhere")
        self.scope.made.returns = given

    def effect(self, node: ast.expr) -> None:
        """Check an expression statement: a call of `require`, of a helper, or of a bag."""
        if not isinstance(node, ast.Call):
            self.scope.refuse(node, "this computes a value and drops it", "assign it, or remove the line")
        if isinstance(node.func, ast.Name) and self.scope.global_of(node.func) is require:
            if len(node.args) != 1 or node.keywords:
                self.scope.refuse(node, "`require` takes one condition", "write require(condition)")
            if node not in {item.value for item in self.scope.made.node.body if isinstance(item, ast.Expr)}:
                self.scope.refuse(
                    node, "`require` stands inside an if, a loop or a helper's body", "use it at the top level of an action"
                )
            if not self.scope.is_action():
                self.scope.refuse(node, "`require` stands in a helper", "return a flag and require it in the action")
            self.expressions.number(node.args[0])
            return
        self.expressions.call(node)

    def assign(self, target: ast.expr, value: ast.expr, node: ast.stmt) -> None:
        """Check an assignment."""
        if isinstance(target, ast.Tuple):
            if not isinstance(value, ast.Tuple) or len(value.elts) != len(target.elts):
                self.scope.refuse(
                    node, "this unpacks something other than a tuple of the same length", "write one assignment per name"
                )
            for name, item in zip(target.elts, value.elts, strict=True):
                if not isinstance(name, ast.Name):
                    kind = self.expressions.place(name)
                    if isinstance(kind, Rec):
                        self.scope.refuse(
                            node,
                            "this swaps records, which would duplicate one: both names refer to one place",
                            "copy the fields through locals",
                        )
                    self.scope.refuse(node, "a tuple assignment writes to the state", "write one assignment per field")
                del item
            given = [self.expressions.value(item) for item in value.elts]
            for name, item, kind in zip(target.elts, value.elts, given, strict=True):
                assert isinstance(name, ast.Name)
                self.bind(name, kind, item)
            return
        if isinstance(target, ast.Name):
            self.bind(target, self.expressions.value(value), value)
            return
        kind = self.expressions.place(target)
        given_kind = self.expressions.value(value)
        if isinstance(kind, Arr | BagRef):
            self.scope.refuse(target, "this assigns a whole array or bag", "change its elements")
        if kind != given_kind:
            self.scope.refuse(value, f"{say(given_kind)} is stored where {say(kind)} belongs", "store the same type")
        self.scope.made.writes = True
        if isinstance(kind, Rec):
            self.scope.overwrite(target)

    def bind(self, name: ast.Name, kind: Type, value: ast.expr) -> None:
        """Give a local name a value."""
        if isinstance(kind, Nothing | Consts | BagRef):
            self.scope.refuse(value, f"{say(kind)} is given a name", "use it directly")
        if name.id in self.scope.made.params:
            self.scope.refuse(name, f"this rebinds the parameter {name.id!r}", "use another name")
        before = self.scope.env.get(name.id)
        if before is not None and before != kind:
            self.scope.refuse(name, f"{name.id!r} held {say(before)} and now gets {say(kind)}", "use another name")
        self.scope.env[name.id] = kind
        self.scope.made.types[name] = kind
        self.scope.stale.pop(name.id, None)
        self.scope.origin[name.id] = self.scope.path(value) if isinstance(kind, Rec | Arr) else ""

    def augment(self, node: ast.AugAssign) -> None:
        """Check `x += 1`."""
        if not isinstance(node.op, (*ARITHMETIC, ast.FloorDiv, ast.Mod)):
            self.scope.refuse(node, "this operator is outside the modelling language", "use + - * // % & | ^ << >>")
        if isinstance(node.target, ast.Name):
            self.expressions.load(ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target))
            self.scope.made.types[node.target] = INT
        else:
            if self.expressions.place(node.target) != INT:
                self.scope.refuse(node.target, "this adds to something that is not a number", "change its fields")
            self.scope.made.writes = True
        self.expressions.number(node.value)
        self.expressions.divisor(node.op, node.value)

    def branch(self, node: ast.If) -> bool:
        """Check an if; a name is assigned after it only if both ways assign it."""
        self.expressions.number(node.test)
        before, stale = dict(self.scope.env), dict(self.scope.stale)
        left_early = self.block(node.body)
        after_body, stale_body = self.scope.env, self.scope.stale
        self.scope.env, self.scope.stale = dict(before), dict(stale)
        other_early = self.block(node.orelse)
        after_else, stale_else = self.scope.env, self.scope.stale
        if left_early:
            self.scope.env, self.scope.stale = after_else, stale_else
        elif other_early:
            self.scope.env, self.scope.stale = after_body, stale_body
        else:
            self.scope.env = {name: kind for name, kind in after_body.items() if after_else.get(name) == kind}
            self.scope.stale = {**stale_body, **stale_else}
        return left_early and other_early

    def loop(self, node: ast.For) -> None:
        """Check a for loop over range, an array or a bag."""
        if node.orelse:
            self.scope.refuse(node, "`for ... else` is outside the modelling language", "use a flag")
        before = dict(self.scope.env)
        self.expressions.iterate(node.target, node.iter)
        self.block(node.body)
        self.expressions.iterate(node.target, node.iter)
        self.block(node.body)  # a second time: what the first round overwrote is stale in the next
        self.scope.env = {name: kind for name, kind in before.items() if name in self.scope.env}
