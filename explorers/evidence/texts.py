"""The difference between the texts of two machines: actions that one of them lacks, guards and effects that differ."""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fencepost.explorers.program.removal import guards
from fencepost.model.language.trees import definition_of

if TYPE_CHECKING:
    from fencepost.model.language.actions import Action
    from fencepost.model.language.machine import Machine


@dataclass(frozen=True)
class Changed:
    """An action of both machines that differs: guards of one only, and whether the effect differs."""

    action: str
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    effect: bool


@dataclass(frozen=True)
class Texts:
    """What differs between the texts of two machines."""

    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    changed: tuple[Changed, ...]


def texts_of(a: Machine, b: Machine) -> Texts:
    """Return how two machines differ in their actions; helpers that actions call are not examined."""
    mine, others = ({item.label: item for item in machine.actions} for machine in (a, b))
    conditions = [_conditions(machine) for machine in (a, b)]
    changed = []
    for label in [name for name in mine if name in others]:
        if mine[label].function is others[label].function:
            continue
        one, other = (known.get(label, []) for known in conditions)
        item = Changed(
            label,
            tuple(text for text in one if text not in other),
            tuple(text for text in other if text not in one),
            _effect(mine[label]) != _effect(others[label]),
        )
        if item.only_a or item.only_b or item.effect:
            changed.append(item)
    return Texts(
        tuple(name for name in mine if name not in others),
        tuple(name for name in others if name not in mine),
        tuple(changed),
    )


def _conditions(machine: Machine) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for item in guards(machine):
        if not item.part:
            found.setdefault(item.action, []).append(item.condition)
    return found


def _effect(item: Action) -> list[str]:
    """Return an action's statements without its docstring and its guards."""
    kept = [text for text in map(ast.unparse, definition_of(item.function).body) if not text.startswith("require(")]
    return kept[1:] if inspect.getdoc(item.function) else kept
