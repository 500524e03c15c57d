"""The constructs of the language, listed from the sources of its checker and of the typed program.

The checker itself is the list: each of its lines either helps to refuse something, or accepts a construct. A new
construct brings new lines, which no random machine reaches before the generator knows it.
"""

import ast
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from fencepost.explorers.program.ir import nodes
from fencepost.explorers.program.ir.program import inside
from fencepost.explorers.program.ir.translate import translate
from fencepost.explorers.program.subset import __file__
from fencepost.model.language import Machine, Property
from fencepost.model.language.actions import Kind
from fencepost.model.language.errors import ModelError, UsageError
from fencepost.model.language.trees import module_of

from tests.random_machines.engines import load
from tests.random_machines.machines import numbered

FOLDER = Path(__file__).parent
SPEAK = {
    "helpers", "meant", "say", "name", "refuse", "refuse_name", "refusal", "_called", "_ghost_in", "global_of",
    "static", "refused", "_number", "guards_of", "guard_calls", "bounds_of", "texts", "generated", "outside", "_found",
    "_together", "_again", "is_current",
}  # fmt: skip
"""Functions that make messages, count a machine's guards for a search, or use what was checked before."""
TO_REFUSE = {
    "word, instead = hints.EXPRESSIONS.get(type(node), (type(node).__name__.lower(), hints.USUAL))", "case _:",
    "except ModelError as error:", "self._refused.setdefault(str(error), error)", "self._open.clear()",
    "except (OSError, TypeError):", "except SyntaxError:  # a lambda is inside another expression", "node = ast.Pass()",
    'if name == "range":', "elif kind == INT:", "self.expressions.place(target)  # raises the error",
    "return frozenset()", "return None", "return False", 'return ""', "return True", "if self.is_in_flight(place):",
    "if head(place) in self.scope.made.params and head(place) not in self.received:",
    "self.scope.made.reads_gone.add(head(place))",
}  # fmt: skip
"""Other lines that run only before a refusal."""
TYPED = {
    item
    for item in vars(nodes).values()
    if isinstance(item, type)
    and issubclass(item, nodes.Node)
    and not item.__subclasses__()
    and item is not nodes.Switch
}
WORDS: tuple[type[Enum], ...] = (nodes.UnaryOp, nodes.BinaryOp, nodes.Order, nodes.FoldOp, nodes.Failure)


def typed_constructs() -> set[str]:
    """Return every node of the typed program, every operator, every check, and every sort of property."""
    words = {f"{kind.__name__}.{item.name}" for kind in WORDS for item in kind}
    return {item.__name__ for item in TYPED} | words | {f"Kind.{item.name}" for item in Kind}


def typed_constructs_of(machine: Machine, properties: tuple[Property, ...]) -> set[str]:
    program = translate(machine, properties)
    found = {f"Kind.{item.kind.name}" for item in properties}
    for node in inside(node for item in program.functions for node in item.body):
        found.add(type(node).__name__)
        found |= {f"Failure.{item.name}" for item in node.checks}
        for value in (getattr(node, name, None) for name in ("operator", "rest")):
            found |= {f"{type(item).__name__}.{item.name}" for item in _words(value)}
    return found


def _words(value: Any) -> Iterator[Any]:
    if isinstance(value, Enum):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _words(item)


def accepting() -> set[tuple[str, int]]:
    """Return the lines of the checker that accept something, as file and number."""
    found = set()
    for path in sorted(FOLDER.glob("*.py")):
        if path.name == "hints.py":
            continue
        text = path.read_text("utf-8")
        tree, lines_of_text = module_of(text), text.split("\n")
        refusing = {
            line for item in _refusing(tree) for line in range(item.lineno, (item.end_lineno or item.lineno) + 1)
        }
        for item in ast.walk(tree):
            if isinstance(item, ast.FunctionDef) and item.name not in SPEAK:
                heads = {item.lineno, *(part.lineno for part in item.decorator_list)}
                code = compile(ast.Module([item], []), str(path), "exec")
                lines = {
                    line for part in _codes(code) if part.co_name == item.name for _, _, line in part.co_lines() if line
                }
                found |= {
                    (path.name, line)
                    for line in lines - heads - refusing
                    if lines_of_text[line - 1].strip() not in TO_REFUSE
                }
    return found


def _codes(code: CodeType) -> Iterator[CodeType]:
    for item in code.co_consts:
        if hasattr(item, "co_lines"):
            yield item
            yield from _codes(item)


def _refusing(tree: ast.Module) -> Iterator[ast.stmt]:
    """Yield calls of `refuse`, blocks that end with one, advice for one, and what has no body."""
    for item in ast.walk(tree):
        if isinstance(item, ast.ClassDef) and any(getattr(base, "id", "") == "Protocol" for base in item.bases):
            yield item
        if isinstance(item, ast.Expr) and _refuses(item):
            yield item
        if isinstance(item, ast.Assign) and ast.unparse(item.targets[0]) == "instead":
            yield item
        for name in () if isinstance(item, ast.FunctionDef | ast.Module | ast.ClassDef) else ("body", "orelse"):
            block = getattr(item, name, None)
            if isinstance(block, list) and block and (isinstance(block[-1], ast.Raise) or _refuses(block[-1])):
                yield from block


def _refuses(item: ast.stmt) -> bool:
    return isinstance(item, ast.Expr) and any(
        isinstance(part, ast.Call)
        and {"refuse", "refuse_name"} & {getattr(part.func, "attr", ""), getattr(part.func, "id", "")}
        for part in ast.walk(item)
    )


@contextmanager
def lines_of_the_checker() -> Iterator[set[tuple[str, int]]]:
    seen: set[tuple[str, int]] = set()
    names = {str(path): path.name for path in FOLDER.glob("*.py")}

    def inside_one(frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            seen.add((names[frame.f_code.co_filename], frame.f_lineno))
        return inside_one

    before = sys.gettrace()
    sys.settrace(lambda frame, _, __: inside_one if frame.f_code.co_filename in names else None)
    try:
        yield seen
    finally:
        sys.settrace(before)


def cover(count: int, folder: Path) -> list[int]:
    """Return seeds of few machines that together have every construct; raise UsageError if one is missing."""
    wanted: set[Any] = accepting() | typed_constructs()
    had: dict[int, set[Any]] = {}
    for seed in range(count):
        with lines_of_the_checker() as seen:
            try:
                machine, properties = load(numbered(seed), folder)
            except ModelError:
                continue
        had[seed] = (seen | typed_constructs_of(machine, properties)) & wanted
    missing, found = wanted.difference(*had.values()), []
    if missing:
        raise UsageError(
            f"none of {count} machines has {len(missing)} of the "
            f"constructs, such as {min(map(str, missing))}: draw more."
        )
    while wanted:
        found.append(max(had, key=lambda seed: len(had[seed] & wanted)))
        wanted -= had[found[-1]]
    return found
