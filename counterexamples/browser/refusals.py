"""The reason why a step is disabled: a guard, the decisive part of its condition, and the values read there."""

import ast
import copy
from collections.abc import Iterator
from contextlib import suppress
from enum import IntEnum
from functools import cache
from types import CodeType, FrameType
from typing import Any, NamedTuple

from fencepost.counterexamples.browser.setting import Setting
from fencepost.counterexamples.violating_binding import unmet
from fencepost.model.language.actions import Action
from fencepost.model.language.constants import Constants
from fencepost.model.language.errors import DisabledError, FencepostError
from fencepost.model.language.interpreter import ARITHMETIC, Step
from fencepost.model.language.records import Record, Scalar, declared_class, fields
from fencepost.model.language.trees import code_of, expression_of

NOT_IN_FLIGHT = "no such message is in flight"
NO_ROOM, WRONG = "a value would leave its domain", "the model raises an error"


class Refusal(NamedTuple):
    """A guard, given by its number in the action (-1 for none), with its condition, the decisive part, and the values
    that this part reads. If the guard only limits the run and is not a rule of the protocol, `bound` is its constant.
    """

    number: int
    guard: str
    decided: str = ""
    values: tuple[str, ...] = ()
    bound: str = ""


def refusal(setting: Setting, step: Step, error: FencepostError, *, explained: bool = True) -> Refusal:
    """Return why a step was refused or, unless `explained`, only the guard. Call this before the next step."""
    number = number_of(setting, step.action, error)
    if number < 0:
        why = NO_ROOM if setting.removed else WRONG
        return Refusal(number, NOT_IN_FLIGHT if isinstance(error, DisabledError) else f"{why}: {error}")
    condition = setting.guards.texts(step.action)[number]
    bound = setting.guards.bounds[step.action.name][number] or ""
    if not explained:
        return Refusal(number, condition, bound=bound)
    frame = _frame(step.action, error)
    found, parts = unmet(condition, {**frame.f_globals, **frame.f_locals})
    values = [f"{name}={value}" for name, value in found.values]
    values += _read_by(parts)
    decided = found.condition if found.condition != condition else ""
    return Refusal(number, condition, decided, tuple(dict.fromkeys(values)), bound)


def number_of(setting: Setting, item: Action, error: FencepostError) -> int:
    return setting.guards.refused(item, error) if isinstance(error, DisabledError) else -1


def _frame(item: Action, error: FencepostError) -> FrameType:
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code is not item.function.__code__:
        trace = trace.tb_next
    assert trace is not None
    return trace.tb_frame


def _read_by(parts: list[tuple[str, dict[str, Any]]]) -> list[str]:
    found: dict[str, set[int]] = {}
    for part, names in parts:
        for item in ast.walk(expression_of(part)):
            if isinstance(item, ast.Name) and isinstance(value := names.get(item.id), int):
                found.setdefault(item.id, set()).add(int(value))
    several = {name for name, values in found.items() if len(values) > 1}
    told: list[str] = []
    for part, names in parts:
        numbers = _Numbers({name: int(names[name]) for name in several if isinstance(names.get(name), int)})
        told += _read(ast.unparse(numbers.visit(copy.deepcopy(expression_of(part)))), names)
    return told


class _Numbers(ast.NodeTransformer):
    def __init__(self, numbers: dict[str, int]) -> None:
        self.numbers = numbers

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Constant(self.numbers[node.id]) if node.id in self.numbers else node


class Place(NamedTuple):
    text: str
    code: CodeType
    owner: CodeType | None
    field: str


def _read(condition: str, names: dict[str, Any]) -> Iterator[str]:
    """Yield the values that a condition reads, as `name=value`. Unevaluated values are omitted."""
    for place in _places(condition):
        shown = None
        with suppress(FencepostError, *ARITHMETIC):
            shown = _shown(place, names)
        if shown is not None:
            yield f"{place.text}={shown}"


@cache
def _places(condition: str) -> tuple[Place, ...]:
    """Return the parts of a condition that name a value, except loop variables and a module's constants."""
    tree = expression_of(condition)
    loops = {item.id for item in ast.walk(tree) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)}
    inner: set[ast.AST] = set()
    found: dict[str, Place] = {}
    for node in ast.walk(tree):
        if node in inner or not isinstance(node, ast.Attribute | ast.Subscript | ast.Name):
            continue
        inner |= {item for item in ast.walk(node) if isinstance(item, ast.Attribute | ast.Subscript)}
        text = ast.unparse(node)
        if isinstance(node, ast.Name) and text.isupper():
            continue
        if not loops & {item.id for item in ast.walk(node) if isinstance(item, ast.Name)}:
            owner, field = (
                (code_of(node.value, "<guard>"), node.attr) if isinstance(node, ast.Attribute) else (None, "")
            )
            found[text] = Place(text, code_of(node, "<guard>"), owner, field)
    return tuple(found.values())


def _shown(place: Place, names: dict[str, Any]) -> str | None:
    """Return the value of a part of a condition as text, or None if the value is neither a number nor a flag."""
    value = eval(place.code, names)  # noqa: S307 (the model's own text)
    if not isinstance(value, int) or isinstance(value, IntEnum):
        return None
    owner = eval(place.owner, names) if place.owner else None  # noqa: S307 (the model's own text)
    if isinstance(owner, Constants):
        return str(owner.shown[place.field]).lower()
    if isinstance(owner, Record):
        kind = dict(fields(declared_class(type(owner)))).get(place.field)
        if isinstance(kind, Scalar):
            return kind.domain.show(int(value))
    return str(bool(value)).lower() if isinstance(value, bool) else str(int(value))
