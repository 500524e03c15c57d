"""Expressions of restricted Python as LLVM IR."""

import ast
from collections.abc import Sequence
from functools import partial
from typing import Protocol

from fencepost.explorers.native.llvm.builder import Builder
from fencepost.explorers.native.llvm.types import CELLS, Code, Memory, Sort, Type, Value, View, flag, number, word

_COMPARED: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_SIGNS: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%",
    ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
}  # fmt: skip
_NARROW = {"uint8": 0xFF, "uint32": 0xFFFFFFFF}
_ARRAYS = {"u8s": "u8", "i32s": "i32", "i64s": "i64", "u32s": "u32", "u64s": "u64", "u64ss": "u64"}
"""Arrays represented by an address and lengths."""


class Translating(Protocol):
    """The module being translated as one function sees it. `globals` are the numbers that it names."""

    globals: dict[str, int]

    def function(self, name: str, types: tuple[Type, ...], exported: str = "") -> Builder:
        """Return a function as compiled for arguments of these types."""
        ...


class Expressions:
    """Translates the expressions of one function."""

    def __init__(self, module: Translating, build: Builder) -> None:
        self.module, self.build = module, build
        self.direct: dict[str, Value] = {}
        self.stack: dict[str, tuple[str, Type]] = {}

    def local(self, name: str) -> Value:
        if name in self.direct:
            return self.direct[name]
        if name in self.stack:
            return self.build.kept(*self.stack[name])
        return number(self.module.globals[name])

    def expression(self, node: ast.expr) -> Value:
        build = self.build
        match node:
            case ast.Constant():
                return flag(node.value) if isinstance(node.value, bool) else self.constant(node.value)
            case ast.Name():
                return self.local(node.id)
            case ast.Subscript():
                return self.subscript(node)
            case ast.BinOp():
                return self.arithmetic(node.op, self.expression(node.left), node.right)
            case ast.UnaryOp():
                return self.unary(node)
            case ast.BoolOp():
                return build.decided(partial(self.decide, node))
            case ast.Compare():
                return self.compare(node)
            case ast.IfExp():
                return build.chosen(
                    partial(self.decide, node.test), partial(self.number, node.body), partial(self.number, node.orelse)
                )
            case ast.Call():
                return self.call(node)
        raise AssertionError(ast.dump(node))

    def number(self, node: ast.expr) -> Value:
        """Return the value of an expression as a number; flags become 0 and 1."""
        return self.build.number(self.expression(node))

    def constant(self, value: object) -> Value:
        assert isinstance(value, int)
        return number(value)

    # -- conditions

    def decide(self, node: ast.expr, yes: str, no: str) -> None:
        """End the current block by a condition, evaluating only as much as needed."""
        if isinstance(node, ast.BoolOp):
            for item in node.values[:-1]:
                following = self.build.label()
                if isinstance(node.op, ast.And):
                    self.decide(item, following, no)
                else:
                    self.decide(item, yes, following)
                self.build.begin(following)
            self.decide(node.values[-1], yes, no)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            self.decide(node.operand, no, yes)
        else:
            self.build.branch(self.build.flag(self.expression(node)), yes, no)

    def compare(self, node: ast.Compare) -> Value:
        """Return a comparison, or a chain of them; parts may be evaluated that Python would skip."""
        signs = [_COMPARED[type(item)] for item in node.ops]
        left, right = self.expression(node.left), self.expression(node.comparators[0])
        found = self.build.compared(signs[0], left, right)
        for sign, item in zip(signs[1:], node.comparators[1:], strict=True):
            assert not any(isinstance(part, ast.Call | ast.BinOp | ast.BoolOp | ast.IfExp) for part in ast.walk(item))
            left, right = right, self.expression(item)
            found = self.build.both(found, self.build.compared(sign, left, right))
        return found

    # -- arithmetic

    def arithmetic(self, operator: ast.operator, left: Value, node: ast.expr) -> Value:
        """Return `left operator node`; sums and products may wrap, but stay far from the ends of 64 bits."""
        sign, build = _SIGNS[type(operator)], self.build
        right = self.expression(node)
        if sign in ("+", "-", "*"):
            return build.wrapped(sign, left, right)
        if sign in ("<<", ">>"):
            return build.shifted(sign, left, right)
        if sign in ("//", "%"):
            if left.type is Sort.WORD:
                return Value(
                    build.value(f"{'udiv' if sign == '//' else 'urem'} i64 {left.text}, {right.text}"), Sort.WORD
                )
            assert right.low == right.high, "the divisor is not a literal"
            return build.divided(sign, left, right.low)
        return build.bitwise(sign, left, right)

    def unary(self, node: ast.UnaryOp) -> Value:
        value = self.number(node.operand)
        if isinstance(node.op, ast.Invert):
            return self.build.bitwise("^", value, word(-1) if value.type is Sort.WORD else number(-1))
        assert isinstance(node.op, ast.USub)
        return number(-value.low) if value.low == value.high else self.build.wrapped("-", number(0), value)

    # -- places

    def subscript(self, node: ast.Subscript) -> Value:
        """Return the target of an index: an element, a length, or a part of a view."""
        if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            assert isinstance(node.slice, ast.Constant)
            return self.expression(node.value.value).lengths[int(node.slice.value)]  # type: ignore[arg-type]
        owner = self.expression(node.value)
        if isinstance(owner.type, View) and len(owner.type.fixed) > 1 and not isinstance(node.slice, ast.Tuple):
            return self.build.part(owner, self.expression(node.slice))
        return self.build.read(*self.element(node, owner))

    def element(self, node: ast.Subscript, owner: Value | None = None) -> tuple[str, Memory]:
        """Return the address and the type of an element."""
        owner = owner or self.expression(node.value)
        indices = [
            self.expression(item) for item in (node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice])
        ]
        if isinstance(owner.type, View):
            return self.build.cell_of(owner, indices)
        (index,) = indices
        return self.build.element(owner, index)

    # -- calls

    def call(self, node: ast.Call) -> Value:
        if isinstance(node.func, ast.Attribute):
            return self.cast(node.func.attr, self.expression(node.args[0]))
        assert isinstance(node.func, ast.Name)
        name, build = node.func.id, self.build
        if name == "len":
            return self.expression(node.args[0]).lengths[0]
        given = [self.expression(item) for item in node.args]
        if name in ("min", "max"):
            return build.least(given) if name == "min" else build.greatest(given)
        if name == "prefetch":
            address, _ = build.cell_of(given[0], given[1:])
            build.emit(f"call void @llvm.prefetch.p0(ptr {address}, i32 0, i32 3, i32 1)")
            return Value("", Sort.NOTHING)
        if name == "take":
            address, _ = build.cell_of(given[0], [number(0)])
            return Value(build.value(f"atomicrmw add ptr {address}, i64 1 monotonic"), Sort.NUMBER)
        if name in _ARRAYS:
            element = CELLS[_ARRAYS[name]]
            return Value(
                build.value(f"inttoptr i64 {given[0].text} to ptr"),
                View(element, (None,) * len(given[1:])),
                lengths=tuple(given[1:]),
            )
        if name in self.direct:
            code = self.direct[name]
            assert isinstance(code.type, Code)
            return build.call_code(code, given)
        return self.call_function(name, given)

    def call_function(self, name: str, given: Sequence[Value]) -> Value:
        values = [value if isinstance(value.type, View) else self.build.number(value) for value in given]
        made = self.module.function(name, tuple(value.type for value in values))
        return self.build.call(f"@{made.name}", made.result, values)

    def cast(self, name: str, value: Value) -> Value:
        value = self.build.number(value)
        if name in _NARROW:
            if value.low == value.high and 0 <= value.low <= _NARROW[name]:
                return number(value.low)
            masked = self.build.value(f"and i64 {value.text}, {_NARROW[name]}")
            return Value(masked, Sort.NUMBER, 0, _NARROW[name])
        assert name in ("uint64", "int64"), name
        if value.low == value.high:
            return word(value.low) if name == "uint64" else number(value.low)
        return Value(value.text, Sort.WORD if name == "uint64" else Sort.NUMBER)
