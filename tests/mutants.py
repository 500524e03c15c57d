"""Mutants of the engines: one small change in a source file each, and whether a few random machines notice. `tox -e mutants` runs it.

Mutants are drawn by seed, the same number from every file. Each runs in a process of its own, forked before anything of Fencepost was
imported, in which the file is read with the change.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib.abc
import importlib.util
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import llvmlite.binding  # noqa: F401 (every mutant needs it, and it takes long)
import networkx as nx  # noqa: F401 (likewise)
import numpy as np  # noqa: F401 (likewise)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.machinery import ModuleSpec
    from types import ModuleType

ROOT = Path(__file__).parents[1]
FILES = {
    "passes": [f"model/language/ir/{name}.py" for name in ("nest", "ranges", "effects", "switches", "expressions", "statements", "lifted", "views")],
    "packing": [f"explorers/native/{name}.py" for name in ("layout", "spots", "memory_layout", "lower/rows")],
    "order of bags": ["explorers/native/lower/bags.py"],
    "code": [f"explorers/native/lower/{name}.py" for name in ("actions", "expressions", "code", "loops", "choosing", "plain")],
    "columns": [f"explorers/native/lower/{name}.py" for name in ("columns", "lanes", "sieve")],
    "masks": ["explorers/native/masks.py", "explorers/native/masked.py"],
    "liveness": [f"explorers/liveness/{name}.py" for name in ("behaviours", "engine", "graph", "transition_ids", "generated")],
}  # fmt: skip
"""By pass: its files."""
SEEDS = (3, 7, 0, 24, 96, 48, 12, 29, 36, 52, 64, 80, 30, 31, 16, 72)
"""Machines that a mutant must survive: some are searched without guards, some with optimized code."""
LONGEST = 60
"""Seconds after which a mutant counts as noticed: it does not end."""
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
        case _:
            value = copy.copy(node)
            node.__class__, node.__dict__ = ast.Pass, {name: getattr(value, name) for name in ("lineno", "col_offset", "end_lineno", "end_col_offset")}  # type: ignore[assignment]  # fmt: skip


def drawn(seed: int, count: int) -> list[tuple[str, str, int]]:
    """Return mutants: the pass, the file, the number of the place in it; as many from each pass."""
    draw = random.Random(seed)  # noqa: S311 (no secret)
    rows = []
    for name, files in FILES.items():
        every = [
            (name, file, place) for file in files for place in range(len(list(places(ast.parse((ROOT / file).read_text())))))
        ]
        rows.append(draw.sample(every, min(len(every), -(-count // len(FILES)))))
    return [row[at] for at in range(max(map(len, rows))) for row in rows if at < len(row)][:count]


class Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one file with a change."""

    def __init__(self, file: str, place: int) -> None:
        self.file, self.place = file, place
        self.name = "fencepost." + file.removesuffix(".py").replace("/", ".")

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:  # noqa: ARG002
        """Return where a module comes from."""
        return (
            importlib.util.spec_from_file_location(fullname, ROOT / self.file, loader=self) if fullname == self.name else None
        )

    def exec_module(self, module: ModuleType) -> None:
        """Run the changed file."""
        tree = ast.parse((ROOT / self.file).read_text())
        change(*list(places(tree))[self.place])
        exec(compile(ast.fix_missing_locations(tree), str(ROOT / self.file), "exec"), module.__dict__)  # noqa: S102 (our own file)


def notices(folder: Path) -> bool:
    """Say whether a machine shows that something is wrong."""
    from tests.random_machines.run import look_at

    return any(look_at(seed, folder).get("differs") for seed in SEEDS)


def noticed(file: str, place: int) -> bool:
    """Try a mutant in a process of its own."""
    child = os.fork()
    if not child:
        signal.alarm(LONGEST)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        sys.meta_path.insert(0, Changed(file, place))
        with tempfile.TemporaryDirectory() as folder:
            try:
                survives = not notices(Path(folder))
            except BaseException:  # noqa: BLE001 (an engine that breaks is noticed)
                survives = False
        os._exit(0 if survives else 1)
    return os.waitpid(child, 0)[1] != 0


def main() -> int:
    """Run; return 1 if too many survive."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=7200)
    parser.add_argument(
        "--file", type=Path, default=Path("mutants.jsonl"), help="a row for each mutant; a run goes on after the last"
    )
    given = parser.parse_args()
    kept = [json.loads(line) for line in given.file.read_text().splitlines()] if given.file.exists() else []
    began = time.monotonic()
    with given.file.open("a") as out:
        for name, file, place in drawn(given.seed, given.count)[len(kept) :]:
            if time.monotonic() - began > given.seconds:
                break
            node, how = list(places(ast.parse((ROOT / file).read_text())))[place]
            line = getattr(node, "lineno", 0)
            kept.append({"pass": name, "file": file, "line": line, "what": how, "noticed": noticed(file, place)})
            out.write(json.dumps(kept[-1]) + "\n")
            out.flush()
    made, found = Counter(row["pass"] for row in kept), Counter(row["pass"] for row in kept if row["noticed"])
    for name in made:
        print(f"{name}: {found[name]} of {made[name]}")  # noqa: T201 (what it is for)
    print(f"{found.total()} of {made.total()} are noticed")  # noqa: T201 (what it is for)
    return 1 if found.total() < 0.85 * made.total() else 0


if __name__ == "__main__":
    sys.exit(main())
