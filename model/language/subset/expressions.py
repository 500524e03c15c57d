"""Expressions: their types, and what no engine could be trusted with."""

from __future__ import annotations

import ast
import builtins
import types
from typing import TYPE_CHECKING

from fencepost.model.language.actions import Action, Property, fits
from fencepost.model.language.constants import MOST, Constants
from fencepost.model.language.domains import NONE
from fencepost.model.language.errors import nearest
from fencepost.model.language.records import Scalar, fields
from fencepost.model.language.subset.kinds import (
    INT,
    NOTHING,
    Arr,
    BagRef,
    Consts,
    Int,
    Rec,
    Type,
    element_of,
    kind_of,
    say,
)
from fencepost.model.language.subset.places import head

if TYPE_CHECKING:
    from fencepost.model.language.subset.scope import Scope

ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift)
BUILTINS = {"min", "max", "abs", "len", "int", "bool"}
BITS = MOST.bit_length()
"""Bits of a number that every engine has, the sign left out."""
WORDS: dict[type[ast.expr], str] = {
    ast.JoinedStr: "an f-string",
    ast.NamedExpr: "`:=`",
    ast.Slice: "a slice",
    ast.ListComp: "a list",
    ast.SetComp: "a set",
    ast.DictComp: "a dict",
    ast.GeneratorExp: "a generator that is not in all(), any() or sum()",
    ast.Starred: "a star",
    ast.Lambda: "`lambda`",
    ast.List: "a list",
    ast.Tuple: "a tuple",
}
FOLDS = {"all", "any", "sum"}


class Expressions:
    """Checks expressions in a scope and notes their types."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.whole: ast.expr | None = None
        """The call that makes up the statement at hand, where it is one."""
        self.folding = ""
        self.coming: frozenset[str] = frozenset()
        """Variables of the generators around that a later clause binds: Python takes them for unassigned until then."""

    def declare(self, node: ast.AST, name: str) -> None:
        """Check the name of a parameter or a local."""
        if name.startswith("_") and name != "_":
            self.scope.refuse(node, f"the name {name!r} begins with an underscore", "use one that does not")
        if name in BUILTINS | FOLDS | {"range"}:
            self.scope.refuse(node, f"the name {name!r} is taken by the language", "use another name")

    def rebind(self, name: ast.Name, kind: Type) -> None:
        """Check that a name may be given a value of this type."""
        if name.id in self.scope.made.params:
            self.scope.refuse(name, f"this rebinds the parameter {name.id!r}", "use another name")
        before = self.scope.env.get(name.id)
        if before is not None and before != kind:
            self.scope.refuse(name, f"{name.id!r} held {say(before)} and now gets {say(kind)}", "use another name")

    def number(self, node: ast.expr) -> None:
        """Check an expression that must be a number or a flag."""
        kind = self.value(node)
        if kind != INT:
            self.scope.refuse(node, f"{say(kind)} stands where a number belongs", "read one of its fields")

    def value(self, node: ast.expr) -> Type:
        """Check an expression and return its type."""
        kind = self._value(node)
        self.scope.made.types[node] = kind
        return kind

    def _value(self, node: ast.expr) -> Type:
        match node:
            case ast.Constant():
                if not isinstance(node.value, int):
                    self.scope.refuse(
                        node, f"{node.value!r} is outside the modelling language", "use whole numbers, flags and enum members"
                    )
                if node.value > MOST:
                    self.scope.refuse(node, f"{node.value} does not fit a number", f"use at most {MOST}")
                return INT
            case ast.Name():
                return self.load(node)
            case ast.Attribute():
                return self.attribute(node)
            case ast.Subscript():
                return self.subscript(node)
            case ast.BinOp():
                if not isinstance(node.op, (*ARITHMETIC, ast.FloorDiv, ast.Mod)):
                    self.scope.refuse(node, "this operator is outside the modelling language", "use + - * // % & | ^ << >>")
                self.number(node.left)
                self.number(node.right)
                self.divisor(node.op, node.right)
                return INT
            case ast.UnaryOp():
                self.number(node.operand)
                condition = isinstance(node.operand, ast.Compare | ast.BoolOp) or (
                    isinstance(node.operand, ast.UnaryOp) and isinstance(node.operand.op, ast.Not)
                )
                if isinstance(node.op, ast.Invert) and condition:
                    self.scope.refuse(node, "`~` inverts the bits of a condition", "write `not`")
                return INT
            case ast.BoolOp():
                for item in node.values:
                    self.number(item)
                return INT
            case ast.Compare():
                return self.compare(node)
            case ast.IfExp():
                self.number(node.test)
                first, second = self.value(node.body), self.value(node.orelse)
                if first != second or not isinstance(first, Int | Rec):
                    self.scope.refuse(node, "the two ways of this expression have different types", "use an if statement")
                return first
            case ast.Call():
                return self.call(node)
        word = WORDS.get(type(node), type(node).__name__.lower())
        self.scope.refuse(
            node,
            f"{word} is outside the modelling language",
            "use numbers, fields, comparisons, and, or, not, min, max, all, any, sum",
        )

    def divisor(self, operator: ast.operator, node: ast.expr) -> None:
        """A divisor must be a positive literal: no engine then has to define division by zero. Nor may a shift lose bits."""
        if isinstance(operator, ast.FloorDiv | ast.Mod) and not (isinstance(node, ast.Constant) and node.value):
            self.scope.refuse(node, "this divides by something that may be zero", "divide by a literal")
        count = self.literal(node)
        if isinstance(operator, ast.LShift | ast.RShift) and count is not None and not 0 <= count < BITS:
            self.scope.refuse(node, f"this shifts by {count} bits", f"shift by 0 to {BITS - 1}")

    def load(self, node: ast.Name) -> Type:
        """Check the use of a name."""
        name = node.id
        if name in self.scope.stale:
            self.scope.refuse(
                node,
                f"{name!r} refers to a place that `{self.scope.stale[name]}` has overwritten",
                "copy what you need into locals before the write",
            )
        if name in self.coming:
            self.scope.refuse(node, f"{name!r} is the variable of a loop that comes later", "give one of them another name")
        self.scope.made.reads_gone |= self.scope.places.gone & set(map(head, self.scope.places.of.get(name, frozenset())))
        if name in self.scope.env:
            return self.scope.env[name]
        if name in self.scope.locals:
            self.scope.refuse(node, f"{name!r} may be unassigned here", "assign it on every way that leads here")
        found = self.scope.static(node)
        if found is None:
            known = [*self.scope.env, *self.scope.made.python.__globals__]
            hint = "" if self.scope.global_of(node) is not None else nearest(name, known)
            self.scope.refuse(
                node,
                f"{name!r} is not a number, parameter or local here.{hint}".rstrip("."),
                "pass what is needed as an argument",
            )
        self.scope.made.static[node] = self.fitting(node, found)
        return INT

    def fitting(self, node: ast.expr, found: int) -> int:
        """Check a number of the module: it is as large as a literal may be at most."""
        if abs(found) > MOST:
            shown = found if abs(found) < 10**30 else f"a number of {found.bit_length():,} bits"
            self.scope.refuse(node, f"{ast.unparse(node)} is {shown}, which does not fit a number", f"use {-MOST} to {MOST}")
        return found

    def attribute(self, node: ast.Attribute) -> Type:
        """Check `record.field`, `c.constant` or a global number."""
        root: ast.expr = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name) and root.id not in self.scope.env and root.id not in self.scope.locals:
            found = self.scope.static(node)
            if found is None:
                self.scope.refuse(node, f"{ast.unparse(node)!r} is not a number", "use an enum member or a module-level number")
            self.scope.made.static[node] = self.fitting(node, found)
            return INT
        owner = self.value(node.value)
        if isinstance(owner, Consts):
            known = list(self.scope.program.machine.constants.declared())
            if node.attr not in known:
                self.scope.refuse(
                    node,
                    f"there is no constant {node.attr!r}.{nearest(node.attr, known)}".rstrip("."),
                    f"use one of: {', '.join(known)}",
                )
            return INT
        if isinstance(owner, Rec):
            found_field = dict(fields(owner.record)).get(node.attr)
            if found_field is None:
                names = [name for name, _ in fields(owner.record)]
                only = len(names) == 1
                hint = "" if only else nearest(node.attr, names)
                self.scope.refuse(
                    node,
                    f"record {owner.record.__name__} has no field {node.attr!r}.{hint}".rstrip("."),
                    f"write {names[0]!r}, its only field" if only else f"use one of: {', '.join(names)}",
                )
            if node.attr.startswith("ghost_"):
                self.scope.made.reads_ghost = self.scope.made.reads_ghost or node.attr
            return kind_of(found_field)
        self.scope.refuse(node, f"{say(owner)} has no fields", "read a field of a record")

    def subscript(self, node: ast.Subscript) -> Type:
        """Check `array[index]`."""
        owner = self.value(node.value)
        if not isinstance(owner, Arr):
            self.scope.refuse(node, f"{say(owner)} is indexed", "index an array")
        with self.scope.places.holding(node.value):
            self.number(node.slice)
        literal = self.literal(node.slice)
        if literal is not None and literal < 0:
            what = "NONE is used as an index" if literal == NONE else f"{literal} is used as an index"
            self.scope.refuse(node.slice, what, "test for NONE first, and index with a number from 0")
        return element_of(owner.field)

    def literal(self, node: ast.expr) -> int | None:
        """Return the number that an expression is for sure, or None."""
        if isinstance(node, ast.Constant):
            return int(node.value) if isinstance(node.value, int) else None
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            inner = self.literal(node.operand)
            return None if inner is None else -inner
        return self.scope.made.static.get(node)

    def place(self, node: ast.expr) -> Type:
        """Check the target of a store and return what it holds."""
        if not isinstance(node, ast.Attribute | ast.Subscript):
            self.scope.refuse(node, "this cannot be assigned", "assign a local name or a field")
        kind = self.attribute(node) if isinstance(node, ast.Attribute) else self.subscript(node)
        self.scope.made.types[node] = kind
        if isinstance(self.scope.made.types.get(node.value), Consts):
            self.scope.refuse(node, "a constant is assigned", "keep what changes in the state")
        self.scope.places.write(node, self.scope.places.find(node.value))
        return kind

    def compare(self, node: ast.Compare) -> Type:
        """Check a comparison of numbers."""
        self_kind = self.value(node.left)
        for operator, other in zip(node.ops, node.comparators, strict=True):
            if isinstance(operator, ast.In | ast.NotIn):
                if not isinstance(other, ast.Tuple) or len(node.ops) != 1 or not other.elts:
                    self.scope.refuse(
                        other,
                        "`in` is used with something else than a tuple of numbers",
                        "write x in (A, B), or a helper of `bits`",
                    )
                for item in other.elts:
                    self.number(item)
                continue
            if isinstance(operator, ast.Is | ast.IsNot):
                self.scope.refuse(node, "`is` is outside the modelling language", "compare numbers with ==")
            kind = self.value(other)
            if kind != INT or self_kind != INT:
                self.scope.refuse(node, "records are compared as a whole", "compare their fields")
        if self_kind != INT:
            self.scope.refuse(node, "records are compared as a whole", "compare their fields")
        return INT

    def helpers(self, called: ast.expr) -> list[str]:
        """Return the names of helpers that could stand there, of the same module if one is named."""
        known = self.scope.made.python.__globals__
        module = self.scope.global_of(called.value) if isinstance(called, ast.Attribute) else None
        if isinstance(called, ast.Attribute) and isinstance(module, types.ModuleType):
            return [
                f"{ast.unparse(called.value)}.{key}"
                for key, item in vars(module).items()
                if isinstance(item, types.FunctionType)
            ]
        return [key for key, item in known.items() if isinstance(item, types.FunctionType)]

    def call(self, node: ast.Call) -> Type:
        """Check a call of a builtin, a helper or a bag."""
        if isinstance(node.func, ast.Attribute):
            root = node.func.value
            owner = self.value(root) if self.scope.global_of(root) is None else None
            if isinstance(owner, BagRef):
                return self.bag_call(node, owner)
        found = self.scope.global_of(node.func)
        name = getattr(found, "__name__", ast.unparse(node.func))
        if found is getattr(builtins, name, None) and name in FOLDS:
            return self.fold(node, name)
        if found is getattr(builtins, name, None) and name in BUILTINS:
            return self.builtin(node, name)
        if found is fits:
            return self.fits(node)
        if isinstance(found, Action | Property):
            self.scope.refuse(
                node, f"{ast.unparse(node.func)!r} is an action or a property", "put what both need into a helper"
            )
        if not isinstance(found, types.FunctionType):
            hint = nearest(name, [*self.helpers(node.func), *BUILTINS, *FOLDS]) if found is None else ""
            self.scope.refuse(
                node,
                f"{ast.unparse(node.func)!r} is not a helper that the language knows.{hint}".rstrip("."),
                "call a function of a model file, or min, max, abs, len, all, any, sum",
            )
        if node.keywords:
            self.scope.refuse(node, "a helper is called with keyword arguments", "pass arguments by position")
        given = self.in_order(node.args)
        wanted = found.__code__.co_argcount
        if len(given) != wanted:
            words = f"{wanted} argument{'' if wanted == 1 else 's'}"
            self.scope.refuse(node, f"{found.__name__}() takes {words} and gets {len(given)}", "pass them all")
        callee = self.scope.program.function(found, given)
        if callee.writes and self.folding:
            self.scope.refuse(node, f"{found.__name__}() changes the state inside {self.folding}()", "write a loop")
        self.scope.made.calls[node] = callee
        self.scope.places.call(node, callee)
        self.scope.made.writes = self.scope.made.writes or callee.writes
        self.scope.made.drops = self.scope.made.drops or (node if callee.drops else None)
        self.scope.made.reads_ghost = self.scope.made.reads_ghost or callee.reads_ghost
        return callee.returns

    def in_order(self, items: list[ast.expr]) -> tuple[Type, ...]:
        """Check expressions that are all evaluated before the first is used."""
        found: list[Type] = []
        for number, item in enumerate(items):
            with self.scope.places.holding(*(other for other, kind in zip(items[:number], found, strict=True) if kind != INT)):
                found.append(self.value(item))
        return tuple(found)

    def fits(self, node: ast.Call) -> Type:
        """Check a condition that leaves something out of an effect where it does not hold."""
        if len(node.args) != 1 or [item.arg for item in node.keywords] != ["bound"]:
            self.scope.refuse(
                node,
                "`fits` takes one condition, and the constant whose room it is about",
                "write fits(condition, bound=C.in_flight)",
            )
        self.number(node.args[0])
        self.scope.made.bounds[node] = self.bound(node.keywords[0].value)
        self.scope.made.drops = node
        return INT

    def bound(self, node: ast.expr) -> str:
        """Return the name of the constant that a guard or an effect stands for."""
        owner = self.scope.global_of(node.value) if isinstance(node, ast.Attribute) else None
        if not isinstance(node, ast.Attribute) or not (isinstance(owner, type) and issubclass(owner, Constants)):
            self.scope.refuse(
                node, "this is no constant of the machine", "name it by its class, as in bound=C.crashes, not by its value"
            )
        known = self.scope.program.machine.constants.declared()
        if node.attr not in known:
            self.scope.refuse(
                node, f"the constants have no {node.attr!r}.{nearest(node.attr, list(known))}", "name one of them"
            )
        return node.attr

    def builtin(self, node: ast.Call, name: str) -> Type:
        """Check min, max, abs, len, int, bool."""
        if node.keywords:
            self.scope.refuse(node, f"{name}() is called with keyword arguments", "pass numbers")
        if name not in ("min", "max") and len(node.args) != 1:
            self.scope.refuse(node, f"{name}() takes 1 argument and gets {len(node.args)}", "pass one")
        if name == "len":
            kind = self.value(node.args[0])
            if not isinstance(kind, Arr | BagRef):
                self.scope.refuse(node, f"len() of {say(kind)}", "take the length of an array or a bag")
            return INT
        for item in node.args:
            self.number(item)
        if name in ("min", "max") and len(node.args) < 2:
            self.scope.refuse(node, f"{name}() of one argument", "pass two numbers or more, or write a loop")
        return INT

    def fold(self, node: ast.Call, name: str) -> Type:
        """Check all(...), any(...), sum(...) over a generator."""
        if len(node.args) != 1 or node.keywords or not isinstance(node.args[0], ast.GeneratorExp):
            self.scope.refuse(
                node, f"{name}() is given something else than one generator", f"write {name}(condition for x in range(n))"
            )
        generator = node.args[0]
        before, stale, of = dict(self.scope.env), dict(self.scope.stale), dict(self.scope.places.of)
        folding, self.folding = self.folding, name
        coming = self.coming
        names = [item.target.id for item in generator.generators if isinstance(item.target, ast.Name)]
        for number, clause in enumerate(generator.generators, 1):
            self.iterate(clause.target, clause.iter)
            self.coming = (coming | set(names[number:])) - set(names[:number])
            for test in clause.ifs:
                self.number(test)
        self.number(generator.elt)
        self.folding, self.coming = folding, coming
        self.scope.env, self.scope.stale, self.scope.places.of = before, stale, of
        return INT

    def bag_call(self, node: ast.Call, owner: BagRef) -> Type:
        """Check `s.bag.add(field=...)` and `s.bag.remove(m)`."""
        assert isinstance(node.func, ast.Attribute)
        self.scope.made.writes = True
        bags = self.scope.places.find(node.func.value)
        record = owner.field.record
        if node is not self.whole:
            self.scope.refuse(
                node,
                "a message is added or removed inside an expression",
                "write it on a line of its own, or as `m = s.bag.add()`",
            )
        if node.func.attr == "add":
            self.scope.places.add(bags)
            known = dict(fields(record))
            if node.args:
                self.scope.refuse(
                    node, "a message is added with fields that are not named", "write s.bag.add(field=value, ...)"
                )
            for item in node.keywords:
                if item.arg not in known:
                    self.scope.refuse(
                        item.value,
                        f"message {record.__name__} has no field {item.arg!r}.{nearest(str(item.arg), list(known))}".rstrip(
                            "."
                        ),
                        f"use one of: {', '.join(known)}",
                    )
                if not isinstance(known[item.arg], Scalar):
                    self.scope.refuse(
                        item.value, f"field {item.arg!r} is not a number", "fill it in through the reference that add() returns"
                    )
                self.number(item.value)
            return Rec(record)
        if node.func.attr == "remove":
            if len(node.args) != 1 or self.value(node.args[0]) != Rec(record):
                self.scope.refuse(node, "remove() takes the message to remove", f"pass a {record.__name__} that was received")
            self.scope.places.remove(node, bags, ast.unparse(node))
            return NOTHING
        self.scope.refuse(node, f"a bag has no method {node.func.attr!r}", "use add, remove, len and for")

    def iterate(self, target: ast.expr, source: ast.expr) -> None:
        """Check what a loop or a generator runs over, and bind its variable."""
        if not isinstance(target, ast.Name):
            self.scope.refuse(target, "a loop unpacks its variable", "loop over one name")
        if isinstance(source, ast.Call) and isinstance(source.func, ast.Name) and source.func.id == "range":
            if self.scope.global_of(source.func) is not range:
                self.scope.refuse(source.func, "'range' is something else in this module", "give that another name")
            if not 1 <= len(source.args) <= 2 or source.keywords:
                self.scope.refuse(source, "range() takes a stop, or a start and a stop", "write range(n) or range(a, b)")
            for item in source.args:
                self.number(item)
            kind: Type = INT
        else:
            over = self.value(source)
            if isinstance(over, Arr):
                kind = element_of(over.field)
            elif isinstance(over, BagRef):
                kind = Rec(over.field.record)
            else:
                self.scope.refuse(
                    source, "this loop runs over something else than a range, an array or a bag", "write range(n)"
                )
        self.declare(target, target.id)
        if not self.folding:
            self.rebind(target, kind)
        self.scope.env[target.id] = kind
        self.scope.made.types[target] = kind
        inside = frozenset(f"{place}[]" for place in self.scope.places.find(source))
        self.scope.places.name(target.id, inside if isinstance(kind, Rec) else frozenset())

    def enter(self, target: ast.expr, source: ast.expr) -> None:
        """Note that a loop is entered."""
        assert isinstance(target, ast.Name)
        over = self.scope.places.find(source) if isinstance(self.scope.made.types.get(source), BagRef) else frozenset([""])
        self.scope.places.loops.append((next(iter(over)), target.id))
