"""A machine as a typed program: functions, actions with parameters and guards, and properties. See `fencepost.dump`."""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from fencepost.explorers.program.ir import nodes
from fencepost.explorers.program.ir.nodes import At, Block, Expression, Node, Slot, Type
from fencepost.explorers.program.subset.kinds import Arr, BagRef, Rec
from fencepost.model.language import records
from fencepost.model.language.actions import Property
from fencepost.model.language.domains import Domain, Flag, InFlight, Member, Range
from fencepost.model.language.machine import Machine

Paths = frozenset[tuple[int, str]]
"""Places as (parameter, path): `(0, "replica[].log[].epoch")` lies within the first parameter's record."""


@dataclass(frozen=True, slots=True, eq=False)
class Effects:
    """The paths that a function, including its helpers, reads and writes.

    Paths lead to scalars. A bag also has a path (`box`) for the set and the order of its messages. `disorders` contains
    the bags that may be unsorted after the call; `gives` contains the places to which a returned record may belong.
    """

    reads: Paths = frozenset()
    writes: Paths = frozenset()
    disorders: Paths = frozenset()
    gives: Paths = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A checked function. `parameters` omits the run's constants, which `Constant` can read anywhere. `slots` contains
    all local variables by number, parameters first. `calls` lists the functions called directly.
    """

    number: int
    python: Callable[..., Any]
    at: At
    parameters: tuple[Slot, ...]
    slots: tuple[Slot, ...]
    body: Block
    returns: Type | None
    calls: frozenset[int] = frozenset()
    can_fail: bool = True
    effects: Effects = Effects()

    @property
    def name(self) -> str:
        return self.python.__name__


@dataclass(frozen=True, slots=True, eq=False)
class Parameter:
    slot: Slot
    domain: Domain | InFlight


@dataclass(frozen=True, slots=True, eq=False)
class Guard:
    """A `require` of an action, with its number in the program and the condition's source. If the condition is a
    conjunction, `parts` contains the conjuncts, which ablation turns off one by one. `reads` contains everything that
    the guard depends on, including earlier local variables.
    """

    number: int
    action: str
    text: str
    at: At
    condition: Expression
    parts: tuple[Expression, ...]
    reads: Paths
    bound: str | None = None
    """The constant whose bound the guard implements, or None if the guard is a rule of the protocol."""


@dataclass(frozen=True, slots=True, eq=False)
class Action:
    """An action. The first parameter of `function` is the state. The first `prefix` statements of the body, which end
    with the last guard, write nothing.
    """

    name: str
    function: int
    parameters: tuple[Parameter, ...]
    prefix: int
    guards: tuple[Guard, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Behaviour:
    when: int | None
    then: int
    cost: int | None


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """A machine and properties. Functions are ordered by number; each follows the functions that it calls.

    `properties` maps each property to a function of (state), or (before, after, *parameters of the action).
    """

    machine: Machine
    asked: tuple[Property, ...]
    functions: tuple[Function, ...]
    initial: Action
    actions: tuple[Action, ...]
    normalize: int | None
    properties: Mapping[str, int]
    behaviours: Mapping[str, Behaviour]
    bounds: tuple[str, ...] = ()
    """Constants whose bounds are implemented by guards or effects, in declaration order."""

    @property
    def guards(self) -> tuple[Guard, ...]:
        return tuple(guard for action in self.actions for guard in action.guards)

    @property
    def roots(self) -> tuple[int, ...]:
        asked = [number for item in self.behaviours.values() for number in (item.when, item.then, item.cost)]
        acting = [item.function for item in (self.initial, *self.actions)]
        every = [*acting, self.normalize, *self.properties.values(), *asked]
        return tuple(number for number in every if number is not None)

    def of(self, action: Action) -> Function:
        return self.functions[action.function]


Kind = TypeVar("Kind", bound=Node)


_COMMON = {item.name for item in dataclasses.fields(Expression)}
_HOLDERS: dict[type[Node], tuple[str, ...]] = {}


def _holders(kind: type[Node]) -> tuple[str, ...]:
    if kind not in _HOLDERS:
        _HOLDERS[kind] = tuple(item.name for item in dataclasses.fields(kind) if item.name not in _COMMON)
    return _HOLDERS[kind]


def _nodes(value: Any) -> list[Node]:
    if isinstance(value, Node):
        return [value]
    return [node for item in value for node in _nodes(item)] if isinstance(value, tuple) else []


def parts(node: Node) -> list[Node]:
    """Return the parts of a node, in the order of its fields."""
    found: list[Node] = []
    for name in _holders(type(node)):
        value = getattr(node, name)
        if isinstance(value, Node):
            found.append(value)
        elif isinstance(value, tuple):
            found += _nodes(value)
    return found


def inside(nodes: Iterable[Node]) -> Iterator[Node]:
    """Yield these nodes and all nodes inside them, each node before its parts."""
    waiting = [*nodes][::-1]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += parts(node)[::-1]


def locals_read(node: Node) -> set[Slot]:
    return {item.slot for item in inside([node]) if isinstance(item, nodes.Local)}


def rebuilt(node: Kind, change: Callable[[Node], Node], **values: Any) -> Kind:
    """Return a copy of a node with changed parts and these fields replaced, or the node itself if nothing differs."""
    for name in _holders(type(node)):
        old = getattr(node, name)
        new = _changed(old, change)
        if new is not old:
            values[name] = new
    return dataclasses.replace(node, **values) if values else node


def _changed(value: Any, change: Callable[[Node], Node]) -> Any:
    if isinstance(value, Node):
        return change(value)
    if isinstance(value, tuple):
        items = tuple(_changed(item, change) for item in value)
        return items if any(a is not b for a, b in zip(items, value, strict=True)) else value
    return value


def within(kind: records.FieldType) -> Iterator[records.FieldType]:
    """Yield a part of a state and everything in it, each item before its parts, with one element per array or bag."""
    yield kind
    if isinstance(kind, records.ArrayOf):
        yield from within(kind.element)
    elif isinstance(kind, records.Nested | records.BagOf):
        yield from every_field(kind.record)


def every_field(record: type[records.Record]) -> Iterator[records.FieldType]:
    return (inner for _, kind in records.fields(record) for inner in within(kind))


def text(program: Program) -> str:
    lines = [f"program {program.machine.name}"]
    for function in program.functions:
        lines += ["", *_function(function)]
    lines += ["", _action("initial", program.initial)]
    lines += [_action("action", item) for item in program.actions]
    if program.normalize is not None:
        lines.append(f"normalize = f{program.normalize}")
    lines += [f"property {name} = f{number}" for name, number in program.properties.items()]
    for name, item in program.behaviours.items():
        known = [("when", item.when), ("then", item.then), ("cost", item.cost)]
        parts = (f"{word} = f{number}" for word, number in known if number is not None)
        lines.append(f"behaviour {name}: {', '.join(parts)}")
    return "\n".join(lines) + "\n"


def _action(word: str, item: Action) -> str:
    given = ", ".join(f"{parameter.slot.name} in {_domain(parameter.domain)}" for parameter in item.parameters)
    return f"{word} {item.name} = f{item.function}({given})"


def _domain(domain: Domain | InFlight) -> str:
    if isinstance(domain, Member):
        return domain.enum.__name__
    if isinstance(domain, Range):
        return f"{domain.low!r}..{domain.high!r}".replace("+ -", "- ")
    return "flag" if isinstance(domain, Flag) else str(domain)


def _function(function: Function) -> Iterator[str]:
    given = ", ".join(f"{_slot(slot)}: {_type(slot.type)}" for slot in function.parameters)
    returns = f" -> {_type(function.returns)}" if function.returns is not None else ""
    yield f"f{function.number} {function.name}({given}){returns}" + ("" if function.can_fail else "  never fails")
    effects = function.effects
    for word, paths in (("reads", effects.reads), ("writes", effects.writes), ("disorders", effects.disorders)):
        if paths:
            shown = (f"{_slot(function.parameters[of])}{'.' if path else ''}{path}" for of, path in sorted(paths))
            yield f"    {word} {', '.join(shown)}"
    yield from _block(function.body, "    ")


def _type(kind: nodes.Type) -> str:
    match kind:
        case Rec():
            return kind.record.__name__
        case Arr():
            element = kind.field.element
            inner = _type(Rec(element.record)) if isinstance(element, records.Nested) else _domain(element.domain)
            return f"array[{inner}]"
        case BagRef():
            return f"bag[{kind.field.record.__name__}]"
    return "number"


def _slot(slot: nodes.Slot) -> str:
    return f"{slot.name}%{slot.number}"


def _block(block: nodes.Block, pad: str) -> Iterator[str]:
    for item in block:
        yield from (pad + line for line in _statement(item))


def _statement(item: nodes.Statement) -> Iterator[str]:
    mark = _checks(item)
    match item:
        case nodes.Assign():
            yield f"{_slot(item.slot)} = {value(item.value)}"
        case nodes.Store():
            yield f"{value(item.place)} := {value(item.value)}{mark} in {_domain(item.domain)}"
        case nodes.Copy():
            yield f"{value(item.place)} := copy {value(item.source)}"
        case nodes.Require():
            stands = f" for {item.bound}" if item.bound else ""
            yield f"require {item.number}{stands}: {value(item.condition)}"
        case nodes.If():
            yield f"if {value(item.test)}:"
            yield from _block(item.then, "    ")
            if item.other:
                yield "else:"
                yield from _block(item.other, "    ")
        case nodes.For():
            yield f"for {_slot(item.slot)} in {_source(item.source)}:"
            yield from _block(item.body, "    ")
        case nodes.Return():
            yield "return" if item.value is None else f"return {value(item.value)}"
        case nodes.Evaluate():
            yield value(item.call)
        case nodes.Add():
            fills = ", ".join(f"{fill.name}={value(fill.value)}{_checks(fill)}" for fill in item.fills)
            yield f"{_slot(item.slot) + ' = ' if item.slot else ''}add {value(item.bag)}({fills}){mark}"
        case nodes.Remove():
            yield f"remove {value(item.bag)}({value(item.message)}){mark}"
        case _:
            yield type(item).__name__.lower()


def _checks(node: nodes.Node) -> str:
    return "".join(f"!{check.name.lower()}" for check in sorted(node.checks))


def _source(source: nodes.Source) -> str:
    if isinstance(source, nodes.Numbers):
        return f"{value(source.start)} .. {value(source.stop)}"
    return value(source)


def value(node: Expression) -> str:
    """Return an expression as text. A check that may fail follows its expression, as in `s%0.values[i%1]!index`."""
    return _VALUES[type(node)](node) + _checks(node)


_VALUES: dict[type[Expression], Callable[[Any], str]] = {
    nodes.Literal: lambda node: str(node.value),
    nodes.Constant: lambda node: f"c.{node.name}",
    nodes.Local: lambda node: _slot(node.slot),
    nodes.Field: lambda node: f"{value(node.owner)}.{node.name}",
    nodes.Element: lambda node: f"{value(node.array)}[{value(node.index)}]",
    nodes.Length: lambda node: f"len({value(node.of)})",
    nodes.Unary: lambda node: f"{node.operator}({value(node.value)})",
    nodes.Binary: lambda node: f"({value(node.left)} {node.operator} {value(node.right)})",
    nodes.Compare: lambda node: f"({value(node.first)}{''.join(f' {by} {value(item)}' for by, item in node.rest)})",
    nodes.Among: lambda node: f"({value(node.item)} {'not ' if node.negated else ''}in ({_listed(node.others)}))",
    nodes.Logic: lambda node: f"({(' and ' if node.conjunction else ' or ').join(map(value, node.values))})",
    nodes.Not: lambda node: f"(not {value(node.value)})",
    nodes.Select: lambda node: f"({value(node.then)} if {value(node.test)} else {value(node.other)})",
    nodes.Extreme: lambda node: f"{'max' if node.greatest else 'min'}({_listed(node.values)})",
    nodes.Fold: lambda node: f"{node.operator}({value(node.value)}{''.join(map(_clause, node.clauses))})",
    nodes.Call: lambda node: f"f{node.function}({_listed(node.arguments)})",
    nodes.Fits: lambda node: f"fits {node.bound}({value(node.condition)})",
    nodes.Switch: lambda node: f"switch {node.guard}.{node.part}({value(node.condition)})",
}


def _listed(items: Iterable[Expression]) -> str:
    return ", ".join(map(value, items))


def _clause(item: nodes.Clause) -> str:
    return f" for {_slot(item.slot)} in {_source(item.source)}" + "".join(f" if {value(test)}" for test in item.tests)
