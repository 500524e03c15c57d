"""Syntax trees of Python code.

In Python 3.11, threads that create or compile trees at the same time can cause a SystemError with the text "AST
constructor recursion depth mismatch" (github.com/python/cpython/issues/106905), so a lock admits one thread at a time.
"""

import ast
import inspect
import io
import linecache
import os
import re
import textwrap
import time
from collections.abc import Callable
from functools import cache, lru_cache
from pathlib import Path
from threading import RLock
from types import CodeType
from typing import Any

USER_MODULE = "fencepost_user_"
"""Prefix of the module names of users' files, to which each load appends a new number."""
TEXT = "__fencepost_text__"
"""The global name in a user's module that holds the source that was executed."""
_ONE_AT_A_TIME = RLock()


def module_of(text: str | bytes) -> ast.Module:
    """Return the syntax tree of a string; raise SyntaxError or ValueError if it is not Python."""
    with _ONE_AT_A_TIME:
        return ast.parse(text)  # noqa: TID251 (here)


@lru_cache(maxsize=8)
def whole_file(text: str) -> ast.Module:
    """Return the tree of a file, which the caller must not change, as `module_of` does."""
    return module_of(text)


def expression_of(text: str) -> ast.expr:
    """Return the tree of an expression."""
    with _ONE_AT_A_TIME:
        return ast.parse(text, mode="eval").body  # noqa: TID251 (here)


def source_lines(function: Callable[..., Any]) -> tuple[list[str], int]:
    """Return a function's lines as executed and the number of the first line; raise OSError if they are unavailable."""
    python = inspect.unwrap(function)
    code = getattr(python, "__code__", None)
    if code is None:
        return inspect.getsourcelines(function)
    text = kept = None if code.co_filename.startswith("<") else python.__globals__.get(TEXT)
    if text is None:
        linecache.checkcache(code.co_filename)
        text = "".join(linecache.getlines(code.co_filename, python.__globals__))
    lines, ends = _functions(text)
    first = code.co_firstlineno
    if first in ends:
        return lines[first - 1 : ends[first]], first
    return inspect.getsourcelines(function) if kept is None else (inspect.getblock(lines[first - 1 :]), first)


@lru_cache(maxsize=64)
def _functions(text: str) -> tuple[list[str], dict[int, int]]:
    """Return the lines of a file, and each function's last line by its first (or its first decorator's) line."""
    ends: dict[int, int] = {}
    try:
        left = [*whole_file(text).body]
    except (SyntaxError, ValueError):  # edited after it was executed
        left = []
    while left:
        node = left.pop()
        left += getattr(node, "body", ())
        if isinstance(node, ast.FunctionDef):
            ends[min([node.lineno, *(item.lineno for item in node.decorator_list)])] = node.end_lineno or 0
    return io.StringIO(text).readlines(), ends


def was_edited(function: Callable[..., Any]) -> bool:
    """Return whether a function's file was edited after its import, so the executed function may differ."""
    path = Path(function.__code__.co_filename)
    if TEXT in function.__globals__ or not path.is_file() or path.stat().st_mtime < _began():
        return False
    return function.__code__ not in _codes(path, path.stat().st_mtime)


@cache
def _began() -> float:
    """Return the start time of this process, to compare with file times, or 0 if the system does not report it."""
    try:
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) + ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, AttributeError, ValueError):
        return 0.0


@lru_cache
def _codes(path: Path, _edited: float) -> frozenset[CodeType]:
    try:
        with _ONE_AT_A_TIME:
            found = [compile(path.read_bytes(), str(path), "exec", dont_inherit=True)]
    except (SyntaxError, ValueError):
        return frozenset()
    for code in found:
        found += [item for item in code.co_consts if isinstance(item, CodeType)]
    return frozenset(found)


def definition_of(function: Callable[..., Any]) -> ast.FunctionDef:
    """Return the tree of a function, with lines counted from the function's first line."""
    node = module_of(textwrap.dedent("".join(source_lines(function)[0]))).body[0]
    assert isinstance(node, ast.FunctionDef)
    return node


def module_name(item: Any) -> str:
    """Return the module name of a function or class, without the load number of a user's file."""
    return re.sub(rf"^{USER_MODULE}\d+\.", "", item.__module__)


def code_of(node: ast.expr | ast.stmt, name: str) -> CodeType:
    """Compile a tree: an expression to be evaluated, or a statement to be executed."""
    tree: ast.Expression | ast.Module = ast.Expression(node) if isinstance(node, ast.expr) else ast.Module([node], [])
    with _ONE_AT_A_TIME:
        return compile(tree, name, "eval" if isinstance(node, ast.expr) else "exec")
