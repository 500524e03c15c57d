"""all, any and sum on a symbolic state; over a range without a bound, "for all" and "exists"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from fencepost.explorers.program.ir.nodes import FoldOp
from fencepost.explorers.symbolic import terms
from fencepost.explorers.symbolic.places import Bag, Cell, Slot
from fencepost.explorers.symbolic.references import Numbers, Refs, read
from fencepost.explorers.symbolic.terms import Flag, Num, both, choose, either, negate, number, truth

if TYPE_CHECKING:
    from fencepost.explorers.program.ir.nodes import Clause, Fold
    from fencepost.explorers.symbolic.frames import Frame, Walking
    from fencepost.explorers.symbolic.terms import Value


class Quantified(NamedTuple):
    """A fold over a range without a bound: its variable, what it says of that, and of all of the range.

    The fold comes to its end at the first number of which the body is `decides`.
    """

    variable: Num
    source: Numbers
    body: Flag
    whole: Flag
    decides: bool


def held_by(item: Any) -> Any:
    """Return what a loop's variable holds: a number, or what is referred to."""
    return read(item) if isinstance(item, Refs) and isinstance(item.first, Cell | Slot) else item


def fold(run: Walking, frame: Frame, node: Fold) -> Value:
    """Evaluate a fold: an element only where those before it leave the result open.

    A range without a bound makes `all` a "for all" and `any` an "exists", over one variable.
    """
    live = frame.live
    made = _Fold(run, frame, node)
    made.visit(node.clauses, True)
    frame.live = live
    if node.operator is FoldOp.SUM:
        return terms.total(made.found)
    return both(*made.found) if node.operator is FoldOp.ALL else either(*made.found)


class _Fold:
    """One fold: what was found of its elements so far."""

    def __init__(self, run: Walking, frame: Frame, node: Fold) -> None:
        self.run, self.frame, self.element = run, frame, node.value
        self.is_sum, self.is_all = node.operator is FoldOp.SUM, node.operator is FoldOp.ALL
        self.entry = frame.live
        self.found: list[Any] = []

    def reached(self, where: Flag) -> Flag:
        """Return where an element is looked at: nothing before it has decided the result."""
        if self.is_sum:
            return both(self.entry, where)
        return both(self.entry, where, *(item if self.is_all else negate(item) for item in self.found))

    def visit(self, clauses: tuple[Clause, ...], where: Flag) -> None:
        """Go through what the first clause runs over, or evaluate the element if there is no clause left."""
        run, frame = self.run, self.frame
        frame.live = self.reached(where)
        if frame.live is False:
            return
        if not clauses:
            item = run.value(frame, self.element)
            if self.is_sum:
                self.found.append(choose(where, number(item), 0))
            else:
                self.found.append(either(negate(where), truth(item)) if self.is_all else both(where, truth(item)))
            return
        node = clauses[0].source
        source = run.source(frame, node)
        if not self.is_sum and isinstance(source, Numbers) and source.is_endless:
            self.quantify(clauses, where, source)
            return
        before = len(run.checks)
        for condition, item in run.rounds(frame, node, source):
            self.enter(clauses, both(where, condition), item)
        has_order = not (isinstance(source, Refs) and isinstance(source.first, Bag)) or source.first.ordered
        if not self.is_sum and not has_order and any(item.passes is not True for item in run.checks[before:]):
            run.refuse(
                frame,
                node,
                "this goes through a bag, and --unbounded made something in its messages endless, so that they have no "
                "order: which one ends with an error first cannot be said",
                "leave its size bounded",
            )

    def enter(self, clauses: tuple[Clause, ...], inner: Flag, item: Any) -> None:
        """Take one item of the first clause, and go on with the other clauses if the conditions hold."""
        frame = self.frame
        frame.slots[clauses[0].slot.number] = held_by(item)
        for test in clauses[0].tests:
            frame.live = self.reached(inner)
            if frame.live is False:
                return
            inner = both(inner, truth(self.run.value(frame, test)))
        self.visit(clauses[1:], inner)

    def quantify(self, clauses: tuple[Clause, ...], where: Flag, source: Numbers) -> None:
        """Go through a range without a bound, by a variable for any of its numbers."""
        run, outer, entry, before = self.run, self.found, self.entry, len(self.run.checks)
        variable, condition = run.any_of(source)
        self.entry, self.found = self.reached(where), []
        run.quantified += 1
        self.enter(clauses, both(where, condition), variable)
        run.quantified -= 1
        body = both(*self.found) if self.is_all else either(*self.found)
        whole = terms.for_all(variable, body) if self.is_all else terms.exists(variable, body)
        quantified = Quantified(variable, source, body, whole, decides=not self.is_all)
        run.check_up_to(self.frame, clauses[0].source, before, quantified)
        self.entry, self.found = entry, [*outer, whole]
