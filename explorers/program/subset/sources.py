"""Sources of loops and generators: ranges, arrays, bags, and the results of `enumerate`, `zip` and `reversed`. Every
number that a machine declares must fit in 62 bits plus a sign, as all engines require.
"""

import ast
import builtins
from collections.abc import Iterator
from typing import NamedTuple, Protocol

from fencepost.explorers.program.subset.kinds import INT, Arr, BagRef, Consts, Queue, Rec, Type, kind_of
from fencepost.explorers.program.subset.places import Scope
from fencepost.model.language.constants import MOST
from fencepost.model.language.domains import BitSet, Domain, Linear, Range, linear
from fencepost.model.language.errors import ModelError
from fencepost.model.language.machine import Machine
from fencepost.model.language.records import ArrayOf, BagOf, Nested, Record, Scalar, fields, is_row

WRAPPERS = ("enumerate", "zip", "reversed")


class Item(NamedTuple):
    kind: Type
    places: frozenset[str] = frozenset()


Items = Item | tuple["Items", ...]


class Reader(Protocol):
    """A checker of expressions. `Expressions` documents the methods."""

    scope: Scope
    folding: str

    def number(self, node: ast.expr) -> None: ...

    def value(self, node: ast.expr) -> Type: ...

    def declare(self, node: ast.AST, name: str) -> None: ...

    def rebind(self, name: ast.Name, kind: Type) -> None: ...


def called(reader: Reader, node: ast.expr) -> str:
    if (
        not isinstance(node, ast.Call)
        or not isinstance(node.func, ast.Name)
        or node.func.id not in ("range", *WRAPPERS)
    ):
        return ""
    name = node.func.id
    if reader.scope.global_of(node.func) is not getattr(builtins, name):
        if name == "range":
            reader.scope.refuse(
                node.func, "'range' is redefined in this module", "give the other definition another name"
            )
        return ""
    return name


def iterate(reader: Reader, target: ast.expr, source: ast.expr) -> None:
    _bind(reader, target, items(reader, source, inside=False))


def items(reader: Reader, source: ast.expr, *, inside: bool) -> Items:
    """Check a source and return its items. Bags are not allowed inside another source (`inside`)."""
    scope = reader.scope
    name = called(reader, source)
    if name in WRAPPERS:
        scope.made.views.add(source)
    if name:
        return _ITEMS[name](reader, source)
    over = reader.value(source)
    places = frozenset(f"{place}[]" for place in scope.places.find(source))
    if isinstance(over, Arr):
        if isinstance(over.field.element, Nested) and is_row(over.field.element.record):
            scope.made.views.add(source)
        return Item(kind_of(over.field.element), places)
    if isinstance(over, Queue):
        scope.made.views.add(source)
        return Item(Rec(over.message), places)
    if isinstance(over, BagRef):
        if inside:
            what = "messages of a bag have no positions, so they cannot be numbered, paired or reversed"
            scope.refuse(source, what, "loop over the bag itself")
        return Item(Rec(over.field.record), places)
    scope.refuse(source, "this loop runs over something other than a range, an array or a bag", "write range(n)")


def _arguments(source: ast.expr) -> tuple[list[ast.expr], dict[str, ast.expr]]:
    assert isinstance(source, ast.Call)
    return source.args, {str(item.arg): item.value for item in source.keywords}


def _range(reader: Reader, source: ast.expr) -> Items:
    args, named = _arguments(source)
    if not 1 <= len(args) <= 3 or named:
        instead = "write range(n) or range(a, b)"
        reader.scope.refuse(source, "range() takes (stop), (start, stop) or (start, stop, step)", instead)
    for item in args[:2]:
        reader.number(item)
    if len(args) == 3:
        if step_of(args[2]) is None:
            instead = "write one, such as -1"
            reader.scope.refuse(args[2], "the step of a range is not a literal number", instead)
        reader.scope.made.views.add(source)
    return Item(INT)


def step_of(node: ast.expr) -> int | None:
    negative = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
    inner = node.operand if isinstance(node, ast.UnaryOp) and negative else node
    if not isinstance(inner, ast.Constant) or type(inner.value) is not int or inner.value == 0:
        return None
    return -inner.value if negative else inner.value


def _enumerate(reader: Reader, source: ast.expr) -> Items:
    args, named = _arguments(source)
    args = [*args, *(value for name, value in named.items() if name == "start")]
    if not 1 <= len(args) <= 2 or set(named) - {"start"}:
        instead = "write enumerate(array)"
        reader.scope.refuse(source, "enumerate() takes an array and, optionally, the first number", instead)
    found = items(reader, args[0], inside=True)
    for item in args[1:]:
        with reader.scope.places.holding(*arrays_in(reader, args[0])):
            reader.number(item)
    return (Item(INT), found)


def _zip(reader: Reader, source: ast.expr) -> Items:
    args, named = _arguments(source)
    strict = named.pop("strict", None)
    if not args or named or not (strict is None or isinstance(strict, ast.Constant)):
        reader.scope.refuse(source, "zip() takes arrays or ranges", "write zip(one, other)")
    found: list[Items] = []
    for item in args:
        before = args[: len(found)]
        with reader.scope.places.holding(*(array for other in before for array in arrays_in(reader, other))):
            found.append(items(reader, item, inside=True))
    if isinstance(strict, ast.Constant) and strict.value:
        lengths = {_length(reader, item) for item in args}
        if len(lengths) > 1 or None in lengths:
            instead = "omit `strict=True`, or pass arrays of the same size"
            reader.scope.refuse(source, "zip() is strict, but its arguments may differ in length", instead)
    return tuple(found)


def _length(reader: Reader, node: ast.expr) -> str | None:
    kind = reader.scope.made.types.get(node)
    return f"{sorted(kind.field.length.terms.items())} {kind.field.length.offset}" if isinstance(kind, Arr) else None


def _reversed(reader: Reader, source: ast.expr) -> Items:
    args, named = _arguments(source)
    if len(args) != 1 or named or called(reader, args[0]) in WRAPPERS:
        reader.scope.refuse(source, "reversed() takes an array or a range", "write reversed(array)")
    return items(reader, args[0], inside=True)


_ITEMS = {"range": _range, "enumerate": _enumerate, "zip": _zip, "reversed": _reversed}


def _bind(reader: Reader, target: ast.expr, found: Items) -> None:
    scope = reader.scope
    if isinstance(target, ast.Tuple):
        if isinstance(found, Item):
            scope.refuse(target, "a loop unpacks something that is not a tuple", "loop over one name")
        if len(found) != len(target.elts):
            scope.refuse(
                target, f"the loop unpacks {len(found)} values into {len(target.elts)} names", "name each of them"
            )
        for name, item in zip(target.elts, found, strict=True):
            _bind(reader, name, item)
        return
    if not isinstance(target, ast.Name):
        scope.refuse(target, "a loop assigns to a place in the state", "loop over a name")
    if not isinstance(found, Item):
        words = ", ".join("abcdefgh"[: len(found)])
        instead = f"unpack the tuple, as in `for {words} in ...`"
        scope.refuse(target, f"{target.id!r} would be a tuple of {len(found)} values", instead)
    reader.declare(target, target.id)
    if not reader.folding:
        reader.rebind(target, found.kind)
    scope.env[target.id] = found.kind
    scope.made.types[target] = found.kind
    scope.places.name(target.id, found.places if isinstance(found.kind, Rec | Arr) else frozenset())


def names_in(target: ast.expr) -> list[str]:
    return [item.id for item in ast.walk(target) if isinstance(item, ast.Name)]


def arrays_in(reader: Reader, source: ast.expr) -> list[ast.expr]:
    if called(reader, source):
        return [found for item in _arguments(source)[0] for found in arrays_in(reader, item)]
    return [source] if isinstance(reader.scope.made.types.get(source), Arr | Queue) else []


def has_items(reader: Reader, source: ast.expr) -> bool:
    ends = {
        name: (int(item.low), int(item.high))
        for name, item in reader.scope.program.machine.constants.declared().items()
    }
    args = _arguments(source)[0] if isinstance(source, ast.Call) else []
    match called(reader, source):
        case "range":
            sums = [_sum(reader, item) for item in args]
            if any(item is None for item in sums) or len(args) == 3:
                return False
            length = sums[-1] - (sums[0] if len(sums) == 2 else 0)  # type: ignore[operator]
            return ends_of(length, ends)[0] > 0
        case "enumerate" | "reversed":
            return has_items(reader, args[0])
        case "zip":
            return all(has_items(reader, item) for item in args)
    kind = reader.scope.made.types.get(source)
    return isinstance(kind, Arr) and ends_of(kind.field.length, ends)[0] > 0


def _sum(reader: Reader, node: ast.expr) -> Linear | int | None:
    match node:
        case ast.Constant(value=int() as number):
            return number
        case ast.Attribute() if isinstance(reader.scope.made.types.get(node.value), Consts):
            return Linear({node.attr: 1})
        case ast.BinOp(op=ast.Add() | ast.Sub()):
            left, right = _sum(reader, node.left), _sum(reader, node.right)
            if left is None or right is None:
                return None
            return left + right if isinstance(node.op, ast.Add) else left - right
    return reader.scope.made.static.get(node)


BITS = MOST.bit_length()


def require_numbers(machine: Machine) -> None:
    ends = {name: (int(item.low), int(item.high)) for name, item in machine.constants.declared().items()}
    for label, domain in (*domains_of(machine.state).items(), *_parameters(machine)):
        if isinstance(domain, BitSet):
            most = ends_of(domain.count, ends)[1]
            if most > BITS:
                raise ModelError(
                    f"{label}: a set of up to {most} members does not fit in a number: use at most {BITS}."
                )
            continue
        sums = [domain.low, domain.high] if isinstance(domain, Range) else list(domain.bounds({}))
        for end in sums:
            low, high = ends_of(end, ends)
            if low < -MOST or high > MOST:
                raise ModelError(
                    f"{label}: its domain has a bound from {low} to {high}, which is out of range: numbers go "
                    f"from {-MOST} to {MOST}. Give the domain's constants smaller ranges."
                )


def ends_of(value: Linear | int, ends: dict[str, tuple[int, int]]) -> tuple[int, int]:
    lows, highs = ({name: pair[side] for name, pair in ends.items()} for side in (0, 1))
    return linear(value).span(lows, highs)


def domains_of(record: type[Record]) -> dict[str, Domain]:
    found: dict[str, Domain] = {}
    for name, field in fields(record):
        item = field.element if isinstance(field, ArrayOf) else field
        if isinstance(item, Scalar):
            found[f"{record.__name__}.{name}"] = item.domain
        elif isinstance(item, Nested | BagOf):
            found |= domains_of(item.record)
    return found


def _parameters(machine: Machine) -> Iterator[tuple[str, Domain]]:
    for item in (machine.initial, *machine.actions):
        for name, domain in item.params:
            if isinstance(domain, Domain):
                yield f"parameter {name!r} of action {item.label}", domain
