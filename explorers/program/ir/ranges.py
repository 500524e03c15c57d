"""Range analysis of a program's expressions, which shows that some checks cannot fail.

Each slot has one span for all values assigned to it, and each function has one for all its results. Spans grow to a
fixed point; a bound that keeps growing is widened to 64 bits.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod
from operator import eq, ge, gt, le, lt, ne
from typing import Any

from fencepost.explorers.program.ir import nodes
from fencepost.explorers.program.ir.nodes import LEAST, MOST, Failures, Order, Slot
from fencepost.explorers.program.ir.program import Function, Program, inside, parts, rebuilt
from fencepost.explorers.program.subset.kinds import INT, Arr, BagRef
from fencepost.model.language.constants import Constant
from fencepost.model.language.domains import NONE, BitSet, Domain, Linear, Range, linear
from fencepost.model.language.records import FieldType, Scalar, fields

ROUNDS = 3
"""Number of rounds in which ranges may grow step by step; after that, a bound that still grows is widened."""
FAR = 64
"""Shift count above which all shifts are treated alike."""

End = Linear | int


@dataclass(frozen=True, slots=True)
class Span:
    """The numbers from `low` to `high`, which may be sums of constants; if `bits` is set, sets of that many members."""

    low: End
    high: End
    bits: End | None = None


WIDE = Span(LEAST, MOST)
FLAG = Span(0, 1)
NEVER, ALWAYS = Span(0, 0, 0), Span(1, 1, 1)
HOLDS = dict(zip(Order, (eq, ne, lt, le, gt, ge), strict=True))


class Box:
    def __init__(self, declared: Mapping[str, Constant[int]]) -> None:
        self.lows = {name: int(item.low) for name, item in declared.items()}
        self.highs = {name: int(item.high) for name, item in declared.items()}

    def least(self, end: End) -> int:
        return end if isinstance(end, int) else self._extreme(end, 0)

    def most(self, end: End) -> int:
        return end if isinstance(end, int) else self._extreme(end, 1)

    def _extreme(self, end: Linear, side: int) -> int:
        return end.span(self.lows, self.highs)[side]

    def at_most(self, one: End, other: End) -> bool:
        if isinstance(one, int) and isinstance(other, int):
            return one <= other
        return self._extreme(linear(other) - one, 0) >= 0

    def low(self, span: Span) -> int:
        return self.least(span.low)

    def high(self, span: Span) -> int:
        return self.most(span.high)

    def within(self, span: Span, outer: Span) -> bool:
        if not (self.at_most(outer.low, span.low) and self.at_most(span.high, outer.high)):
            return False
        if outer.bits is None or (span.bits is not None and self.at_most(span.bits, outer.bits)):
            return True
        return self.low(span) >= 0 and self.high(span).bit_length() <= max(0, self.least(outer.bits))

    def fits(self, span: Span) -> bool:
        return self.low(span) >= LEAST and self.high(span) <= MOST

    def clamped(self, span: Span) -> Span:
        if self.fits(span):
            return span
        return Span(
            span.low if self.low(span) >= LEAST else LEAST, span.high if self.high(span) <= MOST else MOST, span.bits
        )

    def lowest(self, one: End, other: End) -> End:
        if self.at_most(one, other):
            return one
        return other if self.at_most(other, one) else min(self.least(one), self.least(other))

    def highest(self, one: End, other: End) -> End:
        if self.at_most(other, one):
            return one
        return other if self.at_most(one, other) else max(self.most(one), self.most(other))

    def hull(self, one: Span, other: Span) -> Span:
        bits = None if one.bits is None or other.bits is None else self.highest(one.bits, other.bits)
        return Span(self.lowest(one.low, other.low), self.highest(one.high, other.high), bits)

    def meet(self, one: Span, other: Span) -> Span:
        """Return the overlap of two spans or, if there is no overlap, the second span."""
        low, high = max(self.low(one), self.low(other)), min(self.high(one), self.high(other))
        return Span(low, high, one.bits if other.bits is None else other.bits) if low <= high else other

    def domain(self, domain: Domain) -> Span:
        if isinstance(domain, Range):
            return Span(domain.low, domain.high)
        if isinstance(domain, BitSet):
            return Span(0, (1 << max(0, self.most(domain.count))) - 1, domain.count)
        return Span(*domain.bounds({}))

    def choices(self, domain: Domain) -> Span:
        span = self.domain(domain)
        low = 0 if isinstance(span.low, int) and span.low == NONE else span.low
        if not isinstance(low, int) and not low.terms and low.offset == NONE:
            low = 0
        return Span(low, span.high)


def minus(one: End, other: End) -> End:
    return one - other if isinstance(one, int) and isinstance(other, int) else linear(one) - other


def with_ranges(program: Program, values: Mapping[str, int] | None = None, *, reachable: bool = False) -> Program:
    """Return a program whose numbers have ranges, and whose nodes have only those checks that may fail with these
    values of the constants (or with any values, if none are given). The body of an unused function is omitted.

    If `reachable`, the range of a field covers only the values in initial states and those that steps store, and code
    that no reachable state executes is ignored.
    """
    found = Ranges(program, reachable=reachable)
    if values is not None:
        found.box.lows = found.box.highs = dict(values)
    found.settle()
    return replace(
        program,
        functions=tuple(
            replace(
                made, body=tuple(map(found.settled, made.body)) if reachable or made.number in found.visited else ()
            )
            for made in program.functions
        ),
    )


class Ranges:
    def __init__(self, program: Program, *, reachable: bool) -> None:
        self.program = program
        self.stored: dict[int, Span] | None = {} if reachable else None
        """Ranges of the values stored in scalar fields, by the id of the field's type, or None if unknown."""
        self.prefixes = {item.function: item.prefix for item in program.actions}
        self.declared = program.machine.constants.declared()
        self.box = Box(self.declared)
        self.slots: dict[Slot, Span] = {}
        self.results: dict[int, Span] = {}
        self.known: dict[nodes.Expression, Span] = {}
        self.visited: set[int] = set()
        self.grown = self.widening = False
        self._domains: dict[int, Span] = {}
        for action in (program.initial, *program.actions):
            for item in action.parameters:
                if isinstance(item.domain, Domain):
                    self.grow(self.slots, item.slot, self.box.choices(item.domain))
        for prop in program.asked:
            self.given(prop)

    def given(self, prop: Any) -> None:
        if prop.eventual is not None:
            made = self.program.behaviours[prop.name]
            domains = [domain for _, domain in prop.eventual.params]
            numbers = [(number, 1) for number in (made.when, made.then) if number is not None]
        else:
            domains = [domain for _, domain in prop.on.params] if prop.on else []
            numbers = [(self.program.properties[prop.name], 2)]
        for number, states in numbers:
            for slot, domain in zip(self.program.functions[number].parameters[states:], domains, strict=False):
                if isinstance(domain, Domain):
                    self.grow(self.slots, slot, self.box.choices(domain))

    def settle(self) -> None:
        for number in range(1000):
            self.widening = number >= ROUNDS
            self.grown = False
            self.known.clear()
            self.visited.clear()
            for root in self.program.roots:
                self.enter_function(root)
            if not self.grown:
                return
        raise AssertionError("spans do not settle")

    def enter_function(self, number: int) -> None:
        self.visited.add(number)
        function = self.program.functions[number]
        prefix = self.prefixes.get(number, 0)
        self.visit_block(function, function.body[:prefix])
        refusals = (item for item in function.body[:prefix] if isinstance(item, nodes.Require))
        if not any(self.truth(item.condition) is False for item in refusals):
            self.visit_block(function, function.body[prefix:])

    def grow(self, spans: dict[Any, Span], key: Any, more: Span) -> bool:
        old = spans.get(key)
        if old is not None and self.box.within(more, old):
            return False
        new = more if old is None else self.box.hull(old, more)
        if self.widening and old is not None:
            low = old.low if self.box.at_most(old.low, new.low) else LEAST
            high = old.high if self.box.at_most(new.high, old.high) else MOST
            new = Span(low, high, old.bits if old.bits == new.bits else None)
        spans[key] = new
        self.grown = True
        return True

    # -- statements

    def visit_block(self, function: Function, block: nodes.Block) -> None:
        for item in block:
            self.visit(function, item)
            if isinstance(item, nodes.Require) and item.bound is None and self.truth(item.condition) is False:
                return

    def visit(self, function: Function, item: nodes.Statement) -> None:
        match item:
            case nodes.Assign():
                self.assign(item.slot, item.value)
            case nodes.If():
                self.of(item.test)
                if self.truth(item.test) is not False:
                    self.visit_block(function, item.then)
                if self.truth(item.test) is not True:
                    self.visit_block(function, item.other)
            case nodes.For():
                self.enter(item.slot, item.source)
                self.visit_block(function, item.body)
            case nodes.Store():
                self.store(item.place.kind, self.of(item.value))
                self.of(item.place)
            case nodes.Add():
                self.of(item.bag)
                assert isinstance(item.bag.type, BagRef)
                kinds = dict(fields(item.bag.type.field.record))
                for fill in item.fills:
                    self.store(kinds[fill.name], self.of(fill.value))
            case nodes.Return(value=nodes.Expression() as value):
                span = self.of(value)
                if value.type == INT:
                    self.grow(self.results, function.number, span)
            case _:
                for part in parts(item):
                    for inner in [part] if isinstance(part, nodes.Expression) else parts(part):
                        assert isinstance(inner, nodes.Expression)
                        self.of(inner)

    def store(self, kind: FieldType, span: Span) -> None:
        assert isinstance(kind, Scalar)
        if self.stored is not None:
            self.grow(self.stored, id(kind), self.box.hull(self.box.meet(span, self.domain(kind.domain)), NEVER))

    def content(self, kind: Scalar) -> Span:
        domain = self.domain(kind.domain)
        if self.stored is None:
            return domain
        return self.box.meet(self.stored.get(id(kind), NEVER), domain)

    def assign(self, slot: Slot, value: nodes.Expression) -> bool:
        span = self.of(value)
        return slot.type == INT and self.grow(self.slots, slot, span)

    def enter(self, slot: Slot, source: nodes.Source) -> None:
        if isinstance(source, nodes.Numbers):
            start, stop = self.of(source.start), self.of(source.stop)
            self.grow(self.slots, slot, Span(start.low, self.box.highest(start.low, minus(stop.high, 1))))
            return
        self.of(source)
        if slot.type == INT:
            assert isinstance(source.type, Arr)
            assert isinstance(source.type.field.element, Scalar)
            self.grow(self.slots, slot, self.content(source.type.field.element))

    def domain(self, domain: Domain) -> Span:
        if id(domain) not in self._domains:
            self._domains[id(domain)] = self.box.domain(domain)
        return self._domains[id(domain)]

    # -- expressions

    def of(self, node: nodes.Expression) -> Span:
        span = self.span(node)
        self.known[node] = span
        return span

    def span(self, node: nodes.Expression) -> Span:
        """Return the span of an expression, ignoring the limit of 64 bits."""
        match node:
            case nodes.Literal():
                return Span(node.value, node.value, node.value.bit_length() if node.value >= 0 else None)
            case nodes.Constant():
                constant = self.declared[node.name]
                return Span(constant, constant)
            case nodes.Local():
                return self.slots.get(node.slot, WIDE) if node.type == INT else WIDE
            case nodes.Field() | nodes.Element():
                for part in parts(node):
                    assert isinstance(part, nodes.Expression)
                    self.of(part)
                return self.content(node.kind) if isinstance(node.kind, Scalar) else WIDE
            case nodes.Length():
                self.of(node.of)
                if isinstance(node.of.type, Arr):
                    return Span(node.of.type.field.length, node.of.type.field.length)
                assert isinstance(node.of.type, BagRef)
                return Span(0, node.of.type.field.room)
            case nodes.Unary():
                return self.unary(node.operator, self.of(node.value))
            case nodes.Binary():
                return self.box.clamped(self.binary(node, self.of(node.left), self.of(node.right)))
            case nodes.Logic():
                return self.logic([self.of(item) for item in node.values], conjunction=node.conjunction)
            case nodes.Select():
                self.of(node.test)
                test = self.truth(node.test)
                if test is not None:
                    return self.of(node.then if test else node.other)
                return self.box.hull(self.of(node.then), self.of(node.other))
            case nodes.Compare():
                return self.compare(node)
            case nodes.Not():
                self.of(node.value)
                value = self.truth(node.value)
                return FLAG if value is None else NEVER if value else ALWAYS
            case nodes.Extreme():
                return self.extreme([self.of(item) for item in node.values], greatest=node.greatest)
            case nodes.Fold():
                return self.fold(node)
            case nodes.Call():
                return self.call(node)
        for part in parts(node):
            assert isinstance(part, nodes.Expression)
            self.of(part)
        return FLAG

    def truth(self, node: nodes.Expression) -> bool | None:
        """Return True if a visited condition holds in every reachable state, and False if it holds in none."""
        span = WIDE if self.stored is None else self.known.get(node, WIDE)
        low, high = self.box.low(span), self.box.high(span)
        return None if low <= 0 <= high and low != high else bool(low or high)

    def compare(self, node: nodes.Compare) -> Span:
        spans = [self.of(item) for item in (node.first, *(other for _, other in node.rest))]
        found = {self.decided(order, *pair) for (order, _), pair in zip(node.rest, pairwise(spans), strict=True)}
        return NEVER if False in found else FLAG if None in found else ALWAYS

    def decided(self, order: Order, one: Span, other: Span) -> bool | None:
        (a, b), (c, d) = ((self.box.low(item), self.box.high(item)) for item in (one, other))
        if order in (Order.EQUAL, Order.DIFFERENT) and a <= d and c <= b and not a == b == c == d:
            return None
        found = {HOLDS[order](x, y) for x in (a, b) for y in (c, d)}
        return found.pop() if len(found) == 1 else None

    def unary(self, operator: nodes.UnaryOp, value: Span) -> Span:
        if operator is not nodes.UnaryOp.ABSOLUTE:
            start = 0 if operator is nodes.UnaryOp.NEGATE else -1
            return self.box.clamped(Span(minus(start, value.high), minus(start, value.low)))
        low, high = self.box.low(value), self.box.high(value)
        return value if low >= 0 else self.box.clamped(Span(max(0, -high), max(-low, high)))

    def binary(self, node: nodes.Binary, left: Span, right: Span) -> Span:
        match node.operator:
            case nodes.BinaryOp.ADD:
                return Span(left.low + right.low, left.high + right.high)
            case nodes.BinaryOp.SUBTRACT:
                return Span(minus(left.low, right.high), minus(left.high, right.low), self.below(node))
        box = self.box
        a, b, c, d = box.low(left), box.high(left), box.low(right), box.high(right)
        return replace(numeric(node.operator, (a, b), (c, d)), bits=self.bits(node, left, right))

    def below(self, node: nodes.Binary) -> End | None:
        power, one = node.left, node.right
        if isinstance(power, nodes.Binary) and power.operator is nodes.BinaryOp.LEFT and isinstance(one, nodes.Literal):
            count = self.known[power.right]
            if (
                isinstance(power.left, nodes.Literal)
                and power.left.value == one.value == 1
                and self.box.low(count) >= 0
            ):
                return count.high
        return None

    def bits(self, node: nodes.Binary, left: Span, right: Span) -> End | None:
        """Return the maximum number of members of the resulting set, or None if unknown."""
        one, other = left.bits, right.bits
        match node.operator:
            case nodes.BinaryOp.AND:
                return one if one is not None else other
            case nodes.BinaryOp.OR | nodes.BinaryOp.XOR if one is not None and other is not None:
                return self.box.highest(one, other)
            case nodes.BinaryOp.LEFT if one == 1 and self.box.low(right) >= 0:
                return right.high + 1
            case nodes.BinaryOp.RIGHT:
                return one
        return None

    def logic(self, spans: list[Span], *, conjunction: bool) -> Span:
        """Return the span of `and` or `or`. An `and` returns 0 or its last value; an `or` returns any of its values."""
        found = spans[-1]
        if conjunction and any(self.box.low(span) == self.box.high(span) == 0 for span in spans):
            return NEVER
        if not conjunction and ALWAYS in spans and all(self.box.within(span, FLAG) for span in spans):
            return ALWAYS
        if conjunction:
            return self.box.hull(found, Span(0, 0)) if len(spans) > 1 else found
        for span in spans[:-1]:
            found = self.box.hull(found, span)
        return found

    def extreme(self, spans: list[Span], *, greatest: bool) -> Span:
        box, found = self.box, spans[0]
        for span in spans[1:]:
            if greatest:
                low = span.low if box.at_most(found.low, span.low) else found.low
                found = Span(low, box.highest(found.high, span.high))
            else:
                high = span.high if box.at_most(span.high, found.high) else found.high
                found = Span(box.lowest(found.low, span.low), high)
        return found

    def fold(self, node: nodes.Fold) -> Span:
        for clause in node.clauses:
            self.enter(clause.slot, clause.source)
            for test in clause.tests:
                self.of(test)
        self.of(node.value)
        if node.operator is nodes.FoldOp.SUM:
            return self.box.clamped(self.total(node))
        is_all = node.operator is nodes.FoldOp.ALL
        tests = [self.truth(test) for clause in node.clauses for test in clause.tests]
        if False in tests or self.truth(node.value) is is_all:
            return ALWAYS if is_all else NEVER
        return FLAG

    def total(self, node: nodes.Fold) -> Span:
        times = prod(self.rounds(clause.source) for clause in node.clauses)
        value = self.known[node.value]
        return Span(min(0, times * self.box.low(value)), max(0, times * self.box.high(value)))

    def rounds(self, source: nodes.Source) -> int:
        if isinstance(source, nodes.Numbers):
            return max(0, self.box.high(self.known[source.stop]) - self.box.low(self.known[source.start]))
        kind = source.type
        assert isinstance(kind, Arr | BagRef)
        return max(0, self.box.most(kind.field.length if isinstance(kind, Arr) else kind.field.room))

    def call(self, node: nodes.Call) -> Span:
        function = self.program.functions[node.function]
        grown = [self.assign(slot, value) for slot, value in zip(function.parameters, node.arguments, strict=True)]
        if any(grown) or node.function not in self.visited:
            self.enter_function(node.function)
        return self.inlined(node) or self.results.get(node.function, WIDE)

    def inlined(self, node: nodes.Call) -> Span | None:
        """Return the span of a call with these arguments, if the helper consists of one numeric expression."""
        function = self.program.functions[node.function]
        if len(function.slots) > len(function.parameters) or any(slot.type != INT for slot in function.slots):
            return None
        if len(function.body) != 1 or not isinstance(function.body[0], nodes.Return) or function.body[0].value is None:
            return None
        joined, known = {slot: self.slots[slot] for slot in function.parameters}, self.known
        given = {slot: known[value] for slot, value in zip(function.parameters, node.arguments, strict=True)}
        self.slots.update(given)
        self.known = {}
        span = self.of(function.body[0].value)
        self.slots.update(joined)
        self.known = known
        return span

    # results

    def settled(self, node: Any, *, is_read: bool = True) -> Any:
        values: dict[str, Any] = {}
        span = self.known.get(node) if isinstance(node, nodes.Expression) and node.type == INT else None
        if span is not None:
            low, high = max(LEAST, self.box.low(span)), min(MOST, self.box.high(span))
            if is_read and self.stored is not None and low == high and self.is_pure(node):
                return nodes.Literal(low, at=node.at, low=low, high=high)
            if (low, high) != (node.low, node.high):
                values = {"low": low, "high": high}
        if node.checks and self.is_visited(node):
            left = self.left(node)
            if left != node.checks:
                values["checks"] = left
        if isinstance(node, nodes.Store):
            return replace(
                node, place=self.settled(node.place, is_read=False), value=self.settled(node.value), **values
            )
        made = rebuilt(node, self.settled, **values)
        return replace(node) if made is node else made  # from here on, each place in the source has its own node

    def is_pure(self, node: nodes.Expression) -> bool:
        """Return whether evaluating a visited expression can neither fail nor change anything."""
        for item in inside([node]):
            if isinstance(item, nodes.Fits) or (item.checks and (not self.is_visited(item) or self.left(item))):
                return False
            if isinstance(item, nodes.Call):
                made = self.program.functions[item.function]
                if made.can_fail or made.effects.writes:
                    return False
        return True

    def is_visited(self, node: nodes.Node) -> bool:
        return all(part in self.known for part in parts(node) if isinstance(part, nodes.Expression))

    def left(self, node: nodes.Node) -> Failures:
        match node:
            case nodes.Element():
                inner = self.box.within(self.known[node.index], Span(0, minus(node.field.length, 1)))
                return nodes.NEVER if inner else node.checks
            case nodes.Store() | nodes.Fill():
                inner = self.box.within(self.known[node.value], self.domain(node.domain))
                return nodes.NEVER if inner else node.checks
            case nodes.Binary():
                span = self.binary(node, self.known[node.left], self.known[node.right])
                count = self.box.low(self.known[node.right])
                gone = {nodes.Failure.NUMBER} if self.box.fits(span) else set()
                return node.checks - gone - ({nodes.Failure.SHIFT} if count >= 0 else set())
            case nodes.Unary():
                low = self.box.low(self.known[node.value])
                return nodes.NEVER if low > LEAST or node.operator is nodes.UnaryOp.INVERT else node.checks
            case nodes.Fold():
                return nodes.NEVER if self.box.fits(self.total(node)) else node.checks
        return node.checks


def numeric(operator: nodes.BinaryOp, left: tuple[int, int], right: tuple[int, int]) -> Span:
    (a, b), (c, d) = left, right
    match operator:
        case nodes.BinaryOp.MULTIPLY:
            return _corners((a, b), (c, d), lambda x, y: x * y)
        case nodes.BinaryOp.DIVIDE:
            return Span(a // c, b // c)
        case nodes.BinaryOp.MODULO:
            return Span(a, b) if a >= 0 and b < c else Span(0, c - 1)
        case nodes.BinaryOp.LEFT:
            return _corners((a, b), (max(0, min(c, FAR)), max(0, min(d, FAR))), lambda x, y: x << y)
        case nodes.BinaryOp.RIGHT:
            return _corners((a, b), (max(0, min(c, FAR)), max(0, min(d, FAR))), lambda x, y: x >> y)
    if a >= 0 and c >= 0:
        if operator is nodes.BinaryOp.AND:
            return Span(0, min(b, d))
        return Span(0, (1 << max(b, d).bit_length()) - 1)
    if operator is nodes.BinaryOp.AND and (a >= 0 or c >= 0):
        return Span(0, b if a >= 0 else d)
    width = max(item.bit_length() for item in (a, b, c, d))
    return Span(-(1 << width), (1 << width) - 1)


def _corners(left: tuple[int, int], right: tuple[int, int], operate: Callable[[int, int], int]) -> Span:
    found = [operate(x, y) for x in left for y in right]
    return Span(min(found), max(found))
