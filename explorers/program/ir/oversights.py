"""Warnings about probable oversights in a model, such as constants that are never read and budgets that are never
spent. The analysis works on the typed program, so the warnings do not depend on the engine.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from fencepost.explorers.program.ir import nodes
from fencepost.explorers.program.ir.nodes import Node, Order
from fencepost.explorers.program.ir.program import Function, Guard, Program, every_field, inside, parts
from fencepost.model.language.domains import NONE, Domain, Extreme, Index, InFlight, Linear, Range, linear
from fencepost.model.language.machine import Machine
from fencepost.model.language.records import ArrayOf, BagOf, Record, Scalar


class ModelWarning(NamedTuple):
    kind: str
    about: str
    text: str


def oversights(program: Program) -> tuple[ModelWarning, ...]:
    return (*_initial(program.machine), *_without_none(program), *_unread(program), *_unspent(program))


def _initial(machine: Machine) -> Iterator[ModelWarning]:
    if any(item.function is machine.initial.function for item in machine.actions):
        name = machine.initial.name
        yield ModelWarning(
            "initial-among-actions",
            machine.initial.label,
            f"action {machine.initial.label!r} creates the initial states and is also listed among the actions, so it "
            f"may happen again in every state: remove {name} from `actions`, or write a separate action for the reset.",
        )


def _without_none(program: Program) -> Iterator[ModelWarning]:
    machine = program.machine
    for item in (machine.initial, *machine.actions):
        yield from _never_tried(machine, f"action {item.label!r}", item.label, item.params)
    for prop in program.asked:
        params = (*prop.params, *(prop.eventual.params if prop.eventual is not None else ()))
        yield from _never_tried(machine, f"property {prop.name!r}", prop.name, params)


def _never_tried(
    machine: Machine, of: str, about: str, params: Iterable[tuple[str, Domain | InFlight]]
) -> Iterator[ModelWarning]:
    for name, domain in params:
        if isinstance(domain, Index) and domain.low == NONE:
            text = (
                f"parameter {name!r} of {of} has a domain with NONE, but NONE is never tried: give the "
                "parameter a domain without NONE, and write a separate action for NONE."
            )
        elif isinstance(domain, Range) and _may_begin_at_none(machine, domain):
            sometimes = "" if isinstance(domain.low, int) else " for some constants"
            text = (
                f"parameter {name!r} of {of} has a domain that begins at -1{sometimes}, and -1 means NONE, which is "
                "never tried: start the domain at 0, and subtract 1 where the number is read."
            )
        else:
            continue
        yield ModelWarning("none-never-tried", about, text)


def _may_begin_at_none(machine: Machine, domain: Range) -> bool:
    """Return whether a domain starts at NONE for some constants. In a domain that can start lower, -1 is a number."""
    declared = machine.constants.declared()
    low, high = linear(domain.low).span(
        {name: int(item.low) for name, item in declared.items()},
        {name: int(item.high) for name, item in declared.items()},
    )
    return low <= NONE <= high


# -- constants


def _unread(program: Program) -> Iterator[ModelWarning]:
    read = {item.name for made in program.functions for item in inside(made.body) if isinstance(item, nodes.Constant)}
    for found in sums_of_program(program):
        read |= linear(found).names
    machine = program.machine
    for function in (machine.refuse, machine.notes):
        read |= _names_read(function, set())
    for name, constant in machine.constants.declared().items():
        if name not in read:
            yield ModelWarning(
                "unread-constant",
                name,
                f"nothing reads constant {name!r} ({constant.meaning}), so its value does not matter: "
                f"read c.{name} in the model, or remove the constant.",
            )


def sums_of_program(program: Program, *, schema: bool = True) -> Iterator[Linear | int]:
    if schema:
        yield from sums_of_record(program.machine.state)
    for action in (program.initial, *program.actions):
        for item in action.parameters:
            yield from sums_of(item.domain)
    for prop in program.asked:
        eventual = prop.eventual
        for _, domain in (*prop.params, *(eventual.params if eventual is not None else ())):
            yield from sums_of(domain)
        if eventual is not None:
            yield from (
                () if eventual.costs is None or callable(eventual.costs) else (cost for _, cost in eventual.costs)
            )
            yield from () if eventual.bound is None else (eventual.bound,)


def sums_of_record(record: type[Record]) -> Iterator[Linear | int]:
    for field in every_field(record):
        match field:
            case Scalar():
                yield from sums_of(field.domain)
            case ArrayOf():
                yield field.length
            case BagOf():
                yield field.room


def sums_of(domain: Domain | InFlight) -> Iterator[Linear | int]:
    for name in ("low", "high", "count"):
        value = getattr(domain, name, None)
        if isinstance(value, Linear):
            yield value


def _names_read(function: Any, seen: set[object]) -> set[str]:
    code = getattr(function, "__code__", None)
    if code is None or code in seen:
        return set()
    seen.add(code)
    found: set[str] = set()
    codes = [code]
    while codes:
        part = codes.pop()
        found |= {*part.co_names, *(item for item in part.co_consts if isinstance(item, str))}
        codes += [item for item in part.co_consts if hasattr(item, "co_names")]
    for name in tuple(found):
        found |= _names_read(function.__globals__.get(name), seen)
    return found


# -- budgets


def _unspent(program: Program) -> Iterator[ModelWarning]:
    acting = [program.of(action) for action in program.actions]
    changing = [*acting, *([] if program.normalize is None else [program.functions[program.normalize]])]
    written = {path for made in changing for number, path in made.effects.writes if number == 0}
    start = program.functions[program.initial.function]
    given = _given(start)
    told: set[str] = set()
    for guard in program.guards:
        path = _budget(program, guard)
        if path is not None and path not in written | told and given.get(path, "") is not None:
            told.add(path)
            yield ModelWarning(
                "unspent-budget",
                path,
                f"budget s.{path} is never spent, although action {guard.action.replace('_', '-')!r} contains "
                f"`require({guard.text})`: spend the budget in the action, as in s.{path} -= 1.",
            )
    used = {
        path for made in program.functions if made is not start for _, path in made.effects.reads | made.effects.writes
    }
    used |= {path for _, path in start.effects.reads}
    for path, constant in given.items():
        if constant and not any(item == path or path.endswith(f".{item}") for item in used):
            yield ModelWarning(
                "unspent-budget",
                path,
                f"budget s.{path} starts with constant {constant!r} and is never spent: no action or property reads "
                f"it. Write require(s.{path} > 0) and s.{path} -= 1 in the action that the budget limits, or remove "
                "the budget.",
            )


def _given(start: Function) -> dict[str, str | None]:
    found: dict[str, str | None] = {path: None for number, path in start.effects.writes if number == 0}
    names = names_in(start)
    seen: set[str] = set()
    for item in inside(start.body):
        where = path_of(item.place, names) if isinstance(item, nodes.Store) else None
        if where is not None and isinstance(item, nodes.Store):
            value = item.value.name if isinstance(item.value, nodes.Constant) else ""
            plain = isinstance(item.value, nodes.Constant | nodes.Literal) and where[1] not in seen
            found[where[1]] = value if plain else None
            seen.add(where[1])
    return found


_ORDERS = (Order.LESS, Order.AT_MOST, Order.MORE, Order.AT_LEAST)


def _budget(program: Program, guard: Guard) -> str | None:
    condition = guard.condition
    action = next(item for item in program.actions if guard in item.guards)
    if not isinstance(condition, nodes.Compare) or len(condition.rest) != 1 or condition.rest[0][0] not in _ORDERS:
        return None
    sides = (condition.first, condition.rest[0][1])
    places = [item for item in sides if isinstance(item, nodes.Field | nodes.Element)]
    others = [item for item in sides if isinstance(item, nodes.Constant | nodes.Literal)]
    where = path_of(places[0], names_in(program.of(action))) if len(places) == len(others) == 1 else None
    return where[1] if where is not None and where[0] == 0 else None


Where = tuple[int, str] | None
"""Index of a parameter and a path within the parameter; None if unknown or ambiguous."""


def names_in(function: Function) -> Mapping[nodes.Slot, Where]:
    """Return the references of slots that never change: those of parameters, and of variables assigned once."""
    found: dict[nodes.Slot, Where] = {slot: (number, "") for number, slot in enumerate(function.parameters)}
    for item in inside(function.body):
        if isinstance(item, nodes.Assign):
            found[item.slot] = None if item.slot in found else path_of(item.value, found)
    return found


def path_of(place: nodes.Expression, names: Mapping[nodes.Slot, Where]) -> Where:
    match place:
        case nodes.Local():
            return names.get(place.slot)
        case nodes.Field():
            owner = path_of(place.owner, names)
            return owner and (owner[0], f"{owner[1]}.{place.name}" if owner[1] else place.name)
        case nodes.Element():
            owner = path_of(place.array, names)
            return owner and (owner[0], f"{owner[1]}[]")
    return None


def unshared_bounds(program: Program) -> frozenset[str]:
    """Return the bounds that only their own guards and effects read, apart from domains and bags that grow with them.

    A comparison that is true stays true with a larger constant. A bound is excluded if one of three things reads it:
    the size of an array, which may change a loop; a parameter's domain, which determines the values to try; or a domain
    or bag that shrinks.
    """
    elsewhere = {
        *shrinking_in_record(program.machine.state),
        *(name for found in sums_of_program(program, schema=False) for name in linear(found).names),
    }
    return frozenset(name for name in program.bounds if name not in elsewhere and not is_read(program, name))


def shrinking_in_record(record: type[Record]) -> Iterator[str]:
    """Yield the constants whose increase may change a record in ways other than adding capacity."""
    for field in every_field(record):
        match field:
            case BagOf():
                yield from _falling(field.room)
            case ArrayOf():
                yield from field.length.names
            case Scalar():
                yield from shrinking_in_domain(field.domain)


def shrinking_in_domain(domain: Domain | InFlight) -> Iterator[str]:
    """Yield the constants whose increase may remove numbers from a domain or change where it starts."""
    yield from linear(getattr(domain, "low", 0)).names  # a domain without `low` starts at 0
    for name in ("high", "count"):
        yield from _falling(getattr(domain, name, 0))


def _falling(total: Linear | int) -> Iterator[str]:
    for name, factor in linear(total).terms.items():
        if isinstance(name, Extreme):
            for part in name.parts:
                yield from _falling(part * factor)
        elif factor < 0:
            yield name


def is_read(program: Program, name: str) -> bool:
    """Return whether a constant is read anywhere except in comparisons that check its own bound."""
    waiting, seen = [*program.roots], set(program.roots)
    while waiting:
        for node in _apart(program, program.functions[waiting.pop()].body, name):
            if isinstance(node, nodes.Constant) and node.name == name:
                return True
            if isinstance(node, nodes.Call) and node.function not in seen:
                seen.add(node.function)
                waiting.append(node.function)
    return False


def _apart(program: Program, found: Iterable[Node], name: str) -> Iterator[Node]:
    for node in found:
        if isinstance(node, nodes.Require | nodes.Fits) and node.bound == name:
            yield from _apart(program, _others(program, node.condition, name), name)
            continue
        yield node
        yield from _apart(program, parts(node), name)


def _others(program: Program, condition: nodes.Expression, name: str) -> tuple[nodes.Expression, ...]:
    """Return a condition's other parts if a larger constant can only turn one of its comparisons from false to true."""
    match condition:
        case nodes.Logic():
            return tuple(part for value in condition.values for part in _others(program, value, name))
        case nodes.Compare(first=left, rest=((order, right),)):
            if order in (Order.MORE, Order.AT_LEAST):
                left, right = right, left
            rises = order in (Order.LESS, Order.AT_MOST, Order.MORE, Order.AT_LEAST)
            if rises and isinstance(right, nodes.Constant) and right.name == name:
                return (left,)
        case nodes.Call(function=number, arguments=arguments):
            match program.functions[number].body:
                case (nodes.Return(value=value),) if value is not None:
                    return (*arguments, *_others(program, value, name))
    return (condition,)
