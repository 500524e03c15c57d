"""Why a step cannot happen: the guard that refused it, as it stands in the model."""

from __future__ import annotations

import ast
import inspect
import textwrap
from pathlib import Path as File
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fencepost.model.language.actions import Action
    from fencepost.model.language.errors import DisabledError


class Guard(NamedTuple):
    """A `require` of an action: its condition, and where it is written."""

    condition: str
    file: str
    line: int

    def __str__(self) -> str:
        return f"the guard `{self.condition}` ({File(self.file).name}:{self.line})"


def guards(action: Action) -> Iterator[tuple[Guard, int]]:
    """Yield the guards of an action in order, each with its last line."""
    lines, first = inspect.getsourcelines(action.function)
    file = inspect.getsourcefile(action.function) or "?"
    for node in ast.walk(ast.parse(textwrap.dedent("".join(lines)))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "require" and node.args:
            start, end = node.lineno, node.end_lineno or node.lineno
            yield Guard(ast.unparse(node.args[0]), file, first + start - 1), first + end - 1


def refusing_guard(action: Action, error: DisabledError) -> Guard | None:
    """Return the guard that raised `error`; None if no guard did: a message that is not in flight."""
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code is action.function.__code__:
            return next((guard for guard, end in guards(action) if guard.line <= trace.tb_lineno <= end), None)
        trace = trace.tb_next
    return None
