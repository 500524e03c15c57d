"""A typed program specialized to the constants of one run. Expressions that the constants decide become literals, and
dead code is omitted. Sizes are not replaced by numbers, so that `range(c.brokers)` remains the range of all brokers.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from fencepost.explorers.program.ir import nodes
from fencepost.explorers.program.ir.nodes import BinaryOp, Block, Literal, Node, Slot
from fencepost.explorers.program.ir.program import Function, Program, inside, rebuilt
from fencepost.explorers.program.ir.ranges import HOLDS, with_ranges
from fencepost.explorers.program.ir.translate import with_effects
from fencepost.model.language.constants import Constants
from fencepost.model.language.records import Scalar

NEUTRAL = {BinaryOp.AND: -1, BinaryOp.OR: 0, BinaryOp.XOR: 0}


def settled(program: Program, constants: Constants) -> Program:
    """Return the specialized program without properties of behaviours. Every call gets a copy of the helper,
    specialized to the ranges of the call's arguments.
    """
    made: list[Function] = []
    known: dict[int, int] = {}

    def whole(number: int) -> int:
        if number not in known:
            known[number] = Settling(program, constants.values, made, None).function(program.functions[number])
        return known[number]

    found = replace(
        program,
        asked=tuple(item for item in program.asked if item.name in program.properties),
        initial=replace(program.initial, function=whole(program.initial.function)),
        actions=tuple(replace(item, function=whole(item.function)) for item in program.actions),
        normalize=None if program.normalize is None else whole(program.normalize),
        properties={name: whole(number) for name, number in program.properties.items()},
        behaviours={},
    )
    return with_effects(with_ranges(replace(found, functions=tuple(made)), constants.values))


class Settling:
    """The specialization of one function; a helper gets new slots."""

    def __init__(
        self, program: Program, constants: Mapping[str, int], functions: list[Function], slots: dict[Slot, Slot] | None
    ) -> None:
        self.program, self.constants, self.functions, self.slots = program, constants, functions, slots

    def function(self, function: Function) -> int:
        body = self.block(function.body)
        parameters, slots = (tuple(map(self.slot, item)) for item in (function.parameters, function.slots))
        number = len(self.functions)
        self.functions.append(replace(function, number=number, parameters=parameters, slots=slots, body=body))
        return number

    def slot(self, slot: Slot) -> Slot:
        return slot if self.slots is None else self.slots.setdefault(slot, Slot(slot.number, slot.name, slot.type))

    def block(self, block: Iterable[Node]) -> Block:
        return tuple(self.statements(block))

    def statements(self, block: Iterable[Node]) -> Iterator[Any]:
        for item in block:
            match item:
                case nodes.If():
                    test = self.node(item.test)
                    value = self.number(test)
                    if value is None:
                        yield replace(item, test=test, then=self.block(item.then), other=self.block(item.other))
                        continue
                    yield from (kept := self.block(item.then if value else item.other))
                    if kept and ends(kept[-1]):
                        return
                case nodes.For():
                    body = self.block(item.body)
                    source = self.node(item.source)
                    is_range = isinstance(source, nodes.Numbers)
                    is_empty = is_range and self.number(source.start) == self.number(source.stop) == 0
                    if not (is_empty or (not body and self.is_safe([source]))):
                        yield replace(item, slot=self.slot(item.slot), source=source, body=body)
                case nodes.Store() | nodes.Copy():
                    yield replace(rebuilt(item, self.node), place=rebuilt(item.place, self.node))
                case nodes.Evaluate():
                    acts = rebuilt(item, self.node)
                    if self.functions[acts.call.function].body or not self.is_safe(acts.call.arguments):
                        yield acts
                case nodes.Assign() | nodes.Add() if item.slot is not None:
                    yield replace(rebuilt(item, self.node), slot=self.slot(item.slot))
                case _:
                    changed = rebuilt(item, self.node)
                    yield changed
                    if ends(changed):
                        return

    def number(self, node: Node) -> int | None:
        if isinstance(node, nodes.Constant):
            return int(self.constants[node.name])
        return node.value if isinstance(node, Literal) else None

    def node(self, node: Node) -> Any:
        match node:
            case nodes.Field() | nodes.Element() if isinstance(node.kind, Scalar) and not node.checks:
                low, high = node.kind.domain.bounds(self.constants)
                if low == high:
                    return literal(node, low)
        changed = rebuilt(node, self.node)
        if isinstance(changed, nodes.Local | nodes.Clause):
            return replace(changed, slot=self.slot(changed.slot))
        match changed:
            case nodes.Select() if (value := self.number(changed.test)) is not None:
                return changed.then if value else changed.other
            case nodes.Not() if (value := self.number(changed.value)) is not None:
                return literal(changed, int(not value))
            case nodes.Compare():
                values = [self.number(item) for item in (changed.first, *(other for _, other in changed.rest))]
                known = [item for item in values if item is not None]
                if len(known) == len(values):
                    pairs = zip((order for order, _ in changed.rest), known, known[1:], strict=False)
                    return literal(changed, int(all(HOLDS[order](one, other) for order, one, other in pairs)))
            case nodes.Logic():
                return self.logic(changed)
            case nodes.Binary() if changed.operator in NEUTRAL:
                return self.combined(changed)
            case nodes.Call():
                helper = Settling(self.program, self.constants, self.functions, {})
                changed = replace(changed, function=helper.function(self.program.functions[changed.function]))
                match self.functions[changed.function].body:
                    case (nodes.Return(value=Literal(value=given)),) if self.is_safe(changed.arguments):
                        return literal(changed, given)
        return changed

    def logic(self, node: nodes.Logic) -> Node:
        """Omit operands that cannot decide the result, and all operands after one that always decides it."""
        known = [self.number(item) for item in node.values]
        decides = [value is not None and bool(value) != node.conjunction for value in known]
        stop = decides.index(True) + 1 if True in decides else len(known)
        left = [item for n, item in enumerate(node.values[:stop]) if known[n] is None or n == stop - 1]
        is_flag = node.conjunction or all(isinstance(item, nodes.Compare | nodes.Not) for item in left[:-1])
        if len(left) == 1 or (True in decides and is_flag and self.is_safe(left)):
            return left[-1]
        return replace(node, values=tuple(left))

    def combined(self, node: nodes.Binary) -> Node:
        for one, other in ((node.left, node.right), (node.right, node.left)):
            if isinstance(one, Literal):
                if one.value == NEUTRAL[node.operator]:
                    return other
                if one.value == 0 and node.operator is BinaryOp.AND and self.is_safe([other]):
                    return literal(node, 0)
        return node

    def is_safe(self, omitted: Iterable[Node]) -> bool:
        """Return whether these expressions can be omitted, because they neither fail nor write."""
        every = list(inside(omitted))
        called = (self.functions[item.function] for item in every if isinstance(item, nodes.Call))
        return not any(item.checks for item in every) and not any(it.can_fail or it.effects.writes for it in called)


def literal(node: Node, value: int) -> Literal:
    return Literal(value, at=node.at, low=value, high=value)


def ends(item: Node) -> bool:
    return isinstance(item, nodes.Return | nodes.Break | nodes.Continue) or (
        isinstance(item, nodes.Require) and isinstance(item.condition, Literal) and item.condition.value == 0
    )
