"""Bounds whose constants are read for nothing else: where none of their guards refuses a step, a larger value adds no state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.model.language.domains import linear
from fencepost.model.language.ir import nodes
from fencepost.model.language.ir.nodes import Order
from fencepost.model.language.ir.oversights import sums_of
from fencepost.model.language.ir.walk import parts
from fencepost.model.language.records import ArrayOf, BagOf, Nested, fields

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fencepost.model.language.domains import Linear
    from fencepost.model.language.ir.nodes import Node
    from fencepost.model.language.ir.program import Program
    from fencepost.model.language.records import FieldType, Record


def unshared_bounds(program: Program) -> frozenset[str]:
    """Return the bounds that only their own guards and effects read, and domains of the state, whose values all fit.

    A size of arrays may change what a loop runs over, and a domain of a parameter what is tried, so these count as read elsewhere.
    """
    sums = {name for found in _sums(program) for name in linear(found).names}
    return frozenset(name for name in program.bounds if name not in sums and not _is_read(program, name))


def _sums(program: Program) -> Iterator[Linear | int]:
    yield from _lengths(program.machine.state)
    for action in (program.initial, *program.actions):
        for item in action.parameters:
            yield from sums_of(item.domain)
    for prop in program.asked:
        eventual = prop.eventual
        for _, domain in (*prop.params, *(eventual.params if eventual is not None else ())):
            yield from sums_of(domain)
        if eventual is not None:
            yield from () if eventual.costs is None or callable(eventual.costs) else (cost for _, cost in eventual.costs)
            yield from () if eventual.bound is None else (eventual.bound,)


def _lengths(record: type[Record]) -> Iterator[Linear | int]:
    for _, field in fields(record):
        yield from _lengths_of(field)


def _lengths_of(field: FieldType) -> Iterator[Linear | int]:
    match field:
        case Nested() | BagOf():
            yield from _lengths(field.record)
        case ArrayOf():
            yield field.length
            yield from _lengths_of(field.element)


def _is_read(program: Program, name: str) -> bool:
    """Say whether a constant is read where it is not about its own bound."""
    called = {program.initial.function, *(action.function for action in program.actions), *program.properties.values()}
    for item in program.behaviours.values():
        called |= {number for number in (item.when, item.then, item.cost) if number is not None}
    if program.normalize is not None:
        called.add(program.normalize)
    waiting, seen = [*called], set(called)
    while waiting:
        for node in _apart(program.functions[waiting.pop()].body, name):
            if isinstance(node, nodes.Constant) and node.name == name:
                return True
            if isinstance(node, nodes.Call) and node.function not in seen:
                seen.add(node.function)
                waiting.append(node.function)
    return False


def _apart(found: Iterable[Node], name: str) -> Iterator[Node]:
    """Yield these nodes and all that is inside them, but not the conditions that stand for a bound."""
    for node in found:
        if isinstance(node, nodes.Require) and node.bound == name:
            continue
        if isinstance(node, nodes.Fits) and node.bound == name and (others := _others(node.condition, name)) is not None:
            yield from _apart(others, name)
            continue
        yield node
        yield from _apart(parts(node), name)


def _others(condition: nodes.Expression, name: str) -> tuple[nodes.Expression, ...] | None:
    """Return what is compared with a constant, where a larger constant makes the comparison true wherever it was."""
    if not isinstance(condition, nodes.Compare) or len(condition.rest) != 1:
        return None
    (order, right), left = condition.rest[0], condition.first
    if order in (Order.MORE, Order.AT_LEAST):
        left, right = right, left
    rises = order in (Order.LESS, Order.AT_MOST, Order.MORE, Order.AT_LEAST)
    return (left,) if rises and isinstance(right, nodes.Constant) and right.name == name else None
