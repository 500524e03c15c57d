"""Evaluation of the typed program's expressions on a symbolic state."""

from collections.abc import Callable
from functools import partial, reduce
from typing import Any

from fencepost.explorers.program.ir import nodes
from fencepost.explorers.program.ir.nodes import BinaryOp, Order, UnaryOp
from fencepost.explorers.program.subset.kinds import INT
from fencepost.explorers.symbolic import loops, terms
from fencepost.explorers.symbolic.frames import Frame, Refs, Walking, asked, merge, read
from fencepost.explorers.symbolic.places import MOST_MEMBERS, Bag
from fencepost.explorers.symbolic.terms import Flag, Members, Num, UnknownOperation, Value
from fencepost.model.language import bits

_SHORTCUTS: dict[Callable[..., Any], Callable[..., Value]] = {bits.contains: terms.member, bits.size: terms.size}
"""Helpers from `bits` that become a single term on sets. Walks execute the bodies of all other helpers."""
_ENDLESS: dict[Callable[..., Any], Callable[..., Value]] = {
    bits.contains: terms.member,
    bits.with_member: partial(terms.with_member, on=True),
    bits.without: partial(terms.with_member, on=False),
}
"""Helpers that work on unbounded sets. All others are rejected, because the members of such a set are unknown."""
_OPERATORS: dict[BinaryOp, Callable[[Any, Any], Value]] = {
    BinaryOp.ADD: terms.plus,
    BinaryOp.SUBTRACT: terms.minus,
    BinaryOp.MULTIPLY: terms.times,
    BinaryOp.DIVIDE: terms.quotient,
    BinaryOp.MODULO: terms.modulo,
    BinaryOp.LEFT: terms.shift_left,
    BinaryOp.RIGHT: terms.shift_right,
    BinaryOp.AND: lambda a, b: terms.bitwise("&", a, b),
    BinaryOp.OR: lambda a, b: terms.bitwise("|", a, b),
    BinaryOp.XOR: lambda a, b: terms.bitwise("^", a, b),
}
_COMPARISONS: dict[Order, Callable[[Any, Any], Flag]] = {
    Order.EQUAL: terms.equal,
    Order.DIFFERENT: lambda a, b: terms.negate(terms.equal(a, b)),
    Order.LESS: terms.less,
    Order.AT_MOST: terms.at_most,
    Order.MORE: lambda a, b: terms.less(b, a),
    Order.AT_LEAST: lambda a, b: terms.at_most(b, a),
}


def value(run: Walking, frame: Frame, node: nodes.Expression) -> Any:
    return _VALUES[type(node)](run, frame, node)


# -- places


def place(run: Walking, frame: Frame, node: nodes.Field | nodes.Element) -> Refs:
    if isinstance(node, nodes.Field):
        return part(value(run, frame, node.owner), node.name)
    owner = value(run, frame, node.array)
    return element(run, frame, owner, terms.number(value(run, frame, node.index)))


def part(owner: Refs, name: str) -> Refs:
    return Refs(tuple((on, item.part(name)) for on, item in owner.options))


def element(run: Walking, frame: Frame, owner: Refs, index: Value) -> Refs:
    label, length = owner.first.label, owner.first.length
    run.check(
        frame, terms.both(terms.at_most(0, index), terms.less(index, length)), f"{label}: an index is outside the array"
    )
    found = [(terms.both(on, at), item) for on, array in owner.options for at, item in array.options(index)]
    found = [(on, item) for on, item in found if on is not False]
    if not found:  # the check above always fails
        if not owner.first.items:
            raise UnknownOperation("an element of an empty array")
        found = [(False, owner.first.items[0])]
    return Refs(tuple(found))


def _at_place(run: Walking, frame: Frame, node: nodes.Field | nodes.Element) -> Any:
    found = place(run, frame, node)
    return read(found) if node.type == INT else found


def _length(run: Walking, frame: Frame, node: nodes.Length) -> Value:
    owner: Refs = value(run, frame, node.of)
    if isinstance(owner.first, Bag):
        return asked(owner, lambda bag: terms.total(bag.present))
    found: Value = owner.first.length
    return found


# -- operators


def _unary(run: Walking, frame: Frame, node: nodes.Unary) -> Value:
    operand = value(run, frame, node.value)
    if node.operator is UnaryOp.INVERT:
        return terms.invert(operand)
    return terms.absolute(operand) if node.operator is UnaryOp.ABSOLUTE else terms.times(operand, -1)


def _binary(run: Walking, frame: Frame, node: nodes.Binary) -> Value:
    one, other = value(run, frame, node.left), value(run, frame, node.right)
    if node.operator in (BinaryOp.LEFT, BinaryOp.RIGHT):
        _check_shift(run, frame, other)
    if node.operator is BinaryOp.LEFT:
        least, most = terms.bounds(terms.number(other))
        if least is not None and least >= terms.HUGE:
            run.check(frame, terms.equal(one, 0), "a shift by more bits than are supported")
            return 0
        if most is not None and most > terms.FAR:
            raise UnknownOperation(f"a left shift by more than {terms.FAR:,} bits")
    return _OPERATORS[node.operator](one, other)


def _check_shift(run: Walking, frame: Frame, count: Value) -> None:
    run.check(frame, terms.at_most(0, terms.number(count)), "a shift by a negative number")


def _extreme(run: Walking, frame: Frame, node: nodes.Extreme) -> Value:
    found = [value(run, frame, item) for item in node.values]
    return reduce(terms.largest if node.greatest else terms.smallest, found)


def _logic(run: Walking, frame: Frame, node: nodes.Logic) -> Value:
    entry = frame.live
    parts: list[tuple[Flag, Value]] = []
    for item in node.values:
        found = value(run, frame, item)
        decided = terms.truth(found)
        parts.append((decided, found))
        if decided is (not node.conjunction):
            break
        frame.live = terms.both(frame.live, decided if node.conjunction else terms.negate(decided))
    frame.live = entry
    if all(terms.is_flag(found) for _, found in parts):
        return (terms.both if node.conjunction else terms.either)(*(found for _, found in parts))
    result = parts[-1][1]
    for decided, found in reversed(parts[:-1]):
        result = terms.choose(decided, result, found) if node.conjunction else terms.choose(decided, found, result)
    return result


def _among(run: Walking, frame: Frame, node: nodes.Among) -> Flag:
    item = value(run, frame, node.item)
    others = [value(run, frame, other) for other in node.others]
    found = terms.either(*(terms.equal(item, other) for other in others))
    return terms.negate(found) if node.negated else found


def _compare(run: Walking, frame: Frame, node: nodes.Compare) -> Flag:
    left = value(run, frame, node.first)
    entry, result = frame.live, True
    for order, item in node.rest:
        right = value(run, frame, item)
        result = terms.both(result, _COMPARISONS[order](left, right))
        frame.live = terms.both(entry, result)
        left = right
    frame.live = entry
    return result


def _select(run: Walking, frame: Frame, node: nodes.Select) -> Any:
    test = terms.truth(value(run, frame, node.test))
    if isinstance(test, bool):
        return value(run, frame, node.then if test else node.other)
    entry, found = frame.live, []
    for where, item in ((test, node.then), (terms.negate(test), node.other)):
        frame.live = terms.both(entry, where)
        found.append(value(run, frame, item))
    frame.live = entry
    return merge(test, *found)


# -- calls


def _call(run: Walking, frame: Frame, node: nodes.Call) -> Any:
    callee = run.program.functions[node.function]
    arguments = [value(run, frame, item) for item in node.arguments]
    endless = any(isinstance(item, Members) for item in arguments)
    shortcut = (_ENDLESS if endless else _SHORTCUTS).get(callee.python)
    if callee.python is bits.size and not endless and not is_small_set(arguments[0]):
        shortcut = None
    if shortcut is not None and not all(isinstance(item, int) for item in arguments):
        if callee.python in (bits.with_member, bits.without):
            _check_shift(run, frame, arguments[1])
        return shortcut(*arguments)
    return run.call(callee, arguments, frame.where)


def is_small_set(found: Value) -> bool:
    if isinstance(found, Num):
        return found.lo is not None and found.hi is not None and found.lo >= 0 and found.hi.bit_length() <= MOST_MEMBERS
    return isinstance(found, int) or terms.is_flag(found) or (found.sign is False and len(found.bits) <= MOST_MEMBERS)


_VALUES: dict[type[nodes.Expression], Callable[[Walking, Frame, Any], Any]] = {
    nodes.Literal: lambda _, __, node: node.value,
    nodes.Constant: lambda run, _, node: run.constants[node.name],
    nodes.Local: lambda _, frame, node: frame.slots[node.slot.number],
    nodes.Field: _at_place,
    nodes.Element: _at_place,
    nodes.Length: _length,
    nodes.Unary: _unary,
    nodes.Binary: _binary,
    nodes.Compare: _compare,
    nodes.Among: _among,
    nodes.Logic: _logic,
    nodes.Not: lambda run, frame, node: terms.negate(terms.truth(value(run, frame, node.value))),
    nodes.Select: _select,
    nodes.Extreme: _extreme,
    nodes.Fits: lambda run, frame, node: terms.truth(value(run, frame, node.condition)),
    nodes.Fold: loops.fold,
    nodes.Call: _call,
}
