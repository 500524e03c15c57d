"""Generated helper functions for constructs that the engines do not support. The unsupported constructs are the
greatest value of a generator, `in`, messages of a channel, and comparisons of records and arrays.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Protocol

from fencepost.explorers.program.ir import nodes
from fencepost.explorers.program.ir.nodes import At, Block, Expression, Slot, Statement
from fencepost.explorers.program.ir.program import Function, inside, rebuilt
from fencepost.explorers.program.subset.kinds import INT, Among, Arr, Rec, kind_of
from fencepost.model.language.domains import NONE, BitSet, Domain, Linear, Range, linear
from fencepost.model.language.domains import Extreme as Widest
from fencepost.model.language.records import ArrayOf, Nested, Record, Scalar, fields

INDEX = frozenset([nodes.Failure.INDEX])
NUMBER = frozenset([nodes.Failure.NUMBER])
VALUE = frozenset([nodes.Failure.VALUE])
SHIFT = frozenset([nodes.Failure.SHIFT, nodes.Failure.NUMBER])


class Adding(Protocol):
    def add(self, made: Function) -> int:
        """Add a function, and return its number."""


class Making:
    def __init__(self, at: At) -> None:
        self.at = at

    def number(self, value: int) -> nodes.Literal:
        return nodes.Literal(value, at=self.at)

    def read(self, slot: Slot) -> nodes.Local:
        return nodes.Local(slot, at=self.at, type=slot.type)

    def compare(self, one: Expression, order: nodes.Order, other: Expression) -> nodes.Compare:
        return nodes.Compare(one, ((order, other),), at=self.at)

    def add(self, one: Expression, other: Expression) -> nodes.Binary:
        return nodes.Binary(nodes.BinaryOp.ADD, one, other, at=self.at, checks=NUMBER)

    def subtract(self, one: Expression, other: Expression) -> nodes.Binary:
        return nodes.Binary(nodes.BinaryOp.SUBTRACT, one, other, at=self.at, checks=NUMBER)

    def multiply(self, one: Expression, other: Expression) -> nodes.Binary:
        return nodes.Binary(nodes.BinaryOp.MULTIPLY, one, other, at=self.at, checks=NUMBER)

    def extreme(self, *values: Expression, greatest: bool) -> nodes.Extreme:
        return nodes.Extreme(greatest, values, at=self.at)

    def field(self, owner: Expression, name: str) -> nodes.Field:
        assert isinstance(owner.type, Rec)
        kind = kind_of(dict(fields(owner.type.record))[name])
        assert isinstance(kind, type(INT) | Rec | Arr)
        return nodes.Field(owner, name, at=self.at, type=Rec(kind.record) if isinstance(kind, Rec) else kind)

    def element(self, array: Expression, index: Expression) -> nodes.Element:
        assert isinstance(array.type, Arr)
        return nodes.Element(array, index, at=self.at, checks=INDEX, type=element_of(array.type.field))

    def store(self, place: nodes.Field | nodes.Element, value: Expression, domain: Domain) -> nodes.Store:
        return nodes.Store(place, value, domain, at=self.at, checks=VALUE)

    def upto(self, stop: Expression) -> nodes.Numbers:
        return nodes.Numbers(self.number(0), stop, at=self.at)


class Lifted(Making):
    def __init__(self, functions: Adding, python: Callable[..., Any], at: At) -> None:
        super().__init__(at)
        self.functions, self.python = functions, python
        self.slots: list[Slot] = []
        self.arguments: list[Expression] = []

    def slot(self, kind: nodes.Type, name: str = "") -> Slot:
        self.slots.append(Slot(len(self.slots), name, kind))
        return self.slots[-1]

    def given(self, argument: Expression) -> Slot:
        """Add a parameter and its argument. Local variables are numbered after all parameters."""
        self.arguments.append(argument)
        return self.slot(argument.type)

    def call(self, body: Sequence[Statement], returns: nodes.Type = INT) -> nodes.Call:
        slots = tuple(self.slots)
        made = Function(0, self.python, self.at, slots[: len(self.arguments)], slots, tuple(body), returns)
        number = self.functions.add(made)
        return nodes.Call(number, tuple(self.arguments), at=self.at, type=returns)

    def value(self, found: Expression) -> nodes.Call:
        return self.call([nodes.Return(found, at=self.at)], found.type)


def extreme(lifted: Lifted, fold: nodes.Fold, default: Expression | None, *, greatest: bool) -> nodes.Call:
    """Return `max` or `min` of a fold's values, or `default` if the fold has no values."""
    at, first, moved = lifted.at, fold.clauses[0].source, _Moved(fold)

    def given(part: Any) -> nodes.Local:
        return lifted.read(lifted.given(part))

    outside = rebuilt(first, given) if isinstance(first, nodes.Numbers) else given(first)
    otherwise = None if default is None else given(default)
    for slot in moved.free:
        moved.slots[slot] = lifted.given(nodes.Local(slot, at=at, type=slot.type))
    for slot in moved.own:
        moved.slots[slot] = lifted.slot(slot.type, slot.name)
    best, seen, value = lifted.slot(INT), lifted.slot(INT), lifted.slot(INT)
    better = lifted.extreme(lifted.read(best), lifted.read(value), greatest=greatest)
    body: Block = (
        nodes.Assign(value, moved.node(fold.value), at=at),
        nodes.Assign(best, nodes.Select(lifted.read(seen), better, lifted.read(value), at=at), at=at),
        nodes.Assign(seen, lifted.number(1), at=at),
    )
    for number, clause in reversed(list(enumerate(fold.clauses))):
        for test in reversed(clause.tests):
            body = (nodes.If(moved.node(test), body, (), at=at),)
        source = moved.node(clause.source) if number else outside
        body = (nodes.For(moved.slots[clause.slot], source, body, at=at),)
    result: Expression = lifted.read(best)
    if otherwise is not None:
        result = nodes.Select(lifted.read(seen), result, otherwise, at=at)
    zero = (nodes.Assign(best, lifted.number(0), at=at), nodes.Assign(seen, lifted.number(0), at=at))
    return lifted.call([*zero, *body, nodes.Return(result, at=at)])


class _Moved:
    """The body of a fold as a separate function; its parameters are the outer variables that the body reads."""

    def __init__(self, fold: nodes.Fold) -> None:
        every = [*fold.clauses[1:], *(test for test in fold.clauses[0].tests), fold.value]
        own = [fold.clauses[0].slot, *(item.slot for item in inside(every) if isinstance(item, nodes.Clause))]
        self.own = list(dict.fromkeys(own))
        read = [item.slot for item in inside(every) if isinstance(item, nodes.Local)]
        self.free = [slot for slot in dict.fromkeys(read) if slot not in own]
        self.slots: dict[Slot, Slot] = {}

    def node(self, node: Any) -> Any:
        if isinstance(node, nodes.Local):
            return replace(node, slot=self.slots[node.slot])
        if isinstance(node, nodes.Clause):
            return rebuilt(node, self.node, slot=self.slots[node.slot])
        return rebuilt(node, self.node)


def element_of(kind: ArrayOf) -> nodes.Type:
    return Rec(kind.element.record) if isinstance(kind.element, Nested) else INT


def among(lifted: Lifted, how: Among, item: Expression, others: list[Expression]) -> nodes.Call:
    at, wanted = lifted.at, lifted.given(item)
    rest = [lifted.given(other) for other in others]
    if how is Among.RANGE:
        start: Expression = lifted.read(rest[0]) if len(rest) == 2 else lifted.number(0)
        return lifted.value(
            nodes.Compare(
                start, ((nodes.Order.AT_MOST, lifted.read(wanted)), (nodes.Order.LESS, lifted.read(rest[-1]))), at=at
            )
        )
    if how is Among.ARRAY:
        each = lifted.slot(INT)
        equal = lifted.compare(lifted.read(wanted), nodes.Order.EQUAL, lifted.read(each))
        return lifted.value(
            nodes.Fold(nodes.FoldOp.ANY, (nodes.Clause(each, lifted.read(rest[0]), (), at=at),), equal, at=at)
        )
    count = lifted.extreme(lifted.read(wanted), lifted.number(0), greatest=True)
    members = nodes.Binary(nodes.BinaryOp.RIGHT, lifted.read(rest[0]), count, at=at)
    bit = nodes.Binary(nodes.BinaryOp.AND, members, lifted.number(1), at=at)
    there = lifted.compare(lifted.read(wanted), nodes.Order.AT_LEAST, lifted.number(0))
    return lifted.value(nodes.Logic(True, (there, bit), at=at))


def message(lifted: Lifted, channel: Expression, index: Expression) -> nodes.Call:
    owner, place = lifted.read(lifted.given(channel)), lifted.read(lifted.given(index))
    items = lifted.field(owner, "items")
    there = lifted.compare(place, nodes.Order.LESS, lifted.field(owner, "items_end"))
    where = nodes.Select(there, place, nodes.Length(items, at=lifted.at), at=lifted.at)
    return lifted.value(lifted.element(items, where))


def over_values(
    lifted: Lifted, function: int, given: Sequence[nodes.Local], params: Sequence[tuple[str, Domain]], *, every: bool
) -> Expression:
    """Return whether a function is true for all (`every`) or for some values of its last parameters."""
    at = lifted.at
    clauses = []
    arguments: list[Expression] = [*given]
    for name, domain in params:
        low, high = ends_of(domain, lifted)
        slot = lifted.slot(INT, name)
        clauses.append(nodes.Clause(slot, nodes.Numbers(low, lifted.add(high, lifted.number(1)), at=at), (), at=at))
        arguments.append(lifted.read(slot))
    called = nodes.Call(function, tuple(arguments), at=at, type=INT)
    value = lifted.compare(called, nodes.Order.DIFFERENT, lifted.number(0))
    return nodes.Fold(nodes.FoldOp.ALL if every else nodes.FoldOp.ANY, tuple(clauses), value, at=at)


def ends_of(domain: Domain, lifted: Lifted) -> tuple[Expression, Expression]:
    if isinstance(domain, BitSet):
        one, count = lifted.number(1), sum_of(domain.count, lifted)
        power = nodes.Binary(nodes.BinaryOp.LEFT, one, count, at=lifted.at, checks=SHIFT)
        return lifted.number(0), lifted.subtract(power, one)
    if not isinstance(domain, Range):
        low, high = domain.bounds({})
        return lifted.number(0 if low == NONE else low), lifted.number(high)
    least = sum_of(domain.low, lifted)
    if isinstance(least, nodes.Literal):
        return lifted.number(0 if least.value == NONE else least.value), sum_of(domain.high, lifted)
    is_none = lifted.compare(sum_of(domain.low, lifted), nodes.Order.EQUAL, lifted.number(NONE))
    return nodes.Select(is_none, lifted.number(0), least, at=lifted.at), sum_of(domain.high, lifted)


def sum_of(value: Linear | int, lifted: Lifted) -> Expression:
    total = linear(value)
    found: Expression | None = None
    for name, factor in total.terms.items():
        term: Expression
        if isinstance(name, Widest):
            term = lifted.extreme(*(sum_of(part, lifted) for part in name.parts), greatest=name.greatest)
        else:
            term = nodes.Constant(name, at=lifted.at)
        if factor != 1:
            term = lifted.multiply(term, lifted.number(factor))
        found = term if found is None else lifted.add(found, term)
    if found is None:
        return lifted.number(total.offset)
    return lifted.add(found, lifted.number(total.offset)) if total.offset else found


def same(lifted: Lifted, one: Expression, other: Expression) -> nodes.Call:
    left, right = lifted.given(one), lifted.given(other)
    kind = one.type
    if isinstance(kind, Arr):
        return lifted.value(_same_items(lifted, lifted.read(left), lifted.read(right), kind.field))
    assert isinstance(kind, Rec)
    return lifted.value(_conjunction(lifted, list(_parts(lifted, left, right, kind.record, ()))))


def same_as_written(
    lifted: Lifted, place: Expression, values: dict[tuple[str, ...], Expression], *, first: bool
) -> nodes.Call:
    """Return whether a record has the given values, by field path, and zeros elsewhere."""
    early = lifted.given(place) if first else None
    slots = {path: lifted.given(value) for path, value in values.items()}
    owner = early or lifted.given(place)
    assert isinstance(place.type, Rec)
    found = list(_as_written(lifted, owner, place.type.record, (), slots))
    return lifted.value(_conjunction(lifted, found))


def _conjunction(lifted: Lifted, found: list[Expression]) -> Expression:
    if not found:
        return lifted.number(1)
    return found[0] if len(found) == 1 else nodes.Logic(True, tuple(found), at=lifted.at)


def _at_path(lifted: Lifted, slot: Slot, path: tuple[str, ...]) -> Expression:
    found: Expression = lifted.read(slot)
    for name in path:
        found = lifted.field(found, name)
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
            yield lifted.compare(left, nodes.Order.EQUAL, right)


def _same_items(lifted: Lifted, one: Expression, other: Expression, kind: ArrayOf) -> Expression:
    number = lifted.slot(INT)
    items = [lifted.element(array, lifted.read(number)) for array in (one, other)]
    if isinstance(kind.element, Nested):
        value: Expression = same(Lifted(lifted.functions, lifted.python, lifted.at), *items)
    else:
        value = lifted.compare(items[0], nodes.Order.EQUAL, items[1])
    clause = nodes.Clause(number, lifted.upto(nodes.Length(one, at=lifted.at)), (), at=lifted.at)
    return nodes.Fold(nodes.FoldOp.ALL, (clause,), value, at=lifted.at)


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
            yield lifted.compare(_at_path(lifted, owner, here), nodes.Order.EQUAL, wanted)


def _cleared(lifted: Lifted, array: Expression, kind: ArrayOf) -> Expression:
    item = lifted.slot(element_of(kind))
    clause = nodes.Clause(item, array, (), at=lifted.at)
    if isinstance(kind.element, Scalar):
        value: Expression = lifted.compare(lifted.read(item), nodes.Order.EQUAL, lifted.number(0))
    else:
        value = same_as_written(Lifted(lifted.functions, lifted.python, lifted.at), lifted.read(item), {}, first=True)
    return nodes.Fold(nodes.FoldOp.ALL, (clause,), value, at=lifted.at)
