"""A function of a model as LLVM IR: its statements, in the order in which the plain semantics runs them.

A failed check leaves a code in the check array, and the function continues with a harmless value: nothing outside a
domain is stored, and nothing outside an array is read.
"""

from functools import partial

from fencepost.explorers.native.llvm import checks
from fencepost.explorers.native.llvm.types import Sort, Value, number
from fencepost.explorers.native.lower.expressions import Expressions
from fencepost.explorers.program.ir import nodes
from fencepost.explorers.program.ir.nodes import Block, Failure, Statement
from fencepost.explorers.program.subset.kinds import BagRef, Int
from fencepost.model.language.domains import Domain


class Code(Expressions):
    """Writer of the statements of one function."""

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
                raise AssertionError("a guard stands in an effect")

    def store(self, node: nodes.Store) -> None:
        """Store a number, unless it is outside its domain."""
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
        """Continue if a value is in its domain; else note VALUE and jump to `otherwise`."""
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
        other = partial(self.block, node.other) if node.other else None
        self.build.either(partial(self.decide, node.test), partial(self.block, node.then), other)

    def give(self, node: nodes.Return) -> None:
        if node.value is None:
            self.build.give()
        else:
            value = self.expression(node.value)
            self.build.give(self.build.number(value) if isinstance(node.value.type, Int) else value)

    def add(self, node: nodes.Add) -> None:
        """Add a message to a bag if there is room and its fields are in their domains."""
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
