"""Observations of a state: its fields, or numbers computed from it. States with equal observations count as one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from fencepost.explorers.native.blame import blame
from fencepost.explorers.native.compile import load
from fencepost.explorers.native.generate import source_of
from fencepost.explorers.native.layout import layout_of
from fencepost.explorers.native.lower.machine import write_look
from fencepost.explorers.native.lower.module import Module
from fencepost.explorers.paths import budgets
from fencepost.explorers.program.ir.translate import translate
from fencepost.model.language.errors import UsageError, nearest
from fencepost.model.language.records import ArrayOf, BagOf, Nested, Record, fields

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fencepost.explorers.evidence.space import Space
    from fencepost.model.language.actions import Property
    from fencepost.model.language.records import FieldType

Array = np.ndarray[Any, Any]
OWN = ("budget",)
"""Fields that tell what may still happen, and nothing of what has."""


def everything(state: type[Record]) -> tuple[str, ...]:
    """Return the fields that a protocol keeps: all but budgets and the ghosts of properties."""
    left = {".".join(path) for path in budgets(state)}
    return tuple(
        path for path in _leaves(state) if path not in left and not any(_is_aside(name) for name in path.split("."))
    )


def leaves_of(state: type[Record]) -> tuple[str, ...]:
    """Return every field that holds numbers or messages, as a path."""
    return tuple(_leaves(state))


def lengths_of(state: type[Record], values: Mapping[str, int]) -> tuple[int, ...]:
    """Return the length of every array under these constants, in the order of fields."""
    return tuple(length for _, field in fields(state) for length in _lengths(field, values))


def _lengths(field: FieldType, values: Mapping[str, int]) -> Iterator[int]:
    if isinstance(field, ArrayOf):
        yield field.length.value(values)
        yield from _lengths(field.element, values)
    elif isinstance(field, Nested | BagOf):
        yield from lengths_of(field.record, values)


def choose_fields(state: type[Record], named: tuple[str, ...]) -> tuple[str, ...]:
    """Return the leaves under the fields that are named, such as `replica.log`; raise UsageError for an unknown one."""
    leaves = list(_leaves(state))
    found: list[str] = []
    for name in named:
        wanted = name.replace("-", "_")
        under = [path for path in leaves if path == wanted or path.startswith(f"{wanted}.")]
        if not under:
            known = sorted({path[:end] for path in leaves for end in _ends(path)})
            raise UsageError(
                f"the state has no field {name!r}.{nearest(wanted, known)} Fields are: {', '.join(known)}."
            )
        found += under
    return tuple(dict.fromkeys(found))


def _ends(path: str) -> list[int]:
    return [place for place, letter in enumerate(path) if letter == "."] + [len(path)]


def _is_aside(name: str) -> bool:
    return name.startswith("ghost_") or name in OWN


def _leaves(record: type[Record], above: str = "") -> Iterator[str]:
    for name, field in fields(record):
        inner = field.record if isinstance(field, Nested | BagOf) else None
        if isinstance(field, ArrayOf) and isinstance(field.element, Nested):
            inner = field.element.record
        if isinstance(field, BagOf) or inner is None:
            yield f"{above}{name}"
        else:
            yield from _leaves(inner, f"{above}{name}.")


def look_at_fields(space: Space, paths: tuple[str, ...]) -> Array:
    """Return what is seen of each state as one string of bytes."""
    columns = []
    states = space.search.layout.unpack(space.rows)
    for path in paths:
        column = states
        for name in path.split("."):
            column = column[name]
        columns.append(_bytes(column))
    return _joined(columns, space.states)


def _bytes(column: Array) -> Array:
    """Return a column as a matrix of bytes, a row for each state."""
    flat = np.ascontiguousarray(column)
    return flat.view(np.uint8).reshape(len(column), -1) if len(column) else np.zeros((0, 1), np.uint8)


def _joined(columns: list[Array], states: int) -> Array:
    matrix = np.ascontiguousarray(np.hstack(columns)) if columns else np.zeros((states, 1), np.uint8)
    return matrix.view(np.dtype((np.void, matrix.shape[1]))).ravel()


def look_through(space: Space, views: tuple[Property, ...]) -> Array:
    """Return what functions see of each state as one string of bytes."""
    search = space.search
    module = Module(translate(search.machine, views), layout_of(search.machine.state, search.constants))
    write_look(module, views)
    kernels = load(source_of(module))
    checks = kernels.checks(search.constants)
    seen = np.zeros((space.states, len(views)), np.int64)
    kernels.module.look(checks, space.rows, 0, space.states, kernels.constants(search.constants), seen)
    if checks[0]:
        key = search.layout.decode(space.rows[int(checks[1])])
        for view in views:
            search.plain.holds(view, key)
        blame(search, int(checks[0]))
    return _joined([_bytes(seen)], space.states)
