"""Translation of a checked model to a typed program."""

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from fencepost.explorers.program.ir import nodes
from fencepost.explorers.program.ir.expressions import kind_of_value, where
from fencepost.explorers.program.ir.lifted import Lifted, over_values
from fencepost.explorers.program.ir.nodes import Block, Expression, Slot, Type
from fencepost.explorers.program.ir.program import (
    Action,
    Behaviour,
    Effects,
    Function,
    Guard,
    Parameter,
    Paths,
    Program,
    inside,
    locals_read,
)
from fencepost.explorers.program.ir.ranges import with_ranges
from fencepost.explorers.program.ir.statements import Statements
from fencepost.explorers.program.subset.kinds import INT, BagRef, Rec, Several
from fencepost.explorers.program.subset.kinds import Function as SubsetFunction
from fencepost.explorers.program.subset.program import Program as SubsetProgram
from fencepost.explorers.program.subset.program import bounds_of, check, guard_calls
from fencepost.model.language.actions import Action as ModelAction
from fencepost.model.language.actions import Property
from fencepost.model.language.machine import Machine
from fencepost.model.language.records import ArrayOf, BagOf, FieldType, Nested, Record, Scalar, fields


def translate(machine: Machine, properties: tuple[Property, ...] = ()) -> Program:
    checked = check(machine, properties)
    kept: tuple[SubsetProgram, Program] | None = machine.kept.get("translated")
    if kept is None or kept[0] is not checked:
        machine.kept["translated"] = kept = checked, _translated(checked)
    return kept[1]


def _translated(checked: SubsetProgram) -> Program:
    machine, properties = checked.machine, checked.asked
    translation = Translation(checked)
    actions = [translation.action(item, checked.actions[item.name]) for item in machine.actions]
    initial = translation.action(machine.initial, checked.initial)
    whole = Program(
        machine,
        properties,
        (),
        initial,
        tuple(actions),
        None if checked.normalize is None else translation.function(checked.normalize),
        {
            item.name: translation.property(item, checked.properties[item.name])
            for item in properties
            if item.eventual is None
        },
        {
            name: Behaviour(
                None if item.when is None else translation.function(item.when),
                translation.function(item.then),
                None if item.cost is None else translation.function(item.cost),
            )
            for name, item in checked.behaviours.items()
        },
        bounds_of(checked),
    )
    whole = with_effects(with_ranges(replace(whole, functions=tuple(translation.functions))))
    return with_guards(whole, {item.name: translation.texts[item.function] for item in (initial, *actions)})


class Translation:
    def __init__(self, checked: SubsetProgram) -> None:
        self.checked = checked
        self.functions: list[Function] = []
        self.numbers: dict[object, int] = {}
        self.prefixes: dict[int, int] = {}
        self.texts: dict[int, list[str]] = {}

    def function(self, made: SubsetFunction, part: int | None = None) -> int:
        """Return a function's number; translate the function if it is new. `part` selects one returned value."""
        key = made.python, part
        if key not in self.numbers:
            statements = Statements(self, made, part)
            body = statements.body()
            kind = made.returns.items[part] if isinstance(made.returns, Several) and part is not None else made.returns
            slots, at = tuple(statements.slots), where(made.node)
            parameters = slots[: statements.parameters]
            number = self.add(Function(0, made.python, at, parameters, slots, body, kind_of_value(kind)))
            self.numbers[key] = number
            self.prefixes[number] = statements.prefix
            self.texts[number] = [ast.unparse(call.args[0]) for call in guard_calls(made)]
        return self.numbers[key]

    def add(self, made: Function) -> int:
        self.functions.append(replace(made, number=len(self.functions)))
        return len(self.functions) - 1

    def property(self, item: Property, made: SubsetFunction) -> int:
        """Translate a property of states or steps, with a fold over all values of the property's parameters."""
        number = self.function(made)
        if not item.params:
            return number
        lifted = Lifted(self, made.python, where(made.node))
        inner = self.functions[number].parameters
        states = (nodes.Local(slot, at=lifted.at, type=slot.type) for slot in inner[: -len(item.params)])
        given = [lifted.read(lifted.given(state)) for state in states]
        found = over_values(lifted, number, given, item.params, every=item.kind.must_hold)
        slots = tuple(lifted.slots)
        body: Block = (nodes.Return(found, at=lifted.at),)
        return self.add(Function(0, made.python, lifted.at, slots[: len(given)], slots, body, INT))

    def action(self, item: ModelAction, made: SubsetFunction) -> Action:
        number = self.function(made)
        slots = self.functions[number].parameters[1:]
        parameters = tuple(Parameter(slot, domain) for slot, (_, domain) in zip(slots, item.params, strict=True))
        return Action(item.name, number, parameters, self.prefixes[number], ())


def with_guards(program: Program, texts: dict[str, list[str]]) -> Program:
    found = []
    first = 0
    for action in program.actions:
        prefix = program.of(action).body[: action.prefix]
        walk = Walk(program.of(action), program.functions)
        guards = tuple(
            Guard(
                first + item.number,
                action.name,
                texts[action.name][item.number],
                item.at,
                item.condition,
                parts_of(item.condition),
                reads_of(walk, item.condition, prefix[: prefix.index(item)]),
                item.bound,
            )
            for item in prefix
            if isinstance(item, nodes.Require)
        )
        found.append(replace(action, guards=guards))
        first += len(guards)
    return replace(program, actions=tuple(found))


def parts_of(condition: Expression) -> tuple[Expression, ...]:
    if isinstance(condition, nodes.Fold) and condition.operator is nodes.FoldOp.ALL:
        condition = condition.value
    return condition.values if isinstance(condition, nodes.Logic) and condition.conjunction else ()


def with_effects(program: Program) -> Program:
    made: list[Function] = []
    for function in program.functions:
        every = list(inside(function.body))
        calls = frozenset(item.function for item in every if isinstance(item, nodes.Call))
        fails = any(item.checks for item in every) or any(made[number].can_fail for number in calls)
        made.append(replace(function, calls=calls, can_fail=fails, effects=Walk(function, made).effects()))
    return replace(program, functions=tuple(made))


def reads_of(walk: "Walk", condition: Expression, before: Sequence[nodes.Node]) -> Paths:
    needed: list[nodes.Node] = [condition]
    slots = locals_read(condition)
    for item in reversed(before):
        if any(isinstance(part, nodes.Assign | nodes.For) and part.slot in slots for part in inside([item])):
            needed.append(item)
            slots |= locals_read(item)
    walk.reads.clear()
    walk.note([*inside(needed)])
    return frozenset(walk.reads)


class Walk:
    """Analysis of one function: the places to which each slot may refer on any path, and the effects on them."""

    def __init__(self, function: Function, functions: Sequence[Function]) -> None:
        self.function, self.functions = function, functions
        self.slots: dict[Slot, set[tuple[int, str]]] = {
            slot: {(place, "")} for place, slot in enumerate(function.parameters) if slot.type != INT
        }
        self.reads: set[tuple[int, str]] = set()
        self.writes: set[tuple[int, str]] = set()
        self.disorders: set[tuple[int, str]] = set()
        self.gives: set[tuple[int, str]] = set()
        every, before = [*inside(function.body)], -1
        while before != (before := sum(map(len, self.slots.values()))):  # iterations may assign other places
            self.note(every)

    def effects(self) -> Effects:
        return Effects(*map(frozenset, (self.reads, self.writes, self.disorders, self.gives)))

    def note(self, every: list[nodes.Node]) -> None:
        stored: set[nodes.Node] = set()
        for item in every:
            if isinstance(item, nodes.Store):
                stored.add(item.place)  # the place is written, not read
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
        if slot.type != INT:
            self.slots.setdefault(slot, set()).update(places)

    def write(self, places: Iterable[tuple[int, str]]) -> None:
        """Record writes to places. Changing a message leaves its bag unsorted."""
        for of, path in places:
            self.writes.add((of, path))
            bag = bag_around(self.function.parameters[of].type, path)
            if bag is not None:
                self.disorders.add((of, bag))

    def call(self, node: nodes.Call) -> None:
        effects = self.functions[node.function].effects
        self.reads |= self.carried(node, effects.reads)
        self.write(self.carried(node, effects.writes))
        self.disorders |= self.carried(node, effects.disorders)

    def carried(self, node: nodes.Call, paths: Paths) -> set[tuple[int, str]]:
        return {
            (of, joined(start, path))
            for given, path in paths
            if node.arguments[given].type != INT
            for of, start in self.places(node.arguments[given])
        }

    def places(self, node: Expression) -> set[tuple[int, str]]:
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
        assert isinstance(kind, Rec)
        return {(of, joined(path, leaf)) for of, path in places for leaf in leaves(kind.record)}


def joined(start: str, path: str) -> str:
    return f"{start}.{path}" if start and path and not path.startswith("[") else start + path


def leaves(record: type[Record]) -> Iterator[str]:
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
    name, inner, _ = path.partition("[]")
    known = dict(fields(kind.record)) if isinstance(kind, Rec) else {}
    return name if inner and isinstance(known.get(name), BagOf) else None
