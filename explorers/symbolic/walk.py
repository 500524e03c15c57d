"""A walk through one function of the typed program on a symbolic state, following both sides of every branch.

Each store in a branch applies only under the branch's condition. Every guard is recorded, and so is every check of the
plain semantics: whether an index is inside its array, a value is in its domain, and a bag has room.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import z3
from fencepost.explorers.program.ir import nodes
from fencepost.explorers.program.ir.program import Function
from fencepost.explorers.symbolic import bags, expressions, loops, terms
from fencepost.explorers.symbolic.frames import Frame, Numbers, Refs, Walking, merge, read
from fencepost.explorers.symbolic.loops import Quantified, held_by
from fencepost.explorers.symbolic.places import Arr, Bag, Endless
from fencepost.explorers.symbolic.terms import Flag, Num, UnknownOperation, Value
from fencepost.model.language.records import ArrayOf, BagOf, Nested, Record, Scalar, fields

MOST_ROUNDS = 4096


class Walk(Walking):
    def call(self, made: Function, arguments: list[Any], where: Flag) -> Any:
        frame = Frame(made, where, dict(enumerate(arguments)))
        self.block(frame, made.body)
        found: Any = None
        for condition, value in reversed(frame.results):
            found = value if found is None else merge(condition, value, found)
        return found

    def value(self, frame: Frame, node: nodes.Expression) -> Any:
        return expressions.value(self, frame, node)

    # -- folds over a range without a bound

    def any_of(self, source: Numbers) -> tuple[Num, Flag]:
        """Return a variable for the numbers of a range, and the condition that it is in the range. In the condition,
        it has no bounds, because constant folding would otherwise remove the condition, which a quantifier needs.
        """
        self.variables += 1
        term = terms.integer(f"any.{self.variables}")
        anything = Num(term, None, None)
        inside = terms.both(terms.at_most(source.start, anything), terms.less(anything, source.stop))
        return Num(term, source.low, None if source.high is None else source.high - 1), inside

    def check_up_to(self, frame: Frame, node: nodes.Node, before: int, fold: Quantified) -> None:
        """Limit the checks of a fold's body to the numbers up to the one that decides the result, where the fold ends.
        In a property, the checks for a number count only if no earlier number decides the result. In a step, the first
        deciding number gets a name, which simplifies the terms for z3.
        """
        made = [item for item in self.checks[before:] if item.passes is not True]
        del self.checks[before:]
        if not made:
            return
        variable, (start, stop) = Num(fold.variable.term, None, None), fold.source
        here = terms.same(fold.body, fold.decides)
        if self.havoc_loops is None:
            self.variables += 1
            other = Num(terms.integer(f"any.{self.variables}"), None, None)
            there = z3.substitute(terms.boolean(here), (variable.term, other.term))
            reached = terms.for_all(other, terms.either(terms.at_most(variable, other), terms.negate(there)))
            self.checks += [replace(item, where=terms.both(item.where, reached)).for_all(variable) for item in made]
            return
        if self.quantified:
            what = "this may raise an error in an unbounded loop inside another unbounded loop"
            self.refuse(frame, node, what, "remove the constant that bounds one of the loops from `unbounded=`")
        last = Num(terms.integer(self.fresh_name()), None, None)
        decided = terms.same(fold.whole, fold.decides)
        earlier = terms.for_all(
            variable, terms.either(terms.less(variable, start), terms.at_most(last, variable), terms.negate(here))
        )
        at_last = z3.substitute(terms.boolean(here), (variable.term, last.term))
        self.facts += [
            terms.either(
                terms.negate(decided), terms.both(terms.at_most(start, last), terms.less(last, stop), at_last, earlier)
            ),
            terms.either(decided, terms.at_most(stop, last)),
        ]
        upto = terms.at_most(variable, last)
        self.checks += [replace(item, where=terms.both(item.where, upto)).for_all(variable) for item in made]

    # -- statements

    def block(self, frame: Frame, statements: nodes.Block) -> None:
        for statement in statements:
            if frame.live is False:
                return
            try:
                _STATEMENTS[type(statement)](self, frame, statement)
            except UnknownOperation as error:
                what = f"the symbolic engine has no term for {error}"
                self.refuse(frame, statement, what, "bound the number, or use `check`")

    def jump(self, frame: Frame, node: nodes.Break | nodes.Continue) -> None:
        (frame.breaks if isinstance(node, nodes.Break) else frame.continues).append(frame.live)
        frame.live = False

    def give_back(self, frame: Frame, node: nodes.Return) -> None:
        frame.results.append((frame.live, None if node.value is None else self.value(frame, node.value)))
        frame.live = False

    def require(self, frame: Frame, node: nodes.Require) -> None:
        condition = terms.truth(self.value(frame, node.condition))
        self.guards.append(condition)
        self.assumed = terms.both(self.assumed, condition)

    def evaluate(self, frame: Frame, node: nodes.Evaluate) -> None:
        self.value(frame, node.call)

    def assign(self, frame: Frame, node: nodes.Assign) -> None:
        self.hold(frame, node.slot.number, self.value(frame, node.value))

    def hold(self, frame: Frame, slot: int, value: Any) -> None:
        old = frame.slots.get(slot)
        frame.slots[slot] = value if old is None else merge(frame.live, value, old)

    def store(self, frame: Frame, node: nodes.Store) -> None:
        """Store a number. The value is evaluated before the place."""
        value = self.value(frame, node.value)
        for condition, cell in expressions.place(self, frame, node.place).options:
            self.put(frame, cell, value, condition)

    def copy(self, frame: Frame, node: nodes.Copy) -> None:
        source: Refs = self.value(frame, node.source)
        places = expressions.place(self, frame, node.place)
        self._copy(frame, places, source, places.first.record)

    def branch(self, frame: Frame, node: nodes.If) -> None:
        test = terms.truth(self.value(frame, node.test))
        if isinstance(test, bool):
            self.block(frame, node.then if test else node.other)
            return
        self.branches += 1
        entry = frame.live
        ends = []
        for condition, body in ((test, node.then), (terms.negate(test), node.other)):
            frame.live = start = terms.both(entry, condition)
            self.block(frame, body)
            ends.append((frame.live, frame.live is start))
        frame.live = entry if all(whole for _, whole in ends) else terms.either(*(end for end, _ in ends))

    def loop(self, frame: Frame, node: nodes.For) -> None:
        source = self.source(frame, node.source)
        if self.havoc_loops and isinstance(source, Numbers) and source.is_endless:
            loops.forget(self, frame, node, source)
            return
        if isinstance(source, Refs) and isinstance(source.first, Bag) and not source.first.ordered:
            what = "this loop iterates over messages without an order, because `unbounded=` made part of them unbounded"
            instead = "remove the constant that limits this part from `unbounded=`, or write all(), any() or sum()"
            self.refuse(frame, node.source, what, instead)
        outer = frame.breaks, frame.continues
        frame.breaks = []
        known = set(frame.slots)
        live = frame.live
        for condition, item in self.rounds(frame, node.source, source):
            enter = terms.both(live, condition)
            if enter is False:
                continue
            for slot in [slot for slot in frame.slots if slot not in known]:
                del frame.slots[slot]
            frame.live, frame.continues = enter, []
            before = frame.slots.get(node.slot.number)
            frame.slots[node.slot.number] = held_by(item)
            self.block(frame, node.body)
            if before is not None:  # the variable keeps its value if this iteration is not reached
                frame.slots[node.slot.number] = merge(enter, frame.slots[node.slot.number], before)
            if frame.live is not enter:
                live = terms.either(terms.both(live, terms.negate(condition)), frame.live, *frame.continues)
        frame.live = terms.either(live, *frame.breaks)
        frame.breaks, frame.continues = outer

    def source(self, frame: Frame, node: nodes.Source) -> Numbers | Refs:
        if isinstance(node, nodes.Numbers):
            start = self.value(frame, node.start)
            return Numbers(start, self.value(frame, node.stop))
        found: Refs = self.value(frame, node)
        return found

    def rounds(self, frame: Frame, node: nodes.Source, source: Numbers | Refs) -> Iterator[tuple[Flag, Any]]:
        """Yield (condition, item) for every possible item of a loop or a generator, in order."""
        if isinstance(source, Numbers):
            yield from self.numbers(frame, node, source)
        elif isinstance(source.first, Endless):
            what = "this loop iterates over an array that `unbounded=` made unbounded"
            self.refuse(frame, node, what, "remove the constant that sets the array's size from `unbounded=`")
        elif isinstance(source.first, Arr):
            for index in range(len(source.first.items)):
                yield True, Refs(tuple((on, array.items[index]) for on, array in source.options))
        else:
            for condition, bag in source.options:
                messages = reversed(list(zip(bag.present, bag.slots, strict=True)))
                yield from [(terms.both(condition, on), Refs(((True, item),))) for on, item in messages]

    def numbers(self, frame: Frame, node: nodes.Source, source: Numbers) -> Iterator[tuple[Flag, int]]:
        low, high = source.low, source.high
        if low is None or high is None:
            instead = "remove the constant that bounds the loop from `unbounded=`"
            if self.havoc_loops is False:
                instead += ", or add `havoc_loops=True`"
            what = "this loop is unbounded: it runs to a number that `unbounded=` made unbounded"
            self.refuse(frame, node, what, instead)
        if high - low > MOST_ROUNDS:
            what = f"this loop may have {high - low:,} iterations, and a proof must follow each iteration"
            instead = f"limit the loop to at most {MOST_ROUNDS:,} iterations, or use `check`"
            self.refuse(frame, node, what, instead)
        for item in range(low, high):
            condition = terms.both(terms.at_most(source.start, item), terms.less(item, source.stop))
            if condition is not False:
                yield condition, item

    # -- stores

    def put(self, frame: Frame, cell: Any, value: Value, condition: Flag) -> None:
        where = terms.both(frame.where, condition)
        if where is False:
            return
        fits = cell.kind.typed(value)
        if fits is not True:
            self.check(frame, terms.either(terms.negate(condition), fits), f"{cell.kind.label} leaves its domain")
        self.write(cell, value, where)

    def write(self, cell: Any, value: Value, where: Flag) -> None:
        for journal in self.journals:
            journal.note(cell)
        cell.put(value, where)

    def _copy(self, frame: Frame, targets: Refs, source: Refs, record: type[Record]) -> None:
        for name, kind in fields(record):
            to, of = expressions.part(targets, name), expressions.part(source, name)
            self._copy_field(frame, to, of, kind)

    def _copy_field(self, frame: Frame, to: Refs, of: Refs, kind: Any) -> None:
        if isinstance(kind, Scalar):
            value = read(of)
            for condition, cell in to.options:
                self.write(cell, value, terms.both(frame.where, condition))
        elif isinstance(kind, Nested):
            self._copy(frame, to, of, kind.record)
        elif isinstance(kind, ArrayOf):
            if isinstance(to.first, Endless):
                raise UnknownOperation("a copy of an unbounded array")
            for index in range(len(to.first.items)):
                a, b = (Refs(tuple((on, arr.items[index]) for on, arr in refs.options)) for refs in (to, of))
                self._copy_field(frame, a, b, kind.element)
        else:
            assert isinstance(kind, BagOf)
            raise UnknownOperation("a copy of a bag")

    # -- bags

    def add(self, frame: Frame, node: nodes.Add) -> None:
        """Evaluate a message's fields, and add the message to the end of a bag."""
        bag: Bag = self.value(frame, node.bag).first
        values = [(item.name, self.value(frame, item.value)) for item in node.fills]
        self.messages += 1
        self.check(frame, terms.negate(bags.is_full(bag)), f"{bag.label} is full: {bag.room} messages are in flight")
        made = Refs(((True, bags.added(bag, frame.where)),))
        for name, value in values:
            for condition, cell in expressions.part(made, name).options:
                self.put(frame, cell, value, condition)
        if node.slot is not None:
            self.hold(frame, node.slot.number, made)

    def remove(self, frame: Frame, node: nodes.Remove) -> None:
        """Remove a message from a bag or, if the bag does not contain it, the first equal message."""
        bag: Bag = self.value(frame, node.bag).first
        message: Refs = self.value(frame, node.message)
        self.messages += 1
        missing = bags.removed(bag, message, frame.where)
        self.check(frame, terms.negate(missing), f"{bag.label} does not contain the message to remove")


_STATEMENTS: dict[type[nodes.Statement], Callable[[Walk, Frame, Any], None]] = {
    nodes.Break: Walk.jump, nodes.Continue: Walk.jump, nodes.Return: Walk.give_back, nodes.Require: Walk.require,
    nodes.Evaluate: Walk.evaluate, nodes.Assign: Walk.assign, nodes.Store: Walk.store, nodes.Copy: Walk.copy,
    nodes.If: Walk.branch, nodes.For: Walk.loop, nodes.Add: Walk.add, nodes.Remove: Walk.remove,
}  # fmt: skip
