"""An interpreter of the typed program that follows `docs/developing/program.md` and docstrings of `nodes.py` alone.

Tests compare it with the plain semantics.

It also checks the program's claims: a number outside its range, an unexpected failure of a check, or a read or a write
missing in a function's effects is an AssertionError.
"""

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from fencepost.explorers.program.ir import nodes
from fencepost.explorers.program.ir.nodes import INT, LEAST, MOST, BinaryOp, Failure, FoldOp, Order, UnaryOp
from fencepost.explorers.program.ir.program import Action, Function, Program
from fencepost.explorers.program.ir.translate import translate
from fencepost.model.language import Constants, Machine, Property
from fencepost.model.language.domains import NONE, Domain, InFlight
from fencepost.model.language.errors import DisabledError, DomainError
from fencepost.model.language.interpreter import Interpreter, Step
from fencepost.model.language.records import ArrayOf, BagOf, FieldType, Key, Nested, Record, Scalar, fields, of_full_bag


class NumberError(DomainError):
    """A result does not fit 64 bits: every engine except the plain one refuses it."""


Path = tuple[str, str]
"""The root of a record (a state, or a received message) and a path of the schema."""


@dataclass(eq=False)
class Row:
    record: type[Record]
    path: Path
    values: dict[str, Any]

    def __repr__(self) -> str:
        return f"{self.record.__name__}({', '.join(f'{name}={value!r}' for name, value in self.values.items())})"


@dataclass(eq=False)
class Vector:
    label: str
    path: Path
    kind: ArrayOf
    items: list[Any]

    def __repr__(self) -> str:
        return repr(self.items)


@dataclass(eq=False)
class Box:
    label: str
    path: Path
    kind: BagOf
    items: list[Row]


def key_of(value: Any) -> Any:
    """Return content as nested tuples, bags in their present order."""
    if isinstance(value, Row):
        return tuple(map(key_of, value.values.values()))
    return tuple(map(key_of, value.items)) if isinstance(value, Vector | Box) else value


def _below(path: Path, more: str) -> Path:
    root, start = path
    return root, f"{start}.{more}" if start and not more.startswith("[") else start + more


def row_of(record: type[Record], key: Key, path: Path) -> Row:
    values = {}
    for (name, kind), item in zip(fields(record), key, strict=True):
        values[name] = _made(f"{record.__name__}.{name}", kind, item, _below(path, name))
    return Row(record, path, values)


def _made(label: str, kind: FieldType, key: Any, path: Path) -> Any:
    match kind:
        case Scalar():
            return key
        case Nested():
            return row_of(kind.record, key, path)
        case ArrayOf():
            return Vector(label, path, kind, [_made(label, kind.element, item, _below(path, "[]")) for item in key])
        case BagOf():
            return Box(label, path, kind, [row_of(kind.record, item, _below(path, "[]")) for item in key])


@dataclass(eq=False)
class Return:
    value: Any


BREAK, CONTINUE = object(), object()
ORDERS: dict[Order, Callable[[int, int], bool]] = {
    Order.EQUAL: operator.eq, Order.DIFFERENT: operator.ne, Order.LESS: operator.lt, Order.AT_MOST: operator.le,
    Order.MORE: operator.gt, Order.AT_LEAST: operator.ge,
}  # fmt: skip
BINARY: dict[BinaryOp, Callable[[int, int], int]] = {
    BinaryOp.ADD: operator.add, BinaryOp.SUBTRACT: operator.sub, BinaryOp.MULTIPLY: operator.mul,
    BinaryOp.DIVIDE: operator.floordiv, BinaryOp.MODULO: operator.mod, BinaryOp.AND: operator.and_,
    BinaryOp.OR: operator.or_, BinaryOp.XOR: operator.xor,
}  # fmt: skip


class Machinery:
    def __init__(self, program: Program, constants: Constants) -> None:
        self.program, self.constants = program, constants
        self.read: set[Path] = set()
        self.written: set[Path] = set()

    def bounds(self, domain: Domain) -> tuple[int, int]:
        return domain.bounds(self.constants.values)

    def call(self, function: Function, arguments: list[Any]) -> Any:
        frame: list[Any] = [*arguments, *[None] * (len(function.slots) - len(arguments))]
        done = self.block(frame, function.body)
        return done.value if isinstance(done, Return) else None

    # -- statements

    def block(self, frame: list[Any], block: nodes.Block) -> Any:
        """Run statements; return how they ended early, if they did."""
        for item in block:
            done = self.statement(frame, item)
            if done is not None:
                return done
        return None

    def statement(self, frame: list[Any], item: nodes.Statement) -> Any:
        match item:
            case nodes.Assign():
                frame[item.slot.number] = self.value(frame, item.value)
            case nodes.Store():
                self.store(frame, item)
            case nodes.Copy():
                source = self.value(frame, item.source)
                self.copy(self.value(frame, item.place), source)
            case nodes.Require():
                if not self.value(frame, item.condition):
                    raise DisabledError
            case nodes.If():
                return self.block(frame, item.then if self.value(frame, item.test) else item.other)
            case nodes.For():
                return self.loop(frame, item)
            case nodes.Break():
                return BREAK
            case nodes.Continue():
                return CONTINUE
            case nodes.Return():
                return Return(None if item.value is None else self.value(frame, item.value))
            case nodes.Evaluate():
                self.value(frame, item.call)
            case nodes.Add():
                self.add(frame, item)
            case nodes.Remove():
                self.remove(frame, item)
        return None

    def loop(self, frame: list[Any], item: nodes.For) -> Any:
        for given in self.items(frame, item.source):
            frame[item.slot.number] = given
            done = self.block(frame, item.body)
            if done is BREAK:
                break
            if isinstance(done, Return):
                return done
        return None

    def items(self, frame: list[Any], source: nodes.Source) -> Iterator[Any]:
        if isinstance(source, nodes.Numbers):
            start = self.value(frame, source.start)
            yield from range(start, self.value(frame, source.stop))
            return
        over = self.value(frame, source)
        if isinstance(over, Box):
            self.read.add(over.path)
            yield from reversed(over.items[:])
            return
        for number in range(len(over.items)):
            if isinstance(over.kind.element, Scalar):
                self.read.add(_below(over.path, "[]"))
            yield over.items[number]

    def failed(self, node: nodes.Node, failure: Failure, message: str) -> DomainError:
        """Return the error of a check, which must be marked as one that may fail."""
        assert failure in node.checks, f"{failure.name} without a check: {message}"
        return NumberError(message) if failure is Failure.NUMBER else DomainError(message)

    def store(self, frame: list[Any], item: nodes.Store) -> None:
        value = self.value(frame, item.value)
        if isinstance(item.place, nodes.Field):
            row = self.value(frame, item.place.owner)
            self.fits(item, value, item.domain, f"{row.record.__name__}.{item.place.name}")
            row.values[item.place.name] = value
            self.written.add(_below(row.path, item.place.name))
        else:
            array = self.value(frame, item.place.array)
            index = self.index(item.place, array, self.value(frame, item.place.index))
            self.fits(item, value, item.domain, f"{array.label}[{index}]")
            array.items[index] = value
            self.written.add(_below(array.path, "[]"))

    def fits(self, node: nodes.Node, value: int, domain: Domain, label: str) -> None:
        low, high = self.bounds(domain)
        if not low <= value <= high:
            what = f"{label}: {value} is out of its domain {low}..{high}."
            if label == "Channel.items_end":  # hidden from models
                full = f"the channel is full ({high} in flight). Raise the bound on its size."
                empty = "the channel is empty: there is no message to remove."
                what = f"Channel.items: {full if value > high else empty}"
            raise self.failed(node, Failure.VALUE, what)

    def copy(self, target: Any, source: Any) -> None:
        is_row = isinstance(target, Row)
        cells, new = (target.values, source.values) if is_row else (target.items, source.items)
        for name in cells if is_row else range(len(cells)):
            if isinstance(cells[name], Row | Vector):
                self.copy(cells[name], new[name])
            else:
                self.read.add(_below(source.path, name if is_row else "[]"))
                self.written.add(_below(target.path, name if is_row else "[]"))
                cells[name] = new[name]

    def add(self, frame: list[Any], item: nodes.Add) -> None:
        bag = self.value(frame, item.bag)
        given = [self.value(frame, fill.value) for fill in item.fills]
        room = bag.kind.room.value(self.constants.values)
        if len(bag.items) >= room:
            raise self.failed(item, Failure.FULL, of_full_bag(bag.label, bag.kind.room, room))
        record = bag.kind.record
        row = row_of(record, self.zero(record), _below(bag.path, "[]"))
        for fill, value in zip(item.fills, given, strict=True):
            self.fits(fill, value, fill.domain, f"{record.__name__}.{fill.name}")
            row.values[fill.name] = value
        bag.items.append(row)
        self.written.add(bag.path)
        if item.slot is not None:
            frame[item.slot.number] = row

    def zero(self, record: type[Record]) -> Key:
        def zero_of(kind: FieldType) -> Any:
            if isinstance(kind, ArrayOf):
                return (zero_of(kind.element),) * kind.length.value(self.constants.values)
            return self.zero(kind.record) if isinstance(kind, Nested) else 0 if isinstance(kind, Scalar) else ()

        return tuple(zero_of(kind) for _, kind in fields(record))

    def remove(self, frame: list[Any], item: nodes.Remove) -> None:
        bag, message = self.value(frame, item.bag), self.value(frame, item.message)
        self.read.add(bag.path)
        wanted = key_of(message)
        places = [place for place, found in enumerate(bag.items) if found is message]
        places += [place for place, found in enumerate(bag.items) if key_of(found) == wanted]
        if not places:
            what = f"{bag.label}: there is no message {message!r} in flight to remove."
            raise self.failed(item, Failure.ABSENT, what)
        del bag.items[places[0]]
        self.written.add(bag.path)

    # -- expressions

    def value(self, frame: list[Any], node: nodes.Expression) -> Any:
        found = self.evaluated(frame, node)
        if isinstance(found, int):
            if not LEAST <= found <= MOST:
                raise self.failed(node, Failure.NUMBER, f"{found} does not fit 64 bits")
            assert node.low <= found <= node.high, f"{found} is not in {node.low}..{node.high}: {node.at}"
        return found

    def evaluated(self, frame: list[Any], node: nodes.Expression) -> Any:
        match node:
            case nodes.Literal():
                return node.value
            case nodes.Constant():
                return int(self.constants.values[node.name])
            case nodes.Local():
                found = frame[node.slot.number]
                assert found is not None, f"{node.slot.name} is read before it is set"
                return found
            case nodes.Field():
                row = self.value(frame, node.owner)
                if node.type == INT:
                    self.read.add(_below(row.path, node.name))
                return row.values[node.name]
            case nodes.Element():
                array = self.value(frame, node.array)
                index = self.index(node, array, self.value(frame, node.index))
                if node.type == INT:
                    self.read.add(_below(array.path, "[]"))
                return array.items[index]
            case nodes.Length():
                of = self.value(frame, node.of)
                if isinstance(of, Box):
                    self.read.add(of.path)
                return len(of.items)
            case nodes.Unary():
                value = self.value(frame, node.value)
                return {UnaryOp.NEGATE: -value, UnaryOp.INVERT: ~value, UnaryOp.ABSOLUTE: abs(value)}[node.operator]
            case nodes.Binary():
                left = self.value(frame, node.left)
                return self.binary(node, left, self.value(frame, node.right))
            case nodes.Compare():
                left = self.value(frame, node.first)
                for order, item in node.rest:
                    right = self.value(frame, item)
                    if not ORDERS[order](left, right):
                        return 0
                    left = right
                return 1
            case nodes.Among():
                wanted = self.value(frame, node.item)
                return int((wanted in [self.value(frame, item) for item in node.others]) is not node.negated)
            case nodes.Logic():
                for item in node.values[:-1]:
                    found = self.value(frame, item)
                    if bool(found) is not node.conjunction:
                        return found
                return self.value(frame, node.values[-1])
            case nodes.Not():
                return int(not self.value(frame, node.value))
            case nodes.Select():
                return self.value(frame, node.then if self.value(frame, node.test) else node.other)
            case nodes.Extreme():
                return (max if node.greatest else min)([self.value(frame, item) for item in node.values])
            case nodes.Fold():
                return self.fold(frame, node)
            case nodes.Call():
                arguments = [self.value(frame, item) for item in node.arguments]
                return self.call(self.program.functions[node.function], arguments)
            case nodes.Fits():
                return int(bool(self.value(frame, node.condition)))
        raise AssertionError(node)

    def index(self, node: nodes.Node, array: Vector, index: int) -> int:
        if 0 <= index < len(array.items):
            return index
        what = "NONE used as an index" if index == NONE else f"index {index} is outside the array"
        message = f"{array.label}: {what}: the array has {len(array.items)} elements, numbered from 0."
        raise self.failed(node, Failure.INDEX, message)

    def binary(self, node: nodes.Binary, left: int, right: int) -> int:
        if node.operator not in (BinaryOp.LEFT, BinaryOp.RIGHT):
            return BINARY[node.operator](left, right)
        if right < 0:
            raise self.failed(node, Failure.SHIFT, "negative shift count")
        if node.operator is BinaryOp.RIGHT:
            return left >> min(right, 64)
        return left << min(right, 128)  # a nonzero number shifted by 128 has left 64 bits

    def fold(self, frame: list[Any], node: nodes.Fold) -> int:
        total = 0
        for value in self.folded(frame, node, node.clauses):
            if node.operator is FoldOp.SUM:
                total += value
                if not LEAST <= total <= MOST:
                    raise self.failed(node, Failure.NUMBER, f"{total} does not fit 64 bits")
            elif bool(value) is (node.operator is FoldOp.ANY):
                return int(node.operator is FoldOp.ANY)
        return total if node.operator is FoldOp.SUM else int(node.operator is FoldOp.ALL)

    def folded(self, frame: list[Any], node: nodes.Fold, clauses: tuple[nodes.Clause, ...]) -> Iterator[int]:
        if not clauses:
            yield self.value(frame, node.value)
            return
        first, *rest = clauses
        for item in self.items(frame, first.source):
            frame[first.slot.number] = item
            if all(self.value(frame, test) for test in first.tests):
                yield from self.folded(frame, node, tuple(rest))


@dataclass
class Seen:
    """The answers of a semantics about one state: its steps with their successors, refusals by guard, an error."""

    steps: list[tuple[Step, Key, Key]]
    refused: dict[tuple[str, int], int]
    error: str = ""


_TRANSLATED: dict[tuple[int, ...], tuple[Program, object]] = {}
"""The last programs, by the identity of machine and properties, which are kept alive beside them."""
KEPT = 8


def translated(machine: Machine, properties: tuple[Property, ...]) -> Program:
    asked = (id(machine), *map(id, properties))
    if asked not in _TRANSLATED:
        if len(_TRANSLATED) == KEPT:
            _TRANSLATED.clear()
        _TRANSLATED[asked] = translate(machine, properties), (machine, properties)
    return _TRANSLATED[asked][0]


class Typed:
    """A machine as its typed program, with the methods of `Interpreter`."""

    def __init__(
        self, machine: Machine, constants: Constants, properties: tuple[Property, ...] = (), *, normalize: bool = True
    ) -> None:
        self.program = translated(machine, properties)
        self.machinery = Machinery(self.program, constants)
        self.plain = Interpreter(machine, constants, normalize=normalize)
        """Shows steps as text."""
        self.machine, self.constants = machine, constants
        self.normalize = self.program.normalize if normalize else None

    def initial_states(self) -> list[Key]:
        zero = self.machinery.zero(self.machine.state)
        found = {}
        for arguments in product(*self.choices(self.program.initial, zero)):
            step = Step(self.machine.initial, arguments)
            done = self.take(self.program.initial, zero, step)
            if done is not None:
                found[done[1]] = None
        return list(found)

    def choices(self, action: Action, before: Key) -> list[list[Any]]:
        return [self.values(item.domain, before) for item in action.parameters]

    def values(self, domain: Domain | InFlight, before: Key) -> list[Any]:
        """Return the values of a parameter: numbers, or the keys of messages."""
        if isinstance(domain, InFlight):
            names = [name for name, _ in fields(self.machine.state)]
            return list(dict.fromkeys(reversed(before[names.index(domain.bag)])))
        low, high = self.machinery.bounds(domain)
        return list(range(0 if low == NONE else low, high + 1))

    def arguments(self, action: Action, values: tuple[Any, ...]) -> list[Any]:
        return [
            row_of(parameter.slot.type.record, value, (f"p{place}", "")) if isinstance(value, tuple) else value
            for place, (parameter, value) in enumerate(zip(action.parameters, values, strict=True), 1)
        ]

    def take(self, action: Action, before: Key, step: Step) -> tuple[Key, Key] | None:
        function = self.program.functions[action.function]
        state = row_of(self.machine.state, before, ("p0", ""))
        try:
            given = [state, *self.arguments(action, step.args)]
            return self.watched(step, function, state, lambda: self.machinery.call(function, given))
        except DisabledError:
            return None

    def watched(self, step: Step, function: Function, state: Row, run: Callable[[], Any]) -> tuple[Key, Key]:
        """Run the function of an action, and normalize; check the effects of both."""
        try:
            self.noted(function, run)
            self.sort(state, function)
            raw = key_of(state)
            if self.normalize is not None:
                last = self.program.functions[self.normalize]
                self.noted(last, lambda: self.machinery.call(last, [state]))
                self.sort(state, last)
            return raw, key_of(state)
        except DisabledError:
            raise
        except DomainError as error:
            raise type(error)(f"{self.plain.show(step)}: {error}") from error

    def noted(self, function: Function, run: Callable[[], Any]) -> Any:
        """Run part of a function and check that it reads and writes only what its effects list."""
        machinery = self.machinery
        machinery.read.clear()
        machinery.written.clear()
        try:
            return run()
        finally:
            for done, said in ((machinery.read, function.effects.reads), (machinery.written, function.effects.writes)):
                known = {(f"p{of}", path) for of, path in said}
                assert done <= known, f"{function.name}: {sorted(done - known)} is left out of its effects"

    def sort(self, state: Row, function: Function) -> None:
        for _, bag in function.effects.disorders:
            state.values[bag].items.sort(key=key_of)

    def seen(self, before: Key) -> Seen:
        found = Seen([], {})
        try:
            for action, item in zip(self.program.actions, self.machine.actions, strict=True):
                for arguments in product(*self.choices(action, before)):
                    self.one(action, before, Step(item, arguments), found)
        except DomainError as error:
            found.error = "NUMBER" if isinstance(error, NumberError) else str(error)
        return found

    def one(self, action: Action, before: Key, step: Step, found: Seen) -> None:
        state = row_of(self.machine.state, before, ("p0", ""))
        function = self.program.functions[action.function]
        frame = [state, *self.arguments(action, step.args), *[None] * len(function.slots)]
        try:
            for item in function.body[: action.prefix]:
                if isinstance(item, nodes.Require):
                    if not self.noted(function, lambda item=item: self.machinery.value(frame, item.condition)):
                        guard = action.name, item.number
                        found.refused[guard] = found.refused.get(guard, 0) + 1
                        return
                else:
                    self.noted(function, lambda item=item: self.machinery.statement(frame, item))
        except DomainError as error:
            raise type(error)(f"{self.plain.show(step)}: {error}") from error
        rest = function.body[action.prefix :]
        raw, after = self.watched(step, function, state, lambda: self.machinery.block(frame, rest))
        found.steps.append((step, raw, after))

    # -- properties

    def holds(self, prop: Property, state: Key) -> bool:
        return self.ask(prop, self.program.properties[prop.name], [row_of(self.machine.state, state, ("p0", ""))])

    def holds_step(self, prop: Property, before: Key, step: Step, raw: Key) -> bool:
        if prop.on is not None and prop.on.name != step.action.name:
            return True
        states = [row_of(self.machine.state, key, (f"p{place}", "")) for place, key in enumerate((before, raw))]
        extra = []
        if prop.on is not None:
            action = next(item for item in self.program.actions if item.name == step.action.name)
            extra = self.arguments(action, step.args)
            for place, value in enumerate(extra, 2):
                if isinstance(value, Row):
                    extra[place - 2] = row_of(value.record, key_of(value), (f"p{place}", ""))
        return self.ask(prop, self.program.properties[prop.name], [*states, *extra])

    def says(self, prop: Property, number: int, state: Key, args: tuple[int, ...]) -> bool:
        return self.ask(prop, number, [row_of(self.machine.state, state, ("p0", "")), *args])

    def ask(self, prop: Property, number: int, arguments: list[Any]) -> bool:
        function = self.program.functions[number]
        try:
            return bool(self.noted(function, lambda: self.machinery.call(function, arguments)))
        except DomainError as error:
            raise type(error)(f"property {prop.name!r}: {error}") from error
