"""Loops by index: over `enumerate`, `zip`, `reversed`, a range with a step, or an array of arrays.

No engine knows these. A loop over one of them becomes a loop over numbers that sets the variables to the items at each
number.

Engines see a channel as a record: an array of messages, and the number of them.
"""

import ast
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from fencepost.explorers.program.ir import nodes
from fencepost.explorers.program.ir.lifted import field_of
from fencepost.explorers.program.subset.kinds import INT, Arr, Function, Queue, Rec, kind_of
from fencepost.explorers.program.subset.sources import step_of
from fencepost.model.language.records import Nested, Record, Scalar, fields, is_row

Made = Callable[[], nodes.Expression]
"""Makes an expression: a new one each time, because every node has one place."""
Items = Made | tuple["Items", ...]

NUMBER = frozenset([nodes.Failure.NUMBER])
INDEX = frozenset([nodes.Failure.INDEX])


@dataclass
class View:
    """A view: the number of items, and the item for each number."""

    count: Made
    item: Callable[[Made], Items]


def view_of(
    made: Function,
    node: ast.expr,
    again: Callable[[ast.expr], Made],
    at: nodes.At,
    once: Callable[[Made], Made] = lambda found: found,
) -> View:
    """Return a source as a view; `again` makes its text, evaluated once if that matters, and `once` a count."""
    inner = node.args if isinstance(node, ast.Call) else []
    name = ""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node not in made.types:
        name = node.func.id
    match name:
        case "range":
            return _range(inner, again, at)
        case "enumerate":
            assert isinstance(node, ast.Call)
            view = view_of(made, inner[0], again, at, once)
            starts = [*inner[1:], *(item.value for item in node.keywords)]
            if not starts:
                return View(view.count, lambda number: (number, view.item(number)))
            start = again(starts[0])
            return View(_also(view.count, start, at), lambda number: (_plus(start, number, at), view.item(number)))
        case "zip":
            views = [view_of(made, item, again, at, once) for item in inner]
            counts = [item.count for item in views]
            least = partial(_least, counts, at) if len(counts) > 1 else counts[0]
            return View(least, lambda number: tuple(item.item(number) for item in views))
        case "reversed":
            view = view_of(made, inner[0], again, at, once)
            count = once(view.count) if isinstance(made.types.get(inner[0]), Queue) else view.count
            last = _minus(count, lambda: nodes.Literal(1, at=at), at)
            return View(count, lambda number: view.item(_minus(last, number, at)))
    source = again(node)
    kind = made.types[node]
    if isinstance(kind, Queue):
        items = kind_of(dict(fields(kind.record))["items"])
        assert isinstance(items, Arr)
        return View(
            lambda: nodes.Field(source(), "items_end", at=at),
            lambda number: lambda: element(nodes.Field(source(), "items", at=at, type=items), number(), at),
        )
    return View(lambda: nodes.Length(source(), at=at), lambda number: lambda: element(source(), number(), at))


def element(array: nodes.Expression, index: nodes.Expression, at: nodes.At) -> nodes.Expression:
    """Return an element of an array; of a nested array, the view through which it is read."""
    assert isinstance(array.type, Arr)
    inner = array.type.field.element
    if not isinstance(inner, Nested):
        return nodes.Element(array, index, at=at, checks=INDEX, type=INT)
    found = nodes.Element(array, index, at=at, checks=INDEX, type=Rec(inner.record))
    if not is_row(inner.record):
        return found
    items = kind_of(inner)
    assert isinstance(items, Arr)
    return nodes.Field(found, "items", at=at, type=items)


def _least(counts: list[Made], at: nodes.At) -> nodes.Expression:
    return nodes.Extreme(False, tuple(count() for count in counts), at=at)


def _by_literal(
    op: nodes.BinaryOp, number: Made, by: int, at: nodes.At, checks: frozenset[nodes.Failure] = frozenset()
) -> nodes.Binary:
    """Return a number combined with a literal, as a new node."""
    return nodes.Binary(op, number(), nodes.Literal(by, at=at), at=at, checks=checks)


def _range(args: list[ast.expr], again: Callable[[ast.expr], Made], at: nodes.At) -> View:
    ends = [again(item) for item in args[:2]]
    start = ends[0] if len(ends) == 2 else (lambda: nodes.Literal(0, at=at))
    step = (step_of(args[2]) if len(args) == 3 else 1) or 1
    way = _minus(ends[-1], start, at) if step > 0 else _minus(start, ends[-1], at)
    count = way
    if abs(step) > 1:
        more = _plus(way, lambda: nodes.Literal(abs(step) - 1, at=at), at)
        count = partial(_by_literal, nodes.BinaryOp.DIVIDE, more, abs(step), at)

    def item(number: Made) -> Made:
        far = number
        if abs(step) > 1:
            far = partial(_by_literal, nodes.BinaryOp.MULTIPLY, number, abs(step), at, checks=NUMBER)
        return _plus(start, far, at) if step > 0 else _minus(start, far, at)

    return View(count, item)


def _also(count: Made, start: Made, at: nodes.At) -> Made:
    """Return a count that also evaluates a start: it may fail even if no item reads it."""

    def made() -> nodes.Expression:
        found = count()
        most = nodes.Extreme(True, (start(), nodes.Literal(nodes.MOST, at=at)), at=at)
        return nodes.Extreme(False, (found, most), at=at)

    return made


def _plus(one: Made, other: Made, at: nodes.At) -> Made:
    return lambda: nodes.Binary(nodes.BinaryOp.ADD, one(), other(), at=at, checks=NUMBER)


def _minus(one: Made, other: Made, at: nodes.At) -> Made:
    return lambda: nodes.Binary(nodes.BinaryOp.SUBTRACT, one(), other(), at=at, checks=NUMBER)


VALUE = frozenset([nodes.Failure.VALUE])


class Channels:
    """Operations on one channel as statements."""

    def __init__(self, channel: Made, at: nodes.At, slot: Callable[[str, nodes.Type], nodes.Slot]) -> None:
        self.channel, self.at, self.slot = channel, at, slot

    @property
    def message(self) -> type[Record]:
        items = field_of(self.channel(), "items", self.at).type
        assert isinstance(items, Arr)
        assert isinstance(items.field.element, Nested)
        return items.field.element.record

    def end(self) -> nodes.Expression:
        return field_of(self.channel(), "items_end", self.at)

    def change(self, by: int) -> nodes.Expression:
        """Return the number of messages plus `more`."""
        return nodes.Binary(nodes.BinaryOp.ADD, self.end(), nodes.Literal(by, at=self.at), at=self.at, checks=NUMBER)

    def count(self, value: nodes.Expression) -> nodes.Statement:
        """Return a store of the number of messages: it fails if the channel is full or empty."""
        place = field_of(self.channel(), "items_end", self.at)
        assert isinstance(place.owner.type, Rec)
        kind = dict(fields(place.owner.type.record))["items_end"]
        assert isinstance(kind, Scalar)
        return nodes.Store(place, value, kind.domain, at=self.at, checks=VALUE)

    def item(self, index: nodes.Expression) -> nodes.Element:
        items = field_of(self.channel(), "items", self.at)
        return nodes.Element(items, index, at=self.at, checks=INDEX, type=Rec(self.message))

    def moved(self, last: Made) -> list[nodes.Statement]:
        """Return a loop that moves all messages but the first one position forward."""
        slot = self.slot("", INT)
        here: Made = lambda: nodes.Local(slot, at=self.at)  # noqa: E731 (a node at each call)
        after = nodes.Binary(nodes.BinaryOp.ADD, here(), nodes.Literal(1, at=self.at), at=self.at, checks=NUMBER)
        copy = nodes.Copy(self.item(here()), self.item(after), at=self.at)
        return [nodes.For(slot, nodes.Numbers(nodes.Literal(0, at=self.at), last(), at=self.at), (copy,), at=self.at)]
