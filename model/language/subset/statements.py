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
        self.returned: list[Type] = []
        self.jumped: dict[str, str] = {}
        """What is stale where a `break` or `continue` leaves the body of the loop at hand."""

    def body(self) -> None:
        """Check the whole function."""
        node = self.scope.made.node
        arguments = node.args
        if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults or arguments.posonlyargs:
            self.scope.refuse(
                node, f"{self.scope.made.name}() has default, keyword-only or starred parameters", "use plain parameters"
            )
        for item in arguments.args:
            self.expressions.declare(item, item.arg)
        if not self.block(node.body) and self.scope.made.returns != NOTHING:
            self.scope.refuse(node, f"{self.scope.made.name}() returns a value on some ways only", "return one on every way")

    def block(self, statements: list[ast.stmt]) -> bool:
        """Check statements in order; return whether control always leaves them early."""
        for position, statement in enumerate(statements):
            if self.statement(statement):
                if position + 1 < len(statements):
                    self.scope.refuse(statements[position + 1], "this line is never reached", "remove it")
                return True
        return False

    def statement(self, node: ast.stmt) -> bool:
        """Check one statement; return whether control never comes past it."""
        match node:
            case ast.Pass():
                return False
            case ast.Break() | ast.Continue():
                self.jumped.update(self.scope.stale)
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
            case ast.AnnAssign():
                self.scope.refuse(node, "this declares a name without a value", "give it one")
            case ast.If():
                return self.branch(node)
            case ast.For():
                self.loop(node)
            case _:
                word = ast.unparse(node).split(maxsplit=1)[0].strip(":")
                self.scope.refuse(
                    node, f"`{word}` is outside the modelling language", "use assignments, if, for, return and calls of helpers"
                )
        return False

    def give_back(self, node: ast.Return) -> None:
        """Check a return statement."""
        given = NOTHING if node.value is None else self.expressions.value(node.value)
        if isinstance(given, Arr | BagRef | Consts):
            self.scope.refuse(node, "a helper returns an array, a bag or the constants", "return a number, a flag or a record")
        if self.scope.is_action() and given != NOTHING:
            self.scope.refuse(node, "an action returns a value", "write to the state, or make this a helper")
        if self.returned and given != self.returned[0]:
            self.scope.refuse(node, "this returns another type than an earlier return", "return one type everywhere")
        self.returned.append(given)
        self.scope.made.returns = given
        if node.value is not None and isinstance(given, Rec):
            self.scope.made.gives |= self.scope.places.find(node.value)

    def effect(self, node: ast.expr) -> None:
        """Check an expression statement: a call of `require`, of a helper, or of a bag."""
        if not isinstance(node, ast.Call):
            self.scope.refuse(node, "this computes a value and drops it", "assign it, or remove the line")
        if isinstance(node.func, ast.Name) and self.scope.global_of(node.func) is require:
            if len(node.args) != 1 or [item.arg for item in node.keywords] not in ([], ["bound"]):
                self.scope.refuse(node, "`require` takes one condition", "write require(condition)")
            if node not in {item.value for item in self.scope.made.node.body if isinstance(item, ast.Expr)}:
                self.scope.refuse(
                    node, "`require` stands inside an if, a loop or a helper's body", "use it at the top level of an action"
                )
            if not self.scope.is_action():
                self.scope.refuse(node, "`require` stands in a helper", "return a flag and require it in the action")
            self.expressions.number(node.args[0])
            if node.keywords:
                self.scope.made.bounds[node] = self.expressions.bound(node.keywords[0].value)
            return
        self.expressions.whole = node
        self.expressions.value(node)

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
            given = self.expressions.in_order(value.elts)
            for name, item, kind in zip(target.elts, value.elts, given, strict=True):
                assert isinstance(name, ast.Name)
                self.bind(name, kind, item)
            return
        if isinstance(target, ast.Name):
            self.expressions.whole = value
            self.bind(target, self.expressions.value(value), value)
            return
        if not isinstance(target, ast.Attribute | ast.Subscript):
            self.expressions.place(target)  # which refuses it
        given_kind = self.expressions.value(value)
        with self.scope.places.holding(*([value] if isinstance(given_kind, Rec) else [])):
            kind = self.expressions.place(target)
        if isinstance(kind, Arr | BagRef):
            self.scope.refuse(target, "this assigns a whole array or bag", "change its elements")
        if kind != given_kind:
            self.scope.refuse(value, f"{say(given_kind)} is stored where {say(kind)} belongs", "store the same type")
        self.scope.made.writes = True
        if isinstance(kind, Rec):
            self.scope.places.overwrite(self.scope.places.find(target), f"{ast.unparse(target)} = ...")

    def bind(self, name: ast.Name, kind: Type, value: ast.expr) -> None:
        """Give a local name a value."""
        if isinstance(kind, Nothing):
            self.scope.refuse(value, "a name is given to what a helper without a value returns", "call it on a line of its own")
        if isinstance(kind, Consts | BagRef):
            self.scope.refuse(value, f"a name is given to {say(kind)}", "write it out where it is used")
        self.expressions.declare(name, name.id)
        self.expressions.rebind(name, kind)
        self.scope.env[name.id] = kind
        self.scope.made.types[name] = kind
        self.scope.places.name(name.id, self.scope.places.find(value) if isinstance(kind, Rec | Arr) else frozenset())

    def augment(self, node: ast.AugAssign) -> None:
        """Check `x += 1`."""
        if not isinstance(node.op, (*ARITHMETIC, ast.FloorDiv, ast.Mod)):
            self.scope.refuse(node, "this operator is outside the modelling language", "use + - * // % & | ^ << >>")
        if isinstance(node.target, ast.Name):
            self.expressions.load(ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target))
            self.expressions.rebind(node.target, INT)
            self.scope.made.types[node.target] = INT
        else:
            if self.expressions.place(node.target) != INT:
                self.scope.refuse(node.target, "this adds to something that is not a number", "change its fields")
            self.scope.made.writes = True
        with self.scope.places.holding(
            *([node.target.value] if isinstance(node.target, ast.Attribute | ast.Subscript) else [])
        ):
            self.expressions.number(node.value)
        self.expressions.divisor(node.op, node.value)

    def branch(self, node: ast.If) -> bool:
        """Check an if; a name is assigned after it only if both ways assign it."""
        self.expressions.number(node.test)
        places = self.scope.places
        before, stale, of, added = dict(self.scope.env), dict(self.scope.stale), dict(places.of), set(places.added)
        left_early = self.block(node.body)
        after_body, stale_body, of_body, added_body = self.scope.env, self.scope.stale, places.of, places.added
        self.scope.env, self.scope.stale, places.of, places.added = dict(before), dict(stale), of, added
        other_early = self.block(node.orelse)
        after_else, stale_else = self.scope.env, self.scope.stale
        for name, found in of_body.items():
            places.of[name] = places.of.get(name, frozenset()) | found
        if not left_early:
            places.added = added_body if other_early else places.added | added_body
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
        before, of = dict(self.scope.env), dict(self.scope.places.of)
        jumped, self.jumped = self.jumped, {}
        for _ in range(2):  # twice: what the first round overwrote is stale in the next
            self.expressions.iterate(node.target, node.iter)
            self.expressions.enter(node.target, node.iter)
            over = isinstance(self.scope.made.types.get(node.iter), Arr)
            with self.scope.places.holding(*([node.iter] if over else [])):
                self.block(node.body)
            self.scope.places.loops.pop()
            self.scope.stale.update(self.jumped)
            for name, places in of.items():
                self.scope.places.of[name] |= places
        self.jumped = jumped
        self.scope.env = {name: kind for name, kind in before.items() if name in self.scope.env}
