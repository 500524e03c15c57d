"""Checks of constructed records, comparisons of records, and the right operand of `in`."""

import ast
import builtins
from typing import Any

from fencepost.explorers.program.subset.kinds import INT, Among, Arr, BagRef, Queue, Rec, Type, say
from fencepost.explorers.program.subset.sources import Reader
from fencepost.model.language.domains import BitSet, Domain
from fencepost.model.language.records import ArrayOf, BagOf, Nested, Record, Scalar, fields


def record_of(reader: Reader, node: ast.expr) -> type[Record] | None:
    found = reader.scope.global_of(node.func) if isinstance(node, ast.Call) else None
    return found if isinstance(found, type) and issubclass(found, Record) else None


def write_out(reader: Reader, node: ast.Call, record: type[Record]) -> Type:
    scope, known = reader.scope, dict(fields(record))
    if node.args:
        instead = f"write {record.__name__}(field=value, ...)"
        scope.refuse(node, f"a {record.__name__} is constructed with positional values", instead)
    for item in node.keywords:
        kind = known.get(str(item.arg))
        if kind is None:
            scope.refuse_name(item.value, f"record {record.__name__} has no field", str(item.arg), known)
        inner = record_of(reader, item.value)
        if isinstance(kind, Nested) and inner is kind.record:
            assert isinstance(item.value, ast.Call)
            write_out(reader, item.value, inner)
        elif isinstance(kind, Scalar):
            reader.number(item.value)
        else:
            what = "an array" if isinstance(kind, ArrayOf) else "a record"
            instead = "omit the field, which clears it, and assign to it afterwards"
            scope.refuse(item.value, f"field {item.arg!r} is {what}", instead)
    scope.made.made[node] = record
    scope.made.types[node] = Rec(record)
    return Rec(record)


def same(reader: Reader, node: ast.Compare) -> bool:
    if len(node.ops) != 1 or not isinstance(node.ops[0], ast.Eq | ast.NotEq):
        return False
    sides = [node.left, node.comparators[0]]
    written = [record_of(reader, item) for item in sides]
    if not any(written):
        return False
    if all(written):
        instead = "compare a constructed record with a place of the state"
        reader.scope.refuse(node, "two constructed records are compared", instead)
    for side, record in zip(sides, written, strict=True):
        if record is None:
            kind = reader.value(side)
        else:
            assert isinstance(side, ast.Call)
            with reader.scope.places.holding(*(sides[:1] if side is sides[1] else ())):
                kind = write_out(reader, side, record)
        if kind != Rec(next(item for item in written if item)):
            instead = "compare records of the same class"
            reader.scope.refuse(node, f"{say(kind)} is compared with a constructed record", instead)
    require_no_bags(reader, node, kind)
    return True


def require_no_bags(reader: Reader, node: ast.Compare, kind: Type) -> None:
    """Reject comparisons of records that contain bags, because two bags are equal only if they are the same object."""
    bags = [name for name, field in fields(kind.record) if isinstance(field, BagOf)] if isinstance(kind, Rec) else []
    if bags:
        instead = "compare the fields that matter, and the number of messages with len()"
        reader.scope.refuse(node, f"records with a bag are compared as a whole: {', '.join(bags)}", instead)


def among(reader: Reader, node: ast.Compare) -> None:
    scope, others = reader.scope, node.comparators[0]
    if isinstance(reader.value(node.left), Rec):
        instead = _found(reader, others, "...")
        scope.refuse(node.left, "`in` is used to find a record", instead)
    reader.number(node.left)
    if len(node.ops) != 1:
        scope.refuse(node, "`in` is part of a chain of comparisons", "write `and` between them")
    if isinstance(others, ast.Tuple | ast.List | ast.Set):
        if not others.elts:
            scope.refuse(others, "`in` is used with an empty tuple", "write x in (A, B)")
        for item in others.elts:
            reader.number(item)
        return
    known = scope.global_of(others)
    if isinstance(known, tuple | frozenset) and known and all(isinstance(item, int) for item in known):
        values: list[ast.expr] = [ast.copy_location(ast.Constant(int(item)), others) for item in known]
        for item in values:
            reader.number(item)
        scope.made.sugar[others] = ast.copy_location(ast.Tuple(values, ast.Load()), others)
        return
    if isinstance(known, list | set | dict):
        instead = "make it a tuple"
        scope.refuse(others, f"{ast.unparse(others)} is a {type(known).__name__}, which may change", instead)
    if (
        isinstance(others, ast.Call)
        and reader.scope.global_of(others.func) is builtins.range
        and 1 <= len(others.args) <= 2
        and not others.keywords
    ):
        assert isinstance(others, ast.Call)
        for item in others.args:
            reader.number(item)
        scope.made.among[node] = Among.RANGE
        return
    kind = reader.value(others) if not (isinstance(others, ast.Name) and known is not None) else None
    if isinstance(kind, Arr) and isinstance(kind.field.element, Scalar):
        scope.made.among[node] = Among.ARRAY
    elif kind == INT and isinstance(domain_at(reader, others), BitSet):
        scope.made.among[node] = Among.SET
    elif kind == INT:
        scope.refuse(
            others,
            "`in` is used with a number that is not read from a set of the state",
            f"write bits.contains({ast.unparse(others)}, {ast.unparse(node.left)})",
        )
    else:
        scope.refuse(
            others,
            "`in` is used with something other than numbers in a tuple, a range, an array or a set of the state",
            _found(reader, others, ast.unparse(node.left))
            if isinstance(kind, Arr | BagRef | Queue)
            else "write x in (A, B), or call a function of `bits`",
        )


def _found(reader: Reader, others: ast.expr, wanted: str) -> str:
    kind = reader.value(others) if isinstance(others, ast.Attribute | ast.Name | ast.Subscript) else None
    record = None
    if isinstance(kind, Arr) and isinstance(kind.field.element, Nested):
        record = kind.field.element.record
    elif isinstance(kind, BagRef | Queue):
        record = kind.field.record if isinstance(kind, BagRef) else kind.message
    name = next(iter(dict(fields(record))), "field") if record else "field"
    return f"write any(item.{name} == {wanted} for item in {ast.unparse(others)}), with the field that you mean"


def domain_at(reader: Reader, node: ast.expr) -> Domain | None:
    kind: Any = None
    if isinstance(node, ast.Attribute):
        owner = reader.scope.made.types.get(node.value)
        kind = dict(fields(owner.record)).get(node.attr) if isinstance(owner, Rec) else None
    elif isinstance(node, ast.Subscript):
        owner = reader.scope.made.types.get(node.value)
        kind = owner.field.element if isinstance(owner, Arr) else None
    return kind.domain if isinstance(kind, Scalar) else None
