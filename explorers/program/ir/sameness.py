"""Helpers that no model has written: records and arrays compared field by field."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fencepost.explorers.program.ir.lifted import INDEX, Lifted, element_of, field_of
from fencepost.explorers.program.ir.nodes import (
    Clause,
    Element,
    Expression,
    Fold,
    FoldOp,
    Length,
    Logic,
    Numbers,
    Order,
)
from fencepost.explorers.program.ir.walk import rebuilt
from fencepost.explorers.program.subset.kinds import INT, Arr, Rec
from fencepost.model.language.records import ArrayOf, Nested, Scalar, fields

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fencepost.explorers.program.ir.nodes import Call, Node, Slot
    from fencepost.model.language.records import Record


def same(lifted: Lifted, one: Expression, other: Expression) -> Call:
    """Return whether two records or arrays have the same content."""
    left, right = lifted.given(one), lifted.given(other)
    kind = one.type
    if isinstance(kind, Arr):
        return lifted.value(_same_items(lifted, lifted.read(left), lifted.read(right), kind.field))
    assert isinstance(kind, Rec)
    return lifted.value(_conjunction(lifted, list(_parts(lifted, left, right, kind.record, ()))))


def same_as_written(
    lifted: Lifted, place: Expression, values: dict[tuple[str, ...], Expression], *, first: bool
) -> Call:
    """Return whether a record has the values that are written out by the paths of their fields, and else is cleared."""
    slots = {}
    if first:
        owner = lifted.given(place)
    for path, value in values.items():
        slots[path] = lifted.given(value)
    if not first:
        owner = lifted.given(place)
    assert isinstance(place.type, Rec)
    found = list(_as_written(lifted, owner, place.type.record, (), slots))
    return lifted.value(_conjunction(lifted, found))


def _conjunction(lifted: Lifted, found: list[Expression]) -> Expression:
    if not found:
        return lifted.number(1)
    return found[0] if len(found) == 1 else Logic(True, tuple(found), at=lifted.at)


def _at_path(lifted: Lifted, slot: Slot, path: tuple[str, ...]) -> Expression:
    """Return a field of a record by its path."""
    found: Expression = lifted.read(slot)
    for name in path:
        found = field_of(found, name, lifted.at)
    return found


def _parts(lifted: Lifted, one: Slot, other: Slot, record: type[Record], path: tuple[str, ...]) -> Iterable[Expression]:
    for name, kind in fields(record):
        here = (*path, name)
        if isinstance(kind, Nested):
            yield from _parts(lifted, one, other, kind.record, here)
            continue
        left, right = _at_path(lifted, one, here), _at_path(lifted, other, here)
        if isinstance(kind, ArrayOf):
            yield _same_items(lifted, left, right, kind)
        else:
            yield lifted.compare(left, Order.EQUAL, right)


def _same_items(lifted: Lifted, one: Expression, other: Expression, kind: ArrayOf) -> Expression:
    """Return whether two arrays have the same elements."""
    number = lifted.slot(INT)
    items = [
        Element(array, lifted.read(number), at=lifted.at, checks=INDEX, type=element_of(kind)) for array in (one, other)
    ]
    if isinstance(kind.element, Nested):
        value: Expression = same(Lifted(lifted.functions, lifted.python, lifted.at), *items)
    else:
        value = lifted.compare(items[0], Order.EQUAL, items[1])
    length = Length(rebuilt_whole(one), at=lifted.at)
    clause = Clause(number, Numbers(lifted.number(0), length, at=lifted.at), (), at=lifted.at)
    return Fold(FoldOp.ALL, (clause,), value, at=lifted.at)


def rebuilt_whole(node: Expression) -> Expression:
    """Return the same expression made of other nodes, which may stand somewhere else too."""

    def copied(item: Node) -> Node:
        return replace(rebuilt(item, copied))

    found = copied(node)
    assert isinstance(found, Expression)
    return found


def _as_written(
    lifted: Lifted, owner: Slot, record: type[Record], path: tuple[str, ...], slots: dict[tuple[str, ...], Slot]
) -> Iterable[Expression]:
    for name, kind in fields(record):
        here = (*path, name)
        if isinstance(kind, Nested):
            yield from _as_written(lifted, owner, kind.record, here, slots)
        elif isinstance(kind, ArrayOf):
            yield _cleared(lifted, _at_path(lifted, owner, here), kind)
        else:
            wanted = lifted.read(slots[here]) if here in slots else lifted.number(0)
            yield lifted.compare(_at_path(lifted, owner, here), Order.EQUAL, wanted)


def _cleared(lifted: Lifted, array: Expression, kind: ArrayOf) -> Expression:
    """Return whether all of an array is cleared."""
    item = lifted.slot(element_of(kind))
    clause = Clause(item, array, (), at=lifted.at)
    if isinstance(kind.element, Scalar):
        value: Expression = lifted.compare(lifted.read(item), Order.EQUAL, lifted.number(0))
    else:
        value = same_as_written(Lifted(lifted.functions, lifted.python, lifted.at), lifted.read(item), {}, first=True)
    return Fold(FoldOp.ALL, (clause,), value, at=lifted.at)
