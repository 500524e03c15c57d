"""Bounds whose constants serve nothing else: if no guard of theirs refuses a step, a larger value adds no state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.explorers.program.ir import nodes
from fencepost.explorers.program.ir.nodes import Order
from fencepost.explorers.program.ir.oversights import sums_of
from fencepost.explorers.program.ir.walk import parts
from fencepost.model.language.domains import Extreme, linear
from fencepost.model.language.records import ArrayOf, BagOf, Nested, Scalar, fields

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fencepost.explorers.program.ir.nodes import Node
    from fencepost.explorers.program.ir.program import Program
    from fencepost.model.language.domains import Linear
    from fencepost.model.language.records import FieldType, Record


def unshared_bounds(program: Program) -> frozenset[str]:
    """Return the bounds that only their own guards and effects read, and the state's domains and
    bags, which grow with them.

    A larger constant then makes each of these comparisons true wherever it was. A size of arrays may change what a
    loop runs over, and a domain of a parameter what is tried, so these count as read elsewhere; so does a domain or a
    bag that gets less roomy.
    """
    elsewhere = {
        *_shrinking(program.machine.state),
        *(name for found in _sums(program) for name in linear(found).names),
    }
    return frozenset(name for name in program.bounds if name not in elsewhere and not _is_read(program, name))


def _sums(program: Program) -> Iterator[Linear | int]:
    for action in (program.initial, *program.actions):
        for item in action.parameters:
            yield from sums_of(item.domain)
    for prop in program.asked:
        eventual = prop.eventual
        for _, domain in (*prop.params, *(eventual.params if eventual is not None else ())):
            yield from sums_of(domain)
        if eventual is not None:
            yield from (
                () if eventual.costs is None or callable(eventual.costs) else (cost for _, cost in eventual.costs)
            )
            yield from () if eventual.bound is None else (eventual.bound,)


def _shrinking(record: type[Record]) -> Iterator[str]:
    """Yield the constants of which a larger value does more to a record than leave room for more."""
    for _, field in fields(record):
        yield from _shrinking_in(field)


def _shrinking_in(field: FieldType) -> Iterator[str]:
    match field:
        case Nested():
            yield from _shrinking(field.record)
        case BagOf():
            yield from _falling(field.room)
            yield from _shrinking(field.record)
        case ArrayOf():
            yield from field.length.names
            yield from _shrinking_in(field.element)
        case Scalar():
            yield from linear(getattr(field.domain, "low", 0)).names  # the value of the zero state
            for name in ("high", "count"):
                yield from _falling(getattr(field.domain, name, 0))


def _falling(total: Linear | int) -> Iterator[str]:
    """Yield the constants of which a larger value may make a sum less."""
    for name, factor in linear(total).terms.items():
        if isinstance(name, Extreme):
            for part in name.parts:
                yield from _falling(part * factor)
        elif factor < 0:
            yield name


def _is_read(program: Program, name: str) -> bool:
    """Say whether a constant is read where it is not about its own bound."""
    called = {program.initial.function, *(action.function for action in program.actions), *program.properties.values()}
    for item in program.behaviours.values():
        called |= {number for number in (item.when, item.then, item.cost) if number is not None}
    if program.normalize is not None:
        called.add(program.normalize)
    waiting, seen = [*called], set(called)
    while waiting:
        for node in _apart(program, program.functions[waiting.pop()].body, name):
            if isinstance(node, nodes.Constant) and node.name == name:
                return True
            if isinstance(node, nodes.Call) and node.function not in seen:
                seen.add(node.function)
                waiting.append(node.function)
    return False


def _apart(program: Program, found: Iterable[Node], name: str) -> Iterator[Node]:
    """Yield these nodes and all that is inside them, but not where a bound is compared with its constant."""
    for node in found:
        if isinstance(node, nodes.Require | nodes.Fits) and node.bound == name:
            yield from _apart(program, _others(program, node.condition, name), name)
            continue
        yield node
        yield from _apart(program, parts(node), name)


def _others(program: Program, condition: nodes.Expression, name: str) -> tuple[nodes.Expression, ...]:
    """Return a condition's other parts, if a larger constant can only make a comparison true."""
    match condition:
        case nodes.Logic():
            return tuple(part for value in condition.values for part in _others(program, value, name))
        case nodes.Compare(first=left, rest=((order, right),)):
            if order in (Order.MORE, Order.AT_LEAST):
                left, right = right, left
            rises = order in (Order.LESS, Order.AT_MOST, Order.MORE, Order.AT_LEAST)
            if rises and isinstance(right, nodes.Constant) and right.name == name:
                return (left,)
        case nodes.Call(function=number, arguments=arguments):
            match program.functions[number].body:
                case (nodes.Return(value=value),) if value is not None:
                    return (*arguments, *_others(program, value, name))
    return (condition,)
