"""The text that a machine and properties are made of, to find out whether anything has changed that a search depends on."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from fencepost.model.language.domains import Member
from fencepost.model.language.records import ArrayOf, BagOf, Nested, Record, Scalar, fields
from fencepost.model.language.subset import check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fencepost.model.language.actions import Property
    from fencepost.model.language.domains import Domain
    from fencepost.model.language.machine import Machine


def texts(machine: Machine, properties: tuple[Property, ...]) -> list[str]:
    """Return the machine's schema, its actions and all parameters, and every function that it or a property calls, in a fixed order.

    Comments, docstrings and layout are not in it. What constants are set to is for the caller to add, and `ends` too.
    """
    program = check(machine, properties)
    return [
        machine.name,
        *(f"{item.name}({item.params})" for item in (machine.initial, *machine.actions)),
        *(f"{item.name}({item.params})" for item in properties if item.params),
        *_schema(machine.state),
        *sorted(f"{item.python.__module__}.{item.name}: {ast.unparse(item.node)}" for item in program.functions.values()),
        *sorted(
            {
                f"{ast.unparse(node)}={value}"
                for made in program.functions.values()
                for node, value in made.static.items()
                if isinstance(node, ast.expr)
            }
        ),
    ]


def ends(machine: Machine, properties: tuple[Property, ...]) -> list[str]:
    """Return what `texts` names only: the members of enums, and between which ends constants lie."""
    params = [item.params for item in (machine.initial, *machine.actions)] + [item.params for item in properties]
    domains = [*_domains(machine.state), *(domain for some in params for _, domain in some)]
    return [
        *sorted({f"{item.enum.__name__}: {item.enum.__members__}" for item in domains if isinstance(item, Member)}),
        *(f"{name}: {item.low}..{item.high}" for name, item in machine.constants.declared().items()),
    ]


def _domains(record: type[Record]) -> Iterator[Domain]:
    for _, field in fields(record):
        item = field.element if isinstance(field, ArrayOf) else field
        if isinstance(item, Scalar):
            yield item.domain
        else:
            yield from _domains(item.record)


def _schema(record: type[Record]) -> Iterator[str]:
    for name, field in fields(record):
        yield f"{record.__name__}.{name}: {field}"
        if isinstance(field, Nested | BagOf):
            yield from _schema(field.record)
        elif isinstance(field, ArrayOf) and isinstance(field.element, Nested):
            yield from _schema(field.element.record)
