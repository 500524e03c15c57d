"""Expressions on a symbolic state."""

from __future__ import annotations

import ast
import builtins
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

from fencepost.explorers.symbolic import folds, terms
from fencepost.explorers.symbolic.places import MOST_MEMBERS, Bag, Cell, Slot
from fencepost.explorers.symbolic.references import Refs, merge, read
from fencepost.explorers.symbolic.terms import (
    Members,
    Num,
    UnknownOperation,
    at_most,
    both,
    choose,
    either,
    equal,
    is_flag,
    less,
    negate,
    number,
    truth,
)
from fencepost.model.language import bits
from fencepost.model.language.subset.kinds import Consts

if TYPE_CHECKING:
    from collections.abc import Callable

    from fencepost.explorers.symbolic.frames import Frame, Walking
    from fencepost.explorers.symbolic.terms import Flag, Value

CONSTANTS = object()
"""What the parameter of the constants holds."""
_SHORTCUTS: dict[Callable[..., Any], Callable[..., Value]] = {bits.contains: terms.member, bits.size: terms.size}
"""Helpers of `bits` that are one term on sets; the others are walked through."""
_ENDLESS: dict[Callable[..., Any], Callable[..., Value]] = {
    bits.contains: terms.member,
    bits.with_member: partial(terms.with_member, on=True),
    bits.without: partial(terms.with_member, on=False),
}
"""What is known of sets without a bound: neither how many members they have nor which numbers they are."""
_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Value]] = {
    ast.Add: terms.plus,
    ast.Sub: terms.minus,
    ast.Mult: terms.times,
    ast.LShift: terms.shift_left,
    ast.RShift: terms.shift_right,
    ast.BitAnd: lambda a, b: terms.bitwise("&", a, b),
    ast.BitOr: lambda a, b: terms.bitwise("|", a, b),
    ast.BitXor: lambda a, b: terms.bitwise("^", a, b),
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Flag]] = {
    ast.Eq: equal,
    ast.NotEq: lambda a, b: negate(equal(a, b)),
    ast.Lt: less,
    ast.LtE: at_most,
    ast.Gt: lambda a, b: less(b, a),
    ast.GtE: lambda a, b: at_most(b, a),
}
_BUILTINS: dict[str, Callable[..., Value]] = {
    "min": lambda *items: reduce(terms.smallest, items),
    "max": lambda *items: reduce(terms.largest, items),
    "abs": terms.absolute,
    "int": number,
    "bool": truth,
}


def value(run: Walking, frame: Frame, node: ast.expr) -> Any:
    """Return what an expression stands for: a number, or a reference."""
    static = frame.made.static.get(node)
    if static is not None:
        return static
    match node:
        case ast.Constant():
            return node.value
        case ast.Name():
            return frame.names[node.id]
        case ast.Attribute() | ast.Subscript():
            found = place(run, frame, node)
            return read(found) if isinstance(found, Refs) and isinstance(found.first, Cell | Slot) else found
        case ast.BinOp():
            one, other = value(run, frame, node.left), value(run, frame, node.right)
            check_shift(run, frame, node.op, other)
            return operate(node.op, one, other)
        case ast.UnaryOp():
            return _unary(node.op, value(run, frame, node.operand))
        case ast.BoolOp():
            return _logic(run, frame, node)
        case ast.Compare():
            return _compare(run, frame, node)
        case ast.IfExp():
            return _conditional(run, frame, node)
        case ast.Call():
            return _call(run, frame, node)
    run.refuse(frame, node, "the symbolic engine does not know this expression", "use what docs/language.md lists")


# -- places


def place(run: Walking, frame: Frame, node: ast.expr) -> Any:
    """Return what `record.field` or `array[index]` refers to; a constant is its value."""
    if isinstance(node, ast.Attribute):
        if isinstance(frame.made.types.get(node.value), Consts):
            return run.constants[node.attr]
        return part(value(run, frame, node.value), node.attr)
    assert isinstance(node, ast.Subscript)
    owner = value(run, frame, node.value)
    return element(run, frame, owner, number(value(run, frame, node.slice)))


def part(owner: Refs, name: str) -> Refs:
    """Return a field of a record."""
    return Refs(tuple((on, item.part(name)) for on, item in owner.options))


def element(run: Walking, frame: Frame, owner: Refs, index: Value) -> Refs:
    """Return an element of an array, and check the index."""
    label, length = owner.first.label, owner.first.length
    run.check(frame, both(at_most(0, index), less(index, length)), f"{label}: an index is outside the array")
    found = [(both(on, at), item) for on, array in owner.options for at, item in array.options(index)]
    found = [(on, item) for on, item in found if on is not False]
    if not found:  # the check above has failed for sure
        found = [(False, owner.first.items[0])] if owner.first.items else []
    if not found:
        raise UnknownOperation("an element of an array that has none")
    return Refs(tuple(found))


# -- operators


def operate(operator: ast.operator, one: Value, other: Value) -> Value:
    """Return the result of a binary operator."""
    if isinstance(operator, ast.FloorDiv | ast.Mod):
        if not isinstance(other, int) or other <= 0:
            raise UnknownOperation("a division by this")
        return (terms.quotient if isinstance(operator, ast.FloorDiv) else terms.modulo)(one, other)
    return _OPERATORS[type(operator)](one, other)


def check_shift(run: Walking, frame: Frame, operator: ast.operator, count: Value) -> None:
    """Check that a shift is not by a negative number."""
    if isinstance(operator, ast.LShift | ast.RShift):
        run.check(frame, at_most(0, number(count)), "a shift by a negative number")


def _unary(operator: ast.unaryop, operand: Value) -> Value:
    if isinstance(operator, ast.Not):
        return negate(truth(operand))
    if isinstance(operator, ast.Invert):
        return terms.invert(operand)
    return terms.times(operand, -1) if isinstance(operator, ast.USub) else number(operand)


def _logic(run: Walking, frame: Frame, node: ast.BoolOp) -> Value:
    """Evaluate `and` and `or`, each part only where those before it leave it open; the result is the last one looked at."""
    entry = frame.live
    conjunction = isinstance(node.op, ast.And)
    parts: list[tuple[Flag, Value]] = []
    for item in node.values:
        found = value(run, frame, item)
        decided = truth(found)
        parts.append((decided, found))
        if decided is (not conjunction):
            break
        frame.live = both(frame.live, decided if conjunction else negate(decided))
    frame.live = entry
    if all(is_flag(found) for _, found in parts):
        return (both if conjunction else either)(*(found for _, found in parts))
    result = parts[-1][1]
    for decided, found in reversed(parts[:-1]):
        result = choose(decided, result, found) if conjunction else choose(decided, found, result)
    return result


def _compare(run: Walking, frame: Frame, node: ast.Compare) -> Flag:
    left = value(run, frame, node.left)
    if isinstance(node.ops[0], ast.In | ast.NotIn):
        assert isinstance(node.comparators[0], ast.Tuple)
        found = either(*(equal(left, value(run, frame, item)) for item in node.comparators[0].elts))
        return found if isinstance(node.ops[0], ast.In) else negate(found)
    entry, result = frame.live, True
    for operator, item in zip(node.ops, node.comparators, strict=True):
        right = value(run, frame, item)
        result = both(result, _COMPARISONS[type(operator)](left, right))
        frame.live = both(entry, result)
        left = right
    frame.live = entry
    return result


def _conditional(run: Walking, frame: Frame, node: ast.IfExp) -> Any:
    test = truth(value(run, frame, node.test))
    if isinstance(test, bool):
        return value(run, frame, node.body if test else node.orelse)
    entry = frame.live
    frame.live = both(entry, test)
    one = value(run, frame, node.body)
    frame.live = both(entry, negate(test))
    other = value(run, frame, node.orelse)
    frame.live = entry
    return merge(test, one, other)


# -- calls


def is_small_set(value: Value) -> bool:
    """Say whether a number is no negative one and has no more bits than `bits.size` counts."""
    if isinstance(value, Num):
        return value.lo is not None and value.hi is not None and value.lo >= 0 and value.hi.bit_length() <= MOST_MEMBERS
    return isinstance(value, int) or is_flag(value) or (value.sign is False and len(value.bits) <= MOST_MEMBERS)


def _call(run: Walking, frame: Frame, node: ast.Call) -> Any:
    if isinstance(node.func, ast.Attribute) and node.func.attr in ("add", "remove") and node not in frame.made.calls:
        bag = value(run, frame, node.func.value).first
        if node.func.attr == "add":
            return run.add(frame, bag, {str(item.arg): value(run, frame, item.value) for item in node.keywords})
        run.remove(frame, bag, value(run, frame, node.args[0]))
        return None
    callee = frame.made.calls.get(node)
    if callee is not None:
        arguments = [
            CONSTANTS if isinstance(kind, Consts) else value(run, frame, item)
            for item, kind in zip(node.args, callee.params.values(), strict=True)
        ]
        endless = any(isinstance(item, Members) for item in arguments)
        shortcut = (_ENDLESS if endless else _SHORTCUTS).get(callee.python)
        if callee.python is bits.size and not endless and not is_small_set(arguments[0]):
            shortcut = None
        if shortcut is not None and not all(isinstance(item, int) for item in arguments):
            return shortcut(*arguments)
        return run.call(callee, arguments, frame.where)
    assert isinstance(node.func, ast.Name)
    name = node.func.id
    if name in ("all", "any", "sum"):
        return folds.fold(run, frame, name, node.args[0])
    if name == "len":
        return _length(value(run, frame, node.args[0]))
    if name in _BUILTINS and frame.made.python.__globals__.get(name, getattr(builtins, name)) is getattr(builtins, name):
        return _BUILTINS[name](*(value(run, frame, item) for item in node.args))
    run.refuse(frame, node, f"the symbolic engine does not know {name}()", "use what docs/language.md lists")


def _length(owner: Refs) -> Value:
    if isinstance(owner.first, Bag):
        return terms.total(owner.first.present)
    found: Value = owner.first.length
    return found


__all__ = ["CONSTANTS", "check_shift", "element", "is_flag", "operate", "part", "place", "value"]
