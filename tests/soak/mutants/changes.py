"""The changes: mutants are drawn by seed, the same number from every pass, and applied to the imported functions."""

import ast
import copy
import gc
import hashlib
import importlib
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any

from fencepost.model.language.trees import module_of

from tests.helpers.places import ROOT

FILES = {
    name: [f"explorers/{folder}/{module}.py" for module in modules.split()]
    for name, folder, modules in (
        ("passes", "program/ir", "nest ranges translate expressions statements lifted views"),
        ("packing", "native", "layout lower/rows"),
        ("order of bags", "native/lower", "bags"),
        ("code", "native", "lower/actions lower/code llvm/builder lower/choosing lower/module"),
        ("columns", "native/lower", "columns lanes sieve"),
        ("masks", "native", "masked"),
        ("search", "native", "search expansion store"),
        ("walks", "walk", "sample walker measures"),
        ("symbolic", "symbolic", "terms places expressions bags loops walk"),
        ("liveness", "liveness", "behaviours engine calls generated"),
    )
}
"""By pass: its files."""
ORDERS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
SUMS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult, ast.LShift: ast.RShift,
    ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip


def places(tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    """Yield the possible changes in the bodies of functions, without those of types and messages."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        waiting: list[ast.AST] = list(function.body)
        while waiting:
            node = waiting.pop()
            if isinstance(node, ast.FunctionDef | ast.Raise | ast.Assert | ast.JoinedStr):
                continue
            if isinstance(node, ast.AnnAssign):
                waiting += [node.value] if node.value else []
                continue
            waiting += ast.iter_child_nodes(node)
            match node:
                case ast.Compare(ops=[operator]) if type(operator) in ORDERS:
                    yield node, "comparison"
                case ast.BinOp() if type(node.op) in SUMS:
                    yield node, "operator"
                case ast.Constant(value=bool()):
                    yield node, "flag"
                case ast.Constant(value=int()):
                    yield node, "constant"
                case ast.If() | ast.IfExp():
                    yield node, "branches"
                case ast.BoolOp():
                    yield node, "and, or"
                case ast.Expr(value=ast.Call()) | ast.AugAssign():
                    yield node, "statement"


def change(node: Any, how: str) -> None:
    match how:
        case "comparison":
            node.ops = [ORDERS[type(node.ops[0])]()]
        case "operator":
            node.op = SUMS[type(node.op)]()
        case "flag":
            node.value = not node.value
        case "constant":
            node.value += 1
        case "branches":
            node.test = ast.UnaryOp(ast.Not(), node.test)
        case "and, or":
            node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        case _:  # code that never runs still determines a function's names
            kept = copy.copy(node)
            made = {**vars(kept), "test": ast.Constant(0), "body": [kept], "orelse": []}
            node.__class__, node.__dict__ = ast.If, made


@dataclass(frozen=True)
class Mutant:
    """One change: the pass, the file, the number of its place in the file, and its identity if its function moves."""

    name: str
    file: str
    place: int
    function: str
    digest: str  # of the function's text
    line: int
    column: int
    what: str
    text: str

    @property
    def row(self) -> dict[str, Any]:
        names = ("file", "function", "digest", "line", "column", "what", "text")
        return {"pass": self.name, **{name: getattr(self, name) for name in names}}


def identity(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("file", "function", "digest", "column", "what", "text"))


def tree_of(file: str) -> ast.Module:
    return module_of((ROOT / file).read_text())


def every(name: str) -> dict[tuple[Any, ...], Mutant]:
    found = {}
    for file in FILES[name]:
        tree = tree_of(file)
        functions = [item for item in ast.walk(tree) if isinstance(item, ast.FunctionDef)]
        for place, (node, what) in enumerate(places(tree)):
            line: int = getattr(node, "lineno", 0)
            around = [item for item in functions if line in range(item.lineno, (item.end_lineno or 0) + 1)][-1]
            digest = hashlib.sha256(ast.unparse(around).encode()).hexdigest()[:12]
            text = ast.unparse(node.test if isinstance(node, ast.If) else node)
            made = Mutant(name, file, place, around.name, digest, line, getattr(node, "col_offset", 0), what, text)
            found[identity(made.row)] = made
    return found


def drawn(seed: int, count: int, kept: Iterable[dict[str, Any]]) -> list[Mutant]:
    """Return mutants, as many from each pass; earlier ones count while their functions are unchanged."""
    draw = random.Random(seed)  # noqa: S311 (no secret)
    known = {identity(row) for row in kept}
    rows = []
    for name in FILES:
        found = every(name)
        tried = [found[key] for key in found if key in known]
        fresh = [found[key] for key in found if key not in known]
        more = max(0, -(-count // len(FILES)) - len(tried))
        rows.append([*tried, *draw.sample(fresh, min(len(fresh), more))])
    return [row[at] for at in range(max(map(len, rows))) for row in rows if at < len(row)]


def put(mutant: Mutant) -> int:
    """Change the functions of this process; return the number of changed ones."""
    gc.unfreeze()  # functions that the suite has frozen after collecting are no objects of the collector
    tree = tree_of(mutant.file)
    change(*list(places(tree))[mutant.place])
    path = importlib.import_module(f"fencepost.{mutant.file.removesuffix('.py').replace('/', '.')}").__file__
    codes = _codes(compile(ast.fix_missing_locations(tree), str(path), "exec"))
    known = {(code.co_qualname, code.co_firstlineno): code for code in codes}
    changed = 0
    functions = [item for item in gc.get_objects() if isinstance(item, FunctionType)]
    for function in functions:
        before = function.__code__
        code = known.get((before.co_qualname, before.co_firstlineno)) if before.co_filename == path else None
        if code is not None and code != before:
            function.__code__ = code
            changed += 1
    return changed


def _codes(code: CodeType) -> Iterator[CodeType]:
    for item in code.co_consts:
        if isinstance(item, CodeType):
            yield item
            yield from _codes(item)
