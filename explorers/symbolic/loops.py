"""Folds, and loops that `unbounded=` makes unbounded; a proof may havoc such loops.

After a havocked loop, everything that the loop may write has an arbitrary value in its domain. Havoc over-approximates
the loop, so proofs are sound, but a counterexample to induction need not be a step of the model. The written places are
found by walking through the body until no new place appears. Each walk represents an arbitrary iteration, from a state
in which the places found so far have arbitrary values. Checks in that iteration stand for checks in every iteration, so
the proof reports a possible error in the body.
"""

from typing import Any, NamedTuple

import z3
from fencepost.explorers.program.ir.nodes import Clause, Fold, FoldOp, For
from fencepost.explorers.symbolic import terms
from fencepost.explorers.symbolic.frames import Frame, Numbers, Refs, Walking, read
from fencepost.explorers.symbolic.places import Bag, Cell, Kind, Slot
from fencepost.explorers.symbolic.terms import Flag, Mask, Members, Num, Value

Ends = tuple[int | None, int | None]
Shape = Ends | int | None
"""The values of a local variable: a number's bounds, the number of a set's possible members, or None for a flag."""


class Journal:
    def __init__(self) -> None:
        self.old: dict[Any, tuple[Cell | Slot, Any]] = {}

    def note(self, place: Cell | Slot) -> None:
        content = place.value if isinstance(place, Cell) else place.array.terms[place.path]
        self.old.setdefault(id(place) if isinstance(place, Cell) else (id(place.array), place.path), (place, content))

    def undo(self) -> None:
        for place, content in self.old.values():
            _set(place, content)


def _set(place: Cell | Slot, content: Any) -> None:
    if isinstance(place, Cell):
        place.value = content
    else:
        place.array.terms[place.path] = content


def forget(run: Walking, frame: Frame, node: For, source: Numbers) -> None:
    """Havoc an unbounded loop: if the loop runs at all, everything that it may write has an arbitrary value afterwards.
    Raises ModelError inside an unbounded fold, where a single value for all iterations would be an under-approximation.
    """
    start, stop = source
    entry, known = frame.live, dict(frame.slots)
    enter = terms.both(entry, terms.less(start, stop))
    if enter is False:
        return
    if run.quantified:
        what = (
            "this unbounded loop is inside an unbounded all() or any(), in which each iteration may write different "
            "values"
        )
        run.refuse(frame, node, f"{what} else", "remove the constant that bounds one of the loops from `unbounded=`")
    run.forgotten[frame.made.name] = None
    places: dict[Any, Cell | Slot] = {}
    shapes: dict[int, Shape] = {}
    while True:
        journal, facts, checks, branches = Journal(), len(run.facts), len(run.checks), run.branches
        run.journals.append(journal)
        _lose(run, frame, True, places, shapes)
        held = dict(frame.slots)
        _go_round(run, frame, node, enter, (start, stop))
        after = {name: frame.slots.get(name) for name in known}
        changed = [name for name in known if after[name] is not held[name]]
        found = {name: _shape(run, frame, node, held[name], after[name]) for name in changed}
        run.journals.pop()
        journal.undo()
        frame.slots, frame.live = dict(known), entry
        wider = {name: _wider(shapes.get(name, shape), shape, name in shapes) for name, shape in found.items()}
        written = {identity: place for identity, (place, _) in journal.old.items()}
        if written.keys() <= places.keys() and wider.items() <= shapes.items():
            break  # this round's checks cover every iteration
        del run.facts[facts:], run.checks[checks:]
        run.branches = branches
        places |= written
        shapes |= wider
    _lose(run, frame, enter, places, shapes)


def _go_round(run: Walking, frame: Frame, node: For, enter: Flag, ends: tuple[Value, Value]) -> None:
    """Walk through the body for an arbitrary iteration; raise ModelError for anything that the body must not do."""
    start, stop = ends
    outer = frame.breaks, frame.continues, len(frame.results), run.messages
    item = Num(terms.integer(run.fresh_name()), terms.bounds(terms.number(start))[0], None)
    frame.slots[node.slot.number] = item
    frame.live = terms.both(enter, terms.at_most(start, item), terms.less(item, stop))
    frame.breaks, frame.continues = [], []
    run.block(frame, node.body)
    frame.breaks, frame.continues = outer[:2]
    if (len(frame.results), run.messages) != outer[2:]:
        what = "this unbounded loop returns, or adds or removes messages"
        run.refuse(frame, node, what, "remove the constant that bounds the loop from `unbounded=`")


def _lose(run: Walking, frame: Frame, where: Flag, places: dict[Any, Cell | Slot], shapes: dict[int, Shape]) -> None:
    reached = terms.both(frame.base, where)
    for place in places.values():
        for journal in run.journals:
            journal.note(place)
        if isinstance(place, Cell):
            fresh = place.kind.fresh(run.fresh_name())
            run.facts.append(place.kind.domain(fresh))
            place.value = terms.choose(reached, fresh, place.value)
        else:
            old = place.array.terms[place.path]
            arrays = [z3.Const(run.fresh_name(), term.sort()) for term in old]
            place.array.terms[place.path] = tuple(
                array if reached is True else z3.If(reached, array, term)
                for array, term in zip(arrays, old, strict=True)
            )
    for name, shape in shapes.items():
        frame.slots[name] = terms.choose(where, _any_value(run, shape), frame.slots[name])


def _any_value(run: Walking, shape: Shape) -> Value:
    if isinstance(shape, tuple):
        low, high = shape
        kind = Kind("", None, None) if low is not None and high is not None and low > high else Kind("", low, high)
    else:
        kind = Kind("", None, None, flag=True) if shape is None else Kind("", None, None, bits=shape)
    fresh = kind.fresh(run.fresh_name())
    run.facts.append(kind.domain(fresh))
    return fresh


def _shape(run: Walking, frame: Frame, node: For, before: Any, after: Any) -> Shape:
    values = (before, after)
    if any(isinstance(item, Refs | Members) for item in values):
        what = "this unbounded loop changes the record that a name refers to"
        run.refuse(frame, node, what, "remove the constant that bounds the loop from `unbounded=`")
    if all(map(terms.is_flag, values)):
        return None
    if any(isinstance(item, Mask) and item.sign is False for item in values) and all(
        isinstance(item, Mask | int) and (item >= 0 if isinstance(item, int) else item.sign is False) for item in values
    ):
        return max(len(item.bits) if isinstance(item, Mask) else int(item).bit_length() for item in values)
    (low, high), (other_low, other_high) = (terms.bounds(terms.number(item)) for item in values)
    return (
        None if low is None or other_low is None else min(low, other_low),
        None if high is None or other_high is None else max(high, other_high),
    )


def _wider(old: Shape, new: Shape, again: bool) -> Shape:  # noqa: FBT001
    """Return a shape that covers `old` and `new`. A bound that moves again is dropped, so that `forget` ends."""
    if old == new or not again:
        return new
    if isinstance(old, tuple) and isinstance(new, tuple):
        low = old[0] if new[0] is not None and old[0] is not None and new[0] >= old[0] else None
        high = old[1] if new[1] is not None and old[1] is not None and new[1] <= old[1] else None
        return low, high
    return (None, None)


class Quantified(NamedTuple):
    """A fold over an unbounded range: its variable, the variable's condition, and the condition on the whole range. The
    fold ends at the first number for which the body equals `decides`.
    """

    variable: Num
    source: Numbers
    body: Flag
    whole: Flag
    decides: bool


def held_by(item: Any) -> Any:
    return read(item) if isinstance(item, Refs) and isinstance(item.first, Cell | Slot) else item


def fold(run: Walking, frame: Frame, node: Fold) -> Value:
    """Evaluate a fold. An element is evaluated only if earlier elements do not decide the result. Over an unbounded
    range, `all` becomes a universal and `any` an existential quantifier on a single variable.
    """
    live = frame.live
    made = _Fold(run, frame, node)
    made.visit(node.clauses, True)
    frame.live = live
    if node.operator is FoldOp.SUM:
        return terms.total(made.found)
    return terms.both(*made.found) if node.operator is FoldOp.ALL else terms.either(*made.found)


class _Fold:
    def __init__(self, run: Walking, frame: Frame, node: Fold) -> None:
        self.run, self.frame, self.element = run, frame, node.value
        self.is_sum, self.is_all = node.operator is FoldOp.SUM, node.operator is FoldOp.ALL
        self.entry = frame.live
        self.found: list[Any] = []

    def reached(self, where: Flag) -> Flag:
        """Return the condition for evaluating an element: no earlier element has decided the result."""
        if self.is_sum:
            return terms.both(self.entry, where)
        return terms.both(self.entry, where, *(item if self.is_all else terms.negate(item) for item in self.found))

    def visit(self, clauses: tuple[Clause, ...], where: Flag) -> None:
        run, frame = self.run, self.frame
        frame.live = self.reached(where)
        if frame.live is False:
            return
        if not clauses:
            item = run.value(frame, self.element)
            if self.is_sum:
                self.found.append(terms.choose(where, terms.number(item), 0))
            else:
                self.found.append(
                    terms.either(terms.negate(where), terms.truth(item))
                    if self.is_all
                    else terms.both(where, terms.truth(item))
                )
            return
        node = clauses[0].source
        source = run.source(frame, node)
        if not self.is_sum and isinstance(source, Numbers) and source.is_endless:
            self.quantify(clauses, where, source)
            return
        before = len(run.checks)
        for condition, item in run.rounds(frame, node, source):
            self.enter(clauses, terms.both(where, condition), item)
        has_order = not (isinstance(source, Refs) and isinstance(source.first, Bag)) or source.first.ordered
        if not self.is_sum and not has_order and any(item.passes is not True for item in run.checks[before:]):
            what = (
                "the first error is unknown: the messages of this bag have no order, because `unbounded=` made a "
                "part of them unbounded"
            )
            run.refuse(frame, node, what, "remove the constant that limits this part from `unbounded=`")

    def enter(self, clauses: tuple[Clause, ...], inner: Flag, item: Any) -> None:
        frame = self.frame
        frame.slots[clauses[0].slot.number] = held_by(item)
        for test in clauses[0].tests:
            frame.live = self.reached(inner)
            if frame.live is False:
                return
            inner = terms.both(inner, terms.truth(self.run.value(frame, test)))
        self.visit(clauses[1:], inner)

    def quantify(self, clauses: tuple[Clause, ...], where: Flag, source: Numbers) -> None:
        """Visit an unbounded range with a variable that represents any number in the range."""
        run, outer, entry, before = self.run, self.found, self.entry, len(self.run.checks)
        variable, condition = run.any_of(source)
        self.entry, self.found = self.reached(where), []
        run.quantified += 1
        self.enter(clauses, terms.both(where, condition), variable)
        run.quantified -= 1
        body = terms.both(*self.found) if self.is_all else terms.either(*self.found)
        whole = terms.for_all(variable, body) if self.is_all else terms.exists(variable, body)
        quantified = Quantified(variable, source, body, whole, decides=not self.is_all)
        run.check_up_to(self.frame, clauses[0].source, before, quantified)
        self.entry, self.found = entry, [*outer, whole]
