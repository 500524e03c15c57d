"""A model function as LLVM IR, in the plain semantics' order of evaluation.

If a check fails, the function stores a code in the check array and continues with a harmless value, so nothing outside
a domain is stored, and nothing outside an array is read.
"""

from collections.abc import Callable, Sequence
from functools import partial, reduce
from itertools import pairwise
from typing import Protocol

from fencepost.explorers.native.llvm import checks
from fencepost.explorers.native.llvm.builder import Builder, counted, counted_down
from fencepost.explorers.native.llvm.types import WORD_BITS, Memory, Sort, Value, number
from fencepost.explorers.native.lower.bags import Bags
from fencepost.explorers.native.lower.shape import Shape
from fencepost.explorers.program.ir import nodes
from fencepost.explorers.program.ir.nodes import BinaryOp, Block, Expression, Failure, Slot, Source, Statement
from fencepost.explorers.program.subset.kinds import INT, Arr, BagRef, Int
from fencepost.model.language.domains import Domain


class Whole(Protocol):
    """The interface of `Module` for code inside one function; `Module` documents the methods."""

    shape: Shape
    bags: Bags

    def call(self, build: Builder, function: int, e: Value, c: Value, values: Sequence[Value]) -> Value: ...

    def switch(self, build: Builder, e: Value, node: nodes.Switch) -> Value: ...

    def is_plain(self, node: Expression) -> bool: ...

    def drop(self, build: Builder, e: Value, bound: str) -> None: ...


class Code:
    def __init__(self, module: Whole, build: Builder, e: Value, c: Value) -> None:
        self.module, self.build, self.e, self.c = module, build, e, c
        self.slots: dict[Slot, tuple[str, Value]] = {}
        self.loops: list[tuple[str, str]] = []

    # -- locals

    def bind(self, slot: Slot, value: Value) -> None:
        value = self.build.number(value)
        if slot not in self.slots:
            self.slots[slot] = (self.build.slot(value.type), value)
        register, _ = self.slots[slot]
        self.build.keep(register, value)

    def local(self, node: nodes.Local) -> Value:
        register, first = self.slots[node.slot]
        return self.build.kept(register, first.type)

    # -- values

    def expression(self, node: Expression) -> Value:
        value = self._expression(node)
        if node.type == INT and value.type is Sort.NUMBER:
            low, high = max(value.low, node.low), min(value.high, node.high)
            return value._replace(low=low, high=high) if low <= high else value
        return value

    def number(self, node: Expression) -> Value:
        return self.build.number(self.expression(node))

    def _expression(self, node: Expression) -> Value:
        build = self.build
        match node:
            case nodes.Literal():
                return number(node.value)
            case nodes.Constant():
                return build.named(self.c, node.name)
            case nodes.Local():
                return self.local(node)
            case nodes.Field() | nodes.Element():
                return build.read(*self.place(node))
            case nodes.Length():
                return self.length(node)
            case nodes.Unary():
                return self.unary(node)
            case nodes.Binary():
                return self.binary(node)
            case nodes.Extreme():
                values = [self.number(item) for item in node.values]
                return build.greatest(values) if node.greatest else build.least(values)
            case nodes.Among():
                return self.among(node)
            case nodes.Select():
                return build.chosen(
                    partial(self.decide, node.test), partial(self.number, node.then), partial(self.number, node.other)
                )
            case nodes.Fold() if node.operator is nodes.FoldOp.SUM:
                return self.total(node)
            case nodes.Logic() if not _is_flag(node):
                return self.first(node)
            case nodes.Call():
                return self.call(node)
        return self.flag(node)

    def length(self, node: nodes.Length) -> Value:
        owner = self.expression(node.of)
        if isinstance(node.of.type, Arr):
            return self.module.shape.size(self.build, self.e, node.of.type.field.length)
        return self.module.bags.count(self.build, owner)

    def unary(self, node: nodes.Unary) -> Value:
        value = self.number(node.value)
        if node.operator is nodes.UnaryOp.ABSOLUTE:
            return self.kept(node, checks.magnitude(self.build, self.e, value))
        if node.operator is nodes.UnaryOp.INVERT:
            return self.build.bitwise("^", value, number(-1))
        return self.sum(node, "-", number(0), value)

    def binary(self, node: nodes.Binary) -> Value:
        build, sign = self.build, str(node.operator)
        left, right = self.number(node.left), self.number(node.right)
        match node.operator:
            case BinaryOp.ADD | BinaryOp.SUBTRACT | BinaryOp.MULTIPLY:
                return self.sum(node, sign, left, right)
            case BinaryOp.DIVIDE | BinaryOp.MODULO:
                return build.divided(sign, left, right.low)
            case BinaryOp.AND | BinaryOp.OR | BinaryOp.XOR:
                return build.bitwise(sign, left, right)
            case BinaryOp.LEFT:
                return self.kept(node, self.left_shift(node, left, right))
        return self.kept(node, checks.right_shift(build, self.e, left, right))

    def sum(self, node: nodes.Unary | nodes.Binary | nodes.Fold, sign: str, left: Value, right: Value) -> Value:
        if Failure.NUMBER not in node.checks:
            return self.build.wrapped(sign, left, right)
        found, wrong = self.build.overflowing(sign, left, right)
        if wrong is not None:
            checks.note_if(self.build, self.e, wrong, checks.NUMBER if sign == "*" else checks.SUM)
            found = self.harmless(node, wrong, found)
        return found

    def left_shift(self, node: nodes.Binary, value: Value, count: Value) -> Value:
        build = self.build
        if not node.checks:
            return build.shifted("<<", value, count)
        if Failure.SHIFT in node.checks:
            checks.note_if(build, self.e, build.compared("<", count, number(0)), checks.SHIFT)
        few = build.value(f"call i64 @llvm.umin.i64(i64 {count.text}, i64 {WORD_BITS - 1})")
        moved = build.value(f"shl i64 {value.text}, {few}")
        back = build.value(f"ashr i64 {moved}, {few}")
        lost = build.value(f"icmp ne i64 {back}, {value.text}")
        far = build.value(f"icmp ugt i64 {count.text}, {WORD_BITS - 1}")
        some = build.value(f"icmp ne i64 {value.text}, 0")
        wrong = Value(build.value(f"or i1 {lost}, {build.value(f'and i1 {far}, {some}')}"), Sort.FLAG)
        checks.note_if(build, self.e, wrong, checks.NUMBER)
        return self.harmless(node, wrong, Value(moved, Sort.NUMBER))

    def harmless(self, node: Expression, wrong: Value, value: Value) -> Value:
        """Return a value; after an error, return some other value that the expression can have."""
        some = min(max(0, node.low), node.high)
        text = self.build.value(f"select i1 {wrong.text}, i64 {some}, i64 {value.text}")
        return Value(text, Sort.NUMBER, node.low, node.high)

    def kept(self, node: Expression, value: Value) -> Value:
        """Return a value clamped to its expression's bounds, which the value may exceed after a failed check."""
        if not node.checks or (value.low >= node.low and value.high <= node.high):
            return value
        build = self.build
        return build.least([build.greatest([value, number(node.low)]), number(node.high)])

    def call(self, node: nodes.Call) -> Value:
        values = [self.build.number(self.expression(item)) for item in node.arguments]
        return self.module.call(self.build, node.function, self.e, self.c, values)

    # -- places

    def place(self, node: nodes.Field | nodes.Element) -> tuple[str, Memory]:
        if isinstance(node, nodes.Field):
            return self.build.field(self.expression(node.owner), node.name)
        array = self.expression(node.array)
        index = self.number(node.index)
        if Failure.INDEX in node.checks:
            length = self.module.shape.size(self.build, self.e, node.field.length)
            index = checks.index(self.build, self.e, index, length)
        return self.build.element(array, index)

    # -- flags

    def flag(self, node: Expression) -> Value:
        return self.straight(node) if self.module.is_plain(node) else self.build.decided(partial(self.decide, node))

    def decide(self, node: Expression, yes: str, no: str) -> None:
        """End the current block with a branch on a condition. Evaluate only the parts that are needed, unless it
        is cheaper to evaluate all of them.
        """
        build = self.build
        if isinstance(node, nodes.Literal):
            build.jump(yes if node.value else no)
            return
        if self.module.is_plain(node):
            build.branch(self.straight(node), yes, no)
            return
        match node:
            case nodes.Logic():
                for item in node.values[:-1]:
                    following = build.label()
                    self.decide(item, *((following, no) if node.conjunction else (yes, following)))
                    build.begin(following)
                self.decide(node.values[-1], yes, no)
            case nodes.Not():
                self.decide(node.value, no, yes)
            case nodes.Compare():
                self.compare(node, yes, no)
            case nodes.Switch():
                following = build.label()
                off = self.module.switch(build, self.e, node)
                build.branch(off, yes, following)
                build.begin(following)
                self.decide(node.condition, yes, no)
            case nodes.Fits():
                full = build.label()
                self.decide(node.condition, yes, full)
                build.begin(full)
                self.module.drop(build, self.e, node.bound)
                build.jump(no)
            case nodes.Fold() if node.operator is not nodes.FoldOp.SUM:
                self.fold(node, yes, no)
            case _:
                build.branch(build.flag(self.expression(node)), yes, no)

    def straight(self, node: Expression) -> Value:
        """Return a plain condition as a flag. The code evaluates all parts, so that no branch can be mispredicted."""
        build = self.build
        match node:
            case nodes.Logic():
                sign = "&" if node.conjunction else "|"
                return reduce(lambda one, other: build.joined(sign, one, other), map(self.straight, node.values))
            case nodes.Not():
                return build.negated(self.straight(node.value))
            case nodes.Compare():
                values = [self.number(node.first), *(self.number(other) for _, other in node.rest)]
                signs = [str(order) for order, _ in node.rest]
                found = [build.compared(sign, *pair) for sign, pair in zip(signs, pairwise(values), strict=True)]
                return reduce(lambda one, other: build.joined("&", one, other), found)
        return build.flag(self.expression(node))

    def compare(self, node: nodes.Compare, yes: str, no: str) -> None:
        left = self.number(node.first)
        for place, (order, other) in enumerate(node.rest):
            right = self.number(other)
            following = yes if place == len(node.rest) - 1 else self.build.label()
            self.build.branch(self.build.compared(str(order), left, right), following, no)
            if following != yes:
                self.build.begin(following)
            left = right

    def among(self, node: nodes.Among) -> Value:
        build = self.build
        item, others = self.number(node.item), [self.number(other) for other in node.others]
        found = reduce(partial(build.joined, "|"), [build.compared("==", item, other) for other in others])
        return build.negated(found) if node.negated else found

    def first(self, node: nodes.Logic) -> Value:
        """Return the operand that decides an `and` or `or`, for operands that need not be 0 or 1."""
        build = self.build
        end = build.label()
        ways = []
        for item in node.values:
            value = self.number(item)
            condition = build.flag(value)
            known = {"true": True, "false": False}.get(condition.text)
            assert build.at is not None
            if item is node.values[-1] or (known is not None and known is not node.conjunction):
                ways.append((value, build.at))
                build.jump(end)
                break
            if known is None:
                ways.append((value, build.at))
                following = build.label()
                build.branch(condition, *((following, end) if node.conjunction else (end, following)))
                build.begin(following)
        build.begin(end)
        return build.phi(ways)

    # -- loops

    def fold(self, node: nodes.Fold, yes: str, no: str) -> None:
        every = node.operator is nodes.FoldOp.ALL
        decided, otherwise = (no, yes) if every else (yes, no)

        def inside() -> None:
            following = self.build.label()
            self.decide(node.value, *((following, decided) if every else (decided, following)))
            self.build.begin(following)

        self.nested(node.clauses, inside)
        self.build.jump(otherwise)

    def total(self, node: nodes.Fold) -> Value:
        kept = self.build.slot(Sort.NUMBER)
        self.build.keep(kept, number(0))

        def inside() -> None:
            value = self.number(node.value)
            before = self.build.kept(kept, Sort.NUMBER)
            if Failure.NUMBER in node.checks:
                found, wrong = self.build.overflowing("+", before, value)
                if wrong is not None:
                    checks.note_if(self.build, self.e, wrong, checks.SUM)
            else:
                found = self.build.wrapped("+", before, value)
            self.build.keep(kept, found)

        self.nested(node.clauses, inside)
        return self.kept(node, self.build.kept(kept, Sort.NUMBER))

    def nested(self, clauses: Sequence[nodes.Clause], inside: Callable[[], None]) -> None:
        if not clauses:
            inside()
            return
        clause, rest = clauses[0], clauses[1:]

        def body() -> None:
            skip, _ = self.loops[-1]
            for test in clause.tests:
                following = self.build.label()
                self.decide(test, following, skip)
                self.build.begin(following)
            self.nested(rest, inside)

        self.each(clause.slot, clause.source, body)

    def each(self, slot: Slot, source: Source, body: Callable[[], None]) -> None:
        build = self.build
        if isinstance(source, nodes.Numbers):
            start, stop = self.number(source.start), self.number(source.stop)
            with counted(build, start, stop) as item:
                self.round(slot, item.at, (item.following, item.end), body)
            return
        of = self.expression(source)
        if isinstance(source.type, Arr):
            with counted(build, number(0), self.module.shape.size(build, self.e, source.type.field.length)) as item:
                self.round(slot, build.read(*build.element(of, item.at)), (item.following, item.end), body)
            return
        assert isinstance(source.type, BagRef)
        last = build.wrapped("-", self.module.bags.count(build, of), number(1))
        with counted_down(build, last, number(-1)) as item:
            self.round(slot, self.module.bags.item(build, of, item.at), (item.following, item.end), body)

    def round(self, slot: Slot, value: Value, ways: tuple[str, str], body: Callable[[], None]) -> None:
        self.bind(slot, value)
        self.loops.append(ways)
        body()
        self.loops.pop()

    # -- statements

    def block(self, statements: Block) -> None:
        for item in statements:
            if self.build.at is None:
                return
            self.statement(item)

    def statement(self, node: Statement) -> None:
        match node:
            case nodes.Assign():
                self.bind(node.slot, self.expression(node.value))
            case nodes.Store():
                self.store(node)
            case nodes.Copy():
                source = self.expression(node.source)
                address, memory = self.place(node.place)
                self.build.write(address, memory, source)
            case nodes.If():
                self.choice(node)
            case nodes.For():
                self.each(node.slot, node.source, lambda: self.block(node.body))
            case nodes.Break():
                self.build.jump(self.loops[-1][1])
            case nodes.Continue():
                self.build.jump(self.loops[-1][0])
            case nodes.Return():
                self.give(node)
            case nodes.Evaluate():
                self.expression(node.call)
            case nodes.Add():
                self.add(node)
            case nodes.Remove():
                bag = self.expression(node.bag)
                message = self.expression(node.message)
                self.module.bags.remove(self.build, self.e, bag, message)
            case nodes.Require():
                raise AssertionError("an effect contains a guard")

    def store(self, node: nodes.Store) -> None:
        value = self.number(node.value)
        address, memory = self.place(node.place)
        if Failure.VALUE not in node.checks:
            self.build.write(address, memory, value)
            return
        end = self.build.label()
        self.within(value, node.domain, end)
        self.build.write(address, memory, value)
        self.build.jump(end)
        self.build.begin(end)

    def within(self, value: Value, domain: Domain, otherwise: str) -> None:
        build, shape = self.build, self.module.shape
        low = shape.bound(build, self.e, domain, high=False)
        high = shape.bound(build, self.e, domain, high=True)
        below, above = build.compared("<", value, low), build.compared(">", value, high)
        bad, good = build.label(), build.label()
        build.branch(Value(build.value(f"or i1 {below.text}, {above.text}"), Sort.FLAG), bad, good, checks.RARE)
        build.begin(bad)
        checks.note(build, self.e, checks.VALUE)
        build.jump(otherwise)
        build.begin(good)

    def choice(self, node: nodes.If) -> None:
        if isinstance(node.test, nodes.Literal):
            self.block(node.then if node.test.value else node.other)
            return
        other = partial(self.block, node.other) if node.other else None
        self.build.either(partial(self.decide, node.test), partial(self.block, node.then), other)

    def give(self, node: nodes.Return) -> None:
        if node.value is None:
            self.build.give()
        else:
            value = self.expression(node.value)
            self.build.give(self.build.number(value) if isinstance(node.value.type, Int) else value)

    def add(self, node: nodes.Add) -> None:
        assert isinstance(node.bag.type, BagRef)
        build, bags = self.build, self.module.bags
        bag = self.expression(node.bag)
        values = [self.number(item.value) for item in node.fills]
        room = self.module.shape.size(build, self.e, node.bag.type.field.room)
        place = bags.last(build, bag)
        if node.slot is not None:
            self.bind(node.slot, place)
        end = build.label()
        full, free = build.label(), build.label()
        count = bags.count(build, bag)
        build.branch(build.compared(">=", count, room), full, free, checks.RARE)
        build.begin(full)
        checks.note(build, self.e, checks.FULL)
        build.jump(end)
        build.begin(free)
        for item, value in zip(node.fills, values, strict=True):
            if Failure.VALUE in item.checks:
                self.within(value, item.domain, end)
        bags.clear(build, place)
        for item, value in zip(node.fills, values, strict=True):
            address, memory = build.field(place, item.name)
            build.write(address, memory, value)
        bags.resize(build, bag, build.wrapped("+", count, number(1)))
        build.jump(end)
        build.begin(end)


def _is_flag(node: Expression) -> bool:
    match node:
        case nodes.Compare() | nodes.Not() | nodes.Among() | nodes.Switch() | nodes.Fits():
            return True
        case nodes.Fold():
            return node.operator is not nodes.FoldOp.SUM
        case nodes.Logic():
            return all(map(_is_flag, node.values))
    return node.low >= 0 and node.high <= 1
