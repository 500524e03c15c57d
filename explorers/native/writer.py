"""One function as text: statements and expressions.

Every index, every store, every shift and every product goes through a small check that leaves a code in `_e[0]`; loops
over arrays become loops over indices; generators inside all, any and sum become functions; bags become a count and sorted
slots. Names of our own begin with an underscore, which no name of a model does.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Protocol

from fencepost.model.language.domains import Flag, Index
from fencepost.model.language.records import Scalar, fields
from fencepost.model.language.subset import BITS, Arr, BagRef, Consts, Function, Rec

if TYPE_CHECKING:
    from fencepost.explorers.native.checks import Checks
    from fencepost.model.language.records import Record
    from fencepost.model.language.subset import Function, Program


class Emitting(Protocol):
    """What writes a whole module: where a writer of one function leaves what it lifts out, and asks for what it calls."""

    program: Program
    checks: Checks
    texts: list[str]
    lifted: int

    def function(self, made: Function) -> str:
        """Write a helper or a predicate and return its name in the generated module."""
        ...

    def bag(self, record: type[Record]) -> str:
        """Write the operations on bags of these messages and return the suffix of their names."""
        ...


class Writer:
    """Writes one function."""

    def __init__(self, emitter: Emitting, made: Function) -> None:
        self.emitter, self.made, self.checks = emitter, made, emitter.checks
        self.below: dict[str, str] = {}
        """Names of loop variables with the text of the bound they stay below."""
        machine = emitter.program.machine
        for item in machine.actions:
            if item.function is made.python:
                for name, domain in item.params:
                    if isinstance(domain, Index):
                        self.below[name] = self.checks.size(domain.count)
        self.rebound = _rebound(made.node)
        self.fresh = 0
        self.masks: dict[ast.expr, int] = {}
        """Conditions that can be turned off while the code runs, with the slots that say whether they are."""

    # -- statements

    def statement(self, node: ast.stmt) -> list[str]:
        """Return one statement as lines."""
        match node:
            case ast.Pass():
                return ["pass"]
            case ast.Break():
                return ["break"]
            case ast.Continue():
                return ["continue"]
            case ast.Return():
                return ["return" if node.value is None else f"return {self.expression(node.value)}"]
            case ast.Expr():
                return [self.expression(node.value)]
            case ast.Assign():
                return self.assign(node.targets[0], node.value)
            case ast.AnnAssign():
                assert node.value is not None
                return self.assign(node.target, node.value)
            case ast.AugAssign():
                left = self.expression(node.target)
                value = self.operation(node.op, left, node.value)
                return [self.store(node.target, value)]
            case ast.If():
                lines = [f"if {self.condition(node.test)}:", *self.block(node.body)]
                return [*lines, "else:", *self.block(node.orelse)] if node.orelse else lines
            case ast.For():
                return self.loop(node)
        raise AssertionError(ast.dump(node))

    def block(self, statements: list[ast.stmt]) -> list[str]:
        """Return statements as lines, one level in."""
        return ["    " + line for statement in statements for line in self.statement(statement)] or ["    pass"]

    def assign(self, target: ast.expr, value: ast.expr) -> list[str]:
        """Return an assignment as lines."""
        if isinstance(target, ast.Tuple):
            assert isinstance(value, ast.Tuple)
            names = ", ".join(ast.unparse(item) for item in target.elts)
            return [f"{names} = {', '.join(self.expression(item) for item in value.elts)}"]
        if isinstance(target, ast.Name) and self.is_add(value):
            assert isinstance(value, ast.Call)
            return self.add(value, target.id)
        return [self.store(target, self.expression(value))]

    def store(self, target: ast.expr, value: str) -> str:
        """Return a store; into the state it goes through the check of the field's domain."""
        if isinstance(target, ast.Name):
            return f"{target.id} = {value}"
        domain_slot = self.slot(target)
        place = self.expression(target)
        if domain_slot is None:
            return f"{place} = {value}"
        return f"{place} = _put(_e, {value}, {domain_slot})"

    def slot(self, target: ast.expr) -> int | None:
        """Return the slot of the bounds of the scalar that is stored, None for a record."""
        if isinstance(target, ast.Attribute):
            owner = self.made.types[target.value]
            assert isinstance(owner, Rec)
            field = dict(fields(owner.record))[target.attr]
            if isinstance(field, Scalar):
                return self.checks.slot(field.domain)
            return None
        assert isinstance(target, ast.Subscript)
        owner = self.made.types[target.value]
        assert isinstance(owner, Arr)
        element = owner.field.element
        if not isinstance(element, Scalar):
            return None
        return self.checks.slot(element.domain)

    def loop(self, node: ast.For) -> list[str]:
        """Return a loop as lines."""
        assert isinstance(node.target, ast.Name)
        head, inner = self.header(node.target.id, node.iter)
        lines = [head, *("    " + line for line in inner), *self.block(node.body)]
        self.below.pop(node.target.id, None)
        return lines

    def header(self, name: str, source: ast.expr) -> tuple[str, list[str]]:
        """Return the head of a loop and the lines that bind its variable."""
        if isinstance(source, ast.Call):
            arguments = [self.expression(item) for item in source.args]
            self.below.pop(name, None)
            if len(arguments) == 1 and name not in self.rebound:
                self.below[name] = arguments[0]
            return f"for {name} in range({', '.join(arguments)}):", []
        kind = self.made.types[source]
        self.fresh += 1
        index = f"_i{self.fresh}_{self.emitter.lifted}"
        path = self.expression(source)
        if isinstance(kind, Arr):
            return f"for {index} in range({self.checks.size(kind.field.length)}):", [f"{name} = {path}[{index}]"]
        return f"for {index} in range({path}.count - 1, -1, -1):", [f"{name} = {path}.items[{index}]"]

    # -- expressions

    def expression(self, node: ast.expr) -> str:
        """Return an expression as text."""
        if node in self.made.static:
            return f"({self.made.static[node]})" if self.made.static[node] < 0 else str(self.made.static[node])
        match node:
            case ast.Constant():
                return repr(node.value)
            case ast.Name():
                return node.id
            case ast.Attribute():
                return self.attribute(node)
            case ast.Subscript():
                return self.subscript(node)
            case ast.BinOp():
                return self.operation(node.op, self.expression(node.left), node.right)
            case ast.UnaryOp():
                if isinstance(node.op, ast.Not):
                    return f"(not {self.condition(node.operand)})"
                if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
                    return f"(-{node.operand.value!r})"
                # as sums, which are checked; and ~ of a flag is a number
                sign = {ast.USub: "0 - ", ast.UAdd: "0 + ", ast.Invert: "-1 - "}[type(node.op)]
                return f"({sign}{self.expression(node.operand)})"
            case ast.BoolOp():
                return self.condition(node) if all(map(self.is_flag, node.values)) else self.first(node)
            case ast.Compare():
                return self.compare(node)
            case ast.IfExp():
                return f"({self.expression(node.body)} if {self.condition(node.test)} else {self.expression(node.orelse)})"
            case ast.Call():
                return self.call(node)
        raise AssertionError(ast.dump(node))

    def condition(self, node: ast.expr) -> str:
        """Return an expression of which only the truth matters; numbers are made flags."""
        if node in self.masks:
            slot = self.masks.pop(node)
            return f"(_e[{slot}] != 0 or {self.condition(node)})"
        if isinstance(node, ast.BoolOp):
            word = " and " if isinstance(node.op, ast.And) else " or "
            return "(" + word.join(self.condition(item) for item in node.values) + ")"
        text = self.expression(node)
        if isinstance(node, ast.Compare) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)):
            return text
        return f"({text} != 0)"

    def is_flag(self, node: ast.expr) -> bool:
        """Say whether an expression is false or true for sure, so that `and` and `or` give a flag."""
        match node:
            case ast.Compare():
                return True
            case ast.UnaryOp():
                return isinstance(node.op, ast.Not)
            case ast.BoolOp():
                return all(map(self.is_flag, node.values))
            case ast.Constant():
                return isinstance(node.value, bool)
            case ast.Attribute():
                owner = self.made.types.get(node.value)
                field = dict(fields(owner.record))[node.attr] if isinstance(owner, Rec) else None
                return isinstance(field, Scalar) and isinstance(field.domain, Flag)
            case ast.Call():
                callee = self.made.calls.get(node)
                if callee is None:
                    return ast.unparse(node.func) in ("all", "any", "bool")
                writer = Writer(self.emitter, callee)
                returned = [item.value for item in ast.walk(callee.node) if isinstance(item, ast.Return) and item.value]
                return all(map(writer.is_flag, returned))
        return False

    def first(self, node: ast.BoolOp) -> str:
        """Return and/or of numbers as a function of its own: its value is that of the operand that decides."""
        name = "and" if isinstance(node.op, ast.And) else "or"
        lines = []
        for item in node.values[:-1]:
            lines += [
                f"_value = {self.expression(item)}",
                f"if _value {'==' if name == 'and' else '!='} 0:",
                "    return _value",
            ]
        return self.lift(name, self.free(node), [*lines, f"return {self.expression(node.values[-1])}"])

    def lift(self, name: str, free: list[str], lines: list[str]) -> str:
        """Write a function of its own, of these locals, and return the call of it."""
        self.emitter.lifted += 1
        lifted = f"g{self.emitter.lifted}_{name}"
        body = "\n".join("    " + line for line in lines)
        arguments = ", ".join(["_e", *free])
        self.emitter.texts.append(f"@helper\ndef {lifted}({arguments}):\n{body}\n")
        return f"{lifted}({arguments})"

    def attribute(self, node: ast.Attribute) -> str:
        """Return `record.field` or a constant."""
        owner = self.made.types[node.value]
        if isinstance(owner, Consts) and node.attr in self.checks.exact:
            return str(self.checks.exact[node.attr])
        return f"{self.expression(node.value)}.{node.attr}"

    def subscript(self, node: ast.Subscript) -> str:
        """Return `array[index]`, the index checked unless it is known to be inside."""
        owner = self.made.types[node.value]
        assert isinstance(owner, Arr)
        length = self.checks.size(owner.field.length)
        index = self.expression(node.slice)
        path = self.expression(node.value)
        known = isinstance(node.slice, ast.Name) and self.below.get(node.slice.id) == length
        fixed = index.isdigit() and length.isdigit() and int(index) < int(length)
        return f"{path}[{index}]" if known or fixed else f"{path}[_at(_e, {index}, {length})]"

    def operation(self, operator: ast.operator, left: str, right: ast.expr) -> str:
        """Return `left operator right`, shifts checked."""
        signs = {
            ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%",
            ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
        }  # fmt: skip
        other = self.expression(right)
        bound = self.below.get(right.id, "") if isinstance(right, ast.Name) else ""
        few = other.isdigit() or (bound.isdigit() and int(bound) <= BITS)
        if isinstance(operator, ast.RShift) and not few:
            return f"_right(_e, {left}, {other})"
        if isinstance(operator, ast.LShift) and not (left == "1" and few):
            return f"_bit(_e, {other})" if left == "1" else f"_left(_e, {left}, {other})"
        if isinstance(operator, ast.Mult):
            return f"_times(_e, {left}, {other})"
        return f"({left} {signs[type(operator)]} {other})"

    def compare(self, node: ast.Compare) -> str:
        """Return a comparison; `in` becomes a chain of ==."""
        if isinstance(node.ops[0], ast.In | ast.NotIn):
            others = node.comparators[0]
            assert isinstance(others, ast.Tuple)
            left = self.expression(node.left)
            text = "(" + " or ".join(f"{left} == {self.expression(item)}" for item in others.elts) + ")"
            return text if isinstance(node.ops[0], ast.In) else f"(not {text})"
        signs = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
        parts = [self.expression(node.left)]
        for operator, other in zip(node.ops, node.comparators, strict=True):
            parts += [signs[type(operator)], self.expression(other)]
        return f"({' '.join(parts)})"

    def call(self, node: ast.Call) -> str:
        """Return a call of a helper, a builtin or a bag."""
        made = self.made
        if node in made.calls:
            callee = self.emitter.function(made.calls[node])
            return f"{callee}({', '.join(['_e', *(self.expression(item) for item in node.args)])})"
        if isinstance(node.func, ast.Attribute):
            owner = made.types[node.func.value]
            assert isinstance(owner, BagRef)
            suffix = self.emitter.bag(owner.field.record)
            if node.func.attr == "remove":
                return f"remove_{suffix}(_e, {self.expression(node.func.value)}, {self.expression(node.args[0])})"
            return "; ".join(self.add(node, "_added"))
        name = ast.unparse(node.func)
        if name == "len":
            kind = made.types[node.args[0]]
            if isinstance(kind, Arr):
                return self.checks.size(kind.field.length)
            return f"{self.expression(node.args[0])}.count"
        if name in ("all", "any", "sum"):
            return self.fold(node, name)
        if name == "abs":
            return f"abs(0 + {self.expression(node.args[0])})"
        if name == "int":
            return self.expression(node.args[0])
        if name == "bool":
            return f"({self.expression(node.args[0])} != 0)"
        return f"{name}({', '.join(self.expression(item) for item in node.args)})"

    def is_add(self, node: ast.expr) -> bool:
        """Say whether an expression puts a message in flight."""
        return (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "add"
            and (isinstance(self.made.types.get(node.func.value), BagRef))
        )

    def add(self, node: ast.Call, name: str) -> list[str]:
        """Return the lines that put a message in flight under a local name."""
        assert isinstance(node.func, ast.Attribute)
        owner = self.made.types[node.func.value]
        assert isinstance(owner, BagRef)
        record = owner.field.record
        suffix = self.emitter.bag(record)
        lines = [f"{name} = add_{suffix}(_e, {self.expression(node.func.value)}, {self.checks.size(owner.field.room)})"]
        for item in node.keywords:
            assert item.arg is not None
            field = dict(fields(record))[item.arg]
            assert isinstance(field, Scalar)
            lines.append(f"{name}.{item.arg} = _put(_e, {self.expression(item.value)}, {self.checks.slot(field.domain)})")
        return lines

    def fold(self, node: ast.Call, name: str) -> str:
        """Lift a generator into a function of its own and return the call."""
        generator = node.args[0]
        assert isinstance(generator, ast.GeneratorExp)
        free = self.free(generator)
        below = dict(self.below)
        lines: list[str] = []
        pad = ""
        for clause in generator.generators:
            assert isinstance(clause.target, ast.Name)
            head, inner_lines = self.header(clause.target.id, clause.iter)
            lines.append(pad + head)
            pad += "    "
            lines += [pad + line for line in inner_lines]
            for test in clause.ifs:
                lines.append(f"{pad}if {self.condition(test)}:")
                pad += "    "
        match name:
            case "all":
                lines += [f"{pad}if not {self.condition(generator.elt)}:", f"{pad}    return False", "return True"]
            case "any":
                lines += [f"{pad}if {self.condition(generator.elt)}:", f"{pad}    return True", "return False"]
            case "sum":
                lines = ["_total = 0", *lines, f"{pad}_total += {self.expression(generator.elt)}", "return _total"]
        self.below = below
        return self.lift(name, free, lines)

    def free(self, around: ast.expr) -> list[str]:
        """Return the locals that a lifted expression reads from around it, in order; generators bind names of their own."""
        clauses = around.generators if isinstance(around, ast.GeneratorExp) else []
        bound = {item.target.id for item in clauses if isinstance(item.target, ast.Name)}
        found: dict[str, None] = {}
        waiting: list[ast.AST] = list(ast.iter_child_nodes(around))
        while waiting:
            node = waiting.pop(0)
            if isinstance(node, ast.GeneratorExp):
                found.update(dict.fromkeys(name for name in self.free(node) if name not in bound))
            elif isinstance(node, ast.Name):
                known = node in self.made.types and node not in self.made.static
                if isinstance(node.ctx, ast.Load) and known and node.id not in bound:
                    found[node.id] = None
            else:
                waiting += ast.iter_child_nodes(node)
        return list(found)


def _rebound(function: ast.FunctionDef) -> set[str]:
    """Return the names of loop variables that may change inside their loop: no bound is known for them."""
    found: set[str] = set()
    for node in ast.walk(function):
        targets = (
            node.targets
            if isinstance(node, ast.Assign)
            else [node.target]
            if isinstance(node, ast.AugAssign | ast.AnnAssign)
            else []
        )
        found |= {name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}
        if isinstance(node, ast.For):
            inner = {
                item.target.id
                for item in ast.walk(node)
                if isinstance(item, ast.For) and item is not node and isinstance(item.target, ast.Name)
            }
            found |= {node.target.id} & inner if isinstance(node.target, ast.Name) else set()
    return found
