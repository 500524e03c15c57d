"""Conditions evaluated on several states at once: each number of a state is a column with `LANES` lanes, one per state.

Every part of a condition is evaluated, because that costs less than a branch in each state. A failed check counts only
in lanes where the plain semantics would reach it. `Unsuited` is raised for conditions that must be evaluated state by
state, such as loops whose iterations depend on earlier iterations.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import reduce

from fencepost.explorers.native.llvm import checks
from fencepost.explorers.native.llvm.builder import Builder, Round, counted
from fencepost.explorers.native.llvm.types import Cell, Sort, Struct, Value, Vector, flag, number
from fencepost.explorers.native.lower.lanes import (
    ALL,
    BITS,
    LANES,
    MOST_WAYS,
    NONE,
    Lanes,
    Lanewise,
    Mask,
    Places,
    Thing,
    Unsuited,
)
from fencepost.explorers.native.lower.module import Module
from fencepost.explorers.program.ir import nodes
from fencepost.explorers.program.ir.nest import can_fail
from fencepost.explorers.program.ir.nodes import BinaryOp, Block, Expression, Failure, FoldOp, Slot, UnaryOp
from fencepost.explorers.program.subset.kinds import INT, Arr, BagRef

MOST_ROUNDS = 64
"""Maximum number of iterations of a loop whose end differs between lanes. Every state runs all iterations."""


class Columns(Lanewise):
    """Code generator for conditions on columns of states from `base` onward. `active` is a bit mask of active lanes."""

    def __init__(self, module: Module, build: Builder, e: Value, c: Value) -> None:
        super().__init__(build)
        self.module, self.e, self.c = module, e, c
        self.base = ""
        self.active = number(0)
        self.inside: Mask | None = None
        self.slots: dict[Slot, Thing] = {}

    def state(self) -> Places:
        return Places(((None, self.base),), self.module.state, frozenset([0]))

    # -- expressions

    def expression(self, node: Expression) -> Thing:
        found = self._expression(node)
        if node.type == INT and isinstance(found, Lanes):
            low, high = max(found.low, node.low), min(found.high, node.high)
            if low <= high:
                return Lanes(found.text, found.bits, low, high)
        return found

    def _expression(self, node: Expression) -> Thing:
        match node:
            case nodes.Literal():
                return number(node.value)
            case nodes.Constant():
                return self.build.named(self.c, node.name)
            case nodes.Local():
                if node.slot not in self.slots:
                    raise Unsuited
                return self.slots[node.slot]
            case nodes.Field() | nodes.Element():
                return self.read(self.place(node))
            case nodes.Length():
                return self.length(node)
            case nodes.Unary():
                return self.unary(node)
            case nodes.Binary():
                return self.binary(node)
            case nodes.Extreme():
                values = [self.number(item) for item in node.values]
                return reduce(lambda one, other: self.extreme(one, other, greatest=node.greatest), values)
            case nodes.Select():
                return self.select(node.test, lambda: self.expression(node.then), lambda: self.expression(node.other))
            case nodes.Logic() if node.low < 0 or node.high > 1:
                return self.first(node)
            case nodes.Call():
                return self.call(node)
        return self.flag(node)

    def number(self, node: Expression) -> Value | Lanes:
        return self.as_number(self.expression(node))

    def length(self, node: nodes.Length) -> Thing:
        found = self.expression(node.of)
        assert isinstance(found, Places)
        if isinstance(node.of.type, Arr):
            return self.module.shape.size(self.build, self.e, node.of.type.field.length)
        return self.count(found)

    def count(self, bag: Places) -> Lanes:
        assert isinstance(bag.memory, Struct)
        found, items = self.read(self.field(bag, "count")), bag.memory.fields["items"][1]
        assert isinstance(found, Lanes)
        assert isinstance(items, Vector)
        return Lanes(found.text, found.bits, 0, items.count)

    def unary(self, node: nodes.Unary) -> Thing:
        value = self.number(node.value)
        if node.operator is UnaryOp.ABSOLUTE:
            raise Unsuited
        if node.operator is UnaryOp.INVERT:
            return self.bitwise("^", value, number(-1))
        return self.sum("-", number(0), value)

    def binary(self, node: nodes.Binary) -> Thing:
        sign = str(node.operator)
        left, right = self.number(node.left), self.number(node.right)
        match node.operator:
            case BinaryOp.ADD | BinaryOp.SUBTRACT | BinaryOp.MULTIPLY:
                return self.sum(sign, left, right)
            case BinaryOp.AND | BinaryOp.OR | BinaryOp.XOR:
                return self.bitwise(sign, left, right)
            case BinaryOp.LEFT | BinaryOp.RIGHT:
                return self.shifted(sign, left, right)
        raise Unsuited

    # -- helpers of the model

    def call(self, node: nodes.Call) -> Thing:
        """Return a helper's result if the result can be computed without loops."""
        made = self.module.program.functions[node.function]
        values = [self.expression(item) for item in node.arguments]
        self.slots.update(zip(made.parameters, values, strict=True))
        return self.body(made.body)

    def compute(self, statements: Block) -> None:
        for item in statements:
            if not isinstance(item, nodes.Assign):
                raise Unsuited
            self.slots[item.slot] = self.expression(item.value)

    def body(self, statements: Block) -> Thing:
        for place, item in enumerate(statements):
            match item:
                case nodes.Assign():
                    self.slots[item.slot] = self.expression(item.value)
                case nodes.Return() if item.value is not None:
                    return self.expression(item.value)
                case nodes.If() if not item.other and isinstance(item.then[-1], nodes.Return):
                    then, rest = item.then, statements[place + 1 :]
                    return self.select(item.test, lambda: self.body(then), lambda: self.body(rest))  # noqa: B023
                case _:
                    raise Unsuited
        raise Unsuited

    def select(self, test: Expression, then: Callable[[], Thing], other: Callable[[], Thing]) -> Thing:
        """Return one of two values in each lane. The second value is computed without the assignments of the first."""
        condition = self.flag(test)
        before = dict(self.slots)
        with self.where(condition):
            yes = then()
        self.slots = before
        with self.where(self.negated(condition)):
            no = other()
        if isinstance(yes, Places) and isinstance(no, Places):
            ways = [(condition if own is None else self.both(condition, own), address) for own, address in yes.ways]
            return Places(
                (*no.ways, *((self.mask(own), address) for own, address in ways)), yes.memory, yes.offsets | no.offsets
            )
        return self.chosen(condition, self.as_number(yes), self.as_number(no))

    # -- places

    def place(self, node: nodes.Field | nodes.Element) -> Places:
        if isinstance(node, nodes.Field):
            owner = self.expression(node.owner)
            if not isinstance(owner, Places):
                raise Unsuited
            return self.field(owner, node.name)
        array, index = self.expression(node.array), self.number(node.index)
        if not isinstance(array, Places):
            raise Unsuited
        if Failure.INDEX in node.checks:
            index = self.examined(index, self.module.shape.size(self.build, self.e, node.field.length))
        return self.element(array, index)

    def field(self, record: Places, name: str) -> Places:
        assert isinstance(record.memory, Struct)
        offset, memory = record.memory.fields[name]
        ways = tuple((own, self.build.offset(address, LANES * offset)) for own, address in record.ways)
        return Places(ways, memory, frozenset(at + offset for at in record.offsets))

    def element(self, array: Places, index: Value | Lanes) -> Places:
        """Return the location of an element. The index must have been checked already, unless no lane is active."""
        assert isinstance(array.memory, Vector)
        memory, build = array.memory.element, self.build
        possible = range(max(0, index.low), min(index.high, array.memory.count - 1) + 1)
        offsets = frozenset(at + memory.bytes * item for at in array.offsets for item in possible)
        if not possible:
            raise Unsuited
        if isinstance(index, Value):
            if index.low < 0:
                index = build.greatest([index, number(0)])
            if index.high >= array.memory.count:
                index = build.least([index, number(array.memory.count - 1)])
            ways = tuple(
                (own, build.value(f"getelementptr [{LANES * memory.bytes} x i8], ptr {address}, i64 {index.text}"))
                for own, address in array.ways
            )
            return Places(ways, memory, offsets)
        if len(array.ways) > 1 or len(possible) > MOST_WAYS:
            raise Unsuited
        ((_, base),) = array.ways
        found: list[tuple[Mask | None, str]] = []
        for item in possible:
            own = self.mask(self.compared("==", index, number(item))) if item != possible[0] else None
            found.append((own, build.offset(base, LANES * memory.bytes * item)))
        return Places(tuple(found), memory, offsets)

    def examined(self, index: Value | Lanes, length: Value) -> Value | Lanes:
        if index.low >= 0 and index.high < length.low:
            return index
        wrong = self.either(self.compared("<", index, number(0)), self.compared(">=", index, length))
        self.fail(wrong, checks.INDEX)
        if isinstance(index, Value):
            text = self.build.value(f"select i1 {wrong.text}, i64 0, i64 {index.text}")
            return Value(text, Sort.NUMBER, 0, max(0, length.high - 1))
        return index

    def fail(self, wrong: Value | Mask, code: int) -> None:
        if self.inside is not None:
            wrong = self.both(self.inside, wrong)
        some = self.build.bitwise("&", self.bits(wrong), self.active)
        checks.note_if(self.build, self.e, self.build.compared("!=", some, number(0)), code)

    def read(self, place: Places) -> Thing:
        cell = place.memory
        if not isinstance(cell, Cell):
            return place
        self.module.columns.update((offset, cell.bytes) for offset in place.offsets)
        bits = 8 * cell.bytes
        found: Lanes | None = None
        for own, address in place.ways:
            text = self.build.value(f"load <{LANES} x i{bits}>, ptr {address}, align 16")
            item = Lanes(text, bits, -(1 << (bits - 1)), (1 << (bits - 1)) - 1)
            found = item if found is None or own is None else self.chosen(own, item, found)
        assert found is not None
        return found

    # -- flags

    def flag(self, node: Expression) -> Value | Mask:
        match node:
            case nodes.Logic():
                return self.logic(node)
            case nodes.Not():
                return self.negated(self.flag(node.value))
            case nodes.Compare():
                return self.compare(node)
            case nodes.Among():
                item, others = self.number(node.item), [self.number(other) for other in node.others]
                found = reduce(self.either, [self.compared("==", item, other) for other in others])
                return self.negated(found) if node.negated else found
            case nodes.Fold() if node.operator is not FoldOp.SUM:
                return self.fold(node)
            case nodes.Fold() | nodes.Switch() | nodes.Fits():
                raise Unsuited
        return self.as_flag(self.expression(node))

    def logic(self, node: nodes.Logic) -> Value | Mask:
        found = self.flag(node.values[0])
        for item in node.values[1:]:
            with self.where(found if node.conjunction else self.negated(found)):
                other = self.flag(item)
            found = self.both(found, other) if node.conjunction else self.either(found, other)
        return found

    def first(self, node: nodes.Logic) -> Value | Lanes:
        found = self.number(node.values[0])
        for item in node.values[1:]:
            condition = self.as_flag(found)
            with self.where(condition if node.conjunction else self.negated(condition)):
                other = self.number(item)
            found = self.chosen(condition, *((other, found) if node.conjunction else (found, other)))
        return found

    def compare(self, node: nodes.Compare) -> Value | Mask:
        values = [self.number(node.first)]
        found: Value | Mask = flag(value=True)
        for order, item in node.rest:
            with self.where(found):
                values.append(self.number(item))
            found = self.both(found, self.compared(str(order), *values[-2:]))
        return found

    @contextmanager
    def where(self, condition: Value | Mask) -> Iterator[None]:
        before = self.inside
        inner = condition if before is None else self.both(before, condition)
        self.inside = self.mask(inner)
        try:
            yield
        finally:
            self.inside = before

    # -- loops

    def fold(self, node: nodes.Fold) -> Mask:
        """Return `all` or `any` over nested loops. Iterations that can fail run only in the lanes that need them."""
        build, every = self.build, node.operator is FoldOp.ALL
        slot, fails = build.register(), can_fail(self.module.program, node)
        build.slots.append(f"  {slot} = alloca {BITS}")
        build.emit(f"store {BITS} {ALL if every else NONE}, ptr {slot}")

        def open_() -> Value | Mask:
            if not fails:
                return flag(value=True)
            found = Mask(build.value(f"load {BITS}, ptr {slot}"))
            return found if every else self.negated(found)

        def decide() -> None:
            found = self.flag(node.value)
            before = Mask(build.value(f"load {BITS}, ptr {slot}"))
            if every:
                after = self.both(
                    before, found if self.inside is None else self.either(found, self.negated(self.inside))
                )
            else:
                after = self.either(before, found if self.inside is None else self.both(found, self.inside))
            build.emit(f"store {BITS} {self.mask(after).text}, ptr {slot}")

        self.clauses(list(node.clauses), open_, decide)
        return Mask(build.value(f"load {BITS}, ptr {slot}"))

    def clauses(self, left: list[nodes.Clause], open_: Callable[[], Value | Mask], decide: Callable[[], None]) -> None:
        """Write nested loops. `open_` returns the lanes that have no result yet."""
        if not left:
            decide()
            return
        clause = left[0]

        def round_(value: Thing, inside: Value | Mask) -> None:
            self.slots[clause.slot] = value
            with self.where(self.both(inside, open_())):
                self.tests(list(clause.tests), lambda: self.clauses(left[1:], open_, decide))

        if isinstance(clause.source, nodes.Numbers):
            first, last = self.number(clause.source.start), self.number(clause.source.stop)
            if (isinstance(first, Lanes) or isinstance(last, Lanes)) and last.high - first.low > MOST_ROUNDS:
                raise Unsuited
            begin = first if isinstance(first, Value) else number(first.low)
            end = last if isinstance(last, Value) else number(last.high)
            with counted(self.build, begin, end) as item:
                begun = self.compared(">=", item.at, first) if isinstance(first, Lanes) else flag(value=True)
                goes_on = self.compared("<", item.at, last) if isinstance(last, Lanes) else flag(value=True)
                round_(item.at, self.both(begun, goes_on))
            return
        source = self.expression(clause.source)
        if not isinstance(source, Places):
            raise Unsuited
        if isinstance(clause.source.type, BagRef):
            items = self.field(source, "items")
            if self.count(source).high:  # if the bag has room for messages
                with self.messages(source, self.active) as (item, has_one, _):
                    round_(self.element(items, item.at), has_one)
            return
        assert isinstance(clause.source.type, Arr)
        size = self.module.shape.size(self.build, self.e, clause.source.type.field.length)
        with counted(self.build, number(0), size) as item:
            round_(self.read(self.element(source, item.at)), flag(value=True))

    def tests(self, left: list[Expression], inner: Callable[[], None]) -> None:
        if not left:
            inner()
            return
        with self.where(self.flag(left[0])):
            self.tests(left[1:], inner)

    # -- messages

    @contextmanager
    def messages(self, bag: Places, active: Value) -> Iterator[tuple[Round, Value | Mask, Value]]:
        """Run the block's code for each place of a bag, until no active lane has a message at that place. Yield the
        lanes that have a message, and the active lanes among them as bits.
        """
        count = self.count(bag)
        with counted(self.build, number(0), number(count.high)) as item:
            has_one = self.compared("<", item.at, count)
            there = self.build.bitwise("&", active, self.bits(has_one))
            self.goes_on(there, item.end)
            yield item, has_one, there

    def goes_on(self, active: Value, otherwise: str) -> None:
        inside = self.build.label()
        self.build.branch(self.build.compared("!=", active, number(0)), inside, otherwise)
        self.build.begin(inside)

    def same(self, one: Places, other: Places) -> Mask:
        found: Value | Mask = flag(value=True)
        for a, b in pairs(self, one, other):
            found = self.both(found, self.compared("==", a, b))
        return self.mask(found)


def pairs(columns: Columns, one: Places, other: Places) -> Iterator[tuple[Lanes, Lanes]]:
    memory = one.memory
    if isinstance(memory, Cell):
        a, b = columns.read(one), columns.read(other)
        assert isinstance(a, Lanes)
        assert isinstance(b, Lanes)
        yield a, b
    elif isinstance(memory, Struct):
        for name in memory.fields:
            yield from pairs(columns, columns.field(one, name), columns.field(other, name))
    else:
        for place in range(memory.count):
            yield from pairs(columns, columns.element(one, number(place)), columns.element(other, number(place)))
