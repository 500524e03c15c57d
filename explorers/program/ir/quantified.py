"""Properties that hold because there is nothing that they are about: messages that no action which happened ever sends.

What is said here is certain, and not all that is so: only bags are followed, and numbers that messages
are given as they are sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.explorers.program.ir import nodes
from fencepost.explorers.program.ir.nodes import FoldOp, Order
from fencepost.explorers.program.ir.oversights import names_in, path_of
from fencepost.explorers.program.ir.walk import inside
from fencepost.explorers.program.subset.kinds import BagRef, Rec

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from fencepost.explorers.program.ir.nodes import Slot
    from fencepost.explorers.program.ir.oversights import Where
    from fencepost.explorers.program.ir.program import Function, Program
    from fencepost.model.language.records import Record


class Sent:
    """Messages that the actions that happened may have put into bags."""

    def __init__(self, program: Program, happened: Collection[str]) -> None:
        self.program = program
        actions = [program.initial, *(item for item in program.actions if item.name in happened)]
        starts = [program.of(item) for item in actions]
        if program.normalize is not None:
            starts.append(program.functions[program.normalize])
        self.bags = {path for made in starts for number, path in made.effects.writes if number == 0}
        """The paths that were written."""
        self.nodes = [item for made in self._called(starts) for item in inside(made.body)]

    def _called(self, starts: list[Function]) -> list[Function]:
        found: dict[int, Function] = {}
        left = list(starts)
        while left:
            made = left.pop()
            if made.number not in found:
                found[made.number] = made
                left += [self.program.functions[number] for number in made.calls]
        return list(found.values())

    def values(self, record: type[Record], name: str) -> set[int] | None:
        """Return the numbers that a field of messages of a class may hold; None if they are not all written out."""
        found: set[int] = set()
        for item in self.nodes:
            match item:
                case nodes.Add() if isinstance(item.bag.type, BagRef) and item.bag.type.field.record is record:
                    fill = next((one.value for one in item.fills if one.name == name), None)
                    if fill is not None and not isinstance(fill, nodes.Literal):
                        return None
                    found.add(0 if fill is None else fill.value)
                case nodes.Store(place=nodes.Field() as place) if place.name == name and place.owner.type == Rec(
                    record
                ):
                    return None
                case nodes.Copy() if item.place.type == Rec(record):
                    return None
        return found

    # -- what is true whatever the rest says

    def is_idle(self, made: Function) -> bool:
        """Return whether a property is true for want of messages: a conjunction over bags, or a loop through one."""
        names = names_in(made)
        *before, last = made.body
        for item in before:
            if not (
                isinstance(item, nodes.Assign) or (isinstance(item, nodes.For) and self.is_empty(item.source, names))
            ):
                return False
        if not isinstance(last, nodes.Return) or last.value is None:
            return False
        through = any(isinstance(item, nodes.For) for item in before)
        return (through and _is_true(last.value)) or self.is_certain(last.value, names)

    def is_certain(self, value: nodes.Expression, names: Mapping[Slot, Where]) -> bool:
        """Return whether a condition is true because something that it goes through is empty."""
        match value:
            case nodes.Fold(operator=FoldOp.ALL):
                return self.is_nothing(value, names)
            case nodes.Not(value=nodes.Fold(operator=FoldOp.ANY) as inner):
                return self.is_nothing(inner, names)
            case nodes.Logic():
                certain = [self.is_certain(item, names) for item in value.values]
                return all(certain) if value.conjunction else any(certain)
        return False

    def is_nothing(self, fold: nodes.Fold, names: Mapping[Slot, Where]) -> bool:
        """Return whether a fold has no value to look at, or only folds that have none."""
        for clause in fold.clauses:
            if self.is_empty(clause.source, names) or any(self.is_missing(clause, test) for test in clause.tests):
                return True
        return fold.operator is FoldOp.ALL and self.is_certain(fold.value, names)

    def is_empty(self, source: nodes.Source, names: Mapping[Slot, Where]) -> bool:
        """Return whether a loop goes through a bag in which there never was a message."""
        if not isinstance(source, nodes.Expression) or not isinstance(source.type, BagRef):
            return False
        where = path_of(source, names)
        return where is not None and where[1] not in self.bags

    def is_missing(self, clause: nodes.Clause, test: nodes.Expression) -> bool:
        """Return whether a test asks of a message what no message has: `m.kind == FETCH`."""
        if isinstance(test, nodes.Logic) and test.conjunction:
            return any(self.is_missing(clause, part) for part in test.values)
        if not isinstance(clause.source, nodes.Expression) or not isinstance(clause.source.type, BagRef):
            return False
        for field, number in _compared(test):
            if isinstance(field.owner, nodes.Local) and field.owner.slot is clause.slot:
                known = self.values(clause.source.type.field.record, field.name)
                return known is not None and number not in known
        return False


def _compared(test: nodes.Expression) -> Iterator[tuple[nodes.Field, int]]:
    """Yield a field and the number that it is equal to."""
    if isinstance(test, nodes.Compare) and len(test.rest) == 1 and test.rest[0][0] is Order.EQUAL:
        for one, other in ((test.first, test.rest[0][1]), (test.rest[0][1], test.first)):
            if isinstance(one, nodes.Field) and isinstance(other, nodes.Literal):
                yield one, other.value


def _is_true(value: nodes.Expression) -> bool:
    return isinstance(value, nodes.Literal) and value.value != 0
