"""One function as text: statements and expressions.

Every index, every store and every shift goes through a small check that leaves a code in `_e[0]`; loops over arrays
become loops over indices; generators inside all, any and sum become functions; bags become a count and sorted slots.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from fencepost.model.language.domains import Index
from fencepost.model.language.records import Scalar, fields
from fencepost.model.language.subset import Arr, BagRef, Consts, Function, Rec

if TYPE_CHECKING:
    from fencepost.explorers.native.emit import Emitter


class Writer:
    """Writes one function."""

    def __init__(self, emitter: Emitter, made: Function) -> None:
        self.emitter, self.made, self.checks = emitter, made, emitter.checks
        self.below: dict[str, str] = {}
        """Names of loop variables with the text of the bound they stay below."""
        machine = emitter.program.machine
        for item in machine.actions:
            if item.function is made.python:
                for name, domain in item.params:
                    if isinstance(domain, Index):
                        self.below[name] = self.checks.size(domain.count)
        self.fresh = 0

    # -- statements

    def statement(self, node: ast.stmt) -> list[str]:
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
                lines = [f"if {self.expression(node.test)}:", *self.block(node.body)]
                return [*lines, "else:", *self.block(node.orelse)] if node.orelse else lines
            case ast.For():
                return self.loop(node)
        raise AssertionError(ast.dump(node))

    def block(self, statements: list[ast.stmt]) -> list[str]:
        return ["    " + line for statement in statements for line in self.statement(statement)] or ["    pass"]

    def assign(self, target: ast.expr, value: ast.expr) -> list[str]:
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
        return f"{place} = put(_e, {value}, {domain_slot})"

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
        assert isinstance(node.target, ast.Name)
        head, inner = self.header(node.target.id, node.iter)
        lines = [head, *("    " + line for line in inner), *self.block(node.body)]
        self.below.pop(node.target.id, None)
        return lines

    def header(self, name: str, source: ast.expr) -> tuple[str, list[str]]:
        """Return the head of a loop and the lines that bind its variable."""
        if isinstance(source, ast.Call):
            arguments = [self.expression(item) for item in source.args]
            if len(arguments) == 1:
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
                sign = {ast.Not: "not ", ast.USub: "-", ast.UAdd: "+", ast.Invert: "~"}[type(node.op)]
                return f"({sign}{self.expression(node.operand)})"
            case ast.BoolOp():
                word = " and " if isinstance(node.op, ast.And) else " or "
                return "(" + word.join(self.truth(item) for item in node.values) + ")"
            case ast.Compare():
                return self.compare(node)
            case ast.IfExp():
                return f"({self.expression(node.body)} if {self.expression(node.test)} else {self.expression(node.orelse)})"
            case ast.Call():
                return self.call(node)
        raise AssertionError(ast.dump(node))

    def truth(self, node: ast.expr) -> str:
        """Return an operand of and/or; numbers are made flags, so that Numba sees one type."""
        text = self.expression(node)
        if isinstance(node, ast.Compare | ast.BoolOp) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)):
            return text
        return f"({text} != 0)"

    def attribute(self, node: ast.Attribute) -> str:
        owner = self.made.types[node.value]
        if isinstance(owner, Consts) and node.attr in self.checks.exact:
            return str(self.checks.exact[node.attr])
        return f"{self.expression(node.value)}.{node.attr}"

    def subscript(self, node: ast.Subscript) -> str:
        owner = self.made.types[node.value]
        assert isinstance(owner, Arr)
        length = self.checks.size(owner.field.length)
        index = self.expression(node.slice)
        path = self.expression(node.value)
        known = isinstance(node.slice, ast.Name) and self.below.get(node.slice.id) == length
        fixed = index.isdigit() and length.isdigit() and int(index) < int(length)
        return f"{path}[{index}]" if known or fixed else f"{path}[at(_e, {index}, {length})]"

    def operation(self, operator: ast.operator, left: str, right: ast.expr) -> str:
        signs = {
            ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%",
            ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
        }  # fmt: skip
        other = self.expression(right)
        if isinstance(operator, ast.LShift | ast.RShift) and not other.isdigit():
            known = isinstance(right, ast.Name) and right.id in self.below
            other = other if known else f"by(_e, {other})"
        return f"({left} {signs[type(operator)]} {other})"

    def compare(self, node: ast.Compare) -> str:
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
            return "; ".join(self.add(node, "_new"))
        name = ast.unparse(node.func)
        if name == "len":
            kind = made.types[node.args[0]]
            if isinstance(kind, Arr):
                return self.checks.size(kind.field.length)
            return f"{self.expression(node.args[0])}.count"
        if name in ("all", "any", "sum"):
            return self.fold(node, name)
        if name == "int":
            return self.expression(node.args[0])
        if name == "bool":
            return f"({self.expression(node.args[0])} != 0)"
        return f"{name}({', '.join(self.expression(item) for item in node.args)})"

    def is_add(self, node: ast.expr) -> bool:
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
            lines.append(f"{name}.{item.arg} = put(_e, {self.expression(item.value)}, {self.checks.slot(field.domain)})")
        return lines

    def fold(self, node: ast.Call, name: str) -> str:
        """Lift a generator into a function of its own and return the call."""
        generator = node.args[0]
        assert isinstance(generator, ast.GeneratorExp)
        free = self.free(generator)
        self.emitter.lifted += 1
        lifted = f"g{self.emitter.lifted}_{name}"
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
                lines.append(f"{pad}if {self.expression(test)}:")
                pad += "    "
        element = self.expression(generator.elt)
        lines += {
            "all": [f"{pad}if not {element}:", f"{pad}    return False"],
            "any": [f"{pad}if {element}:", f"{pad}    return True"],
            "sum": [f"{pad}total += {element}"],
        }[name]
        lines = {"all": [*lines, "return True"], "any": [*lines, "return False"], "sum": ["total = 0", *lines, "return total"]}[
            name
        ]
        self.below = below
        body = "\n".join("    " + line for line in lines)
        self.emitter.texts.append(f"@helper\ndef {lifted}({', '.join(['_e', *free])}):\n{body}\n")
        return f"{lifted}({', '.join(['_e', *free])})"

    def free(self, generator: ast.GeneratorExp) -> list[str]:
        """Return the locals that a generator reads from around it, in order; inner generators bind names of their own."""
        bound = {item.target.id for item in generator.generators if isinstance(item.target, ast.Name)}
        found: dict[str, None] = {}
        waiting: list[ast.AST] = list(ast.iter_child_nodes(generator))
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
