"""Translation of a checked function's statements to nodes."""

import ast
from collections.abc import Iterator, Mapping

from fencepost.explorers.program.ir import nodes
from fencepost.explorers.program.ir.expressions import Expressions, Functions, kind_of_value, named, where
from fencepost.explorers.program.ir.lifted import VALUE, Making
from fencepost.explorers.program.ir.nodes import Block, Expression, Slot, Statement
from fencepost.explorers.program.ir.program import locals_read
from fencepost.explorers.program.ir.views import Channels, view_of
from fencepost.explorers.program.subset.kinds import CONSTS, INT, BagRef, Function, Queue, Rec, Several
from fencepost.explorers.program.subset.program import is_require
from fencepost.model.language.acting import is_choice
from fencepost.model.language.records import ArrayOf, Nested, Scalar, fields


class Statements:
    def __init__(self, functions: Functions, made: Function, part: int | None = None) -> None:
        self.made, self.part = made, part
        self.expressions = Expressions(functions, made)
        self.slots = self.expressions.slots
        for name, kind in made.params.items():
            known = kind_of_value(kind)
            if known is not None:
                self.expressions.own(name, known)
        for name in made.drawn:
            self.expressions.own(name, INT)
        self.parameters = len(self.slots)
        self.prefix = 0
        self.guards = 0

    def body(self) -> Block:
        found: list[Statement] = []
        for place, node in enumerate(self.made.node.body):
            if place == self.made.guards:
                self.prefix = len(found)
            found += self.statement(node)
        if self.made.guards == len(self.made.node.body):
            self.prefix = len(found)
        return tuple(found)

    def block(self, nodes: list[ast.stmt]) -> Block:
        return tuple(statement for node in nodes for statement in self.statement(node))

    def statement(self, node: ast.stmt) -> list[Statement]:
        at = where(node)
        match node:
            case ast.Pass():
                return []
            case ast.Break():
                return [nodes.Break(at=at)]
            case ast.Continue():
                return [nodes.Continue(at=at)]
            case ast.Return():
                return [nodes.Return(None if node.value is None else self.given(node.value), at=at)]
            case ast.Expr(value=ast.Call() as call):
                return self.channel(node, call, None) or [self.effect(node, call)]
            case ast.Assign():
                return self.assign(node, node.targets[0], node.value)
            case ast.AnnAssign(value=ast.expr() as value):
                return self.assign(node, node.target, value)
            case ast.AugAssign():
                return self.augment(node)
            case ast.If():
                return [
                    nodes.If(self.expressions.value(node.test), self.block(node.body), self.block(node.orelse), at=at)
                ]
            case ast.For():
                if node.iter in self.made.views:
                    return self.view(node)
                source, slot = self.expressions.source(node.iter), self.target(node.target)
                return [nodes.For(slot, source, self.block(node.body), at=at)]
        raise AssertionError(ast.dump(node))

    def given(self, node: ast.expr) -> Expression:
        """Return a helper's result; if it has several, return the one that this function computes."""
        if self.part is None:
            return self.expressions.value(node)
        if isinstance(node, ast.Tuple):
            return self.expressions.value(node.elts[self.part])
        assert isinstance(node, ast.Call)
        return self.part_of(node, self.arguments(node), self.part)

    def arguments(self, node: ast.Call) -> list[Expression]:
        kinds = self.made.calls[node].params.values()
        return [self.expressions.value(item) for item, kind in zip(node.args, kinds, strict=True) if kind != CONSTS]

    def part_of(self, node: ast.Call, arguments: list[Expression], part: int) -> nodes.Call:
        callee = self.made.calls[node]
        assert isinstance(callee.returns, Several)
        number = self.expressions.functions.function(callee, part)
        return nodes.Call(
            number, tuple(arguments), at=where(node), type=kind_of_value(callee.returns.items[part]) or INT
        )

    def effect(self, node: ast.Expr, call: ast.Call) -> Statement:
        if is_require(self.made.python, node):
            self.guards += 1
            return nodes.Require(
                self.guards - 1, self.expressions.value(call.args[0]), self.made.bounds.get(call), at=where(node)
            )
        changed = self.bag(node, call, None)
        if changed is not None:
            return changed
        value = self.expressions.value(call)
        assert isinstance(value, nodes.Call)
        return nodes.Evaluate(value, at=where(node))

    def bag(self, node: ast.stmt, call: ast.expr, slot: Slot | None) -> Statement | None:
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call in self.made.calls:
            return None
        kind = self.made.types.get(call.func.value)
        if not isinstance(kind, BagRef):
            return None
        bag = self.expressions.value(call.func.value)
        if call.func.attr == "remove":
            message = self.expressions.value(call.args[0])
            return nodes.Remove(bag, message, at=where(node), checks=frozenset([nodes.Failure.ABSENT]))
        domains = {name: field.domain for name, field in fields(kind.field.record) if isinstance(field, Scalar)}
        fills = tuple(
            nodes.Fill(
                str(item.arg), self.expressions.value(item.value), domains[str(item.arg)], at=where(item), checks=VALUE
            )
            for item in call.keywords
        )
        return nodes.Add(bag, fills, slot, at=where(node), checks=frozenset([nodes.Failure.FULL]))

    def assign(self, node: ast.stmt, target: ast.expr, value: ast.expr) -> list[Statement]:
        if isinstance(target, ast.Tuple):
            if isinstance(value, ast.Call):
                return self.unpack(node, target.elts, value)
            assert isinstance(value, ast.Tuple)
            return self.together(node, target.elts, value.elts)
        if isinstance(target, ast.Name) and is_choice(self.made.python, value):
            return []
        if isinstance(target, ast.Name):
            slot = self.target(target)
            found = self.channel(node, value, slot)
            if found:
                return found
            changed = self.bag(node, value, slot)
            return [changed or nodes.Assign(slot, self.expressions.value(value), at=where(node))]
        if value in self.made.made:
            return self.write_out(node, target, value)
        given = self.expressions.value(value)
        return [self.store(node, self.place(target), given)]

    def unpack(self, node: ast.stmt, targets: list[ast.expr], call: ast.Call) -> list[Statement]:
        """Translate `a, b = helper(...)` to one call per value, with the same arguments, and then the assignments."""
        found: list[Statement] = []
        arguments = [self.slotted(item, found) for item in self.arguments(call)]
        slots = [self.target(item) for item in targets]
        kept = [self.slotted(self.part_of(call, arguments, part), found) for part in range(len(slots))]
        return [*found, *(nodes.Assign(slot, part, at=where(node)) for slot, part in zip(slots, kept, strict=True))]

    def slotted(self, value: Expression, before: list[Statement]) -> Expression:
        slot = self.expressions.slot("", value.type)
        before.append(nodes.Assign(slot, value, at=value.at))
        return nodes.Local(slot, at=value.at, type=slot.type)

    def write_out(self, node: ast.stmt, target: ast.expr, value: ast.expr) -> list[Statement]:
        """Translate a store of a constructed record: evaluate the values and the place, then store each field."""
        found: list[Statement] = []
        values = {path: self.slotted(item, found) for path, item in self.expressions.written(value).items()}
        place = self.slotted(self.place(target), found)
        return [*found, *self.fill(Making(where(node)), place, values, ())]

    def fill(
        self, make: Making, place: Expression, values: Mapping[tuple[str, ...], Expression], path: tuple[str, ...]
    ) -> Iterator[Statement]:
        assert isinstance(place.type, Rec)
        for name, field in fields(place.type.record):
            inner, here = make.field(place, name), (*path, name)
            if isinstance(field, Scalar):
                yield make.store(inner, values.get(here) or make.number(0), field.domain)
            elif isinstance(field, Nested):
                yield from self.fill(make, inner, values, here)
            elif isinstance(field, ArrayOf):
                yield self.clear(make, inner, field)

    def clear(self, make: Making, array: Expression, field: ArrayOf) -> Statement:
        slot = self.expressions.slot("", INT)
        item = make.element(array, make.read(slot))
        if isinstance(field.element, Nested):
            body = tuple(self.fill(make, item, {}, ()))
        else:
            body = (make.store(item, make.number(0), field.element.domain),)
        return nodes.For(slot, make.upto(nodes.Length(array, at=make.at)), body, at=make.at)

    def channel(self, node: ast.stmt, call: ast.expr, slot: Slot | None) -> list[Statement]:
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call in self.made.calls:
            return []
        if not isinstance(self.made.types.get(call.func.value), Queue):
            return []
        found: list[Statement] = []
        at = where(node)
        channel = self.slotted(self.expressions.value(call.func.value), found)
        change = Channels(channel, at, self.expressions.slot)
        if call.func.attr == "clear":
            return [*found, *self.fill(change, channel, {}, ())]
        if call.func.attr == "popleft":
            last = self.slotted(change.add(change.end, change.number(-1)), found)
            return [
                *found,
                change.count(last),
                change.moved(last),
                *self.fill(change, change.element(change.items, last), {}, ()),
            ]
        values = {str(item.arg): self.slotted(self.expressions.value(item.value), found) for item in call.keywords}
        last = self.slotted(change.end, found)
        found.append(change.count(change.add(change.end, change.number(1))))
        place = self.slotted(change.element(change.items, last), found)
        kinds = dict(fields(change.message))
        for name, value in values.items():
            kind = kinds[name]
            assert isinstance(kind, Scalar)
            found.append(change.store(change.field(place, name), value, kind.domain))
        return found if slot is None else [*found, nodes.Assign(slot, place, at=at)]

    def view(self, node: ast.For) -> list[Statement]:
        found: list[Statement] = []
        make = Making(where(node.iter))

        def slotted(value: Expression) -> Expression:
            return self.slotted(value, found)

        view = view_of(self.made, node.iter, lambda item: slotted(self.expressions.value(item)), make, slotted)
        slot = self.expressions.slot("", INT)
        items = named(node.target, view.item(make.read(slot)))
        first = [nodes.Assign(self.target(name), item, at=where(name)) for name, item in items]
        body = (*first, *self.block(node.body))
        return [*found, nodes.For(slot, make.upto(view.count), body, at=where(node))]

    def together(self, node: ast.stmt, targets: list[ast.expr], values: list[ast.expr]) -> list[Statement]:
        """Translate `a, b = x, y`. All values are evaluated before any target is assigned."""
        given = [self.expressions.value(item) for item in values]
        slots = [self.target(item) for item in targets]
        read = list(map(locals_read, given))
        first: list[Statement] = []
        if any(slot in later for number, slot in enumerate(slots) for later in read[number + 1 :]):
            given = [self.slotted(value, first) for value in given]
        return [*first, *(nodes.Assign(slot, value, at=where(node)) for slot, value in zip(slots, given, strict=True))]

    def target(self, name: ast.expr) -> Slot:
        assert isinstance(name, ast.Name)
        return self.expressions.own(name.id, self.expressions.kind(name))

    def place(self, target: ast.expr) -> nodes.Field | nodes.Element:
        found = self.expressions.value(target)
        assert isinstance(found, nodes.Field | nodes.Element)
        return found

    def store(self, node: ast.stmt, place: nodes.Field | nodes.Element, value: Expression) -> Statement:
        kind = place.kind
        if isinstance(kind, Scalar):
            return nodes.Store(place, value, kind.domain, at=where(node), checks=VALUE)
        return nodes.Copy(place, value, at=where(node))

    def augment(self, node: ast.AugAssign) -> list[Statement]:
        """Translate `x += 1`. The target is located and read first, then the value is evaluated and stored."""
        if isinstance(node.target, ast.Name):
            slot = self.target(node.target)
            old = nodes.Local(slot, at=where(node.target), type=INT)
            value = self.expressions.operation(node, node.op, old, self.expressions.value(node.value))
            return [nodes.Assign(slot, value, at=where(node))]
        before: list[Statement] = []
        place = self.place(node.target)
        if isinstance(place, nodes.Field):
            place = nodes.Field(self.kept(place.owner, before), place.name, at=place.at, type=place.type)
        else:
            array, index = self.kept(place.array, before), self.kept(place.index, before)
            place = nodes.Element(array, index, at=place.at, checks=place.checks, type=place.type)
        value = self.expressions.operation(node, node.op, place, self.expressions.value(node.value))
        return [*before, self.store(node, place, value)]

    def kept(self, value: Expression, before: list[Statement]) -> Expression:
        """Return an expression that may be used twice: `value` if evaluating it twice is harmless, else a new slot."""
        inner = value
        while isinstance(inner, nodes.Field) and inner.type != INT:
            inner = inner.owner
        if isinstance(inner, nodes.Local | nodes.Literal | nodes.Constant):
            return value
        return self.slotted(value, before)
