"""What functions read and write, as paths of the schema, and whether they can fail: a pass over a program."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fencepost.explorers.program.ir import nodes
from fencepost.explorers.program.ir.nodes import Expression
from fencepost.explorers.program.ir.program import Effects
from fencepost.explorers.program.ir.walk import inside
from fencepost.explorers.program.subset.kinds import INT, BagRef, Rec
from fencepost.model.language.records import ArrayOf, BagOf, Nested, Scalar, fields

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fencepost.explorers.program.ir.nodes import Slot, Type
    from fencepost.explorers.program.ir.program import Function, Paths, Program
    from fencepost.model.language.records import FieldType, Record


def with_effects(program: Program) -> Program:
    """Return a program whose functions know what they call, read and write, and whether they can fail."""
    made: list[Function] = []
    for function in program.functions:
        every = list(inside(function.body))
        calls = frozenset(item.function for item in every if isinstance(item, nodes.Call))
        fails = any(item.checks for item in every) or any(made[number].can_fail for number in calls)
        made.append(replace(function, calls=calls, can_fail=fails, effects=Walk(function, made).effects()))
    return replace(program, functions=tuple(made))


def reads_of(program: Program, function: Function, condition: Expression, before: Sequence[nodes.Node]) -> Paths:
    """Return what a condition depends on: what it reads itself, and what led to the locals that it reads."""
    needed: list[nodes.Node] = [condition]
    slots = _read(condition)
    for item in reversed(before):
        if slots & _assigned(item):
            needed.append(item)
            slots |= _read(item)
    walk = Walk(function, program.functions)
    walk.reads.clear()
    walk.note(needed)
    return frozenset(walk.reads)


def _read(node: nodes.Node) -> set[Slot]:
    return {item.slot for item in inside([node]) if isinstance(item, nodes.Local)}


def _assigned(node: nodes.Node) -> set[Slot]:
    return {item.slot for item in inside([node]) if isinstance(item, nodes.Assign | nodes.For)}


class Walk:
    """One function: where its slots may refer to, whatever way led there, and what happens to those places."""

    def __init__(self, function: Function, functions: Sequence[Function]) -> None:
        self.function, self.functions = function, functions
        self.slots: dict[Slot, set[tuple[int, str]]] = {
            slot: {(place, "")} for place, slot in enumerate(function.parameters) if slot.type != INT
        }
        self.reads: set[tuple[int, str]] = set()
        self.writes: set[tuple[int, str]] = set()
        self.disorders: set[tuple[int, str]] = set()
        self.gives: set[tuple[int, str]] = set()
        before = -1
        while before != (
            before := sum(map(len, self.slots.values()))
        ):  # a name for a place may come from a later round
            self.note(function.body)

    def effects(self) -> Effects:
        """Return what was found."""
        found = (self.reads, self.writes, self.disorders, self.gives)
        return Effects(*map(frozenset, found))

    def note(self, block: Iterable[nodes.Node]) -> None:
        """Note what nodes and all that is inside them do."""
        stored: set[nodes.Node] = set()
        for item in inside(block):
            if isinstance(item, nodes.Store):
                stored.add(item.place)  # which is written and not read
            match item:
                case nodes.Assign():
                    self.refer(item.slot, self.places(item.value))
                case nodes.For() | nodes.Clause() if isinstance(item.source, Expression):
                    places = self.places(item.source)
                    self.refer(item.slot, [(of, f"{path}[]") for of, path in places])
                    if isinstance(item.source.type, BagRef):
                        self.reads |= places
                    elif item.slot.type == INT:
                        self.reads |= {(of, f"{path}[]") for of, path in places}
                case nodes.Field() | nodes.Element() if item.type == INT and item not in stored:
                    self.reads |= self.places(item)
                case nodes.Length() if isinstance(item.of.type, BagRef):
                    self.reads |= self.places(item.of)
                case nodes.Store():
                    self.write(self.places(item.place))
                case nodes.Copy():
                    self.reads |= self.leaves(self.places(item.source), item.source.type)
                    self.write(self.leaves(self.places(item.place), item.place.type))
                case nodes.Add():
                    places = self.places(item.bag)
                    self.write(places)
                    self.disorders |= places
                    if item.slot is not None:
                        self.refer(item.slot, [(of, f"{path}[]") for of, path in places])
                case nodes.Remove():
                    self.reads |= self.places(item.bag) | self.leaves(self.places(item.message), item.message.type)
                    self.write(self.places(item.bag))
                case nodes.Call():
                    self.call(item)
                case nodes.Return(value=Expression() as value) if value.type != INT:
                    self.gives |= self.places(value)

    def refer(self, slot: Slot, places: Iterable[tuple[int, str]]) -> None:
        """Note where a slot may refer to."""
        if slot.type != INT:
            self.slots.setdefault(slot, set()).update(places)

    def write(self, places: Iterable[tuple[int, str]]) -> None:
        """Note that places are written: a message that is changed leaves its bag out of order."""
        for of, path in places:
            self.writes.add((of, path))
            bag = bag_around(self.function.parameters[of].type, path)
            if bag is not None:
                self.disorders.add((of, bag))

    def call(self, node: nodes.Call) -> None:
        """Carry over what a helper does to the places that it is given."""
        effects = self.functions[node.function].effects
        self.reads |= self.carried(node, effects.reads)
        self.write(self.carried(node, effects.writes))
        self.disorders |= self.carried(node, effects.disorders)

    def carried(self, node: nodes.Call, paths: Paths) -> set[tuple[int, str]]:
        """Return a helper's places as places of this function."""
        return {
            (of, joined(start, path))
            for given, path in paths
            if node.arguments[given].type != INT
            for of, start in self.places(node.arguments[given])
        }

    def places(self, node: Expression) -> set[tuple[int, str]]:
        """Return where a place or a reference may be."""
        match node:
            case nodes.Local():
                return self.slots.get(node.slot, set())
            case nodes.Field():
                return {(of, joined(path, node.name)) for of, path in self.places(node.owner)}
            case nodes.Element():
                return {(of, f"{path}[]") for of, path in self.places(node.array)}
            case nodes.Select():
                return self.places(node.then) | self.places(node.other)
            case nodes.Call():
                return self.carried(node, self.functions[node.function].effects.gives)
        return set()

    def leaves(self, places: Iterable[tuple[int, str]], kind: Type) -> set[tuple[int, str]]:
        """Return the scalars of records."""
        assert isinstance(kind, Rec)
        return {(of, joined(path, leaf)) for of, path in places for leaf in leaves(kind.record)}


def joined(start: str, path: str) -> str:
    """Return a path that goes on from another one."""
    return f"{start}.{path}" if start and path and not path.startswith("[") else start + path


def leaves(record: type[Record]) -> Iterator[str]:
    """Yield the paths of the scalars of a record, and of its bags."""
    for name, field in fields(record):
        yield from (joined(name, path) for path in _below(field))


def _below(field: FieldType) -> Iterator[str]:
    match field:
        case Scalar():
            yield ""
        case Nested():
            yield from leaves(field.record)
        case ArrayOf():
            yield from (joined("[]", path) for path in _below(field.element))
        case BagOf():
            yield ""
            yield from (joined("[]", path) for path in leaves(field.record))


def bag_around(kind: Type, path: str) -> str | None:
    """Return the path of the bag that a place is inside, None if it is in none; bags are fields of the state itself."""
    name, inner, _ = path.partition("[]")
    known = dict(fields(kind.record)) if isinstance(kind, Rec) else {}
    return name if inner and isinstance(known.get(name), BagOf) else None
