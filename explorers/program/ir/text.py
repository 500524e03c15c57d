"""A typed program as text, for people: `fencepost.dump(...)`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fencepost.explorers.program.ir import nodes
from fencepost.explorers.program.subset.kinds import Arr, BagRef, Rec
from fencepost.model.language.domains import Flag, Member, Range
from fencepost.model.language.records import Scalar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from fencepost.explorers.program.ir.nodes import Expression
    from fencepost.explorers.program.ir.program import Action, Function, Program
    from fencepost.model.language.domains import Domain, InFlight


def text(program: Program) -> str:
    """Return a program as text: every function, then what the machine makes of them."""
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
            return f"array[{_domain(element.domain) if isinstance(element, Scalar) else _type(Rec(element.record))}]"
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
    """Return an expression as text; a check that may fail follows it, as in `s%0.values[i%1]!index`."""
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
