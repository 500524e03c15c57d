"""Analysis of loops whose iterations may run in any order: each iteration writes only to its own item, or adds to a
total. The analysis is conservative, because it compares only the names of fields.
"""

from collections.abc import Iterable, Iterator, Sequence

from fencepost.explorers.program.ir import nodes
from fencepost.explorers.program.ir.nodes import BinaryOp, Block, Expression, Literal, Local, Node, Slot
from fencepost.explorers.program.ir.program import Function, inside, parts
from fencepost.explorers.program.ir.translate import leaves
from fencepost.explorers.program.subset.kinds import INT, Arr, BagRef, Rec
from fencepost.model.language import bits

LOOP = "a loop over interchangeable values"
COMMUTES = (BinaryOp.ADD, BinaryOp.AND, BinaryOp.OR, BinaryOp.XOR)


def why_pure(functions: Sequence[Function], block: Iterable[Node], *, stops: bool) -> tuple[Node, str] | None:
    """Return a node that writes, with the reason to report, or None if no node writes. If evaluation may stop early
    (`stops`), a node that may fail counts as well.
    """
    for item in inside(block):
        if isinstance(item, nodes.Call) and functions[item.function].effects.writes:
            return item, f"{LOOP} calls a helper that writes"
        if stops and (item.checks or (isinstance(item, nodes.Call) and functions[item.function].can_fail)):
            return item, f"in {LOOP}, whether this fails depends on the order"
    return None


UNKNOWN = ""
"""The name of an array that a function received as an argument."""


class Rounds:
    def __init__(self, functions: Sequence[Function], function: Function, loop: nodes.For) -> None:
        self.functions, self.function, self.loop = functions, function, loop
        self.body = list(inside(loop.body))
        self.own = {loop.slot}
        """Slots that contain an iteration's item, or part of that item."""
        self.mixed: set[str] = set()
        """Fields in which iterations use both an element and its mirror image, such as `row[i][j]` and `row[j][i]`."""
        self.values: dict[Slot, list[Expression]] = {}
        self.sources: dict[Slot, list[Expression]] = {}
        """For each local variable that refers to a part of the state: that part, or the array that contains it."""
        for item in inside(function.body):
            if isinstance(item, nodes.Assign) and item.slot.type != INT:
                self.values.setdefault(item.slot, []).append(item.value)
            elif isinstance(item, nodes.For | nodes.Clause) and isinstance(item.source, Expression):
                self.sources.setdefault(item.slot, []).append(item.source)
        for item in self.body:
            if isinstance(item, nodes.Assign) and item.slot.type != INT and self.is_own(item.value):
                self.own.add(item.slot)
        for item in self.body:
            if isinstance(item, nodes.Assign) and not self.is_own(item.value):
                self.own.discard(item.slot)
        levels: dict[str, set[tuple[str, int]]] = {}
        for name, place in self._used():
            if self.is_own(place):
                levels[name] = levels.get(name, self._levels(place)) & self._levels(place)
        self.mixed = {name for name, common in levels.items() if not common}

    def why_not(self) -> tuple[Node, str] | None:
        return next(self._found(), None)

    def _found(self) -> Iterator[tuple[Node, str]]:
        written = set(self._written())
        effects = [item for item in self.body if self._writes(item)]
        for item in effects:
            if not self._is_of_round(item):
                yield item, f"in {LOOP}, iterations may overwrite each other's results"
        for item in self.body:
            if isinstance(item, nodes.Fits | nodes.Remove):
                yield item, f"in {LOOP}, this depends on earlier iterations"
        yield from ((item, f"{LOOP} ends at the first match") for item in breaks(self.loop.body))
        ends = [item for item in self.body if isinstance(item, nodes.Return)]
        if ends:
            values = {item.value.value if isinstance(item.value, Literal) else None for item in ends}
            if len(values) > 1 or None in values or effects:
                yield ends[0], f"{LOOP} returns at the first match"
            why = why_pure(self.functions, self.loop.body, stops=True)
            if why is not None:
                yield why
        yield from self._reads(self.loop.body, written)
        outside = [item for item in around(self.function.body, self.loop.slot) if isinstance(item, Local)]
        yield from (
            (item, f"the variable of {LOOP} is read after the loop") for item in outside if item.slot is self.loop.slot
        )
        for slot in dict.fromkeys(item.slot for item in self.body if isinstance(item, nodes.Assign)):
            if not self._is_fresh(slot) and not self._is_total(slot):
                yield (self._assigns(slot)[0], f"in {LOOP}, a later iteration may change `{slot.name}`")

    # -- writes and reads

    def is_own(self, node: Expression, name: str = UNKNOWN) -> bool:
        """Return whether a place, or the field of this name in it, belongs to the iteration's item."""
        return self._is_of_item(node) and not ({name} if name else self.names(node)) & self.mixed

    def _is_of_item(self, node: Expression) -> bool:
        match node:
            case Local():
                return node.slot in self.own and node.slot.type != INT
            case nodes.Field():
                return self._is_of_item(node.owner)
            case nodes.Element():
                return self._is_item(node) or self._is_of_item(node.array)
            case nodes.Select():
                return self._is_of_item(node.then) and self._is_of_item(node.other)
        return False

    def _is_item(self, node: nodes.Element) -> bool:
        return isinstance(node.index, Local) and node.index.slot is self.loop.slot

    def names(self, place: Expression, seen: frozenset[Slot] = frozenset()) -> set[str]:
        """Return the names of all fields to which a place, or an element of the place, may refer."""
        match place:
            case nodes.Field():
                return {place.name}
            case nodes.Element():
                return self.names(place.array, seen)
            case nodes.Select():
                return self.names(place.then, seen) | self.names(place.other, seen)
            case Local() if place.slot in seen:
                return set()
            case Local() if found := [*self.values.get(place.slot, ()), *self.sources.get(place.slot, ())]:
                return set[str]().union(*(self.names(item, seen | {place.slot}) for item in found))
        return {UNKNOWN}

    def _levels(self, place: Expression) -> set[tuple[str, int]]:
        """Return, for a place in `own`, the arrays that the iteration's item may come from, with their depths."""
        match place:
            case Local() if place.slot is self.loop.slot:
                arrays = self.sources.get(place.slot, ())
                return {(name, self._depth(item)) for item in arrays for name in self.names(item)}
            case Local():
                found = [self._levels(item) for item in self.values.get(place.slot, ())]
                return set.intersection(*found) if found else set()
            case nodes.Field():
                return self._levels(place.owner)
            case nodes.Element():
                here = {(name, self._depth(place.array)) for name in self.names(place.array)}
                return self._levels(place.array) | (here if self._is_item(place) else set())
            case nodes.Select():
                return self._levels(place.then) & self._levels(place.other)
        return set()

    def _depth(self, place: Expression, seen: frozenset[Slot] = frozenset()) -> int:
        match place:
            case nodes.Field():
                return self._depth(place.owner, seen)
            case nodes.Element():
                return 1 + self._depth(place.array, seen)
            case Local() if place.slot not in seen:
                slot, within = place.slot, seen | {place.slot}
                direct = [self._depth(item, within) for item in self.values.get(slot, ())]
                return max([0, *direct, *(1 + self._depth(item, within) for item in self.sources.get(slot, ()))])
        return 0

    def _used(self) -> Iterator[tuple[str, Expression]]:
        for item in self.body:
            if isinstance(item, nodes.Field | nodes.Element):
                yield from ((name, item) for name in self.names(item))
            elif isinstance(item, nodes.Call):
                effects = self.functions[item.function].effects
                for of, path in effects.reads | effects.writes:
                    yield from ((name, item.arguments[of]) for name in self._called(item, of, path))

    def _called(self, call: nodes.Call, of: int, path: str) -> set[str]:
        return {last(path)} if last(path) else self.names(call.arguments[of])

    def _writes(self, item: Node) -> bool:
        return isinstance(item, nodes.Store | nodes.Copy | nodes.Add | nodes.Remove) or (
            isinstance(item, nodes.Call) and bool(self.functions[item.function].effects.writes)
        )

    def _is_of_round(self, item: Node) -> bool:
        match item:
            case nodes.Store():
                return self.is_own(item.place)
            case nodes.Copy():
                return self.is_own(item.place) and not copied(item.place) & self.mixed
            case nodes.Add():
                return item.slot is None
            case nodes.Call():
                writes = self.functions[item.function].effects.writes
                return all(self.is_own(item.arguments[of], last(path)) for of, path in writes)
        return False

    def _written(self) -> Iterator[str]:
        for item in self.body:
            match item:
                case nodes.Store():
                    yield from self.names(item.place)
                case nodes.Copy():
                    yield from copied(item.place)
                case nodes.Add():
                    yield from self.names(item.bag)
                case nodes.Call():
                    for of, path in self.functions[item.function].effects.writes:
                        yield from self._called(item, of, path)

    def _reads(self, block: Iterable[Node], written: set[str]) -> Iterator[tuple[Node, str]]:
        why = f"in {LOOP}, another iteration may write this value before it is read"
        for item in block:
            match item:
                case nodes.Add():
                    yield from self._reads(item.fills, written)
                    continue
                case nodes.Field() | nodes.Element() if self.is_own(item):
                    yield from self._reads(indices(item), written)
                    continue
                case nodes.Field() if item.name in written:
                    yield item, why
                case nodes.Element() if UNKNOWN in written or self.names(item) & written:
                    yield item, why
                case Local() if isinstance(item.type, Arr) and not self.is_own(item) and self.names(item) & written:
                    yield item, why
                case nodes.Copy() if not self.is_own(item.source) and copied(item.source) & written:
                    yield item, why
                case nodes.Call():
                    for of, path in self.functions[item.function].effects.reads:
                        is_written = self._called(item, of, path) & written or (UNKNOWN in written and "[" in path)
                        if is_written and not self.is_own(item.arguments[of], last(path)):
                            yield item, why
            if isinstance(item, Expression) and isinstance(item.type, BagRef) and any(map(self._writes, self.body)):
                yield item, f"{LOOP} reads a bag that it changes"
            yield from self._reads(parts(item), written)

    # -- locals

    def _assigns(self, slot: Slot) -> list[nodes.Assign]:
        return [item for item in self.body if isinstance(item, nodes.Assign) and item.slot is slot]

    def _is_fresh(self, slot: Slot) -> bool:
        """Return whether every iteration assigns a local variable before reading it, and nothing else reads it."""
        later = [item for item in around(self.function.body, None, self.loop) if isinstance(item, Local)]
        return all(item.slot is not slot for item in later) and begins(self.loop.body, slot)

    def _is_total(self, slot: Slot) -> bool:
        """Return whether iterations only accumulate into a variable with one operation, or all assign it one value."""
        values = [item.value for item in self._assigns(slot)]
        reads = [item for item in self.body if isinstance(item, Local) and item.slot is slot]
        if all(isinstance(item, Literal) for item in values):
            tests = [item.test for item in self.body if isinstance(item, nodes.Select) and extreme_of(item) is not None]
            return len({item.value for item in values if isinstance(item, Literal)}) == 1 and all(
                item in tests for item in reads
            )
        ways = {total_of(item, slot, self.functions) for item in values}
        return len(ways) == 1 and None not in ways and len(reads) == len(values)


def total_of(value: Expression, slot: Slot, functions: Sequence[Function]) -> object:
    match value:
        case nodes.Call() if functions[value.function].python is bits.with_member:
            operands: tuple[Expression, ...] = value.arguments[:1]
            way: object = BinaryOp.OR
        case nodes.Binary() if value.operator in COMMUTES:
            operands, way = (value.left, value.right), value.operator
        case nodes.Extreme():
            operands, way = value.values, value.greatest
        case nodes.Select():
            best = extreme_of(value)
            if best is None:
                return None
            operands, way = best.values, best.greatest
        case _:
            return None
    return way if any(isinstance(item, Local) and item.slot is slot for item in operands) else None


def extreme_of(node: nodes.Select) -> nodes.Extreme | None:
    """Return the `max` or `min` that an expression such as `max(best, value) if seen else value` computes, if any."""
    match node:
        case nodes.Select(
            test=Local(), then=nodes.Extreme(values=(_, Local(slot=one))) as best, other=Local(slot=other)
        ):
            return best if one is other else None
    return None


def begins(block: Block, slot: Slot) -> bool:
    uses = [item for item in block if any(mentions(part, slot) for part in inside([item]))]
    if not uses:
        return True
    match uses[0]:
        case nodes.Assign() as first if first.slot is slot:
            return not any(mentions(part, slot) for part in inside([first.value]))
        case nodes.If() as only if len(uses) == 1:
            return not any(mentions(part, slot) for part in inside([only.test])) and all(
                begins(inner, slot) for inner in (only.then, only.other)
            )
        case nodes.For() as only if len(uses) == 1:
            return not any(mentions(part, slot) for part in inside([only.source])) and begins(only.body, slot)
    return False


def mentions(node: Node, slot: Slot) -> bool:
    return isinstance(node, Local | nodes.Assign) and node.slot is slot


def breaks(block: Block) -> Iterator[Node]:
    for item in block:
        if isinstance(item, nodes.Break):
            yield item
        elif isinstance(item, nodes.If):
            yield from breaks((*item.then, *item.other))


def around(block: Iterable[Node], slot: Slot | None, loop: Node | None = None) -> Iterator[Node]:
    """Yield all nodes except those inside this loop, or inside loops with this variable."""
    for item in block:
        yield item
        if item is loop or (slot is not None and isinstance(item, nodes.For) and item.slot is slot):
            continue
        if slot is not None and isinstance(item, nodes.Fold) and any(part.slot is slot for part in item.clauses):
            continue
        yield from around(parts(item), slot, loop)


def indices(node: Expression) -> Iterator[Expression]:
    while isinstance(node, nodes.Field | nodes.Element):
        if isinstance(node, nodes.Element):
            yield node.index
        node = node.owner if isinstance(node, nodes.Field) else node.array


def copied(record: Expression) -> set[str]:
    """Return the names of the fields that are read or changed when a record is copied."""
    assert isinstance(record.type, Rec)
    return {last(path) for path in leaves(record.type.record)}


def last(path: str) -> str:
    return path.replace("[]", "").rpartition(".")[2]
