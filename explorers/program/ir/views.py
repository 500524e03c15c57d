"""Loops by index over `enumerate`, `zip`, `reversed`, a range with a step, or an array of arrays. Engines support only
loops over numbers, so each loop by index becomes a loop over indices that assigns each index's items to the variables.

Engines see a channel as a record: an array of messages, and the number of messages.
"""

import ast
from collections.abc import Callable
from dataclasses import dataclass

from fencepost.explorers.program.ir import nodes
from fencepost.explorers.program.ir.lifted import Making
from fencepost.explorers.program.ir.nodes import Expression
from fencepost.explorers.program.subset.kinds import INT, Arr, Function, Queue
from fencepost.explorers.program.subset.sources import step_of
from fencepost.model.language.records import Nested, Record, Scalar, is_row

Items = Expression | tuple["Items", ...]
"""Value of a variable, or a tuple of values. A node may occur several times, because `with_ranges` copies nodes."""


@dataclass
class View:
    count: Expression
    item: Callable[[Expression], Items]


def view_of(
    made: Function,
    node: ast.expr,
    again: Callable[[ast.expr], Expression],
    make: Making,
    once: Callable[[Expression], Expression] = lambda found: found,
) -> View:
    """Return a view of a source. `again` translates expressions that may be used twice; `once` translates a count."""
    inner = node.args if isinstance(node, ast.Call) else []
    name = ""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node not in made.types:
        name = node.func.id
    match name:
        case "range":
            return _range(inner, again, make)
        case "enumerate":
            assert isinstance(node, ast.Call)
            view = view_of(made, inner[0], again, make, once)
            starts = [*inner[1:], *(item.value for item in node.keywords)]
            if not starts:
                return View(view.count, lambda number: (number, view.item(number)))
            start = again(starts[0])  # evaluated with the count, because it may fail even without items
            least = make.extreme(
                view.count, make.extreme(start, make.number(nodes.MOST), greatest=True), greatest=False
            )
            return View(least, lambda number: (make.add(start, number), view.item(number)))
        case "zip":
            views = [view_of(made, item, again, make, once) for item in inner]
            counts = [item.count for item in views]
            fewest = make.extreme(*counts, greatest=False) if len(counts) > 1 else counts[0]
            return View(fewest, lambda number: tuple(item.item(number) for item in views))
        case "reversed":
            view = view_of(made, inner[0], again, make, once)
            count = once(view.count) if isinstance(made.types.get(inner[0]), Queue) else view.count
            last = make.subtract(count, make.number(1))
            return View(count, lambda number: view.item(make.subtract(last, number)))
    source = again(node)
    kind = made.types[node]
    if isinstance(kind, Queue):
        items = make.field(source, "items")
        return View(make.field(source, "items_end"), lambda number: element(items, number, make))
    return View(nodes.Length(source, at=make.at), lambda number: element(source, number, make))


def element(array: Expression, index: Expression, make: Making) -> Expression:
    """Return an element of an array or, for a nested array, the view through which the element is read."""
    found = make.element(array, index)
    inner = found.kind
    return make.field(found, "items") if isinstance(inner, Nested) and is_row(inner.record) else found


def _range(args: list[ast.expr], again: Callable[[ast.expr], Expression], make: Making) -> View:
    ends = [again(item) for item in args[:2]]
    start = ends[0] if len(ends) == 2 else make.number(0)
    step = (step_of(args[2]) if len(args) == 3 else 1) or 1
    size = make.number(abs(step))
    count: Expression = make.subtract(ends[-1], start) if step > 0 else make.subtract(start, ends[-1])
    if abs(step) > 1:
        more = make.add(count, make.number(abs(step) - 1))
        count = nodes.Binary(nodes.BinaryOp.DIVIDE, more, size, at=make.at)

    def item(number: Expression) -> Expression:
        far = make.multiply(number, size) if abs(step) > 1 else number
        return make.add(start, far) if step > 0 else make.subtract(start, far)

    return View(count, item)


class Channels(Making):
    def __init__(self, channel: Expression, at: nodes.At, slot: Callable[[str, nodes.Type], nodes.Slot]) -> None:
        super().__init__(at)
        self.slot = slot
        self.items, self.end = self.field(channel, "items"), self.field(channel, "items_end")

    @property
    def message(self) -> type[Record]:
        assert isinstance(self.items.type, Arr)
        assert isinstance(self.items.type.field.element, Nested)
        return self.items.type.field.element.record

    def count(self, value: Expression) -> nodes.Statement:
        """Return a node that stores the number of messages; it fails if the channel is full or empty."""
        assert isinstance(self.end.kind, Scalar)
        return self.store(self.end, value, self.end.kind.domain)

    def moved(self, last: Expression) -> nodes.Statement:
        slot = self.slot("", INT)
        here = self.read(slot)
        after = self.add(here, self.number(1))
        copy = nodes.Copy(self.element(self.items, here), self.element(self.items, after), at=self.at)
        return nodes.For(slot, self.upto(last), (copy,), at=self.at)
