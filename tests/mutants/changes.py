"""What is changed: mutants are drawn by seed, the same number from every pass, and put into the functions that were imported."""

from __future__ import annotations

import ast
import copy
import gc
import importlib
import random
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
FILES = {
    "passes": [f"model/language/ir/{name}.py" for name in ("nest", "ranges", "effects", "switches", "expressions", "statements", "lifted", "views")],
    "packing": [f"explorers/native/{name}.py" for name in ("layout", "spots", "memory_layout", "lower/rows")],
    "order of bags": ["explorers/native/lower/bags.py"],
    "code": [f"explorers/native/lower/{name}.py" for name in ("actions", "expressions", "code", "loops", "choosing", "plain")],
    "columns": [f"explorers/native/lower/{name}.py" for name in ("columns", "lanes", "sieve")],
    "masks": ["explorers/native/masks.py", "explorers/native/masked.py"],
    "search": [f"explorers/native/{name}.py" for name in ("search", "expansion", "store")],
    "walks": [f"explorers/walk/{name}.py" for name in ("sample", "walker", "measures")],
    "symbolic": [f"explorers/symbolic/{name}.py" for name in ("terms", "places", "expressions", "bags", "loops", "walk", "folds")],
    "liveness": [f"explorers/liveness/{name}.py" for name in ("behaviours", "engine", "graph", "transition_ids", "generated")],
}  # fmt: skip
"""By pass: its files."""
ORDERS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.In: ast.NotIn,
    ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
SUMS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip


def places(tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    """Yield what can be changed in the bodies of functions, and how; what only types and messages are made of is left out."""
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
    """Change a node."""
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
        case _:  # what is never run still says which names a function has
            kept = copy.copy(node)
            node.__class__, node.__dict__ = ast.If, {**vars(kept), "test": ast.Constant(0), "body": [kept], "orelse": []}


@dataclass(frozen=True)
class Mutant:
    """One change: the pass, the file, the place's number among those of the file."""

    name: str
    file: str
    place: int

    @property
    def row(self) -> dict[str, Any]:
        """Say what is changed, in words that stay the same when other lines are added to the file."""
        tree = tree_of(self.file)
        node, how = list(places(tree))[self.place]
        line: int = getattr(node, "lineno", 0)
        around = [
            item
            for item in ast.walk(tree)
            if isinstance(item, ast.FunctionDef) and line in range(item.lineno, (item.end_lineno or 0) + 1)
        ]
        text = ast.unparse(node.test if isinstance(node, ast.If) else node)
        where = {"function": around[-1].name, "line": line, "column": getattr(node, "col_offset", 0)}
        return {"pass": self.name, "file": self.file, **where, "what": how, "text": text}


def tree_of(file: str) -> ast.Module:
    """Return a file of ours."""
    return ast.parse((ROOT / file).read_text())


def drawn(seed: int, count: int) -> list[Mutant]:
    """Return mutants, as many from each pass."""
    draw = random.Random(seed)  # noqa: S311 (no secret)
    rows = []
    for name, files in FILES.items():
        every = [Mutant(name, file, place) for file in files for place in range(len(list(places(tree_of(file)))))]
        rows.append(draw.sample(every, min(len(every), -(-count // len(FILES)))))
    return [row[at] for at in range(max(map(len, rows))) for row in rows if at < len(row)][:count]


def put(mutant: Mutant) -> int:
    """Change the functions of this process; return how many are others now."""
    tree = tree_of(mutant.file)
    change(*list(places(tree))[mutant.place])
    path = importlib.import_module(f"fencepost.{mutant.file.removesuffix('.py').replace('/', '.')}").__file__
    known = {
        (code.co_qualname, code.co_firstlineno): code
        for code in _codes(compile(ast.fix_missing_locations(tree), str(path), "exec"))
    }
    changed = 0
    for function in [item for item in gc.get_objects() if isinstance(item, FunctionType) and item.__code__.co_filename == path]:
        code = known.get((function.__code__.co_qualname, function.__code__.co_firstlineno))
        if code is not None and code != function.__code__:
            function.__code__ = code
            changed += 1
    return changed


def _codes(code: CodeType) -> Iterator[CodeType]:
    for item in code.co_consts:
        if isinstance(item, CodeType):
            yield item
            yield from _codes(item)
