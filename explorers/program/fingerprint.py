"""Strings that represent a machine and its properties. They change whenever something that affects a search changes."""

import ast
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

from fencepost.explorers.program.subset.kinds import Function
from fencepost.explorers.program.subset.places import Scope
from fencepost.explorers.program.subset.program import Program, check
from fencepost.explorers.program.subset.sources import domains_of
from fencepost.model.language.actions import Property
from fencepost.model.language.domains import Member
from fencepost.model.language.machine import Machine
from fencepost.model.language.records import ArrayOf, BagOf, Nested, Record, fields
from fencepost.model.language.trees import USER_MODULE, module_name, source_lines


def texts(machine: Machine, properties: tuple[Property, ...]) -> list[str]:
    """Return the machine's schema, its parts and parameters, and every called function, in a fixed order.

    Each function is listed without comments, docstrings or layout, and with the meanings of its global names. The
    caller adds the values of constants, and `ends`.
    """
    program = check(machine, properties)
    functions = {python: f"{_named(python)}: {ast.unparse(made.node)}" for python, made in program.functions.items()}
    parts: dict[str, Callable[..., Any] | None] = {
        f"{item.name}({item.params})": item.function for item in (machine.initial, *machine.actions)
    }
    parts |= {"normalize": machine.normalize}
    parts |= {
        f"{item.kind} {item.name}({item.params}){' on ' + item.on.name if item.on else ''}": item.function
        for item in properties
    }
    return [
        machine.name,
        *(
            f"{name} is {'nothing' if python is None else functions.get(python, _named(python))}"
            for name, python in parts.items()
        ),
        *_schema(machine.state),
        *sorted(
            "\n".join([functions[python], *_meanings(program, made, functions)])
            for python, made in program.functions.items()
        ),
    ]


def _meanings(program: Program, made: Function, functions: dict[Callable[..., Any], str]) -> list[str]:
    """Return the meanings of a function's global names: numbers, sources of model functions, and other names."""
    scope = Scope(program, made)
    found = set()
    for node in (inner for statement in made.node.body for inner in ast.walk(statement)):
        item = scope.global_of(node) if isinstance(node, ast.Name | ast.Attribute) else None
        if isinstance(item, int):
            found.add(f"{ast.unparse(node)}={int(item)}")
        elif isinstance(item, tuple | frozenset):
            found.add(f"{ast.unparse(node)}={sorted(map(int, item))}")
        elif isinstance(item, FunctionType):
            found.add(f"{ast.unparse(node)} is {functions.get(item) or _named(item)}")
        elif isinstance(item, type | BuiltinFunctionType):
            found.add(f"{ast.unparse(node)} is {_named(item)}")
    return sorted(found)


def _named(item: Callable[..., Any]) -> str:
    return f"{module_name(item)}.{item.__qualname__}"


def ends(machine: Machine, properties: tuple[Property, ...]) -> list[str]:
    """Return the definitions that `texts` leaves out: the members of enums, and the bounds on constants."""
    params = [item.params for item in (machine.initial, *machine.actions)] + [item.params for item in properties]
    domains = [*domains_of(machine.state).values(), *(domain for some in params for _, domain in some)]
    return [
        *(f"{item.enum.__name__}: {item.enum.__members__}" for item in domains if isinstance(item, Member)),
        *(f"{name}: {item.low}..{item.high}" for name, item in machine.constants.declared().items()),
    ]


def plain_texts(function: object) -> list[str]:
    """Return the source texts and names on which a function outside the language, such as `refuse`, depends."""
    found = []
    functions = [function]
    for item in functions:
        if not isinstance(item, FunctionType):
            found.append(repr(item))
            continue
        found.append(f"{_named(item)}: {_source(item)}")
        for name, value in _reads(item):
            found.append(f"{name} is {_named(value) if isinstance(value, FunctionType) else _value(value)}")
            if isinstance(value, FunctionType) and value not in functions:
                functions.append(value)
    return found


def _reads(function: FunctionType) -> Iterator[tuple[str, Any]]:
    yield from ((f"default {number}", value) for number, value in enumerate(function.__defaults__ or ()))
    yield from (function.__kwdefaults__ or {}).items()
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # the variable may have no value yet
            yield name, cell.cell_contents
    codes = [function.__code__]
    for code in codes:
        codes += [item for item in code.co_consts if isinstance(item, CodeType)]
        for name in code.co_names:
            item = function.__globals__.get(name)
            if isinstance(item, ModuleType):
                yield from ((f"{name}.{inner}", vars(item)[inner]) for inner in code.co_names if inner in vars(item))
            elif item is not None:
                yield name, item


def _source(function: FunctionType) -> str:
    try:
        return "".join(source_lines(function)[0])
    except (OSError, TypeError):
        return repr(function)


def _value(item: Any) -> str:
    if isinstance(item, type):
        return f"{_named(item)} {getattr(item, '__members__', '')}"
    if isinstance(item, FunctionType):
        return f"{_named(item)}: {_source(item)}"
    if isinstance(item, set | frozenset):
        return f"{{{', '.join(sorted(map(_value, item)))}}}"
    return f"[{', '.join(map(_value, item))}]" if isinstance(item, tuple | list) else repr(item)


def _schema(record: type[Record]) -> Iterator[str]:
    for name, field in fields(record):
        yield re.sub(rf"{USER_MODULE}\d+\.", "", f"{record.__name__}.{name}: {field}")
        if isinstance(field, Nested | BagOf):
            yield from _schema(field.record)
        elif isinstance(field, ArrayOf) and isinstance(field.element, Nested):
            yield from _schema(field.element.record)
