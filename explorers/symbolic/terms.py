"""Values of the symbolic engine: whole numbers, flags and sets, each a plain Python value or a z3 term.

A number is an `int` or a `Num` (a term with known bounds). A flag is a `bool` or a Boolean term. A set is a `Mask` (one
flag per member) or `Members` (of any size). Every function folds constants, so a value stays plain until it is combined
with something symbolic.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import z3

Flag = Any
"""A `bool`, or a Boolean z3 term."""
Value = Any
MOST_CASES = 256
"""Maximum number of cases into which an operation on a bounded number is split."""


class UnknownOperation(Exception):  # noqa: N818 (the walk says where, and what to write)
    """Error for an operation that the engine cannot express as a term for these operands."""


@dataclass(frozen=True, eq=False)
class Num:
    term: Any
    lo: int | None
    hi: int | None


@dataclass(frozen=True, eq=False)
class Mask:
    """A number as bits, lowest first. All further bits equal `sign`, as in two's complement."""

    bits: tuple[Flag, ...]
    sign: Flag = False

    def bit(self, place: int) -> Flag:
        return self.bits[place] if place < len(self.bits) else self.sign


@dataclass(frozen=True, eq=False)
class Members:
    """A set without a greatest member, as a function that returns whether a nonnegative number is a member."""

    term: Any


# -- z3 terms made without the operand checks of its Python classes, which take half of all time

_CONTEXT = z3.main_ctx()
_REF = _CONTEXT.ref()


def _if(flag: Any, one: Any, other: Any) -> Any:
    sort = z3.BoolRef if isinstance(one, z3.BoolRef) else z3.ArithRef
    return sort(z3.Z3_mk_ite(_REF, flag.ast, one.ast, other.ast), _CONTEXT)


def _equal(one: Any, other: Any) -> Any:
    return z3.BoolRef(z3.Z3_mk_eq(_REF, one.ast, other.ast), _CONTEXT)


def _less(one: Any, other: Any) -> Any:
    return z3.BoolRef(z3.Z3_mk_lt(_REF, one.ast, other.ast), _CONTEXT)


def _sum(one: Any, other: Any) -> Any:
    return z3.ArithRef(z3.Z3_mk_add(_REF, 2, (z3.Ast * 2)(one.ast, other.ast)), _CONTEXT)


def _is_same(one: Any, other: Any) -> bool:
    """Return whether two terms are identical; this is cheap, because z3 stores equal terms only once."""
    return bool(one.ast.value == other.ast.value)


_TRUE, _FALSE = z3.BoolVal(True), z3.BoolVal(False)


@cache
def _numeral(value: int) -> Any:
    return z3.IntVal(value)


# -- flags


def both(*flags: Flag) -> Flag:
    return _joined(z3.Z3_mk_and, flags, decides=False)


def either(*flags: Flag) -> Flag:
    return _joined(z3.Z3_mk_or, flags, decides=True)


def _joined(make: Any, flags: tuple[Flag, ...], *, decides: bool) -> Flag:
    parts: list[Flag] = []
    for item in flags:
        if item is decides:
            return decides
        if not isinstance(item, bool) and not any(item is part for part in parts):
            parts.append(item)
    if len(parts) < 2:
        return parts[0] if parts else not decides
    return z3.BoolRef(make(_REF, len(parts), (z3.Ast * len(parts))(*(item.ast for item in parts))), _CONTEXT)


def negate(flag: Flag) -> Flag:
    if isinstance(flag, bool):
        return not flag
    return flag.arg(0) if z3.is_not(flag) else z3.BoolRef(z3.Z3_mk_not(_REF, flag.ast), _CONTEXT)


def implies(condition: Flag, flag: Flag) -> Flag:
    return either(negate(condition), flag)


def same(one: Flag, other: Flag) -> Flag:
    if isinstance(one, bool):
        return other if one else negate(other)
    if isinstance(other, bool):
        return one if other else negate(one)
    return True if _is_same(one, other) else _equal(one, other)


def boolean(flag: Flag) -> Any:
    return _TRUE if flag is True else _FALSE if flag is False else flag


# -- reading a value as a number, a flag or a set


def is_flag(value: Value) -> bool:
    return isinstance(value, bool | z3.BoolRef)


def truth(value: Value) -> Flag:
    if is_flag(value):
        return value
    if isinstance(value, int):
        return value != 0
    if isinstance(value, Mask):
        return either(value.sign, *value.bits)
    return negate(equal(value, 0))


def endless_members(value: Value) -> Members:
    """Return a value as a set without a greatest member. A plain number must be nonnegative."""
    if isinstance(value, Members):
        return value
    if not isinstance(value, int) or value < 0:
        raise UnknownOperation("an unbounded set combined with a value that is not a set")
    found = z3.K(z3.IntSort(), _FALSE)
    for place in range(int(value).bit_length()):
        if value >> place & 1:
            found = z3.Store(found, place, _TRUE)
    return Members(found)


def with_member(members: Members, item: Value, *, on: bool) -> Members:
    return Members(z3.Store(members.term, as_term(item), boolean(on)))


def number(value: Value) -> int | Num:
    if isinstance(value, int):
        return int(value)
    if isinstance(value, Num):
        return value
    if isinstance(value, Members):
        raise UnknownOperation("an unbounded set as a number")
    if isinstance(value, Mask):
        parts = [times(number(flag), 1 << place) for place, flag in enumerate(value.bits)]
        return minus(total(parts), times(number(value.sign), 1 << len(value.bits)))
    return Num(_if(value, _numeral(1), _numeral(0)), 0, 1)


def mask(value: Value) -> Mask:
    """Return a value as bits. A number must be bounded."""
    if isinstance(value, Mask):
        return value
    if is_flag(value):
        return Mask((value,))
    if isinstance(value, int):
        return Mask(tuple(bool(value >> place & 1) for place in range(value.bit_length())), value < 0)
    if isinstance(value, Members):
        raise UnknownOperation("an enumeration of the members of an unbounded set")
    if value.lo is None or value.hi is None:
        raise UnknownOperation("the bits of an unbounded number")
    width = max(value.lo.bit_length(), value.hi.bit_length())
    flags = tuple(equal(modulo(quotient(value, 1 << place), 2), 1) for place in range(width))
    return Mask(flags, less(value, 0))


def as_term(value: Value) -> Any:
    found = number(value)
    return _numeral(found) if isinstance(found, int) else found.term


def bounds(value: int | Num) -> tuple[int | None, int | None]:
    return (value, value) if isinstance(value, int) else (value.lo, value.hi)


# -- choosing


def _as_flag(value: Value) -> Flag | None:
    return value if is_flag(value) else bool(value) if isinstance(value, int) and value in (0, 1) else None


def _bits_of(one: Value, other: Value) -> tuple[Mask, Mask, list[tuple[Flag, Flag]]] | None:
    """Return the paired bits of two sets, or of a set and a plain number, or None for other operands."""
    if not (isinstance(one, Mask) and isinstance(other, Mask | int)) and not (
        isinstance(other, Mask) and isinstance(one, int)
    ):
        return None
    left, right = mask(one), mask(other)
    return left, right, [(left.bit(i), right.bit(i)) for i in range(max(len(left.bits), len(right.bits)))]


def choose(flag: Flag, one: Value, other: Value) -> Value:
    if flag is True or one is other:
        return one
    if flag is False:
        return other
    if isinstance(one, Members) or isinstance(other, Members):
        return Members(z3.If(flag, endless_members(one).term, endless_members(other).term))
    if _as_flag(one) is not None and _as_flag(other) is not None:
        one, other = _as_flag(one), _as_flag(other)
        if isinstance(one, bool):
            return either(flag, other) if one else both(negate(flag), other)
        if isinstance(other, bool):
            return either(negate(flag), one) if other else both(flag, one)
        return one if _is_same(one, other) else _if(flag, one, other)
    sets = _bits_of(one, other)
    if sets is not None:
        left, right, pairs = sets
        return Mask(tuple(choose(flag, a, b) for a, b in pairs), choose(flag, left.sign, right.sign))
    a, b = number(one), number(other)
    if isinstance(a, int) and isinstance(b, int) and a == b:
        return a
    if isinstance(a, Num) and isinstance(b, Num) and _is_same(a.term, b.term):
        return a
    (al, ah), (bl, bh) = bounds(a), bounds(b)
    low = None if al is None or bl is None else min(al, bl)
    return Num(_if(flag, as_term(a), as_term(b)), low, None if ah is None or bh is None else max(ah, bh))


# -- arithmetic


def plus(one: Value, other: Value) -> int | Num:
    a, b = number(one), number(other)
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    if isinstance(b, int) and b == 0:
        return a
    if isinstance(a, int) and a == 0:
        return b
    low, high = (None if x is None or y is None else x + y for x, y in zip(bounds(a), bounds(b), strict=True))
    return Num(_sum(as_term(a), as_term(b)), low, high)


def total(items: Iterable[Value]) -> int | Num:
    found: int | Num = 0
    for item in items:
        found = plus(found, item)
    return found


def minus(one: Value, other: Value) -> int | Num:
    return plus(one, times(other, -1))


def times(one: Value, other: Value) -> int | Num:
    a, b = number(one), number(other)
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    if isinstance(a, int):
        a, b = b, a
    if isinstance(b, int) and b in (0, 1):
        return a if b else 0
    term = as_term(a) * as_term(b)
    if isinstance(b, int):
        low, high = (None if item is None else item * b for item in bounds(a))
        return Num(term, low, high) if b > 0 else Num(term, high, low)
    corners = [x * y for x in bounds(a) for y in bounds(b) if x is not None and y is not None]
    return Num(term, min(corners), max(corners)) if len(corners) == 4 else Num(term, None, None)


def quotient(one: Value, divisor: int) -> int | Num:
    a = number(one)
    if isinstance(a, int):
        return a // divisor
    return Num(a.term / divisor, None if a.lo is None else a.lo // divisor, None if a.hi is None else a.hi // divisor)


def modulo(one: Value, divisor: int) -> int | Num:
    a = number(one)
    return a % divisor if isinstance(a, int) else Num(a.term % divisor, 0, divisor - 1)


def smallest(one: Value, other: Value) -> int | Num:
    a, b = number(one), number(other)
    found = number(choose(less(b, a), b, a))
    highs = [high for _, high in (bounds(a), bounds(b)) if high is not None]
    return Num(found.term, found.lo, min(highs, default=None)) if isinstance(found, Num) else found


def largest(one: Value, other: Value) -> int | Num:
    a, b = number(one), number(other)
    found = number(choose(less(a, b), b, a))
    lows = [low for low, _ in (bounds(a), bounds(b)) if low is not None]
    return Num(found.term, max(lows, default=None), found.hi) if isinstance(found, Num) else found


def absolute(value: Value) -> int | Num:
    return largest(value, times(value, -1))


# -- bits


def bitwise(operator: str, one: Value, other: Value) -> Value:
    if isinstance(one, int) and isinstance(other, int):
        found = {"&": int(one) & int(other), "|": int(one) | int(other), "^": int(one) ^ int(other)}[operator]
        return bool(found) if isinstance(one, bool) and isinstance(other, bool) else found
    joins: dict[str, Callable[[Flag, Flag], Flag]] = {"&": both, "|": either, "^": lambda a, b: negate(same(a, b))}
    join = joins[operator]
    if is_flag(one) and is_flag(other):
        return join(one, other)
    a, b = mask(one), mask(other)
    width = max(len(a.bits), len(b.bits))
    return _plain(Mask(tuple(join(a.bit(i), b.bit(i)) for i in range(width)), join(a.sign, b.sign)))


def invert(value: Value) -> Value:
    if isinstance(value, Mask):
        return Mask(tuple(map(negate, value.bits)), negate(value.sign))
    return minus(-1, value)


def _plain(value: Mask) -> Value:
    if all(isinstance(flag, bool) for flag in (*value.bits, value.sign)):
        return sum(1 << place for place, flag in enumerate(value.bits) if flag) - (value.sign << len(value.bits))
    return value


FAR = 1 << 13
"""Maximum number of bits of a shift. `expressions.py` rejects longer left shifts, and no number has more bits."""
HUGE = 1 << 60
"""A number of bits that no computer's memory could hold. A left shift by HUGE bits is an error."""


def shift_left(value: Value, count: Value) -> Value:
    """Return a number shifted left. A negative count shifts nothing, and the walk reports it as an error."""
    by = number(count)
    if isinstance(by, int):
        by = min(max(by, 0), FAR)
        if isinstance(value, Mask):
            return Mask((False,) * by + value.bits, value.sign)
        return times(value, 1 << by)
    if isinstance(value, int) and int(value) == 1:
        low, high = _cases(by)
        return Mask(tuple(equal(by, place) if place >= low else False for place in range(high + 1)))
    return _split(by, lambda places: shift_left(value, places))


def shift_right(value: Value, count: Value) -> Value:
    by = number(count)
    if isinstance(by, int):
        by = max(by, 0)
        if isinstance(value, Mask):
            return _plain(Mask(value.bits[by:], value.sign))
        if by > FAR:
            low, high = bounds(number(value))
            if low is None or high is None or max(-low, high).bit_length() > FAR:
                raise UnknownOperation("a shift by more bits than are supported")
        return quotient(value, 1 << min(by, FAR))
    return _split(by, lambda places: shift_right(value, places))


def _cases(value: Num) -> tuple[int, int]:
    if value.hi is None or value.hi - max(value.lo or 0, 0) > MOST_CASES:
        raise UnknownOperation("a shift by an unbounded number")
    return max(value.lo or 0, 0), value.hi


def _split(value: Num, each: Any) -> Value:
    low, high = _cases(value)
    found = each(high)
    for case in range(high - 1, low - 1, -1):
        found = choose(equal(value, case), each(case), found)
    return found


# -- comparisons


def equal(one: Value, other: Value) -> Flag:
    if isinstance(one, int) and isinstance(other, int):
        return int(one) == int(other)
    if isinstance(one, Members) or isinstance(other, Members):
        return endless_members(one).term == endless_members(other).term
    if is_flag(one) and is_flag(other):
        return same(one, other)
    sets = _bits_of(one, other)
    if sets is not None:
        left, right, pairs = sets
        return both(same(left.sign, right.sign), *(same(a, b) for a, b in pairs))
    for flag, plain in ((one, other), (other, one)):
        if is_flag(flag) and isinstance(plain, int):
            return (flag if plain == 1 else negate(flag)) if plain in (0, 1) else False
    a, b = number(one), number(other)
    (al, ah), (bl, bh) = bounds(a), bounds(b)
    if (ah is not None and bl is not None and ah < bl) or (bh is not None and al is not None and bh < al):
        return False
    x, y = as_term(a), as_term(b)
    return True if _is_same(x, y) else _equal(x, y)


def less(one: Value, other: Value) -> Flag:
    a, b = number(one), number(other)
    if isinstance(a, int) and isinstance(b, int):
        return a < b
    (al, ah), (bl, bh) = bounds(a), bounds(b)
    if ah is not None and bl is not None and ah < bl:
        return True
    if al is not None and bh is not None and al >= bh:
        return False
    x, y = as_term(a), as_term(b)
    return False if _is_same(x, y) else _less(x, y)


def at_most(one: Value, other: Value) -> Flag:
    return negate(less(other, one))


def size(value: Value) -> int | Num:
    """Return the size of a set. The integer that represents the set must be nonnegative."""
    return total(mask(value).bits)


def member(members: Value, item: Value) -> Flag:
    """Return whether a number is a member of a set. Negative numbers never are."""
    if isinstance(members, Members):
        return both(at_most(0, item), z3.Select(members.term, as_term(item)))
    found = mask(members)
    places = enumerate(found.bits)
    return either(
        *(both(flag, equal(item, place)) for place, flag in places), both(found.sign, at_most(len(found.bits), item))
    )


def for_all(variable: Num, flag: Flag) -> Flag:
    return flag if isinstance(flag, bool) else z3.ForAll([variable.term], flag)


def exists(variable: Num, flag: Flag) -> Flag:
    return flag if isinstance(flag, bool) else z3.Exists([variable.term], flag)


@cache
def integer(name: str) -> Any:
    return z3.Int(name)


@cache
def boolean_variable(name: str) -> Any:
    return z3.Bool(name)
