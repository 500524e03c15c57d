"""From restricted Python to LLVM IR: every function is written for the types that it is called with."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from fencepost.explorers.native.llvm import checks
from fencepost.explorers.native.llvm.function import Again, Function
from fencepost.explorers.native.llvm.types import Sort
from fencepost.explorers.native.llvm.unit import kind_of
from fencepost.model.language.trees import module_of

if TYPE_CHECKING:
    from fencepost.explorers.native.llvm.builder import Builder
    from fencepost.explorers.native.llvm.types import Type
    from fencepost.explorers.native.llvm.unit import Export, Unit

PLAIN = 'nounwind "no-builtins"'
ATTRIBUTES = {"kernel": PLAIN, "helper": PLAIN, "inlined": f"alwaysinline {PLAIN}", "apart": f"noinline {PLAIN}"}


class Module:
    """A module being translated. `globals` are numbers that its text names."""

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
            if _decorator(self.functions[name]) == "kernel":
                self._export(self.functions[name])

    def text(self) -> str:
        """Return the module as LLVM IR."""
        return "\n".join([checks.PREAMBLE, *self.texts, checks.EPILOGUE])

    def function(self, name: str, types: tuple[Type, ...], exported: str = "") -> Builder:
        """Return a function as it is for arguments of these types."""
        key = (name, types)
        if key not in self.made:
            node = self.functions[name]
            symbol = exported or f"{re.sub(r'[^A-Za-z0-9_]', '_', name)}.{len(self.made)}"
            self.made[key] = made = self._translated(node, types, symbol, exported=bool(exported))
            self.texts.append(made.text())
        return self.made[key]

    def _translated(self, node: ast.FunctionDef, types: tuple[Type, ...], symbol: str, *, exported: bool) -> Builder:
        slots: set[str] = set()
        numbers = exported  # the result of a kernel is 64 bits
        while True:
            made = Function(self, node, types, symbol, exported=exported, slots=frozenset(slots), numbers=numbers)
            made.build.attributes = ATTRIBUTES[_decorator(node)]
            try:
                return made.translated()
            except Again as again:
                slots |= {again.name} - {""}
                numbers = numbers or not again.name

    def _export(self, node: ast.FunctionDef) -> None:
        assert node.returns is not None, f"{node.name} does not say what it returns"
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
            found = literal(item, self.globals)
            if isinstance(name, ast.Name) and found is not None:
                self.globals[name.id] = found


def literal(node: ast.expr, known: dict[str, int]) -> int | None:
    """Return the number that an expression of literals is, None for any other."""
    match node:
        case ast.Constant():
            return int(node.value) if isinstance(node.value, int) else None
        case ast.Name():
            return known.get(node.id)
        case ast.UnaryOp():
            inner = literal(node.operand, known)
            return -inner if isinstance(node.op, ast.USub) and inner is not None else None
        case ast.BinOp():
            left, right = literal(node.left, known), literal(node.right, known)
            if left is None or right is None:
                return None
            return left << right if isinstance(node.op, ast.LShift) else None
    return None


def _decorator(node: ast.FunctionDef) -> str:
    return ast.unparse(node.decorator_list[0])


def _annotation(node: ast.arg | ast.FunctionDef) -> str:
    found = node.returns if isinstance(node, ast.FunctionDef) else node.annotation
    assert found is not None, "a kernel's parameters have types"
    return ast.unparse(found)
