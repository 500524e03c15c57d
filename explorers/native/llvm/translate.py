"""Translator from restricted Python to LLVM IR. Every function is translated for the types of its arguments. A local
variable that is bound once becomes a value; a variable that is bound several times becomes a stack slot.
"""

import ast
import re
from collections import Counter
from collections.abc import Sequence
from functools import partial

from fencepost.explorers.native.llvm import checks
from fencepost.explorers.native.llvm.builder import Builder, counted, counted_down
from fencepost.explorers.native.llvm.types import (
    CELLS,
    NOTHING,
    Code,
    Export,
    Memory,
    Sort,
    Type,
    Unit,
    Value,
    View,
    flag,
    kind_of,
    number,
    word,
)
from fencepost.model.language.trees import module_of

PLAIN = 'nounwind "no-builtins"'
_COMPARED: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip
_SIGNS: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%",
    ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
}  # fmt: skip
_NARROW = {"uint8": 0xFF, "uint32": 0xFFFFFFFF}
_ARRAYS = {"u8s": "u8", "i32s": "i32", "i64s": "i64", "u32s": "u32", "u64s": "u64", "u64ss": "u64"}
"""Arrays represented by an address and lengths."""
ATTRIBUTES = {"kernel": PLAIN, "helper": PLAIN, "inlined": f"alwaysinline {PLAIN}", "apart": f"noinline {PLAIN}"}


class Module:
    """A module being translated. `globals` contains the numbers that the module's source refers to by name."""

    def __init__(self, unit: Unit) -> None:
        self.types = unit.types()
        self.functions: dict[str, ast.FunctionDef] = {}
        self.globals: dict[str, int] = {}
        self.made: dict[tuple[str, tuple[Type, ...]], Builder] = {}
        self.texts: list[str] = []
        self.exports: dict[str, Export] = {}
        self._read(unit.library)
        own = self._read(unit.text)
        for name in own:
            if ast.unparse(self.functions[name].decorator_list[0]) == "kernel":
                self._export(self.functions[name])

    def text(self) -> str:
        return "\n".join([checks.PREAMBLE, *self.texts, checks.EPILOGUE])

    def function(self, name: str, types: tuple[Type, ...], exported: str = "") -> Builder:
        key = (name, types)
        if key not in self.made:
            node = self.functions[name]
            symbol = exported or f"{re.sub(r'[^A-Za-z0-9_]', '_', name)}.{len(self.made)}"
            self.made[key] = made = self._translated(node, types, symbol, exported=bool(exported))
            self.texts.append(made.text())
        return self.made[key]

    def _translated(self, node: ast.FunctionDef, types: tuple[Type, ...], symbol: str, *, exported: bool) -> Builder:
        made = Function(self, node, types, symbol, exported=exported)
        made.build.attributes = ATTRIBUTES[ast.unparse(node.decorator_list[0])]
        return made.translated()

    def _export(self, node: ast.FunctionDef) -> None:
        assert node.returns is not None, f"{node.name} has no return annotation"
        annotations = tuple(_annotation(item) for item in node.args.args)
        result = _annotation(node)
        made = self.function(node.name, tuple(kind_of(item, self.types) for item in annotations), node.name)
        assert made.result in (kind_of(result, self.types), Sort.NOTHING), f"{node.name} returns {made.result}"
        self.exports[node.name] = (annotations, result)

    def _read(self, text: str) -> list[str]:
        names = []
        for node in module_of(text).body:
            if isinstance(node, ast.FunctionDef):
                self.functions[node.name] = node
                names.append(node.name)
            elif isinstance(node, ast.Assign):
                self._constants(node)
        return names

    def _constants(self, node: ast.Assign) -> None:
        (target,), value = node.targets, node.value
        pairs = [(target, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            pairs = list(zip(target.elts, value.elts, strict=True))
        for name, item in pairs:
            found = literal(item)
            if isinstance(name, ast.Name) and found is not None:
                assert self.globals.setdefault(name.id, found) == found, f"{name.id} stands for two numbers"


def literal(node: ast.expr) -> int | None:
    match node:
        case ast.Constant(value=int(value)):
            return value
        case ast.BinOp(left=ast.Constant(value=int(left)), op=ast.LShift(), right=ast.Constant(value=int(right))):
            return left << right
    return None


def _annotation(node: ast.arg | ast.FunctionDef) -> str:
    found = node.returns if isinstance(node, ast.FunctionDef) else node.annotation
    assert found is not None, "a kernel's parameters need types"
    return ast.unparse(found)


class Function:
    def __init__(
        self, module: Module, node: ast.FunctionDef, types: tuple[Type, ...], symbol: str, *, exported: bool
    ) -> None:
        self.module, self.build, self.node = module, Builder(symbol, types, exported=exported), node
        self.names = [item.arg for item in node.args.args]
        self.slots = {name for name, times in Counter([*self.names, *_bound(node)]).items() if times > 1}
        self.direct: dict[str, Value] = {}
        self.stack: dict[str, tuple[str, Type]] = {}
        self.result: Type | None = None
        self.loops: list[tuple[str, str]] = []

    def translated(self) -> Builder:
        for name, value in zip(self.names, self.build.arguments, strict=True):
            self.bind(name, value)
        self.block(self.node.body)
        if self.build.at is not None:
            self.build.give(NOTHING if self.result is None else Value("zeroinitializer", self.result))
        self.build.result = self.result or Sort.NOTHING
        return self.build

    # -- locals

    def bind(self, name: str, value: Value) -> None:
        if name not in self.slots:
            self.direct[name] = value
            return
        value = self.build.number(value)
        if name not in self.stack:
            self.stack[name] = (self.build.slot(value.type), value.type)
        slot, kind = self.stack[name]
        if kind is Sort.WORD and value.type is Sort.NUMBER and value.low == value.high:
            value = value._replace(type=kind)
        assert kind == value.type, f"{name} changes its type from {kind} to {value.type}"
        self.build.keep(slot, value)

    # -- statements

    def block(self, statements: list[ast.stmt]) -> None:
        outside = dict(self.direct)
        for item in statements:
            if self.build.at is None:
                break
            self.statement(item)
        if statements is not self.node.body:
            self.direct = outside

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Pass():
                return
            case ast.Break():
                self.build.jump(self.loops[-1][1])
            case ast.Continue():
                self.build.jump(self.loops[-1][0])
            case ast.Return():
                self.give(node.value)
            case ast.Expr():
                if not isinstance(node.value, ast.Constant):
                    self.expression(node.value)
            case ast.Assign():
                self.assign(node.targets[0], node.value)
            case ast.AugAssign():
                self.change(node)
            case ast.If():
                self.choice(node)
            case ast.While():
                self.loop(node)
            case ast.For():
                self.count(node)
            case _:
                raise AssertionError(ast.dump(node))

    def give(self, node: ast.expr | None) -> None:
        if node is None:
            self.build.give()
            return
        value = self.expression(node)
        if self.build.exported:  # a kernel returns 64 bits
            value = self.build.number(value)
        assert self.result in (None, value.type), "a function returns different types"
        self.result = value.type
        self.build.give(value)

    def assign(self, target: ast.expr, node: ast.expr) -> None:
        if isinstance(target, ast.Tuple):
            assert isinstance(node, ast.Tuple)
            values = [self.expression(item) for item in node.elts]
            for item, value in zip(target.elts, values, strict=True):
                self.put(item, value)
            return
        if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Slice):
            self.fill(self.expression(target.value), self.expression(node))
            return
        self.put(target, self.expression(node))

    def put(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            self.bind(target.id, value)
        else:
            self.build.write(*self.place(target), value)

    def change(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            before = self.local(node.target.id)
            self.bind(node.target.id, self.arithmetic(node.op, before, node.value))
            return
        address, memory = self.place(node.target)
        before = self.build.read(address, memory)
        self.build.write(address, memory, self.arithmetic(node.op, before, node.value))

    def choice(self, node: ast.If) -> None:
        other = partial(self.block, node.orelse) if node.orelse else None
        self.build.either(partial(self.decide, node.test), partial(self.block, node.body), other)

    def loop(self, node: ast.While) -> None:
        build = self.build
        top, body, end = build.label(), build.label(), build.label()
        build.jump(top)
        build.begin(top)
        self.decide(node.test, body, end)
        build.begin(body)
        self.loops.append((top, end))
        self.block(node.body)
        self.loops.pop()
        if build.at is not None:
            build.jump(top)
        build.begin(end)

    def count(self, node: ast.For) -> None:
        assert isinstance(node.iter, ast.Call)
        assert isinstance(node.target, ast.Name)
        build = self.build
        given = [build.number(self.expression(item)) for item in node.iter.args]
        first, last = (number(0), given[0]) if len(given) == 1 else given[:2]
        step = given[2].low if len(given) > 2 else 1
        assert abs(step) == 1, "a larger step could overflow 64 bits"
        with (counted if step > 0 else counted_down)(build, first, last) as item:
            outside = dict(self.direct)
            self.bind(node.target.id, item.at)
            self.loops.append((item.following, item.end))
            self.block(node.body)
            self.loops.pop()
            self.direct = outside

    def fill(self, view: Value, value: Value) -> None:
        assert isinstance(view.type, View)
        build = self.build
        top, body, end = build.label(), build.label(), build.label()
        before, now, after = build.at, build.register(), build.register()
        build.jump(top)
        build.begin(top)
        build.emit(f"{now} = phi i64 [0, %{before}], [{after}, %{body}]")
        at = Value(now, Sort.NUMBER, 0)
        build.branch(build.compared("<", at, view.lengths[0]), body, end)
        build.begin(body)
        build.write(*build.cell_of(view, [at]), value)
        build.emit(f"{after} = add i64 {now}, 1")
        build.jump(top)
        build.begin(end)

    def place(self, node: ast.expr) -> tuple[str, Memory]:
        assert isinstance(node, ast.Subscript), ast.dump(node)
        return self.element(node)

    # -- expressions

    def local(self, name: str) -> Value:
        if name in self.direct:
            return self.direct[name]
        if name in self.stack:
            return self.build.kept(*self.stack[name])
        return number(self.module.globals[name])

    def expression(self, node: ast.expr) -> Value:
        build = self.build
        match node:
            case ast.Constant(value=bool(value)):
                return flag(value)
            case ast.Constant(value=int(value)):
                return number(value)
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
        return self.build.number(self.expression(node))

    # -- conditions

    def decide(self, node: ast.expr, yes: str, no: str) -> None:
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
        """Return a comparison or a chain of comparisons. The code may evaluate operands that Python would skip."""
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
        """Return `left operator node`. Sums and products can wrap, but operands stay far from the 64-bit limits."""
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
        if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            assert isinstance(node.slice, ast.Constant)
            return self.expression(node.value.value).lengths[int(node.slice.value)]  # type: ignore[arg-type]
        owner = self.expression(node.value)
        if isinstance(owner.type, View) and len(owner.type.fixed) > 1 and not isinstance(node.slice, ast.Tuple):
            return self.build.part(owner, self.expression(node.slice))
        return self.build.read(*self.element(node, owner))

    def element(self, node: ast.Subscript, owner: Value | None = None) -> tuple[str, Memory]:
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


def _bound(node: ast.FunctionDef) -> list[str]:
    found: list[str] = []
    for item in ast.walk(node):
        if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store):
            found += [item.id]
        if isinstance(item, ast.AugAssign) and isinstance(item.target, ast.Name):
            found += [item.target.id]  # `walk` sees only a Store, but the name is also read
    return found
